"""Foreign text, cleaned: decoded whatever it holds, cut into lines, and bounded in what may be wrong with it."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import attrs

from gpuinv.errors import Issue, IssueKind, ParseError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from typing import Self

__all__ = [
    "MAX_BYTES",
    "MAX_ISSUES",
    "REPLACEMENT",
    "UTF16_BOMS",
    "Issues",
    "Line",
    "decode",
    "lines",
    "too_many",
    "unanswered",
]

MAX_BYTES = 64 * 1024 * 1024
"""The most of one text that is read; hundreds of GPUs with their clocks stay far below."""

REPLACEMENT = "\N{REPLACEMENT CHARACTER}"
"""Stands for every byte that is no UTF-8; a name that holds one is not known."""

UTF16_BOMS = {b"\xff\xfe": "utf-16-le", b"\xfe\xff": "utf-16-be"}
"""How a text in UTF-16 begins, as a redirection in PowerShell writes it, and the encoding."""

MAX_ISSUES = 1000
"""A text with more oddities is no output of the tool."""

_ADVICE = "give it what this command printed, and nothing else"
_CHUNK = 65_536
_ANSI = re.compile(r"\x1b\[[0-?]*[ -/]*[@-~]")
_SURROGATE = re.compile("[\ud800-\udfff]")


@attrs.frozen
class Line:
    """A line that is not blank: its number, from 1, and its text without escape sequences and trailing blanks."""

    number: int
    text: str

    @property
    def place(self) -> str:
        """How errors and issues name it."""
        return f"line {self.number}"

    def issue(self, kind: IssueKind, source: str, message: str) -> Issue:
        """An issue about this line."""
        return Issue(kind=kind, source=source, message=message, place=self.place, text=self.text)


def decode(data: str | bytes, *, source: str, limit: int = MAX_BYTES) -> str:
    """The text of `data`; what cannot be decoded becomes `REPLACEMENT`.

    Bytes are UTF-8, or UTF-16 where they begin with its mark.

    Raises:
        ParseError: more than `limit` bytes (or characters).
    """
    if len(data) > limit:
        raise ParseError(source, f"more than {limit} bytes")
    if isinstance(data, bytes):
        encoding = UTF16_BOMS.get(bytes(data[:2]))
        return data[2:].decode(encoding, "replace") if encoding else data.decode("utf-8-sig", "replace")
    return _SURROGATE.sub(REPLACEMENT, data.removeprefix("\ufeff"))


def lines(data: str | bytes, *, source: str, limit: int = MAX_BYTES) -> Iterator[Line]:
    """The lines of `data` that are not blank, without escape sequences. They end with LF, CR LF or CR, nothing else.

    Raises:
        ParseError: more than `limit` bytes (or characters).
    """
    text = _ANSI.sub("", decode(data, source=source, limit=limit))
    for number, line in enumerate(_split(text.replace("\r\n", "\n").replace("\r", "\n")), 1):
        stripped = line.rstrip()
        if stripped:
            yield Line(number, stripped)


def _split(text: str) -> Iterator[str]:
    """The lines of a text, some at a time: a reader that refuses it early has never held all of them."""
    start = 0
    while start <= len(text):
        end = text.find("\n", start + _CHUNK)
        end = len(text) if end < 0 else end
        yield from text[start:end].split("\n")
        start = end + 1


class Issues(list[Issue]):
    """The issues of one text, `MAX_ISSUES` at most: one more raises `ParseError`, which shows the first of them."""

    def append(self, issue: Issue) -> None:
        """Add an issue."""
        if len(self) >= MAX_ISSUES:
            first = self[0] if self else issue
            message = f"more than {MAX_ISSUES} oddities; this is not the output of {issue.source}: {_ADVICE}"
            raise ParseError(issue.source, message, place=first.place, text=first.text)
        super().append(issue)

    def extend(self, issues: Iterable[Issue]) -> None:
        """Add each of the issues."""
        for issue in issues:
            self.append(issue)

    def __iadd__(self, issues: Iterable[Issue]) -> Self:  # type: ignore[override,misc] # a list takes any iterable
        self.extend(issues)
        return self


def too_many(source: str, what: str, line: Line) -> ParseError:
    """The error of a text with more of something (`more than 4096 GPUs`) than any host has."""
    message = f"more than {what}; this is not the output of {source} on one host: {_ADVICE}"
    return ParseError(source, message, place=line.place, text=line.text)


def unanswered(source: str, message: str, first: Line | None) -> ParseError:
    """The error of a text that holds nothing of what was asked for; it shows the first line, which says why."""
    return (
        ParseError(source, message)
        if first is None
        else ParseError(source, message, place=first.place, text=first.text)
    )
