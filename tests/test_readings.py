from __future__ import annotations

import copy
import pickle

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpuinv.readings import COUNTS_AS_FAULT, Missing, is_known, known_or, missing_reason, sum_readings

M = Missing


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("N/A", M.NOT_SUPPORTED),
        ("Not Supported", M.NOT_SUPPORTED),
        ("Function Not Found", M.NOT_SUPPORTED),
        ("Requested functionality has been deprecated", M.DEPRECATED),
        ("Not Found", M.NOT_AVAILABLE),
        ("Insufficient Size", M.NOT_AVAILABLE),
        ("Insufficient Permissions", M.NO_PERMISSION),
        ("GPU requires reset", M.NEEDS_RESET),
        ("Unknown Error", M.ERROR),
        ("ERR!", M.ERROR),
        ("GPU is lost", M.LOST),
    ],
)
@pytest.mark.parametrize("form", ["{}", "[{}]", "({})", "<{}>", "{{{}}}", " \t{}\n ", "[ {} ]"])
def test_a_phrase_means_its_reason_in_any_case_and_brackets(text: str, reason: Missing, form: str) -> None:
    for spelled in (text, text.upper(), text.lower(), text.replace(" ", "  ")):
        assert missing_reason(form.format(spelled)) is reason


@pytest.mark.parametrize("text", ["", " \t ", "?", "??", "??.??.??.??.??", "GPU-????????-????-????-????-????????????"])
def test_a_place_that_was_never_filled(text: str) -> None:
    assert missing_reason(text) is M.NOT_AVAILABLE


@pytest.mark.parametrize("text", ["[Whatever the tool says]", "[]", "[ ]", "[0]"])
def test_any_other_text_in_square_brackets_is_an_error_of_the_tool(text: str) -> None:
    assert missing_reason(text) is M.ERROR


@pytest.mark.parametrize(
    "text",
    ["0", "None", "N", "NA", "[N/A", "N/A]", "(0000)", "<none>", "()", "No", "what?", "Error", "GPU is lost soon"],
)
def test_a_value_has_no_reason(text: str) -> None:
    assert missing_reason(text) is None


def test_a_missing_value_is_neither_true_nor_false() -> None:
    for reason in Missing:
        with pytest.raises(TypeError, match="is_known"):
            bool(reason)
    assert repr(M.LOST) == "Missing.LOST"


def test_a_copy_of_a_reason_is_the_reason() -> None:
    for reason in Missing:
        assert copy.deepcopy(reason) is reason
        assert pickle.loads(pickle.dumps(reason)) is reason  # noqa: S301 - our own bytes


def test_known_or() -> None:
    assert (known_or(0, 7), known_or(M.LOST, 7)) == (0, 7)
    assert (is_known(""), is_known(M.ABSENT)) == (True, False)


@pytest.mark.parametrize(
    ("parts", "total"),
    [
        ((), M.ABSENT),
        ((0,), 0),
        ((1, 2**64), 2**64 + 1),
        ((0, M.NOT_SUPPORTED, M.ABSENT, M.DEPRECATED), 0),
        ((0, M.NOT_AVAILABLE, M.NO_PERMISSION, M.HIDDEN_BY_MIG), 0),
        ((0, M.ERROR), M.ERROR),
        ((M.NEEDS_RESET, 0, M.ERROR), M.NEEDS_RESET),
        ((0, M.LOST, M.NEEDS_RESET), M.LOST),
        ((3, M.LOST), 3),
        ((M.ABSENT, M.NOT_SUPPORTED), M.NOT_SUPPORTED),
        ((M.NOT_SUPPORTED, M.NO_PERMISSION), M.NO_PERMISSION),
        ((M.HIDDEN_BY_MIG, M.ABSENT), M.HIDDEN_BY_MIG),
    ],
)
def test_a_sum_counts_what_is_known_and_hides_no_failure(
    parts: tuple[int | Missing, ...], total: int | Missing
) -> None:
    assert sum_readings(parts) == total
    assert sum_readings(reversed(parts)) == total


@pytest.mark.property
@given(st.lists(st.one_of(st.integers(0, 3), st.sampled_from(Missing))))
def test_a_sum_is_zero_only_where_something_is_known_and_nothing_failed(parts: list[int | Missing]) -> None:
    known = [part for part in parts if not isinstance(part, Missing)]
    total = sum_readings(parts)
    if any(known):
        assert total == sum(known)
    elif known and not COUNTS_AS_FAULT.intersection(parts):
        assert total == 0
    else:
        assert isinstance(total, Missing)
        assert total in {*parts, M.ABSENT}
