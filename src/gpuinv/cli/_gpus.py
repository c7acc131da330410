"""GPUs as a person reads them: a row of columns each, where it sits, its MIG devices, what is wrong with it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.cells import cell_len
from rich.text import Text

from gpuinv.cli._columns import aligned, filled, table, wrapped
from gpuinv.cli._notes import notes
from gpuinv.cli._words import NONE, clean, mib, mode, pair, value
from gpuinv.inventory import Layer
from gpuinv.readings import Missing, is_known, known_or

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from gpuinv.cli._notes import Note
    from gpuinv.inventory import Gpu, MigInstance
    from gpuinv.readings import Reading

__all__ = ["INDENT", "gpu_lines", "note_lines"]

INDENT = "   "
"""Of what stands below a GPU's row."""
_HEADER = ["GPU", "Memory", "ECC", "corr.", "uncorr.", "Remapped", "MIG"]
_RIGHT = (1, 3, 4, 5)
_SEAT_HEADER = ["Bus id", "NUMA", "Minor"]
_RIGHT_WIDE = (*_RIGHT, 8, 9)
_MOST_LINES = 2
"""Into how many lines a long name may be folded for the sake of more columns."""
_PROCFS_HEADER = ["GPU", "VBIOS", "PCI id", "PCIe link"]
_LEGEND = (
    "corr., uncorr.: ECC errors since the driver was loaded / since manufacture",
    "Remapped: rows of memory, for corrected / for uncorrected errors",
)


def gpu_lines(gpus: Sequence[Gpu], width: int) -> list[Text]:
    """The GPUs in the order of their index, with a header and, where it helps, a legend."""
    if not gpus:
        return []
    by_index = sorted(gpus, key=lambda gpu: gpu.gpu_index)
    asked = any(Layer.NVIDIA_SMI in gpu.layers for gpu in by_index)
    (header, *rows), seated = _rows(by_index, width) if asked else _procfs_rows(by_index, width)
    places = _places(by_index, seated=seated)
    lines = [Text(line, "bold") for line in header]
    for gpu, row, place, devices in zip(by_index, rows, places, _devices(by_index), strict=True):
        lines += [Text(line) for line in row]
        lines += [Text(line, "dim") for line in filled(place, width, indent=INDENT)]
        lines += [Text(line) for device in devices for line in filled(device, width, indent=INDENT)]
        lines += note_lines(notes(gpu), width)
    return lines + (_legend(by_index, width) if asked else [])


def _rows(gpus: Sequence[Gpu], width: int) -> tuple[list[list[str]], bool]:
    """Header and rows, each as its lines; and whether there was room for where each GPU sits."""
    rows = [_HEADER, *map(_row, gpus)]
    seats = [_SEAT_HEADER, *map(_seat, gpus)]
    wide = table([row + seat for row, seat in zip(rows, seats, strict=True)], width, right=_RIGHT_WIDE)
    if all(len(lines) <= _MOST_LINES and cell_len(lines[0]) <= width for lines in wide):
        return wide, True
    return table(rows, width, right=_RIGHT), False


def _procfs_rows(gpus: Sequence[Gpu], width: int) -> tuple[list[list[str]], bool]:
    return table([_PROCFS_HEADER, *map(_procfs_row, gpus)], width), False


def _row(gpu: Gpu) -> list[str]:
    volatile, aggregate = gpu.ecc_errors.volatile, gpu.ecc_errors.aggregate
    rows = gpu.remapped_rows
    return [
        _title(gpu),
        mib(gpu.fb_total_mib),
        mode(gpu.ecc_mode.current_ecc, gpu.ecc_mode.pending_ecc),
        pair(volatile.corrected_total, aggregate.corrected_total),
        pair(volatile.uncorrected_total, aggregate.uncorrected_total),
        pair(rows.remapped_row_corr, rows.remapped_row_unc),
        mode(gpu.mig_mode.current_mig, gpu.mig_mode.pending_mig),
    ]


def _procfs_row(gpu: Gpu) -> list[str]:
    """What there is to say without nvidia-smi."""
    generation, lanes = gpu.max_link_gen, gpu.max_link_width
    link = f"gen {generation} x{lanes}" if is_known(generation) and is_known(lanes) else NONE
    return [_title(gpu), value(gpu.vbios_version), value(gpu.pci_device_id), link]


