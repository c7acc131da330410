"""The fields that the header of a CSV answer names."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from gpuinv.smi.query_fields import QUERY_FIELDS
from gpuinv.smi.sentences import failure_issue, says_no_devices
from gpuinv.text import lines

if TYPE_CHECKING:
    from gpuinv.text import Line

__all__ = ["header_fields"]

_CELL = re.compile(r"([A-Za-z][A-Za-z0-9_.]*)(?: \[[^\[\]]+\])?", re.ASCII)
_SENTENCE = re.compile(r"(?:unable to|failed to|nvidia-smi|warning|error)\b", re.IGNORECASE)
_KNOWN = frozenset(name for column in QUERY_FIELDS for name in column.names)


def header_fields(data: bytes, *, source: str) -> tuple[str, ...]:
    """The fields of the first line that is no sentence of the tool; none where that line is a row.

    A header is a line of nothing but names, of which one is that of a known field or has a unit behind it.

    Raises:
        ParseError: the data is larger than a parser takes.
    """
    first = next((line for line in lines(data, source=source) if not _is_sentence(line)), None)
    cells = [] if first is None else [_CELL.fullmatch(cell.strip()) for cell in first.text.split(",")]
    names = tuple(cell[1] for cell in cells if cell is not None)
    with_unit = any(cell is not None and cell[0] != cell[1] for cell in cells)
    return names if len(names) == len(cells) and (with_unit or not _KNOWN.isdisjoint(names)) else ()


def _is_sentence(line: Line) -> bool:
    failed = failure_issue(line, source="") is not None
    return failed or says_no_devices(line) or _SENTENCE.match(line.text.strip()) is not None
