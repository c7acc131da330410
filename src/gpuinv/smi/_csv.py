"""nvidia-smi's CSV: lines to cells to readings.

There is no quoting. The separator is a comma and a blank; a line may have a header's names, and errors of the tool
stand among the rows where its two outputs are merged. Columns are known by their order, never by a name: an alias is
echoed as it was asked for or as its canonical name.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, TypeAlias

import attrs

import gpuinv.values as v
from gpuinv.errors import Issue, IssueKind, ParseError
from gpuinv.readings import Missing, Reading, missing_reason
from gpuinv.smi._walk import REPORTED
from gpuinv.smi.sentences import MAX_GPUS, failure_issue, named_gpu, refused_field, says_no_devices
from gpuinv.text import Issues, Line, lines, too_many, unanswered

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["Cells", "Column", "RefusedField", "Rows", "WrongColumns", "read_rows", "read_values"]

Cells: TypeAlias = list[str]

_HEADER_CELL = re.compile(r"([A-Za-z][A-Za-z0-9_.]*)(?: \[([^\[\]]+)\])?")
_SENTENCES = (
    "Unable to ",
    "Failed to ",
    "NVIDIA-SMI ",
    "WARNING",
    "Warning",
    "ERROR",
    "Error",
    'Field "',
    "No devices",
)
_COMPLAINT = re.compile(r"(?:unable to|failed to|nvidia-smi|warning|error)\b", re.IGNORECASE)
_MESSAGES = {
    IssueKind.BAD_VALUE: "not of the form of its field",
    IssueKind.READ_ERROR: "the driver could not read it",
    IssueKind.NO_PERMISSION: "it needs more permissions",
    IssueKind.NEEDS_RESET: "the GPU answers only after a reset",
    IssueKind.GPU_LOST: "the GPU is lost",
}
_REASONS = frozenset(REPORTED)


class RefusedField(ParseError):  # noqa: N818 - named like InvalidSection, by what it is about
    """The driver does not know a field; one such field leaves the whole query without an answer. `field` names it."""

    def __init__(self, source: str, field: str, *, place: str = "") -> None:
        self.field = field
        super().__init__(source, "this driver does not know the field", place=place, text=field)
        self.args = (source, field)  # what a copy is made from


class WrongColumns(ParseError):  # noqa: N818
    """A line has other columns than were asked for, so that no line of this answer can be trusted."""


@attrs.frozen
class Column:
    """One field that can be asked for: its names, the unit in its header, and how a cell of it is read.

    A driver prints the first of its names in the header, or the one that was asked for.
    """

    names: tuple[str, ...]
    reader: v.ValueReader
    unit: str = ""

    @property
    def name(self) -> str:
        """The name that drivers list first."""
        return self.names[0]


@attrs.define
class Rows:
    """The cells of an answer, and what was said beside them.

    `unopened` counts the GPUs that the tool could not open. `said` is its first complaint, `failed` whether one of them
    was an error and no warning.
    """

    source: str
    header: Cells | None = None
    cells: list[tuple[Line, Cells]] = attrs.field(factory=list)
    issues: Issues = attrs.field(factory=Issues)
    unopened: int = 0
    no_devices: bool = False
    said: Line | None = None
    failed: bool = False

    def note(self, line: Line, kind: IssueKind, message: str, *, uuid: str | None = None) -> None:
        """Raise an issue about a line."""
        self.issues.append(attrs.evolve(line.issue(kind, self.source, message), uuid=uuid))

    def answer(self) -> Rows:
        """Itself, where it is an answer: a row, a GPU that could not be opened, or that there are no devices.

        Raises:
            ParseError: none of these. A failed query is no empty answer.
        """
        if not (self.cells or self.unopened or self.no_devices):
            raise self.no_answer()
        return self

    def no_answer(self) -> ParseError:
        """The error of a query that failed, with what the tool said."""
        return unanswered(self.source, "no answer", self.said)


def read_rows(
    data: str | bytes, columns: Sequence[Column], *, source: str, free: int | None = None, most: int = MAX_GPUS
) -> Rows:
    """Split an answer into the cells of its rows, of which it has `most`; `free` is the column that may hold commas.

    Raises:
        RefusedField: the driver does not know a field.
        WrongColumns: a line that is no sentence of the tool has another number of columns, or a header other names.
        ParseError: more than 64 MiB, more rows than `most`, or more oddities than any answer has.
    """
    rows, width, first = Rows(source), len(columns), True
    for line in lines(data, source=source):
        text = line.text
        cells = text.split(", ")
        if len(cells) != width or text[-1] == "," or text.startswith(_SENTENCES):
            if _said(line, rows):
                continue
            cells = _split(line, width, free, source)
        if first:
            first = False
            if _is_header(cells, columns, line, source):
                rows.header = cells
                continue
        elif cells == rows.header:
            rows.note(line, IssueKind.MORE_DOCUMENTS, "the answer stands here again; the first one was read")
            break
        if len(rows.cells) >= most:
            raise too_many(source, f"{most} rows", line)
        rows.cells.append((line, cells))
    return rows


def _said(line: Line, rows: Rows) -> bool:
    """Whether the line is a sentence of the tool; what it says is kept."""
    field = refused_field(line)
    if field is not None:
        raise RefusedField(rows.source, field, place=line.place)
    if says_no_devices(line):
        rows.no_devices = True
        return True
    issue = failure_issue(line, source=rows.source)
    if issue is not None:
        rows.unopened += 1
    elif (complaint := _COMPLAINT.match(line.text.strip())) is not None:
        issue = _complaint(line, rows.source)
        rows.said = rows.said or line
        rows.failed |= complaint[0].casefold() != "warning"
    else:
        return False
    rows.issues.append(issue)
    return True


def _complaint(line: Line, source: str) -> Issue:
    """A warning (`infoROM is corrupted at gpu 0000:B3:00.0`) or an error (`Failed to initialize NVML: …`)."""
    reason = missing_reason(line.text.rpartition(": ")[2])
    kind = IssueKind.READ_ERROR if reason is None else REPORTED.get(reason, IssueKind.READ_ERROR)
    issue = line.issue(kind, source, "the tool reports a problem")
    pci_bus_id = named_gpu(line.text)
    return issue if pci_bus_id is None else attrs.evolve(issue, pci_bus_id=str(pci_bus_id))


def _split(line: Line, width: int, free: int | None, source: str) -> Cells:
    """The cells of an unusual line: its last cell is empty, its commas stand alone, or a free text holds some."""
    spaced = (line.text + " " if line.text[-1] == "," else line.text).split(", ")
    plain = [cell.strip() for cell in line.text.split(",")]
    for cells in (spaced, plain):
        if len(cells) == width:
            return cells
    for cells, comma in ((spaced, ", "), (plain, ",")):
        if free is not None and len(cells) > width:
            behind = free + 1 + len(cells) - width
            return [*cells[:free], comma.join(cells[free:behind]), *cells[behind:]]
    count = len(spaced) if len(spaced) > 1 else len(plain)
    raise WrongColumns(source, f"{count} columns instead of {width}", place=line.place, text=line.text)


def _is_header(cells: Cells, columns: Sequence[Column], line: Line, source: str) -> bool:
    """Whether the first line names the columns: each cell looks like a name, and one of them is known or has a unit.

    Raises:
        WrongColumns: it names other fields, or other units, than were asked for.
    """
    matches = [_HEADER_CELL.fullmatch(cell.strip()) for cell in cells]
    named = [(match[1], match[2]) for match in matches if match is not None]
    if len(named) != len(columns):
        return False
    known = {name for column in columns for name in column.names}
    if not any(unit or name in known for name, unit in named):
        return False
    for (name, unit), column in zip(named, columns, strict=True):
        if (name in known and name not in column.names) or (unit and column.unit and unit != column.unit):
            raise WrongColumns(
                source, f"the header names another field than {column.name}", place=line.place, text=name
            )
    return True


def read_values(rows: Rows, columns: Sequence[Column], *, uuid: int | None) -> list[list[Reading[Any]]]:
    """The readings of each row, in the order of the columns; `uuid` is the column that names the GPU.

    What could not be read, a row without a UUID and a UUID that stands above are issues.
    """
    readers = [column.reader.read for column in columns]
    found: list[list[Reading[Any]]] = []
    seen: set[Reading[Any]] = set()
    for line, cells in rows.cells:
        values = [read(cell) for read, cell in zip(readers, cells, strict=True)]
        found.append(values)
        key = Missing.ABSENT if uuid is None else values[uuid]
        if not _REASONS.isdisjoint(values):
            gpu = None if isinstance(key, Missing) else str(key)
            _report(rows, (line, cells), values, columns, gpu)
        if uuid is not None:
            if key in seen or isinstance(key, Missing):
                _note_identity(rows, line, key)
            else:
                seen.add(key)
    return found


def _report(
    rows: Rows, row: tuple[Line, Cells], values: list[Reading[Any]], columns: Sequence[Column], uuid: str | None
) -> None:
    """Raise one issue for each kind of trouble in a row, which names every field concerned."""
    line, cells = row
    groups: dict[IssueKind, list[str]] = {}
    for column, cell, value in zip(columns, cells, values, strict=True):
        if isinstance(value, Missing) and value in REPORTED:
            bad = value is Missing.ERROR and missing_reason(cell) is None
            kind = IssueKind.BAD_VALUE if bad else REPORTED[value]
            groups.setdefault(kind, []).append(column.name)
    for kind, names in groups.items():
        rows.note(line, kind, f"{', '.join(names)}: {_MESSAGES[kind]}", uuid=uuid)


def _note_identity(rows: Rows, line: Line, uuid: Reading[Any]) -> None:
    if isinstance(uuid, Missing):
        rows.note(line, IssueKind.NO_UUID, "a row without a usable UUID")
    else:
        rows.note(line, IssueKind.DUPLICATE_UUID, "this UUID stands above", uuid=str(uuid))
