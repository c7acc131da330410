"""`nvidia-smi --query-gpu=<fields> --format=csv[,noheader][,nounits]`: any fields, to typed readings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import attrs

from gpuinv.errors import Issue, UsageError
from gpuinv.inventory._fields import doc
from gpuinv.readings import Missing, Reading
from gpuinv.smi._csv import Column, RefusedField, Rows, WrongColumns, read_rows, read_values
from gpuinv.smi.queries import TOOL
from gpuinv.smi.query_fields import query_field

__all__ = ["QueryGpu", "RefusedField", "WrongColumns", "parse_query_gpu"]

_SOURCE = f"{TOOL} --query-gpu"
_FREE_TEXT = "name"
_UUID = "uuid"
_MIG_MODE = "mig.mode.current"
_REMAPPING = "remapped_rows."


@attrs.frozen(kw_only=True)
class QueryGpu:
    """The answer of one query: a row for each GPU that answered, in the tool's order."""

    fields: tuple[str, ...] = doc("The fields, as they were asked for.")
    rows: tuple[Mapping[str, Reading[Any]], ...] = doc("Readings by field, as it was asked for.", default=())
    issues: tuple[Issue, ...] = doc("GPUs that could not be opened, and values that could not be read.", default=())


def parse_query_gpu(text: str | bytes, fields: Sequence[str]) -> QueryGpu:
    """Read the answer to a query for `fields`, in the order in which they were asked for, by any of their names.

    A header is skipped where there is one. Numbers are in the unit of their field (MiB, %, MHz, °C; W becomes mW),
    wherever the unit is printed; `query_fields` has the forms, and what it does not have is text. A `[N/A]` of
    `remapped_rows` is HIDDEN_BY_MIG where the same row says that MIG is on: ask for `mig.mode.current` beside it.

    A line of the tool's errors is an issue and no row, wherever it stands; "No devices were found" is an answer without
    rows. An empty cell of a query for one field alone cannot be told from a blank line, and is none.

    Raises:
        RefusedField: the driver does not know a field, and answered nothing.
        WrongColumns: a line has another number of columns, or a header names others. Then none of the lines counts.
            Only a `name` that stands last may hold commas: in any other place one could not be told from a column too
            many, and no product has one.
        ParseError: there is no answer at all.
        UsageError: `fields` is empty, or is one text.
    """
    columns = query_columns(fields)
    rows, values = read_query(text, columns, source=_SOURCE)
    return QueryGpu(
        fields=tuple(fields),
        rows=tuple(dict(zip(fields, row, strict=True)) for row in values),
        issues=tuple(rows.issues),
    )


def query_columns(fields: Sequence[str]) -> tuple[Column, ...]:
    """The columns of a query for these fields."""
    if isinstance(fields, str) or not fields:
        raise UsageError("the fields of a query are a list of names")
    return tuple(query_field(name) for name in fields)


def read_query(text: str | bytes, columns: Sequence[Column], *, source: str) -> tuple[Rows, list[list[Reading[Any]]]]:
    """The readings of each row, in the order of the columns, and what was said beside them."""
    names = [column.name for column in columns]
    free = len(columns) - 1 if names[-1] == _FREE_TEXT else None
    rows = read_rows(text, columns, source=source, free=free).answer()
    values = read_values(rows, columns, uuid=names.index(_UUID) if _UUID in names else None)
    hidden = [position for position, name in enumerate(names) if name.startswith(_REMAPPING)]
    if hidden and _MIG_MODE in names:
        _hide(values, names.index(_MIG_MODE), hidden)
    return rows, values


def _hide(values: list[list[Reading[Any]]], mig: int, hidden: list[int]) -> None:
    """A GPU in MIG mode does not say that it has no remapped rows; it does not show them."""
    for row in values:
        if row[mig] is True:
            for position in hidden:
                if row[position] is Missing.NOT_SUPPORTED:
                    row[position] = Missing.HIDDEN_BY_MIG
