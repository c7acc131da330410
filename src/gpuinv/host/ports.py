"""What gpuinv needs of a host: something that runs nvidia-smi, and something that reads files.

Everything above `gpuinv.host` works on these protocols. `gpuinv.host.local` fulfils them on the machine it runs on,
`gpuinv.testing.replay` from a directory; a caller may bring its own (over SSH, through an agent).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

import attrs

if TYPE_CHECKING:
    from collections.abc import Sequence
    from threading import Event

__all__ = ["MAX_ENTRIES", "MAX_FILE_BYTES", "CommandResult", "FileTree", "Host", "SmiRunner"]

MAX_FILE_BYTES = 1024 * 1024
"""The largest file that is read unless a caller allows more; the files of procfs and sysfs stay far below."""

MAX_ENTRIES = 65_536
"""The most names of one directory."""


@attrs.frozen(kw_only=True)
class CommandResult:
    """How one run of nvidia-smi ended, and what it printed.

    `timed_out` and `truncated` say that the run was cut short; what had been printed by then is kept.
    """

    argv: tuple[str, ...]
    """The command line as a caller would type it: `("nvidia-smi", "-q", "-x")`."""
    stdout: bytes = attrs.field(default=b"", repr=False)
    stderr: bytes = attrs.field(default=b"", repr=False)
    exit_code: int | None = None
    """The exit status; -N where signal N ended the tool; None where its runner did."""
    seconds: float = 0.0
    """How long it ran, by a monotonic clock."""
    timed_out: bool = False
    truncated: bool = False
    """Whether it printed more than is read of one stream."""

    @property
    def text(self) -> str:
        """Standard output as text; a byte that is not UTF-8 becomes U+FFFD."""
        return self.stdout.decode("utf-8", "replace")

    @property
    def error_text(self) -> str:
        """Standard error as text, read in the same way."""
        return self.stderr.decode("utf-8", "replace")


class SmiRunner(Protocol):
    """Runs nvidia-smi.

    A snapshot's optional queries run side by side: `run` is called from several threads at once.
    """

    def run(self, args: Sequence[str], *, timeout: float, stop: Event | None = None) -> CommandResult:
        """Run nvidia-smi with `args` for at most `timeout` seconds, which are more than 0.

        However the tool fails, its result is returned; `gpuinv.smi.failures` says what it means. The run is over when
        the tool itself has ended: what it left in the background holds up no answer. `stop` is set by
        another thread when nobody wants the answer any more, after an interrupt above all. The caller waits for `run`
        to return, so one that may take long ends then, with whatever result; one that answers soon need not look at it.

        Raises:
            NoDriverError: the host has no nvidia-smi.
            UsageError: the arguments cannot be passed to a process, or the timeout is no number.
        """
        ...


class FileTree(Protocol):
    """Reads small files by their absolute path on the host described, `/proc/driver/nvidia/version`.

    Every method raises `OSError` and nothing else, with `errno` set and `filename` the path that was asked for. None
    waits for a reader or a writer at the other end.
    """

    def read(self, path: str, *, limit: int = MAX_FILE_BYTES) -> bytes:
        """Return the content of a regular file; more than `limit` bytes are refused with `EFBIG`."""
        ...

    def list(self, path: str) -> tuple[str, ...]:
        """Return the names in a directory, sorted; more than `MAX_ENTRIES` are refused with `EFBIG`."""
        ...

    def link(self, path: str) -> str:
        """Return the text of a symbolic link, unresolved; `EINVAL` where it is none."""
        ...

    def exists(self, path: str) -> bool:
        """Whether there is anything at the path, links followed; raises where that cannot be told (`EACCES`)."""
        ...


class Host(Protocol):
    """A host to be described."""

    @property
    def smi(self) -> SmiRunner:
        """Its nvidia-smi."""
        ...

    @property
    def tree(self) -> FileTree:
        """Its files."""
        ...
