"""ECC counters in their three layouts, retired pages, remapped rows, repair states and memory sizes."""

from __future__ import annotations

import attrs
import pytest

from gpuinv.errors import IssueKind
from gpuinv.inventory import EccCounts, EccErrors, EccMode, EccScope, Gpu, MemoryUsage, RemappedRows, RetiredPages
from gpuinv.readings import Missing, Reading
from gpuinv.smi.query_xml import parse_smi_xml
from tests.smi import xml_builder as build

N_A = "N/A"


def gpu_of(**changes: build.Content | None) -> Gpu:
    return parse_smi_xml(build.document(build.gpu(**changes))).gpus[0]


def ecc_of(volatile: build.Content, aggregate: build.Content, **more: build.Content) -> EccErrors:
    return gpu_of(ecc_errors={"volatile": volatile, "aggregate": aggregate, **more}).ecc_errors


def all_missing(cls: type[EccCounts | RetiredPages], reason: Missing) -> dict[str, Missing]:
    return dict.fromkeys((field.name for field in attrs.fields(cls)), reason)


def test_before_turing_the_total_is_the_tools_own() -> None:
    ecc = ecc_of(
        {"single_bit": build.die(device_memory=3, total=3), "double_bit": build.die(l2_cache=1, total=1)},
        {"single_bit": build.die(device_memory=30, register_file=10, total=40), "double_bit": build.die(total=2)},
    )
    assert (ecc.volatile.corrected_total, ecc.volatile.uncorrected_total) == (3, 1)
    assert (ecc.aggregate.corrected_total, ecc.aggregate.uncorrected_total) == (40, 2)
    assert (ecc.aggregate.corrected.device_memory, ecc.aggregate.corrected.register_file) == (30, 10)
    assert ecc.volatile.uncorrected.l2_cache == 1
    assert ecc.volatile.corrected.sram is Missing.ABSENT


def test_locations_of_the_die_add_up_where_the_tool_prints_no_total() -> None:
    ecc = ecc_of({"single_bit": build.die(l1_cache=2, cbu=3, total=N_A), "double_bit": build.die(total=N_A)}, {})
    assert (ecc.volatile.corrected_total, ecc.volatile.uncorrected_total) == (5, 0)


def test_from_turing_on_sram_and_dram_add_up() -> None:
    ecc = ecc_of(build.sram_dram(1, 2, 3, 4), build.sram_dram(10, 20, 30, 40))
    assert (ecc.volatile.corrected_total, ecc.volatile.uncorrected_total) == (4, 6)
    assert (ecc.aggregate.corrected_total, ecc.aggregate.uncorrected_total) == (40, 60)
    assert ecc.volatile.uncorrected == EccCounts(sram=2, dram=4)


def test_sram_split_in_two_adds_up_and_its_sources_are_no_part_of_it() -> None:
    ecc = ecc_of(
        build.split_sram(5, 1, 2, 6, 0),
        {**build.split_sram(5, 0, 3, 6, 0), "sram_threshold_exceeded": "Yes"},
        aggregate_uncorrectable_sram_sources={"sram_l2": "3", "sram_sm": "0", "sram_pcie": N_A},
    )
    assert (ecc.volatile.corrected_total, ecc.volatile.uncorrected_total) == (11, 3)
    assert ecc.aggregate.uncorrected_total == 3
    assert ecc.aggregate.sram_threshold_exceeded is True
    assert ecc.volatile.sram_threshold_exceeded is Missing.ABSENT
    sources = ecc.aggregate_uncorrectable_sram_sources
    assert (sources.sram_l2, sources.sram_sm, sources.sram_pcie) == (3, 0, Missing.NOT_SUPPORTED)
    assert sources.sram_other is Missing.ABSENT


@pytest.mark.parametrize(
    ("volatile", "uncorrected"),
    [
        (build.sram_dram(0, N_A, 0, 0), 0),
        (build.sram_dram(0, N_A, 0, 2), 2),
        (build.sram_dram(N_A, N_A, N_A, N_A), Missing.NOT_SUPPORTED),
        (build.sram_dram(0, "Unknown Error", 0, 0), Missing.ERROR),
        (build.sram_dram(0, "Unknown Error", 0, 2), 2),
        (build.sram_dram(0, "GPU requires reset", 0, 0), Missing.NEEDS_RESET),
        (build.split_sram(0, "GPU is lost", 0, 0, 0), Missing.LOST),
        (build.split_sram(0, 1, N_A, 0, 0), 1),
        ({"sram_correctable": "0", "dram_correctable": "0"}, Missing.ABSENT),
        ("N/A", Missing.NOT_SUPPORTED),
        ("", Missing.ABSENT),
    ],
)
def test_parts_that_are_missing_are_unknown_and_not_zero(volatile: build.Content, uncorrected: Reading[int]) -> None:
    assert ecc_of(volatile, {}).volatile.uncorrected_total == uncorrected


