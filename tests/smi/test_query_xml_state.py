"""Power, MIG, fabric, platform, recovery, temperatures, clocks, processes; words in place of containers; lost GPUs."""

from __future__ import annotations

from operator import attrgetter

import attrs
import pytest

from gpuinv.errors import IssueKind
from gpuinv.inventory import (
    Clocks,
    Fabric,
    FabricHealth,
    Gpu,
    GpuProcess,
    GpuSample,
    MemoryUsage,
    MigInstance,
    MigMode,
    MigSample,
    PlatformInfo,
    PowerLimits,
    PowerReadings,
    Temperature,
    Utilization,
)
from gpuinv.readings import Missing, Reading
from gpuinv.smi.query_xml import parse_smi_xml
from tests.smi import xml_builder as build

N_A = "N/A"
ZEROS_FIRST = "00112233-4455-6677-8899-aabbccddeeff"


def both(**changes: build.Content | None) -> tuple[Gpu, GpuSample]:
    snapshot = parse_smi_xml(build.document(build.gpu(**changes)))
    return snapshot.gpus[0], snapshot.samples[0]


def of_generation(name: str) -> tuple[Gpu, GpuSample]:
    snapshot = parse_smi_xml(build.GENERATIONS[name])
    return snapshot.gpus[0], snapshot.samples[0]


def test_power_through_r525() -> None:
    gpu, sample = of_generation("none")
    assert gpu.power_limits == PowerLimits(
        current_power_limit_mw=120000,
        requested_power_limit_mw=125000,
        default_power_limit_mw=125000,
        min_power_limit_mw=85000,
        max_power_limit_mw=130000,
    )
    assert gpu.module_power_limits == PowerLimits()
    assert sample.power == PowerReadings(
        legacy_power_draw_mw=17970, current_power_limit_mw=120000, requested_power_limit_mw=125000
    )
    assert sample.power.power_draw_mw == 17970


def test_power_from_r535_on() -> None:
    gpu, sample = of_generation("510")
    assert gpu.power_limits.current_power_limit_mw == sample.power.current_power_limit_mw == 400000
    assert gpu.power_limits.requested_power_limit_mw == 700000
    assert set(attrs.astuple(gpu.module_power_limits)) == {Missing.NOT_SUPPORTED}
    assert sample.power.power_draw_mw == 67030


def test_power_from_r570_on() -> None:
    gpu, sample = of_generation("550")
    assert gpu.power_limits.current_power_limit_mw == 700000
    assert sample.power == PowerReadings(
        average_power_draw_mw=76540,
        instant_power_draw_mw=77020,
        current_power_limit_mw=700000,
        requested_power_limit_mw=700000,
    )
    assert sample.power.power_draw_mw == 76540


@pytest.mark.parametrize(
    "order", [("gpu_power_readings", "module_power_readings"), ("module_power_readings", "gpu_power_readings")]
)
def test_a_module_is_never_taken_for_its_gpu(order: tuple[str, str]) -> None:
    readings: build.Tree = {
        "module_power_readings": {"average_power_draw": "488.29 W", **build.limits("2900.00 W")},
        "gpu_power_readings": {
            "average_power_draw": N_A,
            "instant_power_draw": "191.30 W",
            **build.limits("1400.00 W"),
        },
    }
    gpu, sample = both(**{name: readings[name] for name in order})
    assert gpu.power_limits.current_power_limit_mw == 1400000
    assert gpu.module_power_limits.current_power_limit_mw == 2900000
    assert sample.power.average_power_draw_mw is Missing.NOT_SUPPORTED
    assert sample.power.power_draw_mw == 191300
    assert sample.power.current_power_limit_mw == 1400000


def test_a_module_alone_is_no_gpu() -> None:
    gpu, sample = both(module_power_readings={"power_draw": "500.00 W", **build.limits("2900.00 W")})
    assert gpu.power_limits == PowerLimits()
    assert sample.power == PowerReadings()


