"""MIG: the mode, the profiles a GPU offers, its GPU instances and the compute instances in them."""

from __future__ import annotations

import attrs

from gpuinv.ids import MigUuid
from gpuinv.inventory._fields import doc, reading, wide
from gpuinv.readings import Reading

__all__ = ["GpuInstance", "MigInstance", "MigMode", "MigProfile"]


@attrs.frozen(kw_only=True)
class MigMode:
    """Whether MIG is on, now and after the next reset. Both are missing on a GPU that cannot do MIG."""

    current_mig: Reading[bool] = reading("Whether MIG is on.")
    pending_mig: Reading[bool] = reading("Whether MIG will be on after the next reset.")


@attrs.frozen(kw_only=True)
class MigProfile:
    """A GPU instance profile on offer. Its identity is the id with the name; the memory differs by driver."""

    mig_profile_id: int = doc("The profile's id.")
    mig_profile: str = doc("The profile's name, such as `1g.10gb+me`.")
    total_instances: Reading[int] = reading("How many instances of it an empty GPU can hold.")
    memory_mib: Reading[int] = reading("Memory of one instance.", unit="MiB")
    p2p: Reading[bool] = reading("Whether instances can reach each other.")
    multiprocessor_count: Reading[int] = reading("SMs of one instance.")
    copy_engine_count: Reading[int] = reading("Copy engines of one instance.")
    decoder_count: Reading[int] = reading("Decoders of one instance.")
    encoder_count: Reading[int] = reading("Encoders of one instance.")
    jpg_count: Reading[int] = reading("JPEG engines of one instance.")
    ofa_count: Reading[int] = reading("Optical flow accelerators of one instance.")


@attrs.frozen(kw_only=True)
class GpuInstance:
    """A GPU instance, as `mig -lgi` lists it: the only source that shows one without compute instances."""

    gpu_instance_id: int = doc("The instance's id on its GPU.")
    mig_profile_id: Reading[int] = reading("The id of its profile.")
    mig_profile: Reading[str] = reading("The name of its profile.")
    placement_start: Reading[int] = reading("The first memory slice.")
    placement_size: Reading[int] = reading("How many memory slices it takes.")


@attrs.frozen(kw_only=True)
class MigInstance:
    """A MIG device: one compute instance in one GPU instance. It is what a workload can use."""

    gpu_instance_id: int = doc("The id of the GPU instance that it lies in.")
    compute_instance_id: int = doc("Its id in that GPU instance.")
    mig_device_index: Reading[int] = reading("The device number that the tool prints; it restarts with each GPU.")
    mig_uuid: Reading[MigUuid] = reading("The UUID as the driver prints it, of either generation.")
    mig_profile: Reading[str] = reading("The profile's name, such as `1c.3g.40gb`; never computed from the memory.")
    compute_instance_profile_id: Reading[int] = reading("The id of its compute instance profile.")
    placement_start: Reading[int] = reading("The first compute slice.")
    placement_size: Reading[int] = reading("How many compute slices it takes.")
    fb_total_mib: Reading[int] = reading("Memory of its GPU instance.", unit="MiB")
    multiprocessor_count: Reading[int] = reading("SMs.")
    copy_engine_count: Reading[int] = reading("Copy engines.")
    encoder_count: Reading[int] = reading("Encoders.")
    decoder_count: Reading[int] = reading("Decoders.")
    ofa_count: Reading[int] = reading("Optical flow accelerators.")
    jpg_count: Reading[int] = reading("JPEG engines.")
    volatile_sram_uncorrectable: Reading[int] = wide("Uncorrected SRAM errors since the driver was loaded.")
