"""How a record's fields are declared: with their meaning, their unit, and their form in canonical bytes.

The metadata is what `sections` encodes by and what the reference pages are generated from.
"""

from __future__ import annotations

from typing import Any

import attrs

from gpuinv.readings import Missing

__all__ = ["DOC", "SORT_KEY", "UNIT", "WIDE", "doc", "reading", "record", "rows", "wide"]

DOC = "doc"
UNIT = "unit"
WIDE = "wide"
SORT_KEY = "sort_key"


def doc(meaning: str, **options: Any) -> Any:  # noqa: ANN401 - attrs.field is typed so
    """A field that always has a value."""
    return attrs.field(metadata={DOC: meaning}, **options)


def reading(meaning: str, *, unit: str = "") -> Any:  # noqa: ANN401
    """A field that may be missing, and is ABSENT where no source was read."""
    return attrs.field(default=Missing.ABSENT, metadata={DOC: meaning, UNIT: unit})


def record(meaning: str, cls: type[Any]) -> Any:  # noqa: ANN401
    """A nested record; where no source was read, one shared record whose every reading is ABSENT."""
    return attrs.field(default=cls(), metadata={DOC: meaning})


def wide(meaning: str, *, unit: str = "") -> Any:  # noqa: ANN401
    """A reading whose number may need 64 bits: a decimal string in canonical bytes."""
    return attrs.field(default=Missing.ABSENT, metadata={DOC: meaning, UNIT: unit, WIDE: True})


def rows(meaning: str, *, by: tuple[str, ...]) -> Any:  # noqa: ANN401
    """A list of records that may be missing as a whole; canonical order is by the fields `by`, missing ones last.

    An empty list is a fact ("there are none"), which is not the same as a list that was not read.
    """
    return attrs.field(default=Missing.ABSENT, metadata={DOC: meaning, SORT_KEY: by})
