"""Merging the layers: what nvidia-smi says of the GPUs that procfs and sysfs found.

Identity is the UUID. A GPU without a usable one is matched by its address, which some kernels print with the domain
cut to 16 bits.
"""

from __future__ import annotations

from collections import Counter
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import attrs

from gpuinv.errors import Issue, IssueKind
from gpuinv.inventory import Gpu, GpuSection, Layer
from gpuinv.naming.architecture import architecture
from gpuinv.readings import Missing, Reading, is_known

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from gpuinv.smi.records import SmiSnapshot

__all__ = ["PROCFS_FIELDS", "disagreements", "enrich", "provenance", "with_architecture"]

PROCFS_FIELDS = frozenset(
    {
        "uuid",
        "pci_bus_id",
        "minor_number",
        "product_name",
        "vbios_version",
        "pci_device_id",
        "pci_sub_system_id",
        "max_link_gen",
        "max_link_width",
        "numa_node",
        "gpu_excluded",
    }
)
"""What procfs and sysfs tell: where nvidia-smi has no value for one of these, theirs stands. None is a counter."""


def enrich(base: GpuSection, snapshot: SmiSnapshot) -> GpuSection:
    """Merge a snapshot of nvidia-smi into the section that procfs and sysfs gave.

    The result keeps every GPU of `base` in its order and with its index, then has those that only nvidia-smi knows, in
    bus order, with the next indices. A GPU that both know takes every field from nvidia-smi, and from `base` what
    nvidia-smi has no value for (the NUMA node above all). Doing it twice changes nothing, nor does the order of the
    snapshot's GPUs.
    """
    pairs, alone = _match(base.gpus, snapshot.gpus)
    gpus = [gpu if partner is None else _merged(gpu, partner) for gpu, partner in pairs]
    first = max((gpu.gpu_index for gpu in base.gpus), default=-1) + 1
    gpus += [attrs.evolve(gpu, gpu_index=index) for index, gpu in enumerate(alone, first)]
    section = GpuSection(
        layers=_layers((*base.layers, Layer.NVIDIA_SMI)),
        driver_version=_first(snapshot.driver_version, base.driver_version),
        cuda_driver_version=_first(snapshot.cuda_driver_version, base.cuda_driver_version),
        nvml_version=_first(snapshot.nvml_version, base.nvml_version),
        gpus=tuple(gpus),
    )
    return with_architecture(section)


def with_architecture(section: GpuSection) -> GpuSection:
    """The section with each GPU's architecture: as the driver says, else from the compute capability, else the name."""
    gpus = (
        attrs.evolve(
            gpu, product_architecture=architecture(gpu.product_architecture, gpu.compute_capability, gpu.product_name)
        )
        for gpu in section.gpus
    )
    return attrs.evolve(section, gpus=tuple(gpus))


def provenance(base: Gpu | None, listed: Gpu | None) -> Mapping[str, Layer]:
    """Which layer gave each known field of a merged GPU.

    `base` is what procfs and sysfs knew of it, `listed` what nvidia-smi did. Fields that are missing in the result,
    and the architecture where it was derived, have no entry.
    """
    sources: dict[str, Layer] = {}
    for field in attrs.fields(Gpu):
        name = field.name
        if listed is not None and _told(listed, name) and (name != "gpu_index" or base is None):
            sources[name] = Layer.NVIDIA_SMI
        elif base is not None and (name in PROCFS_FIELDS or name == "gpu_index") and _told(base, name):
            sources[name] = Layer.PROCFS
    return MappingProxyType(sources)


def disagreements(base: GpuSection, snapshot: SmiSnapshot) -> tuple[Issue, ...]:
    """What the two layers do not agree on: a GPU that one of them lacks, and the driver's version."""
    pairs, alone = _match(base.gpus, snapshot.gpus)
    issues = [
        _issue("procfs lists this GPU and nvidia-smi does not", gpu)
        for gpu, partner in pairs
        if partner is None and gpu.gpu_excluded is not True
    ]
    if base.gpus:
        issues += [_issue("nvidia-smi lists this GPU and procfs does not", gpu) for gpu in alone]
    loaded, told = base.driver_version, snapshot.driver_version
    if is_known(loaded) and is_known(told) and loaded != told:
        message = f"the loaded kernel module is {loaded}, nvidia-smi speaks of {told}"
        issues.append(Issue(kind=IssueKind.LAYERS_DISAGREE, source="driver version", message=message))
    return tuple(issues)


def _match(base: Iterable[Gpu], listed: Iterable[Gpu]) -> tuple[list[tuple[Gpu, Gpu | None]], list[Gpu]]:
    """Each base GPU with its partner, and the GPUs of nvidia-smi that have none, in bus order."""
    known = tuple(base)
    free = dict(enumerate(sorted(listed, key=_bus_order)))
    partners: dict[int, Gpu] = {}
    for key in (_uuid_and_bus, _uuid, _bus, _seen_nameless):
        _pair(known, free, partners, key)
    _pair_truncated(known, free, partners)
    return [(gpu, partners.get(position)) for position, gpu in enumerate(known)], list(free.values())


