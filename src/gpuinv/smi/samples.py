"""Samples from two CSV queries, which cost the driver far less than a full snapshot.

Both ways give equal samples for one state; `comparable` leaves of a sample what this one knows. The caller asks
`sample_fallback` whether an answer that is no sample means that the full snapshot is needed in its place.
"""

from __future__ import annotations

import enum
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import attrs

from gpuinv.errors import GpuInvError, Issue, NoDriverError, SmiError
from gpuinv.inventory import GpuSample
from gpuinv.inventory._fields import doc
from gpuinv.inventory.sample import Clocks, MemoryUsage, PowerReadings, Temperature, Utilization
from gpuinv.readings import Missing, Reading, is_known
from gpuinv.smi._csv import RefusedField, WrongColumns
from gpuinv.smi.queries import Query
from gpuinv.smi.query_gpu import query_columns, read_query
from gpuinv.smi.sentences import refused_field
from gpuinv.text import lines

if TYPE_CHECKING:
    from gpuinv.smi.compute_apps import ComputeApps

__all__ = [
    "SAMPLE",
    "SAMPLE_FIELDS",
    "SampleFallback",
    "Samples",
    "comparable",
    "join_compute_apps",
    "parse_samples",
    "sample_fallback",
]

SAMPLE_FIELDS = (
    "uuid",
    "memory.total",
    "memory.used",
    "memory.reserved",
    "memory.free",
    "utilization.gpu",
    "utilization.memory",
    "temperature.gpu",
    "power.draw",
    "power.limit",
    "clocks.sm",
    "clocks.mem",
    "pstate",
    "mig.mode.current",
)
"""The fields of the query, in its order."""

SAMPLE = Query((f"--query-gpu={','.join(SAMPLE_FIELDS)}", "--format=csv,noheader,nounits"))
"""The query. `parse_samples` reads its answer with header and units too."""

_COLUMNS = query_columns(SAMPLE_FIELDS)


@attrs.frozen(kw_only=True)
class Samples:
    """One sample for each GPU that answered, in the tool's order."""

    samples: tuple[GpuSample, ...] = doc("The samples.", default=())
    mig_modes: tuple[Reading[bool], ...] = doc("Whether MIG is on, for each of them.", default=())
    unopened: int = doc("GPUs that the tool could not open; they have no sample.", default=0)
    issues: tuple[Issue, ...] = doc("GPUs that could not be opened, and values that could not be read.", default=())

    @property
    def mig_enabled(self) -> bool:
        """Whether a GPU is in MIG mode. The memory of MIG devices is in the full snapshot only."""
        return any(mode is True for mode in self.mig_modes)


class SampleFallback(enum.Enum):
    """Why the full snapshot is needed in place of the CSV queries."""

    MIG_MODE = "mig_mode"
    """A GPU is in MIG mode."""
    REFUSED_FIELD = "refused_field"
    """The driver is older than a field of the query (`memory.reserved` came with R510)."""
    WRONG_COLUMNS = "wrong_columns"
    """A line has another number of columns."""


def parse_samples(text: str | bytes) -> Samples:
    """Read the answer of `SAMPLE`, with or without header and units.

    `power.draw` is what the tool chose of average and instant draw; it stands in `power.legacy_power_draw_mw`, the
    field for a draw that does not say which it is, so that `power.power_draw_mw` gives the same value for both ways of
    sampling. `power.limit` is `power.requested_power_limit_mw`. What the query does not ask for is ABSENT, the
    count of processes too: `join_compute_apps` adds it.

    Raises:
        RefusedField: the driver does not know a field.
        WrongColumns: a line has another number of columns, so that no line is trusted.
        ParseError: there is no answer at all.
    """
    rows, values = read_query(text, _COLUMNS, source=SAMPLE.source)
    return Samples(
        samples=tuple(map(_sample, values)),
        mig_modes=tuple(row[-1] for row in values),
        unopened=rows.unopened,
        issues=tuple(rows.issues),
    )


