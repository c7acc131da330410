"""The value grammar of nvidia-smi: how the text of one element or cell becomes a reading.

A value is numeric only when it is a number with the unit of its field; everything else is a reason. Readers are cached,
since a document repeats few texts many times.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, TypeAlias

import attrs

from gpuinv.ids import GpuUuid, PciBusId, PciId
from gpuinv.readings import Missing, Reading, missing_reason
from gpuinv.versions import DriverVersion

__all__ = ["MAX_INTEGER", "ReadValue", "ValueReader"]

MAX_INTEGER = 2**53 - 1
"""The largest integer that every JSON reader keeps exactly; a number above it is no measurement."""

MAX_COUNTER = 2**64 - 1

MAX_TEXT = 4096
"""The longest text that can be a value; no serial and no path comes near it."""

_CACHED_TEXTS = 2048
_CACHED_LENGTH = 200

ReadValue: TypeAlias = Callable[[str], Reading[Any]]

_FLAGS = {
    "yes": True,
    "no": False,
    "enabled": True,
    "disabled": False,
    "on": True,
    "off": False,
    "true": True,
    "false": False,
    "active": True,
    "not active": False,
}


@attrs.frozen
class ValueReader:
    """One form of value: how it is named in the reference, and the function that reads it.

    `read` returns `Missing.ERROR` for a text that is neither the form nor a known reason.
    """

    form: str
    read: ReadValue = attrs.field(repr=False)


class _Texts(dict[str, Any]):
    """What short texts read as: a look-up costs no call, and a hostile document can neither fill nor lengthen it."""

    def __init__(self, convert: ReadValue) -> None:
        super().__init__()
        self._convert = convert

    def __missing__(self, text: str) -> Reading[Any]:
        value = self._convert(text)
        if len(text) <= _CACHED_LENGTH:
            if len(self) >= _CACHED_TEXTS:
                self.clear()
            self[text] = value
        return value


def reader(form: str, convert: Callable[[str], Any], *, otherwise: Missing = Missing.ERROR) -> ValueReader:
    """A reader from a conversion that raises ValueError (ParseError is one) on another form."""

    def read(text: str) -> Reading[Any]:
        if len(text) > MAX_TEXT:
            return otherwise
        stripped = text.strip()
        reason = missing_reason(stripped)
        if reason is not None:
            return reason
        try:
            return convert(stripped)
        except ValueError:
            return otherwise

    return ValueReader(form, _Texts(read).__getitem__)


def _integer(unit: str, *, signed: bool = False, limit: int = MAX_INTEGER) -> Callable[[str], int]:
    sign = "-?" if signed else ""
    blank = "" if unit == "x" else " ?"
    form = re.compile(rf"({sign}[0-9]{{1,20}}){blank}{re.escape(unit)}" if unit else rf"({sign}[0-9]{{1,20}})")

    def convert(text: str) -> int:
        match = form.fullmatch(text)
        if match is None or abs(number := int(match[1])) > limit:
            raise ValueError(text)
        return number

    return convert


_WATTS = re.compile(r"([0-9]{1,9})(?:\.([0-9]{1,6}))? ?W")
_DECIMAL = re.compile(r"[0-9]{1,3}\.[0-9]{1,3}")


def _milliwatts(text: str) -> int:
    match = _WATTS.fullmatch(text)
    if match is None:
        raise ValueError(text)
    thousandths = (match[2] or "").ljust(4, "0")
    return int(match[1]) * 1000 + int(thousandths[:3]) + (thousandths[3] >= "5")


def _flag(text: str) -> bool:
    try:
        return _FLAGS[text.casefold()]
    except KeyError:
        raise ValueError(text) from None


def _major_minor(text: str) -> str:
    if _DECIMAL.fullmatch(text) is None:
        raise ValueError(text)
    return text


def _name(text: str) -> str:
    """A name; one that was not UTF-8 is unknown rather than half known."""
    if "\N{REPLACEMENT CHARACTER}" in text:
        raise ValueError(text)
    return text


def _upper(text: str) -> str:
    return _name(text).upper()


TEXT = reader("text", str)
NAME = reader("name", _name)
UPPER = reader("text in upper case", _upper)
FLAG = reader("flag", _flag)
INTEGER = reader("integer", _integer(""))
COUNTER = reader("counter", _integer("", limit=MAX_COUNTER))
MIB = reader("MiB", _integer("MiB"))
PERCENT = reader("%", _integer("%"))
MHZ = reader("MHz", _integer("MHz"))
CELSIUS = reader("°C", _integer("C", signed=True))
KBPS = reader("KB/s", _integer("KB/s"))
LANES = reader("lanes", _integer("x"))
MILLIWATTS = reader("W, kept as mW", _milliwatts)
MAJOR_MINOR = reader("major.minor", _major_minor)
DRIVER_VERSION = reader("driver version", DriverVersion.parse)
BUS_ID = reader("PCI bus id", PciBusId.parse)
PCI_IDS = reader("PCI ids", PciId.parse)
# What is no UUID (masked, redacted, all zero) was never available.
UUID = reader("GPU UUID", GpuUuid.parse, otherwise=Missing.NOT_AVAILABLE)
