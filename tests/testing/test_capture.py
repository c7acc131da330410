from __future__ import annotations

import errno
import json
from typing import TYPE_CHECKING, Any

import pytest

from gpuinv.errors import ParseError, UsageError
from gpuinv.testing import Capture, CapturedCommand

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

LIST = ["nvidia-smi", "-L"]


@pytest.fixture
def write(tmp_path: Path) -> Callable[[object], Path]:
    """Write a capture with one output, smi/L.txt."""

    def _write(document: object) -> Path:
        (tmp_path / "smi").mkdir(exist_ok=True)
        (tmp_path / "smi" / "L.txt").write_bytes(b"GPU 0: \xff\n")
        (tmp_path / "capture.json").write_text(json.dumps(document), encoding="utf-8")
        return tmp_path

    return _write


def one(**command: Any) -> dict[str, object]:  # noqa: ANN401 - values of JSON
    return {"format": 1, "commands": [command]}


def test_a_whole_capture(write: Callable[[object], Path]) -> None:
    directory = write(
        {
            "format": 1,
            "description": "a host",
            "commands": [
                {"argv": LIST, "stdout": "smi/L.txt", "stderr": None, "exit_code": 0, "seconds": 0.25},
                {"argv": ["nvidia-smi", "topo", "-m"], "stderr": "./smi/L.txt", "exit_code": 3, "seconds": 1},
                {"argv": ["nvidia-smi", "-q", "-x"], "hangs": True, "stdout": "smi/L.txt"},
            ],
            "errors": {"/dev/kmsg": "EPERM"},
            "recorded_by": "a key that this reader does not know",
        }
    )
    capture = Capture.load(directory)
    assert capture.description == "a host"
    assert capture.root == str(directory / "root")
    assert capture.errors == {"/dev/kmsg": errno.EPERM}
    assert capture.has_smi
    assert capture.commands == (
        CapturedCommand(argv=("nvidia-smi", "-L"), stdout=b"GPU 0: \xff\n", seconds=0.25),
        CapturedCommand(argv=("nvidia-smi", "topo", "-m"), stderr=b"GPU 0: \xff\n", exit_code=3, seconds=1.0),
        CapturedCommand(argv=("nvidia-smi", "-q", "-x"), stdout=b"GPU 0: \xff\n", exit_code=None),
    )
    assert [command.hangs for command in capture.commands] == [False, False, True]


def test_the_least_capture_is_a_host_without_nvidia_smi(write: Callable[[object], Path]) -> None:
    capture = Capture.load(str(write({"format": 1})))
    assert capture.commands == ()
    assert capture.errors == {}
    assert not capture.has_smi


def test_a_command_is_found_by_its_exact_command_line() -> None:
    command = CapturedCommand(argv=("nvidia-smi", "topo", "-m"))
    capture = Capture(root="/nowhere", commands=(command,))
    assert capture.find(["nvidia-smi", "topo", "-m"]) is command
    assert capture.find(["nvidia-smi", "-m", "topo"]) is None
    assert capture.find(["nvidia-smi", "topo"]) is None


def test_a_directory_without_a_capture(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"not a capture: capture\.json: No such file"):
        Capture.load(tmp_path)
    with pytest.raises(UsageError, match="not a capture"):
        Capture.load(tmp_path / "none")


