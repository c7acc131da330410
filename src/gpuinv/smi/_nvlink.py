"""What the queries of `nvidia-smi nvlink` have in common: a GPU's links line by line, or a sentence in their place."""

from __future__ import annotations

import enum
import re
from collections.abc import Callable, Hashable
from typing import Any, Generic, TypeVar

import attrs

from gpuinv.errors import IssueKind
from gpuinv.ids import GpuUuid
from gpuinv.inventory._fields import doc, reading
from gpuinv.readings import Missing, Reading, is_known, missing_reason
from gpuinv.smi._blocks import Block, read_blocks
from gpuinv.text import Issues, Line, unanswered

__all__ = ["AnswerReader", "GpuAnswer", "NvlinkState"]

_LINK = re.compile(r"Link\s+([0-9]{1,4})\s*:(.*)", re.ASCII | re.DOTALL)
_UNABLE = re.compile(r"(?:NVML:\s*)?(?:Unable|Failed) to [^:]*:(.*)", re.ASCII | re.DOTALL | re.IGNORECASE)
_LONGEST_LINE = 400
"""No line of an answer comes near it."""

Row = TypeVar("Row")


class NvlinkState(enum.Enum):
    """What the tool says of a GPU's NVLinks as a whole."""

    LINKS = "links"
    """It lists them, each active or not."""
    ALL_INACTIVE = "all_inactive"
    """`… as all links are inActive`: it has links, and none is up."""
    UNSUPPORTED = "unsupported"
    """`Device does not have or support Nvlink`."""
    MIG = "mig"
    """`Nvlink queries are not supported for Devices in MIG mode`: it may have any."""


_SENTENCES = {
    "all links are inactive": NvlinkState.ALL_INACTIVE,
    "does not have or support nvlink": NvlinkState.UNSUPPORTED,
    "not supported for devices in mig mode": NvlinkState.MIG,
}
"""Parts of the sentences, in lower case; each release spells the rest in its own way."""


@attrs.frozen(kw_only=True)
class GpuAnswer:
    """What every query says of a GPU."""

    smi_index: int = doc("The index that the tool prints.")
    product_name: Reading[str] = reading("The name as the driver prints it.")
    uuid: Reading[GpuUuid] = reading("The identity; missing where the line shows none that is whole.")
    state: Reading[NvlinkState] = reading(
        "What it says of the links as a whole; ABSENT where nothing follows the GPU's own line."
    )


@attrs.define
class AnswerReader(Generic[Row]):
    """Reads one query's answer.

    `read_row` gets a link's number and what follows it, and returns None for another form; `key` says which rows of a
    GPU are the same.
    """

    source: str
    read_row: Callable[[int, str], Row | None]
    key: Callable[[Row], Hashable]
    issues: Issues = attrs.field(factory=Issues)
    understood: bool = False
    refused: Line | None = None

    def read(self, text: str | bytes) -> list[tuple[dict[str, Any], tuple[Row, ...]]]:
        """For each GPU the fields of its `GpuAnswer`, and its rows.

        Raises:
            ParseError: no answer for any GPU, or not one line below the GPUs has this query's form.
        """
        found = read_blocks(text, source=self.source)
        self.issues += found.issues
        answers = [self._block(block) for block in found.blocks]
        if self.refused is not None and not self.understood:
            raise unanswered(self.source, "not the answer to this query", self.refused)
        return answers

    def _block(self, block: Block) -> tuple[dict[str, Any], tuple[Row, ...]]:
        rows: dict[Hashable, Row] = {}
        said: list[Reading[NvlinkState]] = []
        for line in block.lines:
            row = self._row(line)
            if row is None:
                said.append(self._sentence(block, line))
            elif rows.setdefault(self.key(row), row) is not row:
                self.issues.append(block.issue(line, IssueKind.MORE_DOCUMENTS, self.source, "this stands above"))
        self.understood |= bool(rows)
        head = {
            "smi_index": block.smi_index,
            "product_name": block.product_name,
            "uuid": block.uuid,
            "state": NvlinkState.LINKS if rows else next(filter(is_known, said), said[0] if said else Missing.ABSENT),
        }
        return head, tuple(rows.values())

    def _row(self, line: Line) -> Row | None:
        match = _LINK.fullmatch(line.text.strip()) if len(line.text) <= _LONGEST_LINE else None
        return None if match is None else self.read_row(int(match[1]), match[2].strip())

    def _sentence(self, block: Block, line: Line) -> Reading[NvlinkState]:
        """What a line that is no link's says of all of them; a reason where the tool failed or is not understood."""
        text = line.text.casefold()
        for part, state in _SENTENCES.items():
            if part in text:
                self.understood = True
                return state
        unable = _UNABLE.fullmatch(line.text.strip())
        if unable is None:
            self.refused = self.refused or line
            self.issues.append(block.issue(line, IssueKind.TEXT_AROUND, self.source, "a line of another form"))
            return Missing.ERROR
        self.understood = True
        self.issues.append(block.issue(line, IssueKind.READ_ERROR, self.source, "the tool could not read the links"))
        reason = missing_reason(unable[1].partition(".")[0])
        return Missing.ERROR if reason is None else reason
