"""Series of values in [0, 1], one a draw, row and chain: their sums by slot of time, and sums of squares over all chains.

What a truth value needs (`tallies`) is counts; the share of an orbit that holds, or the mean of a block, needs squares too.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from markovlogic.estimation.slots import SlotClock
from markovlogic.estimation.tallies import Saved, Slots
from markovlogic.system.checkpoint_validation import Restored

ROUNDING = 1e-6  # of sums, relative, at the very most


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

    def restore(self, arrays: Restored, largest: float) -> None:
        """Continue where `saved` was taken; largest: what a value can be."""
        level, draws = arrays.numbers("clock", 2)
        self.clock.restore(level, draws)
        lengths = self.clock.lengths()
        n_chains = self.sums.cells[0].shape[1]
        most = largest * (1 + ROUNDING)
        self.sums.restore("sums", arrays, np.float64, [n * most for n in lengths])
        self.squares.restore("squares", arrays, np.float64, [n * n_chains * most**2 for n in lengths])
