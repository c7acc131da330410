from __future__ import annotations

import json
import random
from typing import TYPE_CHECKING

import attrs
import pytest

from gpuinv.errors import IssueKind, NoDriverError, ParseError, SmiError, SmiFailure
from gpuinv.ids import GpuUuid
from gpuinv.inventory import GpuProcess, GpuSample
from gpuinv.inventory.sample import Clocks, MemoryUsage, PowerReadings, Temperature, Utilization
from gpuinv.readings import Missing, known_or
from gpuinv.smi.compute_apps import COMPUTE_APPS, ComputeApps, parse_compute_apps
from gpuinv.smi.query_gpu import RefusedField, WrongColumns
from gpuinv.smi.query_xml import parse_smi_xml
from gpuinv.smi.samples import (
    SAMPLE,
    SampleFallback,
    Samples,
    comparable,
    join_compute_apps,
    parse_samples,
    sample_fallback,
)

if TYPE_CHECKING:
    from pathlib import Path

A = GpuUuid("GPU-7a10c0de-22d4-4be7-8a6e-0d2f7c9b1e01")
B = GpuUuid("GPU-7a10c0de-22d4-4be7-8a6e-0d2f7c9b1e02")
BUSY = f"{A}, 32510, 4, 338, 32168, 7, 3, 35, 41.20, 300.00, 1290, 877, P0, [N/A]"
HOSTS = ["dgx-a100-mig", "workstation-rtx-5090", "wsl2-rtx-5090"]
every_host = pytest.mark.parametrize("host", HOSTS)


def sampled(rows: str | bytes, apps: str | bytes) -> Samples:
    return join_compute_apps(parse_samples(rows), parse_compute_apps(apps))


def test_a_row_is_a_sample() -> None:
    found = parse_samples(BUSY)
    assert found == Samples(
        samples=(
            GpuSample(
                uuid=A,
                fb_memory=MemoryUsage(total_mib=32510, used_mib=4, reserved_mib=338, free_mib=32168),
                utilization=Utilization(gpu_util_percent=7, memory_util_percent=3),
                temperature=Temperature(gpu_temp_c=35),
                power=PowerReadings(legacy_power_draw_mw=41200, requested_power_limit_mw=300000),
                clocks=Clocks(sm_clock_mhz=1290, mem_clock_mhz=877),
                performance_state="P0",
            ),
        ),
        mig_modes=(Missing.NOT_SUPPORTED,),
    )
    assert found.samples[0].power.power_draw_mw == 41200
    assert found.samples[0].compute_process_count is Missing.ABSENT


def test_cells_without_a_value_leave_the_row_and_the_others() -> None:
    found = parse_samples(
        f"{A}, 32510, [N/A], 338, 32172, [Not Supported], 0, 35, 41.20, 300.00, 1290, 877, P0, [N/A]\n"
        f"{B}, 32510, 4, 338, 32168, 0, 0, [Unknown Error], [Unknown Error], 300.00, 135, 877, P8, [N/A]\n"
    )
    first, second = found.samples
    assert first.fb_memory.used_mib is Missing.NOT_SUPPORTED
    assert first.utilization.gpu_util_percent is Missing.NOT_SUPPORTED
    assert (first.utilization.memory_util_percent, first.power.power_draw_mw) == (0, 41200)
    assert second.temperature.gpu_temp_c is Missing.ERROR
    assert second.power.power_draw_mw is Missing.ERROR
    assert [(issue.kind, issue.uuid) for issue in found.issues] == [(IssueKind.READ_ERROR, B)]
    assert sample_fallback(found) is None


def test_header_and_units_are_read_too() -> None:
    text = (
        "uuid, memory.total [MiB], memory.used [MiB], memory.reserved [MiB], memory.free [MiB], utilization.gpu [%], "
        "utilization.memory [%], temperature.gpu, power.draw [W], power.limit [W], clocks.current.sm [MHz], "
        "clocks.current.memory [MHz], pstate, mig.mode.current\n"
        f"{A}, 32510 MiB, 4 MiB, 338 MiB, 32168 MiB, 7 %, 3 %, 35, 41.20 W, 300.00 W, 1290 MHz, 877 MHz, P0, [N/A]\n"
    )
    assert parse_samples(text) == parse_samples(BUSY)


@every_host
def test_the_queries_are_those_that_are_captured(fixtures_dir: Path, host: str) -> None:
    capture = json.loads((fixtures_dir / "nvidia-smi" / host / "capture.json").read_text(encoding="utf-8"))
    by_output = {command["stdout"]: tuple(command["argv"]) for command in capture["commands"]}
    assert by_output["smi/query-gpu-sample.csv"] == SAMPLE.argv
    assert by_output["smi/query-compute-apps.csv"] == COMPUTE_APPS.argv


