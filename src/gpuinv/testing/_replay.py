"""A captured host in place of a real one."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING

import attrs

from gpuinv.errors import NoDriverError
from gpuinv.host.local import LocalTree
from gpuinv.host.ports import CommandResult
from gpuinv.smi.queries import TOOL
from gpuinv.testing.capture import Capture

if TYPE_CHECKING:
    from collections.abc import Sequence
    from contextlib import AbstractContextManager
    from threading import Event

    from gpuinv.host._tree import Place

__all__ = ["ReplayHost", "ReplaySmi", "ReplayTree", "replay"]

_UNKNOWN_QUERY = 2
"""nvidia-smi's exit code for an argument that it does not know."""


@attrs.frozen
class ReplaySmi:
    """Answers as the captured host's nvidia-smi did, at once."""

    capture: Capture

    def run(
        self,
        args: Sequence[str],
        *,
        timeout: float,
        stop: Event | None = None,  # noqa: ARG002 - it answers at once
    ) -> CommandResult:
        """Return what was captured for exactly these arguments.

        A command that hangs gives a result that timed out after `timeout` seconds, without the wait. One that was not
        captured fails as an unknown option does: exit code 2, and the reason as standard error.

        Raises:
            NoDriverError: no nvidia-smi command was captured at all.
        """
        argv = (TOOL, *args)
        if not self.capture.has_smi:
            raise NoDriverError(argv)
        found = self.capture.find(argv)
        if found is None:
            reason = f"{' '.join(argv)}: not in this capture\n"
            return CommandResult(argv=argv, stderr=reason.encode("utf-8", "replace"), exit_code=_UNKNOWN_QUERY)
        return CommandResult(
            argv=argv,
            stdout=found.stdout,
            stderr=found.stderr,
            exit_code=found.exit_code,
            seconds=timeout if found.hangs else found.seconds,
            timed_out=found.hangs,
        )


@attrs.frozen
class ReplayTree(LocalTree):
    """The files below a capture's `root/`, with the errors that reading them gave on the captured host.

    `errors` maps absolute paths of the captured host to `errno` numbers. The error is raised for the path itself, for
    everything below it, and for every link that leads there; the path need not exist below `root/`.
    """

    errors: Mapping[str, int] = attrs.field(factory=dict)

    def _at(self, path: str, *, follow_last: bool = True) -> AbstractContextManager[Place]:
        """Look the path up as it is written first: what could not be read may be missing below `root/`."""
        parts = [part for part in path.split("/") if part not in ("", ".")]
        if ".." not in parts:
            for end in range(1, len(parts) + 1):
                self._enter("/" + "/".join(parts[:end]))
        return super()._at(path, follow_last=follow_last)

    def _enter(self, path: str) -> None:
        number = self.errors.get(path)
        if number is not None:
            raise OSError(number, os.strerror(number))


@attrs.frozen
class ReplayHost:
    """A captured host, as a `gpuinv.host.ports.Host`."""

    capture: Capture

    @property
    def smi(self) -> ReplaySmi:
        """Its nvidia-smi."""
        return ReplaySmi(self.capture)

    @property
    def tree(self) -> ReplayTree:
        """Its files."""
        return ReplayTree(self.capture.root, self.capture.errors)


def replay(directory: str | os.PathLike[str]) -> ReplayHost:
    """Load a capture as a host that answers as the captured one did.

    Raises:
        UsageError: the directory holds no capture.
        ParseError: its capture.json breaks the format.
    """
    return ReplayHost(Capture.load(directory))
