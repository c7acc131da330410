"""The `gpuinv` command. click and rich are needed here and nowhere else; the extra `gpuinv[cli]` brings them."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from gpuinv.cli._exit import INTERRUPTED, UNUSABLE, complain
from gpuinv.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

__all__ = ["main"]


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command with its arguments (by default those of this process) and return its exit code.

    Nothing is raised: what goes wrong is one line on standard error and an exit code.
    """
    try:
        return _runner()(sys.argv[1:] if argv is None else argv)
    except UsageError as error:
        complain(str(error))
        return UNUSABLE
    except KeyboardInterrupt:  # while modules load; later it is caught where the command runs
        return INTERRUPTED


def _runner() -> Callable[[Sequence[str]], int]:
    try:
        import click  # noqa: F401 - asked for first, since whatever else is missing is no missing extra
        import rich  # noqa: F401
    except ModuleNotFoundError as error:
        raise UsageError(f"the command needs {error.name}: pip install 'gpuinv[cli]'") from error
    from gpuinv.cli._app import run

    return run
