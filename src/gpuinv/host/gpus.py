"""Reading the GPUs of a host from all its layers, merged."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpuinv.errors import Issue, IssueKind, NoDriverError
from gpuinv.host.procfs import read_procfs
from gpuinv.host.smi import read_smi
from gpuinv.sections.enrich import disagreements, enrich
from gpuinv.smi.records import Snapshot

if TYPE_CHECKING:
    from gpuinv.host.ports import Host

__all__ = ["read_gpus", "read_procfs", "read_smi"]


def read_gpus(host: Host) -> Snapshot:
    """Read the GPUs of a host from both layers: procfs and sysfs, then nvidia-smi, merged.

    A host without nvidia-smi gives what procfs and sysfs know, in a section whose layers say so. What went wrong beside
    the result (a file, an optional query, one GPU) is in `issues`.

    Raises:
        NoDriverError: there is no nvidia-smi, and procfs and sysfs know nothing either.
        SmiError: nvidia-smi is there and did not answer. No section is better than one without its GPUs.
    """
    base, issues = read_procfs(host.tree)
    try:
        snapshot, queries = read_smi(host.smi)
    except NoDriverError as error:
        if not base.layers:
            raise
        issue = Issue(kind=IssueKind.NO_DRIVER, source="PATH", message=str(error))
        return Snapshot(section=base, issues=(*issues, issue))
    return Snapshot(
        section=enrich(base, snapshot),
        samples=snapshot.samples,
        issues=(*issues, *snapshot.issues, *disagreements(base, snapshot)),
        queries=queries,
    )
