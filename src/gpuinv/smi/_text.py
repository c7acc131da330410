"""What every reader of nvidia-smi's text needs: clean lines, and the sentences that stand where rows are expected.

Where the tool's two outputs are merged, its errors stand among the rows: "Unable to determine the device handle" comes
before rows and after them. Readers turn such a line into an `Issue` and never into a row.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import attrs

from gpuinv.errors import Issue, IssueKind, ParseError, shorten
from gpuinv.ids import PciBusId
from gpuinv.readings import Missing, missing_reason
from gpuinv.smi.queries import MAX_OUTPUT_BYTES

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from typing import Self

__all__ = [
    "MAX_GPUS",
    "MAX_ISSUES",
    "MAX_ROWS",
    "REPLACEMENT",
    "UTF16_BOMS",
    "DeviceFailure",
    "Issues",
    "Line",
    "decode",
    "failure_issue",
    "lines",
    "named_gpu",
    "refused_field",
    "says_no_devices",
    "too_many",
    "unanswered",
]

REPLACEMENT = "\N{REPLACEMENT CHARACTER}"
"""Stands for every byte that is no UTF-8; a name that holds one is not known."""

UTF16_BOMS = {b"\xff\xfe": "utf-16-le", b"\xfe\xff": "utf-16-be"}
"""How a text in UTF-16 begins, as a redirection in PowerShell writes it, and the encoding."""

MAX_ISSUES = 1000
"""A text with more oddities is no output of the tool."""

MAX_GPUS = 4096
"""More GPUs than any host has."""

MAX_ROWS = 65_536
"""More rows than any host has of what each GPU has many of: processes, links, MIG instances."""

_ADVICE = "give it what this command printed, and nothing else"
_CHUNK = 65_536
_ANSI = re.compile(r"\x1b\[[0-?]*[ -/]*[@-~]")
_SURROGATE = re.compile("[\ud800-\udfff]")
_BUS_ID = r"[0-9a-f]{4,8}:[0-9a-f]{2}:[0-9a-f]{2}(?:\.[0-7])?"
# Five spellings, one of which glues the domain to the word: `GPU0000:25:00.0`. An index has at most three digits.
_DEVICE_FAILURE = re.compile(
    r"Unable to determine the device handle for GPU\s*"
    rf"(?:(?P<index>[0-9]{{1,3}})\s*:\s*)?(?:(?P<bus_id>{_BUS_ID})\s*:\s*)?(?P<reason>.*)",
    re.IGNORECASE | re.ASCII | re.DOTALL,
)
_NAMED_GPU = re.compile(r"\bgpu\s*([0-9a-f]{4,8}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7])", re.IGNORECASE | re.ASCII)
_NO_DEVICES = re.compile(r"No devices (?:were )?found\.?", re.IGNORECASE)
_REFUSED_FIELD = re.compile(r'Field "([^"]*)" is not a valid field to query\.?', re.IGNORECASE)
_FAILURE_KINDS = {
    Missing.LOST: IssueKind.GPU_LOST,
    Missing.NEEDS_RESET: IssueKind.NEEDS_RESET,
    Missing.NO_PERMISSION: IssueKind.NO_PERMISSION,
}


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


def decode(data: str | bytes, *, source: str, limit: int = MAX_OUTPUT_BYTES) -> str:
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


def lines(data: str | bytes, *, source: str, limit: int = MAX_OUTPUT_BYTES) -> Iterator[Line]:
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


@attrs.frozen(kw_only=True)
class DeviceFailure:
    """A GPU that the tool could not open. It prints an index, an address, or both."""

    smi_index: int | None
    pci_bus_id: PciBusId | None
    reason: str

    @classmethod
    def parse(cls, text: str) -> Self | None:
        """Read `Unable to determine the device handle for …` in any of its spellings; None for another line."""
        match = _DEVICE_FAILURE.match(text.strip())
        if match is None:
            return None
        index = match["index"]
        return cls(
            smi_index=None if index is None else int(index),
            pci_bus_id=_bus_id(match["bus_id"]),
            reason=match["reason"].strip(),
        )

    @property
    def kind(self) -> IssueKind:
        """What the reason's first sentence says: lost, needs a reset, no permission, else a read error."""
        reason = missing_reason(self.reason.partition(".")[0])
        return IssueKind.READ_ERROR if reason is None else _FAILURE_KINDS.get(reason, IssueKind.READ_ERROR)


def _bus_id(text: str | None) -> PciBusId | None:
    try:
        return None if text is None else PciBusId.parse(text)
    except ParseError:
        return None


def named_gpu(text: str) -> PciBusId | None:
    """The address of the GPU that a sentence is about: `WARNING: infoROM is corrupted at gpu 0000:B3:00.0`."""
    match = _NAMED_GPU.search(text)
    return None if match is None else _bus_id(match[1])


def failure_issue(line: Line, *, source: str) -> Issue | None:
    """The issue of a line that says that a GPU could not be opened, with its bus id and the tool's reason."""
    failure = DeviceFailure.parse(line.text)
    if failure is None:
        return None
    gpu = "a GPU" if failure.smi_index is None else f"GPU {failure.smi_index}"
    issue = line.issue(failure.kind, source, f"the tool could not open {gpu}: {shorten(failure.reason)}")
    return issue if failure.pci_bus_id is None else attrs.evolve(issue, pci_bus_id=str(failure.pci_bus_id))


def says_no_devices(line: Line) -> bool:
    """Whether the line is `No devices were found` (or `No devices found.`): a working driver without a GPU."""
    return _NO_DEVICES.fullmatch(line.text.strip()) is not None


def refused_field(line: Line) -> str | None:
    """The field that a driver does not know, from `Field "…" is not a valid field to query.`; None for another line."""
    match = _REFUSED_FIELD.fullmatch(line.text.strip())
    return None if match is None else match[1]
