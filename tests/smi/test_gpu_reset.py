from __future__ import annotations

import pytest

from gpuinv.errors import IssueKind, ParseError
from gpuinv.ids import PciBusId
from gpuinv.readings import Missing
from gpuinv.smi.gpu_reset import GpuReset, ResetAnswer, parse_gpu_reset

BUS = PciBusId(0, 0xC1, 0)


@pytest.mark.parametrize(
    "text",
    [
        "GPU 00000000:C1:00.0  was successfully reset.\n",
        b"GPU 0000:c1:00.0 was successfully reset\r\n",
        "gpu 00000000:C1:00.0 was successfully reset.",
    ],
)
def test_a_gpu_was_reset(text: str | bytes) -> None:
    assert parse_gpu_reset(text) == GpuReset(answers=(ResetAnswer(pci_bus_id=BUS, was_reset=True),))


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("GPU Reset couldn't run because GPU 00000000:C1:00.0 is the primary GPU.", "is the primary GPU."),
        ("  GPU 00000000:C1:00.0: In use by another client", "In use by another client"),
        ("GPU 00000000:C1:00.0 is currently in use by another process.", "is currently in use by another process."),
        ("Unable to reset GPU 00000000:C1:00.0 because it's being used by a process.", "it's being used by a process."),
        ("Resetting GPU 00000000:C1:00.0 is not supported.", "is not supported."),
    ],
)
def test_a_gpu_was_not_reset(line: str, reason: str) -> None:
    assert parse_gpu_reset(line) == GpuReset(
        answers=(ResetAnswer(pci_bus_id=BUS, was_reset=False, reason=reason),), refused=True
    )


def test_some_were_reset_and_some_were_not() -> None:
    found = parse_gpu_reset(
        "GPU 00000000:C1:00.0 was successfully reset.\n"
        "The following GPUs could not be reset:\n"
        "  GPU 00000000:C2:00.0: In use by another client\n"
        "  GPU 00000000:C3:00.0: Not Supported\n"
        "\n"
        "2 devices are currently being used by one or more other processes (a daemon,\n"
        "or a monitor). Please end them.\n"
        "All done.\n"
    )
    assert [(str(answer.pci_bus_id)[9:11], answer.was_reset, answer.reason) for answer in found.answers] == [
        ("C1", True, ""),
        ("C2", False, "In use by another client"),
        ("C3", False, "Not Supported"),
    ]
    assert (found.refused, found.all_done, found.issues) == (True, True, ())
    assert found.explanation == (
        "2 devices are currently being used by one or more other processes (a daemon, or a monitor). Please end them."
    )


def test_all_done_is_no_reset() -> None:
    assert parse_gpu_reset("All done.\n") == GpuReset(all_done=True)


def test_a_refusal_without_a_gpu() -> None:
    assert parse_gpu_reset("Some GPUs could not be reset.\n") == GpuReset(refused=True)


def test_a_mig_mode_that_waits_for_a_reset() -> None:
    found = parse_gpu_reset(
        "Warning: MIG mode is in pending disable state for GPU 00000000:C1:00.0:In use by another client\n"
        "Reboot the system or try nvidia-smi --gpu-reset to make MIG mode effective on GPU 00000000:C1:00.0\n"
        "All done.\n"
    )
    assert [(issue.kind, issue.pci_bus_id) for issue in found.issues] == [(IssueKind.NEEDS_RESET, str(BUS))]
    assert (found.answers, found.refused, found.all_done) == ((), False, True)
    assert found.explanation.startswith("Reboot the system")


def test_gpus_that_cannot_be_opened_and_other_lines() -> None:
    found = parse_gpu_reset("Unable to determine the device handle for GPU2: Unknown Error\nA thought.\n")
    assert [issue.kind for issue in found.issues] == [IssueKind.READ_ERROR, IssueKind.TEXT_AROUND]


def test_an_address_that_is_none() -> None:
    found = parse_gpu_reset("GPU 00000000:C1:FF.0 was successfully reset.\n")
    assert found.answers == (ResetAnswer(pci_bus_id=Missing.ERROR, was_reset=True),)
    pending = parse_gpu_reset("Warning: MIG mode is in pending enable state for GPU 00000000:C1:FF.0:x\n")
    assert [issue.pci_bus_id for issue in pending.issues] == [None]


@pytest.mark.parametrize("text", ["", "Failed to initialize NVML: Unknown Error", "Unable to reset: not you"])
def test_nothing_about_a_reset_is_no_answer(text: str) -> None:
    with pytest.raises(ParseError, match="nothing about a reset"):
        parse_gpu_reset(text)
