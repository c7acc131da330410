"""`gpuinv samples`: what the GPUs of this host, or of a captured one, are doing."""

from __future__ import annotations

import contextlib
from functools import partial
from typing import TYPE_CHECKING, Any

import click
from rich.text import Text

from gpuinv.cli._columns import wrapped
from gpuinv.cli._exit import YES, complain, exit_code_of
from gpuinv.cli._hosts import chosen_host
from gpuinv.cli._issues import issue_lines
from gpuinv.cli._plain import plain
from gpuinv.cli._samples import sample_lines
from gpuinv.cli._screen import as_json, board, is_screen, screen_width, show, write
from gpuinv.cli._watch import LONGEST, SHORTEST, Pace
from gpuinv.cli._words import count
from gpuinv.errors import GpuInvError
from gpuinv.host.samples import read_samples
from gpuinv.smi.queries import FULL
from gpuinv.smi.samples import SampleFallback

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from gpuinv.host.ports import SmiRunner
    from gpuinv.host.samples import GpuSamples

__all__ = ["samples"]

PACE = Pace()
_WHY = {
    SampleFallback.MIG_MODE: "MIG is on at a GPU",
    SampleFallback.REFUSED_FIELD: "this driver does not know a field of the short query",
    SampleFallback.WRONG_COLUMNS: "the short query's answer has other columns",
}
_EPILOG = """\b
Examples:
  gpuinv samples
  gpuinv samples --watch 2
  gpuinv samples --json --watch 10 >> samples.jsonl

\b
Exit codes:
  0  the samples were read; issues are shown
  2  wrong usage, or a capture that cannot be read
  3  no nvidia-smi
  4  nvidia-smi failed
With --watch, Ctrl-C ends it, with the exit code of the last round.
"""


def _interval(_: click.Context, __: click.Parameter, seconds: float | None) -> float | None:
    if seconds is not None and not SHORTEST <= seconds <= LONGEST:  # so that NaN is refused too
        raise click.BadParameter(f"{seconds:g} is not between {SHORTEST:g} and {LONGEST:.0f}")
    return seconds


@click.command(epilog=_EPILOG)
@click.option("--replay", "directory", metavar="DIR", help="Read the host captured in DIR instead of this one.")
@click.option("--json", "as_data", is_flag=True, help="Print all of it as JSON; with --watch, one line a round.")
@click.option("--watch", "seconds", type=float, metavar="SECONDS", callback=_interval, help="Read again every SECONDS.")
def samples(directory: str | None, *, as_data: bool, seconds: float | None) -> int:
    """Show what the GPUs of this host are doing.

    nvidia-smi is asked twice, briefly; where that cannot tell, for its full report. Nothing is changed on the host.
    """
    smi = chosen_host(directory).smi
    if seconds is not None:
        return _watch(smi, seconds, as_data=as_data)
    answer = read_samples(smi)
    if as_data:
        write(as_json(plain(answer)))
    else:
        show(_page(answer))
    return YES


def _watch(smi: SmiRunner, seconds: float, *, as_data: bool) -> int:
    """Read and show until Ctrl-C; an error is shown like an answer, and the next round goes on."""
    exit_code = YES
    with contextlib.suppress(KeyboardInterrupt), _output(seconds, as_data=as_data) as shown:
        for number in PACE.rounds(seconds):
            try:
                answer: GpuSamples | GpuInvError = read_samples(smi)
            except GpuInvError as error:
                answer = error
            exit_code = exit_code_of(answer) if isinstance(answer, GpuInvError) else YES
            shown(answer, first=number == 0)
    return exit_code


@contextlib.contextmanager
def _output(seconds: float, *, as_data: bool) -> Iterator[Callable[..., None]]:
    """Where the rounds are shown: in one place of a screen, or one after the other."""
    if as_data or not is_screen():
        yield _line if as_data else partial(_next_page, seconds)
        return
    with board() as draw:
        yield lambda answer, **_: draw(_failed(answer) if isinstance(answer, GpuInvError) else _page(answer, seconds))


def _line(answer: GpuSamples | GpuInvError, **_: Any) -> None:  # noqa: ANN401
    if isinstance(answer, GpuInvError):
        complain(str(answer))
    else:
        write(as_json(plain(answer), one_line=True))


def _next_page(seconds: float, answer: GpuSamples | GpuInvError, *, first: bool) -> None:
    if isinstance(answer, GpuInvError):
        complain(str(answer))
    else:
        show([*([] if first else [Text()]), *_page(answer, seconds)])


def _failed(error: GpuInvError) -> list[Text]:
    return [Text(line, "red") for line in wrapped(str(error), screen_width(), first="! ", indent="  ")]


def _page(answer: GpuSamples, seconds: float | None = None) -> list[Text]:
    width = screen_width()
    return [
        *(Text(line, "bold") for line in wrapped(_headline(answer, seconds), width)),
        *(Text(line) for line in _source(answer, width)),
        *([Text(), *sample_lines(answer.samples, width)] if answer.samples else []),
        *issue_lines(answer.issues, width),
    ]


def _headline(answer: GpuSamples, seconds: float | None) -> str:
    """`8 GPUs, 6 MIG devices, every 2 s`."""
    devices = sum(len(sample.mig_samples) for sample in answer.samples)
    found = count(len(answer.samples), "GPU") if answer.samples else "no GPUs"
    mig = f", {count(devices, 'MIG device')}" if devices else ""
    return f"{found}{mig}" + ("" if seconds is None else f", every {seconds:g} s")


def _source(answer: GpuSamples, width: int) -> list[str]:
    """Why the full report was read, where it was."""
    return [] if answer.fallback is None else wrapped(f"from {FULL.source}: {_WHY[answer.fallback]}", width)
