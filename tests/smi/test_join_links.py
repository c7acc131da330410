from __future__ import annotations

from typing import TYPE_CHECKING

import attrs
import pytest

from gpuinv.errors import Issue, IssueKind
from gpuinv.ids import GpuUuid, PciBusId
from gpuinv.inventory import Gpu, Layer, NvLink, TopologyPeer
from gpuinv.readings import Missing, Reading
from gpuinv.smi.gpu_list import parse_smi_list
from gpuinv.smi.join_links import join_nvlinks, join_topology, smi_indices
from gpuinv.smi.nvlink import parse_nvlink_remote, parse_nvlink_status
from gpuinv.smi.query_xml import parse_smi_xml
from gpuinv.smi.records import SmiSnapshot
from gpuinv.smi.topology import parse_topology

if TYPE_CHECKING:
    from pathlib import Path

U = [GpuUuid(f"GPU-2f6c8e10-5a4b-4c3d-8e9f-00000000000{digit}") for digit in range(4)]
BUS = [PciBusId(0, 0x1B + digit, 0) for digit in range(4)]
SWITCH = "00000005:00:00.0"
ALL_INACTIVE = "NVML: Unable to retrieve NVLink information as all links are inActive"
UNSUPPORTED = "Device does not have or support Nvlink"
MIG = "Nvlink queries are not supported for Devices in MIG mode"
EARLIER = Issue(kind=IssueKind.REPAIRED, source="nvidia-smi -q -x", message="…")


def snapshot(*uuids: Reading[GpuUuid], attached: Reading[int] = Missing.ABSENT) -> SmiSnapshot:
    gpus = tuple(
        Gpu(gpu_index=index, layers=(Layer.NVIDIA_SMI,), uuid=uuid, pci_bus_id=BUS[index])
        for index, uuid in enumerate(uuids)
    )
    return SmiSnapshot(gpus=gpus, attached_gpus=attached)


def answer(*blocks: str, first: int = 0) -> str:
    """Each GPU from the first on, with its lines."""
    return "".join(f"GPU {n}: NVIDIA A100 (UUID: {U[n]})\n{block}\n" for n, block in enumerate(blocks, first))


def links_of(joined: SmiSnapshot, index: int = 0) -> Reading[tuple[NvLink, ...]]:
    return joined.gpus[index].nvlinks


def messages(joined: SmiSnapshot) -> list[str]:
    return [issue.message for issue in joined.issues]


def test_links_with_what_is_at_their_far_ends() -> None:
    status = parse_nvlink_status(answer("Link 0: 25 GB/s\nLink 1: <inactive>\nLink 2: 25 GB/s (sleep)", UNSUPPORTED))
    remotes = parse_nvlink_remote(
        answer(
            f"Link 0: Remote Device {BUS[1]}: Link 3\nLink 1: Remote Device <N/A>: Link 1\n"
            f"Link 2: Remote Device {SWITCH}: Link 35\nLink 7: Remote Device {SWITCH}: Link 34",
            UNSUPPORTED,
        )
    )
    joined = join_nvlinks(snapshot(U[0], U[1]), status, remotes)
    assert links_of(joined) == (
        NvLink(link=0, up=True, peer=U[1], remote_link=3),
        NvLink(link=1, up=False, peer=Missing.NOT_AVAILABLE, remote_link=1),
        NvLink(link=2, up=True, peer="nvswitch:00000005:00:00.0", remote_link=35),
        NvLink(link=7, up=Missing.ABSENT, peer="nvswitch:00000005:00:00.0", remote_link=34),
    )
    assert links_of(joined, 1) is Missing.NOT_SUPPORTED
    assert joined.issues == ()


@pytest.mark.parametrize(
    ("said", "nvlinks"), [(ALL_INACTIVE, ()), (UNSUPPORTED, Missing.NOT_SUPPORTED), (MIG, Missing.HIDDEN_BY_MIG)]
)
def test_a_sentence_in_place_of_the_links(said: str, nvlinks: Reading[tuple[NvLink, ...]]) -> None:
    status, remotes = parse_nvlink_status(answer(said)), parse_nvlink_remote(answer(said))
    assert links_of(join_nvlinks(snapshot(U[0]), status, remotes)) == nvlinks
    assert links_of(join_nvlinks(snapshot(U[0]), status, None)) == nvlinks
    assert links_of(join_nvlinks(snapshot(U[0]), None, remotes)) == nvlinks


def test_either_answer_may_be_missing() -> None:
    status = parse_nvlink_status(answer("Link 0: 25 GB/s"))
    remotes = parse_nvlink_remote(answer(f"Link 0: Remote Device {SWITCH}: Link 1"))
    assert links_of(join_nvlinks(snapshot(U[0]), status, None)) == (NvLink(link=0, up=True),)
    assert links_of(join_nvlinks(snapshot(U[0]), None, remotes)) == (
        NvLink(link=0, peer=f"nvswitch:{SWITCH}", remote_link=1),
    )
    assert join_nvlinks(snapshot(U[0]), None, None) == snapshot(U[0])


