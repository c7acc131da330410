"""`nvidia-smi -L`: the GPUs with their UUIDs, and the MIG devices of each.

It is the only output that names MIG devices by their UUIDs and profiles (from R470 on the UUID says nothing about the
instance), and the only one in which the profile keeps its compute part, `1c.3g.40gb`.
"""

from __future__ import annotations

import re

import attrs

from gpuinv.errors import Issue, IssueKind, ParseError
from gpuinv.ids import GpuUuid, MigUuid
from gpuinv.inventory._fields import doc, reading
from gpuinv.readings import Missing, Reading, missing_reason
from gpuinv.smi import _values as v
from gpuinv.smi._text import REPLACEMENT, Line, failure_issue, lines, says_no_devices, unanswered
from gpuinv.smi.queries import LIST

__all__ = ["ListedGpu", "ListedMigDevice", "SmiList", "parse_smi_list"]

_GPU = re.compile(r"GPU\s+([0-9]{1,6})\s*:", re.ASCII)
_MIG = re.compile(r"MIG\s+(?:(\S+)\s+)?Device\s+([0-9]{1,6})\s*:\s*\(UUID:([^)]*)\)?", re.ASCII)
_UUID_MARK = "(UUID:"


@attrs.frozen(kw_only=True)
class ListedMigDevice:
    """A line `MIG 1g.10gb     Device  0: (UUID: MIG-…)`."""

    mig_device_index: int = doc("The number that the tool prints; it restarts with each GPU.")
    mig_profile: Reading[str] = reading("The profile's name; ABSENT in the oldest form of the line.")
    mig_uuid: Reading[MigUuid] = reading("The UUID as the driver prints it, of either generation.")


@attrs.frozen(kw_only=True)
class ListedGpu:
    """A line `GPU 0: NVIDIA H200 (UUID: GPU-…)` with the MIG lines below it."""

    smi_index: int = doc("The index that the tool prints; a GPU that cannot be opened leaves a gap.")
    product_name: Reading[str] = reading("The name as the driver prints it.")
    uuid: Reading[GpuUuid] = reading("The identity; missing where the line shows none that is whole.")
    mig_devices: tuple[ListedMigDevice, ...] = doc("Its MIG devices, in the tool's order.", default=())


@attrs.frozen(kw_only=True)
class SmiList:
    """The whole list, in the tool's order."""

    gpus: tuple[ListedGpu, ...] = doc("The GPUs.", default=())
    issues: tuple[Issue, ...] = doc("GPUs that could not be opened, and lines that are no part of a list.", default=())


def parse_smi_list(text: str | bytes) -> SmiList:
    """Read the output of `nvidia-smi -L`.

    The list has a `ListedGpu` for each GPU line, in the tool's order, with the MIG devices of the lines below it. A GPU
    that the tool could not open is an issue with its bus id; the others stand, with the indices as printed.
    `No devices were found` is an empty list. Rows stay as they are: a UUID that is printed twice stands twice.

    Raises:
        ParseError: no GPU, no failure of a GPU and no "No devices" in it: the tool failed, or this is another text.
    """
    reader = _Reader()
    first = None
    for line in lines(text, source=LIST.source):
        first = first or line
        reader.read(line)
    if not reader.answered:
        raise unanswered(LIST.source, "no GPU in the list", first)
    return reader.result()


