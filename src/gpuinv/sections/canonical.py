"""The canonical form of a section: the one sequence of bytes that is hashed.

RFC 8785 JSON in UTF-8, with integers and text only. `docs/reference/canonical.md` is its specification; golden vectors
guard it, since a change of one byte breaks every hash that anybody has stored.
"""

from __future__ import annotations

import enum
import json
import unicodedata
from collections.abc import Callable
from functools import cache
from typing import Any, TypeAlias

import attrs

from gpuinv.errors import UsageError, shorten
from gpuinv.ids import PciBusId, PciId
from gpuinv.inventory import OpaqueSection, Section
from gpuinv.inventory._fields import SORT_KEY, WIDE
from gpuinv.readings import Missing
from gpuinv.sections._types import is_reading, item_of, known_part
from gpuinv.versions import DriverVersion

__all__ = ["MAX_SAFE_INTEGER", "MAX_WIDE_INTEGER", "MISSING_KEY", "canonical_bytes", "plain"]

MISSING_KEY = "missing"
"""The key of a row or a section under which its missing values and their reasons stand."""

MAX_SAFE_INTEGER = 2**53 - 1
"""The largest integer that RFC 8785 writes; larger numbers are declared wide and become decimal strings."""

MAX_WIDE_INTEGER = 2**64 - 1
"""The largest integer of a wide field, whose smallest is 0."""

_LEFT_OUT = frozenset({Missing.NOT_SUPPORTED, Missing.DEPRECATED, Missing.ABSENT})
_Encode: TypeAlias = Callable[[Any], Any]


def canonical_bytes(section: Section) -> bytes:
    """The canonical bytes of a section.

    Raises:
        UsageError: a text with a lone surrogate; a number that is no integer or beyond the range of its field (64 bits
            without a sign where it is wide, else 2**53 - 1 on both sides of 0); a reason in a field that is no reading.
    """
    if isinstance(section, OpaqueSection):
        return section.content
    return _dumps(plain(section)).encode()


def plain(section: Section) -> dict[str, Any]:
    """A section as the plain data that its canonical bytes spell; rows are in canonical order, keys in any."""
    cls: Any = type(section)
    return _row(section, _nested(cls))


def _dumps(data: object) -> str:
    return json.dumps(data, ensure_ascii=False, sort_keys=True, separators=(",", ":"), allow_nan=False)


@attrs.frozen(eq=False)
class _Nested:
    """How a record class is encoded: of each field the name, the encoder or the plan below, and whether it may miss.

    Filled in after it is made, since records may nest.
    """

    plan: list[tuple[str, _Encode | None, _Nested | None, bool]]


@cache
def _nested(cls: Any) -> _Nested:  # noqa: ANN401 - a record class, which cache takes for unhashable
    attrs.resolve_types(cls)
    return _Nested([(field.name, *_encoder(field), is_reading(field.type)) for field in attrs.fields(cls)])


def _encoder(field: attrs.Attribute[Any]) -> tuple[_Encode | None, _Nested | None]:
    """The encoder of a field's known values, or the plan of its nested record."""
    annotation = known_part(field.type)
    item = item_of(annotation)
    if item is not None:
        return _rows(item, field.metadata.get(SORT_KEY, ())), None
    if attrs.has(annotation) and annotation not in _AS_TEXT:
        return None, _nested(annotation)
    if field.metadata.get(WIDE):
        return _wide, None
    return _scalar(annotation), None


def _scalar(annotation: type[Any]) -> _Encode:
    if annotation is bool:
        return bool
    if issubclass(annotation, int):
        return _integer
    if issubclass(annotation, enum.Enum):
        return _member
    return str if annotation in _AS_TEXT else _text


_AS_TEXT = frozenset({PciBusId, PciId, DriverVersion})


def _member(value: enum.Enum) -> Any:  # noqa: ANN401 - an enum's value
    return value.value


def _integer(value: int) -> int:
    if type(value) is not int or not -MAX_SAFE_INTEGER <= value <= MAX_SAFE_INTEGER:
        raise _no_number(value)
    return value


def _wide(value: int) -> str:
    if type(value) is not int or not 0 <= value <= MAX_WIDE_INTEGER:
        raise _no_number(value)
    return str(value)


def _no_number(value: object) -> UsageError:
    shown = f"an integer of {value.bit_length()} bits" if isinstance(value, int) else f"a {type(value).__name__}"
    return UsageError(f"{shown} in a field of canonical JSON that cannot hold it")


def _text(value: str) -> str:
    """The text without control characters."""
    if value.isprintable():
        return str(value)
    kept = "".join(c for c in value if unicodedata.category(c) != "Cc")
    if any(unicodedata.category(c) == "Cs" for c in kept):
        raise UsageError(f"a lone surrogate in {shorten(value)!r}")
    return kept


def _rows(item: type[Any], key: tuple[str, ...]) -> _Encode:
    """The encoder of a list: rows in the order of their key, plain values in their own."""
    if not attrs.has(item):
        scalar = _scalar(item)
        return lambda values: sorted(scalar(value) for value in values)

    def encode(records: tuple[Any, ...]) -> list[dict[str, Any]]:
        nested = _nested(item)
        return _sorted([_row(record, nested) for record in records], key)

    return encode


def _sorted(rows: list[dict[str, Any]], key: tuple[str, ...]) -> list[dict[str, Any]]:
    """Rows by their key, a missing part last; rows with equal keys by their bytes, so that no order of input shows."""

    def of(row: dict[str, Any]) -> tuple[tuple[bool, Any], ...]:
        return tuple((name not in row, row.get(name, 0)) for name in key)

    if len(rows) > len({of(row) for row in rows}):
        return sorted(rows, key=lambda row: (of(row), _dumps(row)))
    return sorted(rows, key=of)


def _row(record: object, nested: _Nested) -> dict[str, Any]:
    """A row or a section: its values, and what is missing under `MISSING_KEY`."""
    missing: list[dict[str, str]] = []
    row = _values(record, nested, "", missing)
    if missing:
        row[MISSING_KEY] = sorted(missing, key=lambda entry: entry["path"])
    return row


def _values(record: object, nested: _Nested, prefix: str, missing: list[dict[str, str]]) -> dict[str, Any]:
    values: dict[str, Any] = {}
    for name, encode, inner, may_miss in nested.plan:
        value = getattr(record, name)
        if isinstance(value, Missing):
            if not may_miss:
                raise UsageError(f"{prefix}{name} is {value!r}, and this field always has a value")
            if value not in _LEFT_OUT:
                missing.append({"path": prefix + name, "reason": value.value})
        elif encode is not None:
            values[name] = encode(value)
        elif inner is not None and (below := _values(value, inner, f"{prefix}{name}.", missing)):
            values[name] = below
    return values
