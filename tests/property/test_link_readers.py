"""The readers of `topo -m` and of `nvlink`, and what they add to a snapshot."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Any

import attrs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpuinv.errors import ParseError
from gpuinv.ids import PciBusId
from gpuinv.readings import Missing, known_or
from gpuinv.smi.join_links import join_nvlinks, join_topology, smi_indices
from gpuinv.smi.nvlink import (
    GpuLinkRemotes,
    GpuLinks,
    LinkRemote,
    LinkStatus,
    NvlinkRemotes,
    NvlinkState,
    NvlinkStatus,
    parse_nvlink_errors,
    parse_nvlink_remote,
    parse_nvlink_status,
)
from gpuinv.smi.topology import Connection, LabelKind, Topology, TopologyCell, parse_topology
from tests.property.strategies import POOL_BUSES, POOL_UUIDS, smi_lists, snapshots

if TYPE_CHECKING:
    from collections.abc import Callable

    from gpuinv.smi.gpu_list import SmiList
    from gpuinv.smi.records import SmiSnapshot

pytestmark = pytest.mark.property

UUID = "GPU-6b0d4c11-7e52-43aa-9f10-2a3b4c5d6e7f"
LOST = "Unable to determine the device handle for GPU3: 0000:5F:00.0: GPU is lost.  Reboot\n"
GPU = f"GPU 0: NVIDIA H200 (UUID: {UUID})\n"
SENTENCES = (
    "NVML: Unable to retrieve NVLink information as all links are inActive\n"
    f"{GPU}Device does not have or support Nvlink\n{GPU}Nvlink queries are not supported for Devices in MIG mode\n"
)
MATRIX = (
    "\t\x1b[4mGPU0\tGPU10\tNIC0\tmlx5_1\tCPU Affinity\tNUMA Affinity\tGPU NUMA ID\x1b[0m\n"
    "GPU0\t X \tNV18\tPXB\tSYS\t0-31,64-95\t0-1\t\tN/A\nGPU10\tNV18\t X \tSYS\tPIX\t\t1\t\t9\n"
    "NIC0\tPXB\tSYS\t X \tNODE\t\t\t\t\nmlx5_1\tSYS\tPIX\tNODE\t X \n\nLegend:\n\n  X    = Self\n\n  NIC0: mlx5_0\n"
)
GOOD: dict[Callable[[Any], Any], str] = {
    parse_topology: MATRIX + LOST,
    parse_nvlink_status: f"{GPU}\t Link 0: 26.562 GB/s\n\t Link 1: <inactive>\n{LOST}{GPU}{SENTENCES}",
    parse_nvlink_remote: f"{GPU}\t Link 0: Remote Device 00000000:C5:00.0: Link 35\n{LOST}{GPU}{SENTENCES}",
    parse_nvlink_errors: f"{GPU}\t Link 0: CRC Errors: 0\n\t Link 0: Effective BER: 1.5e-254\n{LOST}{GPU}{SENTENCES}",
}
READERS = st.sampled_from(list(GOOD))
PIECES = st.one_of(
    st.text(max_size=5),
    st.sampled_from(
        ["\t", "  ", " X ", "NV4", "GPU10", "NUMA Affinity", "\n", "N/A", "9" * 30, ": ", "Link 0: ", "OK"]
    ),
)


@st.composite
def damaged(draw: st.DrawFn) -> tuple[Callable[[Any], Any], str]:
    """A reader with its good text, or another's, of which pieces were cut, repeated, or replaced."""
    reader = draw(READERS)
    text = GOOD[draw(READERS)] if draw(st.integers(0, 5)) == 0 else GOOD[reader]
    for _ in range(draw(st.integers(1, 4))):
        start = draw(st.integers(0, len(text)))
        end = draw(st.integers(start, min(len(text), start + 30)))
        text = text[:start] + draw(st.one_of(st.just(text[start:end] * 2), PIECES)) + text[end:]
    return reader, text


@given(READERS, st.one_of(st.text(), st.binary()))
def test_any_text(reader: Callable[[Any], Any], text: str | bytes) -> None:
    with contextlib.suppress(ParseError):
        reader(text)


@given(damaged(), st.booleans())
def test_damaged_text(case: tuple[Callable[[Any], Any], str], as_blanks: bool) -> None:  # noqa: FBT001 - drawn
    reader, text = case
    with contextlib.suppress(ParseError):
        found = reader(text.expandtabs() if as_blanks else text)
        assert reader(text.expandtabs() if as_blanks else text) == found
        hash(found)


@given(damaged(), st.sampled_from(["utf-8", "utf-16", "latin-1"]))
def test_damaged_text_in_bytes(case: tuple[Callable[[Any], Any], str], encoding: str) -> None:
    reader, text = case
    with contextlib.suppress(ParseError):
        reader(text.encode(encoding, "replace"))


CONNECTIONS = st.sampled_from(["SYS", "NODE", "PHB", "PXB", "PIX", "SOC", "NV1", "NV18"])
AFFINITIES = st.sampled_from(["", "N/A", "0-15", "0,2,4,6,8,10", "0-31,64-95"])
NODES = st.sampled_from(["", "N/A", "0", "0-1", "7"])


