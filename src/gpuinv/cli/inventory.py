"""`gpuinv inventory`: the GPUs of this host, or of a captured one."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click
from rich.text import Text

from gpuinv.cli._columns import wrapped
from gpuinv.cli._exit import NO, YES
from gpuinv.cli._gpus import gpu_lines
from gpuinv.cli._hosts import chosen_host
from gpuinv.cli._issues import issue_lines, log_issues
from gpuinv.cli._screen import as_json, screen_width, show, write
from gpuinv.cli._words import count, value
from gpuinv.errors import Issue, SmiError
from gpuinv.host.gpus import read_gpus, read_procfs
from gpuinv.inventory import Layer
from gpuinv.readings import known_or
from gpuinv.sections.seal import SealedSection, decoded_view, seal

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gpuinv.host.ports import Host
    from gpuinv.inventory import GpuSection
    from gpuinv.smi.records import Snapshot

__all__ = ["inventory"]

_EPILOG = """\b
Examples:
  gpuinv inventory
  gpuinv inventory --strict > /dev/null || echo "something needs a look"
  gpuinv inventory --json | jq '.gpus[].uuid'
  gpuinv inventory --content | sha256sum

\b
Exit codes:
  0  the inventory was read; issues are shown
  1  --strict, and there is an issue
  2  wrong usage, or a capture that cannot be read
  3  no nvidia-smi, and nothing to show without it
  4  nvidia-smi failed
"""


@click.command(epilog=_EPILOG)
@click.option("--replay", "directory", metavar="DIR", help="Read the host captured in DIR instead of this one.")
@click.option("--json", "as_data", is_flag=True, help="Print the section as JSON; issues go to standard error.")
@click.option("--content", "as_bytes", is_flag=True, help="Print the section's canonical bytes and nothing else.")
@click.option("--strict", is_flag=True, help="Exit with 1 where there is any issue.")
def inventory(directory: str | None, *, as_data: bool, as_bytes: bool, strict: bool) -> int:
    """Show the GPUs of this host, and the SHA-256 of their section.

    nvidia-smi is asked, and the NVIDIA driver's files in /proc and /sys are read. Without nvidia-smi the files alone
    are shown. Nothing is changed on the host.
    """
    if as_data and as_bytes:
        raise click.UsageError("--json and --content exclude each other")
    host = chosen_host(directory)
    snapshot = _snapshot(host, for_person=not (as_data or as_bytes))
    sealed = seal(snapshot.section)
    if as_data or as_bytes:
        log_issues(snapshot.issues)
        write(sealed.content if as_bytes else as_json(decoded_view(sealed), sort_keys=True))
    else:
        show(_page(snapshot.section, snapshot.issues, sealed))
    return NO if strict and snapshot.issues else YES


def _snapshot(host: Host, *, for_person: bool) -> Snapshot:
    """Read the host. Where nvidia-smi fails, a person is still shown what procfs knows.

    Raises:
        NoDriverError: no nvidia-smi, and nothing in procfs.
        SmiError: nvidia-smi failed.
    """
    try:
        return read_gpus(host)
    except SmiError:
        section, issues = read_procfs(host.tree)
        if for_person and section.layers:
            show(_page(section, issues, None))
        else:
            log_issues(issues)
        raise


def _page(section: GpuSection, issues: Sequence[Issue], sealed: SealedSection | None) -> list[Text]:
    """The whole page; a section that is not sealed says so where its hash would stand."""
    width = screen_width()
    unsealed = "not sealed: nvidia-smi failed, and this is only what procfs and sysfs know"
    foot = [f"sha256 {sealed.sha256}"] if sealed else wrapped(unsealed, width)
    return [
        *(Text(line, "bold") for line in wrapped(_headline(section), width)),
        *([Text()] if section.gpus else []),
        *gpu_lines(section.gpus, width),
        *issue_lines(issues, width),
        Text(),
        *(Text(line) for line in foot),
    ]


def _headline(section: GpuSection) -> str:
    """`Driver 535.183.06, CUDA 12.2: 8 GPUs, 6 MIG devices`."""
    devices = sum(len(known_or(gpu.mig_instances, ())) for gpu in section.gpus)
    found = count(len(section.gpus), "GPU") if section.gpus else "no GPUs"
    cuda = f", CUDA {value(section.cuda_driver_version)}" if Layer.NVIDIA_SMI in section.layers else ""
    mig = f", {count(devices, 'MIG device')}" if devices else ""
    alone = "" if Layer.NVIDIA_SMI in section.layers else ", from procfs and sysfs alone"
    return f"Driver {value(section.driver_version)}{cuda}: {found}{mig}{alone}"