def test_ecc_off_keeps_its_tree_of_missing_values() -> None:
    gpu = gpu_of(
        ecc_mode={"current_ecc": "Disabled", "pending_ecc": "Enabled"},
        ecc_errors={scope: build.sram_dram(N_A, N_A, N_A, N_A) for scope in ("volatile", "aggregate")},
    )
    assert gpu.ecc_mode == EccMode(current_ecc=False, pending_ecc=True)
    assert gpu.ecc_errors.volatile.uncorrected_total is Missing.NOT_SUPPORTED
    assert gpu.ecc_errors.volatile.corrected.dram is Missing.NOT_SUPPORTED


def test_counters_have_64_bits() -> None:
    assert ecc_of(build.sram_dram(2**64 - 1, 0, 0, 0), {}).volatile.corrected.sram == 2**64 - 1
    assert ecc_of(build.sram_dram(2**64, 0, 0, 0), {}).volatile.corrected.sram is Missing.ERROR


def test_a_word_in_place_of_the_counters_is_the_reason_of_each() -> None:
    lost = gpu_of(ecc_errors="GPU is lost")
    everywhere = all_missing(EccCounts, Missing.LOST)
    scope = EccScope(
        corrected=EccCounts(**everywhere),
        uncorrected=EccCounts(**{**everywhere, "sram_parity": Missing.LOST, "sram_secded": Missing.LOST}),
        sram_threshold_exceeded=Missing.LOST,
    )
    unsplit = attrs.evolve(scope.corrected, sram_parity=Missing.ABSENT, sram_secded=Missing.ABSENT)
    assert lost.ecc_errors.volatile == lost.ecc_errors.aggregate == attrs.evolve(scope, corrected=unsplit)
    assert lost.ecc_errors.tpc_repair_pending is Missing.LOST
    assert lost.gpu_lost


@pytest.mark.parametrize(("text", "value"), [("Yes", True), ("No", False), (N_A, Missing.NOT_SUPPORTED)])
def test_repair_states(text: str, value: Reading[bool]) -> None:
    names = ("channel_repair_pending", "tpc_repair_pending", "unrepairable_memory")
    for name in names:
        ecc = ecc_of({}, {}, **{name: text})
        assert {other: getattr(ecc, other) for other in names} == {
            other: value if other == name else Missing.ABSENT for other in names
        }


@pytest.mark.parametrize(
    ("flags", "pending"),
    [
        ({"pending_retirement": "Yes"}, True),
        ({"pending_retirement": "No"}, False),
        ({"pending_blacklist": "Yes"}, True),
        ({"pending_blacklist": "No"}, False),
        ({"pending_blacklist": "No", "pending_retirement": "No"}, False),
        ({"pending_blacklist": "Yes", "pending_retirement": "No"}, True),
        ({"pending_blacklist": "No", "pending_retirement": "Yes"}, True),
        ({"pending_retirement": "No", "pending_blacklist": "Yes"}, True),
        ({"pending_blacklist": N_A, "pending_retirement": "Yes"}, True),
        ({"pending_retirement": N_A, "pending_blacklist": "No"}, False),
        ({"pending_blacklist": N_A, "pending_retirement": N_A}, Missing.NOT_SUPPORTED),
        ({"pending_blacklist": "Unknown Error", "pending_retirement": N_A}, Missing.NOT_SUPPORTED),
        ({"pending_retirement": "Unknown Error", "pending_blacklist": N_A}, Missing.ERROR),
        ({}, Missing.ABSENT),
    ],
)
def test_pages_are_pending_where_either_element_says_so(flags: build.Tree, pending: Reading[bool]) -> None:
    pages: build.Tree = {
        "multiple_single_bit_retirement": {"retired_count": "4", "retired_page_addresses": ""},
        "double_bit_retirement": {
            "retired_count": "2",
            "retired_pagelist": {"retired_page": [{"retired_page_address": "0x000000000044e99d"}]},
        },
        **flags,
    }
    assert gpu_of(retired_pages=pages).retired_pages == RetiredPages(
        single_bit_retired_count=4, double_bit_retired_count=2, pending_retirement=pending
    )


def test_retired_pages_of_a_gpu_that_remaps_rows() -> None:
    counts = {"retired_count": N_A, "retired_pagelist": N_A}
    pages: build.Tree = {
        "multiple_single_bit_retirement": counts,
        "double_bit_retirement": counts,
        "pending_retirement": N_A,
    }
    assert gpu_of(retired_pages=pages).retired_pages == RetiredPages(**all_missing(RetiredPages, Missing.NOT_SUPPORTED))


