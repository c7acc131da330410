"""Running the command in this process, as a pipe of some width would see it."""

from __future__ import annotations

import contextlib
import io
import os
import sys
from unittest import mock

import attrs

from gpuinv.cli import main

__all__ = ["Outcome", "gpuinv"]


@attrs.frozen
class Outcome:
    """What a command left behind."""

    exit_code: int
    stdout: bytes
    stderr: str

    @property
    def text(self) -> str:
        return self.stdout.decode()

    @property
    def complaint(self) -> str:
        """The one line on standard error, with nothing on standard output."""
        assert self.stdout == b""
        (line,) = self.stderr.splitlines()
        return line


def gpuinv(*argv: object, width: int = 80, stdin: bytes = b"") -> Outcome:
    out, err = (io.TextIOWrapper(io.BytesIO(), "utf-8") for _ in range(2))
    environment = {"COLUMNS": str(width), "NO_COLOR": "1", "TERM": "dumb"}
    with (
        mock.patch.dict(os.environ, environment),
        mock.patch.object(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin), "utf-8")),
        contextlib.redirect_stdout(out),
        contextlib.redirect_stderr(err),
    ):
        exit_code = main([str(each) for each in argv])
    out.flush()
    err.flush()
    return Outcome(exit_code, _bytes(out), _bytes(err).decode())


def _bytes(stream: io.TextIOWrapper) -> bytes:
    assert isinstance(stream.buffer, io.BytesIO)
    return stream.buffer.getvalue()
