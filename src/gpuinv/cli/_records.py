"""What `gpuinv parse` shows of a record to a person."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import attrs
from rich.text import Text

from gpuinv.cli._columns import GAP, aligned, filled, wrapped
from gpuinv.cli._gpus import gpu_lines
from gpuinv.cli._samples import sample_lines
from gpuinv.cli._words import count, value, with_reason

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from gpuinv.smi.compute_cap import ComputeCaps
    from gpuinv.smi.gpu_list import ListedGpu, SmiList
    from gpuinv.smi.records import SmiSnapshot

__all__ = ["capability_lines", "field_lines", "list_lines", "listing", "snapshot_lines", "unread_lines"]


def listing(values: dict[str, Any], width: int) -> list[Text]:
    """Names, each with its value, or with the reason why there is none."""
    longest = max(map(len, values), default=0)
    lines: list[Text] = []
    for name, reading in values.items():
        first, indent = f"{name:<{longest}}{GAP}", " " * (longest + len(GAP))
        lines += [Text(line) for line in wrapped(with_reason(reading), width, first=first, indent=indent)]
    return lines


def field_lines(record: attrs.AttrsInstance, width: int) -> list[Text]:
    """A flat record: each field with its value, or the reason why there is none."""
    fields = [field.name for field in attrs.fields(type(record)) if field.name not in {"issues", "unread"}]
    return listing({name: getattr(record, name) for name in fields}, width)


def snapshot_lines(snapshot: SmiSnapshot, width: int) -> list[Text]:
    """The document's own facts, its GPUs, and what they were doing."""
    names = ("driver_version", "cuda_driver_version", "attached_gpus", "timestamp", "dtd")
    lines = listing({name: getattr(snapshot, name) for name in names}, width)
    if snapshot.gpus:
        indices = [f"{gpu.gpu_index:<2}" for gpu in snapshot.gpus]
        lines += [Text(), *gpu_lines(snapshot.gpus, width)]
        lines += [Text(), *sample_lines(snapshot.samples, width, names=indices)]
    return lines


def list_lines(listed: SmiList, width: int) -> list[Text]:
    """The GPUs of a list, each with its MIG devices."""
    rows = aligned([row for gpu in listed.gpus for row in _listed(gpu)]) if listed.gpus else []
    return [Text(line) for row in rows for line in filled(row, width)] or [Text("no GPUs")]


def capability_lines(caps: ComputeCaps, width: int) -> list[Text]:
    """The compute capability of each GPU."""
    return listing({str(uuid): capability for uuid, capability in caps.by_uuid}, width) or [Text("no GPUs")]


def unread_lines(unread: Sequence[str], width: int) -> list[Text]:
    """The element paths that no field consumed."""
    if not unread:
        return []
    lines = [line for path in unread for line in wrapped(value(path), width, first="  ", indent="    ")]
    return [Text(), Text(f"{count(len(unread), 'element path')} not read", "bold"), *(Text(line) for line in lines)]


def _listed(gpu: ListedGpu) -> Iterator[list[str]]:
    yield [f"GPU {gpu.smi_index}", value(gpu.product_name), with_reason(gpu.uuid)]
    for device in gpu.mig_devices:
        yield [f"  MIG {device.mig_device_index}", value(device.mig_profile), with_reason(device.mig_uuid)]
