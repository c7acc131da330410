"""The few places that touch a host: ports, and their adapters for the machine that this runs on.

host = LocalHost()
host.smi.run(["-q", "-x"], timeout=30.0)
host.tree.read("/proc/driver/nvidia/version")
"""

from __future__ import annotations

from gpuinv.host.local import LocalHost, LocalSmi, LocalTree
from gpuinv.host.ports import CommandResult, FileTree, Host, SmiRunner

__all__ = ["CommandResult", "FileTree", "Host", "LocalHost", "LocalSmi", "LocalTree", "SmiRunner"]
