"""Named values out of small kernel files, read one at a time; what does not have its form becomes an issue."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

import attrs

from gpuinv.errors import Issue, IssueKind
from gpuinv.readings import Missing, Reading, missing_reason
from gpuinv.text import REPLACEMENT

if TYPE_CHECKING:
    from collections.abc import Callable

    from gpuinv.ids import GpuUuid, PciBusId

__all__ = ["MAX_FILE_BYTES", "Entries", "Entry", "reason_or_error"]

T = TypeVar("T")

MAX_FILE_BYTES = 65536
"""More than any of these files can hold: the kernel writes most of them into one page."""


def reason_or_error(text: str) -> Missing:
    """Why `text`, which has not the form of its field, is no value: the reason that it states, else ERROR."""
    reason = missing_reason(text)
    return Missing.ERROR if reason is None else reason


@attrs.frozen
class Entry:
    """The text of one value and where it stands: a line, or the file's name."""

    text: str
    place: str


@attrs.define
class Entries:
    """The values of one source by name, and the issues that reading them has raised."""

    source: str
    values: dict[str, Entry]
    issues: list[Issue] = attrs.field(factory=list)

    def take(self, name: str, read: Callable[[str], Reading[T]]) -> Reading[T]:
        """The value `name` as `read` sees it; ABSENT where there is no such value.

        ERROR for a text that is no reason by itself is another form than the field has, and noted.
        """
        entry = self.values.get(name)
        if entry is None:
            return Missing.ABSENT
        value = read(entry.text)
        if value is Missing.ERROR and missing_reason(entry.text) is None:
            garbled = REPLACEMENT in entry.text
            kind = IssueKind.BAD_CHARACTERS if garbled else IssueKind.BAD_VALUE
            self.note(kind, f"{name}: not UTF-8" if garbled else f"{name}: another form than expected", entry)
        return value

    def note(self, kind: IssueKind, message: str, entry: Entry | None = None) -> None:
        """Raise an issue."""
        place, text = ("", "") if entry is None else (entry.place, entry.text)
        self.issues.append(Issue(kind=kind, source=self.source, message=message, place=place, text=text))

    def issues_about(self, bus_id: Reading[PciBusId], uuid: Reading[GpuUuid] = Missing.ABSENT) -> tuple[Issue, ...]:
        """The issues, each naming the device."""
        known_uuid = None if isinstance(uuid, Missing) else uuid
        known_bus_id = None if isinstance(bus_id, Missing) else str(bus_id)
        return tuple(attrs.evolve(issue, uuid=known_uuid, pci_bus_id=known_bus_id) for issue in self.issues)
