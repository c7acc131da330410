"""Samples as a person reads them: a row for each GPU, one for each of its MIG devices, and why something is missing."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import attrs
from rich.cells import cell_len
from rich.text import Text

from gpuinv.cli._columns import GAP, aligned, wrapped
from gpuinv.cli._gpus import INDENT, note_lines
from gpuinv.cli._notes import missing_notes, worst
from gpuinv.cli._words import clean, pair, value
from gpuinv.inventory import GpuSample
from gpuinv.readings import Missing, Reading, is_known

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from gpuinv.inventory.sample import MigSample

__all__ = ["sample_lines"]

_NAME_LENGTHS = (12, 17, 22, 27)
"""Where a GPU's UUID can be cut: `GPU-5506643a`, then with one group of digits more."""
_LEGEND = "Memory used / total, busy GPU / memory, power draw / limit, clocks SM / memory"


@attrs.frozen
class _Column:
    """What a row says, and how the same is said outside the table."""

    heading: str
    cell: Callable[[GpuSample], str]
    alone: str = "{}"


def _watts(reading: Reading[int]) -> Reading[int]:
    return reading if isinstance(reading, Missing) else (reading + 500) // 1000


_FIRST = (
    _Column("Memory MiB", lambda sample: pair(sample.fb_memory.used_mib, sample.fb_memory.total_mib)),
    _Column("Busy %", lambda sample: pair(sample.utilization.gpu_util_percent, sample.utilization.memory_util_percent)),
    _Column("°C", lambda sample: value(sample.temperature.gpu_temp_c)),
    _Column(
        "Power W",
        lambda sample: pair(_watts(sample.power.power_draw_mw), _watts(sample.power.power_limit_mw)),
    ),
    _Column("Procs", lambda sample: value(sample.compute_process_count)),
)
_MORE = (
    _Column(
        "Clocks MHz", lambda sample: pair(sample.clocks.sm_clock_mhz, sample.clocks.mem_clock_mhz), "clocks {} MHz"
    ),
    _Column("State", lambda sample: value(sample.performance_state), "state {}"),
)
_BUS_ID = (_Column("Bus id", lambda sample: value(sample.pci_bus_id)),)
_RIGHT = range(1, 7)


def sample_lines(samples: Sequence[GpuSample], width: int, *, names: Sequence[str] = ()) -> list[Text]:
    """The samples with a header and a legend; `names` are those of the GPUs, by default as much of a UUID as it takes.

    Clocks and state stand below the row where the screen is too narrow for them.
    """
    if not samples:
        return [Text("no GPUs")]
    shown = list(zip(names or _names(samples), samples, strict=True))
    (header, *rows), below = _table(shown, width)
    lines, left = [Text(header, "bold")], iter(rows)
    for sample in samples:
        lines.append(Text(next(left)))
        if below:
            lines.append(Text(INDENT + GAP.join(column.alone.format(column.cell(sample)) for column in below), "dim"))
        lines += [Text(next(left)) for _ in sample.mig_samples]
        lines += note_lines(missing_notes(_shown(sample)), width)
    return [*lines, Text(), *(Text(line, "dim") for line in wrapped(_LEGEND, width))]


def _names(samples: Sequence[GpuSample]) -> list[str]:
    """What tells the GPUs apart: the beginning of the UUID, else the bus id."""
    uuids = {sample.uuid for sample in samples if is_known(sample.uuid)}
    length = next((cut for cut in _NAME_LENGTHS if len({str(uuid)[:cut] for uuid in uuids}) == len(uuids)), None)
    return [_name(sample, length) for sample in samples]


def _name(sample: GpuSample, length: int | None) -> str:
    if is_known(sample.uuid):
        return clean(sample.uuid)[:length]
    return "no UUID" if isinstance(sample.pci_bus_id, Missing) else clean(sample.pci_bus_id)


def _table(shown: Sequence[tuple[str, GpuSample]], width: int) -> tuple[list[str], tuple[_Column, ...]]:
    """Header and rows with as many columns as there is room for, and the columns that stand below each row."""
    bus_id = _BUS_ID if any(is_known(sample.pci_bus_id) for _, sample in shown) else ()
    table: list[str] = []
    for columns, below in (((*_FIRST, *_MORE, *bus_id), ()), ((*_FIRST, *_MORE), ()), (_FIRST, _MORE)):
        rows = [["GPU", *(column.heading for column in columns)], *_rows(shown, columns)]
        table = [GAP.join(cells).rstrip() for cells in aligned(rows, right=_RIGHT)]
        if max(map(cell_len, table)) <= width:
            return table, below
    return table, _MORE


def _rows(shown: Sequence[tuple[str, GpuSample]], columns: Sequence[_Column]) -> Iterator[list[str]]:
    for name, sample in shown:
        yield [name, *(column.cell(sample) for column in columns)]
        for device in sample.mig_samples:
            memory = pair(device.fb_memory.used_mib, device.fb_memory.total_mib)
            yield [INDENT + _place(device), memory, *[""] * (len(columns) - 1)]


def _place(device: MigSample) -> str:
    return f"gi{device.gpu_instance_id}/ci{device.compute_instance_id}"


def _shown(sample: GpuSample) -> Mapping[str, Reading[object]]:
    memory, busy, clocks = sample.fb_memory, sample.utilization, sample.clocks
    return {
        "UUID": sample.uuid,
        "memory": worst(memory.used_mib, memory.total_mib),
        **{
            f"memory of {_place(device)}": worst(device.fb_memory.used_mib, device.fb_memory.total_mib)
            for device in sample.mig_samples
        },
        "utilization": worst(busy.gpu_util_percent, busy.memory_util_percent),
        "temperature": sample.temperature.gpu_temp_c,
        "power draw": sample.power.power_draw_mw,
        "power limit": sample.power.power_limit_mw,
        "compute processes": sample.compute_process_count,
        "clocks": worst(clocks.sm_clock_mhz, clocks.mem_clock_mhz),
        "state": sample.performance_state,
    }
