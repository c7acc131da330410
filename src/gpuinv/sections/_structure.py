"""From plain data to records, the reverse of `canonical.plain`: strict about types, lenient about the unknown.

A newer writer may add fields, layers and reasons; they are ignored, or read as an error where a reason has to stand.
"""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import attrs
import cattrs
from cattrs.errors import IterableValidationError, IterableValidationNote
from cattrs.gen import make_dict_structure_fn, override

from gpuinv.ids import GpuUuid, MigUuid, PciBusId, PciId
from gpuinv.inventory import Layer
from gpuinv.inventory._fields import WIDE
from gpuinv.readings import Missing
from gpuinv.sections._types import is_reading, item_of, known_part
from gpuinv.sections.canonical import MAX_SAFE_INTEGER, MAX_WIDE_INTEGER, MISSING_KEY
from gpuinv.versions import DriverVersion

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["StructureError", "structure"]

_WIDE = re.compile(r"0|[1-9][0-9]{0,19}")
_REASONS = {reason.value: reason for reason in Missing}
_LAYERS = {layer.value: layer for layer in Layer}
_PARSED = (PciBusId, PciId, DriverVersion, GpuUuid, MigUuid)


class StructureError(ValueError):
    """Data that is no section; the message says where (`$.gpus[3].uuid`)."""


def structure(data: object, cls: type[Any]) -> Any:  # noqa: ANN401 - an instance of cls
    """Read plain data as a section of class `cls`.

    Raises:
        StructureError: a required field is missing, or a value has another type than its field.
    """
    try:
        return _converter().structure(data, cls)
    except Exception as error:  # whatever a hook met in foreign data, it is the data that is wrong
        raise StructureError("; ".join(cattrs.transform_error(error, "$", _said)[:3])) from error


def _said(error: BaseException, _: type | None) -> str:
    return "a required field is missing" if isinstance(error, KeyError) else str(error)


@lru_cache(maxsize=1)
def _converter() -> cattrs.Converter:
    converter = cattrs.Converter(forbid_extra_keys=False)
    converter.register_structure_hook_factory(attrs.has, lambda cls: _record(cls, converter))
    converter.register_structure_hook_factory(lambda cls: item_of(cls) is not None, lambda cls: _list(cls, converter))
    converter.register_structure_hook_factory(is_reading, lambda cls: _reading(cls, converter))
    converter.register_structure_hook(int, _integer)
    converter.register_structure_hook(bool, _boolean)
    converter.register_structure_hook(str, _text)
    for cls in _PARSED:
        converter.register_structure_hook(cls, _parsed)
    return converter


def _record(cls: type[Any], converter: cattrs.Converter) -> Callable[[Any, Any], Any]:
    attrs.resolve_types(cls)
    wide = {field.name: override(struct_hook=_wide) for field in attrs.fields(cls) if field.metadata.get(WIDE)}
    known = make_dict_structure_fn(cls, converter, **wide)  # type: ignore[arg-type] # overrides, by name

    def hook(data: Any, _: Any) -> Any:  # noqa: ANN401
        if not isinstance(data, dict):
            raise TypeError(f"expected an object, not {type(data).__name__}")
        return known(_with_reasons(data, cls), cls)

    return hook


def _with_reasons(data: dict[str, Any], cls: type[Any]) -> dict[str, Any]:
    """The data with each missing value's reason in its place."""
    entries = data.get(MISSING_KEY)
    if not isinstance(entries, list):
        return data
    data = dict(data)
    for entry in entries:
        if isinstance(entry, dict) and isinstance(entry.get("path"), str):
            _place(data, cls, entry["path"].split("."), _REASONS.get(str(entry.get("reason")), Missing.ERROR))
    return data


def _place(data: dict[str, Any], cls: type[Any], path: list[str], reason: Missing) -> None:
    """Put a reason at its path, unless there is a value or no such field."""
    name, *below = path
    field = attrs.fields_dict(cls).get(name)
    if field is None:
        return
    if not below:
        if is_reading(field.type):
            data.setdefault(name, reason)
        return
    annotation = known_part(field.type)
    if attrs.has(annotation) and annotation not in _PARSED and isinstance(inner := data.get(name, {}), dict):
        attrs.resolve_types(annotation)
        data[name] = dict(inner)
        _place(data[name], annotation, below, reason)


def _reading(annotation: Any, converter: cattrs.Converter) -> Callable[[Any, Any], Any]:  # noqa: ANN401
    cls = known_part(annotation)
    known = converter.get_structure_hook(cls)

    def hook(value: Any, _: Any) -> Any:  # noqa: ANN401
        return value if isinstance(value, Missing) else known(value, cls)

    return hook


def _list(annotation: Any, converter: cattrs.Converter) -> Callable[[Any, Any], Any]:  # noqa: ANN401
    item = item_of(annotation)
    if item is Layer:
        return _layers

    def hook(value: Any, _: Any) -> Any:  # noqa: ANN401
        if not isinstance(value, list):
            raise TypeError(f"expected a list, not {type(value).__name__}")
        return tuple(_item(converter, each, item, number) for number, each in enumerate(value))

    return hook


def _item(converter: cattrs.Converter, value: object, item: Any, number: int) -> Any:  # noqa: ANN401
    """One item; the first that is wrong ends the reading, since a megabyte holds many."""
    try:
        return converter.structure(value, item)
    except Exception as error:
        error.add_note(IterableValidationNote(f"item {number}", number, item))
        raise IterableValidationError("a wrong item", [error], tuple) from error


def _layers(value: Any, _: Any) -> tuple[Layer, ...]:  # noqa: ANN401
    if not isinstance(value, list):
        raise TypeError(f"expected a list, not {type(value).__name__}")
    return tuple(_LAYERS[name] for name in sorted(each for each in value if isinstance(each, str)) if name in _LAYERS)


def _integer(value: Any, _: Any) -> int:  # noqa: ANN401
    if type(value) is not int or abs(value) > MAX_SAFE_INTEGER:
        raise TypeError("expected an integer")
    return value


def _wide(value: Any, _: Any) -> Any:  # noqa: ANN401
    if isinstance(value, Missing):
        return value
    if not isinstance(value, str) or _WIDE.fullmatch(value) is None or int(value) > MAX_WIDE_INTEGER:
        raise TypeError("expected a decimal string of 64 bits")
    return int(value)


def _boolean(value: Any, _: Any) -> bool:  # noqa: ANN401
    if not isinstance(value, bool):
        raise TypeError("expected true or false")
    return value


def _text(value: Any, _: Any) -> str:  # noqa: ANN401
    if not isinstance(value, str):
        raise TypeError("expected a string")
    if not value.isprintable() and any(unicodedata.category(c) == "Cs" for c in value):
        raise ValueError("a lone surrogate")
    return value


def _parsed(value: Any, cls: Any) -> Any:  # noqa: ANN401
    return cls.parse(_text(value, str))
