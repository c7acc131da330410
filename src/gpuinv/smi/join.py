"""What the other queries of a snapshot add to the GPUs of `nvidia-smi -q -x`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

import attrs

from gpuinv.errors import Issue, IssueKind
from gpuinv.inventory import Gpu, MigInstance, NvLink
from gpuinv.readings import Missing, is_known
from gpuinv.smi.queries import (
    COMPUTE_CAP,
    COMPUTE_INSTANCES,
    GPU_INSTANCES,
    LIST,
    MIG_PROFILES,
    NVLINK_REMOTE,
    NVLINK_STATUS,
    TOPOLOGY,
    Query,
)

if TYPE_CHECKING:
    from gpuinv.ids import DeviceId
    from gpuinv.smi.compute_cap import ComputeCaps
    from gpuinv.smi.gpu_list import ListedGpu, ListedMigDevice, SmiList
    from gpuinv.smi.records import SmiSnapshot

__all__ = ["join_compute_caps", "join_list", "mark_missing", "without_names"]

R = TypeVar("R", Gpu, MigInstance, NvLink)

_GPU_FIELDS = {
    COMPUTE_CAP: ("compute_capability",),
    TOPOLOGY: ("topology", "gpu_numa_id"),
    NVLINK_STATUS: ("nvlinks",),
    MIG_PROFILES: ("mig_profiles",),
}
"""The fields of a GPU that only one optional query fills."""

_MIG_FIELDS = {LIST: ("mig_instances",), GPU_INSTANCES: ("gpu_instances",), COMPUTE_INSTANCES: ("mig_instances",)}
"""The same for GPUs in MIG mode; of others these queries say nothing."""

_ROW_FIELDS = {
    LIST: ("mig_instances", ("mig_uuid", "mig_profile")),
    NVLINK_STATUS: ("nvlinks", ("up",)),
    NVLINK_REMOTE: ("nvlinks", ("peer", "remote_link")),
    COMPUTE_INSTANCES: ("mig_instances", ("compute_instance_profile_id", "placement_start", "placement_size")),
}
"""The same for the rows of a GPU."""


def join_compute_caps(snapshot: SmiSnapshot, caps: ComputeCaps) -> SmiSnapshot:
    """Give each GPU its compute capability, by UUID."""
    by_uuid = dict(caps.by_uuid)
    gpus = tuple(
        attrs.evolve(gpu, compute_capability=by_uuid[gpu.uuid]) if is_known(gpu.uuid) and gpu.uuid in by_uuid else gpu
        for gpu in snapshot.gpus
    )
    return attrs.evolve(snapshot, gpus=gpus, issues=snapshot.issues + caps.issues)


def join_list(snapshot: SmiSnapshot, listed: SmiList) -> SmiSnapshot:
    """Give each MIG device its UUID and profile, which only `-L` knows, by its GPU's UUID and its device index.

    A driver whose XML has no MIG devices yet (before R460) prints UUIDs that say where the instance lies; its devices
    are made from those. A device or a GPU that one of the two lists lacks is an issue.
    """
    by_uuid = {gpu.uuid: gpu for gpu in listed.gpus if is_known(gpu.uuid)}
    issues = list(listed.issues)
    gpus = []
    for gpu in snapshot.gpus:
        match = by_uuid.get(gpu.uuid) if is_known(gpu.uuid) else None
        if match is None and is_known(gpu.uuid):
            issues.append(_issue(f"GPU {gpu.gpu_index} of -q -x is not listed", gpu.uuid))
        gpus.append(gpu if match is None else _with_devices(gpu, match, issues))
    known = {gpu.uuid for gpu in snapshot.gpus}
    for uuid, other in by_uuid.items():
        if uuid not in known:
            issues.append(_issue(f"GPU {other.smi_index} is listed here and not by -q -x", uuid))
    return attrs.evolve(snapshot, gpus=tuple(gpus), issues=(*snapshot.issues, *issues))


def mark_missing(snapshot: SmiSnapshot, query: Query, reason: Missing) -> SmiSnapshot:
    """Say of every field that an optional query would have filled why it is missing; only what is ABSENT changes.

    Every driver knows `-L`, so that a host whose tool refuses it has MIG devices whose names could not be had.
    """
    if query is LIST and reason is Missing.NOT_SUPPORTED:
        reason = Missing.NOT_AVAILABLE
    gpus = (_marked(gpu, query, reason) for gpu in snapshot.gpus)
    return attrs.evolve(snapshot, gpus=tuple(gpus))


def _marked(gpu: Gpu, query: Query, reason: Missing) -> Gpu:
    fields = _GPU_FIELDS.get(query, ())
    if gpu.mig_mode.current_mig is True:
        fields += _MIG_FIELDS.get(query, ())
    gpu = _with_reason(gpu, fields, reason)
    name, fields = _ROW_FIELDS.get(query, ("", ()))
    rows = getattr(gpu, name) if name else ()
    if isinstance(rows, Missing) or not rows:
        return gpu
    marked: dict[str, Any] = {name: tuple(_with_reason(row, fields, reason) for row in rows)}
    return attrs.evolve(gpu, **marked)


def _with_reason(record: R, names: tuple[str, ...], reason: Missing) -> R:
    unread: dict[str, Any] = {name: reason for name in names if getattr(record, name) is Missing.ABSENT}
    return attrs.evolve(record, **unread) if unread else record


def _with_devices(gpu: Gpu, listed: ListedGpu, issues: list[Issue]) -> Gpu:
    """The GPU with what the list says of its MIG devices."""
    by_index: dict[int, ListedMigDevice] = {}
    for device in listed.mig_devices:
        by_index.setdefault(device.mig_device_index, device)
    instances = gpu.mig_instances
    if isinstance(instances, Missing) or not instances:
        made = tuple(filter(None, map(_instance, by_index.values())))
        _complain(len(listed.mig_devices) - len(made), gpu, issues)
        return attrs.evolve(gpu, mig_instances=made) if made else gpu
    if {instance.mig_device_index for instance in instances} != set(by_index) and not all(
        map(_place, by_index.values())
    ):
        issues.append(
            _issue("the MIG devices listed here are not those of -q -x; their names are not trusted", gpu.uuid)
        )
        return attrs.evolve(gpu, mig_instances=tuple(map(without_names, instances)))
    left = len(listed.mig_devices) - len(by_index)
    named = tuple(_named(instance, by_index, gpu, issues) for instance in instances)
    _complain(left + len(by_index), gpu, issues)
    return attrs.evolve(gpu, mig_instances=named)


def without_names(instance: MigInstance) -> MigInstance:
    """The instance without UUID and profile: the layout changed between two queries, and they may be another's.

    A UUID of the old form says itself where its instance lies, and stays.
    """
    if is_known(instance.mig_uuid) and instance.mig_uuid.device_id is not None:
        return instance
    return attrs.evolve(instance, mig_uuid=Missing.NOT_AVAILABLE, mig_profile=Missing.NOT_AVAILABLE)


def _named(instance: MigInstance, by_index: dict[int, ListedMigDevice], gpu: Gpu, issues: list[Issue]) -> MigInstance:
    """The instance with its UUID and profile; its entry leaves `by_index`."""
    index = instance.mig_device_index
    device = None if isinstance(index, Missing) else by_index.get(index)
    if device is None or isinstance(index, Missing) or _contradicts(device, instance, gpu):
        message = f"the MIG device in gi {instance.gpu_instance_id}, ci {instance.compute_instance_id} is not listed"
        issues.append(_issue(message, gpu.uuid))
        return instance
    del by_index[index]
    return attrs.evolve(instance, mig_uuid=device.mig_uuid, mig_profile=device.mig_profile)


def _place(device: ListedMigDevice) -> DeviceId | None:
    return None if isinstance(device.mig_uuid, Missing) else device.mig_uuid.device_id


def _contradicts(device: ListedMigDevice, instance: MigInstance, gpu: Gpu) -> bool:
    """Whether a UUID of the old form names another instance: the layout changed between the two queries."""
    place = _place(device)
    return place is not None and (place.gpu_uuid, place.gpu_instance_id, place.compute_instance_id) != (
        gpu.uuid,
        instance.gpu_instance_id,
        instance.compute_instance_id,
    )


def _instance(device: ListedMigDevice) -> MigInstance | None:
    """A MIG device that only the list knows, where its UUID tells its place."""
    place = _place(device)
    if place is None or place.gpu_instance_id is None or place.compute_instance_id is None:
        return None
    return MigInstance(
        gpu_instance_id=place.gpu_instance_id,
        compute_instance_id=place.compute_instance_id,
        mig_device_index=device.mig_device_index,
        mig_uuid=device.mig_uuid,
        mig_profile=device.mig_profile,
    )


def _complain(count: int, gpu: Gpu, issues: list[Issue]) -> None:
    if count:
        issues.append(_issue(f"{count} MIG device(s) are listed here and not by -q -x", gpu.uuid))


def _issue(message: str, uuid: object) -> Issue:
    known = uuid if isinstance(uuid, str) else None
    return Issue(kind=IssueKind.LAYERS_DISAGREE, source=LIST.source, message=message, uuid=known)
