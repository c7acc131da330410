"""What gpuinv makes of the machine that this runs on. Without nvidia-smi each test is skipped, and says so."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import attrs
import pytest

from gpuinv.errors import IssueKind
from gpuinv.host import LocalHost
from gpuinv.host.gpus import read_gpus, read_smi
from gpuinv.host.local import find_smi
from gpuinv.host.samples import read_samples
from gpuinv.host.smi import SmiReader
from gpuinv.readings import Missing
from gpuinv.sections.seal import seal, verify
from gpuinv.smi.samples import comparable

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gpuinv.inventory import GpuSample

pytestmark = pytest.mark.live

STEADY = ("uuid", "fb_memory.total_mib", "power.current_power_limit_mw")
"""What does not move from one query to the next."""


@pytest.fixture(scope="module")
def host() -> LocalHost:
    if find_smi() is None:
        pytest.skip("no nvidia-smi on this machine: nothing to read")
    return LocalHost()


def test_every_value_of_the_snapshot_has_a_known_form(host: LocalHost, capsys: pytest.CaptureFixture[str]) -> None:
    snapshot, queries = read_smi(host.smi)
    with capsys.disabled():
        sys.stdout.write(f"\ndriver {snapshot.driver_version}, {len(snapshot.gpus)} GPUs, {snapshot.dtd}\n")
        sys.stdout.writelines(f"query: {' '.join(run.argv)}: exit {run.exit_code}\n" for run in queries)
        sys.stdout.writelines(f"issue: {issue.kind.value}: {issue}\n" for issue in snapshot.issues)
        sys.stdout.writelines(f"unread: {path}\n" for path in snapshot.unread)
    assert [str(issue) for issue in snapshot.issues if issue.kind is IssueKind.BAD_VALUE] == []
    assert snapshot.attached_gpus == len(snapshot.gpus)


def test_the_section_is_sealed_and_verified(host: LocalHost) -> None:
    section = read_gpus(host).section
    sealed = seal(section)
    assert seal(verify("gpus", sealed.content, sealed.sha256)) == sealed


def test_both_ways_of_sampling_agree(host: LocalHost) -> None:
    """What moves may differ; whether it is known, and the reason where it is not, may not."""
    brief = read_samples(host.smi)
    if brief.fallback is not None:
        pytest.skip(f"the CSV queries cannot tell on this machine: {brief.fallback.value}")
    full = SmiReader(host.smi).full()
    assert [outline(sample) for sample in brief.samples] == [outline(comparable(each)) for each in full.samples]


def outline(sample: GpuSample) -> dict[str, object]:
    """The steady values; of the others, whether they are known."""
    return {path: value if path in STEADY or isinstance(value, Missing) else "known" for path, value in leaves(sample)}


def leaves(record: Any, path: str = "") -> Iterator[tuple[str, object]]:  # noqa: ANN401 - any record
    for field in attrs.fields(type(record)):
        value = getattr(record, field.name)
        if attrs.has(type(value)) and field.name != "pci_bus_id":
            yield from leaves(value, f"{path}{field.name}.")
        else:
            yield f"{path}{field.name}", value
