"""Doing the same again and again, at a steady pace."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING

import attrs

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["LONGEST", "SHORTEST", "Pace"]

SHORTEST = 0.2
"""Seconds between two rounds; more often, the asking itself keeps the driver busy."""
LONGEST = 86_400.0


@attrs.frozen
class Pace:
    """Rounds that begin a fixed time apart.

    `clock` gives seconds that only grow; `sleep` waits for that many.
    """

    clock: Callable[[], float] = time.monotonic
    sleep: Callable[[float], None] = time.sleep

    def rounds(self, seconds: float) -> Iterator[int]:
        """The numbers of the moments at which rounds begin: 0 at once, n after n times the seconds.

        What a round takes moves no later one. One that takes longer than there is between two leaves out those that
        it missed, so that no two follow each other without a pause.
        """
        start, number = self.clock(), 0
        while True:
            yield number
            now = self.clock() - start
            number = max(number, int(now / seconds)) + 1
            self.sleep(max(number * seconds - now, 0))
