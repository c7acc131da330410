"""The frame around every listing of `nvidia-smi mig`: boxes of text, and the sentences that stand in their place.

A box is as wide as its driver likes, so a row is its words and never its columns. Where nothing can be listed a
sentence says why, and that is an answer: "No MIG-enabled devices found". A refusal is none, even where the tool words
both alike: "No GPU instances found: Insufficient Permissions".
"""

from __future__ import annotations

import re

import attrs

from gpuinv.errors import Issue, IssueKind, ParseError
from gpuinv.smi.mig_listings import MigState
from gpuinv.smi.sentences import MAX_ROWS, DeviceFailure, failure_issue
from gpuinv.text import Issues, Line, lines, too_many, unanswered

__all__ = ["Listing", "read_listing"]

_BORDER = re.compile(r"[-=+]{3,}")
_NONE = r"No (?:GPU|compute) instance(?:s| profiles| placements) found"
_STATES = {
    re.compile(r"No MIG-supported devices found\.?", re.IGNORECASE): MigState.INCAPABLE,
    re.compile(r"No MIG-enabled devices found\.?", re.IGNORECASE): MigState.OFF,
    re.compile(rf"{_NONE}(?:\s*:\s*Not Found)?\.?", re.IGNORECASE): MigState.EMPTY,
}
_REFUSAL = re.compile(rf"(?:(?:Failed|Unable) to [^:]*|{_NONE}\s*):\s*(?P<reason>.*)", re.IGNORECASE)


@attrs.frozen(kw_only=True)
class Listing:
    """What the frame holds. A row's text is its words, one blank between them."""

    source: str
    state: MigState
    rows: tuple[Line, ...]
    issues: tuple[Issue, ...]
    complete: bool
    cut: bool


def read_listing(text: str | bytes, *, source: str, title: str, unboxed: str | None = None) -> Listing:
    """Read a table with the given title, or the sentence in its place; `unboxed` is how a row without a box begins.

    Raises:
        ParseError: the table of another command; one that is cut; nothing listed and no sentence that says why; more
            rows or oddities than any answer has.
    """
    reader = _Reader(source=source, title=title, unboxed=unboxed)
    for line in lines(text, source=source):
        reader.read(attrs.evolve(line, text=line.text.strip()))
    return reader.result()


@attrs.define(kw_only=True)
class _Reader:
    """The listing so far.

    `drawn` says whether there was a border, `closed` whether the last box was ended, `repeated` whether the rows are
    those of a second table. `said` is the line with the state, `fault` one that says that something failed.
    """

    source: str
    title: str
    unboxed: str | None
    rows: list[Line] = attrs.field(factory=list)
    issues: Issues = attrs.field(factory=Issues)
    state: MigState | None = None
    complete: bool = True
    cut: bool = False
    titled: bool = False
    drawn: bool = False
    closed: bool = False
    repeated: bool = False
    first: Line | None = None
    outside: Line | None = None
    said: Line | None = None
    fault: Line | None = None

    def read(self, line: Line) -> None:
        """Take in one line."""
        self.first = self.first or line
        if _BORDER.fullmatch(line.text.strip("|")):
            if "=" not in line.text:
                self.drawn = self.closed = True
        elif line.text.startswith("|"):
            self._boxed(_in_words(line))
        elif self.unboxed is not None and line.text.startswith(self.unboxed):
            self._add(_in_words(line))
        else:
            self._outside(line)

    def result(self) -> Listing:
        """The listing."""
        if self.rows and self.drawn and not self.closed:
            raise ParseError(self.source, "the table is cut", place=self.rows[-1].place, text=self.rows[-1].text)
        state = MigState.LISTED if self.rows else self.state
        if state is None and self.titled and self.closed and self.fault is None:
            state = MigState.EMPTY
        if state is None:
            raise unanswered(self.source, "nothing is listed", self.fault or self.outside or self.first)
        if self.rows and self.said is not None:
            self._note(self.said, IssueKind.TEXT_AROUND, "there are rows, and this sentence says that there are none")
        return Listing(
            source=self.source,
            state=state,
            rows=tuple(self.rows),
            issues=tuple(self.issues),
            complete=self.complete,
            cut=self.cut,
        )

    def _note(self, line: Line, kind: IssueKind, message: str) -> None:
        self.issues.append(line.issue(kind, self.source, message))

    def _boxed(self, line: Line) -> None:
        """A line of a box: a title, a row, or a heading above the rows."""
        self.closed = False
        if line.text.endswith(":"):
            self._title(line)
        elif line.text and not self.repeated and (self.rows or "0" <= line.text[0] <= "9"):
            self._add(line)

    def _add(self, row: Line) -> None:
        if len(self.rows) >= MAX_ROWS:
            raise too_many(self.source, f"{MAX_ROWS} lines of rows", row)
        self.rows.append(row)

    def _title(self, line: Line) -> None:
        if line.text.casefold() != self.title.casefold():
            raise ParseError(self.source, "the table of another command", place=line.place, text=line.text)
        if self.titled or self.rows:
            self._note(line, IssueKind.MORE_DOCUMENTS, "the table stands there again; the first one was read")
            self.repeated = True
            self.complete = False
        self.titled = True

    def _outside(self, line: Line) -> None:
        """A line outside of the boxes: the state, a failure, or no part of the listing."""
        self.outside = self.outside or line
        state = next((state for form, state in _STATES.items() if form.fullmatch(line.text)), None)
        device = failure_issue(line, source=self.source)
        if state is not None and self.said is None:
            self.state, self.said = state, line
        elif device is not None:
            self._failed(line, device)
        elif state is None and (refusal := _REFUSAL.match(line.text)) is not None:
            kind = DeviceFailure(smi_index=None, pci_bus_id=None, reason=refusal["reason"]).kind
            self._failed(line, line.issue(kind, self.source, "the tool refused, or failed"))
            self.closed = True  # such a line ends a table where it stands
            self.cut = bool(self.rows)
        else:
            self._note(line, IssueKind.TEXT_AROUND, "not a line of the listing")

    def _failed(self, line: Line, issue: Issue) -> None:
        self.issues.append(issue)
        self.fault = self.fault or line
        self.complete = False


def _in_words(line: Line) -> Line:
    return attrs.evolve(line, text=" ".join(line.text.strip("|").split()))
