from __future__ import annotations

import json
import os
import pty
import signal
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import attrs
import pytest

from gpuinv.cli import _hosts
from gpuinv.cli import samples as module
from gpuinv.cli._plain import plain
from gpuinv.cli._samples import sample_lines
from gpuinv.cli._watch import Pace
from gpuinv.errors import NoDriverError
from gpuinv.host.ports import CommandResult, SmiRunner
from gpuinv.host.samples import read_samples
from gpuinv.ids import GpuUuid, PciBusId
from gpuinv.inventory import GpuSample
from gpuinv.inventory.sample import Clocks, MemoryUsage, PowerReadings
from gpuinv.readings import Missing
from gpuinv.smi.queries import FULL
from gpuinv.smi.samples import SAMPLE
from gpuinv.testing import replay
from tests.cli import hosts
from tests.cli.running import Outcome, gpuinv

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path
    from threading import Event

every_host = pytest.mark.parametrize("name", hosts.HOSTS)
WORKSTATION = hosts.FIXTURES / "workstation-rtx-5090"
REFUSED = b'Field "memory.reserved" is not a valid field to query.\n\n'


@every_host
@pytest.mark.parametrize("width", [80, 120])
def test_the_page_fits_the_screen(name: str, width: int) -> None:
    outcome = gpuinv("samples", "--replay", hosts.FIXTURES / name, width=width)
    assert (outcome.exit_code, outcome.stderr) == (0, "")
    assert max(map(len, outcome.text.splitlines())) <= width
    assert "\x1b" not in outcome.text


@every_host
def test_json_is_the_whole_result(name: str) -> None:
    host = hosts.FIXTURES / name
    outcome = gpuinv("samples", "--replay", host, "--json")
    assert outcome.exit_code == 0
    assert json.loads(outcome.text) == plain(read_samples(replay(host).smi))


def test_json_of_a_known_host() -> None:
    document = json.loads(gpuinv("samples", "--replay", hosts.FIXTURES / "dgx-a100-mig", "--json").text)
    assert list(document) == ["samples", "fallback", "issues", "queries"]
    assert document["fallback"] == "mig_mode"
    assert document["samples"][1]["mig_samples"][0]["fb_memory"]["used_mib"] == 18437
    assert document["samples"][1]["utilization"]["gpu_util_percent"] == {"missing": "not_supported"}
    assert [run["argv"][1][:11] for run in document["queries"]] == ["--query-gpu", "-q"]


@attrs.frozen
class Smi:
    """An nvidia-smi that gives one answer after the other; the last one again and again."""

    answers: list[dict[str, object] | BaseException]

    def run(self, args: Sequence[str], *, timeout: float, stop: Event | None = None) -> CommandResult:
        assert stop is None
        answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        if isinstance(answer, BaseException):
            raise answer
        facts: dict[str, Any] = {"argv": ("nvidia-smi", *args), "exit_code": 0, "seconds": min(timeout, 0.1), **answer}
        return CommandResult(**facts)


ROW = (WORKSTATION / "smi/query-gpu-sample.csv").read_bytes()
REPORT = {"stdout": (WORKSTATION / "smi/q-x.xml").read_bytes()}
APPS = {"stdout": b""}
STOPPED = {"stdout": b"NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver.\n", "exit_code": 9}


@pytest.fixture
def on(monkeypatch: pytest.MonkeyPatch) -> Callable[..., Outcome]:
    """Runs the command on a host with these answers; Ctrl-C comes while it waits for the round after `rounds`."""

    @attrs.frozen
    class Machine:
        smi: SmiRunner

    def run(answers: list[dict[str, object] | BaseException], *options: object, rounds: int = 1) -> Outcome:
        slept: list[float] = []

        def sleep(seconds: float) -> None:
            slept.append(seconds)
            if len(slept) == rounds:
                raise KeyboardInterrupt

        monkeypatch.setattr(module, "PACE", Pace(lambda: float(len(slept)), sleep))
        monkeypatch.setattr(_hosts, "LocalHost", lambda: Machine(Smi(list(answers))))
        return gpuinv("samples", *options)

    return run


@pytest.mark.parametrize(
    ("csv", "words"),
    [
        (REFUSED, "this driver does not know a field of the short query"),
        (ROW.replace(b", 504", b""), "the short query's answer has other columns"),
        (ROW.replace(b"P1, [N/A]", b"P1, Enabled"), "MIG is on at a GPU"),
        (b"nonsense: at length\n", "the short query's answer has other columns"),
    ],
)
def test_the_fallback_is_said_in_one_line(on: Callable[..., Outcome], csv: bytes, words: str) -> None:
    outcome = on([{"stdout": csv}, REPORT])
    assert outcome.exit_code == 0
    assert f"\nfrom nvidia-smi -q -x: {words}\n" in outcome.text
    assert "GPU-50d4b61a  12894 / 32607" in outcome.text


