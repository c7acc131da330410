"""The eight sections of a node's inventory, their names and their order."""

from __future__ import annotations

from typing import TypeAlias

import attrs

from gpuinv.inventory.cpu import CpuSection
from gpuinv.inventory.disks import DisksSection
from gpuinv.inventory.gpu import GpuSection
from gpuinv.inventory.memory import MemorySection
from gpuinv.inventory.nics import NicsSection
from gpuinv.inventory.os_release import OsSection
from gpuinv.inventory.system import SystemSection

__all__ = ["SECTION_NAMES", "SECTION_TYPES", "NodeInventory", "OpaqueSection", "Section"]


@attrs.frozen
class OpaqueSection:
    """A section that gpuinv does not read, `bmc` or one of a newer writer: its bytes are kept as they are."""

    section_name: str
    content: bytes


Section: TypeAlias = (
    SystemSection | CpuSection | MemorySection | DisksSection | NicsSection | GpuSection | OsSection | OpaqueSection
)

SECTION_TYPES: dict[str, type[Section]] = {
    "system": SystemSection,
    "cpu": CpuSection,
    "memory": MemorySection,
    "disks": DisksSection,
    "nics": NicsSection,
    "gpus": GpuSection,
    "bmc": OpaqueSection,
    "os": OsSection,
}
"""The type of each section by name, in the order in which a snapshot's digest takes them."""

SECTION_NAMES: tuple[str, ...] = tuple(SECTION_TYPES)


@attrs.frozen(kw_only=True)
class NodeInventory:
    """What is known of a node. A section that is None was not reported, which says nothing about the hardware."""

    system: SystemSection | None = None
    cpu: CpuSection | None = None
    memory: MemorySection | None = None
    disks: DisksSection | None = None
    nics: NicsSection | None = None
    gpus: GpuSection | None = None
    bmc: OpaqueSection | None = None
    os: OsSection | None = None
