"""`nvidia-smi topo -m`: how the GPUs and NICs of a host reach each other, and the CPUs and memory nodes near them.

The columns are found by the header, since each generation of the tool has others, and a row may have a tab more than
its header: the tool aligns with a second one. Copies from a terminal have blanks in place of the tabs.
"""

from __future__ import annotations

import enum
import re
from typing import TYPE_CHECKING, Any

import attrs

import gpuinv.values as v
from gpuinv.errors import Issue, IssueKind, ParseError, shorten
from gpuinv.inventory._fields import doc, reading
from gpuinv.readings import Missing, Reading, missing_reason
from gpuinv.smi._matrix import Header, cells_of, find_header, tail_of
from gpuinv.smi.queries import TOPOLOGY
from gpuinv.smi.sentences import failure_issue, says_no_devices
from gpuinv.text import Issues, Line, lines, unanswered

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = [
    "Connection",
    "LabelKind",
    "Topology",
    "TopologyCell",
    "TopologyLabel",
    "TopologyRow",
    "parse_topology",
]

_SOURCE = TOPOLOGY.source

_GPU = re.compile(r"GPU(0|[1-9][0-9]{0,5})", re.ASCII)
_NIC = re.compile(r"NIC(0|[1-9][0-9]{0,5})", re.ASCII)
_LEGEND = re.compile(r"(NIC[0-9]{1,6})\s*:\s*(\S+)", re.ASCII)
_NVLINKS = re.compile(r"NV([0-9]{1,4})", re.ASCII)
_NODES = re.compile(r"([0-9]{1,5})(?:-([0-9]{1,5}))?", re.ASCII)
_PEER_TO_PEER = frozenset({"OK", "CNS", "GNS", "TNS", "NS", "DR", "U"})
_MAX_NODE = 4095
"""The kernel has at most 1024 memory nodes."""
_NONE = "-1"
"""How the kernel says that there is no node."""


class LabelKind(enum.Enum):
    """What a row and a column stand for."""

    GPU = "gpu"
    """A GPU: `GPU0`."""
    NIC = "nic"
    """A network device: `NIC0`, or the device's own name, `mlx5_0`, in older releases."""


class Connection(enum.Enum):
    """How two devices are connected, from itself to the farthest. The values are what the tool prints."""

    X = "X"
    """The device itself."""
    NV = "NV"
    """NVLinks; the cell says how many, `NV18`."""
    PIX = "PIX"
    """At most one PCIe bridge."""
    PXB = "PXB"
    """Several PCIe bridges, but no host bridge."""
    PHB = "PHB"
    """A PCIe host bridge."""
    NODE = "NODE"
    """The interconnect of the host bridges of one NUMA node."""
    SYS = "SYS"
    """The interconnect between NUMA nodes."""
    SOC = "SOC"
    """What old releases print for `SYS`."""


@attrs.frozen(kw_only=True)
class TopologyLabel:
    """A row and a column of the matrix."""

    label: str = doc("The text in the header, `GPU0`, `NIC0`, `mlx5_0`.")
    kind: LabelKind = doc("Whether it is a GPU or a NIC.")
    smi_index: Reading[int] = reading("A GPU's index as the tool prints it; ABSENT for a NIC.")
    nic_index: Reading[int] = reading(
        "The number of `NIC0`; ABSENT for a GPU and where the label is the device's name."
    )
    device_name: Reading[str] = reading("A NIC's device, from the legend or the label itself: `mlx5_0`.")


@attrs.frozen(kw_only=True)
class TopologyCell:
    """How two devices are connected."""

    kind: Connection = doc("The kind of the connection.")
    nvlink_count: Reading[int] = reading("How many NVLinks, for the kind NV; ABSENT for the others.")


@attrs.frozen(kw_only=True)
class TopologyRow:
    """A row: a device's connections, and for a GPU what is near it."""

    label: str = doc("The row's label.")
    cells: tuple[tuple[str, TopologyCell], ...] = doc("Column label and cell, in the header's order, itself included.")
    cpu_affinity: Reading[str] = reading(
        "The near CPUs as printed, `0-31,64-95`. The tool may cut the list, so it is no trustworthy set."
    )
    numa_affinity: Reading[tuple[int, ...]] = reading("The near NUMA nodes of the host, sorted; may be several.")
    gpu_numa_id: Reading[int] = reading("The NUMA node of the GPU's own memory; never the host's.")

    @property
    def numa_node(self) -> Reading[int]:
        """The one near NUMA node of the host; NOT_AVAILABLE where there are several."""
        nodes = self.numa_affinity
        if isinstance(nodes, Missing):
            return nodes
        return nodes[0] if len(nodes) == 1 else Missing.NOT_AVAILABLE

    def cell(self, column: str) -> TopologyCell | None:
        """The cell of a column, by the column's label; None where there is no such column."""
        return next((cell for label, cell in self.cells if label == column), None)


