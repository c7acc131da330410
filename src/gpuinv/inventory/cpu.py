"""The `cpu` section: processors and their NUMA nodes."""

from __future__ import annotations

import attrs

from gpuinv.inventory._fields import doc, reading, rows
from gpuinv.readings import Reading

__all__ = ["CpuSection", "NumaNode"]


@attrs.frozen(kw_only=True)
class NumaNode:
    """A NUMA node and its CPUs. A node without CPUs is a device's memory."""

    numa_node: int = doc("The node's number.")
    cpu_list: Reading[str] = reading("Its CPUs as the kernel lists them, `0-15,32-47`; empty text for none.")


@attrs.frozen(kw_only=True)
class CpuSection:
    """The processors of the machine."""

    architecture: Reading[str] = reading("The machine's architecture, as the kernel names it: `x86_64`, `aarch64`.")
    vendor_id: Reading[str] = reading("Vendor of the processor.")
    model_name: Reading[str] = reading("Model as the processor or the kernel names it.")
    socket_count: Reading[int] = reading("Sockets.")
    core_count: Reading[int] = reading("Physical cores.")
    thread_count: Reading[int] = reading("Logical CPUs.")
    flags: Reading[tuple[str, ...]] = rows("Features of the processor, sorted.", by=())
    isolated: Reading[str] = reading("The CPUs that the kernel isolates, as a CPU list; empty text for none.")
    numa_nodes: Reading[tuple[NumaNode, ...]] = rows("The NUMA nodes.", by=("numa_node",))
