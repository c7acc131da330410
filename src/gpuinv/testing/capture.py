"""The capture format: one host's answers in a directory, described in docs/capture-format.md.

capture.json    which commands were run, and what came of each
smi/            what they printed
root/           the host's files, at their own paths
"""

from __future__ import annotations

import errno
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Final

import attrs

from gpuinv.errors import ParseError, UsageError
from gpuinv.host.local import LocalTree
from gpuinv.smi.queries import MAX_OUTPUT_BYTES, TOOL
from gpuinv.testing._json import Node

if TYPE_CHECKING:
    import os
    from collections.abc import Sequence

__all__ = ["CAPTURE_FILE", "FORMAT", "Capture", "CapturedCommand"]

CAPTURE_FILE: Final = "capture.json"
FORMAT: Final = 1
"""The number of the format that is read here; another one is refused."""
_ROOT: Final = "root"
_COMMAND_KEYS: Final = frozenset({"argv", "stdout", "stderr", "exit_code", "seconds", "hangs"})


@attrs.frozen(kw_only=True)
class CapturedCommand:
    """One command that was run on the host."""

    argv: tuple[str, ...]
    """The whole command line, `("nvidia-smi", "-q", "-x")`."""
    stdout: bytes = attrs.field(default=b"", repr=False)
    stderr: bytes = attrs.field(default=b"", repr=False)
    exit_code: int | None = 0
    """Its exit status; None where it never ended."""
    seconds: float = 0.0
    """How long it took."""

    @property
    def hangs(self) -> bool:
        """Whether it never ended; what it had printed by then is in `stdout` and `stderr`."""
        return self.exit_code is None


@attrs.frozen(kw_only=True)
class Capture:
    """One host as it was captured: commands with their output, a tree of files, and what could not be read."""

    root: str
    """The directory that holds the host's files at their own paths; it need not exist."""
    description: str = ""
    commands: tuple[CapturedCommand, ...] = ()
    errors: Mapping[str, int] = attrs.field(factory=dict)
    """Absolute paths of the host that raise an error, each with its `errno` number."""

    @classmethod
    def load(cls, directory: str | os.PathLike[str]) -> Capture:
        """Read a capture with all outputs of its commands; its tree stays on disk.

        Raises:
            UsageError: the directory has no readable capture.json.
            ParseError: capture.json breaks the format, or names an output that is not in the directory. `place` is the
                JSON path, `commands[3].stdout`. So does a `root` that is a link: it could lead anywhere.
        """
        place = Path(directory).absolute()
        files = LocalTree(place)
        document = Node.parse(CAPTURE_FILE, _document(files, place))
        if (number := document["format"].integer()) != FORMAT:
            document["format"].refuse(f"format {number} is unknown; this gpuinv reads format {FORMAT}")
        if (place / _ROOT).is_symlink():
            raise ParseError(
                CAPTURE_FILE, "the tree of a capture lies inside its directory; a link is none", place=_ROOT
            )
        return cls(
            root=str(place / _ROOT),
            description=document.get("description", "").text(),
            commands=_commands(document.get("commands", []), files),
            errors=dict(_error(path, node) for path, node in document.get("errors", {}).items()),
        )

    def find(self, argv: Sequence[str]) -> CapturedCommand | None:
        """Return the command with exactly this command line."""
        wanted = tuple(argv)
        return next((command for command in self.commands if command.argv == wanted), None)

    @property
    def has_smi(self) -> bool:
        """Whether the host had an nvidia-smi to ask."""
        return any(command.argv[0] == TOOL for command in self.commands)


def _document(files: LocalTree, place: Path) -> bytes:
    try:
        return files.read(f"/{CAPTURE_FILE}")
    except OSError as error:
        raise UsageError(f"{place}: not a capture: {CAPTURE_FILE}: {error.strerror}") from error


def _commands(node: Node, files: LocalTree) -> tuple[CapturedCommand, ...]:
    commands: dict[tuple[str, ...], CapturedCommand] = {}
    for each in node.elements():
        command = _command(each, files)
        if command.argv in commands:
            each["argv"].refuse("this command line stands here twice", " ".join(command.argv))
        commands[command.argv] = command
    return tuple(commands.values())


def _command(node: Node, files: LocalTree) -> CapturedCommand:
    node.only(_COMMAND_KEYS)
    hangs = node.get("hangs", default=False).boolean()
    if hangs and (extra := {"exit_code", "seconds"}.intersection(node.keys())):
        node[min(extra)].refuse("a command that hangs has none")
    return CapturedCommand(
        argv=_argv(node["argv"]),
        stdout=_output(node.get("stdout", None), files),
        stderr=_output(node.get("stderr", None), files),
        exit_code=None if hangs else node["exit_code"].integer(),
        seconds=node.get("seconds", 0.0).number(),
    )


def _argv(node: Node) -> tuple[str, ...]:
    argv = tuple(each.text() for each in node.elements())
    if not argv:
        node.refuse("a command line has at least a program")
    return argv


def _output(node: Node, files: LocalTree) -> bytes:
    """Read what a command printed; no file, nothing printed."""
    if node.value is None:
        return b""
    name = node.text()
    if name.startswith("/") or ".." in name.split("/"):
        node.refuse("an output lies inside the capture's directory", name)
    try:
        return files.read(f"/{name}", limit=MAX_OUTPUT_BYTES)
    except OSError as error:
        raise ParseError(CAPTURE_FILE, error.strerror or "unreadable", place=node.place, text=name) from error


def _error(path: str, node: Node) -> tuple[str, int]:
    parts = path.split("/")[1:]
    if not path.startswith("/") or {"", ".", ".."}.intersection(parts) or "\0" in path:
        node.refuse("an absolute path without `.`, `..` and empty parts is needed", path)
    number = getattr(errno, name, None) if (name := node.text()).startswith("E") else None
    if not isinstance(number, int):
        node.refuse("not the name of an errno", name)
    return path, number
