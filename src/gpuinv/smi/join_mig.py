"""What the listings of `nvidia-smi mig` add to the GPUs of `nvidia-smi -q -x`.

The listings name GPUs by index alone; `uuid_by_index` says which UUID an index is, as `nvidia-smi -L` prints it. Each
join is idempotent and blind to the order of the rows; `join_list` comes before `join_compute_instances`.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, TypeVar

import attrs

from gpuinv.errors import Issue, IssueKind
from gpuinv.readings import Missing, Reading, is_known
from gpuinv.smi.join import without_names
from gpuinv.smi.mig_listings import ListedComputeInstance, ListedGpuInstance, ListedMigProfile, MigState
from gpuinv.smi.queries import COMPUTE_INSTANCES, GPU_INSTANCES, MIG_PROFILES

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from gpuinv.ids import GpuUuid
    from gpuinv.inventory import Gpu, GpuInstance, MigInstance, MigProfile
    from gpuinv.smi.mig_listings import ComputeInstances, GpuInstances, MigListing, MigProfiles
    from gpuinv.smi.records import SmiSnapshot

__all__ = ["join_compute_instances", "join_gpu_instances", "join_mig_profiles"]

Listed = TypeVar("Listed", ListedMigProfile, ListedGpuInstance, ListedComputeInstance)

_ATTRIBUTES = re.compile(r"[+-]")
_COMPUTE_PART = re.compile(r"^[0-9]+c\.")
_NO_MIG = frozenset({Missing.NOT_SUPPORTED, Missing.ABSENT})


def join_mig_profiles(
    snapshot: SmiSnapshot, profiles: MigProfiles, uuid_by_index: Mapping[int, GpuUuid]
) -> SmiSnapshot:
    """Give each GPU the profiles that it offers, sorted by id and name, without their free counts.

    A GPU that lists none gets NOT_SUPPORTED where it cannot do MIG, or the answer says so of all, else NOT_AVAILABLE:
    an old driver lists profiles only while MIG is on. So does the last GPU of a listing that a failure cut.
    """
    issues = list(profiles.issues)
    rows_of_gpus = _whole(profiles.profiles, profiles)
    by_uuid = _by_uuid(rows_of_gpus, snapshot, uuid_by_index, issues, MIG_PROFILES.source) or {}
    all_incapable = profiles.state is MigState.INCAPABLE and profiles.complete
    gpus = []
    for gpu in snapshot.gpus:
        rows = by_uuid.get(gpu.uuid, ()) if is_known(gpu.uuid) else ()
        offered = _profiles(rows, capable=not (all_incapable or gpu.mig_mode.current_mig in _NO_MIG))
        gpus.append(attrs.evolve(gpu, mig_profiles=offered))
    return _joined(snapshot, gpus, issues)


def _profiles(rows: Iterable[ListedMigProfile], *, capable: bool) -> Reading[tuple[MigProfile, ...]]:
    found = sorted((row.profile for row in rows), key=lambda profile: (profile.mig_profile_id, profile.mig_profile))
    if found:
        return tuple(found)
    return Missing.NOT_AVAILABLE if capable else Missing.NOT_SUPPORTED


def join_gpu_instances(
    snapshot: SmiSnapshot, instances: GpuInstances, uuid_by_index: Mapping[int, GpuUuid]
) -> SmiSnapshot:
    """Give each GPU its GPU instances, sorted by id; one without compute instances is seen here alone.

    A GPU with MIG on and no row has none, where the listing is complete and its index is known; otherwise that is
    NOT_AVAILABLE. A GPU whose MIG is off, or of which that is not known, stays as it is.
    """
    issues = list(instances.issues)
    by_uuid = _by_uuid(_whole(instances.instances, instances), snapshot, uuid_by_index, issues, GPU_INSTANCES.source)
    sure = by_uuid is not None and instances.complete and instances.state in {MigState.LISTED, MigState.EMPTY}
    named = set(uuid_by_index.values())
    gpus = []
    for gpu in snapshot.gpus:
        found = [row.instance for row in (by_uuid or {}).get(gpu.uuid, ())] if is_known(gpu.uuid) else []
        none: Reading[tuple[GpuInstance, ...]] = () if sure and gpu.uuid in named else Missing.NOT_AVAILABLE
        if found or gpu.mig_mode.current_mig is True:
            listed = tuple(sorted(found, key=lambda instance: instance.gpu_instance_id))
            gpus.append(attrs.evolve(gpu, gpu_instances=listed or none))
        else:
            gpus.append(gpu)
        if gpu.mig_mode.current_mig is True and instances.state in {MigState.OFF, MigState.INCAPABLE}:
            issues.append(_issue(GPU_INSTANCES.source, "MIG is on, and the tool lists no GPU with MIG on", gpu.uuid))
    return _joined(snapshot, gpus, issues)


def join_compute_instances(
    snapshot: SmiSnapshot, instances: ComputeInstances, uuid_by_index: Mapping[int, GpuUuid]
) -> SmiSnapshot:
    """Give each MIG device its compute instance profile's id and its placement, by its GPU, GPU instance and own id.

    A device that one of the two lists lacks is an issue. One that only this list has is added with what its row says;
    the profile's name of a device that was there stays the one of `-L`.
    """
    issues = list(instances.issues)
    by_uuid = _by_uuid(instances.instances, snapshot, uuid_by_index, issues, COMPUTE_INSTANCES.source)
    named = set(uuid_by_index.values()) if instances.complete and by_uuid is not None else set()
    gpus = []
    for gpu in snapshot.gpus:
        rows = (by_uuid or {}).get(gpu.uuid, ()) if is_known(gpu.uuid) else ()
        gpus.append(_with_rows(gpu, rows, issues, whole=gpu.uuid in named))
    return _joined(snapshot, gpus, issues)


def _with_rows(gpu: Gpu, rows: Iterable[ListedComputeInstance], issues: list[Issue], *, whole: bool) -> Gpu:
    """The GPU with what its rows say of its MIG devices; `whole` says whether a device must have a row."""
    left = {_place(row.instance): row.instance for row in rows}
    devices = []
    for device in () if isinstance(gpu.mig_instances, Missing) else gpu.mig_instances:
        row = left.pop(_place(device), None)
        if row is None and whole:
            issues.append(
                _issue(COMPUTE_INSTANCES.source, f"the MIG device in {_spelled(device)} is not listed", gpu.uuid)
            )
        devices.append(device if row is None else _completed(device, row))
    for place in sorted(left):
        message = f"the MIG device in {_spelled(left[place])} is listed here and not by -q -x"
        issues.append(_issue(COMPUTE_INSTANCES.source, message, gpu.uuid))
        devices.append(left[place])
    return attrs.evolve(gpu, mig_instances=tuple(devices)) if devices else gpu


def _place(instance: MigInstance) -> tuple[int, int]:
    return instance.gpu_instance_id, instance.compute_instance_id


def _spelled(instance: MigInstance) -> str:
    return f"gi {instance.gpu_instance_id}, ci {instance.compute_instance_id}"


def _completed(device: MigInstance, row: MigInstance) -> MigInstance:
    """The device with what its row says. A row with another profile proves that the names of `-L` are not its own."""
    if is_known(device.mig_profile) and is_known(row.mig_profile) and _size(device) != _size(row):
        device = without_names(device)
    return attrs.evolve(
        device,
        compute_instance_profile_id=row.compute_instance_profile_id,
        placement_start=row.placement_start,
        placement_size=row.placement_size,
    )


def _size(instance: MigInstance) -> str:
    """The GPU instance's part of the profile, `3g.40gb`; the two listings need not spell the rest alike."""
    return _ATTRIBUTES.split(_COMPUTE_PART.sub("", str(instance.mig_profile)))[0]