@attrs.frozen(kw_only=True)
class Topology:
    """The matrix. Rows are in the order of the labels; a row that the text lacks is missing here too."""

    labels: tuple[TopologyLabel, ...] = doc("The columns, in the header's order.", default=())
    rows: tuple[TopologyRow, ...] = doc("The rows.", default=())
    issues: tuple[Issue, ...] = doc(
        "Rows that were left out, odd values, cells that contradict each other.", default=()
    )

    def row(self, label: str) -> TopologyRow | None:
        """The row of a label; None where it is missing."""
        return next((row for row in self.rows if row.label == label), None)

    def cell(self, a: str, b: str) -> TopologyCell | None:
        """How `a` and `b` are connected, from the row of `a`, else from that of `b`; None where both are missing."""
        for row_label, column in ((a, b), (b, a)):
            row = self.row(row_label)
            if row is not None:
                return row.cell(column)
        return None

    def nvlink_peer_count(self, gpu: str) -> Reading[int]:
        """To how many GPUs the GPU with this label has NVLinks; ABSENT where its row is missing."""
        row = self.row(gpu)
        if row is None:
            return Missing.ABSENT
        gpus = {label.label for label in self.labels if label.kind is LabelKind.GPU}
        return sum(cell.kind is Connection.NV for column, cell in row.cells if column in gpus)


def parse_topology(text: str | bytes) -> Topology:
    """Read the output of `nvidia-smi topo -m`.

    Columns are taken by the header, in any generation's set; escape sequences and legends are passed over, but for the
    names of the NICs. A row that was cut, and a cell that differs from its mirror image, are issues. A value that the
    header has no column for is ABSENT, an empty cell of a GPU NOT_AVAILABLE. `No devices were found` is an empty
    matrix.

    Raises:
        ParseError: there is no matrix; a cell is none of the tool's connections, such as `OK` of `topo -p2p`; more
            than 1024 devices or 1000 oddities.
    """
    issues = Issues()
    first, no_devices = None, False
    found = lines(text, source=_SOURCE)
    for line in found:
        header = find_header(line, source=_SOURCE)
        if header is not None:
            return _matrix(header, line, found, issues)
        first = first or line
        if says_no_devices(line):
            no_devices = True
        else:
            issues.append(_issue(line))
    if no_devices:
        return Topology(issues=tuple(issues))
    raise unanswered(_SOURCE, "no topology matrix", first)


def _matrix(header: Header, first: Line, below: Iterator[Line], issues: Issues) -> Topology:
    """The matrix below a header."""
    reader = _Reader(header, issues)
    for line in below:
        if not reader.read(line):
            break
    if not reader.rows:
        raise unanswered(_SOURCE, "a matrix without a row", first)
    return reader.result()


def _issue(line: Line) -> Issue:
    """The issue of a line that is no part of the matrix."""
    return failure_issue(line, source=_SOURCE) or line.issue(IssueKind.TEXT_AROUND, _SOURCE, "not a line of the matrix")


