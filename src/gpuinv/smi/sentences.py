"""The sentences that nvidia-smi prints where rows are expected.

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

if TYPE_CHECKING:
    from typing import Self

    from gpuinv.text import Line

__all__ = [
    "MAX_GPUS",
    "MAX_ROWS",
    "DeviceFailure",
    "failure_issue",
    "named_gpu",
    "refused_field",
    "says_no_devices",
]

MAX_GPUS = 4096
"""More GPUs than any host has."""

MAX_ROWS = 65_536
"""More rows than any host has of what each GPU has many of: processes, links, MIG instances."""

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
