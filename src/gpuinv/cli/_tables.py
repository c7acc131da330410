"""What `gpuinv parse` shows of the listings of MIG and of the CSV queries: tables of as many columns as fit."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rich.text import Text

from gpuinv.cli._columns import chunked, wrapped
from gpuinv.cli._gpus import INDENT
from gpuinv.cli._records import listing
from gpuinv.cli._samples import sample_lines
from gpuinv.cli._words import NONE, clean, count, pair, value, with_reason
from gpuinv.readings import Missing, Reading, is_known
from gpuinv.smi.mig_listings import MigState

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gpuinv.smi.compute_apps import ComputeApps
    from gpuinv.smi.gpu_reset import GpuReset, ResetAnswer
    from gpuinv.smi.mig_listings import (
        ComputeInstanceProfiles,
        ComputeInstances,
        GpuInstances,
        MigListing,
        MigPlacements,
        MigProfiles,
    )
    from gpuinv.smi.query_gpu import QueryGpu
    from gpuinv.smi.query_help import QueryHelp
    from gpuinv.smi.remapped_rows import RemappedRowsAnswer
    from gpuinv.smi.samples import Samples

__all__ = [
    "compute_app_lines",
    "compute_instance_lines",
    "compute_instance_profile_lines",
    "gpu_instance_lines",
    "gpu_reset_lines",
    "mig_profile_lines",
    "placement_lines",
    "query_help_lines",
    "query_lines",
    "remapped_row_lines",
    "samples_lines",
]

_STATES = {
    MigState.LISTED: "no rows",
    MigState.EMPTY: "none",
    MigState.OFF: "MIG is off on every GPU",
    MigState.INCAPABLE: "no GPU can do MIG",
}
"""What is said where nothing is listed."""
_LONGEST = 4000
"""What an explanation of the tool's may be long; a screen or two."""
_ENGINES = ["SM", "CE", "DEC", "ENC", "JPEG", "OFA"]
_INCOMPLETE = "incomplete: the tool refused a part of it, so a GPU without a row may still have something"


def mig_profile_lines(profiles: MigProfiles, width: int) -> list[Text]:
    """The profiles on offer: how many instances are free of how many, and what one has."""
    rows = [
        [
            f"{row.smi_index:<3} {value(row.profile.mig_profile)}",
            value(row.profile.mig_profile_id),
            pair(row.free_instances, row.profile.total_instances),
            value(row.memory_gib),
            value(row.profile.p2p),
            *_engines(row.profile),
        ]
        for row in profiles.profiles
    ]
    return _listed(profiles, ["GPU profile", "Id", "Free", "GiB", "P2P", *_ENGINES], rows, width)


def gpu_instance_lines(instances: GpuInstances, width: int) -> list[Text]:
    """The GPU instances, and the memory slices that they take."""
    rows = [
        [
            f"{row.smi_index:<3} gi{row.instance.gpu_instance_id}",
            value(row.instance.mig_profile),
            value(row.instance.mig_profile_id),
            _placement(row.instance.placement_start, row.instance.placement_size),
        ]
        for row in instances.instances
    ]
    return _listed(instances, ["GPU instance", "Profile", "Id", "Start:size"], rows, width, right=(2, 3))


def compute_instance_lines(instances: ComputeInstances, width: int) -> list[Text]:
    """The compute instances, and the compute slices that they take."""
    rows = [
        [
            f"{row.smi_index:<3} gi{row.instance.gpu_instance_id}/ci{row.instance.compute_instance_id}",
            value(row.instance.mig_profile),
            value(row.instance.compute_instance_profile_id),
            _placement(row.instance.placement_start, row.instance.placement_size),
        ]
        for row in instances.instances
    ]
    return _listed(instances, ["GPU instance", "Profile", "Id", "Start:size"], rows, width, right=(2, 3))


def placement_lines(placements: MigPlacements, width: int) -> list[Text]:
    """Where instances of each profile can lie."""
    rows = [
        [
            f"{row.smi_index:<3} {row.mig_profile_id}",
            value(row.placement_size),
            ", ".join(map(str, row.placement_starts)) or NONE,
        ]
        for row in placements.placements
    ]
    return _listed(placements, ["GPU profile id", "Size", "Starts"], rows, width, right=(1,))


def compute_instance_profile_lines(profiles: ComputeInstanceProfiles, width: int) -> list[Text]:
    """What each GPU instance offers; `*` marks the profile that takes all of it."""
    rows = [
        [
            f"{row.smi_index:<3} gi{row.gpu_instance_id} {value(row.mig_profile)}",
            f"{row.compute_instance_profile_id}{'*' if row.is_default else ''}",
            pair(row.free_instances, row.total_instances),
            *_engines(row),
        ]
        for row in profiles.profiles
    ]
    return _listed(profiles, ["GPU instance, profile", "Id", "Free", *_ENGINES], rows, width)