@attrs.define
class _Reader:
    """The matrix so far."""

    header: Header
    issues: Issues
    rows: dict[str, TopologyRow] = attrs.field(factory=dict)
    devices: dict[str, str] = attrs.field(factory=dict)

    def read(self, line: Line) -> bool:
        """Take in one line; whether the matrix goes on. A second one may be of another host."""
        if self.header.is_again(line):
            self.issues.append(line.issue(IssueKind.MORE_DOCUMENTS, _SOURCE, "a second matrix; the first one was read"))
            return False
        legend = _LEGEND.fullmatch(line.text.strip())
        if legend is not None:
            if legend[1] in self.header.positions:
                self.devices.setdefault(legend[1], legend[2])
        elif not self._row(line):
            self._other(line)
        return True

    def result(self) -> Topology:
        """The matrix, with its contradictions."""
        labels = tuple(_label(text, self.devices) for text in self.header.labels)
        rows = tuple(self.rows[text] for text in self.header.labels if text in self.rows)
        self.issues.extend(_contradictions(rows))
        return Topology(labels=labels, rows=rows, issues=tuple(self.issues))

    def _other(self, line: Line) -> None:
        """A line that is no row. Below the rows it belongs to the legend, in any language."""
        issue = _issue(line)
        if issue.kind is not IssueKind.TEXT_AROUND or not self.rows:
            self.issues.append(issue)

    def _row(self, line: Line) -> bool:
        label, texts = cells_of(line.text, self.header)
        known = [_cell(text) is not None for text in texts]
        if not any(known) or (label not in self.header.positions and not all(known)):
            return False
        cells = [_known_cell(text, line) for text in texts]
        message = self._refusal(label, cells)
        if message:
            self._note(line, message)
        else:
            named = tuple(zip(self.header.labels, cells, strict=True))
            self.rows[label] = self._with_tail(TopologyRow(label=label, cells=named), line)
        return True

    def _refusal(self, label: str, cells: list[TopologyCell]) -> str:
        """Why a row is left out: what it says would be said of other devices."""
        if label not in self.header.positions:
            return f"a row of {shorten(label)}, which is no column, is left out"
        if len(cells) != len(self.header.labels):
            return f"the row of {label} has {len(cells)} of {len(self.header.labels)} cells and is left out"
        own = [position for position, cell in enumerate(cells) if cell.kind is Connection.X]
        if own != [self.header.positions[label]]:
            return f"the row of {label} has its X elsewhere and is left out"
        return f"a row of {label} stands above; this one is left out" if label in self.rows else ""

    def _with_tail(self, row: TopologyRow, line: Line) -> TopologyRow:
        """The row with what its last columns say. A NIC has nothing there."""
        tail = tail_of(line.text, self.header)
        if tail is None:
            self._note(line, f"the last cells of {row.label} cannot be told apart")
        is_gpu = _GPU.fullmatch(row.label) is not None
        values: dict[str, Any] = {}
        for field, text in zip(self.header.tail, tail or [""] * len(self.header.tail), strict=True):
            if field is not None and (text or is_gpu):
                values[field] = _TAIL_READERS[field](text)
                if values[field] is Missing.ERROR and missing_reason(text) is None:
                    self._note(line, f"the {field} of {row.label} has another form")
        return attrs.evolve(row, **values)

    def _note(self, line: Line, message: str) -> None:
        self.issues.append(line.issue(IssueKind.BAD_VALUE, _SOURCE, message))


def _label(text: str, devices: dict[str, str]) -> TopologyLabel:
    gpu = _GPU.fullmatch(text)
    if gpu is not None:
        return TopologyLabel(label=text, kind=LabelKind.GPU, smi_index=int(gpu[1]))
    nic = _NIC.fullmatch(text)
    if nic is None:
        return TopologyLabel(label=text, kind=LabelKind.NIC, device_name=v.NAME.read(text))
    device = devices.get(text)
    name = Missing.ABSENT if device is None else v.NAME.read(device)
    return TopologyLabel(label=text, kind=LabelKind.NIC, nic_index=int(nic[1]), device_name=name)


def _cell(text: str) -> TopologyCell | None:
    nvlinks = _NVLINKS.fullmatch(text)
    if nvlinks is not None:
        return TopologyCell(kind=Connection.NV, nvlink_count=int(nvlinks[1]))
    return _PLAIN_CELLS.get(text)


_PLAIN_CELLS = {kind.value: TopologyCell(kind=kind) for kind in Connection if kind is not Connection.NV}


def _known_cell(text: str, line: Line) -> TopologyCell:
    cell = _cell(text)
    if cell is not None:
        return cell
    message = "a table of topo -p2p" if text in _PEER_TO_PEER else f"{text!r} is no connection"
    raise ParseError(_SOURCE, message, place=line.place, text=line.text)


def _contradictions(rows: tuple[TopologyRow, ...]) -> Iterator[Issue]:
    """The pairs whose two cells differ."""
    cells = {row.label: dict(row.cells) for row in rows}
    labels = list(cells)
    for position, a in enumerate(labels):
        for b in labels[:position]:
            here, there = cells[a][b], cells[b][a]
            if here != there:
                message = f"{b} to {a} is {_shown(there)}, and {a} to {b} is {_shown(here)}"
                yield Issue(kind=IssueKind.LAYERS_DISAGREE, source=_SOURCE, message=message)


def _shown(cell: TopologyCell) -> str:
    count = cell.nvlink_count
    return cell.kind.value if isinstance(count, Missing) else f"{cell.kind.value}{count}"


def _nodes(text: str) -> Reading[tuple[int, ...]]:
    """A set of NUMA nodes, `0-1,4`."""
    reason = Missing.NOT_AVAILABLE if text == _NONE else missing_reason(text)
    if reason is not None:
        return reason
    if len(text) > v.MAX_TEXT:
        return Missing.ERROR
    found: set[int] = set()
    for part in text.split(","):
        match = _NODES.fullmatch(part.strip())
        first, last = (1, 0) if match is None else (int(match[1]), int(match[2] or match[1]))
        if not first <= last <= _MAX_NODE:
            return Missing.ERROR
        found.update(range(first, last + 1))
    return tuple(sorted(found))


def _node(text: str) -> Reading[int]:
    return Missing.NOT_AVAILABLE if text == _NONE else v.INTEGER.read(text)


_TAIL_READERS = {"cpu_affinity": v.NAME.read, "numa_affinity": _nodes, "gpu_numa_id": _node}
