from __future__ import annotations

import pytest

from gpuinv.errors import IssueKind, ParseError, UsageError
from gpuinv.ids import GpuUuid, PciBusId
from gpuinv.inventory import RemappedRows
from gpuinv.readings import Missing
from gpuinv.smi.query_gpu import RefusedField, WrongColumns
from gpuinv.smi.remapped_rows import REMAPPED_ROWS, GpuRemappedRows, RemappedRowsAnswer, parse_remapped_rows

A = GpuUuid("GPU-7a10c0de-33d4-4be7-8a6e-0d2f7c9b1e01")
B = GpuUuid("GPU-7a10c0de-33d4-4be7-8a6e-0d2f7c9b1e02")


@pytest.mark.parametrize("row", ["3, 1, Yes, No", "3, 1, 1, 0", "3,1,yes,no"])
def test_flags_are_words_or_digits(row: str) -> None:
    assert parse_remapped_rows(f"{A}, {row}\n" if ", " in row else f"{A},{row}\n") == RemappedRowsAnswer(
        gpus=(
            GpuRemappedRows(
                uuid=A,
                remapped_rows=RemappedRows(
                    remapped_row_corr=3, remapped_row_unc=1, row_remap_pending=True, row_remap_failure=False
                ),
            ),
        )
    )


def test_what_is_not_shown_is_hidden_on_a_gpu_in_mig_mode_only() -> None:
    found = parse_remapped_rows(
        f"{A}, [N/A], [N/A], [N/A], [Unknown Error]\n{B}, [N/A], [N/A], [N/A], [N/A]\n", mig_enabled={A}
    )
    first, second = (attribute.remapped_rows for attribute in found.gpus)
    assert (first.remapped_row_corr, first.row_remap_pending) == (Missing.HIDDEN_BY_MIG, Missing.HIDDEN_BY_MIG)
    assert first.row_remap_failure is Missing.ERROR
    assert second.row_remap_pending is Missing.NOT_SUPPORTED
    assert [(issue.kind, issue.uuid) for issue in found.issues] == [(IssueKind.READ_ERROR, A)]


def test_other_fields_under_a_header() -> None:
    fields = ("gpu_name", "gpu_bus_id", "remapped_rows.dbe", "remapped_rows.correctable_inactive")
    found = parse_remapped_rows(f"{', '.join(fields)}\nNVIDIA H200, 00000000:83:00.0, 2, 4\n", fields)
    assert found.gpus == (
        GpuRemappedRows(
            pci_bus_id=PciBusId(0, 0x83, 0),
            remapped_rows=RemappedRows(remapped_row_unc=2, remapped_row_corr_inactive=4),
        ),
    )


def test_refusals() -> None:
    with pytest.raises(WrongColumns):
        parse_remapped_rows(f"{A}, 0, 0, No\n")
    with pytest.raises(RefusedField):
        parse_remapped_rows('Field "remapped_rows.pending" is not a valid field to query.\n')
    with pytest.raises(ParseError, match="no answer"):
        parse_remapped_rows("")
    with pytest.raises(UsageError):
        parse_remapped_rows("", ())


def test_the_query() -> None:
    assert REMAPPED_ROWS.argv == (
        "nvidia-smi",
        (
            "--query-remapped-rows=gpu_uuid,remapped_rows.correctable,remapped_rows.uncorrectable,"
            "remapped_rows.pending,remapped_rows.failure"
        ),
        "--format=csv,noheader",
    )
