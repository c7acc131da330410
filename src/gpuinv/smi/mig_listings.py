"""What the listings of `nvidia-smi mig` hold: rows with the GPU's index, and what the answer says as a whole.

The nouns in the rows are those of the inventory. What moves while the hardware does not, the free counts, stands beside
them. The tool names GPUs by their index alone; `nvidia-smi -L` says which UUID that is.
"""

from __future__ import annotations

import enum
from decimal import Decimal

import attrs

from gpuinv.errors import Issue
from gpuinv.inventory import GpuInstance, MigInstance, MigProfile
from gpuinv.inventory._fields import doc, reading
from gpuinv.readings import Reading

__all__ = [
    "ComputeInstanceProfiles",
    "ComputeInstances",
    "GpuInstances",
    "ListedComputeInstance",
    "ListedComputeInstanceProfile",
    "ListedGpuInstance",
    "ListedMigProfile",
    "MigListing",
    "MigPlacement",
    "MigPlacements",
    "MigProfiles",
    "MigState",
]


class MigState(enum.Enum):
    """What a listing says as a whole. An answer without a table is a fact too."""

    LISTED = "listed"
    """There are rows."""
    EMPTY = "empty"
    """`No GPU instances found: Not Found`, or a table without rows: there are none."""
    OFF = "off"
    """`No MIG-enabled devices found`: MIG is off on every GPU; says nothing of what they could do."""
    INCAPABLE = "incapable"
    """`No MIG-supported devices found`: no GPU of the host can do MIG."""


@attrs.frozen(kw_only=True)
class ListedMigProfile:
    """Both lines of a row of `mig -lgip`."""

    smi_index: int = doc("The index of the GPU that offers it.")
    profile: MigProfile = doc("The profile. Its identity is id and name; the memory differs by driver.")
    free_instances: Reading[int] = reading("How many more can be made now; falls as instances are made, a sample.")
    memory_gib: Reading[Decimal] = reading("Memory of one instance as printed, to two decimals.", unit="GiB")


@attrs.frozen(kw_only=True)
class ListedGpuInstance:
    """A row of `mig -lgi`."""

    smi_index: int = doc("The index of its GPU.")
    instance: GpuInstance = doc("The GPU instance.")


@attrs.frozen(kw_only=True)
class ListedComputeInstance:
    """A row of `mig -lci`."""

    smi_index: int = doc("The index of its GPU.")
    instance: MigInstance = doc("What the row says of the MIG device; older drivers print no placement.")


@attrs.frozen(kw_only=True)
class MigPlacement:
    """A line of `mig -lgipp`: where instances of a GPU instance profile can lie."""

    smi_index: int = doc("The index of the GPU.")
    mig_profile_id: int = doc("The profile's id.")
    placement_starts: tuple[int, ...] = doc("The memory slices that an instance can start at, in the tool's order.")
    placement_size: int = doc("How many memory slices it takes.")


@attrs.frozen(kw_only=True)
class ListedComputeInstanceProfile:
    """Both lines of a row of `mig -lcip`: a compute instance profile that one GPU instance offers."""

    smi_index: int = doc("The index of the GPU.")
    gpu_instance_id: int = doc("The id of the GPU instance.")
    compute_instance_profile_id: int = doc("The profile's id, counted within its GPU instance profile.")
    mig_profile: str = doc("The profile's name, such as `1c.2g.12gb`.")
    is_default: bool = doc("Whether it takes the whole GPU instance; the tool marks its id with `*`.", default=False)
    free_instances: Reading[int] = reading("How many more can be made now; a sample.")
    total_instances: Reading[int] = reading("How many instances of it an empty GPU instance can hold.")
    multiprocessor_count: Reading[int] = reading("SMs, of this instance alone.")
    copy_engine_count: Reading[int] = reading("Copy engines, shared within the GPU instance.")
    decoder_count: Reading[int] = reading("Decoders, shared.")
    encoder_count: Reading[int] = reading("Encoders, shared.")
    jpg_count: Reading[int] = reading("JPEG engines, shared.")
    ofa_count: Reading[int] = reading("Optical flow accelerators, shared.")


@attrs.frozen(kw_only=True)
class MigListing:
    """What every listing has beside its rows."""

    state: MigState = doc("What it says as a whole; LISTED where there are rows.")
    complete: bool = doc(
        "Whether nothing was refused and there was one table; where not, a GPU without a row may still have something.",
        default=True,
    )
    cut: bool = doc("Whether a failure ended it, so that the last GPU may lack rows.", default=False)
    issues: tuple[Issue, ...] = doc("GPUs that could not be opened, values and lines of another form.", default=())


@attrs.frozen(kw_only=True)
class MigProfiles(MigListing):
    """The GPU instance profiles on offer, of every GPU that lists some."""

    profiles: tuple[ListedMigProfile, ...] = doc("The profiles, in the tool's order.", default=())


@attrs.frozen(kw_only=True)
class GpuInstances(MigListing):
    """The GPU instances, of every GPU that has some."""

    instances: tuple[ListedGpuInstance, ...] = doc("The instances, in the tool's order: by profile.", default=())


@attrs.frozen(kw_only=True)
class ComputeInstances(MigListing):
    """The compute instances, of every GPU that has some."""

    instances: tuple[ListedComputeInstance, ...] = doc("The instances, in the tool's order.", default=())


@attrs.frozen(kw_only=True)
class MigPlacements(MigListing):
    """The possible placements, of every GPU that lists some."""

    placements: tuple[MigPlacement, ...] = doc("One for each profile, in the tool's order.", default=())


@attrs.frozen(kw_only=True)
class ComputeInstanceProfiles(MigListing):
    """The compute instance profiles on offer, of every GPU instance."""

    profiles: tuple[ListedComputeInstanceProfile, ...] = doc("The profiles, in the tool's order.", default=())
