"""Files below a root, which no path and no symbolic link leads out of."""

from __future__ import annotations

import contextlib
import errno
import os
import stat
from collections.abc import Callable
from typing import TYPE_CHECKING, Final

import attrs

from gpuinv.host.ports import MAX_ENTRIES, MAX_FILE_BYTES

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["LocalTree", "Place"]

_MAX_LINKS: Final = 40
_MAX_DEPTH: Final = 128
"""Directories below the root; each takes a file descriptor while a path is resolved."""
_MAX_PATH_BYTES: Final = 4096
_CHUNK: Final = 1024 * 1024
_SAFE: Final = os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK | os.O_NOCTTY
_STEP: Final = getattr(os, "O_PATH", os.O_RDONLY) | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
"""To pass through a directory, which needs no right to list it."""


def _absolute(path: str | os.PathLike[str]) -> str:
    return os.path.abspath(path)  # noqa: PTH100 - a Path would keep its `..`


@attrs.frozen
class LocalTree:
    """The files below `root` (a directory of this machine), as a `gpuinv.host.ports.FileTree`.

    Paths are the described host's: `/proc/version` is `<root>/proc/version`. Each component is opened on its own and no
    link is left to the kernel: an absolute target starts again at the root, `..` stops there, and the 41st link is
    `ELOOP`. Only regular files are read, and opened so that nothing waits: a pipe, a socket or a device is
    `EOPNOTSUPP`, a directory `EISDIR`.
    """

    root: str = attrs.field(default="/", converter=_absolute)

    def read(self, path: str, *, limit: int = MAX_FILE_BYTES) -> bytes:
        """Return the content of a regular file of at most `limit` bytes.

        Raises:
            OSError: `EFBIG` where it is larger, `EOPNOTSUPP` where it is no regular file; else what the kernel says.
        """
        with _named(path), self._at(path) as place:
            mode = place.mode()
            _require_regular(mode)
            with _opened(place.name, os.O_RDONLY | _SAFE, place.parent) as fd:
                _require_regular(os.fstat(fd).st_mode)
                return _read_all(fd, limit)

    def list(self, path: str) -> tuple[str, ...]:
        """Return the names in a directory, sorted.

        Raises:
            OSError: `EFBIG` for more than 65,536 names; else what the kernel says.
        """
        with (
            _named(path),
            self._at(path) as place,
            _opened(place.name, os.O_RDONLY | os.O_DIRECTORY | _SAFE, place.parent) as fd,
        ):
            return tuple(sorted(_names(fd)))

    def link(self, path: str) -> str:
        """Return the text of a symbolic link as it stands; the links before the last component are followed.

        Raises:
            OSError: `EINVAL` where the last component is no link; else what the kernel says.
        """
        with _named(path), self._at(path, follow_last=False) as place:
            return os.readlink(place.name, dir_fd=place.parent)

    def exists(self, path: str) -> bool:
        """Whether there is anything at the path; a link without a target is nothing.

        Raises:
            OSError: that cannot be told (`EACCES`, `ELOOP`).
        """
        try:
            with _named(path), self._at(path) as place:
                place.mode()
        except (FileNotFoundError, NotADirectoryError):
            return False
        return True

    def _at(self, path: str, *, follow_last: bool = True) -> contextlib.AbstractContextManager[Place]:
        return _Walk.to(self.root, _components(path), self._enter, follow_last=follow_last)

    def _enter(self, path: str) -> None:
        """Be told every absolute path that a resolution comes to; a subclass may raise `OSError`."""


@attrs.frozen
class Place:
    """The end of a resolution: a name that is no link, in an open directory (`.` for the root itself)."""

    parent: int
    name: str

    def mode(self) -> int:
        return os.stat(self.name, dir_fd=self.parent, follow_symlinks=False).st_mode