def _pair(base: tuple[Gpu, ...], free: dict[int, Gpu], partners: dict[int, Gpu], key: Callable[[Gpu], object]) -> None:
    """Pair the GPUs whose keys are equal; those that have no key, or a partner already, are left alone."""
    by_key: dict[object, list[int]] = {}
    for number, gpu in free.items():
        by_key.setdefault(key(gpu), []).append(number)
    for position, gpu in enumerate(base):
        name = key(gpu)
        candidates = by_key.get(name, []) if name is not None and position not in partners else []
        found = next((number for number in candidates if _may_be_one(gpu, free[number])), None)
        if found is not None:
            candidates.remove(found)
            partners[position] = free.pop(found)


def _uuid_and_bus(gpu: Gpu) -> object:
    return (gpu.uuid, gpu.pci_bus_id) if is_known(gpu.uuid) and is_known(gpu.pci_bus_id) else None


def _uuid(gpu: Gpu) -> object:
    return gpu.uuid if is_known(gpu.uuid) else None


def _bus(gpu: Gpu) -> object:
    return gpu.pci_bus_id if is_known(gpu.pci_bus_id) else None


def _seen_nameless(gpu: Gpu) -> object:
    """Neither identity nor address: only nvidia-smi's own record can be met again, in bus order."""
    return True if _is_nameless(gpu) and Layer.NVIDIA_SMI in gpu.layers else None


def _is_nameless(gpu: Gpu) -> bool:
    return isinstance(gpu.uuid, Missing) and isinstance(gpu.pci_bus_id, Missing)


def _may_be_one(gpu: Gpu, other: Gpu) -> bool:
    """Two UUIDs are two GPUs, even at one address."""
    return not (is_known(gpu.uuid) and is_known(other.uuid)) or gpu.uuid == other.uuid


def _pair_truncated(base: tuple[Gpu, ...], free: dict[int, Gpu], partners: dict[int, Gpu]) -> None:
    """Pair GPUs whose addresses differ in a domain that was cut to 16 bits, where that leaves no choice."""
    by_bus: dict[object, list[int]] = {}
    for number, other in free.items():
        if not isinstance(other.pci_bus_id, Missing):
            by_bus.setdefault(other.pci_bus_id.truncated, []).append(number)
    rivals = Counter(gpu.pci_bus_id for gpu in base)
    for position, gpu in enumerate(base):
        numbers = by_bus.get(gpu.pci_bus_id, []) if position not in partners else []
        found = [number for number in numbers if number in free and _may_be_one(gpu, free[number])]
        if len(found) == 1 and rivals[gpu.pci_bus_id] == 1:
            partners[position] = free.pop(found[0])


def _merged(base: Gpu, listed: Gpu) -> Gpu:
    """What nvidia-smi says, with the collector's index and what only procfs and sysfs know."""
    both: dict[str, Any] = {name: _first(getattr(listed, name), getattr(base, name)) for name in PROCFS_FIELDS}
    return attrs.evolve(listed, gpu_index=base.gpu_index, layers=_layers((*base.layers, *listed.layers)), **both)


def _told(gpu: Gpu, name: str) -> bool:
    """Whether a layer's record says anything in this field."""
    value = getattr(gpu, name)
    if isinstance(value, Missing):
        return False
    return not attrs.has(type(value)) or value != attrs.fields_dict(Gpu)[name].default


def _bus_order(gpu: Gpu) -> tuple[Any, ...]:
    """By address, then UUID, each after its kind's missing ones; then by content, so that no input order shows."""
    bus = (True, "") if isinstance(gpu.pci_bus_id, Missing) else (False, str(gpu.pci_bus_id))
    uuid = (True, "") if isinstance(gpu.uuid, Missing) else (False, str(gpu.uuid))
    return (*bus, *uuid, repr(attrs.evolve(gpu, gpu_index=0)))


def _layers(layers: Iterable[Layer]) -> tuple[Layer, ...]:
    return tuple(sorted(set(layers), key=lambda layer: layer.value))


def _first(first: Reading[Any], second: Reading[Any]) -> Reading[Any]:
    """The first known value, else the reason of the first that was read at all."""
    if is_known(first) or (first is not Missing.ABSENT and isinstance(second, Missing)):
        return first
    return second


def _issue(message: str, gpu: Gpu) -> Issue:
    return Issue(
        kind=IssueKind.LAYERS_DISAGREE,
        source="procfs and nvidia-smi",
        message=message,
        uuid=str(gpu.uuid) if is_known(gpu.uuid) else None,
        pci_bus_id=str(gpu.pci_bus_id) if is_known(gpu.pci_bus_id) else None,
    )
