"""What a reading of nvidia-smi is, beside the nouns that it fills."""

from __future__ import annotations

import attrs

from gpuinv.errors import Issue
from gpuinv.inventory import Gpu, GpuSample, GpuSection
from gpuinv.inventory._fields import doc, reading
from gpuinv.readings import Reading
from gpuinv.versions import DriverVersion

__all__ = ["QueryRun", "SmiSnapshot", "Snapshot"]


@attrs.frozen(kw_only=True)
class SmiSnapshot:
    """What `nvidia-smi -q -x` said, with what other queries added.

    `gpus` is inventory and `samples` is not; both are in the tool's order, which is that of the indices. `unread`
    holds the element paths that no field of ours consumed, each once, sorted: a new driver branch shows up here.
    """

    driver_version: Reading[DriverVersion] = reading("Version of the driver.")
    cuda_driver_version: Reading[str] = reading("The CUDA version that the driver supports.")
    nvml_version: Reading[str] = reading("Version of the NVML library; this query does not print it.")
    attached_gpus: Reading[int] = reading("How many GPUs the tool says there are.")
    timestamp: Reading[str] = reading("The host's local time, as the tool prints it.")
    dtd: Reading[str] = reading("The name in the DOCTYPE; a fact that decides nothing.")
    gpus: tuple[Gpu, ...] = doc("The GPUs.", default=())
    samples: tuple[GpuSample, ...] = doc("One sample a GPU, in the same order.", default=())
    issues: tuple[Issue, ...] = doc("What went wrong beside them.", default=())
    unread: tuple[str, ...] = doc("Element paths that were not consumed.", default=())


@attrs.frozen(kw_only=True)
class QueryRun:
    """One query of a snapshot: whether it answered, and how long it took."""

    argv: tuple[str, ...] = doc("The command line.")
    exit_code: int | None = doc("The exit status; None where the tool was killed.")
    seconds: float = doc("How long it ran.")
    answered: bool = doc("Whether its output could be used.")


@attrs.frozen(kw_only=True)
class Snapshot:
    """A reading of a host's GPUs: only `section` is inventory, and only it is sealed."""

    section: GpuSection = doc("The merged section.")
    samples: tuple[GpuSample, ...] = doc("What the GPUs were doing.", default=())
    issues: tuple[Issue, ...] = doc("What went wrong beside it.", default=())
    queries: tuple[QueryRun, ...] = doc("The queries that ran.", default=())