@pytest.mark.parametrize(
    ("readings", "current", "requested"),
    [
        ({"power_limit": "125.00 W"}, 125000, 125000),
        ({"power_limit": "125.00 W", "enforced_power_limit": "120.00 W"}, 120000, 125000),
        ({"power_limit": "125.00 W", "enforced_power_limit": N_A}, 125000, 125000),
        ({"power_limit": N_A, "enforced_power_limit": N_A}, Missing.NOT_SUPPORTED, Missing.NOT_SUPPORTED),
        (
            {"power_limit": "1.00 W", "enforced_power_limit": "2.00 W", "current_power_limit": "3.00 W"},
            3000,
            1000,
        ),
        ({"requested_power_limit": "4.00 W", "power_limit": "1.00 W"}, 1000, 4000),
        ({"current_power_limit": "Unknown Error", "power_limit": "1.00 W"}, 1000, 1000),
        ({}, Missing.ABSENT, Missing.ABSENT),
    ],
)
def test_the_names_of_a_limit_in_their_order(
    readings: dict[str, build.Content], current: Reading[int], requested: Reading[int]
) -> None:
    for order in (list(readings), list(reversed(readings))):
        for container in ("power_readings", "gpu_power_readings"):
            found = both(**{container: {name: readings[name] for name in order}})[0].power_limits
            assert (found.current_power_limit_mw, found.requested_power_limit_mw) == (current, requested)


@pytest.mark.parametrize("order", [("power_readings", "gpu_power_readings"), ("gpu_power_readings", "power_readings")])
def test_of_two_containers_the_new_one_is_preferred(order: tuple[str, str]) -> None:
    readings: build.Tree = {
        "power_readings": {"power_draw": "1.00 W", "default_power_limit": "1.00 W", "min_power_limit": "3.00 W"},
        "gpu_power_readings": {"power_draw": "2.00 W", "default_power_limit": "2.00 W", "min_power_limit": N_A},
    }
    gpu, sample = both(**{name: readings[name] for name in order})
    assert sample.power.legacy_power_draw_mw == gpu.power_limits.default_power_limit_mw == 2000
    assert gpu.power_limits.min_power_limit_mw == 3000


def test_the_old_mig_devices_have_their_own_memory() -> None:
    gpu, sample = of_generation("510")
    assert gpu.mig_mode == MigMode(current_mig=True, pending_mig=True)
    assert gpu.fb_total_mib == 40960
    assert gpu.ecc_errors.volatile.uncorrected_total == 0
    first = MigInstance(
        gpu_instance_id=1,
        compute_instance_id=0,
        mig_device_index=0,
        fb_total_mib=19968,
        multiprocessor_count=42,
        copy_engine_count=3,
        encoder_count=0,
        decoder_count=2,
        ofa_count=0,
        jpg_count=0,
        volatile_sram_uncorrectable=0,
    )
    second = attrs.evolve(first, gpu_instance_id=2, compute_instance_id=1, mig_device_index=1, fb_total_mib=4864)
    assert gpu.mig_instances == (first, second)
    assert [(mig.gpu_instance_id, mig.compute_instance_id) for mig in sample.mig_samples] == [(1, 0), (2, 1)]
    assert sample.mig_samples[0] == MigSample(
        gpu_instance_id=1,
        compute_instance_id=0,
        fb_memory=MemoryUsage(total_mib=19968, reserved_mib=0, used_mib=19, free_mib=19948),
        bar1_memory=MemoryUsage(total_mib=32767, used_mib=0, free_mib=32767),
    )
    assert sample.fb_memory.total_mib == 40960


def test_a_gpu_that_hides_its_memory_does_not_take_its_mig_devices() -> None:
    mig = {**build.mig_device(1, 0), "ecc_error_count": {"volatile_count": {"sram_uncorrectable": "9"}}}
    gpu, sample = both(fb_memory_usage=None, mig_devices={"mig_device": [mig]})
    assert gpu.fb_total_mib is sample.fb_memory.used_mib is Missing.ABSENT
    assert gpu.ecc_errors.volatile.uncorrected_total is Missing.ABSENT
    assert gpu.mig_instances[0].volatile_sram_uncorrectable == 9  # type: ignore[index] # it has a value


