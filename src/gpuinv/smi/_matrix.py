"""The layout of `topo -m`: the header's columns, and the cells of a row, tabs or blanks between them."""

from __future__ import annotations

import re
from itertools import islice, pairwise
from typing import TYPE_CHECKING

import attrs

from gpuinv.errors import ParseError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gpuinv.text import Line

__all__ = ["MAX_LABELS", "MAX_TAIL", "Header", "cells_of", "find_header", "tail_of"]

MAX_LABELS = 1024
"""More GPUs and NICs than any host has."""

MAX_TAIL = 16
"""More columns than any release prints behind them; it is three."""

_FIELDS = {"cpu": "cpu_affinity", "numa": "numa_affinity", "gpu": "gpu_numa_id"}
_TAIL_START = re.compile(r"(?:CPU|NUMA)\s+Affinity|GPU\s+NUMA\s+ID")
_TAIL_NAME = re.compile(r"(?P<cpu>CPU\s+Affinity)|(?P<numa>NUMA\s+Affinity)|(?P<gpu>GPU\s+NUMA\s+ID)|\S+(?: \S+)*")
_GPU_LABEL = re.compile(r"GPU(?:0|[1-9][0-9]{0,5})", re.ASCII)
_LABEL = re.compile(r"(?!NV[0-9]*\Z)(?=.*[0-9])[A-Za-z][\w.:@-]*", re.ASCII)
_TOKEN = re.compile(r"\S+")
_TAB = 8


@attrs.frozen
class Header:
    """The line above the matrix: the labels of its columns, and which field each of the last columns is.

    An unknown column among the last ones keeps its place, as None.
    """

    labels: tuple[str, ...]
    tail: tuple[str | None, ...]
    positions: dict[str, int] = attrs.field(
        init=False,
        eq=False,
        default=attrs.Factory(lambda self: {label: n for n, label in enumerate(self.labels)}, takes_self=True),
    )

    def is_again(self, line: Line) -> bool:
        """Whether another line is a header too."""
        return _header(line.text) is not None


def find_header(line: Line, *, source: str) -> Header | None:
    """The header that a line is; None where it is none.

    Raises:
        ParseError: a label stands twice in it, so that its columns cannot be told apart; or it has more columns than
            any host's.
    """
    header = _header(line.text)
    if header is None:
        return None
    message = ""
    if len(header.labels) > MAX_LABELS or len(header.tail) > MAX_TAIL:
        message = f"a header of more than {MAX_LABELS} devices or {MAX_TAIL} columns behind them; this is no host"
    elif len(header.positions) != len(header.labels):
        message = "a label stands twice in the header"
    if message:
        raise ParseError(source, message, place=line.place, text=line.text)
    return header


def _header(text: str) -> Header | None:
    """The header that `text` is: labels, a GPU first, and at least two of them or a known column behind."""
    start = _TAIL_START.search(text)
    cut = len(text) if start is None else start.start()
    labels = tuple(text[:cut].split())
    named = bool(labels) and _GPU_LABEL.fullmatch(labels[0]) is not None and all(map(_LABEL.fullmatch, labels))
    if not named or (start is None and len(labels) == 1):
        return None
    names = (match.lastgroup for match in _TAIL_NAME.finditer(text, cut))
    tail = tuple(None if name is None else _FIELDS[name] for name in islice(names, MAX_TAIL + 1))
    return Header(labels, tail)


def cells_of(text: str, header: Header) -> tuple[str, list[str]]:
    """The label of a row, and its cells below the header's labels; what stands behind them is for `tail_of`."""
    count = len(header.labels) + 1
    row = text.strip()
    if "\t" not in row:
        label, *links = row.split(None, count)[:count]
        return label, links
    label, *cells = (cell.strip() for cell in row.split("\t", count)[:count])
    return label, cells


def tail_of(text: str, header: Header) -> list[str] | None:
    """The texts of a row below the header's last columns, one for each.

    None where the row has other cells there than the header has columns and nothing tells which belongs to which.
    """
    count, columns = len(header.labels), len(header.tail)
    row = text.strip()
    if "\t" in row:
        return _placed([cell.strip() for cell in row.split("\t")[count + 1 :]], columns)
    return _placed(_retabbed(list(_TOKEN.finditer(row))[count:], columns), columns)


def _placed(cells: Sequence[str] | None, columns: int) -> list[str] | None:
    """One cell for each column, where there may be an empty cell more before a column than there are columns.

    The last cell is never empty, since blanks at a line's end are not kept; columns that lack there are empty.
    """
    if cells is None:
        return None
    filled = [cell for cell in cells if cell]
    if len(filled) == columns:
        return filled
    spare = max(len(cells) - columns, 0)
    placed: list[str] = []
    left = list(cells)
    while left:
        placed.append(left.pop())
        if spare and left and not left[-1]:
            left.pop()
            spare -= 1
    placed.reverse()
    return None if spare else placed + [""] * (columns - len(placed))


def _retabbed(tokens: Sequence[re.Match[str]], columns: int) -> list[str] | None:
    """The cells behind the first token, which is the last link cell, as they were before tabs became blanks.

    As many tokens as columns need no guess. Fewer have empty cells between them, which only the distance tells: a
    terminal puts a tab's text on a multiple of eight. None where a token stands elsewhere.
    """
    texts = [token[0] for token in tokens[1:]]
    if len(texts) in {0, columns}:
        return texts
    cells: list[str] = []
    for before, token in pairwise(tokens):
        tabs = token.start() // _TAB - before.end() // _TAB
        if token.start() % _TAB:
            return None
        cells += [""] * (tabs - 1) + [token[0]]
    return cells