@every_host
@pytest.mark.parametrize("seed", [None, 1, 2])
def test_both_ways_of_sampling_agree(fixtures_dir: Path, host: str, seed: int | None) -> None:
    """They do for each GPU, whatever the order of the rows and of the processes."""
    smi = fixtures_dir / "nvidia-smi" / host / "smi"
    rows = (smi / "query-gpu-sample.csv").read_text(encoding="utf-8").splitlines()
    apps = (smi / "query-compute-apps.csv").read_text(encoding="utf-8").splitlines()
    if seed is not None:
        random.Random(seed).shuffle(rows)  # noqa: S311 - an order
        random.Random(seed).shuffle(apps)  # noqa: S311
    found = sampled("\n".join(rows), "\n".join(apps)).samples
    expected = {sample.uuid: comparable(sample) for sample in parse_smi_xml((smi / "q-x.xml").read_bytes()).samples}
    assert [sample.uuid for sample in found] == [row.partition(",")[0] for row in rows]
    assert {sample.uuid: sample for sample in found} == expected
    assert [comparable(sample) for sample in found] == list(found)
    assert sum(known_or(sample.compute_process_count, 0) for sample in found) == len(apps)


def test_a_sample_of_the_snapshot_is_cut_to_what_the_queries_know() -> None:
    sample = GpuSample(
        uuid=A,
        utilization=Utilization(gpu_util_percent=5, encoder_util_percent=9),
        power=PowerReadings(average_power_draw_mw=Missing.NOT_SUPPORTED, instant_power_draw_mw=39320),
        fan_speed_percent=30,
        processes=(GpuProcess(process_type="C"), GpuProcess(process_type="G")),
    )
    assert comparable(sample) == GpuSample(
        uuid=A,
        utilization=Utilization(gpu_util_percent=5),
        power=PowerReadings(legacy_power_draw_mw=39320),
        compute_app_count=1,
    )


def test_processes_are_counted_by_gpu_and_a_gpu_without_a_line_has_none() -> None:
    found = sampled(f"{BUSY}\n{BUSY.replace(A, B)}", f"{B}\n{B}\n")
    assert [sample.compute_process_count for sample in found.samples] == [0, 2]


def test_a_process_of_an_unknown_gpu_makes_every_count_too_low() -> None:
    found = sampled(BUSY, f"{A}\nMIG-7a10c0de-22d4-4be7-8a6e-0d2f7c9b1e03\n")
    assert [sample.compute_process_count for sample in found.samples] == [Missing.NOT_AVAILABLE]
    assert [issue.kind for issue in found.issues] == [IssueKind.NO_UUID]


def test_a_sample_without_a_uuid_has_no_count() -> None:
    found = sampled(BUSY.replace(A, "[N/A]"), f"{A}\n")
    assert [sample.compute_process_count for sample in found.samples] == [Missing.NOT_AVAILABLE]


UNOPENED = "Unable to determine the device handle for GPU1: 0000:0A:00.0: GPU is lost.  Reboot\n"


def test_a_gpu_that_the_second_query_cannot_open_has_no_count_and_a_lost_one_no_sample() -> None:
    rows = f"{BUSY}\n{BUSY.replace(A, B)}\n"
    lost_between = sampled(rows, f"{A}\n{UNOPENED}")
    assert [sample.compute_process_count for sample in lost_between.samples] == [1, Missing.NOT_AVAILABLE]
    lost_before = sampled(f"{rows}{UNOPENED}", f"{A}\n{UNOPENED}")
    assert [sample.compute_process_count for sample in lost_before.samples] == [1, 0]
    assert (lost_before.unopened, [issue.kind for issue in lost_before.issues]) == (1, [IssueKind.GPU_LOST] * 2)


def test_mig_mode_on_needs_the_snapshot() -> None:
    on = parse_samples(f"{BUSY}\n{BUSY.replace(A, B).replace('[N/A]', 'Enabled')}\n")
    assert on.mig_modes == (Missing.NOT_SUPPORTED, True)
    assert sample_fallback(on) is SampleFallback.MIG_MODE
    assert sample_fallback(parse_samples(BUSY.replace("[N/A]", "Disabled"))) is None


def test_a_refused_field_and_wrong_columns_need_the_snapshot() -> None:
    with pytest.raises(RefusedField) as refused:
        parse_samples('Field "memory.reserved" is not a valid field to query.\n')
    assert sample_fallback(refused.value) is SampleFallback.REFUSED_FIELD
    with pytest.raises(WrongColumns) as wrong:
        parse_samples(f"{BUSY}\n{B}, 32510, 4\n")
    assert sample_fallback(wrong.value) is SampleFallback.WRONG_COLUMNS