@pytest.mark.parametrize(
    ("content", "instances", "issues"),
    [
        ("None", (), []),
        ("\n\t\t\tNone\n\t\t", (), []),
        ("", (), []),
        ({"mig_summary": "1"}, (), []),
        (None, Missing.ABSENT, []),
        (N_A, Missing.NOT_SUPPORTED, []),
        ("Insufficient Permissions", Missing.NO_PERMISSION, [IssueKind.NO_PERMISSION]),
        ("Unknown Error", Missing.ERROR, [IssueKind.READ_ERROR]),
        ("GPU requires reset", Missing.NEEDS_RESET, [IssueKind.NEEDS_RESET]),
        ("GPU is lost", Missing.LOST, [IssueKind.GPU_LOST]),
        ("several", Missing.ERROR, [IssueKind.BAD_VALUE]),
    ],
)
def test_no_mig_devices(content: build.Content | None, instances: object, issues: list[IssueKind]) -> None:
    mode: build.Tree = {"current_mig": "Enabled", "pending_mig": "Disabled"}
    snapshot = parse_smi_xml(build.document(build.gpu(mig_mode=mode, mig_devices=content)))
    gpu = snapshot.gpus[0]
    assert gpu.mig_instances == instances
    assert gpu.mig_mode == MigMode(current_mig=True, pending_mig=False)
    assert snapshot.samples[0].mig_samples == ()
    assert [(issue.kind, issue.place) for issue in snapshot.issues] == [(kind, "gpu[0]/mig_devices") for kind in issues]


@pytest.mark.parametrize("broken", [{"gpu_instance_id": N_A}, {"compute_instance_id": "x"}, {"gpu_instance_id": ""}])
def test_a_mig_device_without_ids_is_left_out_and_named(broken: build.Tree) -> None:
    devices = [{**build.mig_device(1, 0), **broken}, build.mig_device(2, 0)]
    snapshot = parse_smi_xml(build.document(build.gpu(mig_devices={"mig_device": devices})))
    instances = snapshot.gpus[0].mig_instances
    assert [mig.gpu_instance_id for mig in instances] == [2]  # type: ignore[union-attr] # it has a value
    assert [mig.gpu_instance_id for mig in snapshot.samples[0].mig_samples] == [2]
    (issue,) = snapshot.issues
    assert issue.kind is IssueKind.BAD_VALUE
    assert issue.place.startswith("gpu[0]/mig_devices/mig_device")


@pytest.mark.parametrize("device", ["", "Unknown Error", {"index": "0"}])
def test_mig_devices_that_cannot_be_told_apart_are_not_no_devices(device: build.Content) -> None:
    snapshot = parse_smi_xml(build.document(build.gpu(mig_devices={"mig_device": [device]})))
    assert snapshot.gpus[0].mig_instances is Missing.ERROR
    assert {issue.kind for issue in snapshot.issues} <= {IssueKind.BAD_VALUE, IssueKind.READ_ERROR}
    assert "gpu[0]/mig_devices/mig_device" in {issue.place for issue in snapshot.issues}


def test_the_fabric_of_a_rack() -> None:
    fabric = of_generation("610")[0].fabric
    assert fabric == Fabric(
        state="Completed",
        status="Success",
        cluster_uuid=build.CLUSTER,
        clique_id=32766,
        health=FabricHealth(
            summary="Healthy",
            bandwidth="Full",
            route_recovery_in_progress=False,
            route_unhealthy=False,
            access_timeout_recovery=False,
            incorrect_configuration="None",
            partition_assigned=True,
        ),
    )
    assert fabric.clique == (build.CLUSTER, 32766)


@pytest.mark.parametrize(
    ("state", "status", "cluster", "clique_id", "summary", "clique"),
    [
        ("Completed", "Success", build.NO_CLUSTER, "0", N_A, Missing.NOT_SUPPORTED),
        ("Completed", "Insufficient Resources", build.NO_CLUSTER, "0", N_A, Missing.NOT_SUPPORTED),
        ("Completed", "Success", ZEROS_FIRST, "32766", "Healthy", (ZEROS_FIRST, 32766)),
        ("Completed", "Success", build.CLUSTER, "2", "Unhealthy", (build.CLUSTER, 2)),
        ("In Progress", N_A, N_A, N_A, N_A, Missing.NOT_AVAILABLE),
        ("Completed", "Success", build.CLUSTER, N_A, N_A, Missing.NOT_SUPPORTED),
    ],
)
def test_who_is_in_a_clique(  # noqa: PLR0913, PLR0917 - one argument for each element
    state: str, status: str, cluster: str, clique_id: str, summary: str, clique: object
) -> None:
    fabric: build.Tree = {
        "state": state,
        "status": status,
        "cliqueId": clique_id,
        "clusterUuid": cluster,
        "health": {"summary": summary, "bandwidth": "Full"},
    }
    found = both(fabric=fabric)[0].fabric
    assert found.clique == clique
    assert found.state == state
    assert found.status == (Missing.NOT_SUPPORTED if status == N_A else status)
    assert found.health.summary == (Missing.NOT_SUPPORTED if summary == N_A else summary)


