"""Every record of the inventory, filled or empty, for tests that concern all of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import attrs

from gpuinv import inventory
from gpuinv.ids import GpuUuid, MigUuid, PciBusId, PciId
from gpuinv.inventory import Layer
from gpuinv.sections._types import is_reading, item_of, known_part
from gpuinv.versions import DriverVersion

if TYPE_CHECKING:
    from gpuinv.readings import Missing
    from tests.property.strategies import Value

RECORDS: list[Any] = [cls for name in inventory.__all__ if attrs.has(cls := getattr(inventory, name))]

VALUES: dict[Any, Any] = {
    bool: True,
    int: 7,
    str: "text",
    bytes: b"bytes",
    Layer: Layer.PROCFS,
    PciBusId: PciBusId(0x10000, 0xF1, 0),
    PciId: PciId(0x10DE, 0x2B85),
    DriverVersion: DriverVersion("580.95.05"),
    GpuUuid: GpuUuid("GPU-6b0d4c11-7e52-43aa-9f10-2a3b4c5d6e7f"),
    MigUuid: MigUuid("MIG-0f1e2d3c-4b5a-5678-9abc-def012345678"),
}


def filled(cls: Value) -> Value:
    """The record with a known value in every field."""
    attrs.resolve_types(cls)
    return cls(**{field.name: _value(field.type) for field in attrs.fields(cls)})


def _value(annotation: Value) -> Value:
    known = known_part(annotation)
    item = item_of(known)
    if item is not None:
        return (_value(item),)
    if known in VALUES:
        return VALUES[known]
    return filled(known) if attrs.has(known) else None


def without(record: Value, reason: Missing) -> Value:
    """The record with one reason in place of every reading, in its nested records too; lists of records stay."""
    changes: dict[str, Any] = {}
    for field in attrs.fields(type(record)):
        value = getattr(record, field.name)
        if attrs.has(type(value)) and type(value) not in VALUES:
            changes[field.name] = without(value, reason)
        elif isinstance(value, tuple):
            changes[field.name] = tuple(without(item, reason) if attrs.has(type(item)) else item for item in value)
        elif is_reading(field.type):
            changes[field.name] = reason
    return attrs.evolve(record, **changes)
