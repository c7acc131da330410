"""Standard output: text for a person through rich, bytes for a program as they are."""

from __future__ import annotations

import contextlib
import errno
import json
import os
import sys
from typing import TYPE_CHECKING, Any

from rich.console import Console, Group
from rich.live import Live

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from rich.text import Text

__all__ = ["abandon", "as_json", "board", "is_screen", "screen_width", "show", "write"]

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


def as_json(data: object, *, sort_keys: bool = False, one_line: bool = False) -> bytes:
    """JSON that any terminal and any encoding survives, with a newline at its end."""
    layout: dict[str, Any] = {"separators": (",", ":")} if one_line else {"indent": 2}
    return json.dumps(data, sort_keys=sort_keys, **layout).encode() + b"\n"


def is_screen() -> bool:
    """Whether a page can be drawn over the one before. `FORCE_COLOR` makes no screen of a pipe."""
    console = _console()
    return console.file.isatty() and not console.is_dumb_terminal


@contextlib.contextmanager
def board() -> Iterator[Callable[[Iterable[Text]], None]]:
    """A place on the screen where a page replaces the one before; the last one stays."""
    console = _console()
    # Nothing else is printed meanwhile, so that no stream needs to be redirected around the page.
    with Live(console=console, auto_refresh=False, redirect_stdout=False, redirect_stderr=False) as live:
        yield lambda lines: live.update(Group(*(_encodable(line, console.encoding) for line in lines)), refresh=True)


def _encodable(line: Text, encoding: str) -> Text:
    """The line without what the encoding lacks; every such character becomes one `?`, so that styles stay in place."""
    encodable = line.copy()
    encodable.plain = line.plain.encode(encoding, "replace").decode(encoding)
    return encodable


def _console() -> Console:
    return Console(file=sys.stdout, markup=False, emoji=False, highlight=False)
