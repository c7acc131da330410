"""The `memory` section: totals, huge page pools, DIMMs and their error counters."""

from __future__ import annotations

import attrs

from gpuinv.inventory._fields import doc, reading, rows, wide
from gpuinv.readings import Reading

__all__ = ["Dimm", "EdacController", "HugePagePool", "MemorySection"]


@attrs.frozen(kw_only=True)
class HugePagePool:
    """A pool of huge pages of one size, on one NUMA node. Free pages are no inventory."""

    numa_node: int = doc("The node that the pages lie on.")
    page_size_kib: int = doc("Size of a page.")
    total_pages: Reading[int] = wide("Configured pages.")


@attrs.frozen(kw_only=True)
class Dimm:
    """A memory module."""

    locator: str = doc("Where it sits, as the board labels it.")
    size_bytes: Reading[int] = wide("Size.", unit="B")
    memory_type: Reading[str] = reading("Kind of memory, such as `DDR5`.")
    speed_mts: Reading[int] = reading("Transfers per second.", unit="MT/s")
    manufacturer: Reading[str] = reading("Manufacturer.")
    part_number: Reading[str] = reading("Part number.")
    serial: Reading[str] = reading("Serial number.")


@attrs.frozen(kw_only=True)
class EdacController:
    """Error counters of a memory controller."""

    controller: str = doc("The controller, `mc0`.")
    mc_name: Reading[str] = reading("The driver's name for it.")
    ce_count: Reading[int] = wide("Corrected errors.")
    ue_count: Reading[int] = wide("Uncorrected errors.")


@attrs.frozen(kw_only=True)
class MemorySection:
    """The machine's memory, without that of its GPUs."""

    total_bytes: Reading[int] = wide("Memory that the kernel has, nodes without CPUs left out.", unit="B")
    huge_page_pools: Reading[tuple[HugePagePool, ...]] = rows("Huge page pools.", by=("numa_node", "page_size_kib"))
    dimms: Reading[tuple[Dimm, ...]] = rows("Memory modules.", by=("locator",))
    edac: Reading[tuple[EdacController, ...]] = rows("Error counters.", by=("controller",))
