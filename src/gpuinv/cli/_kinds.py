"""What `gpuinv parse` can read: one row for each output or file."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import attrs
from rich.text import Text

import gpuinv
from gpuinv.cli._records import capability_lines, field_lines, list_lines, snapshot_lines

__all__ = ["KINDS", "Kind"]


@attrs.frozen(kw_only=True)
class Kind:
    """An output or a file that can be parsed on its own."""

    name: str
    reads: str
    """What it is the output of."""
    parser: str
    """The name of its parser in `gpuinv`, which loads it on first use."""
    lines: Callable[[Any, int], list[Text]] = field_lines
    """What a person is shown of the record, on that many columns."""

    def parse(self, data: bytes) -> object:
        """Read the data.

        Raises:
            ParseError: it is not what it is said to be.
        """
        record: object = getattr(gpuinv, self.parser)(data)
        return record


_ROWS: Final = (
    Kind(name="q-x", reads="nvidia-smi -q -x", parser="parse_smi_xml", lines=snapshot_lines),
    Kind(name="L", reads="nvidia-smi -L", parser="parse_smi_list", lines=list_lines),
    Kind(
        name="compute-cap",
        reads="nvidia-smi --query-gpu=uuid,compute_cap --format=csv",
        parser="parse_compute_cap",
        lines=capability_lines,
    ),
    Kind(
        name="proc-information",
        reads="/proc/driver/nvidia/gpus/<bus id>/information",
        parser="parse_proc_information",
    ),
    Kind(name="proc-version", reads="/proc/driver/nvidia/version", parser="parse_proc_version"),
)

KINDS: Final = {kind.name: kind for kind in _ROWS}
