"""A host in a file: for everybody who tests software that reads GPU hosts, gpuinv's own tests among them.

    host = replay("fixtures/nvidia-smi/workstation-rtx-5090")
    host.smi.run(["-q", "-x"], timeout=30.0)

The names below load on first use. (`replay` is the function; its module has another name, because importing a submodule
`replay` would put the module in the function's place.)
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from gpuinv.testing._replay import ReplayHost, ReplaySmi, ReplayTree, replay
    from gpuinv.testing.capture import Capture, CapturedCommand

__all__ = ["Capture", "CapturedCommand", "ReplayHost", "ReplaySmi", "ReplayTree", "replay"]

_HOMES = {
    "Capture": "gpuinv.testing.capture",
    "CapturedCommand": "gpuinv.testing.capture",
    "ReplayHost": "gpuinv.testing._replay",
    "ReplaySmi": "gpuinv.testing._replay",
    "ReplayTree": "gpuinv.testing._replay",
    "replay": "gpuinv.testing._replay",
}


def __getattr__(name: str) -> object:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value: object = getattr(importlib.import_module(home), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
