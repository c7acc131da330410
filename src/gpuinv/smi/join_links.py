"""What `nvlink -s`, `nvlink -R` and `topo -m` add to the GPUs of `nvidia-smi -q -x`.

NVLinks are joined by UUID. The matrix knows indices only, so `join_topology` is told which GPU has which. To join the
same answer again changes nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

import attrs

from gpuinv.errors import Issue, IssueKind
from gpuinv.inventory import Gpu, NvLink, TopologyPeer
from gpuinv.readings import Missing, Reading, is_known
from gpuinv.smi._nvlink import GpuAnswer
from gpuinv.smi.nvlink import NvlinkState
from gpuinv.smi.queries import NVLINK_REMOTE, NVLINK_STATUS, TOPOLOGY
from gpuinv.smi.topology import Connection, LabelKind

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from gpuinv.ids import GpuUuid, PciBusId
    from gpuinv.smi.gpu_list import SmiList
    from gpuinv.smi.nvlink import GpuLinkRemotes, GpuLinks, LinkRemote, NvlinkRemotes, NvlinkStatus
    from gpuinv.smi.records import SmiSnapshot
    from gpuinv.smi.topology import Topology, TopologyLabel, TopologyRow

__all__ = ["join_nvlinks", "join_topology", "smi_indices"]

_Answer = TypeVar("_Answer", bound=GpuAnswer)


def join_nvlinks(snapshot: SmiSnapshot, status: NvlinkStatus | None, remotes: NvlinkRemotes | None) -> SmiSnapshot:
    """Give each GPU its NVLinks, by UUID: which are up, from `-s`, and what is at their far ends, from `-R`.

    A link that `-s` does not list has `up` ABSENT, one that `-R` does not list its peer. The peer is the UUID of the
    snapshot's GPU on the printed bus (the reason where that GPU has none), else `nvswitch:<bus id>`. Where all links
    are inactive the list is empty, without NVLink NOT_SUPPORTED, in MIG mode HIDDEN_BY_MIG. A GPU that neither answer
    names stays as it is, and is an issue. None stands for an answer that was not read.
    """
    near = () if status is None else status.gpus
    far = () if remotes is None else remotes.gpus
    near_by_uuid, far_by_uuid = _by_uuid(near), _by_uuid(far)
    peers = {gpu.pci_bus_id: gpu.uuid for gpu in snapshot.gpus}
    gpus = tuple(
        _with_links(gpu, near_by_uuid.get(gpu.uuid), far_by_uuid.get(gpu.uuid), peers) for gpu in snapshot.gpus
    )
    issues: list[Issue] = []
    if status is not None:
        issues += [*status.issues, *_unmatched(snapshot, near, NVLINK_STATUS.source)]
    if remotes is not None:
        issues += [*remotes.issues, *_unmatched(snapshot, far, NVLINK_REMOTE.source)]
    return _joined(snapshot, gpus, issues)


def join_topology(snapshot: SmiSnapshot, topology: Topology, uuid_by_index: Mapping[int, GpuUuid]) -> SmiSnapshot:
    """Give each GPU its row of the matrix, without itself, and the NUMA node of its own memory.

    `uuid_by_index` says which GPU has which of the matrix's indices; `smi_indices` makes it. A peer is the GPU's UUID,
    for a GPU without one its bus id, and the label where neither is known; a NIC is its device's name, else the label.
    A label that is no GPU of the snapshot, and a GPU without a row, are issues. A matrix that lacks one of the indices
    is of another moment, in which the same index may be another GPU: then every row is NOT_AVAILABLE.
    """
    if not set(uuid_by_index) <= {label.smi_index for label in topology.labels}:
        issue = _issue(TOPOLOGY.source, "the matrix lacks a GPU that -L lists; no row is trusted")
        untrusted = tuple(attrs.evolve(gpu, topology=Missing.NOT_AVAILABLE) for gpu in snapshot.gpus)
        return _joined(snapshot, untrusted, (*topology.issues, issue))
    positions = _positions(snapshot, topology.labels, uuid_by_index)
    peers = {label.label: _peer(label, snapshot, positions, uuid_by_index) for label in topology.labels}
    rows = {positions[row.label]: row for row in reversed(topology.rows) if row.label in positions}
    gpus = [
        _with_row(gpu, rows[position], peers) if position in rows else gpu for position, gpu in enumerate(snapshot.gpus)
    ]
    strangers = (label for label in topology.labels if label.kind is LabelKind.GPU and label.label not in positions)
    issues = [
        *topology.issues,
        *(_issue(TOPOLOGY.source, f"{label.label} is no GPU of -q -x") for label in strangers),
        *(_no_answer(gpu, TOPOLOGY.source) for position, gpu in enumerate(snapshot.gpus) if position not in rows),
    ]
    return _joined(snapshot, tuple(gpus), issues)


def smi_indices(snapshot: SmiSnapshot, listed: SmiList | None) -> Mapping[int, GpuUuid]:
    """Which GPU has which of the indices that nvidia-smi prints.

    `-L` prints both; of an index or a UUID that stands twice in it the first is taken. Without it indices are the
    positions in the document, where that holds as many GPUs as the tool says are attached: one that is missing shifts
    those behind it.
    """
    if listed is not None:
        pairs = [(gpu.smi_index, gpu.uuid) for gpu in listed.gpus]
    else:
        pairs = [(position, gpu.uuid) for position, gpu in enumerate(snapshot.gpus) if _is_whole(snapshot)]
    indices: dict[GpuUuid, int] = {}
    for index, uuid in pairs:
        if is_known(uuid):
            indices.setdefault(uuid, index)
    return {index: uuid for uuid, index in reversed(indices.items())}


def _is_whole(snapshot: SmiSnapshot) -> bool:
    return snapshot.attached_gpus == len(snapshot.gpus)


def _by_uuid(answers: Sequence[_Answer]) -> dict[Reading[GpuUuid], _Answer]:
    """By UUID; of two answers for one GPU the first."""
    return {answer.uuid: answer for answer in reversed(answers) if is_known(answer.uuid)}


def _with_links(
    gpu: Gpu,
    near: GpuLinks | None,
    far: GpuLinkRemotes | None,
    peers: Mapping[Reading[PciBusId], Reading[GpuUuid]],
) -> Gpu:
    states = [answer.state for answer in (near, far) if answer is not None]
    if not states:
        return gpu
    state = next(filter(is_known, states), states[0])
    if state is not NvlinkState.LINKS:
        return attrs.evolve(gpu, nvlinks=state if isinstance(state, Missing) else _SAID[state])
    ups = {} if near is None else {link.link: link.up for link in near.links}
    ends = {} if far is None else {link.link: link for link in far.links}
    links = (
        NvLink(link=link, up=ups.get(link, Missing.ABSENT), **_far_end(ends.get(link), peers))
        for link in sorted({*ups, *ends})
    )
    return attrs.evolve(gpu, nvlinks=tuple(links))


_SAID: Mapping[NvlinkState, Reading[tuple[NvLink, ...]]] = {
    NvlinkState.ALL_INACTIVE: (),
    NvlinkState.UNSUPPORTED: Missing.NOT_SUPPORTED,
    NvlinkState.MIG: Missing.HIDDEN_BY_MIG,
}


def _far_end(end: LinkRemote | None, peers: Mapping[Reading[PciBusId], Reading[GpuUuid]]) -> dict[str, Any]:
    if end is None:
        return {}
    if end.remote is None:
        return {"peer": Missing.NOT_AVAILABLE, "remote_link": end.remote_link}
    return {"peer": peers.get(end.remote, f"nvswitch:{end.remote}"), "remote_link": end.remote_link}


def _positions(
    snapshot: SmiSnapshot, labels: Iterable[TopologyLabel], uuid_by_index: Mapping[int, GpuUuid]
) -> dict[str, int]:
    """The position in the snapshot of each GPU of the matrix that it holds."""
    by_uuid = {gpu.uuid: position for position, gpu in enumerate(snapshot.gpus) if is_known(gpu.uuid)}
    nameless = [not is_known(gpu.uuid) for gpu in snapshot.gpus] if _is_whole(snapshot) else []
    found: dict[str, int | None] = {}
    for label in labels:
        index = label.smi_index
        if is_known(index) and index in uuid_by_index:
            found[label.label] = by_uuid.get(uuid_by_index[index])
        elif is_known(index) and index < len(nameless) and nameless[index]:
            found[label.label] = index
    return {label: position for label, position in found.items() if position is not None}


def _peer(
    label: TopologyLabel, snapshot: SmiSnapshot, positions: Mapping[str, int], uuid_by_index: Mapping[int, GpuUuid]
) -> str:
    """What the rows call the device of a label."""
    if is_known(label.device_name):
        return label.device_name
    if is_known(label.smi_index) and label.smi_index in uuid_by_index:
        return uuid_by_index[label.smi_index]
    if label.label in positions:
        bus_id = snapshot.gpus[positions[label.label]].pci_bus_id
        return str(bus_id) if is_known(bus_id) else label.label
    return label.label


def _with_row(gpu: Gpu, row: TopologyRow, peers: Mapping[str, str]) -> Gpu:
    topology = tuple(
        TopologyPeer(peer=peers[column], kind=_kind(cell.kind), nvlink_count=cell.nvlink_count)
        for column, cell in row.cells
        if cell.kind is not Connection.X
    )
    gpu_numa_id = gpu.gpu_numa_id if row.gpu_numa_id is Missing.ABSENT else row.gpu_numa_id
    return attrs.evolve(gpu, topology=topology, gpu_numa_id=gpu_numa_id)


def _kind(connection: Connection) -> str:
    """The connection's name; one fact has one name in the inventory, whatever the release of the tool calls it."""
    return Connection.SYS.value if connection is Connection.SOC else connection.value


