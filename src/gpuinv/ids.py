"""Identities and addresses: GPU UUIDs, PCI bus ids, MIG ids of both generations, device ids.

Identity is the UUID; the PCI bus id is the address, and it has one canonical form however a source spells it.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import attrs

from gpuinv.errors import ParseError

if TYPE_CHECKING:
    from typing import Self

__all__ = ["DeviceId", "GpuUuid", "MigUuid", "PciBusId", "PciId"]

_UUID = r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"
_GPU_UUID = re.compile(rf"GPU-({_UUID})", re.IGNORECASE | re.ASCII)
_MIG_UUID = re.compile(rf"MIG-{_UUID}", re.IGNORECASE | re.ASCII)
_OLD_MIG_UUID = re.compile(rf"MIG-GPU-({_UUID})/([0-9]{{1,4}})/([0-9]{{1,4}})", re.IGNORECASE | re.ASCII)
_DEVICE_ID = re.compile(r"(GPU-[^/]+?)(?:/gi([0-9]{1,4})/ci([0-9]{1,4})|/s([0-9]{1,4}))?")
_PCI_BUS_ID = re.compile(
    r"(?:PCI:)?"
    r"(?:(?P<domain>[0-9a-f]{4,8}):)?"
    r"(?P<bus>[0-9a-f]{2})[:.](?P<device>[0-9a-f]{2})(?:\.(?P<function>[0-7]))?",
    re.IGNORECASE | re.ASCII,
)
_PCI_ID = re.compile(r"(?:0x)?([0-9a-f]{4}):(?:0x)?([0-9a-f]{4})", re.IGNORECASE | re.ASCII)
_PCI_ID_WORD = re.compile(r"(?:0x)?([0-9a-f]{4})([0-9a-f]{4})", re.IGNORECASE | re.ASCII)
_MAX_NUMBER = 9999
"""The largest number of an instance or a slot; the forms above have four digits for it."""
_NO_UUID = "00000000-0000-0000-0000-000000000000"


class GpuUuid(str):
    """A GPU's UUID in NVML's form: `GPU-` and a lower-case UUID."""

    __slots__ = ()

    @classmethod
    def parse(cls, text: str, *, source: str = "GPU UUID") -> GpuUuid:
        """Read a GPU UUID.

        Raises:
            ParseError: another form, or the all-zero UUID, which identifies nothing.
        """
        match = _GPU_UUID.fullmatch(text.strip())
        if match is None:
            raise ParseError(source, "not a GPU UUID", text=text)
        uuid = match[1].lower()
        if uuid == _NO_UUID:
            raise ParseError(source, "the all-zero UUID names no GPU", text=text)
        return cls("GPU-" + uuid)


class MigUuid(str):
    """A MIG device's UUID as the driver prints it, of either generation.

    From R470 on it is `MIG-<uuid>` and opaque. Before, it is `MIG-GPU-<uuid>/<gi>/<ci>` and says where the instance
    lies.
    """

    __slots__ = ()

    @classmethod
    def parse(cls, text: str, *, source: str = "MIG UUID") -> MigUuid:
        """Read a MIG UUID of either generation; hexadecimal digits become lower case.

        Raises:
            ParseError: the text has neither form, or is the all-zero UUID, which identifies nothing.
        """
        stripped = text.strip()
        if _MIG_UUID.fullmatch(stripped) is not None and not stripped.endswith(_NO_UUID):
            return cls("MIG-" + stripped[4:].lower())
        match = _OLD_MIG_UUID.fullmatch(stripped)
        if match is None or match[1] == _NO_UUID:
            raise ParseError(source, "not a MIG UUID", text=text)
        return cls(f"MIG-GPU-{match[1].lower()}/{int(match[2])}/{int(match[3])}")

    @property
    def device_id(self) -> DeviceId | None:
        """Where the instance lies, which only the old form says."""
        match = _OLD_MIG_UUID.fullmatch(self)
        if match is None:
            return None
        return DeviceId(GpuUuid("GPU-" + match[1]), gpu_instance_id=int(match[2]), compute_instance_id=int(match[3]))


@attrs.frozen(order=True)
class PciBusId:
    """A PCI address. `str()` gives NVML's form, `00000000:F1:00.0`, which is gpuinv's canonical one.

    A domain may need more than 16 bits (`03F8CFDD` on some virtual hosts); it is never cut and never assumed.
    """

    domain: int = attrs.field(validator=attrs.validators.and_(attrs.validators.ge(0), attrs.validators.le(0xFFFFFFFF)))
    bus: int = attrs.field(validator=attrs.validators.and_(attrs.validators.ge(0), attrs.validators.le(0xFF)))
    device: int = attrs.field(validator=attrs.validators.and_(attrs.validators.ge(0), attrs.validators.le(0x1F)))
    function: int = attrs.field(
        default=0, validator=attrs.validators.and_(attrs.validators.ge(0), attrs.validators.le(7))
    )

    @classmethod
    def parse(cls, text: str, *, source: str = "PCI bus id") -> Self:
        """Read any spelling: 4 to 8 digits of domain, either case, `.` or `:` before the device, function or none.

        A missing domain is not read as 0: `lspci` leaves it out on a host with one domain, and nothing else says so.

        Raises:
            ParseError: the text is no PCI address, or lacks its domain.
        """
        match = _PCI_BUS_ID.fullmatch(text.strip())
        if match is None:
            raise ParseError(source, "not a PCI bus id", text=text)
        if match["domain"] is None:
            raise ParseError(source, "a PCI bus id without its domain", text=text)
        device = int(match["device"], 16)
        if device > 0x1F:  # noqa: PLR2004 - five bits of device number
            raise ParseError(source, "a PCI device number has five bits", text=text)
        return cls(int(match["domain"], 16), int(match["bus"], 16), device, int(match["function"] or 0))

    def __str__(self) -> str:
        return f"{self.domain:08X}:{self.bus:02X}:{self.device:02X}.{self.function}"

    @property
    def sysfs(self) -> str:
        """The spelling of sysfs and procfs: `0000:f1:00.0`; more digits where the domain needs them."""
        return f"{self.domain:04x}:{self.bus:02x}:{self.device:02x}.{self.function}"

    @property
    def kernel_log(self) -> str:
        """The spelling of the driver's log lines, which leaves the function out: `0000:f1:00`."""
        return f"{self.domain:04x}:{self.bus:02x}:{self.device:02x}"

    @property
    def truncated(self) -> PciBusId:
        """The address with its domain cut to 16 bits, as old kernels print it."""
        return attrs.evolve(self, domain=self.domain & 0xFFFF)