def test_without_a_fallback_nothing_is_said(on: Callable[..., Outcome]) -> None:
    assert "-q -x" not in on([{"stdout": ROW}, APPS]).text


def test_no_gpus(on: Callable[..., Outcome]) -> None:
    outcome = on([{"stdout": b"No devices were found\n"}, APPS])
    assert (outcome.exit_code, outcome.text) == (0, "no GPUs\n")


def test_issues_and_telling_reasons_are_shown(on: Callable[..., Outcome]) -> None:
    row = ROW.replace(b", 63, 314.27", b", ERR!, [Insufficient Permissions]")
    failed = b"Unable to determine the device handle for GPU 0000:25:00.0: Unknown Error\n"
    outcome = on([{"stdout": row + failed}, APPS])
    assert outcome.exit_code == 0
    assert "   · could not be read: temperature\n   · no permission to read: power draw\n" in outcome.text
    assert "12894 / 32607  87 / 41   –  – / 575" in outcome.text  # noqa: RUF001
    assert "3 issues\n" in outcome.text
    assert "! read_error: the tool could not open a GPU: Unknown Error" in outcome.text


@pytest.mark.parametrize("options", [(), ("--json",)])
@pytest.mark.parametrize(
    ("host", "exit_code", "words"),
    [
        (hosts.bare_host, 3, "gpuinv: nvidia-smi not found: install"),
        (lambda directory: hosts.hung_query(directory, " ".join(SAMPLE.args)), 4, "timed out"),
        (lambda directory: hosts.hung_query(directory, " ".join(FULL.args)), 4, "nvidia-smi -q -x: timed out"),
    ],
)
def test_failures(
    tmp_path: Path, host: Callable[[Path], Path], exit_code: int, words: str, options: tuple[str, ...]
) -> None:
    outcome = gpuinv("samples", "--replay", host(tmp_path), *options)
    assert outcome.exit_code == exit_code
    assert words in outcome.complaint


@pytest.mark.parametrize(("answer", "words"), [(STOPPED, "modprobe nvidia"), ({}, "printed something else")])
def test_a_tool_that_gives_no_samples(on: Callable[..., Outcome], answer: dict[str, object], words: str) -> None:
    outcome = on([answer])
    assert outcome.exit_code == 4
    assert words in outcome.complaint


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--replay", "/nonexistent"), "/nonexistent: not a capture"),
        (("--watch",), "requires an argument"),
        (("--watch=0.19",), "0.19 is not between 0.2 and 86400"),
        (("--watch=0",), "0 is not between"),
        (("--watch=-1",), "-1 is not between"),
        (("--watch=nan",), "nan is not between"),
        (("--watch=inf",), "inf is not between"),
        (("--watch=soon",), "'soon' is not a valid float"),
        (("surplus",), "surplus"),
    ],
)
def test_wrong_usage(options: tuple[str, ...], words: str) -> None:
    outcome = gpuinv("samples", *options)
    assert outcome.exit_code == 2
    assert words in outcome.complaint


def test_watching_repeats_the_page(on: Callable[..., Outcome]) -> None:
    second = ROW.replace(b"12894", b"12895")
    outcome = on([{"stdout": ROW}, APPS, {"stdout": second}, APPS], "--watch=0.5", rounds=2)
    assert (outcome.exit_code, outcome.stderr) == (0, "")
    first_page, second_page = outcome.text.split("\n\n1 GPU")
    assert first_page.startswith("1 GPU, every 0.5 s\n\nGPU")
    assert "12894 / 32607" in first_page
    assert "12895 / 32607" in second_page
    assert "\x1b" not in outcome.text


def test_watching_as_json_prints_a_line_a_round(on: Callable[..., Outcome]) -> None:
    outcome = on([{"stdout": ROW}, APPS] * 3, "--watch=1", "--json", rounds=3)
    assert outcome.exit_code == 0
    lines = outcome.text.splitlines()
    assert " " not in lines[0].partition("queries")[0]
    assert [json.loads(line)["samples"][0]["fb_memory"]["used_mib"] for line in lines] == [12894] * 3


@pytest.mark.parametrize("options", [("--watch=1",), ("--watch=1", "--json")])
def test_an_error_is_shown_and_the_next_round_goes_on(on: Callable[..., Outcome], options: tuple[str, ...]) -> None:
    outcome = on([{"stdout": ROW}, APPS, {"timed_out": True}, {"stdout": ROW}, APPS], *options, rounds=3)
    assert outcome.exit_code == 0
    (line,) = outcome.stderr.splitlines()
    assert "timed out" in line
    assert outcome.text.count("GPU-50d4b61a") == 2


@pytest.mark.parametrize(("last", "exit_code"), [(NoDriverError(), 3), (STOPPED, 4)])
def test_the_exit_code_is_that_of_the_last_round(
    on: Callable[..., Outcome], last: dict[str, object] | BaseException, exit_code: int
) -> None:
    assert on([{"stdout": ROW}, APPS, last], "--watch=1", rounds=2).exit_code == exit_code


