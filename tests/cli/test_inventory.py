from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING

import pytest

from gpuinv.cli import _hosts
from gpuinv.sections.seal import verify
from gpuinv.testing import replay
from tests.cli import hosts
from tests.cli.running import gpuinv

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

every_host = pytest.mark.parametrize("name", hosts.HOSTS)


def shown_hash(page: str) -> str:
    (line,) = [line for line in page.splitlines() if line.startswith("sha256 ")]
    return line.removeprefix("sha256 ")


@every_host
def test_content_is_what_the_page_hashes(name: str) -> None:
    page = gpuinv("inventory", "--replay", hosts.FIXTURES / name)
    content = gpuinv("inventory", "--replay", hosts.FIXTURES / name, "--content")
    assert (page.exit_code, content.exit_code) == (0, 0)
    assert not content.stdout.endswith(b"\n")
    assert shown_hash(page.text) == hashlib.sha256(content.stdout).hexdigest()
    verify("gpus", content.stdout, shown_hash(page.text))


@every_host
def test_json_is_the_content_decoded(name: str) -> None:
    host = hosts.FIXTURES / name
    printed = gpuinv("inventory", "--replay", host, "--json").text
    content = json.loads(gpuinv("inventory", "--replay", host, "--content").stdout)
    assert json.loads(printed) == content
    assert printed == json.dumps(content, indent=2, sort_keys=True) + "\n"


@every_host
@pytest.mark.parametrize("width", [80, 120])
def test_no_line_is_wider_than_the_screen(name: str, width: int) -> None:
    page = gpuinv("inventory", "--replay", hosts.FIXTURES / name, width=width).text
    assert max(map(len, page.splitlines())) <= width
    assert "\x1b" not in page


@pytest.mark.parametrize(
    ("name", "exit_code"), [("dgx-a100-mig", 0), ("workstation-rtx-5090", 0), ("wsl2-rtx-5090", 1)]
)
def test_a_host_without_issues_passes_strict(name: str, exit_code: int) -> None:
    """WSL offers no topology, which is an issue."""
    assert gpuinv("inventory", "--strict", "--replay", hosts.FIXTURES / name).exit_code == exit_code


@pytest.mark.parametrize(("options", "exit_code"), [((), 0), (("--strict",), 1)])
@pytest.mark.parametrize("form", [(), ("--json",), ("--content",)])
def test_issues_are_warnings_unless_strict(
    tmp_path: Path, form: tuple[str, ...], options: tuple[str, ...], exit_code: int
) -> None:
    outcome = gpuinv("inventory", "--replay", hosts.troubled_host(tmp_path), *form, *options)
    assert outcome.exit_code == exit_code
    if form:
        assert "gpuinv: gpu_lost: nvidia-smi -q -x: gpu[2]/" in outcome.stderr
    else:
        assert "! gpu_lost: the GPU is lost" in outcome.text
        assert outcome.stderr == ""


def test_every_trouble_is_shown(tmp_path: Path) -> None:
    page = gpuinv("inventory", "--replay", hosts.troubled_host(tmp_path)).text
    for words in (
        "! LOST: the driver no longer reaches this GPU",
        "! EXCLUDED: the driver was told to leave this GPU alone",
        "! FAILED to remap a memory row",
        "! a memory row waits for a reset to be remapped",
        "! the driver asks for a reset",
        "· ECC will be off after the next reboot",
        "· MIG will be on after the next reset",
        "· hidden while MIG is on: remapped rows",
        "· no permission to read: memory",
        "· could not be read: aggregate corrected errors",
    ):
        assert f"   {words}" in page


def test_without_smi_procfs_is_shown_and_sealed(tmp_path: Path) -> None:
    host = hosts.without_smi(tmp_path)
    page = gpuinv("inventory", "--replay", host)
    content = gpuinv("inventory", "--replay", host, "--content")
    assert (page.exit_code, content.exit_code) == (0, 0)
    assert "no_driver: nvidia-smi not found" in page.text
    assert "no_driver: PATH: nvidia-smi not found" in content.stderr
    assert json.loads(content.stdout)["layers"] == ["procfs"]
    assert shown_hash(page.text) == hashlib.sha256(content.stdout).hexdigest()


