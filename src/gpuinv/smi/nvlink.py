"""`nvidia-smi nvlink`: the state of each NVLink (`-s`), what lies at its far end (`-R`), its error counters (`-e`).

The tool answers for one GPU after the other, with one line a link or with one sentence in their place, and exits with
0 in every case. A GPU in MIG mode does not tell: that is not the same as having no NVLink.
"""

from __future__ import annotations

import re
from decimal import Decimal
from typing import TypeVar

import attrs

from gpuinv.errors import Issue, ParseError
from gpuinv.ids import PciBusId
from gpuinv.inventory._fields import doc, reading
from gpuinv.readings import Missing, Reading, missing_reason
from gpuinv.smi._nvlink import AnswerReader, GpuAnswer, NvlinkState
from gpuinv.smi.queries import NVLINK_ERRORS, NVLINK_REMOTE, NVLINK_STATUS

__all__ = [
    "GpuLinkErrors",
    "GpuLinkRemotes",
    "GpuLinks",
    "LinkCounter",
    "LinkRemote",
    "LinkStatus",
    "NvlinkErrors",
    "NvlinkRemotes",
    "NvlinkState",
    "NvlinkStatus",
    "parse_nvlink_errors",
    "parse_nvlink_remote",
    "parse_nvlink_status",
]


_INACTIVE = re.compile(r"<?\s*inactive\s*>?", re.IGNORECASE)
_ASLEEP = re.compile(r"<?\s*(?:a?sleep|sleeping)\s*>?", re.IGNORECASE)
_SPEED = re.compile(r"([0-9]{1,6}(?:\.[0-9]{1,6})?)\s*GB/s(?![a-z0-9])(.*)", re.ASCII | re.DOTALL | re.IGNORECASE)
_REMOTE = re.compile(r"Remote Device\s+(.+?)(?:\s*:\s*Link\s+(\S+))?", re.ASCII | re.IGNORECASE)
_NO_REMOTE = re.compile(r"<?\s*N/A\s*>?|GPU\s+[0-9]{1,6}", re.ASCII | re.IGNORECASE)
_LINK_NUMBER = re.compile(r"[0-9]{1,6}", re.ASCII)
_COUNT = re.compile(r"[0-9]{1,40}", re.ASCII)
_RATE = re.compile(r"[0-9]{1,40}(?:\.[0-9]{1,40})?(?:e[+-]?[0-9]{1,4})?", re.ASCII | re.IGNORECASE)


@attrs.frozen(kw_only=True)
class _Row:
    """A line of a link."""

    link: int = doc("The link's number on its GPU.")


_AnyRow = TypeVar("_AnyRow", bound=_Row)


@attrs.frozen(kw_only=True)
class LinkStatus(_Row):
    """A line `Link 0: 26.562 GB/s` or `Link 0: <inactive>`."""

    up: Reading[bool] = reading("Whether it is active; a link that sleeps is.")
    speed_gb_per_s: Decimal | None = doc("Its speed; None where none is printed.", default=None)
    note: str = doc("What stands behind the speed, as printed.", default="")


@attrs.frozen(kw_only=True)
class GpuLinks(GpuAnswer):
    """The links of a GPU."""

    links: tuple[LinkStatus, ...] = doc("The links, by number.", default=())


@attrs.frozen(kw_only=True)
class NvlinkStatus:
    """The answer of `nvlink -s`, in the tool's order."""

    gpus: tuple[GpuLinks, ...] = doc("The GPUs.", default=())
    issues: tuple[Issue, ...] = doc("GPUs that could not be opened, and lines of no known form.", default=())


@attrs.frozen(kw_only=True)
class LinkRemote(_Row):
    """A line `Link 0: Remote Device 00000000:CD:00.0: Link 27`."""

    remote: PciBusId | None = doc("The PCI address at the far end, a GPU's or a switch's; None where none is printed.")
    remote_link: Reading[int] = reading("The link's number at the far end.")


@attrs.frozen(kw_only=True)
class GpuLinkRemotes(GpuAnswer):
    """The far ends of a GPU's links."""

    links: tuple[LinkRemote, ...] = doc("The links, by number.", default=())


@attrs.frozen(kw_only=True)
class NvlinkRemotes:
    """The answer of `nvlink -R`, in the tool's order."""

    gpus: tuple[GpuLinkRemotes, ...] = doc("The GPUs.", default=())
    issues: tuple[Issue, ...] = doc("GPUs that could not be opened, and lines of no known form.", default=())


@attrs.frozen(kw_only=True)
class LinkCounter(_Row):
    """A line `Link 0: Replay Errors: 0`. Which counters there are depends on the generation."""

    counter_name: str = doc("What is counted, as printed: `CRC Errors`, `Effective BER`, `FEC Errors - 3`.")
    value: Reading[int | Decimal] = reading("The count, or the rate.")