def _sample(row: list[Reading[Any]]) -> GpuSample:
    uuid, total, used, reserved, free, gpu, memory, temperature, draw, limit, sm_clock, mem_clock, pstate, _ = row
    return GpuSample(
        uuid=uuid,
        fb_memory=MemoryUsage(total_mib=total, reserved_mib=reserved, used_mib=used, free_mib=free),
        utilization=_utilization(gpu, memory),
        temperature=_temperature(temperature),
        power=PowerReadings(legacy_power_draw_mw=draw, requested_power_limit_mw=limit),
        clocks=_clocks(sm_clock, mem_clock),
        performance_state=pstate,
    )


# These records have many fields and few values, so that GPUs share them; building them is half of the work.


@lru_cache(maxsize=2048)
def _utilization(gpu: Reading[int], memory: Reading[int]) -> Utilization:
    return Utilization(gpu_util_percent=gpu, memory_util_percent=memory)


@lru_cache(maxsize=256)
def _temperature(gpu: Reading[int]) -> Temperature:
    return Temperature(gpu_temp_c=gpu)


@lru_cache(maxsize=256)
def _clocks(sm_clock: Reading[int], mem_clock: Reading[int]) -> Clocks:
    return Clocks(sm_clock_mhz=sm_clock, mem_clock_mhz=mem_clock)


def join_compute_apps(samples: Samples, apps: ComputeApps) -> Samples:
    """Give each sample its count of compute processes, by UUID; a GPU that is not listed has none.

    The count is NOT_AVAILABLE where it may be too low: a sample without a UUID; all of them, where the line of a
    process names no GPU; those not listed, where the second query could open fewer GPUs than the first.
    """
    counts: dict[Any, Reading[int]] = dict(apps.by_uuid)
    unlisted: Reading[int] = Missing.NOT_AVAILABLE if apps.unopened > samples.unopened else 0
    joined = []
    for sample in samples.samples:
        unknown = apps.unattributed or not is_known(sample.uuid)
        count = Missing.NOT_AVAILABLE if unknown else counts.get(sample.uuid, unlisted)
        joined.append(attrs.evolve(sample, compute_app_count=count))
    return attrs.evolve(samples, samples=tuple(joined), issues=samples.issues + apps.issues)


def sample_fallback(answer: Samples | GpuInvError) -> SampleFallback | None:
    """Say whether the full snapshot is needed, from what the queries gave: samples, or the error of either of them.

    None for samples that stand, and for every other error, which the caller raises: a host without nvidia-smi has no
    snapshot either.
    """
    if isinstance(answer, Samples):
        return SampleFallback.MIG_MODE if answer.mig_enabled else None
    if isinstance(answer, WrongColumns):
        return SampleFallback.WRONG_COLUMNS
    if isinstance(answer, RefusedField) or _refused(answer):
        return SampleFallback.REFUSED_FIELD
    return None


def _refused(error: GpuInvError) -> bool:
    """Whether a run failed since the driver does not know a field; the exit code differs from driver to driver."""
    if not isinstance(error, SmiError) or isinstance(error, NoDriverError):
        return False
    printed = lines(error.output, source=SAMPLE.source, limit=len(error.output))
    return any(refused_field(line) is not None for line in printed)


def comparable(sample: GpuSample) -> GpuSample:
    """What the CSV queries know of a sample, in the form that they give it: equal for both ways of sampling."""
    return GpuSample(
        uuid=sample.uuid,
        fb_memory=sample.fb_memory,
        utilization=_utilization(sample.utilization.gpu_util_percent, sample.utilization.memory_util_percent),
        temperature=_temperature(sample.temperature.gpu_temp_c),
        power=PowerReadings(
            legacy_power_draw_mw=sample.power.power_draw_mw,
            requested_power_limit_mw=sample.power.requested_power_limit_mw,
        ),
        clocks=_clocks(sample.clocks.sm_clock_mhz, sample.clocks.mem_clock_mhz),
        performance_state=sample.performance_state,
        compute_app_count=sample.compute_process_count,
    )
