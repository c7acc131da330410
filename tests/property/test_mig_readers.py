"""The laws of the readers and joins of `nvidia-smi mig`: total, blind to widths, gaps and order, idempotent."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Any

import attrs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpuinv.errors import ParseError
from gpuinv.smi.join_mig import join_compute_instances, join_gpu_instances, join_mig_profiles
from gpuinv.smi.mig_listings import (
    ComputeInstances,
    GpuInstances,
    ListedComputeInstance,
    ListedGpuInstance,
    ListedMigProfile,
    MigListing,
    MigProfiles,
    MigState,
)
from gpuinv.smi.mig_tables import (
    parse_compute_instance_profiles,
    parse_compute_instances,
    parse_gpu_instances,
    parse_mig_placements,
    parse_mig_profiles,
)
from tests.property.strategies import POOL_UUIDS, fields, of_field, snapshots
from tests.smi.mig_boxes import lci, lcip, lgi, lgip

if TYPE_CHECKING:
    from collections.abc import Callable

    from gpuinv.ids import GpuUuid
    from gpuinv.smi.records import SmiSnapshot

pytestmark = pytest.mark.property

LOST = "Unable to determine the device handle for GPU3: 0000:5F:00.0: GPU is lost.  Reboot\n"
GOOD: dict[Callable[[Any], MigListing], str] = {
    parse_mig_profiles: lgip("0 MIG 1g.5gb 19 7/7 4.75 No 14 0 0 / 1 0 0", "1 MIG 2g.10gb+me 14 3/3 9.62 No 28 1 0")
    + "Failed to display GPU instance profiles: Unknown Error\n",
    parse_gpu_instances: LOST + lgi("0 MIG 1g.5gb 19 7 0:1", "2 MIG 4g.96gb+gfx 32 0 0:12"),
    parse_compute_instances: lci("0 1 MIG 1c.3g.40gb 0 0 0:1", "0 1 MIG 2c.3g.40gb 1 1"),
    parse_mig_placements: "GPU  0 Profile ID 14 Placements: {0,3,6,9}:3\nGPU  0 Profile ID  0 Placement : {0}:12\n",
    parse_compute_instance_profiles: lcip("0 2 MIG 1c.2g.12gb 0 0/2 14 2 0 0 / 2 0", "0 2 MIG 2g.12gb 1* 0/1 28 2 0 0")
    + "No GPU instances found: Not Found\nNo MIG-enabled devices found.\n",
}
READERS = st.sampled_from(list(GOOD))
PIECES = st.one_of(
    st.text(max_size=5),
    st.sampled_from(["|", "+---+", "/", ":", "*", "MIG", "N/A", "\n", "No ", "{}", "\x1b[4m", "9" * 30]),
)

GAPS = st.sampled_from([" ", "  ", "    ", "\t", " \t ", "\xa0 "])
WIDTHS = st.integers(40, 160)
NAMES = st.from_regex(r"\A([1-7]c\.)?[1-7]g\.[0-9]{1,3}gb([+-](me|gfx|me\.all))?\Z")
SMALL = st.integers(0, 40)
COUNTS = st.one_of(SMALL.map(str), st.sampled_from(["N/A", "ERR!", "132", "x"]))


def row(*cells: st.SearchStrategy[Any]) -> st.SearchStrategy[str]:
    return st.tuples(*cells).map(lambda words: " ".join(map(str, words)))


MIG = st.just("MIG")
FREE_TOTAL = st.tuples(SMALL, SMALL).map(lambda pair: f"{pair[0]}/{pair[1]}")
PLACEMENTS = st.one_of(st.tuples(SMALL, SMALL).map(lambda pair: f"{pair[0]}:{pair[1]}"), st.just("N/A"), st.just(""))
GIB = st.decimals(0, 300, places=2)
SECOND = row(st.just("/"), COUNTS, COUNTS, COUNTS)
TABLES: list[tuple[Callable[[Any], MigListing], Callable[..., str], st.SearchStrategy[str]]] = [
    (
        parse_mig_profiles,
        lgip,
        row(SMALL, MIG, NAMES, SMALL, FREE_TOTAL, GIB, COUNTS, *[COUNTS] * 3, st.one_of(SECOND, st.just(""))),
    ),
    (parse_gpu_instances, lgi, row(SMALL, MIG, NAMES, COUNTS, SMALL, PLACEMENTS)),
    (parse_compute_instances, lci, row(SMALL, SMALL, MIG, NAMES, COUNTS, SMALL, PLACEMENTS)),
    (
        parse_compute_instance_profiles,
        lcip,
        row(SMALL, SMALL, MIG, NAMES, st.sampled_from(["0", "1*", "7"]), FREE_TOTAL, *[COUNTS] * 4),
    ),
]


@st.composite
def damaged(draw: st.DrawFn) -> tuple[Callable[[Any], MigListing], str]:
    """A reader with its good text, of which pieces were cut, repeated, or replaced."""
    reader = draw(READERS)
    text = GOOD[reader]
    for _ in range(draw(st.integers(1, 4))):
        start = draw(st.integers(0, len(text)))
        end = draw(st.integers(start, min(len(text), start + 40)))
        text = text[:start] + draw(st.one_of(st.just(text[start:end] * 2), PIECES)) + text[end:]
    return reader, text


def check(reader: Callable[[Any], MigListing], text: str | bytes) -> None:
    with contextlib.suppress(ParseError):
        found = reader(text)
        rows = next(value for value in attrs.astuple(found, recurse=False)[-1:])
        assert bool(rows) is (found.state is MigState.LISTED)
        assert found.complete or found.issues
        assert not (found.cut and found.complete)


@given(READERS, st.one_of(st.text(), st.binary()))
def test_any_text(reader: Callable[[Any], MigListing], text: str | bytes) -> None:
    check(reader, text)


@given(damaged(), st.sampled_from(["", "utf-8", "utf-16", "latin-1"]))
def test_damaged_text(case: tuple[Callable[[Any], MigListing], str], encoding: str) -> None:
    reader, text = case
    check(reader, text.encode(encoding, "replace") if encoding else text)


@given(READERS, READERS)
def test_the_text_of_another_command(reader: Callable[[Any], MigListing], other: Callable[[Any], MigListing]) -> None:
    if reader is other:
        assert reader(GOOD[other]).state is MigState.LISTED
    elif other is not parse_compute_instance_profiles:  # whose text ends with sentences of every command
        with pytest.raises(ParseError):
            reader(GOOD[other])


@pytest.mark.parametrize("table", TABLES)
@given(data=st.data(), width=WIDTHS, gap=GAPS)
def test_neither_widths_nor_gaps_change_the_result(
    table: tuple[Callable[[Any], MigListing], Callable[..., str], st.SearchStrategy[str]],
    data: st.DataObject,
    width: int,
    gap: str,
) -> None:
    reader, draw_box, rows = table
    words = data.draw(st.lists(rows, max_size=5))
    found, other = reader(draw_box(*words)), reader(draw_box(*words, width=width, gap=gap))
    assert attrs.evolve(found, issues=()) == attrs.evolve(other, issues=())
    assert [(issue.kind, issue.place) for issue in found.issues] == [
        (issue.kind, issue.place) for issue in other.issues
    ]


def listings(cls: Any, rows: str, row_type: Any, key: Callable[[Any], object]) -> st.SearchStrategy[Any]:  # noqa: ANN401
    """A listing whose rows are of a few GPUs, each instance or profile once."""
    noun = next(field for field in fields(row_type) if field.name in {"profile", "instance"})
    listed = st.builds(row_type, smi_index=st.integers(0, 5), **{noun.name: of_field(noun)})
    parts = {
        "state": st.sampled_from(MigState),
        "complete": st.booleans(),
        "cut": st.booleans(),
        rows: st.lists(listed, max_size=5, unique_by=lambda row: (row.smi_index, key(getattr(row, noun.name)))).map(
            tuple
        ),
    }
    return st.builds(cls, **parts)


JOINS: dict[str, tuple[Any, st.SearchStrategy[Any]]] = {
    "profiles": (
        join_mig_profiles,
        listings(MigProfiles, "profiles", ListedMigProfile, lambda it: (it.mig_profile_id, it.mig_profile)),
    ),
    "gpu_instances": (
        join_gpu_instances,
        listings(GpuInstances, "instances", ListedGpuInstance, lambda it: it.gpu_instance_id),
    ),
    "compute_instances": (
        join_compute_instances,
        listings(
            ComputeInstances,
            "instances",
            ListedComputeInstance,
            lambda it: (it.gpu_instance_id, it.compute_instance_id),
        ),
    ),
}


@st.composite
def cases(draw: st.DrawFn, *names: str) -> tuple[SmiSnapshot, dict[int, GpuUuid], list[tuple[Any, Any]]]:
    """A snapshot, the UUIDs of the indices, and joins with a listing for each."""
    indices = st.dictionaries(st.integers(0, 5), st.sampled_from(POOL_UUIDS))
    by_index = {uuid: index for index, uuid in draw(indices).items()}
    joins = [(JOINS[name][0], draw(JOINS[name][1])) for name in names]
    return draw(snapshots()), {index: uuid for uuid, index in by_index.items()}, joins


@pytest.mark.parametrize("name", JOINS)
@given(data=st.data())
def test_a_join_is_idempotent_and_blind_to_the_order_of_rows(name: str, data: st.DataObject) -> None:
    snapshot, by_index, ((join, listing),) = data.draw(cases(name))
    once = join(snapshot, listing, by_index)
    assert join(once, listing, by_index) == once
    rows = fields(type(listing))[-1].name
    shuffled = attrs.evolve(listing, **{rows: tuple(data.draw(st.permutations(getattr(listing, rows))))})
    assert join(snapshot, shuffled, by_index) == once


@given(cases(*JOINS), st.randoms(use_true_random=False))
def test_the_joins_can_come_in_any_order(case: Any, random: Any) -> None:  # noqa: ANN401
    snapshot, by_index, joins = case
    one = other = snapshot
    for join, listing in joins:
        one = join(one, listing, by_index)
    random.shuffle(joins)
    for join, listing in joins:
        other = join(other, listing, by_index)
    assert one.gpus == other.gpus
    assert set(one.issues) == set(other.issues)
    unchanged = {"mig_profiles": None, "gpu_instances": None, "mig_instances": None}
    for before, after in zip(snapshot.gpus, one.gpus, strict=True):
        assert attrs.evolve(before, **unchanged) == attrs.evolve(after, **unchanged)
