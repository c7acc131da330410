from __future__ import annotations

import copy
import pickle

import attrs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpuinv.errors import (
    GpuInvError,
    InvalidSection,
    Issue,
    IssueKind,
    NoDriverError,
    ParseError,
    SmiError,
    SmiFailure,
    UsageError,
    shorten,
)

HOSTILE = "a\r\nb\x1b[31m\x00\u2028\x85\ud800\u202e\N{ZERO WIDTH SPACE}" + "x" * 10_000_000
ERRORS: list[GpuInvError] = [
    ParseError("nvidia-smi -q -x", "not XML", place="line 3", text="<oops"),
    InvalidSection("gpus", "another hash"),
    UsageError("no such extra"),
    SmiError(("nvidia-smi", "-L"), SmiFailure.TIMED_OUT, exit_code=None, hint="wait", output="GPU 0"),
    NoDriverError(("nvidia-smi", "-q")),
]


def everything_said(text: str) -> list[str]:
    return [
        str(ParseError(text, text, place=text, text=text)),
        str(InvalidSection(text, text)),
        str(UsageError(text)),
        str(SmiError((text, text), SmiFailure.OTHER, exit_code=1, hint=text, output=text)),
        str(NoDriverError((text,))),
        str(Issue(kind=IssueKind.READ_ERROR, source=text, message=text, place=text, text=text, uuid=text)),
        str(Issue(kind=IssueKind.READ_ERROR, source=text, message=text, pci_bus_id=text)),
    ]


@pytest.mark.parametrize("text", [HOSTILE, "\n" * 1000, "'\"\\" * 1000])
def test_every_error_is_one_short_printable_line(text: str) -> None:
    for line in everything_said(text):
        assert line.isprintable()
        assert len(line) < 2000


@pytest.mark.property
@given(st.text(st.characters(exclude_categories=[])))
def test_no_text_breaks_the_line(text: str) -> None:
    assert all(line.isprintable() for line in everything_said(text))


@pytest.mark.property
@given(st.text(st.characters(exclude_categories=[]), max_size=400), st.integers(2, 100))
def test_shortening_keeps_to_its_limit_and_is_done_once(text: str, limit: int) -> None:
    short = shorten(text, limit)
    assert len(short) <= limit
    assert shorten(short, limit) == short


def test_what_is_shown_of_foreign_text() -> None:
    assert shorten("  GPU\t0:\nfine ") == "GPU 0: fine"
    assert shorten("\x1b[4mGPU0") == r"\x1b[4mGPU0"
    assert shorten("é\N{GRINNING FACE}") == "é\N{GRINNING FACE}"
    assert shorten("x" * 81) == "x" * 79 + "…"
    assert shorten("x" * 80) == "x" * 80
    assert shorten("x" + " " * 400) == "x…"


@pytest.mark.parametrize(
    ("error", "line"),
    [
        (ERRORS[0], "nvidia-smi -q -x: line 3: not XML: '<oops'"),
        (ParseError("PCI id", "no colon"), "PCI id: no colon"),
        (ERRORS[1], "section 'gpus': another hash"),
        (ERRORS[2], "no such extra"),
        (ERRORS[3], "nvidia-smi -L: timed out: 'GPU 0'; wait"),
        (SmiError(("nvidia-smi",), SmiFailure.OTHER, exit_code=255, output=" \n"), "nvidia-smi: other (exit 255)"),
        (ERRORS[4], "nvidia-smi not found: install the NVIDIA driver, or put nvidia-smi on the PATH"),
    ],
)
def test_an_error_says_what_and_where(error: GpuInvError, line: str) -> None:
    assert str(error) == line


def test_an_issue_says_what_where_and_about_which_gpu() -> None:
    issue = Issue(kind=IssueKind.BAD_VALUE, source="topo -m", message="no such cell", place="row 2", text="X\n")
    assert str(issue) == "topo -m: row 2: no such cell: 'X'"
    at_bus = attrs.evolve(issue, pci_bus_id="00000000:01:00.0", text="", place="")
    assert str(at_bus) == "topo -m [00000000:01:00.0]: no such cell"
    assert str(attrs.evolve(at_bus, uuid="GPU-1")) == "topo -m [GPU-1]: no such cell"


@pytest.mark.parametrize("error", ERRORS, ids=lambda error: type(error).__name__)
def test_an_error_can_be_copied_and_sent_to_another_process(error: GpuInvError) -> None:
    for other in (copy.copy(error), copy.deepcopy(error), pickle.loads(pickle.dumps(error))):  # noqa: S301 - our own
        assert type(other) is type(error)
        assert str(other) == str(error)
        assert vars(other) == vars(error)


def test_whose_fault_it_is_shows_in_the_type() -> None:
    assert all(isinstance(error, GpuInvError) for error in ERRORS)
    assert [isinstance(error, ValueError) for error in ERRORS] == [True, True, True, False, False]
    assert isinstance(ERRORS[4], SmiError)
    assert InvalidSection.code == "INVALID_INPUT"
    assert NoDriverError().failure is SmiFailure.NO_TOOL
