"""Driver versions, which are text first and numbers second."""

from __future__ import annotations

import re
from functools import total_ordering

import attrs

from gpuinv.errors import ParseError

__all__ = ["DriverVersion"]

_FORM = re.compile(r"[0-9]{1,6}(?:\.[0-9]{1,6}){1,3}")


@total_ordering
@attrs.frozen(order=False)
class DriverVersion:
    """An NVIDIA driver version such as `550.54.04`: two to four numbers, kept as printed.

    Leading zeros are part of the version (`550.54.04` is what NVIDIA calls it), so equality is that of the text;
    order is that of the numbers, then of the text. A Windows driver (WSL 2), a Tegra release (`35.3.1`) and a
    data-center branch all have this form.
    """

    text: str = attrs.field(validator=attrs.validators.matches_re(_FORM))

    @classmethod
    def parse(cls, text: str, *, source: str = "driver version") -> DriverVersion:
        """Read a version.

        Raises:
            ParseError: the text is not two to four numbers joined by dots.
        """
        stripped = text.strip()
        if _FORM.fullmatch(stripped) is None:
            raise ParseError(source, "not a driver version (two to four numbers joined by dots)", text=text)
        return cls(stripped)

    @property
    def parts(self) -> tuple[int, ...]:
        """The numbers: `(550, 54, 4)`."""
        return tuple(int(part) for part in self.text.split("."))

    @property
    def branch(self) -> int:
        """The driver branch, which is the first number: 550."""
        return int(self.text.partition(".")[0])

    def __lt__(self, other: object) -> bool:
        if not isinstance(other, DriverVersion):
            return NotImplemented
        return (self.parts, self.text) < (other.parts, other.text)

    def __str__(self) -> str:
        return self.text
