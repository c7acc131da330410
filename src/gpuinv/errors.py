"""What can go wrong, and whose fault it is.

Every exception of gpuinv derives from `GpuInvError`. The type says who has to act: `ParseError` and `InvalidSection`
are about bytes that somebody else produced, `SmiError` is about a tool that did not answer, `UsageError` is the
caller's own. What does not stop the reading becomes an `Issue` beside the result instead of an exception.
"""

from __future__ import annotations

import enum

import attrs

__all__ = [
    "GpuInvError",
    "InvalidSection",
    "Issue",
    "IssueKind",
    "NoDriverError",
    "ParseError",
    "SmiError",
    "SmiFailure",
    "UsageError",
    "shorten",
]

_SHOWN = 80
"""How many characters of foreign text an error or an issue repeats."""

_SAID = 400
"""How many characters any one part of an error's line may take; ours stay far below, a path of a host may not."""


def shorten(text: str, limit: int = _SHOWN) -> str:
    """Foreign text made safe for one line: control characters escaped, blanks folded, at most `limit` characters."""
    head = text[: 4 * limit]
    line = " ".join(head.split())
    line = "".join(c if c.isprintable() else ascii(c)[1:-1] for c in line)
    cut = len(line) > limit or len(text) > len(head)
    return line[: limit - 1] + "…" if cut else line


def _where(source: str, place: str) -> str:
    return shorten(f"{source}: {place}" if place else source, _SAID)


class GpuInvError(Exception):
    """The root of every exception that gpuinv raises on purpose."""


class ParseError(GpuInvError, ValueError):
    """Text or bytes that cannot be read as what they are said to be.

    `source` names what was being read (`nvidia-smi -q -x`), `place` where (`line 7, column 12`, or an element path),
    `text` the text at fault, shortened. `str()` gives all of it on one line.
    """

    def __init__(self, source: str, message: str, *, place: str = "", text: str = "") -> None:
        self.source = source
        self.message = message
        self.place = place
        self.text = shorten(text)
        super().__init__(source, message)

    def __str__(self) -> str:
        shown = f": {self.text!r}" if self.text else ""
        return f"{_where(self.source, self.place)}: {shorten(self.message, _SAID)}{shown}"


class InvalidSection(GpuInvError, ValueError):  # noqa: N818 - the documented name of the refusal
    """A section that does not verify: too large, another hash, or bytes that do not decode."""

    code = "INVALID_INPUT"

    def __init__(self, section_name: str, message: str) -> None:
        self.section_name = section_name
        self.message = message
        super().__init__(section_name, message)

    def __str__(self) -> str:
        return f"section {shorten(self.section_name)!r}: {shorten(self.message, _SAID)}"


class UsageError(GpuInvError, ValueError):
    """The caller's own mistake: a wrong argument, or an extra that is not installed."""

    def __str__(self) -> str:
        return shorten(super().__str__(), _SAID)


class SmiFailure(enum.Enum):
    """Why nvidia-smi gave no snapshot."""

    NO_TOOL = "no_nvidia_smi"
    """There is no nvidia-smi; the error is a `NoDriverError`."""
    DRIVER_NOT_RUNNING = "driver_not_running"
    """The tool does not reach the kernel module."""
    VERSION_MISMATCH = "version_mismatch"
    """The loaded kernel module and the driver's library are of different releases."""
    NO_PERMISSION = "no_permission"
    """The tool may not use the GPUs."""
    NO_DEVICES = "no_devices"
    """The driver works and has no GPU."""
    GPU_LOST = "gpu_lost"
    """A GPU that does not answer kept the tool from answering."""
    BLOCKED = "blocked_by_the_system"
    """The operating system blocks the GPU: a container's or a service's devices, or WSL."""
    NO_LIBRARY = "library_missing"
    """The driver's library was not found."""
    INFOROM_CORRUPTED = "inforom_corrupted"
    """The infoROM of a GPU is corrupted."""
    NEEDS_RESET = "needs_reset"
    """A GPU answers only after a reset."""
    TIMED_OUT = "timed_out"
    """The tool was killed at the end of its time."""
    NOT_XML = "not_xml"
    """The tool ended well and printed something else than was asked for."""
    OTHER = "other"
    """Anything else; the hint goes by the exit code."""


