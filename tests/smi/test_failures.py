from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpuinv.errors import SmiError, SmiFailure
from gpuinv.readings import Missing
from gpuinv.smi.failures import (
    FAILURES,
    NOT_RUN,
    OTHER,
    TIMED_OUT,
    TOO_LONG,
    FailureRule,
    failure_rule,
    smi_failure,
)

if TYPE_CHECKING:
    from pathlib import Path

ARGV = ("nvidia-smi", "-q", "-x")
ALL = (*FAILURES, TIMED_OUT, TOO_LONG, OTHER)

NOT_RUNNING = (
    b"NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver. "
    b"Make sure that the latest NVIDIA driver is installed and running.\n"
)
NO_LIBRARY = (
    b"NVIDIA-SMI couldn't find libnvidia-ml.so library in your system. "
    b"Please make sure that the NVIDIA Display Driver is properly installed and present in your system.\n"
    b"Please also try adding directory that contains libnvidia-ml.so to your system PATH.\n"
)
LOST = b"GPU is lost.  Reboot the system to recover this GPU"


def said(text: bytes, exit_code: int = 255) -> str:
    """The row for a text, the same on either stream."""
    (name,) = {
        failure_rule(exit_code, stdout=text).name,
        failure_rule(exit_code, stderr=text).name,
        failure_rule(exit_code, stdout=b"\x1b[31m" + text.replace(b"\n", b"\x1b[0m\r\n")).name,
    }
    return name


@pytest.mark.parametrize(
    ("text", "name"),
    [
        (NOT_RUNNING, "driver_not_running"),
        (NOT_RUNNING + b"\nFailed to properly shut down NVML: Driver Not Loaded\n", "driver_not_running"),
        (b"Failed to initialize NVML: Driver Not Loaded\n", "driver_not_running"),
        (
            b"Failed to initialize NVML: Driver/library version mismatch\nNVML library version: 535.161\n",
            "version_mismatch",
        ),
        (NO_LIBRARY, "no_library"),
        (b"Failed to initialize NVML: GPU access blocked by the operating system\n", "blocked_by_os"),
        (b"Failed to initialize NVML: Insufficient Permissions\n", "no_permission"),
        (b"Unable to determine the device handle for GPU 0000:01:00.0: Insufficient Permissions\n", "no_permission"),
        (b"Failed to initialize NVML: " + LOST + b"\n", "gpu_lost"),
        (
            b"Failed to initialize NVML: No supported GPUs were found\nUnable to determine the number of GPUs\n",
            "no_supported_gpu",
        ),
        (b"Failed to initialize NVML: Unknown Error\n", "nvml_unknown_error"),
        (b"No devices were found\n", "no_devices"),
        (b"No devices found.\n", "no_devices"),
        (b"\n  No devices were found  \n\n", "no_devices"),
        (b"WARNING: infoROM is corrupted at gpu 0000:B3:00.0\n", "inforom_corrupted"),
        (b"Unable to reset GPU 0000:01:00.0: GPU requires reset\n", "reset_required"),
        (b"Failed to destroy GPU instances: In use by another client\n", "in_use"),
        (b'Field "compute_cap" is not a valid field to query.\n', "bad_argument"),
        (b"ERROR: Option -m is missing its value. Please run 'nvidia-smi -h' for help.\n", "bad_argument"),
        (b"Invalid combination of input arguments. Please run 'nvidia-smi -h' for help.\n", "bad_argument"),
        (b"Failed to display compute instances: Insufficient Permissions\n", "no_permission"),
        (b"Failed to display GPU instance profiles: Unknown Error\n", "other"),
        (b"No MIG-supported devices found.\n", "other"),
        (b"", "other"),
    ],
)
def test_a_text_tells_the_failure(text: bytes, name: str) -> None:
    assert said(text) == name


