"""Real processes: small scripts that stand in nvidia-smi's place and misbehave."""

from __future__ import annotations

import os
import signal
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn, Protocol

import pytest

from gpuinv.errors import NoDriverError, UsageError
from gpuinv.host import LocalHost, LocalSmi, LocalTree, _process, local
from gpuinv.host.local import find_smi

if TYPE_CHECKING:
    from collections.abc import Callable

LONG = 10.0  # never reached by a test that passes
SHORT = 0.5


class Install(Protocol):
    def __call__(self, script: str, *, mode: int = 0o755) -> Path: ...


@pytest.fixture
def install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Install:
    """Put a script on the PATH as nvidia-smi, before everything else."""
    directory = tmp_path / "bin"
    directory.mkdir()
    monkeypatch.setenv("PATH", f"{directory}:{os.environ['PATH']}")

    def write(script: str, *, mode: int = 0o755) -> Path:
        tool = directory / "nvidia-smi"
        tool.write_text(script, encoding="utf-8")
        tool.chmod(mode)
        return tool

    return write


def eventually(check: Callable[[], bool]) -> bool:
    deadline = time.monotonic() + 5
    while not check():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.01)
    return True


def is_dead(pid: int) -> bool:
    """Whether the process has ended; an orphan may stay a zombie where the machine's init does not reap."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return True
    return state in "ZX"


def descriptors() -> set[str]:
    """The open file descriptors of this process; the one that reads them has the lowest free number each time."""
    return {entry.name for entry in Path("/proc/self/fd").iterdir()}


def is_reaped(pid: int) -> bool:
    return not Path(f"/proc/{pid}").exists()


def test_both_streams_the_exit_code_and_the_arguments_come_back(install: Install) -> None:
    install('#!/bin/sh\nprintf "%s|" "$@"\necho trouble >&2\nexit 6\n')
    result = LocalSmi().run(["topo", "-m", "a b;$(c)", ""], timeout=LONG)
    assert result.argv == ("nvidia-smi", "topo", "-m", "a b;$(c)", "")
    assert result.text == "topo|-m|a b;$(c)||"
    assert result.error_text == "trouble\n"
    assert (result.exit_code, result.timed_out, result.truncated) == (6, False, False)
    assert 0 < result.seconds < LONG


def test_the_tool_runs_in_the_c_locale_without_input_in_its_own_session(
    install: Install, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LC_ALL", "de_DE.UTF-8")
    monkeypatch.setenv("KEPT", "kept")
    install('#!/bin/sh\ncat\necho "$LC_ALL $KEPT"\ncut -d" " -f6 /proc/$$/stat\necho $$\n')
    locale, session, pid = LocalSmi().run([], timeout=LONG).text.splitlines()
    assert locale == "C kept"
    assert session == pid
    assert os.environ["LC_ALL"] == "de_DE.UTF-8"


def test_bytes_that_are_not_utf8_are_kept_and_read_with_replacement(install: Install) -> None:
    install("#!/bin/sh\nprintf 'Tesla \\377 V100'\nprintf '\\300' >&2\n")
    result = LocalSmi().run(["-L"], timeout=LONG)
    assert result.stdout == b"Tesla \xff V100"
    assert result.text == "Tesla \ufffd V100"
    assert result.error_text == "\ufffd"


def test_much_output_on_both_streams_does_not_deadlock(install: Install) -> None:
    install("#!/bin/sh\nhead -c 3000000 /dev/zero >&2 &\nhead -c 3000000 /dev/zero\nwait\n")
    result = LocalSmi().run([], timeout=LONG)
    assert (len(result.stdout), len(result.stderr), result.exit_code) == (3_000_000, 3_000_000, 0)


def test_a_tool_killed_by_a_signal_gives_its_negative_number(install: Install) -> None:
    install("#!/bin/sh\necho before\nkill -TERM $$\n")
    result = LocalSmi().run([], timeout=LONG)
    assert (result.exit_code, result.timed_out, result.stdout) == (-signal.SIGTERM, False, b"before\n")


HANGS = {
    "sleeps": "echo $$; echo partial >&2; exec sleep 60",
    "ignores SIGTERM": "trap '' TERM HUP INT; echo $$; echo partial >&2; while :; do sleep 60; done",
    "waits for a child": "sleep 60 & echo $! $$; echo partial >&2; wait",
    "closes its streams": "echo $$; echo partial >&2; exec sleep 60 >/dev/null 2>&1",
    "stops itself": "echo $$; echo partial >&2; kill -STOP $$",
}


@pytest.mark.parametrize("script", HANGS.values(), ids=HANGS)
def test_a_hang_ends_at_the_bound_with_every_process_and_keeps_the_output(install: Install, script: str) -> None:
    install(f"#!/bin/sh\n{script}\n")
    result = LocalSmi().run(["-q", "-x"], timeout=SHORT)
    assert result.timed_out
    assert result.exit_code is None
    assert not result.truncated
    assert SHORT <= result.seconds < SHORT + 2
    assert result.stderr == b"partial\n"
    pids = [int(pid) for pid in result.stdout.split()]
    assert pids
    assert eventually(lambda: all(map(is_dead, pids)))


LEAVES = {
    "a child": "echo whole; sleep 60 & echo $! >&2; exit 3",
    "a grandchild": "echo whole; (sleep 60 & echo $! >&2) & wait; exit 3",
    "a child without its streams": "echo whole; sleep 60 >/dev/null 2>&1 & echo $! >&2; exit 3",
    "a stopped child": "echo whole; (kill -STOP $(exec sh -c 'echo $PPID')) & echo $! >&2; exit 3",
}


@pytest.mark.parametrize("script", LEAVES.values(), ids=LEAVES)
def test_a_tool_that_ends_is_answered_and_what_it_left_is_killed(install: Install, script: str) -> None:
    install(f"#!/bin/sh\n{script}\n")
    result = LocalSmi().run(["-q", "-x"], timeout=LONG)
    assert (result.stdout, result.exit_code, result.timed_out, result.truncated) == (b"whole\n", 3, False, False)
    assert result.seconds < LONG / 2
    assert eventually(lambda: is_dead(int(result.stderr)))


def test_a_tool_that_ends_is_answered_also_where_a_child_left_the_group(install: Install) -> None:
    install("#!/bin/sh\necho whole\nsetsid sh -c 'echo $$ >&2; exec sleep 60' &\nsleep 0.1\nexit 0\n")
    result = LocalSmi().run(["-q", "-x"], timeout=LONG)
    try:
        assert (result.stdout, result.exit_code, result.timed_out) == (b"whole\n", 0, False)
        assert result.seconds < LONG / 2
    finally:
        os.kill(int(result.stderr), signal.SIGKILL)


def test_a_child_that_writes_on_does_not_hold_the_answer(install: Install, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_process, "_DRAIN_SECONDS", 0.2)
    install("#!/bin/sh\necho whole\nwhile :; do echo tick; sleep 0.01; done &\nexit 0\n")
    result = LocalSmi().run([], timeout=LONG)
    assert (result.exit_code, result.timed_out, result.truncated) == (0, False, False)
    assert result.stdout.startswith(b"whole\ntick\n")
    assert result.seconds < LONG / 2


def test_what_a_child_still_prints_soon_after_the_end_is_read(install: Install) -> None:
    install("#!/bin/sh\necho whole\n(sleep 0.1; echo late) &\nexit 0\n")
    result = LocalSmi().run([], timeout=LONG)
    assert (result.stdout, result.exit_code) == (b"whole\nlate\n", 0)


def test_a_child_that_floods_after_the_end_is_cut(install: Install, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(local, "MAX_OUTPUT_BYTES", 100_000)
    install("#!/bin/sh\nyes xyz &\nexit 0\n")
    result = LocalSmi().run([], timeout=LONG)
    assert (len(result.stdout), result.exit_code, result.truncated, result.timed_out) == (100_000, None, True, False)


def test_an_end_shortly_before_the_bound_is_an_end(install: Install) -> None:
    install("#!/bin/sh\necho whole\nsleep 60 &\nsleep 0.2\nexit 0\n")
    result = LocalSmi().run([], timeout=0.4)
    assert (result.stdout, result.exit_code, result.timed_out) == (b"whole\n", 0, False)


def test_a_run_is_watched_without_a_busy_loop(install: Install, monkeypatch: pytest.MonkeyPatch) -> None:
    looks = []
    waitid = os.waitid

    def counted(*args: int) -> object:
        looks.append(args)
        return waitid(*args)

    monkeypatch.setattr(os, "waitid", counted)
    install("#!/bin/sh\nexec sleep 60\n")
    LocalSmi().run([], timeout=SHORT)
    assert len(looks) < 40


def test_a_program_that_lets_the_kernel_reap_its_children(install: Install) -> None:
    install("#!/bin/sh\necho whole\nexit 0\n")
    before = signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    try:
        result = LocalSmi().run([], timeout=LONG)
    finally:
        signal.signal(signal.SIGCHLD, before)
    assert (result.stdout, result.timed_out) == (b"whole\n", False)
    assert result.seconds < LONG / 2


def test_output_without_end_is_bounded_by_time(install: Install) -> None:
    install("#!/bin/sh\nwhile :; do echo tick; sleep 0.01; done\n")
    result = LocalSmi().run([], timeout=SHORT)
    assert result.timed_out
    assert result.stdout.startswith(b"tick\ntick\n")


def test_a_killed_tool_is_reaped(install: Install) -> None:
    install("#!/bin/sh\necho $$\nexec sleep 60\n")
    result = LocalSmi().run([], timeout=SHORT)
    assert is_reaped(int(result.stdout))


@pytest.mark.parametrize("stream", ["stdout", "stderr"])
def test_too_much_output_is_cut_and_the_tool_killed(
    install: Install, monkeypatch: pytest.MonkeyPatch, stream: str
) -> None:
    monkeypatch.setattr(local, "MAX_OUTPUT_BYTES", 100_000)
    redirect = ">&2" if stream == "stderr" else ""
    install(f"#!/bin/sh\nexec yes xyz {redirect}\n")
    result = LocalSmi().run([], timeout=LONG)
    assert result.truncated
    assert not result.timed_out
    assert result.exit_code is None
    kept = getattr(result, stream)
    assert len(kept) == 100_000
    assert kept == b"xyz\n" * 25_000


def test_output_of_exactly_the_cap_is_whole(install: Install, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(local, "MAX_OUTPUT_BYTES", 100_000)
    install("#!/bin/sh\nexec head -c 100000 /dev/zero\n")
    result = LocalSmi().run([], timeout=LONG)
    assert (len(result.stdout), result.truncated, result.exit_code) == (100_000, False, 0)


def test_no_tool_on_the_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(local, "find_smi", lambda: find_smi(wsl_device=str(tmp_path / "no-dxg")))
    with pytest.raises(NoDriverError) as caught:
        LocalSmi().run(["-L"], timeout=LONG)
    assert caught.value.argv == ("nvidia-smi", "-L")


def test_a_named_tool_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(NoDriverError):
        LocalSmi(str(tmp_path / "nvidia-smi")).run(["-L"], timeout=LONG)


def test_a_tool_that_vanishes_after_it_was_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(local, "find_smi", lambda: str(tmp_path / "gone"))
    with pytest.raises(NoDriverError):
        LocalSmi().run(["-L"], timeout=LONG)


def test_a_file_that_is_not_executable_is_no_tool(
    install: Install, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tool = install("#!/bin/sh\n", mode=0o644)
    monkeypatch.setenv("PATH", str(tool.parent))
    assert find_smi(wsl_device=str(tmp_path / "no-dxg")) is None


@pytest.mark.parametrize(
    ("script", "mode", "reason"),
    [
        ("#!/no/such/interpreter\n", 0o755, "No such file or directory"),
        ("\x7fELF is not all it takes", 0o755, "Exec format error"),
        ("#!/bin/sh\n", 0o644, "Permission denied"),
    ],
    ids=["no interpreter", "wrong format", "not executable"],
)
def test_a_tool_that_cannot_be_started_fails_with_126(install: Install, script: str, mode: int, reason: str) -> None:
    tool = install(script, mode=mode)
    result = LocalSmi(str(tool)).run(["-L"], timeout=LONG)
    assert result.exit_code == 126
    assert result.error_text == f"nvidia-smi cannot be started: {reason}\n"


def test_the_tool_is_found_only_in_absolute_directories(
    install: Install, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tool = install("#!/bin/sh\n")
    nothing = str(tmp_path / "nothing")
    monkeypatch.chdir(tool.parent)
    monkeypatch.setenv("PATH", f":.:{nothing}")
    assert find_smi(wsl_device=nothing) is None
    monkeypatch.setenv("PATH", "")
    assert find_smi(wsl_device=nothing) is None
    monkeypatch.setenv("PATH", f"{nothing}:{tool.parent}")
    assert find_smi(wsl_device=nothing) == str(tool)


def test_under_wsl_the_tool_is_also_looked_for_beside_its_libraries(
    install: Install, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tool = install("#!/bin/sh\n")
    nothing = str(tmp_path / "nothing")
    monkeypatch.setenv("PATH", nothing)
    assert find_smi(wsl_device=str(tmp_path), wsl_tool=str(tool)) == str(tool)
    assert find_smi(wsl_device=str(tmp_path), wsl_tool=nothing) is None
    assert find_smi(wsl_device=nothing, wsl_tool=str(tool)) is None


@pytest.mark.parametrize("timeout", [0, -1.5])
def test_no_time_left_runs_nothing(install: Install, tmp_path: Path, timeout: float) -> None:
    install(f"#!/bin/sh\ntouch {tmp_path}/ran\n")
    result = LocalSmi().run(["-L"], timeout=timeout)
    assert (result.timed_out, result.exit_code, result.seconds) == (True, None, 0.0)
    assert not (tmp_path / "ran").exists()


@pytest.mark.parametrize("timeout", [float("nan"), float("inf"), float("-inf")])
def test_a_timeout_is_a_finite_number(install: Install, timeout: float) -> None:
    install("#!/bin/sh\n")
    with pytest.raises(UsageError, match="finite"):
        LocalSmi().run([], timeout=timeout)


@pytest.mark.parametrize("argument", ["a\0b", "\ud800"])
def test_an_argument_that_no_process_can_be_given(install: Install, argument: str) -> None:
    install("#!/bin/sh\n")
    with pytest.raises(UsageError, match="arguments"):
        LocalSmi().run([argument], timeout=LONG)


def test_an_interrupt_while_reading_leaves_no_process(
    install: Install, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    install(f"#!/bin/sh\necho $$ > {tmp_path}/pid.new\nmv {tmp_path}/pid.new {tmp_path}/pid\nexec sleep 60\n")
    pid = tmp_path / "pid"

    def interrupted(*_: object) -> NoReturn:
        assert eventually(pid.exists)
        raise KeyboardInterrupt

    monkeypatch.setattr(_process._Streams, "read_until", interrupted)  # noqa: SLF001
    with pytest.raises(KeyboardInterrupt):
        LocalSmi().run([], timeout=LONG)
    assert is_reaped(int(pid.read_text(encoding="utf-8")))


def test_what_the_pipes_hold_when_the_time_is_up_is_still_read(
    install: Install, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    install(f"#!/bin/sh\necho late\necho trouble >&2\ntouch {tmp_path}/done\nexec sleep 60\n")

    def time_is_up(*_: object) -> bool:
        assert eventually((tmp_path / "done").exists)
        return False

    monkeypatch.setattr(_process._Streams, "read_until", time_is_up)  # noqa: SLF001
    result = LocalSmi().run([], timeout=LONG)
    assert (result.stdout, result.stderr, result.timed_out) == (b"late\n", b"trouble\n", True)


def test_a_process_that_no_kill_ends_does_not_hold_the_caller_and_is_reaped_when_it_goes(
    install: Install, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A process that waits inside the kernel for a wedged GPU: here the kill is what fails."""
    install("#!/bin/sh\necho $$\nexec sleep 60\n")
    with monkeypatch.context() as patch:
        patch.setattr(os, "killpg", lambda *_: None)
        patch.setattr(_process, "_GRACE_SECONDS", 0.05)
        result = LocalSmi().run([], timeout=SHORT)
    pid = int(result.stdout)
    assert result.timed_out
    assert not is_dead(pid)
    os.kill(pid, signal.SIGKILL)
    assert eventually(lambda: is_reaped(pid))


