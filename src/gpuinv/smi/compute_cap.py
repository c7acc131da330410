"""`nvidia-smi --query-gpu=uuid,compute_cap --format=csv,noheader`: compute capabilities, which no other output has."""

from __future__ import annotations

import attrs

from gpuinv.errors import Issue
from gpuinv.ids import GpuUuid
from gpuinv.inventory._fields import doc
from gpuinv.readings import Reading, is_known
from gpuinv.smi.queries import COMPUTE_CAP
from gpuinv.smi.query_gpu import query_columns, read_query

__all__ = ["ComputeCaps", "parse_compute_cap"]

_COLUMNS = query_columns(("uuid", "compute_cap"))


@attrs.frozen(kw_only=True)
class ComputeCaps:
    """The compute capability of each GPU, `9.0`."""

    by_uuid: tuple[tuple[GpuUuid, Reading[str]], ...] = doc("UUID and compute capability; each UUID once.", default=())
    issues: tuple[Issue, ...] = doc("GPUs that could not be opened, rows without a UUID, odd values.", default=())


def parse_compute_cap(text: str | bytes) -> ComputeCaps:
    """Read the output of `nvidia-smi --query-gpu=uuid,compute_cap --format=csv,noheader`: rows `GPU-…, 9.0`.

    A header line is skipped; a GPU that could not be opened is an issue, not a row, as is a row without a UUID. Of rows
    with the same UUID the first is kept.

    Raises:
        RefusedField: the driver does not know the field.
        WrongColumns: a line has another number of columns, so that no row is trusted.
        ParseError: there is no answer at all.
    """
    rows, values = read_query(text, _COLUMNS, source=COMPUTE_CAP.source)
    caps: dict[GpuUuid, Reading[str]] = {}
    for uuid, cap in values:
        if is_known(uuid):
            caps.setdefault(uuid, cap)
    return ComputeCaps(by_uuid=tuple(caps.items()), issues=tuple(rows.issues))
