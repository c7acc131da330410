"""Strategies for every record, built from what the records declare of their fields.

A drawn record fills a few of its fields and leaves the others as they are by default, so that examples stay small and
still reach every field.
"""

from __future__ import annotations

from functools import cache
from typing import Any, TypeAlias

import attrs
from hypothesis import strategies as st

from gpuinv.ids import DeviceId, GpuUuid, MigUuid, PciBusId, PciId
from gpuinv.inventory import SECTION_TYPES, Gpu, Layer, OpaqueSection, Section
from gpuinv.inventory._fields import WIDE
from gpuinv.readings import Missing
from gpuinv.sections._types import is_reading, item_of, known_part
from gpuinv.smi.gpu_list import ListedGpu, ListedMigDevice, SmiList
from gpuinv.smi.records import SmiSnapshot
from gpuinv.versions import DriverVersion

TYPED_SECTIONS = {name: cls for name, cls in SECTION_TYPES.items() if cls is not OpaqueSection}
KEPT_REASONS = frozenset(Missing) - {Missing.NOT_SUPPORTED, Missing.DEPRECATED, Missing.ABSENT}

Value: TypeAlias = Any
"""A value, a record, or one of their types: of which kind, only the run knows."""

SAFE = 2**53 - 1
TEXTS = st.one_of(
    st.text(st.characters(exclude_categories=["Cs"]), max_size=8),
    st.sampled_from(
        ["", "0", "N/A", "null", '"\\', "\x00", "a\x7fb\x85c", "\u2028", "é", "e\u0301", "\uffff", "😀", "\ufeff"]
    ),
)
INTEGERS = st.one_of(st.sampled_from([0, 1, -1, SAFE, -SAFE]), st.integers(-SAFE, SAFE))
COUNTERS = st.one_of(st.sampled_from([0, 1, SAFE, SAFE + 1, 2**64 - 1]), st.integers(0, 2**64 - 1))
UUIDS = st.uuids().filter(lambda uuid: uuid.int != 0)

IDS: dict[Any, st.SearchStrategy[Any]] = {
    PciBusId: st.builds(
        PciBusId,
        st.one_of(st.sampled_from([0, 1, 0xFFFF, 0x10000, 0xFFFFFFFF]), st.integers(0, 0xFFFFFFFF)),
        st.integers(0, 0xFF),
        st.integers(0, 0x1F),
        st.integers(0, 7),
    ),
    PciId: st.builds(PciId, st.integers(0, 0xFFFF), st.integers(0, 0xFFFF)),
    DriverVersion: st.from_regex(r"\A[0-9]{1,4}(\.[0-9]{1,3}){1,3}\Z").map(DriverVersion),
    GpuUuid: UUIDS.map(lambda uuid: GpuUuid(f"GPU-{uuid}")),
    MigUuid: st.one_of(
        UUIDS.map(lambda uuid: MigUuid(f"MIG-{uuid}")),
        st.tuples(UUIDS, st.integers(0, 9999), st.integers(0, 9999)).map(
            lambda parts: MigUuid(f"MIG-GPU-{parts[0]}/{parts[1]}/{parts[2]}")
        ),
    ),
}
LEAVES: dict[Any, st.SearchStrategy[Any]] = {
    **IDS,
    bool: st.booleans(),
    int: INTEGERS,
    str: TEXTS,
    Layer: st.sampled_from(Layer),
}
LEAVES[DeviceId] = st.one_of(
    st.builds(DeviceId, IDS[GpuUuid]),
    st.builds(DeviceId, IDS[GpuUuid], slot=st.integers(0, 9999)),
    st.builds(DeviceId, IDS[GpuUuid], gpu_instance_id=st.integers(0, 9999), compute_instance_id=st.integers(0, 9999)),
)


def fields(cls: Value) -> tuple[attrs.Attribute[Any], ...]:
    """The fields of a record with their types resolved."""
    attrs.resolve_types(cls)
    return tuple(attrs.fields(cls))


def of(cls: Value) -> st.SearchStrategy[Any]:
    """Values of a field's type, of an id, or of a record."""
    return _of(cls)


@cache
def _of(cls: Value) -> st.SearchStrategy[Any]:
    if is_reading(cls):
        return st.one_of(of(known_part(cls)), st.sampled_from(Missing))
    if (item := item_of(cls)) is not None:
        unique = item is Layer
        return st.lists(of(item), max_size=3, unique=unique).map(tuple)
    if attrs.has(cls) and cls not in IDS:
        return records(cls)
    return LEAVES[cls]


def of_field(field: attrs.Attribute[Any]) -> st.SearchStrategy[Any]:
    """Values of one field."""
    if field.metadata.get(WIDE):
        return st.one_of(COUNTERS, st.sampled_from(Missing))
    return of(field.type)


