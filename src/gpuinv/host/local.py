"""The machine that this runs on: its nvidia-smi and its files."""

from __future__ import annotations

import math
import os
import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Final

import attrs

from gpuinv.errors import NoDriverError, UsageError
from gpuinv.host._process import run_bounded
from gpuinv.host._tree import LocalTree
from gpuinv.host.ports import CommandResult
from gpuinv.smi.queries import MAX_OUTPUT_BYTES, TOOL

if TYPE_CHECKING:
    from collections.abc import Sequence
    from threading import Event

__all__ = ["LocalHost", "LocalSmi", "LocalTree", "find_smi"]

_WSL_DEVICE: Final = "/dev/dxg"
_WSL_TOOL: Final = "/usr/lib/wsl/lib/nvidia-smi"
_CANNOT_START: Final = 126
"""The exit code of a tool that is there and cannot be started, as a shell gives it."""


def find_smi(*, wsl_device: str = _WSL_DEVICE, wsl_tool: str = _WSL_TOOL) -> str | None:
    """Return where nvidia-smi is: on the PATH, else in WSL's own directory, which the PATH of a service may lack.

    Relative directories on the PATH are passed over.
    """
    parts = os.environ.get("PATH", os.defpath).split(os.pathsep)
    path = os.pathsep.join(part for part in parts if part.startswith("/"))
    found = shutil.which(TOOL, path=path) if path else None
    if found is None and Path(wsl_device).exists():
        return shutil.which(wsl_tool)
    return found


@attrs.frozen
class LocalSmi:
    """Runs this machine's nvidia-smi, in the C locale and without a shell.

    `path` names another executable to run in its place; by default it is looked up anew for each run.
    """

    path: str | None = None

    def run(self, args: Sequence[str], *, timeout: float, stop: Event | None = None) -> CommandResult:
        """Run nvidia-smi with `args`; after `timeout` seconds it is killed with every process that it started.

        Soon after another thread sets `stop` it is killed too; the result has no exit code then and is not timed out.
        A timeout of 0 or less runs nothing and gives a result that timed out. A tool that cannot be started gives exit
        code 126 and the reason as its standard error.

        Raises:
            NoDriverError: there is no nvidia-smi.
            UsageError: an argument with a NUL or a lone surrogate, or a timeout that is not finite.
        """
        argv = (TOOL, *args)
        if not math.isfinite(timeout):
            raise UsageError(f"timeout must be a finite number of seconds, not {timeout}")
        executable = self.path or find_smi()
        if executable is None:
            raise NoDriverError(argv)
        if timeout <= 0:
            return CommandResult(argv=argv, timed_out=True)
        return _run(executable, argv, timeout, stop)


def _run(executable: str, argv: tuple[str, ...], timeout: float, stop: Event | None) -> CommandResult:
    env = {**os.environ, "LC_ALL": "C"}
    try:
        return run_bounded(executable, argv, timeout=timeout, limit=MAX_OUTPUT_BYTES, env=env, stop=stop)
    except OSError as error:
        if isinstance(error, FileNotFoundError) and not Path(executable).exists():
            raise NoDriverError(argv) from error
        reason = f"{TOOL} cannot be started: {error.strerror}\n"
        return CommandResult(argv=argv, stderr=reason.encode(), exit_code=_CANNOT_START)
    except ValueError as error:
        raise UsageError(f"arguments that no process can be given: {error}") from error


@attrs.frozen
class LocalHost:
    """This machine, as a `gpuinv.host.ports.Host`."""

    smi: LocalSmi = attrs.field(factory=LocalSmi)
    tree: LocalTree = attrs.field(factory=LocalTree)
