"""Every captured file of /proc/driver/nvidia, against a naive reading."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

from gpuinv.errors import IssueKind
from gpuinv.kernel.proc_nvidia import ProcInformation, parse_proc_information, parse_proc_version
from gpuinv.readings import Missing

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.corpus

# By the number of the file; every other file has none.
ISSUES = {
    5: [IssueKind.NO_UUID],  # its author cut the UUID out
    7: [IssueKind.NO_UUID],  # question marks: the driver never initialised the GPU
    15: [IssueKind.NO_UUID],  # a faulty GPU, whose file lacks the line
}
KNOWN = {1, 3, 5, 7, 9, 11, 13, 15, 17, 19}


def naive(text: str, key: str) -> str | None:
    found = re.search(rf"^{key}:[ \t]*(.*?)[ \t]*$", text, re.MULTILINE)
    return found[1] if found else None


def known(reading: object) -> str | None:
    return None if isinstance(reading, Missing) else str(reading)


@pytest.fixture(scope="module")
def gpus(corpus: Path) -> dict[int, tuple[str, ProcInformation]]:
    """By the number of the file: its text, and what the parser makes of it."""
    files = sorted((corpus / "host" / "gpu_information").iterdir())
    return {
        int(path.name[:3]): (path.read_text(encoding="utf-8"), parse_proc_information(path.read_bytes()))
        for path in files
    }


def test_every_value_of_every_file(gpus: dict[int, tuple[str, ProcInformation]]) -> None:
    for number, (text, found) in gpus.items():
        uuid = naive(text, "GPU UUID")
        vbios = naive(text, "Video BIOS")
        model = naive(text, "Model")
        assert (number, known(found.product_name)) == (number, None if model == "Unknown" else model)
        assert (number, known(found.uuid)) == (
            number,
            uuid if uuid and re.fullmatch("GPU-[0-9a-f-]{36}", uuid) else None,
        )
        assert (number, known(found.vbios_version)) == (number, None if not vbios or "?" in vbios else vbios.upper())
        assert (number, known(found.bus_type)) == (number, naive(text, "Bus Type"))
        assert (number, known(found.minor_number)) == (number, naive(text, "Device Minor"))
        assert (number, known(found.gpu_firmware) or "N/A") == (number, naive(text, "GPU Firmware") or "N/A")
        assert not isinstance(found.pci_bus_id, Missing)
        assert (number, found.pci_bus_id.sysfs) == (number, naive(text, "Bus Location"))
        excluded = naive(text, "(?:GPU Excluded|Blacklisted)")
        assert (number, found.gpu_excluded) == (number, Missing.ABSENT if excluded is None else excluded == "Yes")


def test_issues(gpus: dict[int, tuple[str, ProcInformation]]) -> None:
    assert gpus.keys() & KNOWN
    for number in gpus.keys() & KNOWN:
        assert (number, [issue.kind for issue in gpus[number][1].issues]) == (number, ISSUES.get(number, []))


def test_every_version(corpus: Path) -> None:
    files = sorted((corpus / "host" / "nvidia_version").iterdir())
    assert files
    for path in files:
        text = path.read_text(encoding="utf-8")
        expected = re.search(r"Module(?: for \w+)? +([0-9.]+) ", text)
        found = parse_proc_version(path.read_bytes())
        assert expected, path.name
        assert (path.name, str(found.driver_version)) == (path.name, expected[1])
        assert (path.name, found.open_kernel_module) == (path.name, "-open-" in path.name)
        assert found.nvrm_version.startswith("NVIDIA UNIX ")