def test_the_fabric_before_r570() -> None:
    assert both(fabric={"state": N_A, "status": N_A})[0].fabric == Fabric(
        state=Missing.NOT_SUPPORTED, status=Missing.NOT_SUPPORTED
    )


def test_the_place_in_a_rack() -> None:
    assert of_generation("610")[0].platform_info == PlatformInfo(
        chassis_serial_number="1820000000001", slot_number=25, tray_index=15, host_id=1, module_id=1
    )
    assert of_generation("550")[0].platform_info == PlatformInfo(
        chassis_serial_number=Missing.NOT_AVAILABLE, slot_number=Missing.NOT_SUPPORTED, module_id=2
    )
    assert of_generation("510")[0].platform_info == PlatformInfo(module_id=3)


def test_the_newer_module_id_is_preferred() -> None:
    for changes in (
        {"gpu_module_id": "7", "platformInfo": {"module_id": "2"}},
        {"platformInfo": {"module_id": "2"}, "gpu_module_id": "7"},
    ):
        assert both(**changes)[0].platform_info.module_id == 2  # type: ignore[arg-type] # a dict of contents
    assert both(platformInfo={"module_id": N_A}, gpu_module_id="7")[0].platform_info.module_id == 7


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("None", "None"),
        ("Reset", "Reset"),
        ("Drain and Reset", "Drain and Reset"),
        (N_A, Missing.NOT_SUPPORTED),
        ("Unknown Error", Missing.ERROR),
        (None, Missing.ABSENT),
    ],
)
def test_the_recovery_action(text: str | None, expected: Reading[str]) -> None:
    assert both(gpu_recovery_action=text)[0].gpu_recovery_action == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [("No", False), ("Yes", True), (build.DEPRECATED, Missing.DEPRECATED), (N_A, Missing.NOT_SUPPORTED)],
)
def test_the_reset_status(text: str, expected: Reading[bool]) -> None:
    gpu, _ = both(gpu_reset_status={"reset_required": text, "drain_and_reset_recommended": text})
    assert gpu.reset_required == gpu.drain_and_reset_recommended == expected


def test_deprecated_modes_are_no_value() -> None:
    gpu, sample = both(
        persistence_mode=build.DEPRECATED,
        compute_mode=build.DEPRECATED,
        performance_state=build.DEPRECATED,
        gpu_power_readings={"power_draw": build.DEPRECATED},
    )
    assert gpu.persistence_mode is gpu.compute_mode is Missing.DEPRECATED
    assert sample.performance_state is sample.power.power_draw_mw is Missing.DEPRECATED


def test_thresholds_and_margins_are_never_mixed() -> None:
    thresholds: build.Tree = {
        "gpu_temp": "36 C",
        "gpu_temp_tlimit": N_A,
        "gpu_temp_max_threshold": "92 C",
        "gpu_temp_slow_threshold": "89 C",
        "gpu_temp_max_gpu_threshold": "85 C",
        "gpu_temp_max_mem_threshold": "95 C",
        "memory_temp": "44 C",
    }
    margins: build.Tree = {
        "gpu_temp": "31 C",
        "gpu_temp_tlimit": "55 C",
        "gpu_temp_max_tlimit_threshold": "-8 C",
        "gpu_temp_slow_tlimit_threshold": "-2 C",
        "gpu_temp_max_gpu_tlimit_threshold": "0 C",
        "gpu_temp_max_mem_tlimit_threshold": N_A,
    }
    assert both(temperature=thresholds)[1].temperature == Temperature(
        gpu_temp_c=36,
        memory_temp_c=44,
        gpu_temp_tlimit_c=Missing.NOT_SUPPORTED,
        gpu_temp_max_threshold_c=92,
        gpu_temp_slow_threshold_c=89,
        gpu_temp_max_gpu_threshold_c=85,
        gpu_temp_max_mem_threshold_c=95,
    )
    assert both(temperature=margins)[1].temperature == Temperature(
        gpu_temp_c=31,
        gpu_temp_tlimit_c=55,
        gpu_temp_max_tlimit_threshold_c=-8,
        gpu_temp_slow_tlimit_threshold_c=-2,
        gpu_temp_max_gpu_tlimit_threshold_c=0,
        gpu_temp_max_mem_tlimit_threshold_c=Missing.NOT_SUPPORTED,
    )


