"""A value, or the reason why there is none.

A missing value is never 0, never an empty string and never the sentence that stood in its place: it is a member of
`Missing`. `missing_reason` is the one map from what the tools print to these reasons; every reader uses it.
"""

from __future__ import annotations

import enum
from functools import lru_cache
from typing import TYPE_CHECKING, TypeAlias, TypeGuard, TypeVar

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["COUNTS_AS_FAULT", "Missing", "Reading", "is_known", "known_or", "missing_reason", "sum_readings"]

T = TypeVar("T")


class Missing(enum.Enum):
    """Why a reading has no value."""

    NOT_SUPPORTED = "not_supported"
    """The hardware or the driver does not have it: `N/A`, `[Not Supported]`, `Function Not Found`."""
    DEPRECATED = "deprecated"
    """This driver no longer answers it."""
    ABSENT = "absent"
    """No element, column or line at all; also: the layer that would know was not read."""
    HIDDEN_BY_MIG = "hidden_by_mig"
    """The tool does not show it while the GPU is in MIG mode; the last known value stands."""
    NOT_AVAILABLE = "not_available"
    """The place is there and empty: `Not Found`, `Insufficient Size`, `??`, an empty cell."""
    NO_PERMISSION = "no_permission"
    """The reader may not see it: `Insufficient Permissions`, or a file that only root reads."""
    NEEDS_RESET = "needs_reset"
    """The GPU answers only after a reset."""
    ERROR = "error"
    """The driver failed to read it: `Unknown Error`, `ERR!`, any other `[…]`; also text of an unknown form."""
    LOST = "lost"
    """The GPU is lost."""

    def __bool__(self) -> bool:
        """Refused: neither "there is nothing" nor "there is something" would be true of every use.

        Raises:
            TypeError: always; ask `is_known`, or compare with `is True`.
        """
        raise TypeError(f"{self} is neither true nor false; ask is_known(reading), or compare with `is True`")

    # Members are singletons, so identity is a right hash, and a fast one: Enum's own is a Python function.
    __hash__ = object.__hash__

    def __repr__(self) -> str:
        return f"Missing.{self.name}"


Reading: TypeAlias = T | Missing
"""A `T`, or the reason why there is none."""

COUNTS_AS_FAULT = frozenset({Missing.ERROR, Missing.NEEDS_RESET, Missing.LOST})
"""The reasons that make a sum of zeros unknown: what could not be read may be anything."""

_REASONS = {
    "n/a": Missing.NOT_SUPPORTED,
    "not supported": Missing.NOT_SUPPORTED,
    "function not found": Missing.NOT_SUPPORTED,
    "requested functionality has been deprecated": Missing.DEPRECATED,
    "not found": Missing.NOT_AVAILABLE,
    "insufficient size": Missing.NOT_AVAILABLE,
    "": Missing.NOT_AVAILABLE,
    "insufficient permissions": Missing.NO_PERMISSION,
    "gpu requires reset": Missing.NEEDS_RESET,
    "unknown error": Missing.ERROR,
    "err!": Missing.ERROR,
    "gpu is lost": Missing.LOST,
}
_CACHED_LENGTH = 200  # what is longer is rare and must not stay in memory
_BRACKETS = {"[": "]", "(": ")", "<": ">", "{": "}"}


def missing_reason(text: str) -> Missing | None:
    """The reason that `text` states, or None when it may be a value.

    Case and surrounding blanks do not matter, nor do brackets around a known phrase; any other text in square brackets
    is an error of the tool. A run of question marks, with the separators of the value that it stands for
    (`??.??.??.??.??`, `GPU-????????-…`), says that the place was never filled.
    """
    return _reason(text) if len(text) <= _CACHED_LENGTH else _reason.__wrapped__(text)


@lru_cache(maxsize=1024)
def _reason(text: str) -> Missing | None:
    phrase = " ".join(text.split()).casefold()
    reason = _REASONS.get(phrase)
    if reason is not None:
        return reason
    if "?" in phrase and not phrase.removeprefix("gpu-").strip("?.-: "):
        return Missing.NOT_AVAILABLE
    closing = _BRACKETS.get(phrase[0])
    if closing is None or phrase[-1] != closing:
        return None
    inner = phrase[1:-1].strip()
    if inner in _REASONS and inner:
        return _REASONS[inner]
    return Missing.ERROR if closing == "]" else None


def is_known(reading: T | Missing) -> TypeGuard[T]:
    """Whether there is a value; a type checker then takes the reading for a `T`."""
    return not isinstance(reading, Missing)


def known_or(reading: T | Missing, default: T) -> T:
    """The value, or `default` where there is none."""
    return default if isinstance(reading, Missing) else reading


def sum_readings(parts: Iterable[Reading[int]]) -> Reading[int]:
    """The sum of what is known.

    A known non-zero always counts. Where the known parts are 0, a part that could not be read makes the sum unknown,
    with that part's reason. Nothing known gives the strongest reason among the parts (`ABSENT` for no parts at all).
    """
    known = 0
    count = 0
    worst = Missing.ABSENT
    for part in parts:
        if isinstance(part, Missing):
            worst = max(worst, part, key=_SEVERITY.__getitem__)
        else:
            known += part
            count += 1
    if known or (count and worst not in COUNTS_AS_FAULT):
        return known
    return worst


_SEVERITY = {
    reason: rank
    for rank, reason in enumerate(
        (
            Missing.ABSENT,
            Missing.DEPRECATED,
            Missing.NOT_SUPPORTED,
            Missing.HIDDEN_BY_MIG,
            Missing.NOT_AVAILABLE,
            Missing.NO_PERMISSION,
            Missing.ERROR,
            Missing.NEEDS_RESET,
            Missing.LOST,
        )
    )
}
