"""`nvidia-smi --query-gpu=uuid,compute_cap --format=csv,noheader`: compute capabilities, which no other output has."""

from __future__ import annotations

import attrs

from gpuinv.errors import Issue, IssueKind, ParseError
from gpuinv.ids import GpuUuid
from gpuinv.inventory._fields import doc
from gpuinv.readings import Missing, Reading, missing_reason
from gpuinv.smi import _values as v
from gpuinv.smi._text import Line, failure_issue, lines, refused_field, says_no_devices
from gpuinv.smi.queries import COMPUTE_CAP

__all__ = ["ComputeCaps", "parse_compute_cap"]

_SOURCE = COMPUTE_CAP.source
_HEADER = ["uuid", "compute_cap"]


@attrs.frozen(kw_only=True)
class ComputeCaps:
    """The compute capability of each GPU, `9.0`."""

    by_uuid: tuple[tuple[GpuUuid, Reading[str]], ...] = doc("UUID and compute capability; each UUID once.", default=())
    issues: tuple[Issue, ...] = doc("GPUs that could not be opened, rows without a UUID, odd values.", default=())


def parse_compute_cap(text: str | bytes) -> ComputeCaps:
    """Read the output of `nvidia-smi --query-gpu=uuid,compute_cap --format=csv,noheader`: rows `GPU-…, 9.0`.

    A header line is skipped; a GPU that could not be opened is an issue, not a row, as is a row without a UUID. Of rows
    with the same UUID the first is kept.

    Raises:
        ParseError: the driver does not know the field; a line has another number of columns, so that no row is trusted;
            there is no answer at all.
    """
    reader = _Reader()
    for line in lines(text, source=_SOURCE):
        reader.read(line)
    if not reader.answered:
        raise ParseError(_SOURCE, "no answer")
    return ComputeCaps(by_uuid=tuple(reader.rows.items()), issues=tuple(reader.issues))


@attrs.define
class _Reader:
    rows: dict[GpuUuid, Reading[str]] = attrs.field(factory=dict)
    issues: list[Issue] = attrs.field(factory=list)
    answered: bool = False

    def read(self, line: Line) -> None:
        """Take in one line."""
        self.answered = True
        issue = failure_issue(line, source=_SOURCE)
        if issue is not None:
            self.issues.append(issue)
        elif not says_no_devices(line):
            self._row(line, *_cells(line))

    def _row(self, line: Line, uuid_text: str, value_text: str) -> None:
        uuid = v.UUID.read(uuid_text)
        value = v.MAJOR_MINOR.read(value_text)
        if [uuid_text, value_text] == _HEADER:
            return
        if isinstance(uuid, Missing):
            self._note(line, IssueKind.NO_UUID, "a row without a UUID")
        elif uuid in self.rows:
            self._note(line, IssueKind.DUPLICATE_UUID, "this UUID stands above; the first row is kept", uuid)
        else:
            self.rows[uuid] = value
            if value is Missing.ERROR and missing_reason(value_text) is None:
                self._note(line, IssueKind.BAD_VALUE, "not a compute capability", uuid)

    def _note(self, line: Line, kind: IssueKind, message: str, uuid: str | None = None) -> None:
        self.issues.append(attrs.evolve(line.issue(kind, _SOURCE, message), uuid=uuid))


def _cells(line: Line) -> list[str]:
    field = refused_field(line)
    if field is not None:
        raise ParseError(_SOURCE, "this driver does not know the field", place=line.place, text=field)
    cells = [cell.strip() for cell in line.text.split(",")]
    if len(cells) != len(_HEADER):
        raise ParseError(_SOURCE, f"{len(cells)} columns instead of {len(_HEADER)}", place=line.place, text=line.text)
    return cells