class SmiError(GpuInvError):
    """nvidia-smi ran and failed, or never ended.

    `argv` is what was run, `exit_code` its status (None when it was killed), `failure` the meaning, `hint` what a
    person can do about it, `output` what it had printed (standard output, then standard error, shortened in `str()`).
    """

    def __init__(
        self,
        argv: tuple[str, ...],
        failure: SmiFailure,
        *,
        exit_code: int | None = None,
        hint: str = "",
        output: str = "",
    ) -> None:
        self.argv = argv
        self.failure = failure
        self.exit_code = exit_code
        self.hint = hint
        self.output = output
        super().__init__(argv, failure)

    def __str__(self) -> str:
        status = "" if self.exit_code is None else f" (exit {self.exit_code})"
        said = f": {shorten(self.output)!r}" if self.output.strip() else ""
        hint = f"; {shorten(self.hint, _SAID)}" if self.hint else ""
        return f"{shorten(' '.join(self.argv), _SAID)}: {self.failure.value.replace('_', ' ')}{status}{said}{hint}"


class NoDriverError(SmiError):
    """The host has no nvidia-smi, so no NVIDIA driver that gpuinv could ask."""

    def __init__(self, argv: tuple[str, ...] = ("nvidia-smi",)) -> None:
        super().__init__(argv, SmiFailure.NO_TOOL, hint="install the NVIDIA driver, or put nvidia-smi on the PATH")
        self.args = (argv,)  # what a copy is made from

    def __str__(self) -> str:
        return f"nvidia-smi not found: {self.hint}"


class IssueKind(enum.Enum):
    """What an `Issue` is about; stable names, for code that reacts to them."""

    TEXT_AROUND = "text_around"
    """Text before or after the document, or a line among the rows that is no row."""
    MORE_DOCUMENTS = "more_documents"
    """The output stands there more than once; the first one was read."""
    REPAIRED = "repaired"
    """The document was not well formed in a place where drivers are known to print it so, and was mended there."""
    BAD_CHARACTERS = "bad_characters"
    """Bytes that are no valid text were replaced, or control characters dropped."""
    COUNT_MISMATCH = "count_mismatch"
    """Another number of GPUs than the tool says are attached."""
    BAD_VALUE = "bad_value"
    """A value that does not have the form of its field."""
    READ_ERROR = "read_error"
    """The driver could not read a value, or the host could not read a file."""
    NO_PERMISSION = "no_permission"
    """A value or a file needs more permissions than the reader has."""
    NEEDS_RESET = "needs_reset"
    """The GPU answers only after a reset."""
    GPU_LOST = "gpu_lost"
    """The GPU is lost."""
    NO_UUID = "no_uuid"
    """A GPU or a MIG device without a usable UUID."""
    DUPLICATE_UUID = "duplicate_uuid"
    """A UUID that another GPU of the same output has."""
    LAYERS_DISAGREE = "layers_disagree"
    """Two sources contradict each other."""
    QUERY_FAILED = "query_failed"
    """An optional query gave no answer; its fields are missing."""
    NO_DRIVER = "no_driver"
    """The host has no nvidia-smi."""


@attrs.frozen(kw_only=True)
class Issue:
    """Something that went wrong beside a result that is still good."""

    kind: IssueKind
    source: str
    """What was being read: `nvidia-smi -q -x`, `/proc/driver/nvidia/version`."""
    message: str
    """One sentence for a person."""
    place: str = ""
    """Where in the source: an element path, a line, a file."""
    text: str = attrs.field(default="", converter=shorten)
    """The text at fault, shortened."""
    uuid: str | None = None
    """The GPU concerned, where that is known."""
    pci_bus_id: str | None = None
    """Its address in the canonical form, where that is known."""

    def __str__(self) -> str:
        about = self.uuid or self.pci_bus_id
        subject = f" [{shorten(about)}]" if about else ""
        shown = f": {self.text!r}" if self.text else ""
        return f"{_where(self.source, self.place)}{subject}: {shorten(self.message, _SAID)}{shown}"