@pytest.mark.parametrize("form", [(), ("--json",), ("--content",)])
def test_nothing_to_show(tmp_path: Path, form: tuple[str, ...]) -> None:
    outcome = gpuinv("inventory", "--replay", hosts.bare_host(tmp_path), *form)
    assert outcome.exit_code == 3
    assert outcome.complaint.startswith("gpuinv: nvidia-smi not found: install")


def test_a_driver_without_gpus_is_something_to_show(tmp_path: Path) -> None:
    host = hosts.bare_host(tmp_path)
    directory = host / "root/proc/driver/nvidia"
    directory.mkdir(parents=True)
    version = "NVRM version: NVIDIA UNIX x86_64 Kernel Module  535.183.06  Wed Jun 26 05:18:32 UTC 2024\n"
    (directory / "version").write_text(version, encoding="utf-8")
    outcome = gpuinv("inventory", "--replay", host)
    assert outcome.exit_code == 0
    assert outcome.text.startswith("Driver 535.183.06: no GPUs")


def hung(directory: Path) -> Path:
    return hosts.hung_query(directory, "-q -x")


@pytest.mark.parametrize(("host", "words"), [(hosts.stopped_driver, "modprobe nvidia"), (hung, "timed out")])
def test_smi_failure_leaves_procfs_unsealed(tmp_path: Path, host: Callable[[Path], Path], words: str) -> None:
    outcome = gpuinv("inventory", "--replay", host(tmp_path))
    assert outcome.exit_code == 4
    assert "not sealed" in outcome.text
    assert "sha256" not in outcome.text
    assert outcome.text.count("NVIDIA A100-SXM4-80GB") == 8
    (line,) = outcome.stderr.splitlines()
    assert words in line


@pytest.mark.parametrize("form", ["--json", "--content"])
@pytest.mark.parametrize("host", [hosts.stopped_driver, hung])
def test_smi_failure_gives_a_program_nothing(tmp_path: Path, host: Callable[[Path], Path], form: str) -> None:
    outcome = gpuinv("inventory", "--replay", host(tmp_path), form)
    assert outcome.exit_code == 4
    assert outcome.complaint.startswith("gpuinv: nvidia-smi -q -x: ")


def test_an_optional_query_that_hangs_is_an_issue(tmp_path: Path) -> None:
    outcome = gpuinv("inventory", "--replay", hosts.hung_query(tmp_path, "-L"))
    assert outcome.exit_code == 0
    assert "query_failed: " in outcome.text
    assert "gi2/ci0  –        40192 MiB  UUID –" in outcome.text  # noqa: RUF001


def test_this_host_is_read_by_default(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_hosts, "LocalHost", lambda: replay(hosts.FIXTURES / "dgx-a100-mig"))
    assert "8 GPUs, 6 MIG devices" in gpuinv("inventory").text


def test_an_unreadable_file_of_procfs_is_said_before_the_failure(tmp_path: Path) -> None:
    host = hosts.bare_host(tmp_path)
    document = {"format": 1, "errors": {"/proc/driver/nvidia": "EACCES"}}
    (host / "capture.json").write_text(json.dumps(document), encoding="utf-8")
    outcome = gpuinv("inventory", "--replay", host)
    assert outcome.exit_code == 3
    assert "no_permission: /proc/driver/nvidia/version: could not be read" in outcome.stderr


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--json", "--content"), "--json and --content exclude each other"),
        (("--replay", "/nonexistent"), "/nonexistent: not a capture"),
        (("--replay",), "requires an argument"),
        (("--nonsense",), "No such option"),
        (("surplus",), "surplus"),
    ],
)
def test_wrong_usage(options: tuple[str, ...], words: str) -> None:
    outcome = gpuinv("inventory", *options)
    assert outcome.exit_code == 2
    assert words in outcome.complaint


def test_a_broken_capture_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "capture.json").write_text('{"format": 2}', encoding="utf-8")
    outcome = gpuinv("inventory", "--replay", tmp_path)
    assert outcome.exit_code == 2
    assert "capture.json: format: format 2 is unknown" in outcome.complaint
