"""Standard output: text for a person through rich, bytes for a program as they are."""

from __future__ import annotations

import errno
import json
import os
import sys
from typing import TYPE_CHECKING

from rich.console import Console

if TYPE_CHECKING:
    from collections.abc import Iterable

    from rich.text import Text

__all__ = ["abandon", "as_json", "screen_width", "show", "write"]

_NARROWEST = 60


def screen_width() -> int:
    """How many columns there are: those of the terminal, else of COLUMNS, else 80."""
    return max(_console().width, _NARROWEST)


def show(lines: Iterable[Text]) -> None:
    """Print lines, in colour on a terminal that has it. What the output's encoding lacks becomes `?`."""
    console = _console()
    with console.capture() as captured:
        for line in lines:
            line.rstrip()
            console.print(line, soft_wrap=True)
    encoding = getattr(sys.stdout, "encoding", None) or "utf-8"
    write(captured.get().encode(encoding, "replace"))


def write(data: bytes) -> None:
    """Write bytes to standard output, all of them.

    Raises:
        OSError: the reader went away, the disk is full, the output is closed.
    """
    if sys.stdout is None:  # type: ignore[unreachable,unused-ignore] # typeshed does not know of `>&-`
        raise OSError(errno.EBADF, os.strerror(errno.EBADF))
    sys.stdout.buffer.write(data)
    sys.stdout.buffer.flush()


def abandon() -> None:
    """Give up an output that failed, so that the interpreter does not try again when it ends."""
    if sys.stdout is not None:  # type: ignore[redundant-expr,unused-ignore] # as above
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def as_json(data: object, *, sort_keys: bool = False) -> bytes:
    """JSON that any terminal and any encoding survives, with a newline at its end."""
    return json.dumps(data, indent=2, sort_keys=sort_keys).encode() + b"\n"


def _console() -> Console:
    return Console(file=sys.stdout, markup=False, emoji=False, highlight=False)
