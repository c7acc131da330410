"""Every captured CSV answer, help, version, reset and failure, by a table and by a reading with `split` alone."""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING

import pytest

from gpuinv.errors import IssueKind, ParseError
from gpuinv.ids import PciBusId, PciId
from gpuinv.readings import Missing
from gpuinv.smi.compute_apps import parse_compute_apps
from gpuinv.smi.gpu_reset import parse_gpu_reset
from gpuinv.smi.query_fields import QUERY_FIELDS
from gpuinv.smi.query_gpu import QueryGpu, RefusedField, WrongColumns, parse_query_gpu
from gpuinv.smi.query_help import parse_help_query_gpu
from gpuinv.smi.smi_version import parse_smi_version
from gpuinv.versions import DriverVersion

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

pytestmark = pytest.mark.corpus

Texts = dict[int, str]

# By the number of the file: its columns, its rows, its cells without a value, and the kinds of its issues.
CSV_GPU: dict[int, tuple[int, int, int, list[IssueKind]]] = {
    1: (202, 1, 111, [IssueKind.NO_UUID]),  # the UUIDs of 1 to 19 are masked with zeros
    3: (241, 1, 150, [IssueKind.NO_UUID]),
    5: (202, 1, 100, [IssueKind.NO_UUID]),
    7: (212, 1, 74, [IssueKind.NO_UUID]),
    9: (212, 1, 84, [IssueKind.NO_UUID]),
    11: (212, 1, 84, [IssueKind.NO_UUID]),
    13: (212, 1, 74, [IssueKind.NO_UUID]),
    15: (202, 1, 70, [IssueKind.NO_UUID]),
    17: (210, 1, 127, [IssueKind.NO_UUID]),
    19: (239, 1, 155, [IssueKind.NO_UUID]),
    21: (2, 1, 0, []),
    23: (4, 1, 2, [IssueKind.NEEDS_RESET]),
    25: (6, 2, 0, []),
    27: (22, 4, 4, [IssueKind.NO_UUID] * 4),  # shortened UUIDs; no fan
}
MIG = {9, 11}
MARKERS = {
    "[N/A]": Missing.NOT_SUPPORTED,
    "N/A": Missing.NOT_SUPPORTED,
    "[Not Supported]": Missing.NOT_SUPPORTED,
    "[Function Not Found]": Missing.NOT_SUPPORTED,
    "[Requested functionality has been deprecated]": Missing.DEPRECATED,
    "[GPU requires reset]": Missing.NEEDS_RESET,
    "": Missing.NOT_AVAILABLE,
}
UNITS = {"MiB", "%", "MHz", "us"}
FLAGS = {"Yes": True, "No": False, "Enabled": True, "Disabled": False, "Active": True, "Not Active": False}
# By the number of the file: how many lines of processes it has.
CSV_APPS = {1: 0, 3: 2, 5: 3, 7: 3, 9: 3, 11: 10, 13: 19}
VERSIONS = {
    1: ("595.71.05", "595.71", "595.71.05", "13.2"),
    5: ("610.57.04", "610.57", "610.57.04", "13.3"),  # the old lines are deprecated and refer to the new ones
    11: ("595.80", "595.80", "595.80", "13.2"),
    13: ("591.86", "591.86", "591.86", "13.1"),
}
HELP_FIELDS = {3: 202, 7: 241, 15: 210}


def texts(corpus: Path, folder: str) -> Texts:
    return {
        int(path.name[:3]): path.read_text(encoding="utf-8", errors="replace")
        for path in sorted((corpus / "text" / folder).iterdir())
    }


@pytest.fixture(scope="module")
def answers(corpus: Path) -> dict[int, tuple[str, QueryGpu]]:
    """By the number of the file: its text, and what the parser makes of it; the one that it refuses is left out."""
    return {
        number: (text, parse_query_gpu(text, asked(text)))
        for number, text in texts(corpus, "csv-gpu").items()
        if number != 29
    }


def asked(text: str) -> list[str]:
    """The fields of a header, in its own words."""
    return [cell.partition(" [")[0] for cell in text.splitlines()[0].split(", ")]


def naive_cells(text: str) -> Iterator[tuple[str, str, str]]:
    """Field, unit and text of every cell."""
    header, *rows = text.splitlines()
    for row in filter(None, rows):
        for name, cell in zip(header.split(", "), row.split(", "), strict=True):
            field, _, unit = name.rstrip("]").partition(" [")
            yield field, unit, cell


