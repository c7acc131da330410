"""What a record's annotation says: the type of its known values, and the type of a list's items."""

from __future__ import annotations

from types import UnionType
from typing import Any, Union, cast, get_args, get_origin

from gpuinv.readings import Missing

__all__ = ["is_reading", "item_of", "known_part"]


def is_reading(annotation: object) -> bool:
    """Whether it is `Reading[T]`."""
    return get_origin(annotation) in {Union, UnionType} and Missing in get_args(annotation)


def known_part(annotation: object) -> type[Any]:
    """The `T` of a `Reading[T]`, or the annotation itself."""
    if is_reading(annotation):
        return cast("type[Any]", next(part for part in get_args(annotation) if part is not Missing))
    return cast("type[Any]", annotation)


def item_of(annotation: object) -> type[Any] | None:
    """The `T` of a `tuple[T, ...]`, or None."""
    return cast("type[Any]", get_args(annotation)[0]) if get_origin(annotation) is tuple else None
