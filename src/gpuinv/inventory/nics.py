"""The `nics` section: physical network interfaces."""

from __future__ import annotations

import attrs

from gpuinv.ids import PciBusId
from gpuinv.inventory._fields import doc, reading, rows
from gpuinv.readings import Reading

__all__ = ["Nic", "NicsSection"]


@attrs.frozen(kw_only=True)
class Nic:
    """One physical interface."""

    nic_name: str = doc("The kernel's name, `eth0`.")
    permanent_mac: Reading[str] = reading("The MAC burnt in, lower case with colons.")
    driver: Reading[str] = reading("The kernel driver.")
    firmware_version: Reading[str] = reading("Version of its firmware.")
    speed_mbps: Reading[int] = reading("Link speed.", unit="Mb/s")
    mtu: Reading[int] = reading("Largest frame.", unit="B")
    link_up: Reading[bool] = reading("Whether the link has a carrier.")
    pci_bus_id: Reading[PciBusId] = reading("The PCI address.")
    numa_node: Reading[int] = reading("The host's NUMA node that the slot belongs to.")
    sriov_total_vfs: Reading[int] = reading("Virtual functions that it can have.")
    sriov_num_vfs: Reading[int] = reading("Virtual functions that it has.")
    rdma_device: Reading[str] = reading("Its RDMA device, `mlx5_0`.")


@attrs.frozen(kw_only=True)
class NicsSection:
    """The physical network interfaces of the machine."""

    nics: Reading[tuple[Nic, ...]] = rows("The interfaces.", by=("nic_name",))