@attrs.frozen(kw_only=True)
class GpuLinkErrors(GpuAnswer):
    """The error counters of a GPU's links."""

    counters: tuple[LinkCounter, ...] = doc("The counters, by link, in the tool's order within one.", default=())


@attrs.frozen(kw_only=True)
class NvlinkErrors:
    """The answer of `nvlink -e`, in the tool's order."""

    gpus: tuple[GpuLinkErrors, ...] = doc("The GPUs.", default=())
    issues: tuple[Issue, ...] = doc("GPUs that could not be opened, and lines of no known form.", default=())


def parse_nvlink_status(text: str | bytes) -> NvlinkStatus:
    """Read the output of `nvidia-smi nvlink -s`: each link with its speed in GB/s, or inactive.

    A line of another form is an issue, and the rest stands; of two lines for one link the first is kept. A GPU that the
    tool could not open is an issue too. `No devices were found` is an answer without GPUs.

    Raises:
        ParseError: the text names no GPU, or not one line below them has a form of this query.
    """
    reader = AnswerReader(NVLINK_STATUS.source, _status, _link)
    gpus = tuple(GpuLinks(**head, links=_sorted(rows)) for head, rows in reader.read(text))
    return NvlinkStatus(gpus=gpus, issues=tuple(reader.issues))


def parse_nvlink_remote(text: str | bytes) -> NvlinkRemotes:
    """Read the output of `nvidia-smi nvlink -R`: the device at the far end of each link, and its link there.

    Tolerates and refuses what `parse_nvlink_status` does.

    Raises:
        ParseError: the text names no GPU, or not one line below them has a form of this query.
    """
    reader = AnswerReader(NVLINK_REMOTE.source, _remote, _link)
    gpus = tuple(GpuLinkRemotes(**head, links=_sorted(rows)) for head, rows in reader.read(text))
    return NvlinkRemotes(gpus=gpus, issues=tuple(reader.issues))


def parse_nvlink_errors(text: str | bytes) -> NvlinkErrors:
    """Read the output of `nvidia-smi nvlink -e`: every counter of every link, under the name that is printed.

    Tolerates and refuses what `parse_nvlink_status` does.

    Raises:
        ParseError: the text names no GPU, or not one line below them has a form of this query.
    """
    reader = AnswerReader(NVLINK_ERRORS.source, _counter, lambda row: (row.link, row.counter_name))
    gpus = tuple(GpuLinkErrors(**head, counters=_sorted(rows)) for head, rows in reader.read(text))
    return NvlinkErrors(gpus=gpus, issues=tuple(reader.issues))


def _link(row: _Row) -> int:
    return row.link


def _sorted(rows: tuple[_AnyRow, ...]) -> tuple[_AnyRow, ...]:
    return tuple(sorted(rows, key=_link))


def _status(link: int, text: str) -> LinkStatus | None:
    if _INACTIVE.fullmatch(text):
        return LinkStatus(link=link, up=False)
    if _ASLEEP.fullmatch(text):
        return LinkStatus(link=link, up=True, note=text)
    speed = _SPEED.fullmatch(text)
    if speed is not None:
        return LinkStatus(link=link, up=True, speed_gb_per_s=Decimal(speed[1]), note=speed[2].strip())
    reason = missing_reason(text)
    return None if reason is None else LinkStatus(link=link, up=reason)


def _remote(link: int, text: str) -> LinkRemote | None:
    if _INACTIVE.fullmatch(text):
        return LinkRemote(link=link, remote=None, remote_link=Missing.NOT_AVAILABLE)
    match = _REMOTE.fullmatch(text)
    if match is None:
        return None
    number = Missing.NOT_AVAILABLE if match[2] is None else _link_number(match[2])
    if _NO_REMOTE.fullmatch(match[1]):
        return LinkRemote(link=link, remote=None, remote_link=number)
    try:
        return LinkRemote(link=link, remote=PciBusId.parse(match[1]), remote_link=number)
    except ParseError:
        return None


def _link_number(text: str) -> Reading[int]:
    if _LINK_NUMBER.fullmatch(text):
        return int(text)
    return Missing.NOT_AVAILABLE if _NO_REMOTE.fullmatch(text) else Missing.ERROR


def _counter(link: int, text: str) -> LinkCounter | None:
    name, colon, value = (part.strip() for part in text.rpartition(":"))
    if not colon or not name:
        return None
    read = _number(value)
    return None if read is None else LinkCounter(link=link, counter_name=name, value=read)


def _number(text: str) -> Reading[int | Decimal] | None:
    if _COUNT.fullmatch(text):
        return int(text)
    return Decimal(text) if _RATE.fullmatch(text) else missing_reason(text)
