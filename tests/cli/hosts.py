"""Captured hosts in trouble, made from the fixture `dgx-a100-mig`."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import TYPE_CHECKING
from xml.etree import ElementTree as ET

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

__all__ = [
    "FIXTURES",
    "HOSTS",
    "bare_host",
    "edit_commands",
    "healthy_host",
    "hung_query",
    "stopped_driver",
    "troubled_host",
    "without_smi",
]

FIXTURES = Path(__file__).parents[2] / "fixtures" / "nvidia-smi"
HOSTS = ("workstation-rtx-5090", "wsl2-rtx-5090", "dgx-a100-mig")

_NOT_RUNNING = (
    "NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver. "
    "Make sure that the latest NVIDIA driver is installed and running.\n\n"
)
_IDENTITY = {"uuid", "pci_bus_id", "product_name", "minor_number", "gpu", "pci"}
_EXCLUDED_BUS = "0000:90:00.0"


def healthy_host(directory: Path) -> Path:
    """A copy that a test may change."""
    return Path(shutil.copytree(FIXTURES / "dgx-a100-mig", directory / "host", symlinks=True))


def edit_commands(host: Path, changes: Mapping[str, Mapping[str, object] | None]) -> None:
    """Replace what is said of each command, by its arguments joined with blanks; None takes it out."""
    path = host / "capture.json"
    document = json.loads(path.read_text(encoding="utf-8"))
    commands = {" ".join(command["argv"][1:]): command for command in document["commands"]}
    for name, change in changes.items():
        if change is None:
            del commands[name]
        else:
            commands[name] = {"argv": commands[name]["argv"], **change}
    document["commands"] = list(commands.values())
    path.write_text(json.dumps(document), encoding="utf-8")


def bare_host(directory: Path) -> Path:
    """No nvidia-smi, no driver."""
    host = directory / "host"
    host.mkdir()
    (host / "capture.json").write_text('{"format": 1}', encoding="utf-8")
    return host


def without_smi(directory: Path) -> Path:
    """The driver runs; nvidia-smi is not installed."""
    host = healthy_host(directory)
    (host / "capture.json").write_text('{"format": 1}', encoding="utf-8")
    return host


def stopped_driver(directory: Path) -> Path:
    """Every call of nvidia-smi says that it cannot reach the driver; procfs still has its files."""
    host = healthy_host(directory)
    (host / "smi" / "failed.txt").write_text(_NOT_RUNNING, encoding="utf-8")
    edit_commands(host, {"-q -x": {"stdout": "smi/failed.txt", "exit_code": 9}})
    return host


def hung_query(directory: Path, arguments: str) -> Path:
    """One query never ends."""
    host = healthy_host(directory)
    edit_commands(host, {arguments: {"hangs": True}})
    return host


def troubled_host(directory: Path) -> Path:
    """One GPU for each thing that can be wrong with one."""
    host = healthy_host(directory)
    path = host / "smi" / "q-x.xml"
    head, _, body = path.read_text(encoding="utf-8").partition("<nvidia_smi_log>")
    root = ET.fromstring(f"<nvidia_smi_log>{body}")  # noqa: S314 - our own file
    gpus = root.findall("gpu")
    _set(gpus[0], {"ecc_mode/pending_ecc": "Disabled", "mig_mode/pending_mig": "Enabled"})
    _say(gpus[2].iter(), "GPU is lost")
    _set(gpus[3], {"remapped_rows/remapped_row_pending": "Yes", "remapped_rows/remapped_row_failure": "Yes"})
    _say(gpus[4].findall("ecc_errors/aggregate/*"), "Unknown Error")
    _set(gpus[6], {"gpu_reset_status/reset_required": "Yes"})
    _set(gpus[6], {"mig_devices/mig_device/ecc_error_count/volatile_count/sram_uncorrectable": "2"})
    _set(gpus[7], {"product_name": "NVIDIA RTX PRO 6000 Blackwell Max-Q Workstation Edition", "serial": "[N/A]"})
    _say(gpus[7].findall("fb_memory_usage/*"), "[Insufficient Permissions]")
    root.remove(gpus[5])
    path.write_text(head + ET.tostring(root, encoding="unicode"), encoding="utf-8")
    _exclude(host)
    edit_commands(host, {"--query-gpu=uuid,compute_cap --format=csv,noheader": {"hangs": True}})
    return host


def _set(gpu: ET.Element, values: dict[str, str]) -> None:
    for path, text in values.items():
        element = gpu.find(path)
        assert element is not None, path
        element.text = text


def _say(elements: Iterable[ET.Element], text: str) -> None:
    for element in elements:
        if not len(element) and element.tag not in _IDENTITY:
            element.text = text


def _exclude(host: Path) -> None:
    path = host / "root/proc/driver/nvidia/gpus" / _EXCLUDED_BUS / "information"
    text = path.read_text(encoding="utf-8")
    uuid = next(line.partition(":")[2].strip() for line in text.splitlines() if line.startswith("GPU UUID"))
    changed = text.replace(uuid, "GPU-????????-????-????-????-????????????")
    path.write_text(changed.replace("No", "Yes"), encoding="utf-8")
