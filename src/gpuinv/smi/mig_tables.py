"""`nvidia-smi mig -lgip`, `-lgi`, `-lci`, `-lgipp` and `-lcip`: what MIG offers, and what was made of it.

They are the only outputs with the profiles on offer, with an instance's profile id and placement, and with a GPU
instance that has no compute instance. Each reader is total: a record, or `ParseError`. A sentence such as
`No MIG-supported devices found` is a record with its `MigState`. A row that cannot be read makes the whole table
unread, since a list that silently lacks a row would retire what the row says.
"""

from __future__ import annotations

from decimal import ROUND_HALF_UP, Decimal

import gpuinv.values as v
from gpuinv.inventory import GpuInstance, MigInstance, MigProfile
from gpuinv.readings import Missing, Reading
from gpuinv.smi._mig_rows import CELL, FREE_TOTAL, INSTANCE, NUMBER, Cells, Match, Table, form
from gpuinv.smi.mig_listings import (
    ComputeInstanceProfiles,
    ComputeInstances,
    GpuInstances,
    ListedComputeInstance,
    ListedComputeInstanceProfile,
    ListedGpuInstance,
    ListedMigProfile,
    MigPlacement,
    MigPlacements,
    MigProfiles,
)
from gpuinv.smi.queries import (
    COMPUTE_INSTANCE_PROFILES,
    COMPUTE_INSTANCES,
    GPU_INSTANCES,
    MIG_PLACEMENTS,
    MIG_PROFILES,
)

__all__ = [
    "parse_compute_instance_profiles",
    "parse_compute_instances",
    "parse_gpu_instances",
    "parse_mig_placements",
    "parse_mig_profiles",
]

_MIB_OF_A_GIB = 1024


def parse_mig_profiles(text: str | bytes) -> MigProfiles:
    """Read the output of `nvidia-smi mig -lgip`: the GPU instance profiles on offer, a row of two lines each.

    Memory is in GiB as printed, and in MiB rounded from that, so it is as exact as two decimals. Copy engines, JPEG
    engines and OFAs are ABSENT where a row lacks its second line. Old drivers list profiles only while MIG is on.

    Raises:
        ParseError: nothing is listed and no sentence says why (the tool refused or failed); the table of another
            command; one that is cut, or has a row of another form.
    """
    header, rows = _MIG_PROFILES.read(text)
    return MigProfiles(**header, profiles=rows)


def parse_gpu_instances(text: str | bytes) -> GpuInstances:
    """Read the output of `nvidia-smi mig -lgi`: the GPU instances with their profiles and placements.

    The tool sorts by profile. A placement is `start:size` in memory slices.

    Raises:
        ParseError: as of `parse_mig_profiles`.
    """
    header, rows = _GPU_INSTANCES.read(text)
    return GpuInstances(**header, instances=rows)


def parse_compute_instances(text: str | bytes) -> ComputeInstances:
    """Read the output of `nvidia-smi mig -lci`: the compute instances with their profiles and placements.

    A placement is in compute slices of the GPU instance; an old driver prints none, which leaves it ABSENT.

    Raises:
        ParseError: as of `parse_mig_profiles`.
    """
    header, rows = _COMPUTE_INSTANCES.read(text)
    return ComputeInstances(**header, instances=rows)


def parse_mig_placements(text: str | bytes) -> MigPlacements:
    """Read the output of `nvidia-smi mig -lgipp`: lines `GPU  0 Profile ID 14 Placements: {0,2,4}:2`.

    Raises:
        ParseError: as of `parse_mig_profiles`.
    """
    header, rows = _PLACEMENTS.read(text)
    return MigPlacements(**header, placements=rows)


def parse_compute_instance_profiles(text: str | bytes) -> ComputeInstanceProfiles:
    """Read the output of `nvidia-smi mig -lcip`: what each GPU instance offers, a row of two lines each.

    Raises:
        ParseError: as of `parse_mig_profiles`.
    """
    header, rows = _COMPUTE_INSTANCE_PROFILES.read(text)
    return ComputeInstanceProfiles(**header, profiles=rows)


def _mig_profile(cells: Cells, first: Match, second: Match | None) -> ListedMigProfile:
    index, name, profile_id, free, total, memory, p2p, *counts = first.groups()
    memory_gib = cells.gib(memory)
    sm, decoders, encoders = (cells.read(v.INTEGER, count) for count in counts)
    copy_engines, jpg, ofa = cells.counts(second, 3)
    profile = MigProfile(
        mig_profile_id=int(profile_id),
        mig_profile=cells.name(name),
        total_instances=cells.read(v.INTEGER, total),
        memory_mib=_mib(memory_gib),
        p2p=cells.read(v.FLAG, p2p),
        multiprocessor_count=sm,
        copy_engine_count=copy_engines,
        decoder_count=decoders,
        encoder_count=encoders,
        jpg_count=jpg,
        ofa_count=ofa,
    )
    free_instances = cells.read(v.INTEGER, free)
    return ListedMigProfile(smi_index=int(index), profile=profile, free_instances=free_instances, memory_gib=memory_gib)