def test_what_one_answer_does_not_tell_the_other_may() -> None:
    nothing = parse_nvlink_status(answer(""))
    remotes = parse_nvlink_remote(answer(f"Link 0: Remote Device {SWITCH}: Link 1"))
    assert links_of(join_nvlinks(snapshot(U[0]), nothing, remotes)) == (
        NvLink(link=0, peer=f"nvswitch:{SWITCH}", remote_link=1),
    )
    assert links_of(join_nvlinks(snapshot(U[0]), nothing, None)) is Missing.ABSENT
    lost = parse_nvlink_status(answer("Unable to retrieve NVLink information: GPU is lost."))
    assert links_of(join_nvlinks(snapshot(U[0]), lost, parse_nvlink_remote(answer("")))) is Missing.LOST


def test_a_peer_without_a_uuid_is_no_switch() -> None:
    remotes = parse_nvlink_remote(answer(f"Link 0: Remote Device {BUS[1]}: Link 2"))
    joined = join_nvlinks(snapshot(U[0], Missing.NOT_AVAILABLE), None, remotes)
    assert links_of(joined) == (NvLink(link=0, peer=Missing.NOT_AVAILABLE, remote_link=2),)


def test_a_domain_is_a_part_of_the_peers_address() -> None:
    remotes = parse_nvlink_remote(answer("Link 0: Remote Device 00010000:1C:00.0: Link 2"))
    joined = join_nvlinks(snapshot(U[0], U[1]), None, remotes)
    assert links_of(joined) == (NvLink(link=0, peer="nvswitch:00010000:1C:00.0", remote_link=2),)


def test_gpus_that_one_of_the_answers_lacks_are_issues() -> None:
    status = parse_nvlink_status(answer("Link 0: 25 GB/s", UNSUPPORTED, first=1))
    joined = join_nvlinks(snapshot(U[0], U[1], Missing.LOST), status, parse_nvlink_remote(answer(MIG, MIG)))
    assert [links_of(joined, index) for index in range(3)] == [
        Missing.HIDDEN_BY_MIG,
        (NvLink(link=0, up=True),),
        Missing.ABSENT,
    ]
    assert [(issue.kind, issue.source, issue.message, issue.uuid) for issue in joined.issues] == [
        (IssueKind.LAYERS_DISAGREE, "nvidia-smi nvlink -s", "GPU 0 of -q -x is not listed", U[0]),
        (IssueKind.LAYERS_DISAGREE, "nvidia-smi nvlink -s", "GPU 2 is listed here and not by -q -x", U[2]),
    ]


def test_of_two_blocks_for_one_gpu_the_first_counts() -> None:
    status = parse_nvlink_status(answer("Link 0: 25 GB/s") + answer("Link 0: <inactive>"))
    assert links_of(join_nvlinks(snapshot(U[0]), status, None)) == (NvLink(link=0, up=True),)


def test_issues_are_kept_once() -> None:
    status = parse_nvlink_status(answer("Link 0: 25 GB/s\nLink 1: fast", first=1))
    before = attrs.evolve(snapshot(U[0]), issues=(EARLIER,))
    joined = join_nvlinks(before, status, None)
    assert [issue.kind for issue in joined.issues] == [
        IssueKind.REPAIRED,
        IssueKind.TEXT_AROUND,
        IssueKind.LAYERS_DISAGREE,
        IssueKind.LAYERS_DISAGREE,
    ]
    assert join_nvlinks(joined, status, None) == joined


MATRIX = (
    "\tGPU0\tGPU1\tGPU10\tNIC0\tNIC1\tCPU Affinity\tNUMA Affinity\tGPU NUMA ID\n"
    "GPU0\t X \tNV12\tSYS\tPXB\tSYS\t0-15\t0-1\t\t8\n"
    "GPU1\tNV12\t X \tSYS\tSYS\tNODE\t0-15\t0\t\tN/A\n"
    "GPU10\tSYS\tSYS\t X \tSYS\tPIX\t16-31\t1\t\t9\n"
    "NIC0\tPXB\tSYS\tSYS\t X \tSYS\nNIC1\tSYS\tNODE\tPIX\tSYS\t X \n\nNIC Legend:\n\n  NIC0: mlx5_3\n"
)
INDICES = {0: U[0], 1: U[1], 10: U[2]}


