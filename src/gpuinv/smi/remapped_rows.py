"""`nvidia-smi --query-remapped-rows=…`: row remapping by GPU, without the rest of a snapshot."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import attrs

from gpuinv.errors import Issue
from gpuinv.ids import GpuUuid, PciBusId
from gpuinv.inventory import RemappedRows
from gpuinv.inventory._fields import doc, reading, record
from gpuinv.readings import Missing, Reading
from gpuinv.smi.queries import Query
from gpuinv.smi.query_gpu import query_columns, read_query

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

__all__ = ["REMAPPED_ROWS", "REMAPPED_ROWS_FIELDS", "GpuRemappedRows", "RemappedRowsAnswer", "parse_remapped_rows"]

REMAPPED_ROWS_FIELDS = (
    "gpu_uuid",
    "remapped_rows.correctable",
    "remapped_rows.uncorrectable",
    "remapped_rows.pending",
    "remapped_rows.failure",
)
"""The fields of the query, in its order."""

REMAPPED_ROWS = Query((f"--query-remapped-rows={','.join(REMAPPED_ROWS_FIELDS)}", "--format=csv,noheader"))

_RECORD = {
    "remapped_rows.correctable": "remapped_row_corr",
    "remapped_rows.uncorrectable": "remapped_row_unc",
    "remapped_rows.correctable_inactive": "remapped_row_corr_inactive",
    "remapped_rows.uncorrectable_inactive": "remapped_row_unc_inactive",
    "remapped_rows.pending": "row_remap_pending",
    "remapped_rows.failure": "row_remap_failure",
}
"""The fields of the record by the first of their names in the query."""


@attrs.frozen(kw_only=True)
class GpuRemappedRows:
    """The row remapping of one GPU."""

    uuid: Reading[GpuUuid] = reading("The GPU's identity.")
    pci_bus_id: Reading[PciBusId] = reading("Its PCI address, where it was asked for.")
    remapped_rows: RemappedRows = record("Its row remapping.", RemappedRows)


@attrs.frozen(kw_only=True)
class RemappedRowsAnswer:
    """The row remapping of each GPU that answered, in the tool's order."""

    gpus: tuple[GpuRemappedRows, ...] = doc("The GPUs.", default=())
    issues: tuple[Issue, ...] = doc("GPUs that could not be opened, and values that could not be read.", default=())


def parse_remapped_rows(
    text: str | bytes,
    fields: Sequence[str] = REMAPPED_ROWS_FIELDS,
    *,
    mig_enabled: Collection[GpuUuid] = (),
) -> RemappedRowsAnswer:
    """Read the output of `nvidia-smi --query-remapped-rows=<fields> --format=csv[,noheader]`.

    `pending` and `failure` read `Yes` and `No` or 1 and 0. This query does not tell whether MIG is on: for the GPUs of
    `mig_enabled` a `[N/A]` is HIDDEN_BY_MIG, for others NOT_SUPPORTED.

    Raises:
        RefusedField: the driver does not know a field.
        WrongColumns: a line has another number of columns, so that no line is trusted.
        ParseError: there is no answer at all. More than 4096 rows or 1000 oddities.
        UsageError: `fields` is empty, or is one text.
    """
    columns = query_columns(fields)
    names = [column.name for column in columns]
    rows, values = read_query(text, columns, source=REMAPPED_ROWS.source)
    gpus = tuple(_gpu(dict(zip(names, row, strict=True)), mig_enabled) for row in values)
    return RemappedRowsAnswer(gpus=gpus, issues=tuple(rows.issues))


def _gpu(row: dict[str, Reading[Any]], mig_enabled: Collection[GpuUuid]) -> GpuRemappedRows:
    uuid = row.get("uuid", Missing.ABSENT)
    facts = {_RECORD[name]: value for name, value in row.items() if name in _RECORD}
    if uuid in mig_enabled:
        hidden = {name: Missing.HIDDEN_BY_MIG for name, value in facts.items() if value is Missing.NOT_SUPPORTED}
        facts.update(hidden)
    return GpuRemappedRows(
        uuid=uuid, pci_bus_id=row.get("pci.bus_id", Missing.ABSENT), remapped_rows=RemappedRows(**facts)
    )