def _mib(gib: Reading[Decimal]) -> Reading[int]:
    return gib if isinstance(gib, Missing) else int((gib * _MIB_OF_A_GIB).to_integral_value(ROUND_HALF_UP))


def _gpu_instance(cells: Cells, first: Match, _: Match | None) -> ListedGpuInstance:
    index, name, profile_id, instance_id, placement = first.groups()
    start, size = cells.placement(placement)
    instance = GpuInstance(
        gpu_instance_id=int(instance_id),
        mig_profile_id=cells.read(v.INTEGER, profile_id),
        mig_profile=cells.read(v.NAME, name),
        placement_start=start,
        placement_size=size,
    )
    return ListedGpuInstance(smi_index=int(index), instance=instance)


def _compute_instance(cells: Cells, first: Match, _: Match | None) -> ListedComputeInstance:
    index, gpu_instance_id, name, profile_id, instance_id, placement = first.groups()
    start, size = cells.placement(placement)
    instance = MigInstance(
        gpu_instance_id=int(gpu_instance_id),
        compute_instance_id=int(instance_id),
        mig_profile=cells.read(v.NAME, name),
        compute_instance_profile_id=cells.read(v.INTEGER, profile_id),
        placement_start=start,
        placement_size=size,
    )
    return ListedComputeInstance(smi_index=int(index), instance=instance)


def _placement(_: Cells, first: Match, __: Match | None) -> MigPlacement:
    index, profile_id, starts, size = first.groups()
    return MigPlacement(
        smi_index=int(index),
        mig_profile_id=int(profile_id),
        placement_starts=tuple(map(int, starts.split(","))) if starts else (),
        placement_size=int(size),
    )


def _compute_instance_profile(cells: Cells, first: Match, second: Match | None) -> ListedComputeInstanceProfile:
    index, gpu_instance_id, name, profile_id, mark, *counts = first.groups()
    free, total, sm, decoders, encoders, ofa = (cells.read(v.INTEGER, count) for count in counts)
    copy_engines, jpg = cells.counts(second, 2)
    return ListedComputeInstanceProfile(
        smi_index=int(index),
        gpu_instance_id=int(gpu_instance_id),
        compute_instance_profile_id=int(profile_id),
        mig_profile=cells.name(name),
        is_default=bool(mark),
        free_instances=free,
        total_instances=total,
        multiprocessor_count=sm,
        copy_engine_count=copy_engines,
        decoder_count=decoders,
        encoder_count=encoders,
        jpg_count=jpg,
        ofa_count=ofa,
    )


_MIG_PROFILES = Table(
    source=MIG_PROFILES.source,
    title="GPU instance profiles:",
    first=form(NUMBER, "MIG", CELL, NUMBER, FREE_TOTAL, *[CELL] * 5),  # GiB, P2P, SM, DEC, ENC
    second=form(*[CELL] * 3),  # CE, JPEG, OFA
    build=_mig_profile,
    key=lambda row: (row.smi_index, row.profile.mig_profile_id, row.profile.mig_profile),
)
_GPU_INSTANCES = Table(
    source=GPU_INSTANCES.source,
    title="GPU instances:",
    first=form(NUMBER, "MIG", CELL, CELL, rf"{INSTANCE}(?: {CELL})?"),
    build=_gpu_instance,
    key=lambda row: (row.smi_index, row.instance.gpu_instance_id),
)
_COMPUTE_INSTANCES = Table(
    source=COMPUTE_INSTANCES.source,
    title="Compute instances:",
    first=form(NUMBER, INSTANCE, "MIG", CELL, CELL, rf"{INSTANCE}(?: {CELL})?"),
    build=_compute_instance,
    key=lambda row: (row.smi_index, row.instance.gpu_instance_id, row.instance.compute_instance_id),
)
_PLACEMENTS = Table(
    source=MIG_PLACEMENTS.source,
    title="",
    unboxed="GPU ",
    first=form(
        "GPU",
        NUMBER,
        "Profile",
        "ID",
        NUMBER,
        r"Placements? ?: ?\{ ?((?:[0-9]{1,6}(?: ?, ?[0-9]{1,6})*)?) ?\} ?: ?([0-9]{1,6})",
    ),
    build=_placement,
    key=lambda row: (row.smi_index, row.mig_profile_id),
)
_COMPUTE_INSTANCE_PROFILES = Table(
    source=COMPUTE_INSTANCE_PROFILES.source,
    title="Compute instance profiles:",
    first=form(NUMBER, INSTANCE, "MIG", CELL, rf"{NUMBER}(\*?)", FREE_TOTAL, *[CELL] * 4),  # SM, DEC, ENC, OFA
    second=form(CELL, CELL),  # CE, JPEG
    build=_compute_instance_profile,
    key=lambda row: (row.smi_index, row.gpu_instance_id, row.compute_instance_profile_id, row.mig_profile),
)
