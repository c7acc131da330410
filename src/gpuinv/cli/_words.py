"""Readings in words, and foreign text made safe for a terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from gpuinv.errors import shorten
from gpuinv.readings import Missing

if TYPE_CHECKING:
    from gpuinv.readings import Reading

__all__ = ["NONE", "REASONS", "TELLING", "clean", "count", "mib", "mode", "pair", "value", "with_reason"]

NONE: Final = "–"  # noqa: RUF001 - an en dash, as in a printed table
"""Stands for every value that is missing."""

REASONS: Final = {
    Missing.NOT_SUPPORTED: "not supported",
    Missing.DEPRECATED: "no longer told by this driver",
    Missing.ABSENT: "not told",
    Missing.HIDDEN_BY_MIG: "hidden while MIG is on",
    Missing.NOT_AVAILABLE: "not available",
    Missing.NO_PERMISSION: "no permission to read",
    Missing.NEEDS_RESET: "not readable before a reset",
    Missing.ERROR: "could not be read",
    Missing.LOST: "lost with the GPU",
}

TELLING: Final = (Missing.LOST, Missing.NEEDS_RESET, Missing.ERROR, Missing.NO_PERMISSION, Missing.HIDDEN_BY_MIG)
"""The reasons that a person has to know of, the worst first; the others say that there is nothing to know."""

_LIMIT = 160


def clean(text: object, limit: int = _LIMIT) -> str:
    """Foreign text on one line, cut where it is longer: no control character reaches the terminal."""
    return shorten(str(text), limit)


def value(reading: object) -> str:
    """A value as text, or the dash."""
    if isinstance(reading, Missing):
        return NONE
    if isinstance(reading, bool):
        return "yes" if reading else "no"
    return clean(reading)


def with_reason(reading: object) -> str:
    """A value as text, or the dash with its reason."""
    return f"{NONE} ({REASONS[reading]})" if isinstance(reading, Missing) else value(reading)


def mib(reading: Reading[int]) -> str:
    """A size in MiB."""
    return NONE if isinstance(reading, Missing) else f"{reading} MiB"


def mode(current: Reading[bool], pending: Reading[bool]) -> str:
    """`on`, `off`, or `off→on` where a change waits for a reset."""
    before, after = (NONE if isinstance(each, Missing) else "on" if each else "off" for each in (current, pending))
    return before if after in {before, NONE} else f"{before}→{after}"


def pair(first: Reading[int], second: Reading[int]) -> str:
    """`0 / 29`; one dash where there is neither."""
    if isinstance(first, Missing) and isinstance(second, Missing):
        return NONE
    return f"{value(first)} / {value(second)}"


def count(number: int, noun: str) -> str:
    """`1 GPU`, `8 GPUs`."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