def test_what_a_gpu_is_doing() -> None:
    _, sample = both(
        utilization={"gpu_util": "97 %", "memory_util": "41 %", "encoder_util": "0 %", "jpeg_util": N_A},
        clocks={
            "graphics_clock": "1980 MHz",
            "sm_clock": "1980 MHz",
            "mem_clock": "2619 MHz",
            "video_clock": "1545 MHz",
        },
        applications_clocks={"graphics_clock": "1 MHz", "mem_clock": "1 MHz"},
        max_clocks={"graphics_clock": "2 MHz", "sm_clock": "2 MHz"},
        performance_state="P0",
        fan_speed="41 %",
        pci={
            "pci_gpu_link_info": {
                "pcie_gen": {"max_link_gen": "5", "current_link_gen": "1", "device_current_link_gen": "2"},
                "link_widths": {"max_link_width": "16x", "current_link_width": "8x"},
            },
            "replay_counter": "3",
            "replay_rollover_counter": "1",
            "tx_util": "450 KB/s",
            "rx_util": "0 KB/s",
        },
    )
    assert sample.utilization == Utilization(
        gpu_util_percent=97, memory_util_percent=41, encoder_util_percent=0, jpeg_util_percent=Missing.NOT_SUPPORTED
    )
    assert sample.clocks == Clocks(graphics_clock_mhz=1980, sm_clock_mhz=1980, mem_clock_mhz=2619, video_clock_mhz=1545)
    assert (sample.performance_state, sample.fan_speed_percent) == ("P0", 41)
    assert (sample.current_link_gen, sample.current_link_width) == (1, 8)
    assert (sample.replay_counter, sample.replay_rollover_counter) == (3, 1)
    assert (sample.tx_util_kbps, sample.rx_util_kbps) == (450, 0)


@pytest.mark.parametrize(
    ("reasons", "expected", "issues"),
    [
        ({"sw_power_cap": "Active", "gpu_idle": "Active", "sync_boost": N_A}, ("gpu_idle", "sw_power_cap"), []),
        ({"gpu_idle": "Not Active", "sync_boost": N_A}, (), []),
        ({"gpu_idle": N_A, "sync_boost": N_A}, Missing.NOT_SUPPORTED, []),
        ({"gpu_idle": "Active", "sync_boost": "Unknown Error"}, ("gpu_idle",), [IssueKind.READ_ERROR]),
        ({"gpu_idle": "Not Active", "sync_boost": "Unknown Error"}, Missing.ERROR, [IssueKind.READ_ERROR]),
        ({"gpu_idle": "GPU is lost", "sync_boost": "GPU is lost"}, Missing.LOST, [IssueKind.GPU_LOST]),
        ({"gpu_idle": "perhaps"}, Missing.ERROR, [IssueKind.BAD_VALUE]),
    ],
)
@pytest.mark.parametrize("style", ["clocks_event_reason", "clocks_throttle_reason"])
def test_the_reasons_of_the_clocks(
    style: str, reasons: dict[str, str], expected: object, issues: list[IssueKind]
) -> None:
    content: build.Tree = {f"{style}_{name}": text for name, text in reasons.items()}
    snapshot = parse_smi_xml(build.document(build.gpu(**{f"{style}s": content})))
    assert snapshot.samples[0].clocks_event_reasons == expected
    assert [issue.kind for issue in snapshot.issues] == issues
    assert all(issue.place.startswith(f"gpu[0]/{style}s/{style}_") for issue in snapshot.issues)