@pytest.mark.parametrize(
    ("spelling", "gpu"),
    [
        (b"gpu 0000:08:00.0: Unknown Error", "GPU 00000000:08:00.0"),
        (b"GPU 0000:04:00.0: Not Found", "GPU 00000000:04:00.0"),
        (b"GPU0000:25:00.0: Unknown Error", "GPU 00000000:25:00.0"),
        (b"GPU3: 0000:5F:00.0: " + LOST, "GPU 00000000:5F:00.0"),
        (b"GPU2: " + LOST, "GPU 2"),
        (b"GPU 03F8CFDD:01:00.0: " + LOST, "GPU 03F8CFDD:01:00.0"),
        (b"GPU 0000:01:3F.0: " + LOST, "a GPU"),
        (b"GPU: " + LOST, "a GPU"),
    ],
)
def test_a_lost_gpu_in_every_spelling(spelling: bytes, gpu: str) -> None:
    line = b"Unable to determine the device handle for " + spelling + b"\n"
    assert said(line) == "gpu_lost"
    error = smi_failure(ARGV, exit_code=15, stdout=line)
    assert error.failure is SmiFailure.GPU_LOST
    assert error.hint.startswith(f"{gpu} ")


def test_the_hint_names_each_lost_gpu_once_and_not_too_many() -> None:
    lines = [f"Unable to determine the device handle for GPU{n}: 0000:0{n}:00.0: Unknown Error" for n in range(1, 7)]
    error = smi_failure(ARGV, exit_code=15, stdout="\n".join(lines[:2] * 2).encode())
    assert error.hint.startswith("GPU 00000000:01:00.0, GPU 00000000:02:00.0 fell off the bus")
    error = smi_failure(ARGV, exit_code=15, stdout="\n".join(lines).encode())
    assert error.hint.startswith(
        "GPU 00000000:01:00.0, GPU 00000000:02:00.0, GPU 00000000:03:00.0, GPU 00000000:04:00.0, others fell"
    )


def test_no_devices_beside_a_lost_gpu_is_a_lost_gpu() -> None:
    handle = b"Unable to determine the device handle for GPU0000:01:00.0: Unknown Error\n"
    assert said(handle + b"No devices were found\n", 6) == "gpu_lost"
    assert failure_rule(6, stdout=b"No devices were found\n", stderr=handle).name == "gpu_lost"


@pytest.mark.parametrize(
    ("exit_code", "name"),
    [(0, "no_devices"), (6, "no_devices"), (255, "no_devices"), (9, "driver_not_running"), (15, "gpu_lost")],
)
def test_no_devices_is_believed_unless_the_exit_code_says_why(exit_code: int, name: str) -> None:
    assert said(b"No devices were found\n", exit_code) == name


@pytest.mark.parametrize("beside", [b"some other words\n", b"<?xml version='1.0'?>\n", b"GPU 0: NVIDIA A100\n"])
def test_no_devices_counts_only_alone(beside: bytes) -> None:
    assert said(beside + b"No devices were found\n", 6) == "nothing_found"
    assert said(b"No devices were found\n" + beside, 6) == "nothing_found"


def test_the_words_of_a_document_are_no_failure() -> None:
    document = b"<gpu>\n\t<power>Insufficient Permissions</power>\n\t<serial>Failed to: GPU is lost</serial>\n</gpu>\n"
    assert said(document) == "other"


def test_a_text_weighs_more_than_the_exit_code() -> None:
    assert said(b"Failed to initialize NVML: Driver/library version mismatch\n", 9) == "version_mismatch"


