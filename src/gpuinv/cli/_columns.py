"""Lines in columns, for output that has to stay readable on 80 columns and in a file."""

from __future__ import annotations

import textwrap
from itertools import zip_longest
from typing import TYPE_CHECKING

from rich.cells import cell_len

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence

__all__ = ["GAP", "aligned", "chunked", "filled", "table", "wrapped"]

GAP = "  "
_NARROWEST = 16


def aligned(rows: Sequence[Sequence[str]], *, right: Collection[int] = ()) -> list[list[str]]:
    """The cells of all rows, padded to the width of their column; the last column is not."""
    widths = [max(map(cell_len, column)) for column in zip_longest(*rows, fillvalue="")]
    padded = []
    for row in rows:
        cells = [_padded(cell, widths[number], right=number in right) for number, cell in enumerate(row)]
        padded.append([*cells[:-1], cells[-1] if len(row) - 1 in right else row[-1]])
    return padded


def table(rows: Sequence[Sequence[str]], width: int, *, right: Collection[int] = ()) -> list[list[str]]:
    """Each row as its lines; the first column is folded where the others leave it too little room.

    The lines are longer than `width` only where the other columns are.
    """
    rest = [GAP.join(cells) for cells in aligned([row[1:] for row in rows], right=[number - 1 for number in right])]
    widest = max(cell_len(row[0]) for row in rows)
    room = max(width - max(map(cell_len, rest)) - len(GAP), _NARROWEST)
    room = min(room, widest)
    folded = [_folded(row[0], room) for row in rows]
    return [
        [f"{_padded(first, room)}{GAP}{cells}".rstrip(), *more]
        for (first, *more), cells in zip(folded, rest, strict=True)
    ]


def chunked(rows: Sequence[Sequence[str]], width: int, *, right: Collection[int] = ()) -> list[list[str]]:
    """Rows of equal length as tables of as many columns as fit, each behind the first column.

    A row that has nothing in a table's columns is not in it. A line is longer than `width` only where one column alone
    is too wide.
    """
    widths = [max(map(cell_len, column)) for column in zip(*rows, strict=True)]
    parts: list[list[int]] = [[]]
    for number, wide in enumerate(widths[1:], 1):
        taken = widths[0] + sum(len(GAP) + widths[each] for each in parts[-1])
        if parts[-1] and taken + len(GAP) + wide > width:
            parts.append([])
        parts[-1].append(number)
    return [_part(rows, [0, *part], right) for part in parts]


def _part(rows: Sequence[Sequence[str]], columns: Sequence[int], right: Collection[int]) -> list[str]:
    """Some of the columns, of the rows that have something there."""
    cells = [[row[column] for column in columns] for row in rows if any(row[column] for column in columns[1:])]
    to_the_right = [place for place, column in enumerate(columns) if column in right]
    return [GAP.join(row).rstrip() for row in aligned(cells, right=to_the_right)]


def filled(parts: Iterable[str], width: int, *, indent: str = "") -> list[str]:
    """Parts side by side, a new line where the next one does not fit."""
    lines: list[str] = []
    for part in parts:
        if lines and cell_len(lines[-1]) + len(GAP) + cell_len(part) <= width:
            lines[-1] += GAP + part
        else:
            lines.append(indent + part)
    return lines


def wrapped(text: str, width: int, *, first: str = "", indent: str = "") -> list[str]:
    """Text in lines, folded between words, and within one that is longer than a line."""
    return textwrap.wrap(text, width, initial_indent=first, subsequent_indent=indent, break_on_hyphens=False) or [first]


def _folded(cell: str, room: int) -> list[str]:
    """A cell in lines; what is folded stands below the cell's second word, since the first is a number."""
    indent = " " * (len(cell) - len(cell.partition(" ")[2].lstrip()))
    return [cell] if cell_len(cell) <= room else wrapped(cell, room, indent=indent)


def _padded(cell: str, width: int, *, right: bool = False) -> str:
    blanks = " " * (width - cell_len(cell))
    return blanks + cell if right else cell + blanks