def naive_value(field: str, unit: str, cell: str) -> object:  # noqa: PLR0911 - a cell, a return
    """What a cell reads as, by what it looks like; the field decides only where the same text has two meanings."""
    text_fields = ("driver_version", "compute_cap", "pstate", "inforom", "serial", "gpu_fabric_guid", "gom", "c2c.mode")
    if cell in MARKERS:
        return MARKERS[cell]
    if field == "uuid" and (set(cell) <= set("GPU-0") or len(cell) != 40):
        return Missing.NOT_AVAILABLE
    if unit in UNITS and cell.removesuffix(unit).strip().isdigit():
        return int(cell.removesuffix(unit))
    if unit == "W":
        return round(float(cell.removesuffix("W")) * 1000)
    if field.startswith(text_fields) or field.endswith(text_fields):
        return cell
    if field in {"pci.device_id", "pci.sub_device_id"}:
        return f"{cell[6:].lower()}:{cell[2:6].lower()}"
    if re.fullmatch("0x[0-9A-F]+", cell):
        return int(cell, 16)
    return int(cell) if cell.isdigit() else FLAGS.get(cell, cell.upper() if field == "vbios_version" else cell)


def shown(value: object) -> object:
    return str(value) if isinstance(value, PciBusId | PciId | DriverVersion) else value


def test_counts_and_issues(answers: dict[int, tuple[str, QueryGpu]]) -> None:
    assert answers.keys() & CSV_GPU.keys()
    for number in answers.keys() & CSV_GPU.keys():
        _, found = answers[number]
        missing = sum(
            isinstance(value, Missing) for row in found.rows for field, value in row.items() if field != "uuid"
        )
        kinds = [issue.kind for issue in found.issues]
        assert (number, len(found.fields), len(found.rows), missing, kinds) == (number, *CSV_GPU[number])


def test_every_cell(answers: dict[int, tuple[str, QueryGpu]]) -> None:
    for number, (text, found) in answers.items():
        read = [(field, shown(value)) for row in found.rows for field, value in row.items()]
        expected = []
        for field, unit, cell in naive_cells(text):
            value = naive_value(field, unit, cell)
            hidden = number in MIG and field.startswith("remapped_rows.") and value is Missing.NOT_SUPPORTED
            expected.append((field, Missing.HIDDEN_BY_MIG if hidden else value))
        assert (number, read) == (number, expected)


def test_every_field_of_every_driver_but_these_has_a_form(answers: dict[int, tuple[str, QueryGpu]]) -> None:
    known = {name for column in QUERY_FIELDS for name in column.names}
    unknown = {field for _, found in answers.values() for field in found.fields} - known
    groups = Counter(field.partition(".")[0] for field in unknown)
    assert groups.keys() <= {"vgpu_device_capability", "power", "power_smoothing", "edpp_multiplier"}
    assert groups["power"] == 1  # power.management


def test_units_of_the_headers(answers: dict[int, tuple[str, QueryGpu]]) -> None:
    units = {name: column.unit for column in QUERY_FIELDS for name in column.names}
    for text, _ in answers.values():
        for field, unit, _ in naive_cells(text):
            assert units.get(field, unit) == unit


def test_nounits_and_noheader_give_the_same(answers: dict[int, tuple[str, QueryGpu]]) -> None:
    for text, found in answers.values():
        rows = text.partition("\n")[2]
        bare = re.sub(r" (?:MiB|W|MHz|us)(?=,|$)", "", rows, flags=re.MULTILINE)
        assert parse_query_gpu(rows, found.fields).rows == found.rows
        assert parse_query_gpu(bare, found.fields).rows == found.rows


def test_a_header_that_its_rows_do_not_fit_is_refused(corpus: Path) -> None:
    text = texts(corpus, "csv-gpu")[29]
    with pytest.raises(WrongColumns, match="19 columns instead of 16"):
        parse_query_gpu(text, asked(text))


def test_processes(corpus: Path) -> None:
    found = texts(corpus, "csv-apps")
    assert found.keys() & CSV_APPS.keys()
    for number, text in found.items():
        apps = parse_compute_apps(text, asked(text))
        lines = len(text.splitlines()) - 1
        # The UUIDs are masked with zeros, so that no line names its GPU.
        assert (apps.by_uuid, apps.unattributed) == ((), lines)
        assert CSV_APPS.get(number, lines) == lines
        uuid = "GPU-7a10c0de-55d4-4be7-8a6e-0d2f7c9b1e01"
        named = parse_compute_apps(text.replace("GPU-00000000-0000-0000-0000-000000000000", uuid), asked(text))
        assert dict(named.by_uuid) == ({uuid: lines} if lines else {})
        assert named.issues == ()