@pytest.mark.parametrize(
    ("exit_code", "failure"),
    [
        (0, SmiFailure.NOT_XML),
        (1, SmiFailure.OTHER),
        (2, SmiFailure.OTHER),
        (3, SmiFailure.OTHER),
        (5, SmiFailure.OTHER),
        (6, SmiFailure.OTHER),
        (7, SmiFailure.OTHER),
        (11, SmiFailure.OTHER),
        (14, SmiFailure.INFOROM_CORRUPTED),
        (16, SmiFailure.NEEDS_RESET),
        (19, SmiFailure.OTHER),
        (4, SmiFailure.NO_PERMISSION),
        (9, SmiFailure.DRIVER_NOT_RUNNING),
        (12, SmiFailure.NO_LIBRARY),
        (15, SmiFailure.GPU_LOST),
        (17, SmiFailure.BLOCKED),
        (18, SmiFailure.VERSION_MISMATCH),
        (255, SmiFailure.OTHER),
        (-11, SmiFailure.OTHER),
        (77, SmiFailure.OTHER),
    ],
)
def test_without_a_text_the_exit_code_tells(exit_code: int, failure: SmiFailure) -> None:
    error = smi_failure(ARGV, exit_code=exit_code, stdout=b"words\n")
    assert error.failure is failure
    assert error.exit_code == exit_code
    assert error.hint


def test_a_run_that_was_cut_short() -> None:
    error = smi_failure(ARGV, exit_code=None, stdout=NOT_RUNNING, timed_out=True)
    assert error.failure is SmiFailure.TIMED_OUT
    error = smi_failure(ARGV, exit_code=None, stdout=b"y\n" * 1000)
    assert (error.failure, error.hint) == (SmiFailure.OTHER, TOO_LONG.hint)


def test_the_error_keeps_what_was_printed_on_both_streams() -> None:
    error = smi_failure(ARGV, exit_code=None, stdout=b"half a \xff line", stderr=b"trouble\n", timed_out=True)
    assert error.output == "half a \ufffd line\ntrouble\n"
    assert error.argv == ARGV
    assert smi_failure(ARGV, exit_code=1, stderr=b"trouble\n").output == "trouble\n"
    assert smi_failure(ARGV, exit_code=1, stdout=b"a\n", stderr=b"b\n").output == "a\nb\n"


def test_a_text_is_found_at_either_end_of_much_output() -> None:
    much = b"row, of, values\n" * 100_000
    handle = b"Unable to determine the device handle for GPU1: 0000:0A:00.0: " + LOST + b"\n"
    assert said(handle + much) == said(much + handle) == "gpu_lost"


def test_every_failure_has_a_row_and_every_row_a_hint_and_a_mark() -> None:
    assert {rule.failure for rule in ALL} | NOT_RUN == set(SmiFailure)
    assert len({rule.name for rule in ALL}) == len(ALL)
    assert all(rule.hint for rule in ALL)
    assert all(rule.text or rule.exit_codes for rule in FAILURES)
    codes = [code for rule in FAILURES for code in rule.exit_codes]
    assert len(set(codes)) == len(codes)


def spellings(rule: FailureRule) -> list[str]:
    """Text that a row is recognised by, one for each of its alternatives."""
    plain = (rule.text or "").replace("(?:Failed|Unable) to [^<]*: ", "Failed to do it: ").replace("(?:WARNING: )?", "")
    plain = plain.replace("(?:were )?", "").replace(r"\.?$", "").replace(r"\.", ".").replace(".*", '"x"')
    return [part.replace("(?:", "").replace(")", "") for part in plain.split("|")] if plain else []


@pytest.mark.parametrize("rule", FAILURES, ids=lambda rule: rule.name)
def test_no_row_is_shadowed(rule: FailureRule) -> None:
    """Each of its texts and each of its codes is recognised as this row's."""
    for text in spellings(rule):
        assert said(f"{text}\n".encode()) == rule.name
    for code in rule.exit_codes:
        assert failure_rule(code).name == rule.name
        assert failure_rule(code, stdout=b"words\n").name == rule.name


def test_the_hints_of_gpus_are_for_rows_that_name_some() -> None:
    assert [rule.name for rule in ALL if "{" in rule.hint] == ["gpu_lost"]


@pytest.mark.parametrize(
    ("reason", "codes"),
    [
        (Missing.NOT_SUPPORTED, {2, 3, 6, 13}),
        (Missing.NO_PERMISSION, {4}),
        (Missing.NEEDS_RESET, {16}),
    ],
)
def test_why_the_fields_of_a_query_are_missing(reason: Missing, codes: set[int]) -> None:
    assert {code for code in range(-64, 300) if failure_rule(code).reason is reason} == codes
    assert {rule.reason for rule in ALL} == {*REASONS, Missing.ERROR}


