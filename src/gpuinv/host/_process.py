"""Run one command, bounded in time and in output, and leave nothing of it behind."""

from __future__ import annotations

import contextlib
import os
import selectors
import signal
import subprocess
import threading
import time
from threading import Event
from typing import IO, TYPE_CHECKING, Final, cast

import attrs

from gpuinv.host.ports import CommandResult

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Self

__all__ = ["run_bounded"]

_CHUNK: Final = 64 * 1024
_LAST_READS: Final = 16
"""How many chunks are still taken from the pipes after the kill: one full pipe of the usual size and more."""
_GRACE_SECONDS: Final = 1.0
"""How long a killed process may take to go; one that waits inside the kernel for a wedged GPU never does."""
_LOOK_SECONDS: Final = 0.05
"""How long a run is quiet at most before it is looked at again: whether it has ended, or was stopped."""
_FIRST_LOOK_SECONDS: Final = 0.0005
"""The first of these looks after the run was heard of; each waits twice as long as the one before."""
_SILENT_SECONDS: Final = 0.25
"""How long the pipes of a process that has ended are still listened to where another process holds them."""
_DRAIN_SECONDS: Final = 1.0
"""How long they are where that other process does not fall silent."""


def run_bounded(  # noqa: PLR0913 - what is run, and each of its bounds
    executable: str,
    argv: tuple[str, ...],
    *,
    timeout: float,
    limit: int,
    env: Mapping[str, str],
    stop: Event | None = None,
) -> CommandResult:
    """Run `executable` as `argv`; kill its process group after `timeout` seconds, or beyond `limit` bytes of a stream.

    So it is when `stop` is set. The run is over when the command itself has ended and its output was read; what it left
    in the background is killed then, also where that holds the pipes open. Only a process that left the group on
    purpose outlives the call.

    Raises:
        OSError: it could not be started.
        ValueError: an argument that no process can be given (a NUL, a lone surrogate).
    """
    started = time.monotonic()
    process = subprocess.Popen(  # noqa: S603 - no shell; the caller chose the executable
        argv,
        executable=executable,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=env,
        start_new_session=True,
    )
    bound = _Bound(process.pid, started + timeout, stop)
    with _Streams.of(process, limit) as streams:
        exit_code = _attend(process, streams, bound)
        return CommandResult(
            argv=argv,
            stdout=bytes(streams.stdout[:limit]),
            stderr=bytes(streams.stderr[:limit]),
            exit_code=exit_code,
            seconds=time.monotonic() - started,
            timed_out=exit_code is None and not streams.full and not bound.stopped,
            truncated=streams.full,
        )


@attrs.frozen
class _Bound:
    """Until when a run may last: a time of the monotonic clock, or sooner when it ends or is stopped."""

    pid: int
    deadline: float
    stop: Event | None

    @property
    def ended(self) -> bool:
        """Whether the process has ended. It is not reaped: until then its number cannot pass to another process."""
        try:
            return os.waitid(os.P_PID, self.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None
        except ChildProcessError:  # this program lets the kernel reap its children, or reaps all of them elsewhere
            return True

    @property
    def stopped(self) -> bool:
        return self.stop is not None and self.stop.is_set()

    def left(self) -> float:
        """How many seconds may pass before the next look at most; none where the time is up or the run was stopped."""
        return 0.0 if self.stopped else max(min(self.deadline - time.monotonic(), _LOOK_SECONDS), 0.0)


@attrs.define
class _Streams:
    """The two output pipes of a process, read side by side."""

    selector: selectors.BaseSelector
    pipes: tuple[IO[bytes], IO[bytes]]
    limit: int
    stdout: bytearray = attrs.field(factory=bytearray)
    stderr: bytearray = attrs.field(factory=bytearray)

    @classmethod
    def of(cls, process: subprocess.Popen[bytes], limit: int) -> Self:
        """Take the pipes of a process that was started with both."""
        pipes = (cast("IO[bytes]", process.stdout), cast("IO[bytes]", process.stderr))
        streams = cls(selectors.DefaultSelector(), pipes, limit)
        for pipe, buffer in zip(streams.pipes, (streams.stdout, streams.stderr), strict=True):
            streams.selector.register(pipe, selectors.EVENT_READ, buffer)
        return streams

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.selector.close()
        for pipe in self.pipes:
            pipe.close()

    @property
    def full(self) -> bool:
        """Whether a stream has brought more than is kept of it."""
        return max(len(self.stdout), len(self.stderr)) > self.limit

    def read_until(self, bound: _Bound) -> bool:
        """Read until the process has ended and been read; False where the time or the room ran out first."""
        pause = _FIRST_LOOK_SECONDS
        while not self.full:
            if bound.ended:
                return self._drain(bound)
            seconds = bound.left()
            if not seconds:
                return False
            heard = self._read_once(min(seconds, pause))
            pause = _FIRST_LOOK_SECONDS if heard else min(2 * pause, _LOOK_SECONDS)
        return False

    def _drain(self, bound: _Bound) -> bool:
        """Read what the pipes of an ended process hold, for a moment where another process keeps them open."""
        now = time.monotonic()
        end, silent = now + _DRAIN_SECONDS, now + _SILENT_SECONDS
        while self.selector.get_map() and not self.full and not bound.stopped:
            seconds = min(bound.left(), min(end, silent) - time.monotonic())
            if seconds <= 0:
                break
            if self._read_once(seconds):
                silent = time.monotonic() + _SILENT_SECONDS
        return not self.full and not bound.stopped

    def read_rest(self) -> None:
        """Take what the pipes still hold, without waiting."""
        for _ in range(_LAST_READS):
            if self.full or not self.selector.get_map() or not self._read_once(0):
                return

    def _read_once(self, seconds: float) -> bool:
        ready = self.selector.select(seconds)
        for key, _ in ready:
            chunk = os.read(key.fd, _CHUNK)
            key.data.extend(chunk)
            if not chunk:
                self.selector.unregister(key.fileobj)
        return bool(ready)


def _attend(process: subprocess.Popen[bytes], streams: _Streams, bound: _Bound) -> int | None:
    """Read and wait; the exit code, or None where the process had to be killed.

    The leader is never reaped before its group is killed: until then its number cannot pass to another process.
    """
    try:
        ended = streams.read_until(bound)
    finally:
        _kill(process)
    streams.read_rest()
    return process.returncode if ended and not streams.full else None


def _kill(process: subprocess.Popen[bytes]) -> None:
    """Kill what is left of the process and its group, and reap it; a thread reaps later what the kernel still holds."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)
    try:
        process.wait(_GRACE_SECONDS)
    except subprocess.TimeoutExpired:
        threading.Thread(target=process.wait, name=f"reap {process.pid}", daemon=True).start()
