from __future__ import annotations

import os
import subprocess
import sys
from importlib.metadata import version
from typing import TYPE_CHECKING, NoReturn

import pytest

from gpuinv.cli import _app, main
from gpuinv.cli import inventory as inventory_module
from gpuinv.errors import GpuInvError, InvalidSection, NoDriverError, ParseError, SmiError, SmiFailure, UsageError
from tests.cli import hosts
from tests.cli.running import gpuinv

if TYPE_CHECKING:
    from pathlib import Path

COMMAND = [sys.executable, "-m", "gpuinv.cli"]
PAGE = ["inventory", "--replay", str(hosts.FIXTURES / "dgx-a100-mig")]
SAMPLES = ["samples", *PAGE[1:]]
LIST = str(hosts.FIXTURES / "dgx-a100-mig/smi/L.txt")


def test_version() -> None:
    outcome = gpuinv("--version")
    assert (outcome.exit_code, outcome.text) == (0, f"gpuinv {version('gpuinv')}\n")


@pytest.mark.parametrize("argv", [(), ("inventory",), ("samples",), ("parse",)])
@pytest.mark.parametrize("option", ["--help", "-h"])
def test_help_has_examples_and_fits_the_screen(argv: tuple[str, ...], option: str) -> None:
    outcome = gpuinv(*argv, option)
    assert outcome.exit_code == 0
    assert "Examples:\n  " in outcome.text
    assert max(map(len, outcome.text.splitlines())) <= 80


def test_no_command_is_wrong_usage_and_shows_the_help() -> None:
    outcome = gpuinv()
    assert (outcome.exit_code, outcome.stdout) == (2, b"")
    assert "Commands:" in outcome.stderr


def test_an_unknown_command() -> None:
    outcome = gpuinv("nonsense")
    assert outcome.exit_code == 2
    assert outcome.complaint.startswith("gpuinv: No such command 'nonsense'.")


@pytest.mark.parametrize(
    ("error", "exit_code"),
    [
        (NoDriverError(), 3),
        (SmiError(("nvidia-smi",), SmiFailure.GPU_LOST, exit_code=15), 4),
        (ParseError("a", "b"), 2),
        (UsageError("a"), 2),
        (InvalidSection("gpus", "b"), 2),
        (GpuInvError("a"), 2),
        (KeyboardInterrupt(), 130),
    ],
)
def test_errors_become_exit_codes(monkeypatch: pytest.MonkeyPatch, error: BaseException, exit_code: int) -> None:
    def fail(*_: object) -> NoReturn:
        raise error

    monkeypatch.setattr(inventory_module, "chosen_host", fail)
    outcome = gpuinv("inventory")
    assert outcome.exit_code == exit_code
    assert outcome.stdout == b""
    assert len(outcome.stderr.splitlines()) == (0 if isinstance(error, KeyboardInterrupt) else 1)


@pytest.mark.parametrize("missing", ["click", "rich"])
def test_a_missing_extra_is_named(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], missing: str
) -> None:
    monkeypatch.setitem(sys.modules, missing, None)
    assert main(["inventory"]) == 2
    assert capsys.readouterr() == ("", f"gpuinv: the command needs {missing}: pip install 'gpuinv[cli]'\n")


def test_an_interrupt_while_modules_load(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(_: object) -> NoReturn:
        raise KeyboardInterrupt

    monkeypatch.setattr(_app, "run", interrupt)
    assert main([]) == 130


def ran(*argv: str, **options: object) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run([*COMMAND, *argv], check=False, stderr=subprocess.PIPE, **options)  # type: ignore[call-overload,no-any-return]


@pytest.mark.parametrize(
    "argv",
    [
        PAGE,
        [*PAGE, "--content"],
        [*PAGE, "--json"],
        SAMPLES,
        [*SAMPLES, "--watch=9"],
        [*SAMPLES, "--watch=9", "--json"],
        ["--help"],
        ["parse", "L", LIST],
    ],
)
def test_a_reader_that_goes_away(argv: list[str]) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    try:
        outcome = ran(*argv, stdout=writing)
    finally:
        os.close(writing)
    assert (outcome.returncode, outcome.stderr) == (141, b"")


def test_a_full_disk() -> None:
    with open("/dev/full", "wb") as full:  # noqa: PTH123 - a device
        outcome = ran(*PAGE, stdout=full)
    assert (outcome.returncode, outcome.stderr) == (2, b"gpuinv: standard output: No space left on device\n")


def test_an_encoding_without_dashes() -> None:
    environment = {**os.environ, "PYTHONIOENCODING": "ascii"}
    outcome = ran(*PAGE, stdout=subprocess.PIPE, env=environment)
    assert (outcome.returncode, outcome.stderr) == (0, b"")
    assert b"? hidden while MIG is on" in outcome.stdout


@pytest.mark.parametrize("closed", ["<&-", ">&-", "2>&-"])
def test_closed_streams(closed: str) -> None:
    script = f'exec "$@" {closed}'
    command = ["sh", "-c", script, "sh", *COMMAND, "parse", "L", "-" if closed == "<&-" else LIST]
    outcome = subprocess.run(command, check=False, capture_output=True)
    if closed == "2>&-":
        assert (outcome.returncode, outcome.stderr) == (0, b"")
    else:
        assert outcome.returncode == 2
        assert outcome.stderr.endswith(b"Bad file descriptor\n")
        assert outcome.stderr.count(b"\n") == 1


def test_colours_only_where_they_are_asked_for() -> None:
    environment = {**os.environ, "FORCE_COLOR": "1", "TERM": "xterm-256color"}
    environment.pop("NO_COLOR", None)
    assert b"\x1b[" in ran(*PAGE, stdout=subprocess.PIPE, env=environment).stdout
    environment.pop("FORCE_COLOR")
    assert b"\x1b[" not in ran(*PAGE, stdout=subprocess.PIPE, env=environment).stdout


def test_a_shell_can_complete_the_commands() -> None:
    environment = {**os.environ, "_GPUINV_COMPLETE": "bash_complete", "COMP_WORDS": "gpuinv inv", "COMP_CWORD": "1"}
    assert b"inventory" in ran(stdout=subprocess.PIPE, env=environment).stdout


def test_hostile_names_do_not_reach_the_terminal(tmp_path: Path) -> None:
    text = "Model: \t evil\x1b]0;title\x07 [red]name[/red] :smile:\nBus Location: \t 0000:01:00.0\n"
    (tmp_path / "information").write_text(text, encoding="utf-8")
    outcome = gpuinv("parse", "proc-information", tmp_path / "information")
    assert outcome.exit_code == 0
    assert "\x1b" not in outcome.text
    assert "[red]name[/red] :smile:" in outcome.text
