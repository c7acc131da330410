from __future__ import annotations

import pytest

from gpuinv.inventory import (
    EccCounts,
    EccScope,
    Fabric,
    FabricHealth,
    GpuProcess,
    GpuSample,
    PowerReadings,
)
from gpuinv.readings import Missing

M = Missing
ZEROS = "00000000-0000-0000-0000-000000000000"


@pytest.mark.parametrize(
    ("counts", "total"),
    [
        (EccCounts(), M.ABSENT),
        # before Turing: the tool's total stands, whatever the locations say
        (EccCounts(total=5, device_memory=3, register_file=2), 5),
        (EccCounts(total=0, l1_cache=M.NOT_SUPPORTED, texture_memory=M.NOT_SUPPORTED), 0),
        (EccCounts(total=M.NOT_SUPPORTED, device_memory=3, register_file=2, l2_cache=1, texture_shm=1, cbu=1), 8),
        (EccCounts(total=M.NOT_SUPPORTED, device_memory=M.NOT_SUPPORTED), M.NOT_SUPPORTED),
        (EccCounts(total=M.ERROR, device_memory=0, register_file=0), M.ERROR),
        (EccCounts(total=M.ERROR, device_memory=4), 4),
        # from Turing on
        (EccCounts(sram=1, dram=2), 3),
        (EccCounts(sram=0, dram=0), 0),
        (EccCounts(sram=M.NOT_SUPPORTED, dram=0), 0),
        (EccCounts(sram=M.NO_PERMISSION, dram=0), 0),
        (EccCounts(sram=0, dram=M.LOST), M.LOST),
        (EccCounts(sram=M.NEEDS_RESET, dram=7), 7),
        # from Ampere with R552 on
        (EccCounts(sram_parity=1, sram_secded=2, dram=4), 7),
        (EccCounts(sram_parity=0, sram_secded=0, dram=M.ERROR), M.ERROR),
        (EccCounts(sram_parity=0, sram_secded=M.ERROR, dram=2**64 - 1), 2**64 - 1),
        (EccCounts(sram_parity=0, sram_secded=M.NOT_SUPPORTED, dram=M.NOT_SUPPORTED), 0),
        (EccCounts(sram=3, sram_parity=1, sram_secded=2, dram=4), 7),
    ],
)
def test_errors_are_summed_in_three_layouts(counts: EccCounts, total: int | Missing) -> None:
    assert counts.sum == total
    assert EccScope(uncorrected=counts).uncorrected_total == total
    assert EccScope(corrected=counts).corrected_total == total


@pytest.mark.parametrize(
    ("average", "instant", "legacy", "draw"),
    [
        (1, 2, 3, 1),
        (M.NOT_SUPPORTED, 2, 3, 2),
        (M.NOT_SUPPORTED, M.ABSENT, 3, 3),
        (0, 2, 3, 0),
        (M.NOT_SUPPORTED, M.LOST, M.ABSENT, M.NOT_SUPPORTED),
        (M.ABSENT, M.LOST, M.ERROR, M.LOST),
        (M.ABSENT, M.ABSENT, M.ERROR, M.ERROR),
        (M.ABSENT, M.ABSENT, M.ABSENT, M.ABSENT),
    ],
)
def test_the_power_draw_is_the_first_that_is_known(
    average: int | Missing, instant: int | Missing, legacy: int | Missing, draw: int | Missing
) -> None:
    readings = PowerReadings(average_power_draw_mw=average, instant_power_draw_mw=instant, legacy_power_draw_mw=legacy)
    assert readings.power_draw_mw == draw


@pytest.mark.parametrize(
    ("types", "count"),
    [([], 0), (["C"], 1), (["C", "G", "C+G", "M+C"], 3), (["G", "G"], 0), ([M.NOT_SUPPORTED, "C"], 1)],
)
def test_a_process_computes_where_its_type_says_so(types: list[str | Missing], count: int) -> None:
    processes = tuple(GpuProcess(process_type=each) for each in types)
    assert GpuSample(processes=processes).compute_process_count == count


def test_no_list_of_processes_is_no_count() -> None:
    assert GpuSample().compute_process_count is M.ABSENT
    assert GpuSample(processes=M.NOT_SUPPORTED).compute_process_count is M.NOT_SUPPORTED


@pytest.mark.parametrize(
    ("fabric", "clique"),
    [
        (Fabric(), M.ABSENT),
        (Fabric(state="Completed", status="Success", cluster_uuid=ZEROS, clique_id=0), M.NOT_SUPPORTED),
        (Fabric(state="Completed", status="Insufficient Resources", cluster_uuid=ZEROS, clique_id=0), M.NOT_SUPPORTED),
        (Fabric(cluster_uuid=ZEROS[:-1] + "1", clique_id=0), (ZEROS[:-1] + "1", 0)),
        (
            Fabric(
                state="Completed",
                status="Success",
                cluster_uuid="00d1e2f3-0415-4a6b-8c7d-9e0f1a2b3c4d",
                clique_id=32766,
            ),
            ("00d1e2f3-0415-4a6b-8c7d-9e0f1a2b3c4d", 32766),
        ),
        (
            Fabric(
                cluster_uuid="9a5b6c7d-0415-4a6b-8c7d-9e0f1a2b3c4d",
                clique_id=2,
                health=FabricHealth(summary="Unhealthy"),
            ),
            ("9a5b6c7d-0415-4a6b-8c7d-9e0f1a2b3c4d", 2),
        ),
        (Fabric(state="In Progress", cluster_uuid=M.NOT_SUPPORTED, clique_id=M.NOT_SUPPORTED), M.NOT_AVAILABLE),
        (Fabric(cluster_uuid="9a5b6c7d-0415-4a6b-8c7d-9e0f1a2b3c4d", clique_id=M.ERROR), M.ERROR),
        (Fabric(cluster_uuid=M.LOST, clique_id=3), M.LOST),
    ],
)
def test_a_gpu_is_in_a_clique_by_cluster_and_id_together(fabric: Fabric, clique: tuple[str, int] | Missing) -> None:
    assert fabric.clique == clique


@pytest.mark.parametrize(
    ("current", "requested", "limit"),
    [
        (300_000, 350_000, 300_000),
        (M.ABSENT, 350_000, 350_000),
        (M.NOT_SUPPORTED, 350_000, 350_000),
        (M.NOT_SUPPORTED, M.ABSENT, M.NOT_SUPPORTED),
        (M.ABSENT, M.ERROR, M.ERROR),
        (M.ABSENT, M.ABSENT, M.ABSENT),
    ],
)
def test_the_limit_in_force_counts_else_the_one_asked_for(current: int | M, requested: int | M, limit: int | M) -> None:
    power = PowerReadings(current_power_limit_mw=current, requested_power_limit_mw=requested)
    assert power.power_limit_mw == limit
