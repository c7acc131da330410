"""/proc/driver/nvidia: what the NVIDIA kernel module says of itself and of each GPU, without nvidia-smi.

Written by `nv-procfs.c` of the driver; its keys and wordings changed over the years, the form `key: value` did not.
"""

from __future__ import annotations

import re

import attrs

import gpuinv.values as v
from gpuinv.errors import Issue, IssueKind
from gpuinv.ids import GpuUuid, PciBusId
from gpuinv.inventory._fields import doc, reading
from gpuinv.kernel._entries import MAX_FILE_BYTES, Entries, Entry, reason_or_error
from gpuinv.readings import Missing, Reading
from gpuinv.text import lines, unanswered
from gpuinv.versions import DriverVersion

__all__ = ["INFORMATION", "VERSION", "ProcInformation", "ProcVersion", "parse_proc_information", "parse_proc_version"]

INFORMATION = "/proc/driver/nvidia/gpus/*/information"
VERSION = "/proc/driver/nvidia/version"

_KEYS = frozenset(
    {
        "Model",
        "GPU UUID",
        "Video BIOS",
        "Bus Type",
        "Bus Location",
        "Device Minor",
        "GPU Firmware",
        "GPU Excluded",
        "Blacklisted",
    }
)
_VBIOS = re.compile(r"[0-9A-F]{2}(?:\.[0-9A-F]{2}){2,5}")
_MAX_MINOR = (1 << 20) - 1
_NVRM = "NVRM version:"


@attrs.frozen(kw_only=True)
class ProcInformation:
    """The file `information` of one GPU."""

    product_name: Reading[str] = reading("The name in the driver's table, which also a GPU that never started has.")
    uuid: Reading[GpuUuid] = reading("The identity; missing on a GPU that was never initialised.")
    vbios_version: Reading[str] = reading("Version of the VBIOS; letters are upper case.")
    bus_type: Reading[str] = reading("`PCIe`, or `PCI` for a card whose PCIe capability a VM hides.")
    pci_bus_id: Reading[PciBusId] = reading("The PCI address.")
    minor_number: Reading[int] = reading("The number of its device node, `/dev/nvidia<minor>`; not the index.")
    gpu_firmware: Reading[str] = reading("Version of the GSP firmware; NOT_SUPPORTED or ABSENT where it is not used.")
    gpu_excluded: Reading[bool] = reading("Whether the driver was told to leave the GPU alone.")
    issues: tuple[Issue, ...] = doc("Values that have another form, and a missing UUID.", default=())


@attrs.frozen(kw_only=True)
class ProcVersion:
    """The file `version` of the kernel module."""

    driver_version: Reading[DriverVersion] = reading("Version of the kernel module.")
    open_kernel_module: bool = doc("Whether it is the open kernel module.")
    nvrm_version: str = doc("The whole text after `NVRM version:`.")


def parse_proc_information(text: str | bytes, *, directory: str | None = None) -> ProcInformation:
    """Read `/proc/driver/nvidia/gpus/<directory>/information`.

    `Bus Location` is the address. The name of the directory (or its path) stands in for it where the line is missing;
    drivers of 2011 named directories by number, which is no address. Of a key that stands twice the first value counts.

    Raises:
        ParseError: no line with a key of this file, or more than 64 KiB.
    """
    entries = _information_entries(text)
    bus_id = _bus_id(entries, directory)
    excluded = entries.take("GPU Excluded", v.FLAG.read)
    if excluded is Missing.ABSENT:
        excluded = entries.take("Blacklisted", v.FLAG.read)
    uuid = _uuid(entries, excluded=excluded is True)
    return ProcInformation(
        product_name=entries.take("Model", _model),
        uuid=uuid,
        vbios_version=entries.take("Video BIOS", _vbios),
        bus_type=entries.take("Bus Type", v.NAME.read),
        pci_bus_id=bus_id,
        minor_number=entries.take("Device Minor", _minor),
        gpu_firmware=entries.take("GPU Firmware", v.NAME.read),
        gpu_excluded=excluded,
        issues=entries.issues_about(bus_id, uuid),
    )


def parse_proc_version(text: str | bytes) -> ProcVersion:
    """Read `/proc/driver/nvidia/version`; the compiler's line is of no interest (it may hold a linker's error).

    A version of another form than `DriverVersion` is ERROR, none at all is NOT_AVAILABLE.

    Raises:
        ParseError: no line `NVRM version:`, or more than 64 KiB.
    """
    first = None
    for line in lines(text, source=VERSION, limit=MAX_FILE_BYTES):
        first = first or line
        stripped = line.text.strip()
        if stripped.startswith(_NVRM):
            return _version(stripped.removeprefix(_NVRM).strip())
    raise unanswered(VERSION, f"no line {_NVRM}", first)


def _version(words: str) -> ProcVersion:
    """`NVIDIA UNIX Open Kernel Module for x86_64  555.58.02  Release Build …`: the first number after `Module`."""
    after = words.partition("Module")[2].split()
    number = next((word for word in after if word[0].isdigit()), "")
    return ProcVersion(
        driver_version=v.DRIVER_VERSION.read(number),
        open_kernel_module="Open Kernel Module" in words,
        nvrm_version=words,
    )


def _information_entries(text: str | bytes) -> Entries:
    first = None
    values: dict[str, Entry] = {}
    entries = Entries(INFORMATION, values)
    for line in lines(text, source=INFORMATION, limit=MAX_FILE_BYTES):
        first = first or line
        key, _, value = line.text.partition(":")
        entry = Entry(value.strip(), line.place)
        if key.strip() in _KEYS and values.setdefault(key.strip(), entry).text != entry.text:
            entries.note(IssueKind.BAD_VALUE, f"{key.strip()}: stands above with another value, which is kept", entry)
    if not values:
        raise unanswered(INFORMATION, "no key of a GPU's information", first)
    return entries


def _uuid(entries: Entries, *, excluded: bool) -> Reading[GpuUuid]:
    """The identity. A GPU that the driver was told to leave alone is never initialised, and need not have one."""
    uuid = entries.take("GPU UUID", v.UUID.read)
    if isinstance(uuid, Missing) and not excluded:
        entries.note(IssueKind.NO_UUID, "the GPU has no UUID", entries.values.get("GPU UUID"))
    return uuid


def _bus_id(entries: Entries, directory: str | None) -> Reading[PciBusId]:
    located: Reading[PciBusId] = entries.take("Bus Location", v.BUS_ID.read)
    named: Reading[PciBusId] = v.BUS_ID.read((directory or "").rstrip("/").rpartition("/")[2])
    if isinstance(located, Missing):
        return located if isinstance(named, Missing) else named
    if not isinstance(named, Missing) and named not in {located, located.truncated}:
        message = f"the directory names {named}; Bus Location stands"
        entries.note(IssueKind.LAYERS_DISAGREE, message, entries.values["Bus Location"])
    return located


def _model(text: str) -> Reading[str]:
    return Missing.NOT_AVAILABLE if text == "Unknown" else v.NAME.read(text)


def _vbios(text: str) -> Reading[str]:
    version = text.upper()
    return version if _VBIOS.fullmatch(version) else reason_or_error(text)


def _minor(text: str) -> Reading[int]:
    minor = v.INTEGER.read(text)
    return Missing.ERROR if not isinstance(minor, Missing) and minor > _MAX_MINOR else minor