@attrs.frozen(order=True)
class PciId:
    """A pair of PCI ids, vendor and device (or subsystem vendor and subsystem device): `10de:2b85`."""

    vendor: int = attrs.field(validator=attrs.validators.and_(attrs.validators.ge(0), attrs.validators.le(0xFFFF)))
    device: int = attrs.field(validator=attrs.validators.and_(attrs.validators.ge(0), attrs.validators.le(0xFFFF)))

    @classmethod
    def parse(cls, text: str, *, source: str = "PCI id") -> Self:
        """Read `10de:2b85`, or nvidia-smi's one word with the device first (`0x2B8510DE`).

        Raises:
            ParseError: the text has neither form, or is the all-zero UUID, which identifies nothing.
        """
        stripped = text.strip()
        match = _PCI_ID.fullmatch(stripped)
        if match is not None:
            return cls(int(match[1], 16), int(match[2], 16))
        match = _PCI_ID_WORD.fullmatch(stripped)
        if match is None:
            raise ParseError(source, "not a pair of PCI ids", text=text)
        return cls(int(match[2], 16), int(match[1], 16))

    def __str__(self) -> str:
        return f"{self.vendor:04x}:{self.device:04x}"


@attrs.frozen
class DeviceId:
    """The id of a bookable thing: a GPU, a MIG instance of it, or a time-slice or MPS slot.

    `GPU-…`, `GPU-…/gi<g>/ci<c>`, `GPU-…/s<n>`.
    """

    gpu_uuid: GpuUuid
    gpu_instance_id: int | None = attrs.field(default=None, kw_only=True)
    compute_instance_id: int | None = attrs.field(default=None, kw_only=True)
    slot: int | None = attrs.field(default=None, kw_only=True)

    def __attrs_post_init__(self) -> None:
        """Refuse a mixture of the three forms, and a number that none of them can spell."""
        instance = self.gpu_instance_id is not None
        mixed = instance != (self.compute_instance_id is not None) or (instance and self.slot is not None)
        numbers = (self.gpu_instance_id, self.compute_instance_id, self.slot)
        if mixed or any(number is not None and not 0 <= number <= _MAX_NUMBER for number in numbers):
            raise ParseError("device id", "a device is a GPU, a MIG instance (gi and ci) or a slot")

    @classmethod
    def parse(cls, text: str, *, source: str = "device id") -> Self:
        """Read one of the three forms.

        Raises:
            ParseError: none of them, or the GPU's UUID is not one.
        """
        match = _DEVICE_ID.fullmatch(text.strip())
        if match is None:
            raise ParseError(source, "not a device id", text=text)
        gi, ci, slot = (None if part is None else int(part) for part in match.groups()[1:])
        uuid = GpuUuid.parse(match[1], source=source)
        return cls(uuid, gpu_instance_id=gi, compute_instance_id=ci, slot=slot)

    def __str__(self) -> str:
        if self.gpu_instance_id is not None:
            return f"{self.gpu_uuid}/gi{self.gpu_instance_id}/ci{self.compute_instance_id}"
        return str(self.gpu_uuid) if self.slot is None else f"{self.gpu_uuid}/s{self.slot}"

    @property
    def legacy_mig_uuid(self) -> MigUuid:
        """The name that drivers before R470 gave a MIG instance; `MIG-GPU-<uuid>/<gi>/<ci>`.

        Raises:
            ParseError: the device is no MIG instance.
        """
        if self.gpu_instance_id is None:
            raise ParseError("device id", "not a MIG instance", text=str(self))
        return MigUuid(f"MIG-{self.gpu_uuid}/{self.gpu_instance_id}/{self.compute_instance_id}")
