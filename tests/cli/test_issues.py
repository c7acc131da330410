"""Thousands of issues are neither a page nor a log."""

from __future__ import annotations

import pytest

from gpuinv.cli._issues import issue_lines, log_issues
from gpuinv.errors import Issue, IssueKind
from tests.cli.running import gpuinv

GPU = b"GPU 0: NVIDIA H200 (UUID: GPU-5d4ab8a4-3d3f-4b3f-9d3c-6d3f3b3c7a01)\n"


def some(number: int) -> list[Issue]:
    return [
        Issue(kind=IssueKind.TEXT_AROUND, source="nvidia-smi -L", message="odd", place=f"line {n}")
        for n in range(1, number + 1)
    ]


@pytest.mark.parametrize(("number", "shown", "last"), [(1, 1, ""), (50, 50, ""), (51, 50, "and 1 more")])
def test_a_page_shows_fifty_issues_and_counts_all(number: int, shown: int, last: str) -> None:
    page = [line.plain for line in issue_lines(some(number), 80)]
    assert page[1] == ("1 issue" if number == 1 else f"{number} issues")
    assert sum(line.startswith("! ") for line in page) == shown
    assert page[-1] == (last or f"  nvidia-smi -L: line {number}")


@pytest.mark.parametrize(
    ("number", "lines", "last"),
    [
        (0, 0, ""),
        (200, 200, "gpuinv: text_around: nvidia-smi -L: line 200: odd"),
        (201, 201, "gpuinv: and 1 more issue"),
        (999, 201, "gpuinv: and 799 more issues"),
    ],
)
def test_a_log_has_two_hundred_lines_and_counts_the_rest(
    capsys: pytest.CaptureFixture[str], number: int, lines: int, last: str
) -> None:
    log_issues(some(number))
    said = capsys.readouterr().err.splitlines()
    assert (len(said), said[-1] if said else "") == (lines, last)


def test_a_long_list_of_junk_stays_readable() -> None:
    outcome = gpuinv("parse", "L", "-", stdin=GPU + b"junk\n" * 1000)
    assert outcome.exit_code == 0
    assert outcome.text.splitlines()[-1] == "and 950 more"
    assert len(outcome.text.splitlines()) < 120


def test_more_junk_is_one_complaint() -> None:
    outcome = gpuinv("parse", "L", "-", stdin=GPU + b"junk\n" * 2000)
    assert outcome.exit_code == 2
    assert "more than 1000 oddities" in outcome.complaint


def test_a_list_that_powershell_redirected_is_shown_alike() -> None:
    utf16 = ("\ufeff" + GPU.decode()).encode("utf-16-le")
    assert gpuinv("parse", "L", "-", stdin=utf16) == gpuinv("parse", "L", "-", stdin=GPU)
