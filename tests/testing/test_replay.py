from __future__ import annotations

import errno
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

import gpuinv.testing as room
from gpuinv.errors import NoDriverError
from gpuinv.host import CommandResult
from gpuinv.testing import Capture, CapturedCommand, ReplayHost, ReplaySmi, ReplayTree, replay

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from gpuinv.host.ports import Host

LIST = CapturedCommand(argv=("nvidia-smi", "-L"), stdout=b"GPU 0\n", stderr=b"trouble\n", exit_code=6, seconds=0.25)
HUNG = CapturedCommand(argv=("nvidia-smi", "-q", "-x"), stdout=b"<?xml", exit_code=None)


def test_a_captured_command_is_answered_as_it_was() -> None:
    smi = ReplaySmi(Capture(root="/nowhere", commands=(LIST,)))
    assert smi.run(["-L"], timeout=30.0) == CommandResult(
        argv=("nvidia-smi", "-L"), stdout=b"GPU 0\n", stderr=b"trouble\n", exit_code=6, seconds=0.25
    )


def test_a_command_that_hung_times_out_at_once() -> None:
    smi = ReplaySmi(Capture(root="/nowhere", commands=(HUNG,)))
    result = smi.run(["-q", "-x"], timeout=3600.0)
    assert (result.timed_out, result.exit_code, result.seconds, result.stdout) == (True, None, 3600.0, b"<?xml")


def test_a_command_that_was_not_captured_fails_as_an_unknown_option_does() -> None:
    smi = ReplaySmi(Capture(root="/nowhere", commands=(LIST,)))
    result = smi.run(["topo", "-m"], timeout=30.0)
    assert (result.exit_code, result.stdout) == (2, b"")
    assert result.error_text == "nvidia-smi topo -m: not in this capture\n"


@pytest.mark.parametrize("commands", [(), (CapturedCommand(argv=("lspci",)),)])
def test_a_capture_without_nvidia_smi_is_a_host_without_it(commands: tuple[CapturedCommand, ...]) -> None:
    smi = ReplaySmi(Capture(root="/nowhere", commands=commands))
    with pytest.raises(NoDriverError) as caught:
        smi.run(["-L"], timeout=30.0)
    assert caught.value.argv == ("nvidia-smi", "-L")


def raised(number: int, call: Callable[[], object], path: str) -> None:
    with pytest.raises(OSError, check=lambda error: error.errno == number) as caught:
        call()
    assert caught.value.filename == path


@pytest.fixture
def tree(tmp_path: Path) -> ReplayTree:
    device = tmp_path / "sys/devices/pci0/gpu"
    device.mkdir(parents=True)
    (device / "vendor").write_bytes(b"0x10de\n")
    (device / "config").write_bytes(b"")
    (tmp_path / "sys/bus").mkdir()
    (tmp_path / "sys/bus/gpu").symlink_to("../devices/pci0/gpu")
    return ReplayTree(
        str(tmp_path),
        {
            "/sys/devices/pci0/gpu/config": errno.EACCES,
            "/sys/class": errno.EIO,
            "/dev/kmsg": errno.EPERM,
            "/sys/gone": errno.ENOENT,
        },
    )


def test_files_without_an_error_are_read(tree: ReplayTree) -> None:
    assert tree.read("/sys/bus/gpu/vendor") == b"0x10de\n"
    assert tree.list("/sys/devices/pci0/gpu") == ("config", "vendor")
    assert tree.link("/sys/bus/gpu") == "../devices/pci0/gpu"
    assert tree.exists("/sys/devices")


def test_the_captured_error_is_raised_for_the_path_below_it_and_through_links(tree: ReplayTree) -> None:
    config = "/sys/devices/pci0/gpu/config"
    for path, number in {
        config: errno.EACCES,
        "/sys/./devices//pci0/gpu/config": errno.EACCES,
        "/sys/bus/gpu/config": errno.EACCES,
        "/sys/bus/../devices/pci0/gpu/config": errno.EACCES,
        "/sys/class": errno.EIO,
        "/sys/class/dmi/id/serial": errno.EIO,
        "/dev/kmsg": errno.EPERM,
    }.items():
        for method in (tree.read, tree.list, tree.link, tree.exists):
            raised(number, lambda method=method, path=path: method(path), path)  # type: ignore[misc]


def test_a_path_captured_as_missing_does_not_exist(tree: ReplayTree) -> None:
    assert not tree.exists("/sys/gone")
    raised(errno.ENOENT, lambda: tree.read("/sys/gone"), "/sys/gone")


def test_an_error_is_of_the_path_only_not_of_names_that_begin_like_it(tree: ReplayTree) -> None:
    assert not tree.exists("/sys/classes")
    assert not tree.exists("/sys/clas")


def test_a_capture_directory_is_a_host(tmp_path: Path) -> None:
    (tmp_path / "capture.json").write_text('{"format": 1, "errors": {"/dev/kmsg": "EPERM"}}', encoding="utf-8")
    (tmp_path / "root/proc").mkdir(parents=True)
    (tmp_path / "root/proc/version").write_bytes(b"Linux\n")
    (tmp_path / "root/out").symlink_to(tmp_path / "capture.json")
    host: Host = replay(tmp_path)
    assert isinstance(host, ReplayHost)
    assert host.tree.read("/proc/version") == b"Linux\n"
    raised(errno.EPERM, lambda: host.tree.read("/dev/kmsg"), "/dev/kmsg")
    raised(errno.ENOENT, lambda: host.tree.read("/out"), "/out")
    with pytest.raises(NoDriverError):
        host.smi.run(["-L"], timeout=1.0)


def test_every_fixture_is_a_capture(fixtures_dir: Path) -> None:
    hosts = sorted((fixtures_dir / "nvidia-smi").iterdir())
    assert hosts
    for host in hosts:
        capture = replay(host).capture
        assert capture.description, host
        used = {line for command in capture.commands for line in (command.stdout, command.stderr)}
        assert {file.read_bytes() for file in (host / "smi").glob("*")} <= used, host


def test_the_room_loads_nothing_until_it_is_used() -> None:
    program = (
        "import gpuinv.testing, sys; print(*(m for m in ('attrs', 'attr', 'pytest', 'hypothesis') if m in sys.modules))"
    )
    answer = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert answer.stdout.split() == []


def test_the_names_of_the_room() -> None:
    assert set(room.__all__) <= set(dir(room))
    assert all(getattr(room, name).__name__ == name for name in room.__all__)
    with pytest.raises(AttributeError, match="has no attribute 'nothing'"):
        _ = room.nothing
    assert callable(room.replay)