def test_processes() -> None:
    content: build.Tree = {
        "process_info": [
            build.process(1357, "G", "/usr/lib/xorg/Xorg", gpu_instance_id=N_A, compute_instance_id=N_A),
            build.process(54796, "C", "python", "843 MiB", gpu_instance_id="1", compute_instance_id="0"),
            build.process(7, "C+G", "", N_A),
            build.process(8, "M+C", "a & b <c>"),
            build.process(9, "G", "[kworker/0:1]"),
        ]
    }
    snapshot = parse_smi_xml(build.document(build.gpu(processes=content)))
    sample = snapshot.samples[0]
    assert sample.processes == (
        GpuProcess(
            pid=1357,
            process_type="G",
            process_name="/usr/lib/xorg/Xorg",
            used_memory_mib=99,
            gpu_instance_id=Missing.NOT_SUPPORTED,
            compute_instance_id=Missing.NOT_SUPPORTED,
        ),
        GpuProcess(
            pid=54796,
            process_type="C",
            process_name="python",
            used_memory_mib=843,
            gpu_instance_id=1,
            compute_instance_id=0,
        ),
        GpuProcess(
            pid=7,
            process_type="C+G",
            process_name=Missing.NOT_AVAILABLE,
            used_memory_mib=Missing.NOT_SUPPORTED,
        ),
        GpuProcess(pid=8, process_type="M+C", process_name="a & b <c>", used_memory_mib=99),
        GpuProcess(pid=9, process_type="G", process_name=Missing.ERROR, used_memory_mib=99),
    )
    assert sample.compute_process_count == 3
    assert snapshot.issues == ()


@pytest.mark.parametrize(
    ("content", "processes"), [("", ()), ("\n\t\t", ()), (N_A, Missing.NOT_SUPPORTED), (None, Missing.ABSENT)]
)
def test_no_processes(content: str | None, processes: object) -> None:
    sample = both(processes=content)[1]
    assert sample.processes == processes
    assert sample.compute_process_count == (0 if processes == () else processes)


@pytest.mark.parametrize("name", ["GPU is lost", "Unknown Error", "ERR!", "[GPU is lost]"])
def test_a_process_cannot_speak_for_the_gpu(name: str) -> None:
    content: build.Tree = {"process_info": [build.process(1, "C", name)]}
    snapshot = parse_smi_xml(build.document(build.gpu(processes=content)))
    assert snapshot.issues == ()
    assert not snapshot.gpus[0].gpu_lost


def test_a_process_that_the_driver_cannot_read_is_an_issue() -> None:
    content: build.Tree = {"process_info": [build.process("many", "C", "a", "Unknown Error")]}
    snapshot = parse_smi_xml(build.document(build.gpu(processes=content)))
    assert [(issue.kind, issue.place) for issue in snapshot.issues] == [
        (IssueKind.BAD_VALUE, "gpu[0]/processes/process_info/pid"),
        (IssueKind.READ_ERROR, "gpu[0]/processes/process_info/used_memory"),
    ]


CONTAINERS = {
    "clocks_throttle_reasons": "sample.clocks_event_reasons",
    "clocks_event_reasons": "sample.clocks_event_reasons",
    "remapped_rows": "gpu.remapped_rows.row_remap_failure",
    "processes": "sample.processes",
    "mig_devices": "gpu.mig_instances",
    "ecc_errors": "gpu.ecc_errors.volatile.uncorrected_total",
    "retired_pages": "gpu.retired_pages.pending_retirement",
    "fb_memory_usage": "gpu.fb_total_mib",
    "utilization": "sample.utilization.gpu_util_percent",
    "temperature": "sample.temperature.gpu_temp_c",
    "gpu_power_readings": "gpu.power_limits.max_power_limit_mw",
    "fabric": "gpu.fabric.health.bandwidth",
    "platformInfo": "gpu.platform_info.module_id",
    "pci": "gpu.max_link_width",
}
WORDS = {
    N_A: (Missing.NOT_SUPPORTED, None),
    build.DEPRECATED: (Missing.DEPRECATED, None),
    "Insufficient Size": (Missing.NOT_AVAILABLE, None),
    "Insufficient Permissions": (Missing.NO_PERMISSION, IssueKind.NO_PERMISSION),
    "GPU requires reset": (Missing.NEEDS_RESET, IssueKind.NEEDS_RESET),
    "Unknown Error": (Missing.ERROR, IssueKind.READ_ERROR),
    "something new": (Missing.ERROR, IssueKind.BAD_VALUE),
    "GPU is lost": (Missing.LOST, IssueKind.GPU_LOST),
}


