from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpuinv.cli import parse as module
from gpuinv.cli._kinds import KINDS
from tests.cli import hosts
from tests.cli.outputs import DGX, OUTPUTS
from tests.cli.running import gpuinv

if TYPE_CHECKING:
    from pathlib import Path

every_kind = pytest.mark.parametrize("kind", KINDS)


def test_every_kind_has_an_output() -> None:
    assert list(OUTPUTS) == list(KINDS)


@every_kind
def test_an_output_is_shown(kind: str) -> None:
    outcome = gpuinv("parse", kind, "-", stdin=OUTPUTS[kind])
    assert (outcome.exit_code, outcome.stderr) == (0, "")
    assert max(map(len, outcome.text.splitlines())) <= 80
    assert "issue" not in outcome.text


@every_kind
def test_a_file_reads_the_same(tmp_path: Path, kind: str) -> None:
    from_stdin = gpuinv("parse", kind, "-", "--json", stdin=OUTPUTS[kind])
    (tmp_path / "output").write_bytes(OUTPUTS[kind])
    assert gpuinv("parse", kind, tmp_path / "output", "--json") == from_stdin
    document = json.loads(from_stdin.text)
    assert next(iter(document)) == "kind"
    assert list(document)[-2:] == ["issues", "unread"]
    assert document["kind"] == kind
    assert (document["issues"], len(document) > 3) == ([], True)


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
    xml = (hosts.FIXTURES / "workstation-rtx-5090/smi/q-x.xml").read_text(encoding="utf-8")
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


def page(kind: str, data: bytes = b"", *options: str) -> str:
    outcome = gpuinv("parse", kind, "-", *options, stdin=data or OUTPUTS[kind])
    assert (outcome.exit_code, outcome.stderr) == (0, "")
    return outcome.text


@pytest.mark.parametrize(
    ("kind", "shown"),
    [
        ("query-gpu", "power.draw                           314270"),
        ("query-gpu", "fan.speed                            – (not supported)"),  # noqa: RUF001
        ("samples", "GPU-4269c4f5  61874 / 81920   98 / 62  64  381 / 400      –  1395 / 1593  P0"),  # noqa: RUF001
        ("compute-apps", "GPU-62cea173-7ed1-2143-4c69-a0feff808178  1"),
        ("remapped-rows", "GPU-5506643a-07df-85ac-28ef-8cf07c9e3ca2            0 / 2  yes      no"),
        ("remapped-rows", "GPU-4269c4f5-c205-053b-7625-479888de415d                –  –        –"),  # noqa: RUF001
        ("topo", "GPU6  SYS   SYS   SYS   SYS   PXB   PXB   80-95,208-223    5     –"),  # noqa: RUF001
        ("topo", "NIC0: mlx5_0  NIC1: mlx5_1"),
        ("nvlink-s", "    6: 25 GB/s   7: 25 GB/s"),
        ("nvlink-s", "a0feff808178\n   not told while MIG is on"),
        ("nvlink-R", "    4: 00000000:C9:00.0 link 6    5: 00000000:C9:00.0 link 7"),
        ("nvlink-e", "    1:  Replay Errors 0  Effective BER 1.5E-254"),
        ("nvlink-e", "479888de415d\n   all links are inactive"),
        ("mig-lgip", "6   1g.10gb+me  20  0 / 1   9.50   no  14   1    1    0     1    1"),
        ("mig-lgi", "6   gi5       2g.20gb     14         0:2"),
        ("mig-lci", "6   gi1/ci1   1c.3g.40gb   0         1:1"),
        ("mig-lgipp", "0   14             2  0, 2, 4"),
        ("mig-lcip", "1   gi3 2g.20gb        1*  0 / 1  28   2    1    0     0    0"),
        ("version", "cuda_driver_version  12.2"),
        ("help-query-gpu", "name, gpu_name\n   The official product name of the GPU. This is"),
        ("gpu-reset", "00000000:07:00.0 was reset\n00000000:0F:00.0 was not reset: In use by another client"),
    ],
)
def test_what_a_person_is_shown(kind: str, shown: str) -> None:
    assert shown in page(kind)


def test_a_table_has_as_many_columns_as_fit() -> None:
    parts = page("topo").split("\n\n")
    assert [part.partition("\n")[0].split()[-1] for part in parts[:2]] == ["NIC3", "NUMA"]
    assert all(part.count("\n") == 18 for part in parts[:2])


