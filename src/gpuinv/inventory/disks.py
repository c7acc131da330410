"""The `disks` section: whole disks, without partitions, loop devices or removable media."""

from __future__ import annotations

import attrs

from gpuinv.inventory._fields import doc, reading, rows, wide
from gpuinv.readings import Reading

__all__ = ["Disk", "DisksSection"]


@attrs.frozen(kw_only=True)
class Disk:
    """One disk. The kernel's name may move with a reboot; the WWN and the serial do not."""

    disk_name: str = doc("The kernel's name, `nvme0n1`.")
    model: Reading[str] = reading("Model.")
    serial: Reading[str] = reading("Serial number.")
    wwn: Reading[str] = reading("World wide name, as the kernel spells it.")
    size_bytes: Reading[int] = wide("Size.", unit="B")
    transport: Reading[str] = reading("`nvme`, `sata`, `sas`, `virtio` …")
    rotational: Reading[bool] = reading("Whether it spins.")
    firmware_version: Reading[str] = reading("Revision of its firmware.")
    smart_healthy: Reading[bool] = reading("Whether it judges itself healthy (SMART).")


@attrs.frozen(kw_only=True)
class DisksSection:
    """The disks of the machine."""

    disks: Reading[tuple[Disk, ...]] = rows("The disks.", by=("disk_name",))
