"""Slots of time: a run's draws divided so that a first and a second half exist whenever it stops, in bounded memory.

The planned draws N are divided dyadically: at level k there are 2^k segments, the i-th ends after floor(N·(i+1)/2^k) draws. A
run starts at a fine level and fills slots 0, 1, 2, …; when all slots are full, pairs are added together, which is the next
coarser
level with half of the slots in use. So at least half of the slots are in use at any time, and the division depends on the
number of draws
alone, never on the clock or on how sweeps were grouped into calls.
"""

from __future__ import annotations

from dataclasses import dataclass

SHORTEST_SEGMENT = 8  # draws: shorter ones would make moving counts into slots dearer than drawing
REPLICATES = 16  # segment means that a standard error from few chains rests on, at least
SMALL_TALLY_BYTES = 1 << 26  # below this, four times as many slots are kept


def slots_for(n_rows: int, n_chains: int) -> int:
    """How many slots to keep: enough for batch means where chains are few, few where memory is dear.

    Half of the slots may be empty when a run stops, so twice the replicates are kept.
    """
    slots = 4
    while slots * n_chains < 2 * REPLICATES:
        slots *= 2
    return 4 * slots if 4 * slots * n_rows * n_chains * 2 <= SMALL_TALLY_BYTES else slots


@dataclass
class SlotClock:
    """Which slot the next draw belongs to."""

    planned: int  # draws that the run makes when nothing ends it earlier
    n_slots: int  # a power of two
    level: int
    draws: int = 0

    @classmethod
    def start(cls, planned: int, n_slots: int) -> SlotClock:
        """The finest level whose segments are long enough; short runs get as many segments as they have draws for."""
        most = max(planned, 1).bit_length() - 1
        long_enough = max(planned // SHORTEST_SEGMENT, 1).bit_length() - 1
        return cls(planned, n_slots, max(long_enough, min(most, n_slots.bit_length() - 1)))

    def _end(self, segment: int) -> int:
        return (self.planned * (segment + 1)) >> self.level

    @property
    def slot(self) -> int:
        """The slot of the next draw; `n_slots` when all are full and pairs must be added together first."""
        # ends are at floor(N·i / 2^level), so the candidate below is the right one or one too small
        segment = (self.draws << self.level) // max(self.planned, 1)
        while self._end(segment) <= self.draws:
            segment += 1
        return segment

    @property
    def must_fold(self) -> bool:
        """Whether all slots are full."""
        return self.draws < self.planned and self.slot >= self.n_slots

    def fold(self) -> None:
        """Go to the next coarser level; the owner of the slots adds pairs of them together."""
        self.level -= 1

    def restore(self, level: int, draws: int) -> None:
        """Continue after so many draws; the level follows from them, so that another one is a ValueError."""
        if draws > self.planned:
            raise ValueError(f"{draws} draws were made, of {self.planned} that were planned")
        self.draws = max(draws - 1, 0)
        while self.must_fold:
            self.fold()
        self.draws = draws
        if level != self.level:
            raise ValueError(f"slots of time are at level {level} after {draws} draws, expected {self.level}")

    def room(self) -> int:
        """Draws until the current segment ends."""
        return self._end(self.slot) - self.draws

    @property
    def unfinished(self) -> int:
        """Draws in the current segment, 0 where it has just begun."""
        if self.draws >= self.planned:
            return 0
        segment = self.slot
        return self.draws - (self._end(segment - 1) if segment else 0)

    @property
    def longest_segment(self) -> int:
        """An upper bound on the draws in one slot at this level."""
        return (self.planned >> self.level) + 1

    def lengths(self) -> list[int]:
        """Draws in each slot in use, the last one perhaps unfinished."""
        found: list[int] = []
        begin = 0
        while begin < self.draws:
            end = min(self._end(len(found)), self.draws)
            found.append(end - begin)
            begin = end
        return found
