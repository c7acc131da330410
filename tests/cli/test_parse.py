from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpuinv.cli import parse as module
from gpuinv.cli._kinds import KINDS
from tests.cli import hosts
from tests.cli.running import gpuinv

if TYPE_CHECKING:
    from pathlib import Path

DGX = hosts.FIXTURES / "dgx-a100-mig"
WORKSTATION = hosts.FIXTURES / "workstation-rtx-5090"
SAMPLES = {
    "q-x": WORKSTATION / "smi/q-x.xml",
    "L": DGX / "smi/L.txt",
    "compute-cap": DGX / "smi/query-gpu-compute-cap.csv",
    "proc-information": DGX / "root/proc/driver/nvidia/gpus/0000:07:00.0/information",
    "proc-version": DGX / "root/proc/driver/nvidia/version",
}
every_kind = pytest.mark.parametrize("kind", KINDS)


def test_every_kind_has_a_sample() -> None:
    assert set(SAMPLES) == set(KINDS)


@every_kind
def test_a_sample_is_shown(kind: str) -> None:
    outcome = gpuinv("parse", kind, SAMPLES[kind])
    assert (outcome.exit_code, outcome.stderr) == (0, "")
    assert max(map(len, outcome.text.splitlines())) <= 80


@every_kind
def test_standard_input_reads_the_same(kind: str) -> None:
    from_file = gpuinv("parse", kind, SAMPLES[kind], "--json")
    assert gpuinv("parse", kind, "-", "--json", stdin=SAMPLES[kind].read_bytes()) == from_file
    document = json.loads(from_file.text)
    assert next(iter(document)) == "kind"
    assert list(document)[-2:] == ["issues", "unread"]
    assert document["kind"] == kind


def test_json_has_the_whole_record() -> None:
    document = json.loads(gpuinv("parse", "q-x", DGX / "smi/q-x.xml", "--json").text)
    gpu = document["gpus"][1]
    assert document["driver_version"] == "535.183.06"
    assert gpu["pci_bus_id"] == "00000000:0F:00.0"
    assert gpu["layers"] == ["nvidia_smi"]
    assert gpu["fb_total_mib"] == 81920
    assert gpu["ecc_errors"]["aggregate"]["corrected"]["dram"] == "0"
    assert gpu["remapped_rows"]["remapped_row_corr"] == {"missing": "hidden_by_mig"}
    assert gpu["mig_instances"][0]["gpu_instance_id"] == 2
    assert document["samples"][1]["processes"][0]["gpu_instance_id"] == 2
    assert "gpu/product_brand" in document["unread"]
    assert document["issues"] == []


def test_issues_and_unread_paths_are_shown() -> None:
    xml = SAMPLES["q-x"].read_text(encoding="utf-8")
    xml = xml.replace("<minor_number>0<", "<novel_thing>1</novel_thing><minor_number>Unknown Error<")
    outcome = gpuinv("parse", "q-x", "-", stdin=xml.encode())
    assert outcome.exit_code == 0
    assert "! read_error: the driver could not read a value: 'Unknown Error'" in outcome.text
    assert "  nvidia-smi -q -x: gpu[0]/minor_number\n  [GPU-" in outcome.text
    assert "  gpu/novel_thing\n" in outcome.text
    document = json.loads(gpuinv("parse", "q-x", "-", "--json", stdin=xml.encode()).text)
    assert document["issues"][0]["kind"] == "read_error"


def test_a_list_without_gpus() -> None:
    assert gpuinv("parse", "L", "-", stdin=b"No devices were found\n").text == "no GPUs\n"
    assert gpuinv("parse", "compute-cap", "-", stdin=b"No devices were found\n").text == "no GPUs\n"


@pytest.mark.parametrize("form", [(), ("--json",)])
def test_bad_input_is_one_line_with_source_place_and_text(tmp_path: Path, form: tuple[str, ...]) -> None:
    file = tmp_path / "saved.xml"
    file.write_text("<nvidia_smi_log>\n  <gpu></nvidia_smi_log>\n", encoding="utf-8")
    outcome = gpuinv("parse", "q-x", file, *form)
    assert outcome.exit_code == 2
    assert outcome.complaint.startswith(f"gpuinv: {file}: nvidia-smi -q -x: line 2, column ")
    assert outcome.complaint.endswith("'<gpu></nvidia_smi_log>'")


@every_kind
@pytest.mark.parametrize("data", [b"", b"\0", b"\xff\xfe\x00\x01" * 99, b"hello\x1b[31m\n", bytes(range(256))])
def test_garbage_is_one_line(kind: str, data: bytes) -> None:
    outcome = gpuinv("parse", kind, "-", stdin=data)
    assert outcome.exit_code == 2
    assert outcome.complaint.startswith("gpuinv: standard input: ")
    assert outcome.complaint.isprintable()


def mangled(data: bytes) -> st.SearchStrategy[bytes]:
    """The data cut short, or with some of its bytes replaced by others."""
    spots = st.tuples(st.integers(0, len(data)), st.integers(0, 40), st.binary(max_size=40))
    return spots.map(lambda spot: data[: spot[0]] + spot[2] + data[spot[0] + spot[1] :])


@pytest.mark.property
@every_kind
@given(data=st.data())
def test_any_bytes_are_read_or_refused(kind: str, data: st.DataObject) -> None:
    content = data.draw(st.binary() | mangled(SAMPLES[kind].read_bytes()))
    form = data.draw(st.sampled_from([(), ("--json",)]))
    outcome = gpuinv("parse", kind, "-", *form, stdin=content)
    assert outcome.exit_code in {0, 2}
    if outcome.exit_code == 2:
        assert outcome.complaint.startswith("gpuinv: standard input: ")
    else:
        assert outcome.stderr == ""
        assert "\x1b" not in outcome.text


@pytest.mark.parametrize(
    ("name", "words"),
    [("none.xml", "No such file or directory"), ("", "Is a directory"), ("none\n\0.xml", "null byte")],
)
def test_a_file_that_cannot_be_read(tmp_path: Path, name: str, words: str) -> None:
    outcome = gpuinv("parse", "q-x", f"{tmp_path}/{name}")
    assert outcome.exit_code == 2
    assert words in outcome.complaint


def test_a_file_without_permission(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(module, "_opened", refuse)
    assert gpuinv("parse", "L", tmp_path / "list").complaint.endswith("list: Permission denied")


def test_too_large_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MAX_OUTPUT_BYTES", 10)
    (tmp_path / "list").write_bytes(bytes(11))
    outcome = gpuinv("parse", "L", tmp_path / "list")
    assert (outcome.exit_code, outcome.complaint[-18:]) == (2, "more than 10 bytes")


@pytest.mark.parametrize(("argv", "words"), [(("X", "-"), "'X' is not one of"), (("L",), "Missing argument 'FILE'")])
def test_wrong_usage(argv: tuple[str, ...], words: str) -> None:
    outcome = gpuinv("parse", *argv)
    assert outcome.exit_code == 2
    assert words in outcome.complaint
    assert outcome.complaint.endswith("(see gpuinv parse --help)")
