"""From the rows of a listing of `nvidia-smi mig` to records: which lines are one row, and what its cells say."""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Generic, TypeAlias, TypedDict, TypeVar

import attrs

import gpuinv.values as v
from gpuinv.errors import Issue, IssueKind, ParseError
from gpuinv.readings import Missing, Reading, missing_reason
from gpuinv.smi._boxes import Listing, read_listing
from gpuinv.text import Issues, Line

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gpuinv.smi.mig_listings import MigState

__all__ = ["CELL", "FREE_TOTAL", "INSTANCE", "NUMBER", "Cells", "Match", "Table", "form"]

Row = TypeVar("Row")
Match: TypeAlias = re.Match[str]

NUMBER = "([0-9]{1,6})"
INSTANCE = "([0-9]{1,4})"  # as a device id spells it
CELL = r"(\S+)"
FREE_TOTAL = r"([^\s/]+)/([^\s/]+)"
_START_SIZE = re.compile(r"([0-9]{1,6}):([0-9]{1,6})")
_GIB = re.compile(r"[0-9]{1,6}(?:\.[0-9]{1,3})?")


def form(*cells: str) -> re.Pattern[str]:
    """The form of a line of a row: its words, one blank between them."""
    return re.compile(" ".join(cells))


@attrs.frozen
class Cells:
    """The cells of a row: one that has neither its form nor a reason is noted."""

    listing: Listing
    line: Line
    issues: Issues

    def read(self, reader: v.ValueReader, text: str) -> Reading[Any]:
        """A cell of a form that elements of the XML have too."""
        value = reader.read(text)
        return value if value is not Missing.ERROR else self._odd(text, reader.form)

    def counts(self, match: Match | None, number: int) -> list[Reading[int]]:
        """The counts of a row's second line; ABSENT where it has none."""
        if match is None:
            return [Missing.ABSENT] * number
        return [self.read(v.INTEGER, text) for text in match.groups()]

    def name(self, text: str) -> str:
        """A name that identifies the row.

        Raises:
            ParseError: it is none.
        """
        value = v.NAME.read(text)
        if isinstance(value, Missing):
            raise another_form(self.listing, self.line)
        return str(value)

    def gib(self, text: str) -> Reading[Decimal]:
        """A size in GiB, as printed."""
        return Decimal(text) if _GIB.fullmatch(text) else self._odd(text, "GiB")

    def placement(self, text: str | None) -> tuple[Reading[int], Reading[int]]:
        """`start:size`; ABSENT where the row has no such cell."""
        if text is None:
            return Missing.ABSENT, Missing.ABSENT
        match = _START_SIZE.fullmatch(text)
        if match is not None:
            return int(match[1]), int(match[2])
        reason = self._odd(text, "start:size")
        return reason, reason

    def _odd(self, text: str, name: str) -> Missing:
        reason = missing_reason(text)
        if reason is None:
            self.issues.append(self.line.issue(IssueKind.BAD_VALUE, self.listing.source, f"no {name}: {text}"))
        return Missing.ERROR if reason is None else reason


class Header(TypedDict):
    """What every listing says as a whole: the keywords of a `MigListing`."""

    state: MigState
    complete: bool
    cut: bool
    issues: tuple[Issue, ...]


@attrs.frozen(kw_only=True)
class Table(Generic[Row]):
    """One listing: its command and title, the form of its rows' one or two lines, and the record that a row becomes.

    `key` identifies a row; of two with the same key the first is kept.
    """

    source: str
    title: str
    first: re.Pattern[str]
    second: re.Pattern[str] | None = None
    unboxed: str | None = None
    build: Callable[[Cells, Match, Match | None], Row]
    key: Callable[[Row], Hashable]

    def read(self, text: str | bytes) -> tuple[Header, tuple[Row, ...]]:
        """What the listing says as a whole, with all its issues, and its rows as records.

        Raises:
            ParseError: as of `read_listing`; a row has another form.
        """
        listing = read_listing(text, source=self.source, title=self.title, unboxed=self.unboxed)
        issues = Issues(listing.issues)
        rows: dict[Hashable, Row] = {}
        for line, first, second in self._lines(listing):
            row = self.build(Cells(listing, line, issues), first, second)
            if self.key(row) in rows:
                message = "this row stands above; the first one is kept"
                issues.append(line.issue(IssueKind.MORE_DOCUMENTS, self.source, message))
            rows.setdefault(self.key(row), row)
        header = Header(state=listing.state, complete=listing.complete, cut=listing.cut, issues=tuple(issues))
        return header, tuple(rows.values())

    def _lines(self, listing: Listing) -> Iterator[tuple[Line, Match, Match | None]]:
        """Each row's first line with what both of its lines hold. A second line may be missing."""
        row: tuple[Line, Match] | None = None
        for line in listing.rows:
            first = self.first.fullmatch(line.text)
            second = None if row is None or self.second is None else self.second.fullmatch(line.text)
            if first is None and second is None:
                raise another_form(listing, line)
            if row is not None:
                yield *row, second
            row = None if first is None else (line, first)
        if row is not None:
            yield *row, None


def another_form(listing: Listing, line: Line) -> ParseError:
    """The error of a row that cannot be read, so that no row is trusted."""
    return ParseError(listing.source, "a row of another form", place=line.place, text=line.text)
