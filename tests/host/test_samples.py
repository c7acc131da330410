from __future__ import annotations

import random
from typing import TYPE_CHECKING

import attrs
import pytest

from gpuinv.errors import IssueKind, NoDriverError, SmiError, SmiFailure
from gpuinv.host.samples import read_samples
from gpuinv.readings import Missing, known_or
from gpuinv.smi.compute_apps import COMPUTE_APPS
from gpuinv.smi.queries import FULL
from gpuinv.smi.query_xml import parse_smi_xml
from gpuinv.smi.samples import SAMPLE, SampleFallback, comparable
from tests.host.fakes import HOSTS, U1, U2, Answers, FakeClock, FakeSmi, captured, result, xml

if TYPE_CHECKING:
    from pathlib import Path

ROW = f"{U1}, 23034, 4, 338, 22692, 7, 3, 35, 41.20, 72.00, 1290, 877, P0, [N/A]\n".encode()
OTHER_ROW = ROW.replace(U1.encode(), U2.encode())
LOST = b"Unable to determine the device handle for GPU1: 0000:0A:00.0: GPU is lost.  Reboot the system\n"
REFUSED = b'Field "memory.reserved" is not a valid field to query.\n'
NOT_RUNNING = b"NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver.\n"

ONE_GPU: Answers = {
    SAMPLE: result(SAMPLE, ROW),
    COMPUTE_APPS: result(COMPUTE_APPS, f"{U1}\n".encode()),
    FULL: result(FULL, xml((U1, "0000:01:00.0"))),
}


@pytest.mark.parametrize("host", HOSTS)
@pytest.mark.parametrize("seed", [None, 1, 2])
def test_both_ways_of_sampling_give_the_same(fixtures_dir: Path, host: str, seed: int | None) -> None:
    """The host with MIG takes the full report, whose samples agree with the rows of its CSV all the same."""
    answers = captured(fixtures_dir, host)
    if seed is not None:
        for query in (SAMPLE, COMPUTE_APPS):
            rows = answers[query].stdout.splitlines(keepends=True)
            random.Random(seed).shuffle(rows)  # noqa: S311 - an order
            answers[query] = attrs.evolve(answers[query], stdout=b"".join(rows))
    smi = FakeSmi(answers)
    found = read_samples(smi)
    full = parse_smi_xml(answers[FULL].stdout).samples
    if host == "dgx-a100-mig":
        assert (found.fallback, smi.asked) == (SampleFallback.MIG_MODE, [SAMPLE, FULL])
        assert found.samples == full
    else:
        assert (found.fallback, smi.asked) == (None, [SAMPLE, COMPUTE_APPS])
        assert {sample.uuid: sample for sample in found.samples} == {each.uuid: comparable(each) for each in full}
    assert [comparable(sample).uuid for sample in found.samples] == [sample.uuid for sample in found.samples]
    assert found.issues == ()
    assert [query.argv for query in found.queries] == [query.argv for query in smi.asked]
    assert all(query.answered for query in found.queries)


def test_two_queries_are_a_sample() -> None:
    found = read_samples(FakeSmi(ONE_GPU))
    (sample,) = found.samples
    assert (sample.uuid, sample.power.power_draw_mw, sample.compute_process_count) == (U1, 41200, 1)
    assert (found.fallback, found.issues) == (None, ())


@pytest.mark.parametrize(
    ("answer", "fallback"),
    [
        ({"stdout": ROW.replace(b"[N/A]", b"Enabled")}, SampleFallback.MIG_MODE),
        ({"stdout": OTHER_ROW + ROW.replace(b"[N/A]", b"Enabled")}, SampleFallback.MIG_MODE),
        ({"stdout": REFUSED, "exit_code": 2}, SampleFallback.REFUSED_FIELD),
        ({"stdout": REFUSED, "exit_code": 255}, SampleFallback.REFUSED_FIELD),
        ({"stdout": REFUSED}, SampleFallback.REFUSED_FIELD),
        ({"stderr": REFUSED, "exit_code": 2}, SampleFallback.REFUSED_FIELD),
        ({"stdout": ROW.replace(b"P0, ", b"")}, SampleFallback.WRONG_COLUMNS),
        ({"stdout": OTHER_ROW + b"one, more\n"}, SampleFallback.WRONG_COLUMNS),
        ({"stdout": b"hello\n"}, SampleFallback.WRONG_COLUMNS),
    ],
)
def test_each_reason_for_the_full_report(answer: dict[str, object], fallback: SampleFallback) -> None:
    smi = FakeSmi({**ONE_GPU, SAMPLE: result(SAMPLE, **answer)})  # type: ignore[arg-type] # facts, by name
    found = read_samples(smi)
    assert found.fallback is fallback
    assert smi.asked == [SAMPLE, FULL]
    assert [sample.uuid for sample in found.samples] == [U1]
    assert [query.answered for query in found.queries] == [fallback is SampleFallback.MIG_MODE, True]