def _unmatched(snapshot: SmiSnapshot, answers: Sequence[GpuAnswer], source: str) -> Iterator[Issue]:
    """The GPUs that only the snapshot has, and those that it lacks."""
    answered = {answer.uuid for answer in answers}
    known = {gpu.uuid for gpu in snapshot.gpus}
    for gpu in snapshot.gpus:
        if is_known(gpu.uuid) and gpu.uuid not in answered:
            yield _no_answer(gpu, source)
    for answer in answers:
        if is_known(answer.uuid) and answer.uuid not in known:
            yield _issue(source, f"GPU {answer.smi_index} is listed here and not by -q -x", uuid=answer.uuid)


def _no_answer(gpu: Gpu, source: str) -> Issue:
    bus_id = str(gpu.pci_bus_id) if is_known(gpu.pci_bus_id) else None
    uuid = gpu.uuid if is_known(gpu.uuid) else None
    return _issue(source, f"GPU {gpu.gpu_index} of -q -x is not listed", uuid=uuid, pci_bus_id=bus_id)


def _issue(source: str, message: str, *, uuid: str | None = None, pci_bus_id: str | None = None) -> Issue:
    return Issue(kind=IssueKind.LAYERS_DISAGREE, source=source, message=message, uuid=uuid, pci_bus_id=pci_bus_id)


def _joined(snapshot: SmiSnapshot, gpus: tuple[Gpu, ...], issues: Iterable[Issue]) -> SmiSnapshot:
    """The snapshot with those GPUs, and the issues that it does not have yet."""
    return attrs.evolve(snapshot, gpus=gpus, issues=tuple(dict.fromkeys((*snapshot.issues, *issues))))
