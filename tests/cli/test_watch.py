from __future__ import annotations

from itertools import islice

import attrs
from hypothesis import given
from hypothesis import strategies as st

from gpuinv.cli._watch import Pace


@attrs.define
class Clock:
    """A clock that stands still but for sleeping and for `work`."""

    now: float = 1000.0
    slept: list[float] = attrs.field(factory=list)

    def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.now += seconds

    def pace(self) -> Pace:
        return Pace(lambda: self.now, self.sleep)


def begins(clock: Clock, seconds: float, work: list[float]) -> list[float]:
    """When each round begins, where each takes as long as its work."""
    found = []
    for _, taken in zip(clock.pace().rounds(seconds), work, strict=False):
        found.append(clock.now - 1000)
        clock.now += taken
    return found


def test_rounds_begin_at_once_and_then_at_a_steady_pace() -> None:
    assert begins(Clock(), 2, [0.5, 1.5, 0.25, 0]) == [0, 2, 4, 6]


def test_a_long_round_leaves_out_what_it_missed() -> None:
    assert begins(Clock(), 2, [0.5, 5, 2, 0]) == [0, 2, 8, 12]


def test_the_rounds_are_numbered_by_their_moments() -> None:
    clock = Clock()
    rounds = clock.pace().rounds(1.0)
    assert next(rounds) == 0
    clock.now += 3.5
    assert list(islice(rounds, 2)) == [4, 5]


@given(
    seconds=st.floats(0.2, 1e5),
    work=st.lists(st.floats(0, 1e6), min_size=1, max_size=30),
)
def test_no_round_drifts_and_none_is_too_early(seconds: float, work: list[float]) -> None:
    clock = Clock(now=1000)
    found = begins(clock, seconds, work)
    for number, moment in enumerate(found):
        nearest = round(moment / seconds)
        assert nearest >= number
        assert abs(moment - nearest * seconds) < 1e-6
    assert all(slept >= 0 for slept in clock.slept)