@pytest.mark.parametrize(
    ("error", "fallback"),
    [
        (NoDriverError(), None),
        (ParseError("source", "no answer"), None),
        (SmiError(SAMPLE.argv, SmiFailure.TIMED_OUT), None),
        (SmiError(SAMPLE.argv, SmiFailure.DRIVER_NOT_RUNNING, exit_code=9, output="NVIDIA-SMI has failed"), None),
        (
            SmiError(
                SAMPLE.argv,
                SmiFailure.OTHER,
                exit_code=6,
                output='noise\nField "memory.reserved" is not a valid field to query.\n',
            ),
            SampleFallback.REFUSED_FIELD,
        ),
    ],
)
def test_other_errors_are_the_callers_to_raise(error: ParseError | SmiError, fallback: SampleFallback | None) -> None:
    assert sample_fallback(error) is fallback


LONG = ("timestamp", "gpu_uuid", "pid", "process_name", "used_memory")


@pytest.mark.parametrize(
    ("text", "fields"),
    [
        (f"{A}\n{A}\n{B}\n", ("gpu_uuid",)),
        (f"gpu_uuid\n{A}\n{B}\n{A}\n".encode(), ("gpu_uuid",)),
        (f"{A}, 1\n{A}, 2\n{B}, 3\n", ("gpu_uuid", "pid")),
        (
            f"{A}, 4321, /opt/a,b/run, 512 MiB\n{A}, 1, a, b, c, [N/A]\n{B}, 2, x, 1 MiB\n",
            ("gpu_uuid", "pid", "name", "used_memory"),
        ),
        (f"{A},4321,/opt/a, b/run,512\n{A},1,,2\n{B},7,[N/A],3\n", ("gpu_uuid", "pid", "process_name", "used_memory")),
        (
            (
                "timestamp, gpu_uuid, pid, process_name, used_gpu_memory [MiB]\n"
                f"t, {A}, 1, C:\\Program Files (x86)\\a, b.exe, [N/A]\n"
                f"t, {A}, 2, -, 3 MiB\nt, {B}, 3, gpu_uuid, 3 MiB\n"
            ),
            LONG,
        ),
        (f"MIG-{A}/1/0\n{A}\n{B}\n", ("gpu_uuid",)),
        (f"WARNING: infoROM is corrupted at gpu 0000:B3:00.0\n{A}\n{A}\n{B}\n", ("gpu_uuid",)),
    ],
)
def test_lines_are_counted_by_gpu(text: str | bytes, fields: tuple[str, ...]) -> None:
    found = parse_compute_apps(text, fields)
    assert dict(found.by_uuid) == {A: 2, B: 1}
    assert found.unattributed == 0


@pytest.mark.parametrize("text", ["", b"\n", "gpu_uuid\n", "No devices were found\n"])
def test_no_line_is_no_process(text: str | bytes) -> None:
    assert parse_compute_apps(text) == ComputeApps()


def test_lines_that_name_no_process_or_no_gpu() -> None:
    found = parse_compute_apps(f"{A}, [Not Supported]\n[N/A], 7\nGPU-x, 8\n{B}, many\n", ("gpu_uuid", "pid"))
    assert dict(found.by_uuid) == {A: Missing.NOT_SUPPORTED, B: Missing.ERROR}
    assert found.unattributed == 2
    assert [issue.kind for issue in found.issues] == [IssueKind.BAD_VALUE, IssueKind.NO_UUID]


@pytest.mark.parametrize("uuid", ["[N/A]", "[Unknown Error]", "[Insufficient Permissions]", "GPU-x"])
def test_processes_without_a_gpu_are_one_issue(uuid: str) -> None:
    found = parse_compute_apps(f"{A}\n" + f"{uuid}\n" * 2000)
    assert dict(found.by_uuid) == {A: 1}
    assert found.unattributed == 2000
    (issue,) = found.issues
    assert (issue.kind, issue.place, issue.text) == (IssueKind.NO_UUID, "line 2", uuid)
    assert issue.message == "2000 processes without the UUID of their GPU; this is the first of them"


@pytest.mark.parametrize(
    "text", ["Failed to initialize NVML: Unknown Error\n", f"{A}\nNVIDIA-SMI has failed because of something\n"]
)
def test_a_failed_query_is_not_zero_processes(text: str) -> None:
    with pytest.raises(ParseError, match="no answer"):
        parse_compute_apps(text)


def test_a_line_of_other_columns_refuses_them_all() -> None:
    with pytest.raises(WrongColumns):
        parse_compute_apps(f"{A}, 1, a, 5 MiB\n{A}, 2\n", ("gpu_uuid", "pid", "name", "used_memory"))


@pytest.mark.parametrize("fields", ["gpu_uuid", (), ("pid",), ("gpu_uuid", "used_gpu")])
def test_the_fields_must_be_known_and_name_the_gpu(fields: tuple[str, ...]) -> None:
    with pytest.raises(ValueError, match=r"field"):
        parse_compute_apps("", fields)


def test_samples_are_values() -> None:
    found = parse_samples(BUSY)
    assert attrs.evolve(found) == found
    assert hash(found) == hash(parse_samples(BUSY))