def test_rows_that_fit_stand_in_lines_and_others_in_columns() -> None:
    fields = "--fields=index,fan.speed"
    assert page("query-gpu", b"0, 41 %\n1, 42 %\n", fields) == "index  fan.speed\n0      41\n1      42\n"
    assert page("query-gpu", b"0, 41 %\n", fields) == "field      row 1\nindex      0\nfan.speed  41\n"


@pytest.mark.parametrize(
    ("kind", "answer", "words"),
    [
        ("query-gpu", "index, name\nNo devices were found", "no GPUs"),
        ("samples", "No devices were found", "no GPUs"),
        ("remapped-rows", "No devices were found", "no GPUs"),
        ("topo", "No devices were found", "no GPUs"),
        ("nvlink-s", "No devices were found", "no GPUs"),
        ("compute-apps", "gpu_uuid", "no compute processes"),
        ("mig-lgi", "No GPU instances found: Not Found", "none"),
        ("mig-lgip", "No MIG-supported devices found.", "no GPU can do MIG"),
        ("mig-lci", "No MIG-enabled devices found.", "MIG is off on every GPU"),
    ],
)
def test_an_answer_without_rows(kind: str, answer: str, words: str) -> None:
    assert page(kind, answer.encode()) == words + "\n"


def test_a_row_that_was_left_out_of_the_matrix() -> None:
    text = page("topo", b"\tGPU0\tGPU1\nGPU0\t X \tSYS\nGPU1\tSYS\n")
    assert text.startswith("      GPU0  GPU1\nGPU0  X     SYS\nGPU1  –     –\n")  # noqa: RUF001


def test_links_that_are_not_up() -> None:
    head = b"GPU 0: NVIDIA H100 (UUID: GPU-5506643a-07df-85ac-28ef-8cf07c9e3ca2)\n"
    status = head + b" Link 0: <inactive>\n Link 1: N/A\n Link 2: sleep\n Link 3: 26.562 GB/s\n"
    assert page("nvlink-s", status).splitlines()[1:] == [
        "    0: inactive            1: – (not supported)   2: sleep",  # noqa: RUF001
        "    3: 26.562 GB/s",
    ]
    assert "    0: –\n" in page("nvlink-R", head + b" Link 0: <inactive>\n")  # noqa: RUF001


def test_processes_of_no_known_gpu_and_refused_gpus_are_said() -> None:
    text = page("compute-apps", b"[N/A]\n")
    assert text.startswith("1 line without the UUID of a GPU\n\n1 issue")
    failed = b"Unable to determine the device handle for GPU 0000:25:00.0: Unknown Error\n"
    assert "incomplete: the tool refused a part of it" in page("mig-lgi", failed + OUTPUTS["mig-lgi"])


def test_json_keeps_every_digit() -> None:
    def document(kind: str) -> dict[str, Any]:
        return dict(json.loads(page(kind, OUTPUTS[kind], "--json")))

    links = document("nvlink-s")["gpus"][0]["links"]
    assert links[0] == {"link": 0, "up": True, "speed_gb_per_s": "25", "note": ""}
    assert document("mig-lgip")["profiles"][0]["memory_gib"] == "9.50"
    counters = document("nvlink-e")["gpus"][0]["counters"]
    assert [counter["value"] for counter in counters] == [0, 3, 0, "1.5E-254"]
    rows = document("query-gpu")["rows"]
    assert rows[0]["power.draw"] == 314270
    assert rows[0]["ecc.errors.corrected.volatile.total"] == {"missing": "not_supported"}
    assert document("remapped-rows")["gpus"][0]["remapped_rows"]["remapped_row_unc"] == "2"
    assert document("topo")["rows"][0]["cells"][2] == ["GPU2", {"kind": "NV", "nvlink_count": 12}]


ROWS = b"0, 41 %\n1, [N/A]\n"


@pytest.mark.parametrize(
    ("header", "fields"),
    [
        (b"index, fan.speed [%]\n", ()),
        (b"index,fan.speed [%]\r\n", ()),
        (b"Unable to determine the device handle for GPU 0000:25:00.0: Unknown Error\nindex, fan.speed [%]\n", ()),
        (b"WARNING: infoROM is corrupted at gpu 0000:B3:00.0\nindex, novel.field [%]\n", ()),
        (b"", ("--fields", "index,fan.speed")),
        (b"", ("--fields", " index , fan.speed ")),
        (b"index, fan.speed [%]\n", ("--fields", "index,fan.speed")),
    ],
)
def test_fields_are_those_of_the_option_or_of_the_header(header: bytes, fields: tuple[str, ...]) -> None:
    document = json.loads(page("query-gpu", header + ROWS, "--json", *fields))
    first, second = document["fields"]
    assert first == "index"
    assert [row["index"] for row in document["rows"]] == [0, 1]
    assert document["rows"][1][second] == {"missing": "not_supported"}


