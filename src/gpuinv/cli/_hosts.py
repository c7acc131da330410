"""Which host a command reads."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpuinv.host import LocalHost

if TYPE_CHECKING:
    from gpuinv.host.ports import Host

__all__ = ["chosen_host"]


def chosen_host(directory: str | None) -> Host:
    """The host captured in the directory, else the one that this runs on.

    Raises:
        UsageError: the directory holds no capture.
        ParseError: its capture.json breaks the format.
    """
    if directory is None:
        return LocalHost()
    from gpuinv.testing import replay

    return replay(directory)
