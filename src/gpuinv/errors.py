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


def shorten(text: str, limit: int = _SHOWN) -> str:
    """Foreign text made safe for one line: control characters escaped, blanks folded, at most `limit` characters."""
    head = text[: 4 * limit]
    line = " ".join(head.split())
    line = "".join(c if c.isprintable() else ascii(c)[1:-1] for c in line)
    cut = len(line) > limit or len(text) > len(head)
    return line[: limit - 1] + "…" if cut else line


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
        where = f"{self.source}: {self.place}" if self.place else self.source
        shown = f": {self.text!r}" if self.text else ""
        return f"{where}: {self.message}{shown}"


class InvalidSection(GpuInvError, ValueError):  # noqa: N818 - the documented name of the refusal
    """A section that does not verify: too large, another hash, or bytes that do not decode."""

    code = "INVALID_INPUT"

    def __init__(self, section_name: str, message: str) -> None:
        self.section_name = section_name
        self.message = message
        super().__init__(section_name, message)

    def __str__(self) -> str:
        return f"section {shorten(self.section_name)!r}: {self.message}"


class UsageError(GpuInvError, ValueError):
    """The caller's own mistake: a wrong argument, or an extra that is not installed."""


class SmiFailure(enum.Enum):
    """Why nvidia-smi gave no snapshot."""

    NO_TOOL = "no_nvidia_smi"
    DRIVER_NOT_RUNNING = "driver_not_running"
    VERSION_MISMATCH = "version_mismatch"
    NO_PERMISSION = "no_permission"
    NO_DEVICES = "no_devices"
    GPU_LOST = "gpu_lost"
    TIMED_OUT = "timed_out"
    NOT_XML = "not_xml"
    OTHER = "other"


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
        hint = f"; {self.hint}" if self.hint else ""
        return f"{' '.join(self.argv)}: {self.failure.value.replace('_', ' ')}{status}{said}{hint}"


class NoDriverError(SmiError):
    """The host has no nvidia-smi, so no NVIDIA driver that gpuinv could ask."""

    def __init__(self, argv: tuple[str, ...] = ("nvidia-smi",)) -> None:
        super().__init__(argv, SmiFailure.NO_TOOL, hint="install the NVIDIA driver, or put nvidia-smi on the PATH")

    def __str__(self) -> str:
        return f"nvidia-smi not found: {self.hint}"


class IssueKind(enum.Enum):
    """What an `Issue` is about; stable names, for code that reacts to them."""

    TEXT_AROUND = "text_around"
    """Text before or after the document, or a line among the rows that is no row."""
    MORE_DOCUMENTS = "more_documents"
    REPAIRED = "repaired"
    """The document was not well formed in a part that gpuinv does not need."""
    BAD_CHARACTERS = "bad_characters"
    COUNT_MISMATCH = "count_mismatch"
    """Another number of GPUs than the tool says are attached."""
    BAD_VALUE = "bad_value"
    """A value that does not have the form of its field."""
    READ_ERROR = "read_error"
    """The driver could not read a value, or the host could not read a file."""
    NO_PERMISSION = "no_permission"
    NEEDS_RESET = "needs_reset"
    GPU_LOST = "gpu_lost"
    NO_UUID = "no_uuid"
    DUPLICATE_UUID = "duplicate_uuid"
    LAYERS_DISAGREE = "layers_disagree"
    QUERY_FAILED = "query_failed"
    NO_DRIVER = "no_driver"


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
        where = f"{self.source}: {self.place}" if self.place else self.source
        about = self.uuid or self.pci_bus_id
        subject = f" [{about}]" if about else ""
        shown = f": {self.text!r}" if self.text else ""
        return f"{where}{subject}: {self.message}{shown}"