def test_no_file_descriptor_is_left_open(install: Install) -> None:
    install("#!/bin/sh\nsleep $1\n")
    LocalSmi().run(["0"], timeout=LONG)
    before = descriptors()
    LocalSmi().run(["0"], timeout=LONG)
    LocalSmi().run(["60"], timeout=0.05)
    assert descriptors() == before


def test_a_local_host_is_this_machine() -> None:
    host = LocalHost()
    assert host.smi == LocalSmi()
    assert host.tree == LocalTree("/")
    assert host.tree.read("/proc/version").startswith(b"Linux version ")


@pytest.mark.parametrize("script", HANGS.values(), ids=HANGS)
def test_a_run_that_is_stopped_ends_soon_with_every_process(install: Install, tmp_path: Path, script: str) -> None:
    install(f"#!/bin/sh\ntouch {tmp_path}/started\n{script}\n")
    stop = threading.Event()

    def stopping() -> None:
        eventually((tmp_path / "started").exists)
        stop.set()

    thread = threading.Thread(target=stopping)
    thread.start()
    result = LocalSmi().run(["topo", "-m"], timeout=LONG, stop=stop)
    thread.join()
    assert (result.exit_code, result.timed_out, result.truncated) == (None, False, False)
    assert result.seconds < LONG / 2
    assert eventually(lambda: all(map(is_dead, map(int, result.stdout.split()))))


def test_a_run_that_may_be_stopped_and_is_not_ends_by_itself(install: Install) -> None:
    install("#!/bin/sh\nexec >&- 2>&-\nsleep 0.2\nexit 3\n")
    result = LocalSmi().run([], timeout=LONG, stop=threading.Event())
    assert (result.exit_code, result.timed_out) == (3, False)
    install("#!/bin/sh\nsleep 60\n")
    result = LocalSmi().run([], timeout=0.2, stop=threading.Event())
    assert (result.exit_code, result.timed_out) == (None, True)
