"""The eight sections of a node's inventory, their names and their order."""

from __future__ import annotations

from typing import TypeAlias

import attrs

from gpuinv.inventory._fields import doc
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

    section_name: str = doc("The section's name.")
    content: bytes = doc("Its bytes.")


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

    system: SystemSection | None = doc("The machine.", default=None)
    cpu: CpuSection | None = doc("Its processors.", default=None)
    memory: MemorySection | None = doc("Its memory.", default=None)
    disks: DisksSection | None = doc("Its disks.", default=None)
    nics: NicsSection | None = doc("Its network interfaces.", default=None)
    gpus: GpuSection | None = doc("Its GPUs.", default=None)
    bmc: OpaqueSection | None = doc("Its BMC, unread.", default=None)
    os: OsSection | None = doc("Its operating system.", default=None)