@attrs.define
class _Walk:
    """One resolution: the directories entered so far, open, and the components still to come, the next one last."""

    enter: Callable[[str], None]
    todo: list[str]
    fds: list[int] = attrs.field(factory=list)
    names: list[str] = attrs.field(factory=list)
    links: int = 0

    @classmethod
    @contextlib.contextmanager
    def to(
        cls, root: str, components: list[str], enter: Callable[[str], None], *, follow_last: bool
    ) -> Iterator[Place]:
        """Resolve; the place is good until the block ends."""
        walk = cls(enter, components[::-1])
        try:
            walk.fds.append(os.open(root, _STEP & ~os.O_NOFOLLOW))
            yield walk.resolve(follow_last=follow_last)
        finally:
            for fd in walk.fds:
                os.close(fd)

    def resolve(self, *, follow_last: bool) -> Place:
        while self.todo:
            name = self.todo.pop()
            if name == "..":
                self.up()
                continue
            self.enter("/" + "/".join((*self.names, name)))
            if self.is_link(name) and (self.todo or follow_last):
                self.follow(name)
            elif self.todo:
                self.down(name)
            else:
                return Place(self.fds[-1], name)
        return Place(self.fds[-1], ".")

    def is_link(self, name: str) -> bool:
        return stat.S_ISLNK(os.stat(name, dir_fd=self.fds[-1], follow_symlinks=False).st_mode)

    def up(self) -> None:
        if self.names:
            self.names.pop()
            os.close(self.fds.pop())

    def down(self, name: str) -> None:
        if len(self.names) >= _MAX_DEPTH:
            raise _error(errno.ENAMETOOLONG)
        self.fds.append(os.open(name, _STEP, dir_fd=self.fds[-1]))
        self.names.append(name)

    def follow(self, name: str) -> None:
        self.links += 1
        if self.links > _MAX_LINKS:
            raise _error(errno.ELOOP)
        target = os.readlink(name, dir_fd=self.fds[-1])
        if target.startswith("/"):
            while self.names:
                self.up()
        self.todo.extend(reversed(_split(target)))


def _components(path: str) -> list[str]:
    """Split an absolute path; what no file system can hold is refused before the kernel sees it."""
    if not path.startswith("/") or "\0" in path:
        raise _error(errno.EINVAL)
    try:
        encoded = os.fsencode(path)
    except UnicodeEncodeError:
        raise _error(errno.EILSEQ) from None
    if len(encoded) > _MAX_PATH_BYTES:
        raise _error(errno.ENAMETOOLONG)
    return _split(path)


def _split(path: str) -> list[str]:
    return [part for part in path.split("/") if part not in ("", ".")]


def _require_regular(mode: int) -> None:
    if stat.S_ISDIR(mode):
        raise _error(errno.EISDIR)
    if not stat.S_ISREG(mode):
        raise OSError(errno.EOPNOTSUPP, "not a regular file")


def _read_all(fd: int, limit: int) -> bytes:
    """Read to the end; a file of procfs does not tell its size before."""
    content = bytearray()
    while chunk := os.read(fd, min(_CHUNK, limit + 1 - len(content))):
        content += chunk
        if len(content) > limit:
            raise _error(errno.EFBIG)
    return bytes(content)


def _names(fd: int) -> Iterator[str]:
    with os.scandir(fd) as entries:
        for count, entry in enumerate(entries, 1):
            if count > MAX_ENTRIES:
                raise _error(errno.EFBIG)
            yield entry.name


def _error(number: int) -> OSError:
    return OSError(number, os.strerror(number))


@contextlib.contextmanager
def _opened(name: str, flags: int, parent: int) -> Iterator[int]:
    fd = os.open(name, flags, dir_fd=parent)
    try:
        yield fd
    finally:
        os.close(fd)


@contextlib.contextmanager
def _named(path: str) -> Iterator[None]:
    """Give every `OSError` the path that was asked for; the one on this machine is nobody's business."""
    try:
        yield
    except OSError as error:
        number = error.errno or errno.EIO
        raise OSError(number, error.strerror or os.strerror(number), path) from None