@st.composite
def matrices(draw: st.DrawFn) -> tuple[str, list[str], str]:
    """A header, the rows and the legend of a symmetric matrix as the tool prints it."""
    gpus = draw(st.lists(st.integers(0, 127), min_size=1, max_size=6, unique=True).map(sorted))
    nics = draw(st.integers(0, 3))
    labels = [f"GPU{index}" for index in gpus] + [f"NIC{index}" for index in range(nics)]
    cells = {frozenset(pair): draw(CONNECTIONS) for a, pair in _pairs(labels)}
    rows = []
    for label in labels:
        row = [label, *(" X " if other == label else cells[frozenset((label, other))] for other in labels)]
        tail = [draw(AFFINITIES), draw(NODES), "", draw(st.sampled_from(["N/A", "9"]))]
        rows.append("\t".join(row + (tail if label.startswith("GPU") else [""] * 4)))
    header = "\t".join(["", *labels, "CPU Affinity", "NUMA Affinity", "GPU NUMA ID"])
    legend = "\nLegend:\n\n  X    = Self\n" + "".join(f"  NIC{index}: mlx5_{index}\n" for index in range(nics))
    return header, rows, legend


def _pairs(labels: list[str]) -> list[tuple[str, tuple[str, str]]]:
    return [(a, (a, b)) for position, a in enumerate(labels) for b in labels[:position]]


@given(matrices(), st.randoms(use_true_random=False))
def test_rows_in_any_order(case: tuple[str, list[str], str], random: Any) -> None:  # noqa: ANN401 - hypothesis's own
    header, rows, legend = case
    shuffled = list(rows)
    random.shuffle(shuffled)
    found = parse_topology("\n".join([header, *rows, legend]))
    assert parse_topology("\n".join([header, *shuffled, legend])) == found
    assert found.issues == ()
    assert len(found.rows) == len(rows)


@given(matrices())
def test_blanks_say_what_tabs_say(case: tuple[str, list[str], str]) -> None:
    header, rows, legend = case
    text = "\n".join([header, *rows, legend])
    assert parse_topology(text.expandtabs()) == parse_topology(text)


@given(matrices())
def test_every_cell_is_as_printed(case: tuple[str, list[str], str]) -> None:
    header, rows, legend = case
    found = parse_topology("\n".join([header, *rows, legend]))
    printed = [[cell.strip() for cell in row.split("\t")] for row in rows]
    assert [[row.label, *(_shown(cell) for _, cell in row.cells)] for row in found.rows] == [
        row[: len(found.labels) + 1] for row in printed
    ]
    for label in found.labels:
        if label.kind is LabelKind.GPU:
            count = sum(
                row[0] == label.label and cell.startswith("NV") and other.kind is LabelKind.GPU
                for row in printed
                for other, cell in zip(found.labels, row[1:], strict=False)
            )
            assert found.nvlink_peer_count(label.label) == count


def _shown(cell: TopologyCell) -> str:
    return f"NV{cell.nvlink_count}" if cell.kind is Connection.NV else cell.kind.value


STATES = st.one_of(st.sampled_from(NvlinkState), st.sampled_from(Missing))
UUIDS = st.one_of(st.sampled_from(POOL_UUIDS), st.sampled_from(Missing))
NUMBERS = st.one_of(st.integers(0, 35), st.sampled_from(Missing))
BUSES = st.one_of(
    st.none(), st.sampled_from(POOL_BUSES), st.builds(PciBusId, st.just(5), st.integers(0, 255), st.just(0))
)
STATUSES = st.builds(
    NvlinkStatus,
    gpus=st.lists(
        st.builds(
            GpuLinks,
            smi_index=st.integers(0, 9),
            uuid=UUIDS,
            state=STATES,
            links=st.lists(
                st.builds(LinkStatus, link=st.integers(0, 17), up=st.one_of(st.booleans(), st.sampled_from(Missing))),
                max_size=4,
            ).map(tuple),
        ),
        max_size=4,
    ).map(tuple),
)
REMOTES = st.builds(
    NvlinkRemotes,
    gpus=st.lists(
        st.builds(
            GpuLinkRemotes,
            smi_index=st.integers(0, 9),
            uuid=UUIDS,
            state=STATES,
            links=st.lists(
                st.builds(LinkRemote, link=st.integers(0, 17), remote=BUSES, remote_link=NUMBERS), max_size=4
            ).map(tuple),
        ),
        max_size=4,
    ).map(tuple),
)
TOPOLOGIES = matrices().map(lambda case: parse_topology("\n".join([case[0], *case[1], case[2]])))


@given(snapshots(), st.one_of(st.none(), STATUSES), st.one_of(st.none(), REMOTES))
def test_joining_nvlinks_again_changes_nothing(
    snapshot: SmiSnapshot, status: NvlinkStatus | None, remotes: NvlinkRemotes | None
) -> None:
    joined = join_nvlinks(snapshot, status, remotes)
    assert join_nvlinks(joined, status, remotes) == joined
    assert [attrs.evolve(gpu, nvlinks=Missing.ABSENT) for gpu in joined.gpus] == [
        attrs.evolve(gpu, nvlinks=Missing.ABSENT) for gpu in snapshot.gpus
    ]


@given(snapshots(), TOPOLOGIES, st.one_of(st.none(), smi_lists()), st.booleans())
def test_joining_a_matrix_again_changes_nothing(
    snapshot: SmiSnapshot,
    topology: Topology,
    listed: SmiList | None,
    whole: bool,  # noqa: FBT001 - drawn
) -> None:
    attached = len(snapshot.gpus) if whole else Missing.ABSENT
    before = attrs.evolve(snapshot, attached_gpus=attached)
    joined = join_topology(before, topology, smi_indices(before, listed))
    assert join_topology(joined, topology, smi_indices(joined, listed)) == joined
    for gpu, earlier in zip(joined.gpus, before.gpus, strict=True):
        assert (gpu.uuid, gpu.numa_node) == (earlier.uuid, earlier.numa_node)
        if gpu.topology != earlier.topology:
            # a matrix that lacks a GPU of the list is of another moment
            assert gpu.topology is Missing.NOT_AVAILABLE or not isinstance(gpu.topology, Missing)
            assert gpu.uuid not in {peer.peer for peer in known_or(gpu.topology, ())}
