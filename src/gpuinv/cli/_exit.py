"""Exit codes, and the one line that an error becomes."""

from __future__ import annotations

import contextlib
import sys
from typing import Final

from gpuinv.errors import GpuInvError, NoDriverError, SmiError

__all__ = [
    "BROKEN_PIPE",
    "INTERRUPTED",
    "NO",
    "NOTHING_TO_SHOW",
    "SMI_FAILED",
    "UNUSABLE",
    "YES",
    "complain",
    "exit_code_of",
]

YES: Final = 0
NO: Final = 1
"""The answer is no; of a warning with `--strict`, too."""
UNUSABLE: Final = 2
"""Wrong usage, or input that cannot be read."""
NOTHING_TO_SHOW: Final = 3
"""No nvidia-smi, and nothing to show without it."""
SMI_FAILED: Final = 4
INTERRUPTED: Final = 130
BROKEN_PIPE: Final = 141
"""The reader of the output went away; the two are what a shell reports of any command that SIGINT or SIGPIPE ends."""


def exit_code_of(error: GpuInvError) -> int:
    """The exit code of a command that ends with this error."""
    if isinstance(error, NoDriverError):
        return NOTHING_TO_SHOW
    return SMI_FAILED if isinstance(error, SmiError) else UNUSABLE


def complain(message: str) -> None:
    """Say one line on standard error, which may be closed."""
    if sys.stderr is None:  # type: ignore[unreachable,unused-ignore] # typeshed does not know of `2>&-`
        return
    with contextlib.suppress(OSError):
        sys.stderr.write(f"gpuinv: {' '.join(message.split())}\n")
        sys.stderr.flush()