@attrs.define
class _Reader:
    """The list so far. `in_gpu` says whether a MIG line would belong to the last GPU."""

    gpus: list[ListedGpu] = attrs.field(factory=list)
    mig_devices: list[list[ListedMigDevice]] = attrs.field(factory=list)
    issues: list[Issue] = attrs.field(factory=list)
    answered: bool = False
    in_gpu: bool = False
    indices: set[int] = attrs.field(factory=set)
    uuids: set[GpuUuid] = attrs.field(factory=set)

    def read(self, line: Line) -> None:
        """Take in one line."""
        if not (self._gpu(line) or self._mig(line) or self._said(line)):
            self.issues.append(line.issue(IssueKind.TEXT_AROUND, LIST.source, "not a line of the list"))

    def result(self) -> SmiList:
        """The list."""
        pairs = zip(self.gpus, self.mig_devices, strict=True)
        gpus = tuple(attrs.evolve(gpu, mig_devices=tuple(devices)) for gpu, devices in pairs)
        return SmiList(gpus=gpus, issues=tuple(self.issues))

    def _note(self, line: Line, kind: IssueKind, message: str) -> None:
        """Raise an issue about the last GPU."""
        uuid = self.gpus[-1].uuid
        issue = line.issue(kind, LIST.source, message)
        self.issues.append(issue if isinstance(uuid, Missing) else attrs.evolve(issue, uuid=uuid))

    def _gpu(self, line: Line) -> bool:
        text = line.text.strip()
        match = _GPU.match(text)
        if match is None:
            return False
        # MIG lines below a GPU line that cannot be read belong to that GPU, not to the one before.
        name, self.in_gpu, rest = _split(text[match.end() :])
        if self.in_gpu:
            uuid, _, around = rest.partition(")")
            product_name, gpu_uuid = v.NAME.read(name.strip()), v.UUID.read(uuid.strip())
            gpu = ListedGpu(smi_index=int(match[1]), product_name=product_name, uuid=gpu_uuid)
            self.gpus.append(gpu)
            self.mig_devices.append([])
            self.answered = True
            self._check_gpu(line, gpu, around)
        return self.in_gpu

    def _check_gpu(self, line: Line, gpu: ListedGpu, around: str) -> None:
        if isinstance(gpu.uuid, Missing):
            self._note(line, IssueKind.NO_UUID, f"GPU {gpu.smi_index} shows no UUID of a known form")
        elif gpu.uuid in self.uuids:
            self._note(line, IssueKind.DUPLICATE_UUID, "this UUID stands above")
        else:
            self.uuids.add(gpu.uuid)
        if gpu.smi_index in self.indices:
            self._note(line, IssueKind.MORE_DOCUMENTS, f"GPU {gpu.smi_index} stands above")
        self.indices.add(gpu.smi_index)
        if around.strip():
            self._note(line, IssueKind.TEXT_AROUND, "text after the line's end")
        self._check_characters(line)

    def _check_characters(self, line: Line) -> None:
        if REPLACEMENT in line.text:
            self._note(line, IssueKind.BAD_CHARACTERS, "not UTF-8")

    def _mig(self, line: Line) -> bool:
        match = _MIG.match(line.text.strip())
        if match is None:
            return False
        if not self.in_gpu:
            self.issues.append(line.issue(IssueKind.TEXT_AROUND, LIST.source, "a MIG device without its GPU"))
            return True
        device = ListedMigDevice(
            mig_device_index=int(match[2]),
            mig_profile=Missing.ABSENT if match[1] is None else v.NAME.read(match[1]),
            mig_uuid=_mig_uuid(match[3]),
        )
        if isinstance(device.mig_uuid, Missing):
            index = self.gpus[-1].smi_index
            self._note(line, IssueKind.NO_UUID, f"MIG device {match[2]} of GPU {index} shows no UUID of a known form")
        self._check_characters(line)
        self.mig_devices[-1].append(device)
        return True

    def _said(self, line: Line) -> bool:
        issue = failure_issue(line, source=LIST.source)
        if issue is not None:
            self.issues.append(issue)
        said = issue is not None or says_no_devices(line)
        self.answered |= said
        return said


def _split(text: str) -> tuple[str, bool, str]:
    """The name, whether `(UUID:` follows it, and what stands behind. A name may hold parentheses of its own."""
    name, mark, rest = text.rpartition(_UUID_MARK)
    return name, bool(mark), rest


def _mig_uuid(text: str) -> Reading[MigUuid]:
    """A MIG UUID; a masked one (all zero) and any other form was never available."""
    reason = missing_reason(text.strip().removeprefix("MIG-"))
    if reason is not None:
        return reason
    try:
        return MigUuid.parse(text)
    except ParseError:
        return Missing.NOT_AVAILABLE
