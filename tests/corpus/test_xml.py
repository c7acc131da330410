"""Every captured `nvidia-smi -q -x`, against a naive reading with regular expressions that shares nothing with ours."""

from __future__ import annotations

import re
from decimal import Decimal
from typing import TYPE_CHECKING

import attrs
import pytest

from gpuinv.errors import Issue, IssueKind, ParseError
from gpuinv.ids import GpuUuid, PciBusId
from gpuinv.readings import COUNTS_AS_FAULT, Missing, known_or
from gpuinv.smi.query_xml import parse_smi_xml
from tests.corpus import naive_reader
from tests.corpus.unread import UNREAD_BY_CHOICE

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from gpuinv.inventory import Gpu
    from gpuinv.smi.records import SmiSnapshot

pytestmark = pytest.mark.corpus

# By the number of the capture: why it is refused, and where.
REFUSED = {
    43: "line 8, column 17",  # quotes with backslashes, left by the shell script that it was cut out of
}

# By the number of the capture: its issues as (kind, place, text). A capture that is not here has none.
ISSUES: dict[int, list[tuple[IssueKind, str, str]]] = {
    # a hand put a fraction where the tool prints whole per cents
    5: [(IssueKind.BAD_VALUE, "gpu[1]/utilization/gpu_util", "10.3 %")],
    # a hand kept one GPU of four
    41: [(IssueKind.COUNT_MISMATCH, "attached_gpus", "4")],
    # UUIDs were numbered anew from zero by who published these, so that the first of each is the one of no GPU
    57: [(IssueKind.NO_UUID, "gpu[0]/uuid", "GPU-00000000-0000-0000-0000-000000000000")],
    59: [(IssueKind.NO_UUID, "gpu[0]/uuid", "GPU-00000000-0000-0000-0000-000000000000")],
    69: [(IssueKind.NO_UUID, "gpu[0]/uuid", "GPU-00000000-0000-0000-0000-000000000000")],
}

# The captures that this table was written from. Others are judged by `excused`.
KNOWN = frozenset(range(1, 70, 2))

MASKED = re.compile(r"(GPU-)?[xX*?0.-]*|\[?REDACTED\]?|N/A")


def excused(issue: Issue, number: int) -> str:
    """Why a capture that this table does not know may have an issue; nothing where it is a finding."""
    text = issue.text
    if issue.kind is IssueKind.NO_UUID and MASKED.fullmatch(text):
        return "the UUID was masked by who published the capture"
    if issue.kind is IssueKind.DUPLICATE_UUID and issue.uuid and len(set(issue.uuid.removeprefix("GPU-"))) <= 6:
        return "the UUIDs were masked with one letter or one pattern"
    if issue.kind is IssueKind.READ_ERROR and text == "[REDACTED]":
        return "the value was masked by who published the capture"
    if issue.kind is IssueKind.COUNT_MISMATCH:
        return {12: "a hand kept one of its GPUs"}.get(number, "")
    if issue.kind is IssueKind.GPU_LOST and text == "GPU is lost":
        return {54: "the tool ran over a mock of a lost GPU"}.get(number, "")
    return ""


def captures(corpus: Path) -> Iterator[tuple[int, bytes]]:
    for path in sorted((corpus / "xml").glob("*.xml")):
        yield int(path.name[:3]), path.read_bytes()


def snapshots(corpus: Path) -> Iterator[tuple[int, bytes, SmiSnapshot]]:
    for number, data in captures(corpus):
        if number not in REFUSED:
            yield number, data, parse_smi_xml(data)


def test_the_captures_are_there(corpus: Path) -> None:
    assert len(list(captures(corpus))) > 20


def test_a_refused_capture_says_where_it_is_broken(corpus: Path) -> None:
    for number, data in captures(corpus):
        if number in REFUSED:
            with pytest.raises(ParseError, match="not well-formed") as caught:
                parse_smi_xml(data)
            assert caught.value.place == REFUSED[number]
            assert caught.value.text == '<gpu id=\\"00000000:10:00.0\\">'


def test_every_gpu_reads_as_the_naive_reader_has_it(corpus: Path) -> None:
    findings = []
    for number, data, snapshot in snapshots(corpus):
        naive = naive_reader.read(data)
        assert len(snapshot.gpus) == len(naive), number
        for gpu, other in zip(snapshot.gpus, naive, strict=True):
            ours, theirs = our_facts(gpu), their_facts(other)
            differ = [key for key in ours if not agree(key, ours[key], theirs[key])]
            findings += [(number, gpu.gpu_index, key, ours[key], theirs[key]) for key in differ]
    assert findings == []


def agree(key: str, ours: object, theirs: object) -> bool:
    """Whether the two readers say the same; the naive one has None for whatever is no value.

    It adds up the counters that it knows, also where another one could not be read: to us such a sum of zeros is
    unknown.
    """
    if not isinstance(ours, Missing):
        return ours == theirs
    return theirs is None or (theirs == 0 and key.startswith("ecc_") and ours in COUNTS_AS_FAULT)