def test_a_row_of_the_matrix() -> None:
    joined = join_topology(snapshot(U[2], U[0], U[1]), parse_topology(MATRIX), INDICES)
    assert [gpu.topology for gpu in joined.gpus] == [
        (
            TopologyPeer(peer=U[0], kind="SYS"),
            TopologyPeer(peer=U[1], kind="SYS"),
            TopologyPeer(peer="mlx5_3", kind="SYS"),
            TopologyPeer(peer="NIC1", kind="PIX"),
        ),
        (
            TopologyPeer(peer=U[1], kind="NV", nvlink_count=12),
            TopologyPeer(peer=U[2], kind="SYS"),
            TopologyPeer(peer="mlx5_3", kind="PXB"),
            TopologyPeer(peer="NIC1", kind="SYS"),
        ),
        (
            TopologyPeer(peer=U[0], kind="NV", nvlink_count=12),
            TopologyPeer(peer=U[2], kind="SYS"),
            TopologyPeer(peer="mlx5_3", kind="SYS"),
            TopologyPeer(peer="NIC1", kind="NODE"),
        ),
    ]
    assert [gpu.gpu_numa_id for gpu in joined.gpus] == [9, 8, Missing.NOT_SUPPORTED]
    assert [gpu.numa_node for gpu in joined.gpus] == [Missing.ABSENT] * 3  # sysfs tells it, not the matrix
    assert joined.issues == ()


def test_without_the_column_the_memory_node_stays() -> None:
    before = snapshot(U[0])
    before = attrs.evolve(before, gpus=(attrs.evolve(before.gpus[0], gpu_numa_id=2),))
    joined = join_topology(before, parse_topology("\tGPU0\tCPU Affinity\nGPU0\t X \t0-7\n"), {0: U[0]})
    assert (joined.gpus[0].topology, joined.gpus[0].gpu_numa_id) == ((), 2)


def test_a_gpu_without_a_uuid_is_named_by_its_address() -> None:
    """Its position is its index, where none is missing."""
    text = "\tGPU0\tGPU1\tCPU Affinity\nGPU0\t X \tPHB\t0-7\nGPU1\tPHB\t X \t0-7\n"
    before = snapshot(U[0], Missing.NOT_AVAILABLE, attached=2)
    joined = join_topology(before, parse_topology(text), smi_indices(before, None))
    assert [gpu.topology for gpu in joined.gpus] == [
        (TopologyPeer(peer="00000000:1C:00.0", kind="PHB"),),
        (TopologyPeer(peer=U[0], kind="PHB"),),
    ]
    assert joined.issues == ()


def test_a_gpu_without_uuid_and_address_is_named_by_its_label() -> None:
    text = "\tGPU0\tGPU1\tCPU Affinity\nGPU0\t X \tPHB\t0-7\nGPU1\tPHB\t X \t0-7\n"
    before = snapshot(U[0], Missing.NOT_AVAILABLE, attached=2)
    nowhere = attrs.evolve(before.gpus[1], pci_bus_id=Missing.ERROR)
    before = attrs.evolve(before, gpus=(before.gpus[0], nowhere))
    joined = join_topology(before, parse_topology(text), {0: U[0]})
    assert joined.gpus[0].topology == (TopologyPeer(peer="GPU1", kind="PHB"),)


def test_gpus_that_one_of_the_two_lacks_are_issues() -> None:
    """GPU 1 of the snapshot has no UUID, and a third GPU is attached that the document does not show."""
    text = "\tGPU0\tGPU1\tGPU2\nGPU0\t X \tPHB\tNV4\nGPU1\tPHB\t X \tSYS\nGPU2\tNV4\tSYS\t X \n"
    before = attrs.evolve(snapshot(U[0], Missing.NOT_AVAILABLE, attached=3), issues=(EARLIER,))
    joined = join_topology(before, parse_topology(text), {0: U[0], 2: U[3]})
    assert [gpu.topology for gpu in joined.gpus] == [
        (TopologyPeer(peer="GPU1", kind="PHB"), TopologyPeer(peer=U[3], kind="NV", nvlink_count=4)),
        Missing.ABSENT,
    ]
    assert [(issue.message, issue.pci_bus_id) for issue in joined.issues[1:]] == [
        ("GPU1 is no GPU of -q -x", None),
        ("GPU2 is no GPU of -q -x", None),
        ("GPU 1 of -q -x is not listed", "00000000:1C:00.0"),
    ]
    assert join_topology(joined, parse_topology(text), {0: U[0], 2: U[3]}) == joined


def test_a_matrix_that_lacks_a_listed_gpu_is_of_another_moment() -> None:
    """GPU 1 fell off between the two calls, and what was GPU 10 may be the GPU1 of this matrix."""
    topology = parse_topology("\tGPU0\tGPU1\nGPU0\t X \tPHB\nGPU1\tPHB\t X \n")
    joined = join_topology(snapshot(U[0], U[1], U[2]), topology, INDICES)
    assert [gpu.topology for gpu in joined.gpus] == [Missing.NOT_AVAILABLE] * 3
    assert messages(joined) == ["the matrix lacks a GPU that -L lists; no row is trusted"]


