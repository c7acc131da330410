"""`gpuinv parse`: one output on its own, from a file or a pipe."""

from __future__ import annotations

import contextlib
import errno
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

import click

from gpuinv.cli._exit import YES
from gpuinv.cli._header import header_fields
from gpuinv.cli._issues import issue_lines
from gpuinv.cli._kinds import KINDS, Kind
from gpuinv.cli._plain import plain
from gpuinv.cli._records import unread_lines
from gpuinv.cli._screen import as_json, screen_width, show, write
from gpuinv.cli._words import clean
from gpuinv.errors import ParseError, UsageError
from gpuinv.smi.queries import MAX_OUTPUT_BYTES

if TYPE_CHECKING:
    from rich.text import Text

__all__ = ["parse"]

_STDIN = "-"
_WITH_FIELDS = ", ".join(kind.name for kind in KINDS.values() if kind.fields is not None)
_WIDEST = max(map(len, KINDS))
_KIND_LINES = "\n".join(f"  {kind.name:<{_WIDEST}}  {kind.reads}" for kind in KINDS.values())
_EPILOG = f"""\b
Kinds, and what each is the output or the file of:
{_KIND_LINES}

\b
Examples:
  nvidia-smi -q -x | gpuinv parse q-x -
  gpuinv parse query-gpu saved.csv --fields uuid,fan.speed
  gpuinv parse q-x saved.xml --json | jq .unread
  gpuinv parse proc-version /proc/driver/nvidia/version
"""


@click.command(epilog=_EPILOG, short_help="Parse one output of nvidia-smi, or one file of the driver.")
@click.argument("kind", type=click.Choice(list(KINDS)), metavar="KIND")
@click.argument("file", metavar="FILE")
@click.option("--fields", metavar="A,B,C", help="What the query asked for, where FILE has no header that says it.")
@click.option("--json", "as_data", is_flag=True, help="Print everything that was read as JSON.")
def parse(kind: str, file: str, *, fields: str | None, as_data: bool) -> int:
    """Parse FILE, one output of nvidia-smi or one file of the driver; - is standard input.

    Shown are its records, the issues met, and the parts that gpuinv does not know. What cannot be read is one line on
    standard error and exit code 2.
    """
    row = KINDS[kind]
    if fields is not None and row.fields is None:
        raise click.UsageError(f"--fields is for {_WITH_FIELDS}; the fields of {kind} are always the same")
    record = _record(row, file, _names(fields))
    if as_data:
        write(as_json(_data(row, record)))
    else:
        show(_page(row, record))
    return YES


def _names(fields: str | None) -> tuple[str, ...]:
    """The fields that were asked for; none where the option is not given.

    Raises:
        UsageError: a name is missing.
    """
    names = () if fields is None else tuple(name.strip() for name in fields.split(","))
    if not all(names):
        raise click.UsageError("--fields takes the names of the query with commas between them, as it was asked")
    return names


def _record(kind: Kind, file: str, fields: tuple[str, ...]) -> object:
    name = "standard input" if file == _STDIN else clean(file)
    data = _content(file, name)
    try:
        return kind.parse(data, fields or _fields_of(kind, data))
    except ParseError as error:
        source = f"{name}: {error.source}"
        raise ParseError(source, error.message, place=error.place, text=error.text) from error
    except UsageError as error:
        raise UsageError(f"{name}: {error}") from error


def _fields_of(kind: Kind, data: bytes) -> tuple[str, ...]:
    """What a query asked for by its header, else what such a query asks for by default.

    Raises:
        UsageError: there is neither.
    """
    if kind.fields is None:
        return ()
    fields = header_fields(data, source=kind.reads) or kind.fields
    if not fields:
        raise UsageError("no header names the fields; give them with --fields, in the order of the query")
    return fields


def _content(file: str, name: str) -> bytes:
    """The bytes of the file, of which no more than the parsers take is read."""
    try:
        with _opened(file) as stream:
            data = stream.read(MAX_OUTPUT_BYTES + 1)
    except (OSError, ValueError) as error:
        raise UsageError(f"{name}: {getattr(error, 'strerror', None) or error}") from error
    if len(data) > MAX_OUTPUT_BYTES:
        raise UsageError(f"{name}: more than {MAX_OUTPUT_BYTES} bytes")
    return data


def _opened(file: str) -> contextlib.AbstractContextManager[BinaryIO]:
    if file != _STDIN:
        return Path(file).open("rb")
    if sys.stdin is None:  # type: ignore[unreachable,unused-ignore] # typeshed does not know of `<&-`
        raise OSError(errno.EBADF, os.strerror(errno.EBADF))
    return contextlib.nullcontext(sys.stdin.buffer)


def _data(kind: Kind, record: object) -> dict[str, Any]:
    fields = plain(record)
    issues, unread = fields.pop("issues", []), fields.pop("unread", [])
    return {"kind": kind.name, **fields, "issues": issues, "unread": unread}


def _page(kind: Kind, record: object) -> list[Text]:
    width = screen_width()
    return [
        *kind.lines(record, width),
        *issue_lines(getattr(record, "issues", ()), width),
        *unread_lines(getattr(record, "unread", ()), width),
    ]
