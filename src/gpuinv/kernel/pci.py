"""/sys/bus/pci/devices/<address>: one PCI function, from the files of its directory (`drivers/pci/pci-sysfs.c`)."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, TypeVar

import attrs

import gpuinv.values as v
from gpuinv.errors import Issue, ParseError
from gpuinv.ids import PciBusId, PciId
from gpuinv.inventory._fields import doc, reading
from gpuinv.kernel._entries import MAX_FILE_BYTES, Entries, Entry, reason_or_error
from gpuinv.readings import Missing, Reading
from gpuinv.text import decode

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

T = TypeVar("T")

__all__ = ["NVIDIA", "PASSTHROUGH_DRIVERS", "PciFunction", "parse_pci_function"]

_SOURCE = "/sys/bus/pci/devices/*"

NVIDIA = 0x10DE
"""NVIDIA's PCI vendor id."""

PASSTHROUGH_DRIVERS = frozenset({"vfio-pci", "nvgrace-gpu-vfio-pci", "pciback", "xen-pciback"})
"""The drivers that hold a whole function for a VM, spelled with `-`. `vfio_mdev` is none: it holds a part of one."""

_GPU_CLASSES = frozenset({0x0300, 0x0302})
_NO_WIDTHS = frozenset({0, 63, 255})
_GENS = {2500: 1, 5000: 2, 8000: 3, 16000: 4, 32000: 5, 64000: 6, 128000: 7}
_HEX = re.compile(r"(?:0x)?([0-9a-f]{1,8})", re.IGNORECASE | re.ASCII)
_SPEED = re.compile(r"([0-9]{1,4})(?:\.([0-9]{1,3}))?(?:\s*GT/s.*)?", re.ASCII | re.DOTALL)


@attrs.frozen(kw_only=True)
class PciFunction:
    """A PCI function as the kernel sees it. What has no file is ABSENT: no driver is bound, no SR-IOV."""

    pci_bus_id: PciBusId = doc("The PCI address.")
    pci_device_id: Reading[PciId] = reading("PCI vendor and device id.")
    pci_sub_system_id: Reading[PciId] = reading("PCI subsystem vendor and device id.")
    pci_class: Reading[int] = reading("Class, subclass and programming interface, 24 bits: 0x030000 is VGA.")
    revision: Reading[int] = reading("The revision.")
    numa_node: Reading[int] = reading("The NUMA node of the slot; NOT_AVAILABLE where the kernel says -1.")
    driver_name: Reading[str] = reading("The driver that is bound.")
    iommu_group: Reading[int] = reading("The IOMMU group.")
    is_virtual_function: bool = doc("Whether it is an SR-IOV virtual function: it has a `physfn`.", default=False)
    current_link_speed_mtps: Reading[int] = reading("Speed of the link now, a lane.", unit="MT/s")
    max_link_speed_mtps: Reading[int] = reading("The highest speed of the link, a lane.", unit="MT/s")
    current_link_width: Reading[int] = reading("Width of the link now.", unit="lanes")
    max_link_width: Reading[int] = reading("The widest link.", unit="lanes")
    sriov_totalvfs: Reading[int] = reading("How many virtual functions it can have; only physical functions say so.")
    sriov_numvfs: Reading[int] = reading("How many virtual functions it has.")
    issues: tuple[Issue, ...] = doc("Values that have another form.", default=())

    @property
    def current_link_gen(self) -> Reading[int]:
        """The PCIe generation of the link now, 1 to 7; an idle GPU lowers it."""
        return _gen(self.current_link_speed_mtps)

    @property
    def max_link_gen(self) -> Reading[int]:
        """The highest PCIe generation of the link, 1 to 7."""
        return _gen(self.max_link_speed_mtps)

    @property
    def is_nvidia_gpu(self) -> bool:
        """Whether it is a GPU of NVIDIA: a VGA or 3D controller. Audio, USB and NVSwitch functions and VFs are none."""
        if self.is_virtual_function or isinstance(self.pci_device_id, Missing) or isinstance(self.pci_class, Missing):
            return False
        return self.pci_device_id.vendor == NVIDIA and self.pci_class >> 8 in _GPU_CLASSES

    @property
    def is_passed_through(self) -> bool:
        """Whether a driver holds it for a VM; `-` and `_` are one spelling of a driver's name."""
        return not isinstance(self.driver_name, Missing) and self.driver_name.replace("_", "-") in PASSTHROUGH_DRIVERS