def _whole(rows: tuple[Listed, ...], listing: MigListing) -> tuple[Listed, ...]:
    """The rows of the GPUs that have all of theirs; the tool goes by index, so that a failure cuts the last one's."""
    last = max((row.smi_index for row in rows), default=None) if listing.cut else None
    return tuple(row for row in rows if row.smi_index != last)


def _by_uuid(
    rows: Iterable[Listed],
    snapshot: SmiSnapshot,
    uuid_by_index: Mapping[int, GpuUuid],
    issues: list[Issue],
    source: str,
) -> dict[GpuUuid, list[Listed]] | None:
    """The rows of each GPU. An index without a UUID, and a GPU that -q -x lacks, are issues, once each.

    None where no row can be trusted: instances of a GPU that is not in MIG mode prove that the indices have moved.
    """
    known = {gpu.uuid: gpu for gpu in snapshot.gpus}
    by_index: dict[int, list[Listed]] = {}
    for row in rows:
        by_index.setdefault(row.smi_index, []).append(row)
    found: dict[GpuUuid, list[Listed]] = {}
    for index in sorted(by_index):
        uuid = uuid_by_index.get(index)
        if uuid is None:
            issues.append(_issue(source, f"GPU {index} is listed here, and its UUID is not known", None))
        elif uuid not in known:
            issues.append(_issue(source, f"GPU {index} is listed here and not by -q -x", uuid))
        elif source != MIG_PROFILES.source and known[uuid].mig_mode.current_mig is False:
            issues.append(_issue(source, f"GPU {index} has instances and is not in MIG mode; no row is trusted", uuid))
            return None
        else:
            found.setdefault(uuid, []).extend(by_index[index])
    return found


def _issue(source: str, message: str, uuid: object) -> Issue:
    known = uuid if isinstance(uuid, str) else None
    return Issue(kind=IssueKind.LAYERS_DISAGREE, source=source, message=message, uuid=known)


def _joined(snapshot: SmiSnapshot, gpus: Iterable[Gpu], issues: Iterable[Issue]) -> SmiSnapshot:
    """The snapshot with the GPUs, and with the issues that it does not have yet."""
    noted = set(snapshot.issues)
    new = tuple(issue for issue in issues if issue not in noted)
    return attrs.evolve(snapshot, gpus=tuple(gpus), issues=snapshot.issues + new)
