"""What a failed run of nvidia-smi means: its texts first, then its exit code.

The exit codes equal the `nvmlReturn_t` numbers, those that the tool's manual leaves out included. One text comes with
255 on one driver and with a code of its own on another, so a text decides before a code does.

`FAILURES` is the one table. `smi_failure` reads it from the top; where no row's text was printed, the row that names
the exit code counts, else `OTHER`.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

import attrs

from gpuinv.errors import SmiError, SmiFailure
from gpuinv.readings import Missing
from gpuinv.smi.sentences import DeviceFailure

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = [
    "FAILURES",
    "NOT_RUN",
    "OTHER",
    "TIMED_OUT",
    "TOO_LONG",
    "FailureRule",
    "failure_rule",
    "smi_failure",
]

_SEARCHED: Final = 64 * 1024
"""How many bytes at each end of a stream are searched for a failure text."""
_SHOWN_GPUS: Final = 4

_ANSI = re.compile(r"\x1b\[[0-9;?]*[ -/]*[@-~]")


@attrs.frozen(kw_only=True)
class FailureRule:
    """One row: how a failure is recognised, what it is, and what a person can do about it.

    `text` is matched against the start of each line, case ignored; a row without it is told by its exit codes alone.
    `alone` asks that every line printed match `text`, and that the exit code be none of another row's with a text.
    `reason` is why the fields of an optional query that failed so are missing. `{gpus}` in a hint stands for the GPUs
    named in the output.
    """

    name: str
    failure: SmiFailure
    hint: str
    text: str | None = None
    exit_codes: frozenset[int] = frozenset()
    alone: bool = False
    reason: Missing = Missing.ERROR

    def is_printed(self, lines: Iterable[str]) -> bool:
        """Whether the lines of an output say this."""
        if self.text is None:
            return False
        found = [re.match(self.text, line, re.IGNORECASE) is not None for line in lines]
        return bool(found) and (all(found) if self.alone else any(found))


def _fails_with(reason: str) -> str:
    """Lines such as `Failed to initialize NVML: <reason>` and `Unable to …: <reason>`."""
    return rf"(?:Failed|Unable) to [^<]*: (?:{reason})"


FAILURES: Final[tuple[FailureRule, ...]] = (
    FailureRule(
        name="driver_not_running",
        failure=SmiFailure.DRIVER_NOT_RUNNING,
        text=rf"NVIDIA-SMI has failed because it couldn't communicate|{_fails_with('Driver Not Loaded')}",
        exit_codes=frozenset({9}),
        hint="load the nvidia kernel module (modprobe nvidia) and read the kernel log if that fails; "
        "after a kernel update the module must be built anew",
    ),
    FailureRule(
        name="version_mismatch",
        failure=SmiFailure.VERSION_MISMATCH,
        text=_fails_with("Driver/library version mismatch"),
        exit_codes=frozenset({18}),
        hint="the driver was updated while its old kernel module stayed loaded: reboot, or unload and load the module",
    ),
    FailureRule(
        name="no_library",
        failure=SmiFailure.NO_LIBRARY,
        text=r"NVIDIA-SMI couldn't find libnvidia-ml\.so",
        exit_codes=frozenset({12}),
        hint="the driver's library libnvidia-ml.so.1 was not found: install the driver's libraries, or run ldconfig",
    ),
    FailureRule(
        name="blocked_by_os",
        failure=SmiFailure.BLOCKED,
        text=_fails_with("GPU access blocked by the operating system"),
        exit_codes=frozenset({17}),
        hint="the operating system blocks the GPU: allow its device files in the cgroup or the container; "
        "under WSL update Windows and its driver",
    ),
    FailureRule(
        name="no_permission",
        failure=SmiFailure.NO_PERMISSION,
        text=_fails_with("Insufficient Permissions"),
        exit_codes=frozenset({4}),
        reason=Missing.NO_PERMISSION,
        hint="run as root, or give this user access to the /dev/nvidia* files",
    ),
    FailureRule(
        name="gpu_lost",
        failure=SmiFailure.GPU_LOST,
        text=rf"Unable to determine the device handle for gpu|{_fails_with('GPU is lost')}",
        exit_codes=frozenset({15}),
        hint="{gpus} fell off the bus or does not answer: look for its Xids in the kernel log, reset it or reboot",
    ),
    FailureRule(
        name="no_supported_gpu",
        failure=SmiFailure.OTHER,
        text=_fails_with("No supported GPUs were found"),
        hint="the driver has taken no GPU: see whether another driver holds them (vfio-pci) or they are too old",
    ),
    FailureRule(
        name="nvml_unknown_error",
        failure=SmiFailure.OTHER,
        text=r"Failed to initialize NVML: Unknown Error",
        hint="in a container: its access to the GPU was withdrawn, start it anew; else read the kernel log",
    ),
    FailureRule(
        name="no_devices",
        failure=SmiFailure.NO_DEVICES,
        text=r"No devices (?:were )?found\.?$",
        alone=True,
        hint="the driver runs and has no GPU: where one is installed, look for RmInitAdapter in the kernel log",
    ),
    FailureRule(
        name="not_xml",
        failure=SmiFailure.NOT_XML,
        exit_codes=frozenset({0}),
        hint="the tool ended well and printed something else: see whether a wrapper stands in its place",
    ),
    FailureRule(
        name="bad_argument",
        failure=SmiFailure.OTHER,
        text=r"Field .* is not a valid field to query|ERROR: Option|Invalid combination of input arguments",
        exit_codes=frozenset({2}),
        reason=Missing.NOT_SUPPORTED,
        hint="this nvidia-smi does not know an option or a field: it may be of another driver branch",
    ),
    FailureRule(
        name="not_offered",
        failure=SmiFailure.OTHER,
        exit_codes=frozenset({3}),
        reason=Missing.NOT_SUPPORTED,
        hint="the GPU or the platform does not offer this",
    ),
    FailureRule(
        name="nothing_found",
        failure=SmiFailure.OTHER,
        exit_codes=frozenset({6}),
        reason=Missing.NOT_SUPPORTED,
        hint="what was asked for was not found",
    ),
    FailureRule(
        name="no_power",
        failure=SmiFailure.OTHER,
        exit_codes=frozenset({8}),
        hint="attach the external power cables of the GPU",
    ),
    FailureRule(
        name="interrupt_problem",
        failure=SmiFailure.OTHER,
        exit_codes=frozenset({10}),
        hint="the kernel has trouble with a GPU's interrupts: read the kernel log",
    ),
    FailureRule(
        name="old_library",
        failure=SmiFailure.OTHER,
        exit_codes=frozenset({13}),
        reason=Missing.NOT_SUPPORTED,
        hint="the driver's library lacks a function that this nvidia-smi needs: install both from one release",
    ),
    FailureRule(
        name="inforom_corrupted",
        failure=SmiFailure.INFOROM_CORRUPTED,
        text=r"(?:WARNING: )?infoROM is corrupted",
        exit_codes=frozenset({14}),
        hint="the infoROM of a GPU is corrupted: have it serviced",
    ),
    FailureRule(
        name="reset_required",
        failure=SmiFailure.NEEDS_RESET,
        text=_fails_with("GPU requires reset"),
        exit_codes=frozenset({16}),
        reason=Missing.NEEDS_RESET,
        hint="a GPU needs a reset: end its processes, then reset it or reboot",
    ),
    FailureRule(
        name="in_use",
        failure=SmiFailure.OTHER,
        text=_fails_with("In use by another client"),
        exit_codes=frozenset({19}),
        hint="a GPU is in use: end its processes first",
    ),
    FailureRule(
        name="cannot_start",
        failure=SmiFailure.OTHER,
        exit_codes=frozenset({126}),
        hint="nvidia-smi is there and does not start: see whether it is the driver's own file for this machine",
    ),
)
"""Every failure that is told by what the tool printed or by its exit code; the first row that fits counts."""

TIMED_OUT: Final = FailureRule(
    name="timed_out",
    failure=SmiFailure.TIMED_OUT,
    hint="a wedged GPU or driver can hang nvidia-smi for ever: look for Xids and hung tasks in the kernel log",
)
TOO_LONG: Final = FailureRule(
    name="too_long",
    failure=SmiFailure.OTHER,
    hint="it printed more than gpuinv reads: see whether something else stands in nvidia-smi's place",
)
OTHER: Final = FailureRule(
    name="other", failure=SmiFailure.OTHER, hint="run the command by hand and read the kernel log"
)
NOT_RUN: Final = frozenset({SmiFailure.NO_TOOL})
"""The failures without a row: nothing ran, `NoDriverError` says so."""

_CODES_WITH_TEXT: Final = frozenset[int]().union(*(rule.exit_codes for rule in FAILURES if rule.text))


def smi_failure(
    argv: tuple[str, ...],
    *,
    exit_code: int | None,
    stdout: bytes = b"",
    stderr: bytes = b"",
    timed_out: bool = False,
) -> SmiError:
    """Say what a run that gave no usable answer means, as the error to raise.

    `exit_code` is None for a run that was cut short: by its time, or else by its length. An exit code of 0 means that
    the caller could not use what was printed: `NOT_XML`, unless a known text says more. The error keeps all of it.
    """
    lines = _lines(stdout, stderr)
    rule = _rule(lines, exit_code, timed_out=timed_out)
    return SmiError(
        argv,
        rule.failure,
        exit_code=exit_code,
        hint=rule.hint.format(gpus=_gpus(lines)),
        output=_output(stdout, stderr),
    )


def failure_rule(
    exit_code: int | None, *, stdout: bytes = b"", stderr: bytes = b"", timed_out: bool = False
) -> FailureRule:
    """Return the row that fits how a run ended and what it printed."""
    return _rule(_lines(stdout, stderr), exit_code, timed_out=timed_out)


def _output(stdout: bytes, stderr: bytes) -> str:
    between = b"\n" if stdout and stderr and not stdout.endswith(b"\n") else b""
    return (stdout + between + stderr).decode("utf-8", "replace")


def _rule(lines: list[str], exit_code: int | None, *, timed_out: bool) -> FailureRule:
    if timed_out:
        return TIMED_OUT
    if exit_code is None:
        return TOO_LONG
    for rule in FAILURES:
        if rule.is_printed(lines) and not (rule.alone and exit_code in _CODES_WITH_TEXT):
            return rule
    return next((rule for rule in FAILURES if exit_code in rule.exit_codes), OTHER)


def _lines(*streams: bytes) -> list[str]:
    """The lines with anything in them, without colours, from both ends of each stream."""
    text = "\n".join(_ends(stream).decode("utf-8", "replace") for stream in streams)
    stripped = (line.strip() for line in _ANSI.sub("", text).splitlines())
    return [line for line in stripped if line]


def _ends(stream: bytes) -> bytes:
    if len(stream) <= 2 * _SEARCHED:
        return stream
    return stream[:_SEARCHED] + b"\n" + stream[-_SEARCHED:]


def _gpus(lines: list[str]) -> str:
    """`GPU 00000000:05:00.0`, for as many as are shown; `a GPU` where none is named."""
    failures = filter(None, map(DeviceFailure.parse, lines))
    named = list(dict.fromkeys(filter(None, map(_gpu, failures))))
    more = ["others"] if len(named) > _SHOWN_GPUS else []
    return ", ".join(named[:_SHOWN_GPUS] + more) or "a GPU"


def _gpu(failure: DeviceFailure) -> str:
    if failure.pci_bus_id is not None:
        return f"GPU {failure.pci_bus_id}"
    return "" if failure.smi_index is None else f"GPU {failure.smi_index}"