@pytest.mark.parametrize(
    ("document", "place", "message"),
    [
        ([], "", "an object is needed"),
        ({}, "format", "this key is missing"),
        ({"format": "1"}, "format", "an integer is needed"),
        ({"format": True}, "format", "an integer is needed"),
        ({"format": 2}, "format", "format 2 is unknown"),
        ({"format": 1, "description": None}, "description", "a string is needed"),
        ({"format": 1, "commands": {}}, "commands", "an array is needed"),
        ({"format": 1, "commands": [1]}, "commands[0]", "an object is needed"),
        ({"format": 1, "errors": []}, "errors", "an object is needed"),
        (one(exit_code=0), "commands[0].argv", "this key is missing"),
        (one(argv=[], exit_code=0), "commands[0].argv", "at least a program"),
        (one(argv="nvidia-smi -L", exit_code=0), "commands[0].argv", "an array is needed"),
        (one(argv=["nvidia-smi", 1], exit_code=0), "commands[0].argv[1]", "a string is needed"),
        (one(argv=LIST), "commands[0].exit_code", "this key is missing"),
        (one(argv=LIST, exit_code=None), "commands[0].exit_code", "an integer is needed"),
        (one(argv=LIST, exit_code=1.0), "commands[0].exit_code", "an integer is needed"),
        (one(argv=LIST, exit_code=0, seconds="1"), "commands[0].seconds", "a number is needed"),
        (one(argv=LIST, exit_code=0, seconds=-1), "commands[0].seconds", "a finite number from 0"),
        (one(argv=LIST, exit_code=0, stdout=1), "commands[0].stdout", "a string is needed"),
        (one(argv=LIST, exit_code=0, stdout="smi/none.txt"), "commands[0].stdout", "No such file"),
        (one(argv=LIST, exit_code=0, stdout="smi"), "commands[0].stdout", "Is a directory"),
        (one(argv=LIST, exit_code=0, stdout=""), "commands[0].stdout", "Is a directory"),
        (one(argv=LIST, exit_code=0, stderr="../out.txt"), "commands[0].stderr", "lies inside the capture"),
        (one(argv=LIST, exit_code=0, stderr="smi/../../out.txt"), "commands[0].stderr", "lies inside the capture"),
        (one(argv=LIST, exit_code=0, stderr="/etc/hostname"), "commands[0].stderr", "lies inside the capture"),
        (one(argv=LIST, exit_code=0, exitcode=1), "commands[0].exitcode", "unknown key"),
        (one(argv=LIST, hangs=1), "commands[0].hangs", "true or false is needed"),
        (one(argv=LIST, hangs=True, exit_code=0), "commands[0].exit_code", "a command that hangs has none"),
        (one(argv=LIST, hangs=True, seconds=0), "commands[0].seconds", "a command that hangs has none"),
        (
            {"format": 1, "commands": [{"argv": LIST, "exit_code": 0}, {"argv": LIST, "hangs": True}]},
            "commands[1].argv",
            "twice",
        ),
        ({"format": 1, "errors": {"/a": 13}}, 'errors["/a"]', "a string is needed"),
        ({"format": 1, "errors": {"/a": "EWHAT"}}, 'errors["/a"]', "not the name of an errno"),
        ({"format": 1, "errors": {"/a": "errorcode"}}, 'errors["/a"]', "not the name of an errno"),
        ({"format": 1, "errors": {"a": "EIO"}}, 'errors["a"]', "an absolute path"),
        ({"format": 1, "errors": {"/a/../b": "EIO"}}, 'errors["/a/../b"]', "an absolute path"),
        ({"format": 1, "errors": {"/a/": "EIO"}}, 'errors["/a/"]', "an absolute path"),
    ],
)
def test_a_breach_of_the_format_is_named_with_its_place(
    write: Callable[[object], Path], document: object, place: str, message: str
) -> None:
    with pytest.raises(ParseError, match=message) as caught:
        Capture.load(write(document))
    assert caught.value.source == "capture.json"
    assert caught.value.place == place


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (b"", "line 1, column 1: not JSON"),
        (b'{"format": 1\n;}', "line 2, column 1: not JSON"),
        (b'{"format": 1, "x": NaN}', "NaN is no JSON number"),
        (b'"\xff"', "not JSON: 'utf-8' codec"),
        (b"[" * 100_000, "not JSON"),
        (b"9" * 5000, "not JSON"),
    ],
    ids=["empty", "comma", "NaN", "not UTF-8", "deep", "long number"],
)
def test_what_is_no_json(tmp_path: Path, text: bytes, message: str) -> None:
    (tmp_path / "capture.json").write_bytes(text)
    with pytest.raises(ParseError, match=message):
        Capture.load(tmp_path)


def test_an_output_that_is_a_link_out_of_the_capture_is_refused(write: Callable[[object], Path]) -> None:
    directory = write(one(argv=LIST, exit_code=0, stdout="smi/link"))
    outside = directory.parent / "outside-of-the-capture"
    outside.write_bytes(b"secret")
    (directory / "smi" / "link").symlink_to(outside)
    with pytest.raises(ParseError, match="No such file"):
        Capture.load(directory)
