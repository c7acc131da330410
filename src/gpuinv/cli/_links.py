"""What `gpuinv parse` shows of the NVLinks of a host, and of how its devices reach each other."""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING

from rich.text import Text

from gpuinv.cli._columns import chunked, filled
from gpuinv.cli._gpus import INDENT
from gpuinv.cli._words import NONE, value, with_reason
from gpuinv.readings import Missing, is_known
from gpuinv.smi.nvlink import NvlinkState

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from gpuinv.smi.nvlink import (
        GpuLinkErrors,
        GpuLinkRemotes,
        GpuLinks,
        LinkRemote,
        LinkStatus,
        NvlinkErrors,
        NvlinkRemotes,
        NvlinkStatus,
    )
    from gpuinv.smi.topology import Topology, TopologyCell, TopologyRow

__all__ = ["link_error_lines", "link_remote_lines", "link_status_lines", "topology_lines"]

_STATES = {
    NvlinkState.LINKS: "no links",
    NvlinkState.ALL_INACTIVE: "all links are inactive",
    NvlinkState.UNSUPPORTED: "no NVLink",
    NvlinkState.MIG: "not told while MIG is on",
}
"""What is said where no links are listed."""
_NEAR = ["CPUs", "NUMA", "GPU NUMA"]


def link_status_lines(status: NvlinkStatus, width: int) -> list[Text]:
    """The links of each GPU with their speeds."""
    return _by_gpu(((gpu, [_even(map(_status, gpu.links))]) for gpu in status.gpus), width)


def link_remote_lines(remotes: NvlinkRemotes, width: int) -> list[Text]:
    """The links of each GPU with what lies at their far ends."""
    return _by_gpu(((gpu, [_even(map(_remote, gpu.links))]) for gpu in remotes.gpus), width)


def link_error_lines(errors: NvlinkErrors, width: int) -> list[Text]:
    """The counters of each link."""
    return _by_gpu(((gpu, _counters(gpu)) for gpu in errors.gpus), width)


def topology_lines(topology: Topology, width: int) -> list[Text]:
    """The matrix, in as many parts as it needs, then the names of the NICs."""
    if not topology.labels:
        return [Text("no GPUs")]
    labels = [label.label for label in topology.labels]
    rows = [["", *labels, *_NEAR], *(_matrix_row(labels, label, topology.row(label)) for label in labels)]
    used = [column for column in range(len(rows[0])) if column == 0 or any(row[column] for row in rows[1:])]
    lines: list[Text] = []
    for part in chunked([[row[column] for column in used] for row in rows], width):
        lines += [*([Text()] if lines else []), Text(part[0], "bold"), *map(Text, part[1:])]
    named = {label.label: label.device_name for label in topology.labels if is_known(label.device_name)}
    nics = filled([f"{label}: {value(name)}" for label, name in named.items() if label != name], width)
    return [*lines, *([Text()] if nics else []), *map(Text, nics)]


def _matrix_row(labels: Sequence[str], label: str, row: TopologyRow | None) -> list[str]:
    """A row of the matrix; one that was left out holds dashes."""
    if row is None:
        return [label, *[NONE] * len(labels), *[""] * len(_NEAR)]
    near = (row.cpu_affinity, row.numa_affinity, row.gpu_numa_id)
    return [label, *(_cell(cell) for _, cell in row.cells), *map(_near, near)]


def _cell(cell: TopologyCell) -> str:
    return cell.kind.value + (str(cell.nvlink_count) if is_known(cell.nvlink_count) else "")


def _near(reading: object) -> str:
    """What is near a GPU; nothing for a NIC, so that a column that no row has is left out."""
    if reading is Missing.ABSENT:
        return ""
    return ",".join(map(str, reading)) if isinstance(reading, tuple) else value(reading)


def _by_gpu(
    gpus: Iterable[tuple[GpuLinks | GpuLinkRemotes | GpuLinkErrors, Iterable[Iterable[str]]]], width: int
) -> list[Text]:
    """A line for each GPU, and below it its links."""
    lines: list[Text] = []
    for gpu, rows in gpus:
        head = [f"GPU {gpu.smi_index}", value(gpu.product_name), with_reason(gpu.uuid)]
        said = [line for row in rows for line in filled(row, width, indent=INDENT)]
        lines += [Text(line, "bold") for line in filled(head, width)]
        lines += [Text(line) for line in said or [INDENT + _state(gpu)]]
    return lines or [Text("no GPUs")]


def _even(parts: Iterable[str]) -> list[str]:
    """Parts of one width, so that they stand in columns."""
    said = list(parts)
    widest = max(map(len, said), default=0)
    return [part.ljust(widest) for part in said]


def _state(gpu: GpuLinks | GpuLinkRemotes | GpuLinkErrors) -> str:
    return with_reason(gpu.state) if isinstance(gpu.state, Missing) else _STATES[gpu.state]


def _status(link: LinkStatus) -> str:
    if link.up is not True:
        return f"{link.link:>2}: {'inactive' if link.up is False else with_reason(link.up)}"
    said = [*([f"{link.speed_gb_per_s} GB/s"] if link.speed_gb_per_s is not None else []), value(link.note)]
    return f"{link.link:>2}: {' '.join(filter(None, said))}"


def _remote(link: LinkRemote) -> str:
    if link.remote is None:
        return f"{link.link:>2}: {NONE}"
    return f"{link.link:>2}: {link.remote} link {value(link.remote_link)}"


def _counters(gpu: GpuLinkErrors) -> Iterator[list[str]]:
    for link, counters in groupby(gpu.counters, key=lambda counter: counter.link):
        yield [f"{link:>2}:", *(f"{value(each.counter_name)} {with_reason(each.value)}" for each in counters)]