def test_ctrl_c_before_the_first_answer(on: Callable[..., Outcome]) -> None:
    assert on([KeyboardInterrupt()], "--watch=1") == Outcome(0, b"", "")


def test_on_a_screen_the_last_page_stays(on: Callable[..., Outcome], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "is_screen", lambda: True)
    answers = [{"stdout": ROW}, APPS, {"timed_out": True}]
    assert on(answers, "--watch=1", rounds=1).text.startswith("1 GPU, every 1 s\n\nGPU")
    failed = on(answers, "--watch=1", rounds=2)
    assert (failed.exit_code, failed.stderr) == (4, "")
    assert failed.text.startswith("! nvidia-smi --query-gpu=")
    assert "GPU-50d4b61a" not in failed.text


UUID = "GPU-50d4b61a-9deb-4fe6-c98d-"


def sample(**facts: Any) -> GpuSample:  # noqa: ANN401 - fields, by name
    return GpuSample(**{"uuid": GpuUuid(UUID + "5cbd9d80a79b"), **facts})


def test_the_lines_of_no_samples() -> None:
    assert shown() == ["no GPUs"]


def shown(*samples: GpuSample, width: int = 80) -> list[str]:
    return [line.plain.rstrip() for line in sample_lines(samples, width)]


def test_names_are_as_long_as_it_takes() -> None:
    near, far = sample(uuid=GpuUuid(UUID + "000000000000")), sample(uuid=GpuUuid(f"GPU-60d4{UUID[8:]}5cbd9d80a79b"))
    assert [line.split()[0] for line in shown(sample(), far)[1:3]] == ["GPU-50d4b61a", "GPU-60d4b61a"]
    assert [line.split()[0] for line in shown(sample(), near)[1:4:2]] == [str(sample().uuid), str(near.uuid)]
    bus_id = PciBusId.parse("00000000:07:00.0")
    lines = shown(sample(uuid=Missing.NOT_AVAILABLE, pci_bus_id=bus_id), sample(uuid=Missing.ERROR))
    assert lines[1].startswith("00000000:07:00.0  ")
    assert lines[2].startswith("no UUID  ")
    assert lines[3] == "   · could not be read: UUID"


def test_where_columns_do_not_fit_they_stand_below() -> None:
    gpu = sample(
        fb_memory=MemoryUsage(used_mib=143771, total_mib=183359),
        power=PowerReadings(average_power_draw_mw=999_500, current_power_limit_mw=1_000_000),
        clocks=Clocks(sm_clock_mhz=1965, mem_clock_mhz=3996),
        performance_state="P0",
        compute_app_count=3,
    )
    wide, narrow = shown(gpu, width=120), shown(gpu, width=70)
    assert wide[1] == "GPU-50d4b61a  143771 / 183359       –   –  1000 / 1000      3  1965 / 3996  P0"  # noqa: RUF001
    assert narrow[1:3] == [
        "GPU-50d4b61a  143771 / 183359       –   –  1000 / 1000      3",  # noqa: RUF001
        "   clocks 1965 / 3996 MHz  state P0",
    ]


def on_a_terminal(*options: str) -> tuple[int, bytes]:
    """Run `--watch` on a terminal, and send Ctrl-C when its first page is there."""
    leader, follower = pty.openpty()
    environment = {**os.environ, "TERM": "xterm-256color", "COLUMNS": "120", "LINES": "40"}
    command = [sys.executable, "-m", "gpuinv.cli", "samples", "--watch=0.2", *options]
    with subprocess.Popen(command, stdout=follower, stderr=follower, env=environment) as process:
        os.close(follower)
        printed = b""
        while b"clocks SM" not in printed.partition(b"clocks SM")[2] and b"not found" not in printed:
            printed += os.read(leader, 65536)
        process.send_signal(signal.SIGINT)
        while chunk := _rest(leader):
            printed += chunk
        exit_code = process.wait()
    os.close(leader)
    return exit_code, printed


def _rest(leader: int) -> bytes:
    try:
        return os.read(leader, 65536)
    except OSError:  # the other end is closed
        return b""


def test_on_a_terminal_a_page_replaces_the_one_before() -> None:
    exit_code, printed = on_a_terminal("--replay", str(WORKSTATION))
    assert exit_code == 0
    assert printed.count(b"1 GPU, every 0.2 s") >= 2
    assert b"\x1b[1A" in printed
    assert printed.count(b"\x1b[?25l") == printed.count(b"\x1b[?25h") == 1
    assert b"Traceback" not in printed


def test_on_a_terminal_an_error_stands_in_the_place_of_the_page(tmp_path: Path) -> None:
    exit_code, printed = on_a_terminal("--replay", str(hosts.bare_host(tmp_path)))
    assert exit_code == 3
    assert b"! nvidia-smi not found" in printed
