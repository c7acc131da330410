"""How the cells of nvidia-smi's CSV are read, beside what they share with the elements of `-q -x`.

A number stands with its unit or without: the unit may be in the header instead, and `nounits` leaves it out everywhere.
The unit is then the field's own.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import gpuinv.values as v
from gpuinv.values import reader

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = [
    "CELSIUS",
    "FLAG",
    "HEXADECIMAL",
    "MHZ",
    "MIB",
    "MICROSECONDS",
    "MILLISECONDS",
    "MILLIWATTS",
    "PERCENT",
    "SECONDS",
]

_PLAIN_DIGITS = 15
"""So many digits are below every limit and need no further look."""


def _number(unit: str, *, signed: bool = False) -> Callable[[str], int]:
    """An integer with its unit, or alone where the header states the unit, or the query asked for no units."""
    form = re.compile(rf"({'-?' if signed else ''}[0-9]{{1,20}})(?: ?{re.escape(unit)})?")

    def convert(text: str) -> int:
        if len(text) <= _PLAIN_DIGITS and text.isascii() and text.isdigit():
            return int(text)
        match = form.fullmatch(text)
        if match is None or abs(number := int(match[1])) > v.MAX_INTEGER:
            raise ValueError(text)
        return number

    return convert


_HEX = re.compile(r"0x[0-9a-fA-F]{1,16}")


def _hexadecimal(text: str) -> int:
    if _HEX.fullmatch(text) is None:
        raise ValueError(text)
    return int(text, 16)


def _milliwatts(text: str) -> int:
    value = v.MILLIWATTS.read(text if text.endswith("W") else f"{text} W")
    if not isinstance(value, int):
        raise ValueError(text)  # noqa: TRY004 - a form, as everywhere in a conversion
    return value


def _flag(text: str) -> bool:
    value = v.FLAG.read({"0": "No", "1": "Yes"}.get(text, text))
    if not isinstance(value, bool):
        raise ValueError(text)  # noqa: TRY004
    return value


MIB = reader("MiB", _number("MiB"))
PERCENT = reader("%", _number("%"))
MHZ = reader("MHz", _number("MHz"))
CELSIUS = reader("°C", _number("C", signed=True))
MICROSECONDS = reader("us", _number("us"))
MILLISECONDS = reader("ms", _number("ms"))
SECONDS = reader("seconds", _number("seconds"))
MILLIWATTS = reader("W, kept as mW", _milliwatts)
FLAG = reader("flag, or 0 and 1", _flag)
HEXADECIMAL = reader("hexadecimal number", _hexadecimal)