@pytest.mark.parametrize("word", WORDS)
@pytest.mark.parametrize("container", CONTAINERS)
def test_a_word_in_place_of_a_container(container: str, word: str) -> None:
    reason, kind = WORDS[word]
    snapshot = parse_smi_xml(build.document(build.gpu(1, **{container: word}), build.gpu(2)))
    noun, _, field = CONTAINERS[container].partition(".")
    record: object = {"gpu": snapshot.gpus[0], "sample": snapshot.samples[0]}[noun]
    assert attrgetter(field)(record) is reason
    assert [(issue.kind, issue.place) for issue in snapshot.issues] == (
        [] if kind is None else [(kind, f"gpu[0]/{container}")]
    )
    assert [gpu.gpu_lost for gpu in snapshot.gpus] == [reason is Missing.LOST, False]


@pytest.mark.parametrize("container", ["accounted_processes", "supported_clocks", "power_smoothing"])
@pytest.mark.parametrize("word", [word for word in WORDS if word != "GPU is lost"])
def test_a_word_in_a_container_that_nobody_reads(container: str, word: str) -> None:
    snapshot = parse_smi_xml(build.document(build.gpu(**{container: word})))
    assert snapshot.unread == (f"gpu/{container}",)
    assert snapshot.issues == ()


def test_a_word_in_place_of_a_whole_gpu() -> None:
    snapshot = parse_smi_xml(build.document("Unknown Error", build.gpu(2)))  # type: ignore[arg-type] # no tree
    assert snapshot.gpus[0].uuid is snapshot.gpus[0].remapped_rows.row_remap_failure is Missing.ERROR
    assert [(issue.kind, issue.place) for issue in snapshot.issues] == [
        (IssueKind.READ_ERROR, "gpu[0]"),
        (IssueKind.NO_UUID, "gpu[0]/uuid"),
    ]


LOST = "GPU is lost"


def test_a_lost_gpu_keeps_its_identity_and_its_neighbours() -> None:
    lost = build.gpu(
        1,
        serial="1654922006536",
        fb_memory_usage={"total": LOST, "used": LOST, "free": LOST},
        utilization={"gpu_util": LOST, "memory_util": LOST},
        ecc_errors={"volatile": build.sram_dram(0, 0, LOST, LOST), "aggregate": build.sram_dram(0, 0, LOST, LOST)},
        remapped_rows=LOST,
        temperature={"gpu_temp": LOST},
        fabric={"state": LOST, "status": LOST, "health": LOST},
        supported_clocks=LOST,
    )
    snapshot = parse_smi_xml(build.document(lost, build.gpu(2)))
    gpu, neighbour = snapshot.gpus
    assert (gpu.uuid, gpu.product_name, gpu.serial) == (build.uuid(1), "NVIDIA H200", "1654922006536")
    assert gpu.gpu_lost
    assert gpu.fb_total_mib is gpu.ecc_errors.volatile.uncorrected_total is Missing.LOST
    assert gpu.fabric.health.summary is gpu.remapped_rows.row_remap_pending is Missing.LOST
    assert not neighbour.gpu_lost
    (issue,) = snapshot.issues
    assert (issue.kind, issue.uuid, issue.text) == (IssueKind.GPU_LOST, build.uuid(1), LOST)
    assert "gpu[0]/fb_memory_usage/total" in issue.place.split(", ")


@pytest.mark.parametrize(
    "changes",
    [
        {"product_brand": LOST},
        {"power_smoothing": f"\n\t\t\t{LOST}\n\t\t"},
        {"max_clocks": {"graphics_clock": LOST}},
        {"supported_clocks": LOST},
        {"accounted_processes": LOST},
    ],
)
def test_a_gpu_is_lost_even_where_only_an_unread_element_says_so(changes: dict[str, build.Content]) -> None:
    snapshot = parse_smi_xml(build.document(build.gpu(1), build.gpu(2, **changes)))
    assert [gpu.gpu_lost for gpu in snapshot.gpus] == [False, True]
    (issue,) = snapshot.issues
    assert (issue.kind, issue.place, issue.uuid) == (IssueKind.GPU_LOST, "gpu[1]", build.uuid(2))


def test_a_gpu_is_lost_where_its_mig_devices_or_processes_are() -> None:
    mig = {**build.mig_device(1, 0), "fb_memory_usage": LOST}
    assert both(mig_devices={"mig_device": [mig]})[0].gpu_lost
    assert both(processes={"process_info": [build.process(1, "C", "a", LOST)]})[0].gpu_lost


def test_the_name_of_a_gpu_may_speak_of_loss() -> None:
    assert not both(product_name="GPU is lost and found")[0].gpu_lost
