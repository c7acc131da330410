"""The command's root, and the one place where errors become exit codes."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import click

from gpuinv.cli import _exit
from gpuinv.cli._screen import abandon
from gpuinv.cli.inventory import inventory
from gpuinv.cli.parse import parse
from gpuinv.cli.samples import samples
from gpuinv.errors import GpuInvError

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["app", "run"]

_NAME = "gpuinv"
_COMPLETION = "_GPUINV_COMPLETE"
"""The variable by which a shell asks click to complete a line."""
_EPILOG = """\b
Examples:
  gpuinv inventory
  nvidia-smi -q -x | gpuinv parse q-x - --json
"""


@click.group(invoke_without_command=True, context_settings={"help_option_names": ["-h", "--help"]}, epilog=_EPILOG)
@click.version_option(package_name=_NAME, prog_name=_NAME, message="%(prog)s %(version)s")
@click.pass_context
def app(context: click.Context) -> None:
    """Read what this host, a captured one or a saved output says of its NVIDIA GPUs."""
    if context.invoked_subcommand is None:
        click.echo(context.get_help(), err=True)
        context.exit(_exit.UNUSABLE)


app.add_command(inventory)
app.add_command(samples)
app.add_command(parse)


def run(argv: Sequence[str]) -> int:
    """Run the command; whatever goes wrong is said in one line.

    click's own `main` would exit with 1 where the reader of the output has gone, which means something else here.
    """
    try:
        return _invoke(argv)
    except click.ClickException as error:
        _exit.complain(_usage(error))
        return _exit.UNUSABLE
    except GpuInvError as error:
        _exit.complain(str(error))
        return _exit.exit_code_of(error)
    except (KeyboardInterrupt, click.Abort):
        return _exit.INTERRUPTED
    except BrokenPipeError:
        abandon()
        return _exit.BROKEN_PIPE
    except OSError as error:  # reading has its own errors by now; what is left is the output
        abandon()
        _exit.complain(f"standard output: {error.strerror}")
        return _exit.UNUSABLE


def _invoke(argv: Sequence[str]) -> int:
    if _COMPLETION in os.environ:
        app.main(prog_name=_NAME)
    try:
        with app.make_context(_NAME, list(argv)) as context:
            answer: Any = app.invoke(context)
    except click.exceptions.Exit as done:
        return done.exit_code
    return int(answer)


def _usage(error: click.ClickException) -> str:
    context = getattr(error, "ctx", None)
    hint = f" (see {context.command_path} --help)" if context is not None else ""
    return f"{error.format_message()}{hint}"
