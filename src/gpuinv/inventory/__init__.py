"""The nouns: frozen records of the eight sections of a node's inventory, and of samples.

Every field says its meaning, its unit and its form in canonical bytes where it is declared. The records know nothing of
the tools that fill them.
"""

from gpuinv.inventory.cpu import CpuSection, NumaNode
from gpuinv.inventory.disks import Disk, DisksSection
from gpuinv.inventory.ecc import EccCounts, EccErrors, EccMode, EccScope, RemappedRows, RetiredPages, SramSources
from gpuinv.inventory.fabric import Fabric, FabricHealth, NvLink, TopologyPeer
from gpuinv.inventory.gpu import Gpu, GpuSection, Layer, PlatformInfo, PowerLimits
from gpuinv.inventory.memory import Dimm, EdacController, HugePagePool, MemorySection
from gpuinv.inventory.mig import GpuInstance, MigInstance, MigMode, MigProfile
from gpuinv.inventory.nics import Nic, NicsSection
from gpuinv.inventory.node import SECTION_NAMES, SECTION_TYPES, NodeInventory, OpaqueSection, Section
from gpuinv.inventory.os_release import ContainerRuntime, OsSection
from gpuinv.inventory.sample import (
    Clocks,
    GpuProcess,
    GpuSample,
    MemoryUsage,
    MigSample,
    PowerReadings,
    Temperature,
    Utilization,
)
from gpuinv.inventory.system import SystemSection

__all__ = [
    "SECTION_NAMES",
    "SECTION_TYPES",
    "Clocks",
    "ContainerRuntime",
    "CpuSection",
    "Dimm",
    "Disk",
    "DisksSection",
    "EccCounts",
    "EccErrors",
    "EccMode",
    "EccScope",
    "EdacController",
    "Fabric",
    "FabricHealth",
    "Gpu",
    "GpuInstance",
    "GpuProcess",
    "GpuSample",
    "GpuSection",
    "HugePagePool",
    "Layer",
    "MemorySection",
    "MemoryUsage",
    "MigInstance",
    "MigMode",
    "MigProfile",
    "MigSample",
    "Nic",
    "NicsSection",
    "NodeInventory",
    "NumaNode",
    "NvLink",
    "OpaqueSection",
    "OsSection",
    "PlatformInfo",
    "PowerLimits",
    "PowerReadings",
    "RemappedRows",
    "RetiredPages",
    "Section",
    "SramSources",
    "SystemSection",
    "Temperature",
    "TopologyPeer",
    "Utilization",
]
