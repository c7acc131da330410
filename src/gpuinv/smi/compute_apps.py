"""`nvidia-smi --query-compute-apps=…`: how many compute processes each GPU has.

The query lists compute processes only, so its lines are the processes of `-q -x` whose type contains `C`.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

import attrs

import gpuinv.values as v
from gpuinv.errors import Issue, IssueKind, ParseError, UsageError
from gpuinv.ids import GpuUuid, MigUuid
from gpuinv.inventory._fields import doc
from gpuinv.readings import Missing, Reading
from gpuinv.smi import _cells as c
from gpuinv.smi._csv import Column, Rows, read_rows, read_values
from gpuinv.smi.queries import Query
from gpuinv.smi.sentences import MAX_ROWS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gpuinv.text import Line

__all__ = ["COMPUTE_APPS", "ComputeApps", "parse_compute_apps"]

COMPUTE_APPS = Query(("--query-compute-apps=gpu_uuid", "--format=csv,noheader"))
"""The query for what a sample needs. A process's name is not asked for: it may hold commas."""

_UUID, _PID, _NAME = "gpu_uuid", "pid", "process_name"
# What a process calls itself may look like anything, and lines without a UUID are one issue: neither is a reading.
_AS_IT_STANDS = v.ValueReader("as it stands", str)
_COLUMNS = (
    Column(("timestamp",), v.TEXT),
    Column(("gpu_name",), v.NAME),
    Column(("gpu_bus_id",), v.BUS_ID),
    Column(("gpu_serial",), v.NAME),
    Column((_UUID,), _AS_IT_STANDS),
    Column((_PID,), v.INTEGER),
    Column((_NAME, "name"), _AS_IT_STANDS),
    Column(("used_gpu_memory", "used_memory"), c.MIB, "MiB"),
)
_BY_NAME = {name: column for column in _COLUMNS for name in column.names}


@attrs.frozen(kw_only=True)
class ComputeApps:
    """How many compute processes each GPU has; a GPU that is not listed has none."""

    by_uuid: tuple[tuple[GpuUuid, Reading[int]], ...] = doc(
        "UUID and number of processes, or why there is none; each UUID once.", default=()
    )
    unattributed: int = doc("Processes whose line names no GPU: they may be of any.", default=0)
    unopened: int = doc("GPUs that the tool could not open: their processes are not known.", default=0)
    issues: tuple[Issue, ...] = doc("What was said beside the processes.", default=())


def parse_compute_apps(text: str | bytes, fields: Sequence[str] = (_UUID,)) -> ComputeApps:
    """Count the lines of `nvidia-smi --query-compute-apps=<fields> --format=csv[,noheader][,nounits]` by GPU.

    `fields` are those that were asked for, in their order; `gpu_uuid` must be among them. A process name may hold
    commas: what stands before and behind it is read from the ends. No line, or a header alone, is no process; that the
    tool ended well is the caller's to know. A MIG device's UUID counts for its GPU where it names it (before R470).

    Raises:
        RefusedField: the driver does not know a field.
        WrongColumns: a line has another number of columns, so that no line is trusted.
        ParseError: the tool reports that it failed. A failed query is not zero processes. More than 65,536 processes
            or 1000 oddities.
        UsageError: `fields` has an unknown field, or no `gpu_uuid`.
    """
    columns = _columns(fields)
    names = [column.name for column in columns]
    free = names.index(_NAME) if _NAME in names else None
    rows = read_rows(text, columns, source=COMPUTE_APPS.source, free=free, most=MAX_ROWS)
    if rows.failed:
        raise rows.no_answer()
    values = read_values(rows, columns, uuid=None)
    return _counted(rows, values, names)


def _columns(fields: Sequence[str]) -> tuple[Column, ...]:
    if isinstance(fields, str) or _UUID not in fields:
        raise UsageError("the fields are a list of names with gpu_uuid among them")
    unknown = [name for name in fields if name not in _BY_NAME]
    if unknown:
        raise UsageError(f"not a field of a compute process: {unknown[0]!r}")
    return tuple(_BY_NAME[name] for name in fields)


def _counted(rows: Rows, values: list[list[Reading[Any]]], names: list[str]) -> ComputeApps:
    uuid_at = names.index(_UUID)
    pid_at = names.index(_PID) if _PID in names else None
    counts: Counter[GpuUuid] = Counter()
    reasons: dict[GpuUuid, Missing] = {}
    unattributed: list[Line] = []
    for (line, _), row in zip(rows.cells, values, strict=True):
        uuid = _gpu_uuid(str(row[uuid_at]))
        pid = None if pid_at is None else row[pid_at]
        if uuid is None:
            unattributed.append(line)
        elif isinstance(pid, Missing):
            reasons[uuid] = pid
        else:
            counts[uuid] += 1
    if unattributed:
        rows.note(unattributed[0], IssueKind.NO_UUID, _without_uuid(len(unattributed)))
    by_uuid: dict[GpuUuid, Reading[int]] = {**counts, **reasons}
    return ComputeApps(
        by_uuid=tuple(by_uuid.items()),
        unattributed=len(unattributed),
        unopened=rows.unopened,
        issues=tuple(rows.issues),
    )


def _without_uuid(count: int) -> str:
    if count == 1:
        return "a process without the UUID of its GPU"
    return f"{count} processes without the UUID of their GPU; this is the first of them"


def _gpu_uuid(text: str) -> GpuUuid | None:
    """The GPU that a line is about."""
    uuid = v.UUID.read(text)
    if isinstance(uuid, GpuUuid):
        return uuid
    try:
        device = MigUuid.parse(text).device_id
    except ParseError:
        return None
    return None if device is None else device.gpu_uuid