def test_a_query_with_a_default_takes_other_fields_too() -> None:
    uuid = "GPU-5506643a-07df-85ac-28ef-8cf07c9e3ca2"
    by_header = page("compute-apps", f"pid, gpu_uuid\n17, {uuid}\n18, {uuid}\n".encode())
    by_option = page("compute-apps", f"17, {uuid}\n18, {uuid}\n".encode(), "--fields=pid,gpu_uuid")
    assert by_header == by_option == f"{uuid}  2\n"
    pending = page("remapped-rows", b"00000000:07:00.0, Yes\n", "--fields=pci.bus_id,remapped_rows.pending")
    assert "00000000:07:00.0                –  yes      –\n" in pending  # noqa: RUF001


@pytest.mark.parametrize(
    ("kind", "data", "options", "words"),
    [
        ("query-gpu", ROWS, (), "standard input: no header names the fields; give them with --fields"),
        ("query-gpu", b"P0\n", (), "standard input: no header names the fields"),
        ("query-gpu", ROWS, ("--fields=index",), "2 columns instead of 1"),
        ("query-gpu", ROWS, ("--fields=index,,fan.speed",), "--fields takes the names of the query"),
        ("query-gpu", ROWS, ("--fields=",), "--fields takes the names of the query"),
        ("compute-apps", ROWS, ("--fields=index,fan.speed",), "standard input: the fields are a list of names"),
        ("L", ROWS, ("--fields=index",), "the fields of L are always the same"),
    ],
)
def test_fields_that_do_not_fit(kind: str, data: bytes, options: tuple[str, ...], words: str) -> None:
    outcome = gpuinv("parse", kind, "-", *options, stdin=data)
    assert outcome.exit_code == 2
    assert words in outcome.complaint


@pytest.mark.parametrize("form", [(), ("--json",)])
def test_bad_input_is_one_line_with_source_place_and_text(tmp_path: Path, form: tuple[str, ...]) -> None:
    file = tmp_path / "saved.xml"
    file.write_text("<nvidia_smi_log>\n  <gpu></nvidia_smi_log>\n", encoding="utf-8")
    outcome = gpuinv("parse", "q-x", file, *form)
    assert outcome.exit_code == 2
    assert outcome.complaint.startswith(f"gpuinv: {file}: nvidia-smi -q -x: line 2, column ")
    assert outcome.complaint.endswith("'<gpu></nvidia_smi_log>'")


@pytest.mark.parametrize("kind", sorted(KINDS.keys() - {"compute-apps"}))
@pytest.mark.parametrize("data", [b"", b"\0", b"\xff\xfe\x00\x01" * 99, b"hello\x1b[31m\n", bytes(range(256))])
def test_garbage_is_one_line(kind: str, data: bytes) -> None:
    outcome = gpuinv("parse", kind, "-", stdin=data)
    assert outcome.exit_code == 2
    assert outcome.complaint.startswith("gpuinv: standard input: ")
    assert outcome.complaint.isprintable()


def test_no_line_at_all_is_no_compute_process_and_any_line_is_one() -> None:
    assert gpuinv("parse", "compute-apps", "-").text == "no compute processes\n"
    assert "! no_uuid: a process without the UUID of its GPU: 'hello'" in page("compute-apps", b"hello\x1b[31m\n")


def mangled(data: bytes) -> st.SearchStrategy[bytes]:
    """The data cut short, or with some of its bytes replaced by others."""
    spots = st.tuples(st.integers(0, len(data)), st.integers(0, 40), st.binary(max_size=40))
    return spots.map(lambda spot: data[: spot[0]] + spot[2] + data[spot[0] + spot[1] :])


@pytest.mark.property
@every_kind
@given(data=st.data())
def test_any_bytes_are_read_or_refused(kind: str, data: st.DataObject) -> None:
    content = data.draw(st.binary() | mangled(OUTPUTS[kind]))
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
