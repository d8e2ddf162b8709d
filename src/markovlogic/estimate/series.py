"""Series of values in [0, 1], one a draw, row and chain: their sums by slot of time, and sums of squares over all chains.

What a truth value needs (`tallies`) is counts; the share of an orbit that holds, or the mean of a block, needs squares too.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from markovlogic.estimate.slots import SlotClock
from markovlogic.estimate.tallies import Saved, Slots


class Series:
    """The sums of one batch of chains."""

    def __init__(self, n_rows: int, n_chains: int, clock: SlotClock) -> None:
        self.clock = clock
        self.sums = Slots(n_rows, n_chains, clock.n_slots, np.float64)
        self.squares = Slots(n_rows, 1, clock.n_slots, np.float64)

    @property
    def draws(self) -> int:
        """Draws recorded so far."""
        return self.clock.draws

    def add(self, values: npt.NDArray[np.number]) -> None:
        """Add one draw, (n_rows, n_chains)."""
        from markovlogic.kernels.orbital import add_counts

        while self.clock.must_fold:
            first = self.clock.fold()
            self.sums.fold(np.float64, first)
            self.squares.fold(np.float64, first)
        slot = self.clock.slot
        add_counts(values, self.sums.cells[slot], self.squares.cells[slot])
        self.sums.touch(slot)
        self.squares.touch(slot)
        self.clock.draws += 1

    def saved(self) -> Iterator[Saved]:
        """All that a checkpoint needs."""
        yield Saved("clock", np.array([self.clock.level, self.clock.draws], np.int64), self.clock.draws)
        yield from self.sums.saved("sums")
        yield from self.squares.saved("squares")

    def restore(self, arrays: Mapping[str, npt.NDArray[np.generic]]) -> None:
        """Continue where `saved` was taken."""
        level, draws = (int(value) for value in arrays["clock"])
        self.clock = replace(self.clock, level=level, draws=draws)
        self.sums.restore("sums", arrays, np.float64)
        self.squares.restore("squares", arrays, np.float64)