def test_help_and_versions(corpus: Path) -> None:
    for number, text in texts(corpus, "help").items():
        if "List of valid properties" in text:
            found = parse_help_query_gpu(text)
            names = [line for line in text.splitlines() if re.fullmatch(r'"[\w.]+"(?: or "[\w.]+")*', line)]
            assert [[field.field_name, *field.aliases] for field in found.fields] == [
                re.findall(r'"([^"]+)"', line) for line in names
            ]
            assert len(names) == HELP_FIELDS.get(number, len(names))
            assert all(field.description for field in found.fields)
        elif "NVML version" in text:
            version = parse_smi_version(text)
            assert version.issues == ()
            if number in VERSIONS:
                smi, nvml, driver, cuda = VERSIONS[number]
                assert (str(version.smi_version), version.nvml_version) == (smi, nvml)
                assert (str(version.driver_version), version.cuda_driver_version) == (driver, cuda)
        else:
            assert text.startswith("NVIDIA System Management Interface")
            for parser in (parse_help_query_gpu, parse_smi_version):
                with pytest.raises(ParseError):
                    parser(text)


def test_the_table_has_the_aliases_of_the_help(corpus: Path) -> None:
    table = {name: column.names for column in QUERY_FIELDS for name in column.names}
    for text in texts(corpus, "help").values():
        if "List of valid properties" in text:
            for field in parse_help_query_gpu(text).fields:
                names = {field.field_name, *field.aliases}
                known = set(table.get(field.field_name, names))
                # A driver may have the field and not yet, or no longer, all of its names.
                assert names <= known


def test_the_help_lists_the_columns_of_the_same_driver(corpus: Path) -> None:
    helped = parse_help_query_gpu(texts(corpus, "help")[3])
    assert [field.field_name for field in helped.fields] == asked(texts(corpus, "csv-gpu")[1])


def test_resets(corpus: Path) -> None:
    for number, text in texts(corpus, "reset").items():
        found = parse_gpu_reset(text)
        naive = re.findall(r"GPU ([0-9A-F:.]{16}) +was successfully reset", text)
        assert [(str(answer.pci_bus_id), answer.was_reset) for answer in found.answers] == [
            (each, True) for each in naive
        ]
        assert (found.all_done, found.refused) == ("All done." in text, False)
        if number == 3:
            assert [(issue.kind, issue.pci_bus_id) for issue in found.issues] == [
                (IssueKind.NEEDS_RESET, "00000000:00:03.0")
            ]
        else:
            assert found.issues == ()
            assert (number != 1) or len(found.answers) == 6


# By the number of the file: what reading it as the answer of a query for two fields gives, an issue or an error.
FAILURES: dict[int, tuple[IssueKind, str | None] | str] = {
    1: "no answer",
    3: (IssueKind.READ_ERROR, "00000000:25:00.0"),
    5: (IssueKind.READ_ERROR, "00000000:01:00.0"),
    7: "1 columns",
    9: "retired_pages.double_bit_ecc.count",
    11: "clocks.applications.sm",
    13: "no answer",
    15: "no answer",
    17: "no answer",
    19: "no answer",
    21: "no answer",
    23: (IssueKind.GPU_LOST, "00000000:05:00.0"),
    25: "4 columns",
    27: (IssueKind.READ_ERROR, "00000000:44:00.0"),
    52: "no answer",
}


def test_failures(corpus: Path) -> None:
    found = texts(corpus, "failures")
    assert found.keys() & FAILURES.keys()
    for number in found.keys() & FAILURES.keys():
        expected = FAILURES[number]
        if isinstance(expected, str):
            with pytest.raises(ParseError, match=re.escape(expected)) as caught:
                parse_query_gpu(found[number], ("uuid", "index"))
            assert isinstance(caught.value, RefusedField) == found[number].startswith("Field ")
        else:
            answer = parse_query_gpu(found[number], ("uuid", "index"))
            assert answer.rows == ()
            assert [(issue.kind, issue.pci_bus_id) for issue in answer.issues] == [expected]


def test_a_gpu_lost_after_a_row_costs_no_row(corpus: Path) -> None:
    found = parse_query_gpu(texts(corpus, "failures")[25], ("index", "name", "pci.bus_id", "power.draw"))
    assert [list(row.values()) for row in found.rows] == [[0, "NVIDIA GeForce RTX 3060", PciBusId(0, 5, 0), 43330]]
    assert [(issue.kind, issue.pci_bus_id) for issue in found.issues] == [(IssueKind.GPU_LOST, "00000000:0A:00.0")]
