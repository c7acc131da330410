"""`nvidia-smi -L`: the GPUs with their UUIDs, and the MIG devices of each.

It is the only output that names MIG devices by their UUIDs and profiles (from R470 on the UUID says nothing about the
instance), and the only one in which the profile keeps its compute part, `1c.3g.40gb`.
"""

from __future__ import annotations

import re

import attrs

import gpuinv.values as v
from gpuinv.errors import Issue, IssueKind, ParseError
from gpuinv.ids import GpuUuid, MigUuid
from gpuinv.inventory._fields import doc, reading
from gpuinv.readings import Missing, Reading, missing_reason
from gpuinv.smi._blocks import Block, read_blocks
from gpuinv.smi.queries import LIST
from gpuinv.text import REPLACEMENT, Issues, Line

__all__ = ["ListedGpu", "ListedMigDevice", "SmiList", "parse_smi_list"]

_MIG = re.compile(r"MIG\s+(?:(\S+)\s+)?Device\s+([0-9]{1,6})\s*:\s*\(UUID:([^)]*)\)?", re.ASCII)


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
        ParseError: no GPU in it, and neither "No devices" nor failures of GPUs alone: the tool failed, or this is
            another text. More than 4096 GPUs or 1000 oddities.
    """
    found = read_blocks(text, source=LIST.source)
    issues = Issues(found.issues)
    gpus = tuple(_gpu(block, issues) for block in found.blocks)
    return SmiList(gpus=gpus, issues=tuple(issues))


def _gpu(block: Block, issues: Issues) -> ListedGpu:
    devices = (_mig_device(block, line, issues) for line in block.lines)
    return ListedGpu(
        smi_index=block.smi_index,
        product_name=block.product_name,
        uuid=block.uuid,
        mig_devices=tuple(device for device in devices if device is not None),
    )


def _mig_device(block: Block, line: Line, issues: Issues) -> ListedMigDevice | None:
    """The MIG device of a line below a GPU's; another line is an issue."""
    match = _MIG.match(line.text.strip())
    if match is None:
        issues.append(block.issue(line, IssueKind.TEXT_AROUND, LIST.source, "not a line of the list"))
        return None
    device = ListedMigDevice(
        mig_device_index=int(match[2]),
        mig_profile=Missing.ABSENT if match[1] is None else v.NAME.read(match[1]),
        mig_uuid=_mig_uuid(match[3]),
    )
    if isinstance(device.mig_uuid, Missing):
        message = f"MIG device {match[2]} of GPU {block.smi_index} shows no UUID of a known form"
        issues.append(block.issue(line, IssueKind.NO_UUID, LIST.source, message))
    if REPLACEMENT in line.text:
        issues.append(block.issue(line, IssueKind.BAD_CHARACTERS, LIST.source, "not UTF-8"))
    return device


def _mig_uuid(text: str) -> Reading[MigUuid]:
    """A MIG UUID; a masked one (all zero) and any other form was never available."""
    reason = missing_reason(text.strip().removeprefix("MIG-"))
    if reason is not None:
        return reason
    try:
        return MigUuid.parse(text)
    except ParseError:
        return Missing.NOT_AVAILABLE
