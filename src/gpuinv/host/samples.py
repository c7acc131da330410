"""Sampling what the GPUs of a host are doing, as cheaply as the driver allows."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import attrs

from gpuinv.errors import GpuInvError, Issue, ParseError, SmiError
from gpuinv.host.smi import SmiReader
from gpuinv.inventory import GpuSample
from gpuinv.inventory._fields import doc
from gpuinv.smi.compute_apps import COMPUTE_APPS, parse_compute_apps
from gpuinv.smi.records import QueryRun
from gpuinv.smi.samples import SAMPLE, SampleFallback, Samples, join_compute_apps, parse_samples, sample_fallback

if TYPE_CHECKING:
    from collections.abc import Callable

    from gpuinv.host.ports import SmiRunner

__all__ = ["GpuSamples", "read_samples"]


@attrs.frozen(kw_only=True)
class GpuSamples:
    """What the GPUs of a host were doing at one moment."""

    samples: tuple[GpuSample, ...] = doc("One sample for each GPU that answered, in the tool's order.")
    fallback: SampleFallback | None = doc("Why the full report was read in place of the CSV queries.", default=None)
    issues: tuple[Issue, ...] = doc("What went wrong beside the samples.", default=())
    queries: tuple[QueryRun, ...] = doc("The queries that ran.", default=())


def read_samples(smi: SmiRunner, *, clock: Callable[[], float] = time.monotonic) -> GpuSamples:
    """Sample the GPUs with two CSV queries; with the full report where those cannot tell, as `fallback` says.

    Each query runs for at most 30 s, all for 60 s. `clock` gives seconds that only grow.

    Raises:
        NoDriverError: the host has no nvidia-smi.
        SmiError: nvidia-smi did not answer.
    """
    reader = SmiReader(smi, clock)
    answer: Samples | GpuInvError
    try:
        answer = _csv(reader)
    except (ParseError, SmiError) as error:
        answer = error
    fallback = sample_fallback(answer)
    if fallback is not None:
        snapshot = reader.full()
        samples, issues = snapshot.samples, snapshot.issues
    elif isinstance(answer, Samples):
        samples, issues = answer.samples, answer.issues
    else:
        raise answer
    return GpuSamples(
        samples=samples, fallback=fallback, issues=(*issues, *reader.issues), queries=tuple(reader.queries)
    )


def _csv(reader: SmiReader) -> Samples:
    """Both queries; the second is not run where a GPU is in MIG mode, since the full report is needed then.

    Nor is it where there is no sample to join it to.
    """
    samples = reader.one(SAMPLE, parse_samples)
    if samples.mig_enabled or not samples.samples:
        return samples
    return join_compute_apps(samples, reader.one(COMPUTE_APPS, parse_compute_apps))
