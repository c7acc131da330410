"""Text in blocks: a line `GPU 0: NVIDIA H200 (UUID: GPU-…)`, and below it what a query says of that GPU."""

from __future__ import annotations

import re

import attrs

import gpuinv.values as v
from gpuinv.errors import Issue, IssueKind
from gpuinv.ids import GpuUuid
from gpuinv.readings import Missing, Reading, missing_reason
from gpuinv.smi.sentences import MAX_GPUS, MAX_ROWS, failure_issue, says_no_devices
from gpuinv.text import REPLACEMENT, Issues, Line, lines, too_many, unanswered

__all__ = ["Block", "Blocks", "read_blocks"]

_GPU = re.compile(r"GPU\s+([0-9]{1,6})\s*:(.*)\(UUID:([^)]*)(?:\)(.*))?", re.ASCII | re.DOTALL)
_GPU_START = re.compile(r"GPU\s+[0-9]{1,6}\s*:", re.ASCII)


@attrs.frozen(kw_only=True)
class Block:
    """A GPU, and the lines below its own."""

    smi_index: int
    product_name: Reading[str]
    uuid: Reading[GpuUuid]
    lines: list[Line] = attrs.field(factory=list)

    def issue(self, line: Line, kind: IssueKind, source: str, message: str) -> Issue:
        """An issue about this GPU."""
        issue = line.issue(kind, source, message)
        return issue if isinstance(self.uuid, Missing) else attrs.evolve(issue, uuid=self.uuid)


@attrs.frozen
class Blocks:
    """The blocks in the tool's order, and what stands between them."""

    blocks: tuple[Block, ...]
    issues: tuple[Issue, ...]


def read_blocks(text: str | bytes, *, source: str) -> Blocks:
    """Split the output of a query that answers for one GPU after the other.

    A GPU that the tool could not open is an issue with its bus id, wherever that line stands, and in no block. A line
    of a GPU whose own line cannot be read belongs to none. `No devices were found` is no block.

    Raises:
        ParseError: no GPU in it, and neither "No devices" nor failures of GPUs alone: the tool failed, or this is
            another text. More GPUs, lines below them, or oddities than any answer has.
    """
    reader = _Reader(source)
    for line in lines(text, source=source):
        reader.read(line)
    if not reader.answered:
        raise unanswered(source, "no GPU in the answer", reader.stray)
    return Blocks(tuple(reader.blocks), tuple(reader.issues))


@attrs.define
class _Reader:
    """The blocks so far. `current` is the one that a line belongs to, `stray` the first line that belongs to none."""

    source: str
    blocks: list[Block] = attrs.field(factory=list)
    issues: Issues = attrs.field(factory=Issues)
    line_count: int = 0
    current: Block | None = None
    stray: Line | None = None
    no_devices: bool = False
    indices: set[int] = attrs.field(factory=set)
    uuids: set[GpuUuid] = attrs.field(factory=set)

    @property
    def answered(self) -> bool:
        """Whether the tool answered; failures count where nothing else stands there."""
        return bool(self.blocks) or self.no_devices or (self.stray is None and bool(self.issues))

    def read(self, line: Line) -> None:
        """Take in one line."""
        if self._gpu(line) or self._said(line):
            return
        if _GPU_START.match(line.text.strip()):
            self.current = None
        if self.current is not None:
            self.line_count += 1
            if self.line_count > MAX_ROWS:
                raise too_many(self.source, f"{MAX_ROWS} lines below the GPUs' own", line)
            self.current.lines.append(line)
            return
        self.stray = self.stray or line
        self.issues.append(line.issue(IssueKind.TEXT_AROUND, self.source, "a line of no GPU"))

    def _gpu(self, line: Line) -> bool:
        match = _GPU.fullmatch(line.text.strip())
        if match is None:
            return False
        if len(self.blocks) >= MAX_GPUS:
            raise too_many(self.source, f"{MAX_GPUS} GPUs", line)
        index, name, uuid, around = match.groups()
        product_name, gpu_uuid = v.NAME.read(name.strip()), v.UUID.read(uuid.strip())
        block = Block(smi_index=int(index), product_name=product_name, uuid=gpu_uuid)
        self.blocks.append(block)
        self.current = block
        self._check(block, line, around)
        if product_name is Missing.ERROR and missing_reason(name) is None and REPLACEMENT not in name:
            self.issues.append(block.issue(line, IssueKind.BAD_VALUE, self.source, f"GPU {index} has no name so long"))
        return True

    def _check(self, block: Block, line: Line, around: str | None) -> None:
        """Raise the issues of a GPU's own line."""
        index, uuid = block.smi_index, block.uuid
        oddities = (
            (IssueKind.NO_UUID, f"GPU {index} shows no UUID of a known form", isinstance(uuid, Missing)),
            (IssueKind.DUPLICATE_UUID, "this UUID stands above", uuid in self.uuids),
            (IssueKind.MORE_DOCUMENTS, f"GPU {index} stands above", index in self.indices),
            (IssueKind.TEXT_AROUND, "text after the line's end", bool((around or "").strip())),
            (IssueKind.BAD_CHARACTERS, "not UTF-8", REPLACEMENT in line.text),
        )
        self.issues += [block.issue(line, kind, self.source, message) for kind, message, found in oddities if found]
        self.indices.add(index)
        if not isinstance(uuid, Missing):
            self.uuids.add(uuid)

    def _said(self, line: Line) -> bool:
        issue = failure_issue(line, source=self.source)
        if issue is not None:
            self.issues.append(issue)
        says_none = says_no_devices(line)
        self.no_devices |= says_none
        return issue is not None or says_none
