"""The text helpers: lines, and the sentences of the tool that are no rows."""

from __future__ import annotations

import pytest

from gpuinv.errors import IssueKind, ParseError
from gpuinv.ids import PciBusId
from gpuinv.smi import _text
from gpuinv.smi._text import DeviceFailure, Line

HANDLE = "Unable to determine the device handle for "


def test_lines_drop_escape_sequences_blanks_and_line_ends_of_every_kind() -> None:
    text = "\ufeff\x1b[4mGPU0\x1b[0m \r\n\r\n  X\rlast\n"
    assert list(_text.lines(text, source="x")) == [Line(1, "GPU0"), Line(3, "  X"), Line(4, "last")]


def test_a_vertical_tab_or_a_line_separator_ends_no_line() -> None:
    assert [line.text for line in _text.lines("a\x0bb\u2028c\x85d", source="x")] == ["a\x0bb\u2028c\x85d"]


@pytest.mark.parametrize("data", [b"a\xf8b", "a\ufffdb", "a" + chr(0xDCF8) + "b"])
def test_what_is_no_utf8_becomes_the_replacement_character(data: str | bytes) -> None:
    assert _text.decode(data, source="x") == "a\ufffdb"


def test_a_byte_order_mark_is_dropped() -> None:
    assert _text.decode(b"\xef\xbb\xbfa", source="x") == "a"


@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be"])
def test_utf16_is_known_by_its_mark(encoding: str) -> None:
    data = "\ufeffGPU 0\r\nN\u00fcrnberg".encode(encoding)
    assert [line.text for line in _text.lines(data, source="x")] == ["GPU 0", "N\u00fcrnberg"]
    assert _text.decode(data[:-1], source="x").endswith("nber\ufffd")


@pytest.mark.parametrize("length", [1, 65_535, 65_536, 65_537, 200_000])
def test_lines_of_any_length_are_whole_and_counted(length: int) -> None:
    text = f"{'a' * length}\n\nb\n{'c' * length}\nd"
    found = list(_text.lines(text, source="x"))
    assert found == [Line(1, "a" * length), Line(3, "b"), Line(4, "c" * length), Line(5, "d")]


def test_many_lines_are_counted() -> None:
    found = list(_text.lines("ab\n\n" * 100_000, source="x"))
    assert [line.number for line in found] == list(range(1, 200_000, 2))


def test_issues_have_a_bound() -> None:
    issues = _text.Issues()
    every = [
        Line(number, f"text {number}").issue(IssueKind.TEXT_AROUND, "the tool", "odd") for number in range(1, 1002)
    ]
    issues += every[:500]
    issues.extend(every[500:-1])
    assert issues == every[:-1]
    with pytest.raises(ParseError) as caught:
        issues.append(every[-1])
    assert str(caught.value) == (
        "the tool: line 1: more than 1000 oddities; this is not the output of the tool: "
        "give it what this command printed, and nothing else: 'text 1'"
    )


def test_too_much_is_refused_before_it_is_read() -> None:
    with pytest.raises(ParseError, match="x: more than 3 bytes"):
        _text.decode(b"abcd", source="x", limit=3)


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
    issue = _text.failure_issue(line, source="nvidia-smi topo -m")
    assert issue is not None
    assert (issue.kind, issue.pci_bus_id, issue.place) == (kind, "00000000:0A:00.0", "line 7")
    assert issue.message == f"the tool could not open GPU 1: {' '.join(reason.split())}"


def test_a_failure_without_an_address_names_none() -> None:
    issue = _text.failure_issue(Line(1, f"{HANDLE}GPU: Unknown Error"), source="x")
    assert issue is not None
    assert issue.pci_bus_id is None


def test_another_line_is_no_failure() -> None:
    assert _text.failure_issue(Line(1, "GPU 0: NVIDIA A10"), source="x") is None
    assert _text.refused_field(Line(1, "GPU-1, 8.6")) is None


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
    assert _text.says_no_devices(Line(1, text)) is says


def test_a_refused_field_is_named() -> None:
    assert _text.refused_field(Line(1, 'Field "cuda_version" is not a valid field to query.')) == "cuda_version"