@st.composite
def records(draw: st.DrawFn, cls: Value) -> Value:
    """A record with its required fields and up to five others."""
    required = [field for field in fields(cls) if field.default is attrs.NOTHING]
    others = [field for field in fields(cls) if field.default is not attrs.NOTHING]
    filled = draw(st.lists(st.sampled_from(others), max_size=5, unique_by=lambda field: field.name)) if others else []
    return cls(**{field.name: draw(of_field(field)) for field in (*required, *filled)})


def typed_sections() -> st.SearchStrategy[Any]:
    """A section of any of the seven types that are read."""
    return st.one_of([of(cls) for cls in TYPED_SECTIONS.values()])


def sections() -> st.SearchStrategy[Section]:
    """A section of any type, opaque ones included."""
    names = st.one_of(st.just("bmc"), TEXTS.filter(lambda name: name not in TYPED_SECTIONS))
    return st.one_of(typed_sections(), st.builds(OpaqueSection, names, st.binary(max_size=40)))


# A few identities, so that the layers meet: the last two addresses differ in their domains' upper halves only, and the
# one before is both of them cut to 16 bits.
POOL_UUIDS = [GpuUuid(f"GPU-6b0d4c11-7e52-43aa-9f10-00000000000{digit}") for digit in range(1, 6)]
POOL_BUSES = [
    PciBusId(0, 1, 0),
    PciBusId(0, 2, 0),
    PciBusId(0xCFDD, 0, 0),
    PciBusId(0x3F8CFDD, 0, 0),
    PciBusId(0x1CFDD, 0, 0),
]


_one_and_other = (lambda pair: pair[0], lambda pair: pair[1])


def _whole_name(pair: tuple[object, object]) -> object:
    """No output has two records with one UUID at one address; which of them is which could not be told."""
    return object() if any(isinstance(part, Missing) for part in pair) else pair


@st.composite
def meeting_gpus(draw: st.DrawFn, layer: Layer, *, distinct: bool = False) -> tuple[Gpu, ...]:
    """The GPUs of one layer, whose identities and addresses come from a small pool."""
    uuids = st.one_of(st.sampled_from(POOL_UUIDS), st.sampled_from(POOL_UUIDS), st.sampled_from(Missing))
    buses = st.one_of(st.sampled_from(POOL_BUSES), st.sampled_from(POOL_BUSES), st.sampled_from(Missing))
    pairs = draw(st.lists(st.tuples(uuids, buses), max_size=5, unique_by=_one_and_other if distinct else _whole_name))
    gpus = [draw(of(Gpu)) for _ in pairs]
    return tuple(
        attrs.evolve(gpu, gpu_index=index, layers=(layer,), uuid=uuid, pci_bus_id=bus)
        for index, (gpu, (uuid, bus)) in enumerate(zip(gpus, pairs, strict=True))
    )


@st.composite
def snapshots(draw: st.DrawFn, *, distinct: bool = False) -> SmiSnapshot:
    """A snapshot of nvidia-smi with its GPUs."""
    return SmiSnapshot(
        driver_version=draw(of(is_reading_of(SmiSnapshot, "driver_version"))),
        cuda_driver_version=draw(of(is_reading_of(SmiSnapshot, "cuda_driver_version"))),
        gpus=draw(meeting_gpus(Layer.NVIDIA_SMI, distinct=distinct)),
    )


def is_reading_of(cls: Value, name: str) -> Value:
    """The type of a record's field."""
    return next(field.type for field in fields(cls) if field.name == name)


@st.composite
def smi_lists(draw: st.DrawFn) -> SmiList:
    """What `-L` lists of GPUs that a snapshot may hold too."""
    devices = st.builds(
        ListedMigDevice,
        mig_device_index=st.integers(0, 3),
        mig_profile=of(is_reading_of(ListedMigDevice, "mig_profile")),
        mig_uuid=st.one_of(
            of(is_reading_of(ListedMigDevice, "mig_uuid")),
            st.builds(
                lambda uuid, gi, ci: MigUuid(f"MIG-{uuid}/{gi}/{ci}"),
                st.sampled_from(POOL_UUIDS),
                st.integers(0, 2),
                st.integers(0, 1),
            ),
        ),
    )
    gpus = st.builds(
        ListedGpu,
        smi_index=st.integers(0, 9),
        uuid=st.one_of(st.sampled_from(POOL_UUIDS), st.sampled_from(Missing)),
        mig_devices=st.lists(devices, max_size=3).map(tuple),
    )
    return SmiList(gpus=tuple(draw(st.lists(gpus, max_size=4))))