def query_lines(answer: QueryGpu, width: int) -> list[Text]:
    """A line for each row of the answer, where it fits; else a line for each field."""
    if not answer.rows:
        return [Text("no GPUs")]
    fields = list(map(clean, answer.fields))
    rows = [[with_reason(row[field]) for field in answer.fields] for row in answer.rows]
    if len(chunked([fields, *rows], width)) == 1 and len(rows) > 1:
        return _table(fields, rows, width)
    numbers = [f"row {number}" for number in range(1, len(rows) + 1)]
    return _table(["field", *numbers], [list(row) for row in zip(fields, *rows, strict=True)], width)


def samples_lines(samples: Samples, width: int) -> list[Text]:
    """The samples, as `gpuinv samples` shows them."""
    return sample_lines(samples.samples, width)


def compute_app_lines(apps: ComputeApps, width: int) -> list[Text]:
    """How many compute processes each GPU has."""
    lines = listing({str(uuid): number for uuid, number in apps.by_uuid}, width)
    unnamed = f"{count(apps.unattributed, 'line')} without the UUID of a GPU"
    return [*lines, *([Text(unnamed)] if apps.unattributed else [])] or [Text("no compute processes")]


def remapped_row_lines(answer: RemappedRowsAnswer, width: int) -> list[Text]:
    """The row remapping of each GPU."""
    rows = [
        [
            _gpu(gpu.uuid, gpu.pci_bus_id),
            pair(gpu.remapped_rows.remapped_row_corr, gpu.remapped_rows.remapped_row_unc),
            value(gpu.remapped_rows.row_remap_pending),
            value(gpu.remapped_rows.row_remap_failure),
        ]
        for gpu in answer.gpus
    ]
    header = ["GPU", "corr. / uncorr.", "pending", "failed"]
    return _table(header, rows, width, right=(1,)) if rows else [Text("no GPUs")]


def query_help_lines(answer: QueryHelp, width: int) -> list[Text]:
    """Every field with its aliases, and what the help says of it."""
    lines: list[Text] = []
    for field in answer.fields:
        names = ", ".join(map(value, (field.field_name, *field.aliases)))
        lines += [Text(line, "bold") for line in wrapped(names, width, indent=INDENT)]
        said = clean(field.description, _LONGEST)
        lines += [Text(line) for line in wrapped(said, width, first=INDENT, indent=INDENT)] if said else []
    return lines


def gpu_reset_lines(reset: GpuReset, width: int) -> list[Text]:
    """What became of each GPU, and what the tool says a person should do."""
    said = [*map(_reset, reset.answers), *([clean(reset.explanation, _LONGEST)] if reset.explanation else [])]
    end = ["all done"] if reset.all_done else []
    return [Text(line) for text in [*said, *end] for line in wrapped(text, width, indent=INDENT)]


def _reset(answer: ResetAnswer) -> str:
    became = "was reset" if answer.was_reset else f"was not reset: {clean(answer.reason)}"
    return f"{with_reason(answer.pci_bus_id)} {became}"


def _gpu(uuid: Reading[Any], bus_id: Reading[Any]) -> str:
    return value(bus_id) if isinstance(uuid, Missing) and is_known(bus_id) else with_reason(uuid)


def _engines(row: Any) -> list[str]:  # noqa: ANN401 - the counts have the same names in both kinds of profile
    counts = (
        row.multiprocessor_count,
        row.copy_engine_count,
        row.decoder_count,
        row.encoder_count,
        row.jpg_count,
        row.ofa_count,
    )
    return [value(each) for each in counts]


def _placement(start: Reading[int], size: Reading[int]) -> str:
    return NONE if isinstance(start, Missing) and isinstance(size, Missing) else f"{value(start)}:{value(size)}"


def _listed(
    answer: MigListing,
    header: list[str],
    rows: list[list[str]],
    width: int,
    *,
    right: Sequence[int] = range(1, 12),
) -> list[Text]:
    """The rows of a listing, or what it says in their place."""
    lines = _table(header, rows, width, right=right) if rows else [Text(_STATES[answer.state])]
    return lines if answer.complete else [*lines, *(Text(line) for line in wrapped(_INCOMPLETE, width))]


def _table(header: list[str], rows: list[list[str]], width: int, *, right: Sequence[int] = ()) -> list[Text]:
    lines: list[Text] = []
    for part in chunked([header, *rows], width, right=right):
        lines += [*([Text()] if lines else []), Text(part[0], "bold"), *map(Text, part[1:])]
    return lines