def test_the_second_query_may_ask_for_the_full_report_too() -> None:
    smi = FakeSmi({**ONE_GPU, COMPUTE_APPS: result(COMPUTE_APPS, f"{U1}, 12\n".encode())})
    found = read_samples(smi)
    assert (found.fallback, smi.asked) == (SampleFallback.WRONG_COLUMNS, [SAMPLE, COMPUTE_APPS, FULL])
    assert [query.answered for query in found.queries] == [True, False, True]


FAILED: list[tuple[dict[str, object], SmiFailure]] = [
    ({"stdout": NOT_RUNNING, "exit_code": 9}, SmiFailure.DRIVER_NOT_RUNNING),
    ({"stderr": NOT_RUNNING, "exit_code": 255}, SmiFailure.DRIVER_NOT_RUNNING),
    (
        {"stdout": b"Failed to initialize NVML: Driver/library version mismatch\n", "exit_code": 18},
        SmiFailure.VERSION_MISMATCH,
    ),
    ({"stdout": b"Failed to initialize NVML: Insufficient Permissions\n", "exit_code": 4}, SmiFailure.NO_PERMISSION),
    ({"stdout": ROW, "timed_out": True, "exit_code": None}, SmiFailure.TIMED_OUT),
    ({"stdout": ROW, "truncated": True, "exit_code": None}, SmiFailure.OTHER),
    ({"exit_code": -11}, SmiFailure.OTHER),
]


@pytest.mark.parametrize("query", [SAMPLE, COMPUTE_APPS])
@pytest.mark.parametrize(("answer", "failure"), FAILED)
def test_a_tool_that_failed_is_an_error_and_no_reason_to_ask_for_more(
    query: object, answer: dict[str, object], failure: SmiFailure
) -> None:
    wanted = SAMPLE if query == SAMPLE else COMPUTE_APPS
    smi = FakeSmi({**ONE_GPU, wanted: result(wanted, **answer)})  # type: ignore[arg-type] # facts, by name
    with pytest.raises(SmiError) as caught:
        read_samples(smi)
    assert (caught.value.failure, caught.value.argv) == (failure, wanted.argv)
    assert FULL not in smi.asked


def test_an_empty_answer_is_none() -> None:
    smi = FakeSmi({**ONE_GPU, SAMPLE: result(SAMPLE)})
    with pytest.raises(SmiError) as caught:
        read_samples(smi)
    assert caught.value.failure is SmiFailure.NOT_XML
    assert "no answer" in caught.value.output


@pytest.mark.parametrize("exit_code", [-11, 255, 9])
def test_processes_that_a_dead_query_did_not_list_are_not_counted_as_none(exit_code: int) -> None:
    """Nothing printed means no process only where the tool ended well."""
    smi = FakeSmi({**ONE_GPU, COMPUTE_APPS: result(COMPUTE_APPS, exit_code=exit_code)})
    with pytest.raises(SmiError) as caught:
        read_samples(smi)
    assert caught.value.argv == COMPUTE_APPS.argv


@pytest.mark.parametrize("exit_code", [0, 14])
def test_no_line_is_no_process_where_the_tool_ended_well(exit_code: int) -> None:
    found = read_samples(FakeSmi({**ONE_GPU, COMPUTE_APPS: result(COMPUTE_APPS, exit_code=exit_code)}))
    assert [sample.compute_process_count for sample in found.samples] == [0]


