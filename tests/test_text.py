"""Foreign text: decoded, cut into lines, bounded."""

from __future__ import annotations

import pytest

from gpuinv.errors import IssueKind, ParseError
from gpuinv.text import Issues, Line, decode, lines


def test_lines_drop_escape_sequences_blanks_and_line_ends_of_every_kind() -> None:
    text = "\ufeff\x1b[4mGPU0\x1b[0m \r\n\r\n  X\rlast\n"
    assert list(lines(text, source="x")) == [Line(1, "GPU0"), Line(3, "  X"), Line(4, "last")]


def test_a_vertical_tab_or_a_line_separator_ends_no_line() -> None:
    assert [line.text for line in lines("a\x0bb\u2028c\x85d", source="x")] == ["a\x0bb\u2028c\x85d"]


@pytest.mark.parametrize("data", [b"a\xf8b", "a\ufffdb", "a" + chr(0xDCF8) + "b"])
def test_what_is_no_utf8_becomes_the_replacement_character(data: str | bytes) -> None:
    assert decode(data, source="x") == "a\ufffdb"


def test_a_byte_order_mark_is_dropped() -> None:
    assert decode(b"\xef\xbb\xbfa", source="x") == "a"


@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be"])
def test_utf16_is_known_by_its_mark(encoding: str) -> None:
    data = "\ufeffGPU 0\r\nN\u00fcrnberg".encode(encoding)
    assert [line.text for line in lines(data, source="x")] == ["GPU 0", "N\u00fcrnberg"]
    assert decode(data[:-1], source="x").endswith("nber\ufffd")


@pytest.mark.parametrize("length", [1, 65_535, 65_536, 65_537, 200_000])
def test_lines_of_any_length_are_whole_and_counted(length: int) -> None:
    text = f"{'a' * length}\n\nb\n{'c' * length}\nd"
    found = list(lines(text, source="x"))
    assert found == [Line(1, "a" * length), Line(3, "b"), Line(4, "c" * length), Line(5, "d")]


def test_many_lines_are_counted() -> None:
    found = list(lines("ab\n\n" * 100_000, source="x"))
    assert [line.number for line in found] == list(range(1, 200_000, 2))


def test_issues_have_a_bound() -> None:
    issues = Issues()
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
        decode(b"abcd", source="x", limit=3)