REASONS = (Missing.NOT_SUPPORTED, Missing.NO_PERMISSION, Missing.NEEDS_RESET)


def test_a_text_gives_the_reason_whatever_the_code() -> None:
    denied = b"Failed to display compute instances: Insufficient Permissions\n"
    refused = b'Field "compute_cap" is not a valid field to query.\n'
    for code in (0, 2, 4, 255):
        assert failure_rule(code, stdout=denied).reason is Missing.NO_PERMISSION
        assert failure_rule(code, stderr=refused).reason is Missing.NOT_SUPPORTED
    assert failure_rule(None, stdout=denied).reason is Missing.ERROR
    assert failure_rule(None, stdout=denied, timed_out=True) is TIMED_OUT


def test_wsl_without_a_gpu() -> None:
    """The second sentence stands behind a blank line and alone means the same."""
    second = b"Failed to properly shut down NVML: Driver Not Loaded\n"
    for text in (NOT_RUNNING + b"\n" + second, b"\n" + second, second + NOT_RUNNING):
        for code in (9, 255, 0):
            error = smi_failure(ARGV, exit_code=code, stdout=text)
            assert error.failure is SmiFailure.DRIVER_NOT_RUNNING
    assert smi_failure(ARGV, exit_code=9, stdout=NOT_RUNNING, stderr=second).failure is SmiFailure.DRIVER_NOT_RUNNING


@pytest.mark.property
@given(exit_code=st.none() | st.integers(-64, 300), stdout=st.binary(), stderr=st.binary(), timed_out=st.booleans())
def test_every_result_has_a_meaning(exit_code: int | None, stdout: bytes, stderr: bytes, timed_out: bool) -> None:  # noqa: FBT001 - drawn
    error = smi_failure(ARGV, exit_code=exit_code, stdout=stdout, stderr=stderr, timed_out=timed_out)
    assert type(error) is SmiError
    assert error.hint
    assert "{" not in error.hint
    assert "\n" not in str(error)


EXPECTED = {
    "driver-not-running": "driver_not_running",
    "nvml-blocked-by-os": "blocked_by_os",
    "nvml-unknown-error": "nvml_unknown_error",
    "gpu-lost": "gpu_lost",
    "gpu-lost-after-row": "gpu_lost",
    "not-found": "gpu_lost",
    "unknown-error-gpu-glued": "gpu_lost",
    "unknown-error-stderr": "gpu_lost",
    "field-double-bit-ecc": "bad_argument",
    "field-clocks-app-sm": "bad_argument",
    "topo-on-windows": "bad_argument",
    "mig-dgi-in-use": "in_use",
    "mig-cgi-in-use": "in_use",
    "no-mig": "other",  # its exit code, 6, says that nothing was found
    "lgip-unknown-error": "other",
}
LOST_GPUS = {
    "gpu-lost": "GPU 00000000:05:00.0",
    "gpu-lost-after-row": "GPU 00000000:0A:00.0",
    "not-found": "GPU 00000000:01:00.0",
    "unknown-error-gpu-glued": "GPU 00000000:25:00.0",
    "unknown-error-stderr": "GPU 00000000:44:00.0",
}


@pytest.mark.corpus
def test_captured_failures(corpus: Path) -> None:
    texts = {
        path.stem.partition("-")[2]: path.read_bytes() for path in sorted((corpus / "text" / "failures").glob("*.txt"))
    }
    for stream in ("stdout", "stderr"):
        errors = {
            name: smi_failure(ARGV, exit_code=255, **{stream: text})  # type: ignore[arg-type] # one of the streams
            for name, text in texts.items()
        }
        rules = {name: failure_rule(255, stdout=text).name for name, text in texts.items()}
        assert rules == EXPECTED
        lost = {name: error.hint.partition(" fell")[0] for name, error in errors.items() if rules[name] == "gpu_lost"}
        assert lost == LOST_GPUS
