"""What a person has to know of a GPU beside its row: what is wrong, what waits for a reset, what is missing and why."""

from __future__ import annotations

from typing import TYPE_CHECKING

import attrs

from gpuinv.cli._words import REASONS, TELLING, clean, count
from gpuinv.readings import Missing, is_known, known_or

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from gpuinv.inventory import Gpu
    from gpuinv.readings import Reading

__all__ = ["Note", "missing_notes", "notes", "worst"]


@attrs.frozen
class Note:
    """A line below a GPU."""

    text: str
    serious: bool = True
    reason: Missing | None = None
    """Why something is missing, where the note is about that."""


def notes(gpu: Gpu) -> list[Note]:
    """Every note of a GPU, the worst first."""
    said = [*_state(gpu), *_repairs(gpu), *_mig_errors(gpu)]
    passed_over = {Missing.LOST} if gpu.gpu_lost else set()
    missing = [note for note in missing_notes(_shown(gpu)) if note.reason not in passed_over]
    return [Note(text) for text in said] + [Note(text, serious=False) for text in _changes(gpu)] + missing


def _state(gpu: Gpu) -> Iterator[str]:
    if gpu.gpu_lost:
        yield "LOST: the driver no longer reaches this GPU"
    if gpu.gpu_excluded is True:
        yield "EXCLUDED: the driver was told to leave this GPU alone"
    if isinstance(gpu.uuid, Missing) and gpu.gpu_excluded is not True:
        yield "no usable UUID: this GPU makes no device"
    action = gpu.gpu_recovery_action
    if is_known(action) and action != "None":
        yield f"the driver asks for: {clean(action)}"
    if gpu.reset_required is True:
        yield "the driver asks for a reset"
    if gpu.drain_and_reset_recommended is True:
        yield "the driver advises to drain and reset"


def _repairs(gpu: Gpu) -> Iterator[str]:
    rows, errors, pages = gpu.remapped_rows, gpu.ecc_errors, gpu.retired_pages
    stated: tuple[tuple[Reading[bool], str], ...] = (
        (rows.row_remap_failure, "FAILED to remap a memory row"),
        (errors.unrepairable_memory, "memory that no repair can help"),
        (errors.aggregate.sram_threshold_exceeded, "SRAM errors beyond the threshold for replacement"),
        (rows.row_remap_pending, "a memory row waits for a reset to be remapped"),
        (errors.channel_repair_pending, "a memory channel waits for a reset to be repaired"),
        (errors.tpc_repair_pending, "a TPC waits for a reset to be repaired"),
        (pages.pending_retirement, "a memory page waits for a reboot to be retired"),
    )
    yield from (text for reading, text in stated if reading is True)
    single, double = known_or(pages.single_bit_retired_count, 0), known_or(pages.double_bit_retired_count, 0)
    if single or double:
        yield f"retired pages: {single} for single-bit errors, {double} for double-bit errors"


def _mig_errors(gpu: Gpu) -> Iterator[str]:
    for device in known_or(gpu.mig_instances, ()):
        errors = known_or(device.volatile_sram_uncorrectable, 0)
        if errors:
            place = f"gi{device.gpu_instance_id}/ci{device.compute_instance_id}"
            yield f"{place}: {count(errors, 'uncorrected SRAM error')} since the driver was loaded"


def _changes(gpu: Gpu) -> Iterator[str]:
    for name, current, pending, when in (
        ("ECC", gpu.ecc_mode.current_ecc, gpu.ecc_mode.pending_ecc, "reboot"),
        ("MIG", gpu.mig_mode.current_mig, gpu.mig_mode.pending_mig, "reset"),
    ):
        if is_known(current) and is_known(pending) and current != pending:
            yield f"{name} will be {'on' if pending else 'off'} after the next {when}"
    if gpu.mig_mode.current_mig is True and gpu.mig_instances == ():
        yield "no MIG devices"


def _shown(gpu: Gpu) -> dict[str, Reading[object]]:
    volatile, aggregate, rows = gpu.ecc_errors.volatile, gpu.ecc_errors.aggregate, gpu.remapped_rows
    return {
        "name": gpu.product_name,
        "memory": gpu.fb_total_mib,
        "ECC mode": gpu.ecc_mode.current_ecc,
        "volatile corrected errors": volatile.corrected_total,
        "aggregate corrected errors": aggregate.corrected_total,
        "volatile uncorrected errors": volatile.uncorrected_total,
        "aggregate uncorrected errors": aggregate.uncorrected_total,
        "remapped rows": worst(
            rows.remapped_row_corr, rows.remapped_row_unc, rows.row_remap_pending, rows.row_remap_failure
        ),
        "MIG mode": gpu.mig_mode.current_mig,
        "MIG devices": gpu.mig_instances,
        "bus id": gpu.pci_bus_id,
        "NUMA node": gpu.numa_node,
        "minor number": gpu.minor_number,
        "UUID": gpu.uuid,
    }


def worst(*readings: Reading[object]) -> Reading[object]:
    """The reason that tells most among several readings; else the first of them."""
    return next((reason for reason in TELLING if reason in readings), readings[0])


def missing_notes(shown: Mapping[str, Reading[object]]) -> list[Note]:
    """What is shown as a dash for a reason that tells something, by name: one note a reason."""
    by_reason: dict[Missing, list[str]] = {}
    for name, reading in shown.items():
        if isinstance(reading, Missing):
            by_reason.setdefault(reading, []).append(name)
    return [
        Note(f"{REASONS[reason]}: {', '.join(by_reason[reason])}", serious=False, reason=reason)
        for reason in TELLING
        if reason in by_reason
    ]
