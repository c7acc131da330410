"""The sentences of the tool that are no rows."""

from __future__ import annotations

import pytest

from gpuinv.errors import IssueKind
from gpuinv.ids import PciBusId
from gpuinv.smi.sentences import DeviceFailure, failure_issue, refused_field, says_no_devices
from gpuinv.text import Line

HANDLE = "Unable to determine the device handle for "


@pytest.mark.parametrize(
    ("text", "index", "bus_id", "reason"),
    [
        ("gpu 0000:08:00.0: Unknown Error", None, "00000000:08:00.0", "Unknown Error"),
        ("GPU 0000:04:00.0: Not Found", None, "00000000:04:00.0", "Not Found"),
        ("GPU0000:25:00.0: Unknown Error", None, "00000000:25:00.0", "Unknown Error"),
        ("GPU3: 0000:5F:00.0: Unknown Error", 3, "00000000:5F:00.0", "Unknown Error"),
        ("GPU2: Unknown Error", 2, None, "Unknown Error"),
        ("GPU 10000:01:00.0: Unknown Error", None, "00010000:01:00.0", "Unknown Error"),
        ("GPU 03F8CFDD:00:00.0: Unknown Error", None, "03F8CFDD:00:00.0", "Unknown Error"),
        ("GPU 0000:04:3f.0: Unknown Error", None, None, "Unknown Error"),
        ("GPU", None, None, ""),
    ],
)
def test_every_spelling_of_a_failed_device(text: str, index: int | None, bus_id: str | None, reason: str) -> None:
    expected = None if bus_id is None else PciBusId.parse(bus_id)
    found = DeviceFailure.parse(HANDLE + text)
    assert found == DeviceFailure(smi_index=index, pci_bus_id=expected, reason=reason)


@pytest.mark.parametrize(
    ("reason", "kind"),
    [
        ("GPU is lost.  Reboot the system to recover this GPU", IssueKind.GPU_LOST),
        ("GPU requires reset", IssueKind.NEEDS_RESET),
        ("Insufficient Permissions", IssueKind.NO_PERMISSION),
        ("Unknown Error", IssueKind.READ_ERROR),
        ("Not Found", IssueKind.READ_ERROR),
        ("something new", IssueKind.READ_ERROR),
    ],
)
def test_the_reason_decides_the_kind(reason: str, kind: IssueKind) -> None:
    line = Line(7, f"{HANDLE}GPU1: 0000:0A:00.0: {reason}")
    issue = failure_issue(line, source="nvidia-smi topo -m")
    assert issue is not None
    assert (issue.kind, issue.pci_bus_id, issue.place) == (kind, "00000000:0A:00.0", "line 7")
    assert issue.message == f"the tool could not open GPU 1: {' '.join(reason.split())}"


def test_a_failure_without_an_address_names_none() -> None:
    issue = failure_issue(Line(1, f"{HANDLE}GPU: Unknown Error"), source="x")
    assert issue is not None
    assert issue.pci_bus_id is None


def test_another_line_is_no_failure() -> None:
    assert failure_issue(Line(1, "GPU 0: NVIDIA A10"), source="x") is None
    assert refused_field(Line(1, "GPU-1, 8.6")) is None


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("No devices were found", True),
        (" no devices found.", True),
        ("No MIG-supported devices found.", False),
        ("No devices were found on this node", False),
    ],
)
def test_no_devices(text: str, says: bool) -> None:  # noqa: FBT001 - the expected value
    assert says_no_devices(Line(1, text)) is says


def test_a_refused_field_is_named() -> None:
    assert refused_field(Line(1, 'Field "cuda_version" is not a valid field to query.')) == "cuda_version"