def our_facts(gpu: Gpu) -> dict[str, object]:
    volatile, aggregate, rows = gpu.ecc_errors.volatile, gpu.ecc_errors.aggregate, gpu.remapped_rows
    limits, instances = gpu.power_limits, known_or(gpu.mig_instances, ())
    return {
        "bus_id": gpu.pci_bus_id,
        "uuid": gpu.uuid,
        "product_name": gpu.product_name,
        "serial": gpu.serial,
        "vbios": gpu.vbios_version,
        "fb_total_mib": gpu.fb_total_mib,
        "ecc_volatile_corrected": volatile.corrected_total,
        "ecc_volatile_uncorrected": volatile.uncorrected_total,
        "ecc_aggregate_corrected": aggregate.corrected_total,
        "ecc_aggregate_uncorrected": aggregate.uncorrected_total,
        "remapped_row_corr": rows.remapped_row_corr,
        "remapped_row_unc": rows.remapped_row_unc,
        "row_remap_pending": rows.row_remap_pending,
        "row_remap_failure": rows.row_remap_failure,
        "mig_mode": gpu.mig_mode.current_mig,
        "mig_devices": tuple((mig.gpu_instance_id, mig.compute_instance_id) for mig in instances),
        "power_limit": limits.current_power_limit_mw,
        "power_default": limits.default_power_limit_mw,
        "power_min": limits.min_power_limit_mw,
        "power_max": limits.max_power_limit_mw,
        "recovery_action": gpu.gpu_recovery_action,
    }


def their_facts(gpu: naive_reader.NaiveGpu) -> dict[str, object]:
    """What the naive reader found, spelled as we spell it: it keeps the tool's text."""
    return {
        "bus_id": PciBusId.parse(gpu.bus_id),  # ours are addresses, not one of their spellings
        "uuid": usable(gpu.uuid),
        "product_name": gpu.product_name,
        "serial": unmasked(gpu.serial),
        "vbios": gpu.vbios and gpu.vbios.upper(),  # drivers differ in the case of its digits, ours has one
        "fb_total_mib": gpu.fb_total_mib,
        "ecc_volatile_corrected": gpu.ecc_volatile[0],
        "ecc_volatile_uncorrected": gpu.ecc_volatile[1],
        "ecc_aggregate_corrected": gpu.ecc_aggregate[0],
        "ecc_aggregate_uncorrected": gpu.ecc_aggregate[1],
        "remapped_row_corr": gpu.remap[0],
        "remapped_row_unc": gpu.remap[1],
        "row_remap_pending": gpu.remap[2],
        "row_remap_failure": gpu.remap[3],
        "mig_mode": {"Enabled": True, "Disabled": False}.get(gpu.mig_mode or ""),
        "mig_devices": gpu.mig_devices,
        "power_limit": milliwatts(gpu.power_limit),  # ours are integers of mW
        "power_default": milliwatts(gpu.power_default),
        "power_min": milliwatts(gpu.power_min),
        "power_max": milliwatts(gpu.power_max),
        "recovery_action": gpu.recovery_action,
    }


def usable(uuid: str | None) -> str | None:
    """A UUID that identifies a GPU: one that was masked (all zero, or no UUID at all) does not, and is none to us."""
    try:
        return GpuUuid.parse(uuid or "")
    except ParseError:
        return None


def unmasked(text: str | None) -> str | None:
    """A text in square brackets is no value to us, whatever it says; the naive reader knows a few of them only."""
    return None if text is not None and text.startswith("[") and text.endswith("]") else text


def milliwatts(watts: str | None) -> int | None:
    return None if watts is None else int(Decimal(watts) * 1000)


def test_the_issues_are_those_that_are_explained(corpus: Path) -> None:
    for number, _, snapshot in snapshots(corpus):
        found = [(issue.kind, issue.place, issue.text) for issue in snapshot.issues]
        if number in KNOWN:
            assert found == ISSUES.get(number, []), number
        else:
            assert [issue for issue in snapshot.issues if not excused(issue, number)] == [], number


def test_what_is_left_unread_is_left_by_choice(corpus: Path) -> None:
    found: set[str] = set()
    numbers = set()
    for number, _, snapshot in snapshots(corpus):
        numbers.add(number)
        found.update(snapshot.unread)
    assert found - set(UNREAD_BY_CHOICE) == set()
    if numbers >= KNOWN - set(REFUSED):
        assert found == set(UNREAD_BY_CHOICE)


def test_no_sentence_of_the_tool_became_a_value(corpus: Path) -> None:
    sentences = {"N/A", "GPU is lost", "Requested functionality has been deprecated", "Insufficient Permissions", ""}
    for number, _, snapshot in snapshots(corpus):
        for gpu, sample in zip(snapshot.gpus, snapshot.samples, strict=True):
            values = {*leaves(attrs.asdict(gpu)), *leaves(attrs.asdict(sample))}
            assert not sentences & values, number


def leaves(tree: object) -> Iterator[object]:
    """Every value of a record, of those below it and of their lists."""
    if isinstance(tree, dict):
        for child in tree.values():
            yield from leaves(child)
    elif isinstance(tree, (list, tuple)):
        for child in tree:
            yield from leaves(child)
    else:
        yield tree
