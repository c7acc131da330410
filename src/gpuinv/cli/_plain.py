"""Any record as plain data, for JSON."""

from __future__ import annotations

import enum
from collections.abc import Mapping
from typing import Any, cast

import attrs

from gpuinv.ids import DeviceId, PciBusId, PciId
from gpuinv.inventory._fields import WIDE
from gpuinv.readings import Missing
from gpuinv.versions import DriverVersion

__all__ = ["plain"]

_AS_TEXT = (DeviceId, DriverVersion, PciBusId, PciId)


def plain(value: object) -> Any:  # noqa: ANN401 - any JSON value
    """Records and mappings become objects, tuples arrays, a missing value `{"missing": "<reason>"}`.

    Identities and enums are text. So are numbers whose digits a reader of JSON could lose: a `Decimal` (`25.781`, a
    speed in GB/s), and a counter that may need 64 bits, as in canonical bytes.
    """
    if isinstance(value, Missing):
        return {"missing": value.value}
    if isinstance(value, enum.Enum):
        return value.value
    if isinstance(value, tuple):
        return [plain(each) for each in value]
    if isinstance(value, Mapping):
        return {str(key): plain(each) for key, each in value.items()}
    if attrs.has(type(value)) and not isinstance(value, _AS_TEXT):
        fields: tuple[attrs.Attribute[Any], ...] = attrs.fields(cast("type[attrs.AttrsInstance]", type(value)))
        return {field.name: _field(field, getattr(value, field.name)) for field in fields}
    return value if isinstance(value, int | float | None) else str(value)


def _field(field: attrs.Attribute[Any], value: object) -> Any:  # noqa: ANN401
    wide = field.metadata.get(WIDE, False) and not isinstance(value, Missing)
    return str(value) if wide else plain(value)