def parse_pci_function(files: Mapping[str, str | bytes], *, address: str | None = None) -> PciFunction:
    """Read the files of a function's directory by name; `driver`, `iommu_group` and `physfn` are the targets of links.

    A file that cannot be read is left out of `files` (a function without PCIe has no link speed). The address is
    `address`, the directory's name, else `PCI_SLOT_NAME` of `uevent`, which also stands in for the files of the ids,
    the class and the driver.

    Raises:
        ParseError: there is no address, or it is none; a file has more than 64 KiB.
    """
    texts = {
        name: decode(data, source=_SOURCE, limit=MAX_FILE_BYTES).strip(" \t\r\n\0") for name, data in files.items()
    }
    event = _uevent(texts.get("uevent", ""))
    bus_id = _address(event, address)
    entries = Entries(_SOURCE, {name: Entry(text, name) for name, text in texts.items()})
    entries.values.update((name, Entry(text, "uevent")) for name, text in event.items())
    return PciFunction(
        pci_bus_id=bus_id,
        pci_device_id=_ids(entries, "vendor", "device", "PCI_ID"),
        pci_sub_system_id=_ids(entries, "subsystem_vendor", "subsystem_device", "PCI_SUBSYS_ID"),
        pci_class=_either(entries, "class", "PCI_CLASS", _hex(6)),
        revision=entries.take("revision", _hex(2)),
        numa_node=entries.take("numa_node", _numa_node),
        driver_name=_either(entries, "driver", "DRIVER", _link),
        iommu_group=entries.take("iommu_group", lambda target: v.INTEGER.read(_last_part(target))),
        is_virtual_function="physfn" in texts,
        current_link_speed_mtps=entries.take("current_link_speed", _speed),
        max_link_speed_mtps=entries.take("max_link_speed", _speed),
        current_link_width=entries.take("current_link_width", _width),
        max_link_width=entries.take("max_link_width", _width),
        sriov_totalvfs=entries.take("sriov_totalvfs", v.INTEGER.read),
        sriov_numvfs=entries.take("sriov_numvfs", v.INTEGER.read),
        issues=entries.issues_about(bus_id),
    )


def _uevent(text: str) -> dict[str, str]:
    pairs = (line.partition("=") for line in text.splitlines())
    return {key.strip(): value.strip() for key, mark, value in pairs if mark}


def _address(event: Mapping[str, str], address: str | None) -> PciBusId:
    spelling = event.get("PCI_SLOT_NAME") if address is None else address
    if spelling is None:
        raise ParseError(_SOURCE, "no address: neither given nor PCI_SLOT_NAME of uevent", place="uevent")
    return PciBusId.parse(spelling, source=_SOURCE)


def _either(entries: Entries, name: str, event: str, read: Callable[[str], Reading[T]]) -> Reading[T]:
    return entries.take(name if name in entries.values else event, read)


def _ids(entries: Entries, vendor_name: str, device_name: str, event: str) -> Reading[PciId]:
    vendor = entries.take(vendor_name, _hex(4))
    device = entries.take(device_name, _hex(4))
    if Missing.ABSENT in (vendor, device):
        return entries.take(event, v.PCI_IDS.read)
    if isinstance(vendor, Missing):
        return vendor
    return device if isinstance(device, Missing) else PciId(vendor, device)


def _hex(digits: int) -> Callable[[str], Reading[int]]:
    def read(text: str) -> Reading[int]:
        match = _HEX.fullmatch(text)
        if match is None or len(match[1].lstrip("0")) > digits:
            return reason_or_error(text)
        return int(match[1], 16)

    return read


def _numa_node(text: str) -> Reading[int]:
    """-1 is the kernel's "none", and no node's number."""
    return Missing.NOT_AVAILABLE if text.startswith("-") else v.INTEGER.read(text)


def _link(target: str) -> Reading[str]:
    return v.NAME.read(_last_part(target))


def _last_part(target: str) -> str:
    return target.rstrip("/").rpartition("/")[2]


def _width(text: str) -> Reading[int]:
    """0, and all bits of the register's field set, are no width: the link is down or the device gone."""
    width = v.INTEGER.read(text)
    return Missing.NOT_AVAILABLE if width in _NO_WIDTHS else width


def _speed(text: str) -> Reading[int]:
    """`8.0 GT/s PCIe`, before 2020 `8 GT/s`, as MT/s; `Unknown speed` is no speed."""
    match = _SPEED.fullmatch(text)
    if match is None:
        return Missing.NOT_AVAILABLE if text.startswith("Unknown") else reason_or_error(text)
    return int(match[1]) * 1000 + int((match[2] or "").ljust(3, "0")) or Missing.NOT_AVAILABLE


def _gen(speed: Reading[int]) -> Reading[int]:
    return speed if isinstance(speed, Missing) else _GENS.get(speed, Missing.ERROR)