def test_remapped_rows() -> None:
    rows: build.Tree = {
        "remapped_row_corr": "1",
        "remapped_row_unc": "4",
        "remapped_row_corr_inactive": "0",
        "remapped_row_unc_inactive": "2",
        "remapped_row_pending": "Yes",
        "remapped_row_failure": "Yes",
        "row_remapper_histogram": N_A,
    }
    assert gpu_of(remapped_rows=rows).remapped_rows == RemappedRows(
        remapped_row_corr=1,
        remapped_row_unc=4,
        remapped_row_corr_inactive=0,
        remapped_row_unc_inactive=2,
        row_remap_pending=True,
        row_remap_failure=True,
    )


@pytest.mark.parametrize(
    ("mig", "rows", "reason"),
    [
        (None, N_A, Missing.NOT_SUPPORTED),
        ({"current_mig": N_A, "pending_mig": N_A}, N_A, Missing.NOT_SUPPORTED),
        ({"current_mig": "Disabled", "pending_mig": "Enabled"}, N_A, Missing.NOT_SUPPORTED),
        ({"current_mig": "Enabled", "pending_mig": "Disabled"}, N_A, Missing.HIDDEN_BY_MIG),
        ({"current_mig": "Enabled", "pending_mig": "Enabled"}, "[N/A]", Missing.HIDDEN_BY_MIG),
        ({"current_mig": "Enabled", "pending_mig": "Enabled"}, "Unknown Error", Missing.ERROR),
        ({"current_mig": "Enabled", "pending_mig": "Enabled"}, "GPU is lost", Missing.LOST),
        ({"current_mig": "Enabled", "pending_mig": "Enabled"}, None, Missing.ABSENT),
        (None, "", Missing.ABSENT),
    ],
)
def test_a_word_instead_of_the_rows(mig: build.Content | None, rows: str | None, reason: Missing) -> None:
    for changes in (
        {"mig_mode": mig, "remapped_rows": rows},
        {"remapped_rows": rows, "mig_mode": mig},
    ):
        rows_read = gpu_of(**changes).remapped_rows
        every_driver = (
            rows_read.remapped_row_corr,
            rows_read.remapped_row_unc,
            rows_read.row_remap_pending,
            rows_read.row_remap_failure,
        )
        assert set(every_driver) == {reason}
        # What only newer drivers print is not said to be hidden: an older one would not show it without MIG either.
        newer = Missing.NOT_SUPPORTED if reason is Missing.HIDDEN_BY_MIG else reason
        assert {rows_read.remapped_row_corr_inactive, rows_read.remapped_row_unc_inactive} == {newer}


def test_rows_that_a_mig_gpu_does_show_are_read() -> None:
    rows: build.Tree = {"remapped_row_corr": N_A, "remapped_row_unc": "1", "remapped_row_pending": "No"}
    found = gpu_of(remapped_rows=rows, mig_mode={"current_mig": "Enabled", "pending_mig": "Enabled"}).remapped_rows
    assert (found.remapped_row_corr, found.remapped_row_unc) == (Missing.HIDDEN_BY_MIG, 1)
    assert found.row_remap_pending is False


def test_memory_is_inventory_and_use_is_a_sample() -> None:
    gpu = build.gpu(
        fb_memory_usage={"total": "40960 MiB", "reserved": "571 MiB", "used": "38 MiB", "free": "40350 MiB"},
        bar1_memory_usage={"total": N_A, "used": N_A, "free": N_A},
    )
    snapshot = parse_smi_xml(build.document(gpu))
    assert snapshot.gpus[0].fb_total_mib == 40960
    assert snapshot.samples[0].fb_memory == MemoryUsage(total_mib=40960, reserved_mib=571, used_mib=38, free_mib=40350)
    assert snapshot.samples[0].bar1_memory == MemoryUsage(
        total_mib=Missing.NOT_SUPPORTED, used_mib=Missing.NOT_SUPPORTED, free_mib=Missing.NOT_SUPPORTED
    )
    assert snapshot.issues == ()


def test_memory_that_could_not_be_read_is_an_issue() -> None:
    snapshot = parse_smi_xml(build.document(build.gpu(fb_memory_usage="Unknown Error")))
    assert snapshot.gpus[0].fb_total_mib is snapshot.samples[0].fb_memory.free_mib is Missing.ERROR
    assert [(issue.kind, issue.place) for issue in snapshot.issues] == [
        (IssueKind.READ_ERROR, "gpu[0]/fb_memory_usage")
    ]
