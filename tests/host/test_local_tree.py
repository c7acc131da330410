from __future__ import annotations

import errno
import os
import socket
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from gpuinv.host import LocalTree, _tree

if TYPE_CHECKING:
    from collections.abc import Callable

SECRET = b"outside the root"
EVERY_METHOD: list[Callable[[LocalTree, str], object]] = [
    LocalTree.read,
    LocalTree.list,
    LocalTree.link,
    LocalTree.exists,
]


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A root with a secret beside it."""
    (tmp_path / "secret").write_bytes(SECRET)
    directory = tmp_path / "root"
    directory.mkdir()
    return directory


def place(root: Path, name: str, content: bytes = b"x") -> Path:
    path = root / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    return path


def raised(number: int, call: Callable[[], object], path: str) -> None:
    with pytest.raises(OSError, check=lambda error: error.errno == number) as caught:
        call()
    assert caught.value.filename == path


def test_a_file_is_read_by_its_path_on_the_described_host(root: Path) -> None:
    place(root, "proc/driver/nvidia/version", b"NVRM version: x\n")
    (root / "proc/driver/x").mkdir()
    tree = LocalTree(root)
    assert tree.read("/proc/driver/nvidia/version") == b"NVRM version: x\n"
    assert tree.read("//proc/./driver//nvidia/version") == b"NVRM version: x\n"
    assert tree.read("/../proc/driver/x/../nvidia/version") == b"NVRM version: x\n"


def test_files_without_a_size_are_read_to_their_end() -> None:
    assert LocalTree().read("/proc/self/status").startswith(b"Name:")


def test_a_root_given_relatively_does_not_move_with_the_working_directory(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place(root, "file")
    monkeypatch.chdir(root.parent)
    tree = LocalTree("root")
    monkeypatch.chdir("/")
    assert tree.read("/file") == b"x"


def test_a_root_that_is_not_there_has_nothing(root: Path) -> None:
    tree = LocalTree(root / "none")
    assert not tree.exists("/proc")
    raised(errno.ENOENT, lambda: tree.read("/proc/version"), "/proc/version")


def test_a_missing_file_is_named_as_on_the_described_host(root: Path) -> None:
    raised(errno.ENOENT, lambda: LocalTree(root).read("/proc/version"), "/proc/version")
    place(root, "file")
    raised(errno.ENOTDIR, lambda: LocalTree(root).read("/file/below"), "/file/below")


def test_the_largest_file_is_read_and_one_byte_more_refused(root: Path) -> None:
    place(root, "file", b"12345")
    tree = LocalTree(root)
    assert tree.read("/file", limit=5) == b"12345"
    raised(errno.EFBIG, lambda: tree.read("/file", limit=4), "/file")
    place(root, "empty", b"")
    assert tree.read("/empty", limit=0) == b""


def test_a_huge_file_is_refused_without_being_read(root: Path) -> None:
    with place(root, "huge").open("wb") as file:
        file.truncate(1 << 40)
    raised(errno.EFBIG, lambda: LocalTree(root).read("/huge"), "/huge")


def test_only_regular_files_are_read(root: Path) -> None:
    (root / "directory").mkdir()
    os.mkfifo(root / "pipe")
    (root / "link-to-pipe").symlink_to("pipe")
    tree = LocalTree(root)
    raised(errno.EISDIR, lambda: tree.read("/directory"), "/directory")
    raised(errno.EISDIR, lambda: tree.read("/"), "/")
    raised(errno.EOPNOTSUPP, lambda: tree.read("/pipe"), "/pipe")
    raised(errno.EOPNOTSUPP, lambda: tree.read("/link-to-pipe"), "/link-to-pipe")
    assert tree.exists("/pipe")


def test_a_socket_is_not_read(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(root)
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind("socket")
        raised(errno.EOPNOTSUPP, lambda: LocalTree(root).read("/socket"), "/socket")


def test_a_device_is_not_read() -> None:
    raised(errno.EOPNOTSUPP, lambda: LocalTree().read("/dev/zero"), "/dev/zero")


def test_a_device_node_in_a_root_is_not_read(root: Path) -> None:
    try:
        os.mknod(root / "zero", 0o600 | 0o020000, os.makedev(1, 5))
    except PermissionError:
        pytest.skip("device nodes cannot be made here")
    raised(errno.EOPNOTSUPP, lambda: LocalTree(root).read("/zero"), "/zero")


def test_a_file_exchanged_for_a_pipe_after_the_look_is_refused(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    os.mkfifo(root / "pipe")
    regular = place(root, "file").stat().st_mode
    monkeypatch.setattr(_tree.Place, "mode", lambda _: regular)
    raised(errno.EOPNOTSUPP, lambda: LocalTree(root).read("/pipe"), "/pipe")


def test_a_file_exchanged_for_a_link_after_the_look_is_refused(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (root / "file").symlink_to("../secret")
    monkeypatch.setattr(_tree._Walk, "is_link", lambda *_: False)  # noqa: SLF001
    regular = (root.parent / "secret").stat().st_mode
    monkeypatch.setattr(_tree.Place, "mode", lambda _: regular)
    raised(errno.ELOOP, lambda: LocalTree(root).read("/file"), "/file")


def test_a_directory_exchanged_for_a_link_after_the_look_is_refused(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (root / "up").symlink_to("..")
    monkeypatch.setattr(_tree._Walk, "is_link", lambda *_: False)  # noqa: SLF001
    raised(errno.ENOTDIR, lambda: LocalTree(root).read("/up/secret"), "/up/secret")


def test_links_stay_inside_the_root(root: Path) -> None:
    place(root, "secret", b"inside")
    (root / "a/b").mkdir(parents=True)
    (root / "absolute").symlink_to("/secret")
    (root / "a/b/relative").symlink_to("../../secret")
    (root / "too-far").symlink_to("../../../../secret")
    (root / "outside").symlink_to(root.parent / "secret")
    (root / "directory").symlink_to("/a/b/")
    tree = LocalTree(root)
    for path in ("/absolute", "/a/b/relative", "/too-far", "/directory/relative", "/directory/../../absolute"):
        assert tree.read(path) == b"inside"
    raised(errno.ENOENT, lambda: tree.read("/outside"), "/outside")


def test_parents_of_the_root_are_the_root(root: Path) -> None:
    place(root, "secret", b"inside")
    tree = LocalTree(root)
    assert tree.read("/../../secret") == b"inside"
    assert tree.list("/..") == ("secret",)


def test_dots_after_a_link_go_up_from_its_target(root: Path) -> None:
    place(root, "devices/pci0/class", b"0x030000\n")
    (root / "devices/pci0/0000:01:00.0").mkdir()
    (root / "bus").mkdir()
    (root / "bus/0000:01:00.0").symlink_to("../devices/pci0/0000:01:00.0")
    assert LocalTree(root).read("/bus/0000:01:00.0/../class") == b"0x030000\n"


def test_the_link_itself_can_be_asked_for(root: Path) -> None:
    (root / "device").mkdir()
    (root / "device/driver").symlink_to("../../bus/pci/drivers/vfio-pci")
    (root / "short").symlink_to("device")
    tree = LocalTree(root)
    assert tree.link("/device/driver") == "../../bus/pci/drivers/vfio-pci"
    assert tree.link("/short/driver") == "../../bus/pci/drivers/vfio-pci"
    assert not tree.exists("/device/driver")
    raised(errno.EINVAL, lambda: tree.link("/device"), "/device")
    raised(errno.EINVAL, lambda: tree.link("/"), "/")
    raised(errno.EINVAL, lambda: tree.link("/short/.."), "/short/..")
    raised(errno.ENOENT, lambda: tree.link("/none"), "/none")


def test_loops_of_links_end(root: Path) -> None:
    (root / "one").symlink_to("two")
    (root / "two").symlink_to("/one")
    (root / "self").symlink_to("self/below")
    (root / "here").symlink_to(".")
    place(root, "file")
    tree = LocalTree(root)
    raised(errno.ELOOP, lambda: tree.read("/one"), "/one")
    raised(errno.ELOOP, lambda: tree.exists("/self"), "/self")
    assert tree.link("/one") == "two"
    assert tree.read("/here" * 40 + "/file") == b"x"
    raised(errno.ELOOP, lambda: tree.read("/here" * 41 + "/file"), "/here" * 41 + "/file")


def test_a_directory_is_listed_in_order_with_whatever_names_it_has(root: Path) -> None:
    for name in (b"b", b"a", b"new\nline", b"\xff"):
        Path(os.fsdecode(os.fsencode(root) + b"/" + name)).write_bytes(name)
    tree = LocalTree(root)
    assert tree.list("/") == ("a", "b", "new\nline", "\udcff")
    assert [tree.read(f"/{name}") for name in tree.list("/")] == [b"a", b"b", b"new\nline", b"\xff"]
    raised(errno.ENOTDIR, lambda: tree.list("/a"), "/a")
    raised(errno.ENOENT, lambda: tree.list("/none"), "/none")


def test_a_directory_of_too_many_names_is_refused(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_tree, "MAX_ENTRIES", 3)
    for name in "abc":
        place(root, name)
    tree = LocalTree(root)
    assert tree.list("/") == ("a", "b", "c")
    place(root, "d")
    raised(errno.EFBIG, lambda: tree.list("/"), "/")


def test_a_file_that_vanishes_after_the_listing_is_missing(root: Path) -> None:
    gone = place(root, "gpus/0000:01:00.0/information")
    tree = LocalTree(root)
    (name,) = tree.list("/gpus")
    gone.unlink()
    gone.parent.rmdir()
    path = f"/gpus/{name}/information"
    raised(errno.ENOENT, lambda: tree.read(path), path)


@pytest.mark.parametrize("method", EVERY_METHOD)
@pytest.mark.parametrize(
    ("path", "number"),
    [
        ("", errno.EINVAL),
        ("proc/version", errno.EINVAL),
        ("/proc\0/version", errno.EINVAL),
        ("/\ud800", errno.EILSEQ),
        ("/" + "a/" * 2048, errno.ENAMETOOLONG),
        ("/" + "a" * 256, errno.ENAMETOOLONG),
    ],
    ids=["empty", "relative", "NUL", "surrogate", "long path", "long name"],
)
def test_paths_that_no_host_has(root: Path, method: Callable[[LocalTree, str], object], path: str, number: int) -> None:
    raised(number, lambda: method(LocalTree(root), path), path)


def test_a_path_that_is_too_deep_is_refused(root: Path) -> None:
    deep = root.joinpath(*["d"] * 130)
    deep.mkdir(parents=True)
    tree = LocalTree(root)
    assert tree.exists("/d" * 129)
    raised(errno.ENAMETOOLONG, lambda: tree.exists("/d" * 130), "/d" * 130)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_what_this_user_may_not_read(root: Path) -> None:
    place(root, "file").chmod(0)
    place(root, "closed/file").parent.chmod(0)
    place(root, "passable/file").parent.chmod(0o111)
    tree = LocalTree(root)
    raised(errno.EACCES, lambda: tree.read("/file"), "/file")
    assert tree.exists("/file")
    raised(errno.EACCES, lambda: tree.exists("/closed/file"), "/closed/file")
    assert tree.read("/passable/file") == b"x"
    raised(errno.EACCES, lambda: tree.list("/passable"), "/passable")
    (root / "closed").chmod(0o700)


def test_no_file_descriptor_is_left_open(root: Path) -> None:
    place(root, "a/b/file")
    (root / "loop").symlink_to("loop")
    tree = LocalTree(root)
    before = {entry.name for entry in Path("/proc/self/fd").iterdir()}
    for path in ("/a/b/file", "/a/b/../b/none", "/loop", "/a/b/file/x", "/a/../.."):
        for method in EVERY_METHOD:
            try:
                method(tree, path)
            except OSError:
                continue
    assert {entry.name for entry in Path("/proc/self/fd").iterdir()} == before