def _title(gpu: Gpu) -> str:
    name = "unnamed GPU" if isinstance(gpu.product_name, Missing) else clean(gpu.product_name)
    return f"{gpu.gpu_index:<2} {name}"


def _places(gpus: Sequence[Gpu], *, seated: bool) -> list[list[str]]:
    """Where each GPU sits, unless its row says it, and who it is; the parts line up from GPU to GPU."""
    parts = [[*([] if seated else _named_seat(gpu)), _uuid(gpu.uuid, "no UUID")] for gpu in gpus]
    return [[*row, *_rack(gpu), *_fabric(gpu)] for row, gpu in zip(aligned(parts), gpus, strict=True)]


def _seat(gpu: Gpu) -> list[str]:
    return [value(gpu.pci_bus_id), value(gpu.numa_node), value(gpu.minor_number)]


def _named_seat(gpu: Gpu) -> list[str]:
    bus_id, numa_node, minor = _seat(gpu)
    return [bus_id, f"NUMA {numa_node}", f"minor {minor}"]


def _uuid(uuid: Reading[str], missing: str) -> str:
    return missing if isinstance(uuid, Missing) else clean(uuid)


def _rack(gpu: Gpu) -> list[str]:
    """Its place in a rack. A module number alone, which single boards print too, is no place."""
    place = gpu.platform_info
    if not (is_known(place.chassis_serial_number) or is_known(place.slot_number) or is_known(place.tray_index)):
        return []
    named = {
        "chassis": place.chassis_serial_number,
        "slot": place.slot_number,
        "tray": place.tray_index,
        "host": place.host_id,
        "module": place.module_id,
    }
    return [f"{name} {clean(part)}" for name, part in named.items() if is_known(part)]


def _fabric(gpu: Gpu) -> list[str]:
    clique = gpu.fabric.clique
    if is_known(clique):
        return [f"fabric {clean(clique[0])} clique {clique[1]}"]
    return [f"fabric {clean(gpu.fabric.state).lower()}"] if is_known(gpu.fabric.state) else []


def _devices(gpus: Sequence[Gpu]) -> list[list[list[str]]]:
    """The MIG devices of each GPU; their parts line up over all GPUs."""
    cells = [_gpu_devices(gpu) for gpu in gpus]
    every = [row for rows in cells for row in rows]
    lined_up = iter(aligned(every, right=(2,)) if every else [])
    return [[next(lined_up) for _ in rows] for rows in cells]


def _gpu_devices(gpu: Gpu) -> list[list[str]]:
    devices = known_or(gpu.mig_instances, ())
    taken = {device.gpu_instance_id for device in devices}
    rows = [(device.gpu_instance_id, device.compute_instance_id, _device(device)) for device in devices]
    for instance in known_or(gpu.gpu_instances, ()):
        if instance.gpu_instance_id not in taken:
            empty = [f"gi{instance.gpu_instance_id}", value(instance.mig_profile), "", "no compute instance"]
            rows.append((instance.gpu_instance_id, -1, empty))
    return [cells for _, _, cells in sorted(rows)]


def _device(device: MigInstance) -> list[str]:
    place = f"gi{device.gpu_instance_id}/ci{device.compute_instance_id}"
    return [place, value(device.mig_profile), mib(device.fb_total_mib), _uuid(device.mig_uuid, f"UUID {NONE}")]


def note_lines(notes: Iterable[Note], width: int) -> list[Text]:
    """Notes below a GPU."""
    lines = []
    for note in notes:
        mark, style = ("!", "red") if note.serious else ("·", "")
        lines += [Text(line, style) for line in wrapped(note.text, width, first=f"{INDENT}{mark} ", indent="     ")]
    return lines


def _legend(gpus: Iterable[Gpu], width: int) -> list[Text]:
    """What the pairs of numbers mean, where there is one."""
    rows = [_row(gpu) for gpu in gpus]
    shown = [any(row[3] != NONE or row[4] != NONE for row in rows), any(row[5] != NONE for row in rows)]
    needed = [text for text, wanted in zip(_LEGEND, shown, strict=True) if wanted]
    return [Text(), *(Text(line, "dim") for text in needed for line in wrapped(text, width))] if needed else []