def test_an_unaddressed_gpu_without_a_row_is_an_issue() -> None:
    before = SmiSnapshot(gpus=(Gpu(gpu_index=0),))
    joined = join_topology(before, parse_topology("No devices were found"), {})
    assert [(issue.message, issue.uuid, issue.pci_bus_id) for issue in joined.issues] == [
        ("GPU 0 of -q -x is not listed", None, None)
    ]


def test_issues_of_the_matrix_are_kept() -> None:
    topology = parse_topology("\tGPU0\tGPU1\nGPU0\t X \tSYS\nGPU1\tPHB\t X \n")
    joined = join_topology(snapshot(U[0], U[1]), topology, {0: U[0], 1: U[1]})
    assert messages(joined) == ["GPU0 to GPU1 is SYS, and GPU1 to GPU0 is PHB"]


def test_indices_are_the_lists() -> None:
    listed = parse_smi_list(
        f"GPU 0: X (UUID: {U[1]})\nGPU 2: X (UUID: {U[0]})\nGPU 3: X (UUID: )\nGPU 0: X (UUID: {U[2]})\n"
        f"GPU 4: X (UUID: {U[1]})\n"
    )
    assert smi_indices(snapshot(U[0], U[1], attached=2), listed) == {0: U[1], 2: U[0]}


def test_without_a_list_indices_are_positions_where_no_gpu_is_missing() -> None:
    assert smi_indices(snapshot(U[0], Missing.LOST, U[1], attached=3), None) == {0: U[0], 2: U[1]}
    assert smi_indices(snapshot(U[0], U[1], attached=3), None) == {}
    assert smi_indices(snapshot(U[0], U[1]), None) == {}


def test_boards_without_a_bridge_have_links_and_no_peers() -> None:
    """All links inactive, line by line or in one sentence, is no fault of a GPU that has no NVLink peer."""
    text = "\tGPU0\tGPU1\tCPU Affinity\nGPU0\t X \tSYS\t0-7\nGPU1\tSYS\t X \t8-15\n"
    status = parse_nvlink_status(answer("Link 0: <inactive>\nLink 1: <inactive>", ALL_INACTIVE))
    joined = join_nvlinks(snapshot(U[0], U[1]), status, None)
    joined = join_topology(joined, parse_topology(text), {0: U[0], 1: U[1]})
    assert links_of(joined) == (NvLink(link=0, up=False), NvLink(link=1, up=False))
    assert links_of(joined, 1) == ()
    for gpu in joined.gpus:
        assert not isinstance(gpu.topology, Missing)
        assert [peer.kind for peer in gpu.topology] == ["SYS"]


def test_a_whole_host(fixtures_dir: Path) -> None:
    smi = fixtures_dir / "nvidia-smi" / "dgx-a100-mig" / "smi"
    read = {path.name: path.read_bytes() for path in smi.iterdir()}
    before = parse_smi_xml(read["q-x.xml"])
    listed = parse_smi_list(read["L.txt"])
    indices = smi_indices(before, listed)
    assert indices == smi_indices(before, None)
    status, remotes = parse_nvlink_status(read["nvlink-s.txt"]), parse_nvlink_remote(read["nvlink-R.txt"])
    joined = join_topology(join_nvlinks(before, status, remotes), parse_topology(read["topo-m.txt"]), indices)
    assert joined.issues == before.issues
    for position, gpu in enumerate(joined.gpus):
        assert not isinstance(gpu.topology, Missing)
        assert len(gpu.topology) == 17
        if position in {1, 6}:
            assert gpu.nvlinks is Missing.HIDDEN_BY_MIG
            continue
        assert not isinstance(gpu.nvlinks, Missing)
        assert [(link.link, link.up, str(link.peer)[:9]) for link in gpu.nvlinks] == [
            (number, True, "nvswitch:") for number in range(12)
        ]
        assert sum(peer.kind == "NV" for peer in gpu.topology) == 5


def test_the_farthest_connection_has_one_name_whatever_the_release_calls_it() -> None:
    matrix = "\tGPU0\tGPU1\tCPU Affinity\nGPU0\t X \t{0}\t0-7\nGPU1\t{0}\t X \t8-15\n"
    base = snapshot(U[0], U[1], attached=2)
    old, new = (
        join_topology(base, parse_topology(matrix.format(name)), smi_indices(base, None)) for name in ("SOC", "SYS")
    )
    assert old == new
    assert old.gpus[0].topology == (TopologyPeer(peer=U[1], kind="SYS"),)