def test_a_full_report_that_fails_says_why() -> None:
    answers = {
        **ONE_GPU,
        SAMPLE: result(SAMPLE, REFUSED, exit_code=2),
        FULL: result(FULL, NOT_RUNNING, exit_code=9),
    }
    with pytest.raises(SmiError) as caught:
        read_samples(FakeSmi(answers))
    assert (caught.value.failure, caught.value.argv) == (SmiFailure.DRIVER_NOT_RUNNING, FULL.argv)


@pytest.mark.parametrize("gone", [SAMPLE, COMPUTE_APPS])
def test_a_host_without_nvidia_smi(gone: object) -> None:
    with pytest.raises(NoDriverError):
        read_samples(FakeSmi({query: answer for query, answer in ONE_GPU.items() if query != gone}))


@pytest.mark.parametrize("text", [LOST + ROW + OTHER_ROW, ROW + LOST + OTHER_ROW, ROW + OTHER_ROW + LOST])
@pytest.mark.parametrize("exit_code", [0, 15, 255])
def test_a_lost_gpu_hides_none_of_the_others(text: bytes, exit_code: int) -> None:
    smi = FakeSmi(
        {
            SAMPLE: result(SAMPLE, text, exit_code=exit_code),
            COMPUTE_APPS: result(COMPUTE_APPS, LOST + f"{U2}\n".encode(), exit_code=exit_code),
        }
    )
    found = read_samples(smi)
    assert [(sample.uuid, sample.compute_process_count) for sample in found.samples] == [(U1, 0), (U2, 1)]
    assert {(issue.kind, issue.pci_bus_id) for issue in found.issues} == {(IssueKind.GPU_LOST, "00000000:0A:00.0")}
    assert len(found.issues) == 2
    assert found.fallback is None


def test_a_gpu_that_is_lost_on_standard_error_between_both_queries() -> None:
    smi = FakeSmi(
        {
            SAMPLE: result(SAMPLE, ROW + OTHER_ROW),
            COMPUTE_APPS: result(COMPUTE_APPS, f"{U2}\n".encode(), stderr=LOST, exit_code=15),
        }
    )
    found = read_samples(smi)
    assert [known_or(sample.compute_process_count, -1) for sample in found.samples] == [-1, 1]
    assert found.samples[0].compute_process_count is Missing.NOT_AVAILABLE
    assert [issue.kind for issue in found.issues] == [IssueKind.GPU_LOST]


def test_a_warning_among_the_rows_is_kept() -> None:
    warning = b"WARNING: infoROM is corrupted at gpu 0000:B3:00.0\n"
    for answer in ({"stdout": warning + ROW}, {"stdout": ROW, "stderr": warning}):
        smi = FakeSmi({**ONE_GPU, SAMPLE: result(SAMPLE, **answer, exit_code=14)})
        found = read_samples(smi)
        assert [sample.uuid for sample in found.samples] == [U1]
        assert [issue.pci_bus_id for issue in found.issues] == ["00000000:B3:00.0"]


def test_a_host_without_gpus_has_no_samples() -> None:
    smi = FakeSmi({SAMPLE: result(SAMPLE, b"No devices were found\n", exit_code=6)})
    found = read_samples(smi)
    assert (found.samples, found.fallback, found.issues) == ((), None, ())
    assert smi.asked == [SAMPLE]


def test_a_host_that_lost_every_gpu_has_no_samples_and_an_issue() -> None:
    found = read_samples(FakeSmi({SAMPLE: result(SAMPLE, LOST + b"No devices were found\n", exit_code=6)}))
    assert found.samples == ()
    assert [issue.kind for issue in found.issues] == [IssueKind.GPU_LOST]


def test_all_queries_together_have_a_minute() -> None:
    clock = FakeClock()

    def before(_: object) -> None:
        clock.now += 25

    smi = FakeSmi({**ONE_GPU, COMPUTE_APPS: result(COMPUTE_APPS, b"1, 2\n")}, before)
    found = read_samples(smi, clock=clock)
    assert smi.timeouts == [30.0, 30.0, 10.0]
    assert found.fallback is SampleFallback.WRONG_COLUMNS

    def later(_: object) -> None:
        clock.now += 30

    smi = FakeSmi(smi.answers, later)
    with pytest.raises(SmiError) as caught:
        read_samples(smi, clock=clock)
    assert (caught.value.failure, caught.value.argv) == (SmiFailure.TIMED_OUT, FULL.argv)
    assert smi.asked == [SAMPLE, COMPUTE_APPS]
