from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import attrs
import pytest

from gpuinv.errors import Issue, IssueKind, NoDriverError, SmiError, SmiFailure
from gpuinv.host.smi import read_smi
from gpuinv.readings import Missing
from gpuinv.smi.queries import (
    COMPUTE_CAP,
    COMPUTE_INSTANCES,
    FULL,
    GPU_INSTANCES,
    LIST,
    MIG_PROFILES,
    NVLINK_REMOTE,
    NVLINK_STATUS,
    TOPOLOGY,
    Query,
)
from gpuinv.testing import replay
from tests.host.fakes import (
    HOSTS,
    MIG_LISTINGS,
    ONE_GPU,
    OPTIONAL,
    U1,
    U2,
    Answers,
    FakeClock,
    FakeSmi,
    captured,
    result,
    xml,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from gpuinv.inventory import Gpu
    from gpuinv.smi.records import QueryRun, SmiSnapshot

HANDLE = b"Unable to determine the device handle for GPU1: 0000:0A:00.0: "
LOST = b"GPU is lost.  Reboot the system to recover this GPU\n"
INFOROM = b"WARNING: infoROM is corrupted at gpu 0000:B3:00.0\n"
SOON = 5.0  # seconds, far more than it takes and far less than a query may

# Which fields each query fills: of a GPU, and of its rows. A GPU in MIG mode has some that others lack.
GPU_FIELDS = {
    LIST: {"mig_instances.mig_uuid", "mig_instances.mig_profile"},
    COMPUTE_CAP: {"compute_capability"},
    TOPOLOGY: {"topology"},
    NVLINK_STATUS: {"nvlinks.up"},
    NVLINK_REMOTE: {"nvlinks.peer", "nvlinks.remote_link"},
    MIG_PROFILES: {"mig_profiles"},
    GPU_INSTANCES: {"gpu_instances"},
    COMPUTE_INSTANCES: {
        "mig_instances.compute_instance_profile_id",
        "mig_instances.placement_start",
        "mig_instances.placement_size",
    },
}


def fields(gpu: Gpu) -> dict[str, list[Any]]:
    """What a GPU has in each field that an optional query fills."""
    found: dict[str, list[Any]] = {}
    for path in set().union(*GPU_FIELDS.values()):
        name, _, part = path.partition(".")
        value = getattr(gpu, name)
        if part:
            value = () if isinstance(value, Missing) else value
            found[path] = [getattr(row, part) for row in value]
        else:
            found[path] = [value]
    return found


def without_issues(snapshot: SmiSnapshot) -> SmiSnapshot:
    return attrs.evolve(snapshot, issues=())


def argvs(queries: tuple[QueryRun, ...]) -> list[tuple[str, ...]]:
    return [query.argv for query in queries]


def our_threads() -> list[threading.Thread]:
    return [thread for thread in threading.enumerate() if thread.name.startswith("nvidia-smi")]


# Which queries run


@pytest.mark.parametrize("host", HOSTS)
def test_the_queries_of_a_snapshot_are_reported_in_one_order(fixtures_dir: Path, host: str) -> None:
    smi = FakeSmi(captured(fixtures_dir, host))
    _, queries = read_smi(smi)
    expected = (FULL, *OPTIONAL, *(MIG_LISTINGS if host == "dgx-a100-mig" else ()))
    assert argvs(queries) == [query.argv for query in expected]
    assert smi.asked[0] == FULL
    assert set(smi.asked) == set(expected)
    assert len(smi.asked) == len(expected)
    assert our_threads() == []


def test_a_host_without_gpus_is_asked_nothing_more() -> None:
    for answer in (
        result(FULL, b"No devices were found\n", exit_code=6),
        result(FULL, b"<nvidia_smi_log><attached_gpus>0</attached_gpus></nvidia_smi_log>"),
    ):
        smi = FakeSmi({FULL: answer})
        snapshot, queries = read_smi(smi)
        assert (snapshot.gpus, snapshot.issues, smi.asked) == ((), (), [FULL])
        assert [query.answered for query in queries] == [True]


def test_the_other_queries_run_in_three_threads_at_most() -> None:
    lock, running, most = threading.Lock(), set[int](), 0
    barrier = threading.Barrier(3, timeout=SOON)

    def before(query: Query) -> None:
        nonlocal most
        if query == FULL:
            return
        with lock:
            running.add(threading.get_ident())
            most = max(most, len(running))
        barrier.wait()  # three of them are needed, and the six come in two rounds
        with lock:
            running.discard(threading.get_ident())

    smi = FakeSmi(ONE_GPU, before)
    snapshot, _ = read_smi(smi)
    assert most == 3
    assert len(smi.threads) == 4
    assert snapshot.issues == ()
    assert our_threads() == []


@pytest.mark.parametrize("host", HOSTS)
@pytest.mark.parametrize("seed", range(4))
def test_the_order_in_which_they_end_makes_no_difference(fixtures_dir: Path, host: str, seed: int) -> None:
    """Of those that run, a random one ends first; some of them fail."""
    chance = random.Random(seed)  # noqa: S311 - an order
    answers = captured(fixtures_dir, host)
    for query in chance.sample(OPTIONAL, 2):
        answers[query] = result(query, stderr=b"trouble\n", exit_code=255)
    expected = read_smi(FakeSmi(answers))
    turns = Turns(chance, 3, len(expected[1]) - 1)
    assert read_smi(FakeSmi(answers, turns.take)) == expected
    assert sorted(turns.taken) == list(range(len(expected[1]) - 1))


class Turns:
    """Lets the threads that wait go on one by one, in a random order, as soon as no more can come."""

    def __init__(self, chance: random.Random, at_once: int, total: int) -> None:
        self.chance, self.at_once, self.left = chance, at_once, total
        self.condition = threading.Condition()
        self.waiting: list[int] = []
        self.next: int | None = None
        self.arrived = 0
        self.taken: list[int] = []

    def take(self, query: Query) -> None:
        if query == FULL:
            return
        with self.condition:
            me = self.arrived
            self.arrived += 1
            self.waiting.append(me)
            self._choose()
            assert self.condition.wait_for(lambda: self.next == me, timeout=SOON)
            self.next = None
            self.waiting.remove(me)
            self.taken.append(me)
            self.left -= 1
            self._choose()

    def _choose(self) -> None:
        if self.next is None and self.waiting and len(self.waiting) == min(self.at_once, self.left):
            self.next = self.chance.choice(self.waiting)
        self.condition.notify_all()


# How an optional query fails

FAILURES: dict[str, tuple[dict[str, object], Missing, str, str]] = {
    "an unknown option": (
        {"stdout": b"ERROR: Option -X is not recognized. Please run 'nvidia-smi -h'.\n", "exit_code": 2},
        Missing.NOT_SUPPORTED,
        "failed with exit code 2",
        "ERROR: Option -X is not recognized. Please run 'nvidia-smi -h'.",
    ),
    "a refused field with another code": (
        {"stderr": b'Field "compute_cap" is not a valid field to query.\n\n', "exit_code": 255},
        Missing.NOT_SUPPORTED,
        "failed with exit code 255",
        'Field "compute_cap" is not a valid field to query.',
    ),
    "not offered": (
        {"stdout": b"\n  Not supported here\nmore\n", "exit_code": 3},
        Missing.NOT_SUPPORTED,
        "failed with exit code 3",
        "Not supported here",
    ),
    "no permission": (
        {"stderr": b"Failed to display compute instances: Insufficient Permissions\n", "exit_code": 4},
        Missing.NO_PERMISSION,
        "failed with exit code 4",
        "Failed to display compute instances: Insufficient Permissions",
    ),
    "no permission with another code": (
        {"stdout": b"Failed to display compute instances: Insufficient Permissions\n", "exit_code": 255},
        Missing.NO_PERMISSION,
        "failed with exit code 255",
        "Failed to display compute instances: Insufficient Permissions",
    ),
    "nothing found": ({"exit_code": 6}, Missing.NOT_SUPPORTED, "failed with exit code 6", ""),
    "needs a reset": ({"exit_code": 16}, Missing.NEEDS_RESET, "failed with exit code 16", ""),
    "an internal error": (
        {"stdout": b"out\n", "stderr": b"\n\x1b[31moops\x1b[0m\nmore\n", "exit_code": 255},
        Missing.ERROR,
        "failed with exit code 255",
        "oops",
    ),
    "killed by a signal": ({"exit_code": -9}, Missing.ERROR, "failed with exit code -9", ""),
    "timed out": (
        {"stdout": b"half", "timed_out": True, "exit_code": None, "seconds": 30.01},
        Missing.ERROR,
        "did not end within 30 s and was killed",
        "half",
    ),
    "truncated": (
        {"stdout": b"many\n" * 9, "truncated": True, "exit_code": None},
        Missing.ERROR,
        "printed more than 67108864 bytes and was killed",
        "many",
    ),
    "garbage": (
        {"stdout": b"\xff\xff garbage \x00 of, some, kind\n"},
        Missing.ERROR,
        "ended with exit code 0 and gave no answer",
        "\ufffd\ufffd garbage \\x00 of, some, kind",
    ),
}


@pytest.mark.parametrize("query", [*OPTIONAL, *MIG_LISTINGS], ids=lambda query: " ".join(query.args[:2]))
@pytest.mark.parametrize("how", FAILURES)
def test_a_failed_query_leaves_its_own_fields_with_a_reason(fixtures_dir: Path, query: Query, how: str) -> None:
    facts, reason, message, text = FAILURES[how]
    if query is LIST and reason is Missing.NOT_SUPPORTED:
        reason = Missing.NOT_AVAILABLE  # every driver knows -L: the names are there and could not be had
    answers = captured(fixtures_dir, "dgx-a100-mig")
    whole, _ = read_smi(FakeSmi(answers))
    snapshot, queries = read_smi(FakeSmi({**answers, query: result(query, **facts)}))  # type: ignore[arg-type]
    assert [str(issue) for issue in snapshot.issues if issue.kind is not IssueKind.QUERY_FAILED] == []
    (issue,) = snapshot.issues
    assert issue == Issue(kind=IssueKind.QUERY_FAILED, source=query.source, message=message, text=text)
    assert [run.argv for run in queries if not run.answered] == [query.argv]
    assert snapshot.samples == whole.samples
    changed = set()
    for before, after in zip(whole.gpus, snapshot.gpus, strict=True):
        expected = fields(before)
        for path in GPU_FIELDS[query]:
            if expected[path] != [Missing.ABSENT]:
                changed.add(path)
                expected[path] = [reason] * len(expected[path])
        assert fields(after) == expected
    assert changed == GPU_FIELDS[query]


def test_without_both_link_queries_the_links_are_missing(fixtures_dir: Path) -> None:
    answers = captured(fixtures_dir, "dgx-a100-mig")
    answers |= {
        NVLINK_STATUS: result(NVLINK_STATUS, exit_code=4),
        NVLINK_REMOTE: result(NVLINK_REMOTE, exit_code=255),
    }
    snapshot, _ = read_smi(FakeSmi(answers))
    assert {gpu.nvlinks for gpu in snapshot.gpus} == {Missing.NO_PERMISSION}


def test_a_gpu_whose_mig_is_off_lacks_nothing_of_the_listings(fixtures_dir: Path) -> None:
    answers = captured(fixtures_dir, "dgx-a100-mig")
    answers[GPU_INSTANCES] = result(GPU_INSTANCES, exit_code=255)
    snapshot, _ = read_smi(FakeSmi(answers))
    found = {gpu.gpu_index: gpu.gpu_instances for gpu in snapshot.gpus}
    assert found == {index: Missing.ERROR if index in {1, 6} else Missing.ABSENT for index in range(8)}


def test_a_tool_that_vanishes_costs_only_what_comes_after() -> None:
    """Each of the six may be the one that is not there any more."""
    for gone in OPTIONAL:
        answers = {query: answer for query, answer in ONE_GPU.items() if query != gone}
        snapshot, queries = read_smi(FakeSmi(answers))
        assert argvs(queries) == [query.argv for query in ONE_GPU if query != gone]
        (issue,) = snapshot.issues
        assert (issue.source, issue.message) == (gone.source, "was not run: nvidia-smi is not there any more")
    snapshot, queries = read_smi(FakeSmi({FULL: ONE_GPU[FULL]}))
    assert argvs(queries) == [FULL.argv]
    assert len(snapshot.issues) == len(OPTIONAL)
    (gpu,) = snapshot.gpus
    assert {gpu.compute_capability, gpu.topology, gpu.nvlinks, gpu.mig_profiles} == {Missing.ERROR}


def test_each_query_has_half_a_minute_and_all_have_one() -> None:
    clock = FakeClock()

    def slow(query: Query) -> None:
        if query == FULL:
            clock.now += 29

    smi = FakeSmi(ONE_GPU, slow)
    read_smi(smi, clock=clock)
    assert smi.timeouts == [30.0] * 7
    clock.now = 0.0
    late = FakeSmi(ONE_GPU, lambda _: setattr(clock, "now", clock.now + (50 if clock.now == 0 else 0)))
    snapshot, _ = read_smi(late, clock=clock)
    assert late.timeouts == [30.0, *[10.0] * 6]
    assert snapshot.issues == ()


def test_what_the_time_does_not_suffice_for_is_not_run() -> None:
    clock = FakeClock()

    def before(query: Query) -> None:
        if query == FULL:
            clock.now += 60

    smi = FakeSmi(ONE_GPU, before)
    snapshot, queries = read_smi(smi, clock=clock)
    assert smi.asked == [FULL]
    assert [gpu.uuid for gpu in snapshot.gpus] == [U1]
    assert len(queries) == 1
    assert [(issue.source, issue.message) for issue in snapshot.issues] == [
        (query.source, "was not run: the time for all queries was used up") for query in OPTIONAL
    ]


def test_a_full_query_without_time_is_one_that_timed_out() -> None:
    clock = FakeClock()
    seen: list[float] = []

    def moving() -> float:
        seen.append(clock.now)
        clock.now += 61
        return seen[-1]

    smi = FakeSmi(ONE_GPU)
    with pytest.raises(SmiError) as caught:
        read_smi(smi, clock=moving)
    assert caught.value.failure is SmiFailure.TIMED_OUT
    assert smi.asked == []


# What the tool says beside its answers


@pytest.mark.parametrize(
    ("how", "kind", "text", "bus"),
    [
        ({"exit_code": 14}, IssueKind.READ_ERROR, "", None),
        ({"stderr": INFOROM}, IssueKind.READ_ERROR, INFOROM.decode().strip(), "00000000:B3:00.0"),
        ({"stderr": INFOROM, "exit_code": 14}, IssueKind.READ_ERROR, INFOROM.decode().strip(), "00000000:B3:00.0"),
        ({"stderr": b"\n\n" + HANDLE + LOST, "exit_code": 15}, IssueKind.GPU_LOST, None, "00000000:0A:00.0"),
        ({"stderr": HANDLE + b"Unknown Error\n"}, IssueKind.READ_ERROR, None, "00000000:0A:00.0"),
        ({"exit_code": 15}, IssueKind.GPU_LOST, "", None),
        ({"exit_code": 16}, IssueKind.NEEDS_RESET, "", None),
        ({"exit_code": 4}, IssueKind.NO_PERMISSION, "", None),
    ],
)
def test_a_whole_document_counts_whatever_is_said_beside_it(
    how: dict[str, object], kind: IssueKind, text: str | None, bus: str | None
) -> None:
    answers = {**ONE_GPU, FULL: attrs.evolve(ONE_GPU[FULL], **how)}  # type: ignore[arg-type] # facts, by name
    snapshot, queries = read_smi(FakeSmi(answers))
    assert [gpu.uuid for gpu in snapshot.gpus] == [U1]
    (issue,) = snapshot.issues
    assert (issue.kind, issue.source, issue.pci_bus_id) == (kind, FULL.source, bus)
    assert text is None or issue.text == text
    assert (queries[0].exit_code, queries[0].answered) == (how.get("exit_code", 0), True)


def test_each_gpu_that_the_full_query_lost_is_named() -> None:
    said = b"Unable to determine the device handle for GPU0000:0A:00.0: Unknown Error\n" + HANDLE + LOST
    answers = {**ONE_GPU, FULL: attrs.evolve(ONE_GPU[FULL], stderr=said, exit_code=15)}
    snapshot, _ = read_smi(FakeSmi(answers))
    assert [issue.kind for issue in snapshot.issues] == [IssueKind.READ_ERROR, IssueKind.GPU_LOST]


def test_a_warning_before_the_document_is_kept() -> None:
    answers = {**ONE_GPU, FULL: attrs.evolve(ONE_GPU[FULL], stdout=INFOROM + ONE_GPU[FULL].stdout)}
    snapshot, _ = read_smi(FakeSmi(answers))
    assert [gpu.uuid for gpu in snapshot.gpus] == [U1]
    assert [(issue.kind, issue.text) for issue in snapshot.issues] == [
        (IssueKind.TEXT_AROUND, INFOROM.decode().strip())
    ]


@pytest.mark.parametrize("stream", ["stdout", "stderr"])
def test_a_dead_gpu_hides_none_of_the_others(stream: str) -> None:
    """`-L` with one dead GPU before the living ones, on either stream: their indices are those that are printed."""
    dead = b"Unable to determine the device handle for gpu 0000:18:00.0: Unknown Error\n"
    listed = b"GPU 1: NVIDIA L4 (UUID: %s)\nGPU 2: NVIDIA L4 (UUID: %s)\n" % (U1.encode(), U2.encode())
    matrix = b"\tGPU1\tGPU2\tCPU Affinity\nGPU1\t X \tPIX\t0-31\nGPU2\tPIX\t X \t0-31\n"
    both = {"stdout": dead + listed} if stream == "stdout" else {"stdout": listed, "stderr": dead}
    answers = {
        **ONE_GPU,
        FULL: result(FULL, xml((U1, "0000:01:00.0"), (U2, "0000:02:00.0"))),
        LIST: result(LIST, **both, exit_code=15),
        TOPOLOGY: result(TOPOLOGY, matrix),
    }
    snapshot, queries = read_smi(FakeSmi(answers))
    assert [gpu.topology[0].peer for gpu in snapshot.gpus if not isinstance(gpu.topology, Missing)] == [U2, U1]
    (issue,) = [issue for issue in snapshot.issues if issue.source == LIST.source]
    assert (issue.kind, issue.pci_bus_id) == (IssueKind.READ_ERROR, "00000000:18:00.0")
    assert queries[1].answered


def test_a_table_that_the_tool_gave_up_on_claims_nothing_of_the_rest(fixtures_dir: Path) -> None:
    """The words stand on standard error, the rows on standard output."""
    answers = captured(fixtures_dir, "dgx-a100-mig")
    rows = answers[GPU_INSTANCES].stdout
    kept = rows[: rows.index(b"|   6  MIG 1g.10gb+me")]
    merged = result(GPU_INSTANCES, kept + b"Failed to display GPU instances: Unknown Error\n", exit_code=255)
    apart = result(
        GPU_INSTANCES, kept, stderr=b"Failed to display GPU instances: Unknown Error\nnoise\n", exit_code=255
    )
    first, second = (read_smi(FakeSmi({**answers, GPU_INSTANCES: answer}))[0] for answer in (merged, apart))
    assert without_issues(first) == without_issues(second)
    assert first.gpus[6].gpu_instances is Missing.NOT_AVAILABLE


def test_output_that_is_no_document_says_what_is_wrong_with_it() -> None:
    with pytest.raises(SmiError, match="nvidia-smi -q -x: not xml") as caught:
        read_smi(FakeSmi({FULL: result(FULL, b"<nvidia_smi_log><gpu></nvidia_smi_log>")}))
    assert "line 1" in caught.value.output


def test_a_host_that_lost_every_gpu_is_not_one_without_gpus() -> None:
    said = b"".join(
        b"Unable to determine the device handle for GPU%d: 0000:0%d:00.0: Unknown Error\n" % (n, n) for n in (1, 2)
    )
    with pytest.raises(SmiError) as caught:
        read_smi(FakeSmi({FULL: result(FULL, said + b"No devices were found\n", exit_code=6)}))
    assert caught.value.failure is SmiFailure.GPU_LOST
    assert caught.value.hint.startswith("GPU 00000000:01:00.0, GPU 00000000:02:00.0 ")


def test_a_host_without_nvidia_smi() -> None:
    with pytest.raises(NoDriverError):
        read_smi(FakeSmi({}))


# What ends a reading early


class BrokenError(Exception):
    pass


@attrs.define
class StoppableSmi:
    """Its optional queries wait until they are stopped; `breaks` fails as soon as `hung` of them wait."""

    breaks: Query | None = None
    hung: int = 2
    stopped: list[Query] = attrs.field(factory=list)
    waiting: threading.Semaphore = attrs.field(factory=lambda: threading.Semaphore(0))

    def run(self, args: Any, *, timeout: float, stop: threading.Event | None = None) -> Any:  # noqa: ANN401
        assert timeout > 0
        query = Query(tuple(args), required=tuple(args) == FULL.args)
        if stop is None:
            return ONE_GPU[query]
        if query == self.breaks:
            for _ in range(self.hung):
                assert self.waiting.acquire(timeout=SOON)
            raise BrokenError(query.source)
        self.waiting.release()
        assert stop.wait(SOON)
        self.stopped.append(query)
        return result(query, exit_code=None)


@pytest.mark.parametrize("breaks", OPTIONAL[:3])
def test_an_exception_of_the_runner_comes_through_at_once_and_leaves_no_thread(breaks: Query) -> None:
    smi = StoppableSmi(breaks)
    with pytest.raises(BrokenError, match="nvidia-smi"):
        read_smi(smi)
    assert our_threads() == []
    assert set(smi.stopped) == set(OPTIONAL[:3]) - {breaks}


def test_an_exception_of_a_reader_comes_through(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(_: bytes) -> NoReturn:
        raise BrokenError

    monkeypatch.setattr("gpuinv.host.smi._PARSERS", {LIST: broken})
    with pytest.raises(BrokenError):
        read_smi(FakeSmi(ONE_GPU))
    assert our_threads() == []


def test_an_interrupt_stops_the_queries_that_run() -> None:
    smi = StoppableSmi()
    main = threading.main_thread().ident
    assert main is not None

    def interrupt() -> None:
        for _ in range(3):
            assert smi.waiting.acquire(timeout=SOON)
        signal.pthread_kill(main, signal.SIGINT)

    thread = threading.Thread(target=interrupt)
    thread.start()
    with pytest.raises(KeyboardInterrupt):
        read_smi(smi)
    thread.join()
    assert until(lambda: our_threads() == [])  # one that was interrupted while it started is not waited for
    assert len(smi.stopped) == 3


PROGRAM = """
import sys
from gpuinv.host import LocalSmi
from gpuinv.host.smi import read_smi

try:
    read_smi(LocalSmi(sys.argv[1]))
except KeyboardInterrupt:
    print("interrupted")
"""


@pytest.fixture
def hanging_tool(tmp_path: Path) -> Path:
    """It prints one GPU and hangs in every other query, with a child of its own that holds the pipes."""
    (tmp_path / "q-x.xml").write_bytes(ONE_GPU[FULL].stdout)
    tool = tmp_path / "nvidia-smi"
    tool.write_text(
        f'#!/bin/sh\ncase "$1" in -q) exec cat {tmp_path}/q-x.xml;; esac\n'
        f"sleep 60 & echo $$ $! > {tmp_path}/new.$$; mv {tmp_path}/new.$$ {tmp_path}/hung.$$; wait\n",
        encoding="utf-8",
    )
    tool.chmod(0o755)
    return tool


def until(check: Callable[[], bool]) -> bool:
    deadline = time.monotonic() + SOON
    while not check():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.01)
    return True


def alive(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return False
    return state not in "ZX"


def hung(tool: Path) -> Iterator[int]:
    for path in tool.parent.glob("hung.*"):
        yield from map(int, path.read_text(encoding="utf-8").split())


def test_an_interrupt_ends_a_reading_whose_queries_hang(hanging_tool: Path) -> None:
    """Each runs in a session of its own, so that the terminal's interrupt reaches none of them."""
    with subprocess.Popen(
        [sys.executable, "-c", PROGRAM, str(hanging_tool)], stdout=subprocess.PIPE, env={**os.environ}
    ) as program:
        assert until(lambda: len(list(hung(hanging_tool))) == 6)
        started = time.monotonic()
        program.send_signal(signal.SIGINT)
        output, _ = program.communicate(timeout=SOON)
        took = time.monotonic() - started
    assert (output, program.returncode) == (b"interrupted\n", 0)
    assert took < 2
    assert until(lambda: not any(map(alive, hung(hanging_tool))))


@pytest.mark.parametrize("host", HOSTS)
def test_a_replayed_host_is_read_as_its_values_are(fixtures_dir: Path, host: str) -> None:
    smi = replay(fixtures_dir / "nvidia-smi" / host).smi
    answers: Answers = captured(fixtures_dir, host)
    assert without_issues(read_smi(smi)[0]) == without_issues(read_smi(FakeSmi(answers))[0])


@pytest.mark.parametrize(
    "facts",
    [
        {"stdout": b"<nvidia_smi_log><attached_gpus>8</attached_gpus></nvidia_smi_log>"},
        {"stdout": b"<nvidia_smi_log/>"},
        {"stdout": b"<nvidia_smi_log><attached_gpus>0</attached_gpus></nvidia_smi_log>", "exit_code": 255},
        {"stdout": b"<nvidia_smi_log><error_string>Failed</error_string></nvidia_smi_log>", "exit_code": 255},
        {"stdout": b"No devices were found\n", "exit_code": 255},
    ],
)
def test_no_gpus_are_a_fact_only_where_the_tool_says_so(facts: dict[str, Any]) -> None:
    with pytest.raises(SmiError):
        read_smi(FakeSmi({FULL: result(FULL, **facts)}))


@pytest.mark.parametrize(
    "facts",
    [
        {"stdout": b"<nvidia_smi_log><attached_gpus>0</attached_gpus></nvidia_smi_log>"},
        {"stdout": b"No devices were found\n", "exit_code": 6},
        {"stdout": b"No devices were found\n", "exit_code": 0},
    ],
)
def test_a_working_driver_may_have_no_gpu(facts: dict[str, Any]) -> None:
    snapshot, _ = read_smi(FakeSmi({FULL: result(FULL, **facts)}))
    assert snapshot.gpus == ()
