"""Slots of time: a run's draws divided so that a first and a second half exist whenever it stops, in bounded memory.

The planned draws N are divided dyadically: at level k there are 2^k segments, the i-th ends after floor(N·(i+1)/2^k) draws. A
run starts at a fine level and fills slots 0, 1, 2, …; when all slots are full, pairs are added together, which is the next
coarser level with half of the slots in use. So at least half of the slots are in use at any time, and the division depends on
the number of draws alone, never on the clock or on how sweeps were grouped into calls. A run that is continued to more draws
than were planned goes on with segments of the same length, and levels below zero.

Where a limit may end the run at any time, the sweeps of burn-in are recorded too, and how many of the first slots do not count is
decided when the run has stopped: about the planned share of the sweeps made, or a fifth of them if that is more, and never more
than the planned burn-in. For that the burn-in has segments of its own, about as long as those of the draws, or else a single one.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

SHORTEST_SEGMENT = 8  # draws: shorter ones would make moving counts into slots dearer than drawing
REPLICATES = 16  # segment means that a standard error from few chains rests on, at least
ENOUGH_CHAINS = 8  # from here on, no standard error is smaller than the variance between chains shows
MANY_CHAINS = 32  # from here on, it is that variance alone
SMALL_TALLY_BYTES = 1 << 26  # below this, four times as many slots are kept


LEAST_DROPPED = 0.2  # share of the sweeps that do not count, until the planned burn-in is over


def slots_for(n_rows: int, n_chains: int, *, dropping: bool = False) -> int:
    """How many slots to keep: enough for batch means where chains are few, few where memory is dear.

    Half of the slots may be empty when a run stops, so twice the replicates are kept. dropping: the first ones may not count.
    """
    slots = 8 if dropping else 4
    while slots * n_chains < 2 * REPLICATES:
        slots *= 2
    return 4 * slots if 4 * slots * n_rows * n_chains * 2 <= SMALL_TALLY_BYTES else slots


def sum_slots_for(n_slots: int, n_rows: int, n_chains: int, *, dropping: bool = False) -> int:
    """How many of the slots sums of conditionals have: one where segments are not needed, or would be dear and can be spared."""
    dear = n_slots * n_rows * n_chains * 8 > SMALL_TALLY_BYTES
    spared = n_chains >= MANY_CHAINS or (n_chains >= ENOUGH_CHAINS and dear)
    return 1 if spared and not dropping else n_slots


@lru_cache(maxsize=256)  # requested every segment, again and again
def _halvings(planned: int, burn_in: int, level: int) -> tuple[int, int]:
    """How often burn-in and draws are halved at a level, so that their segments are about as long as each other.

    Burn-in is one segment at least. Below 0, segments of the draws are longer than all that was planned.
    """
    if not burn_in:
        return 0, level
    shorter = math.floor(math.log2(planned / burn_in))
    return max(level - max(shorter, 0), 0), level - max(-shorter, 0)


@dataclass
class SlotClock:
    """Which slot the next draw belongs to, and which slots count."""

    planned: int  # draws that the run makes when nothing ends it earlier
    n_slots: int  # a power of two
    level: int
    draws: int = 0  # recorded so far
    burn_in: int = 0  # of the recorded draws, the first so many do not count if the run is as long as planned

    @classmethod
    def start(cls, planned: int, n_slots: int, burn_in: int = 0) -> SlotClock:
        """The finest level whose segments are long enough; short runs get as many segments as they have draws for."""
        longer = max(planned, burn_in, 1)
        long_enough = max(longer // SHORTEST_SEGMENT, 1).bit_length() - 1
        fitting = n_slots.bit_length() - (2 if burn_in else 1)
        return cls(planned, n_slots, max(long_enough, min(longer.bit_length() - 1, fitting)), 0, burn_in)

    @property
    def _halvings(self) -> tuple[int, int]:
        return _halvings(self.planned, self.burn_in, self.level)

    @property
    def _in_burn_in(self) -> int:
        """Segments of burn-in."""
        return 1 << self._halvings[0] if self.burn_in else 0

    def _end(self, segment: int) -> int:
        first, halvings = self._halvings
        before = 1 << first if self.burn_in else 0
        if segment < before:
            return self.burn_in * (segment + 1) >> first
        units = self.planned * (segment - before + 1)
        return self.burn_in + (units >> halvings if halvings >= 0 else units << -halvings)

    @property
    def slot(self) -> int:
        """The slot of the next draw; `n_slots` or more when all are full and pairs must be added together first."""
        before, halvings = self._in_burn_in, self._halvings[1]
        # a candidate that is the right one or too small: ends are rounded down
        if self.draws < self.burn_in:
            segment = (self.draws << self._halvings[0]) // self.burn_in
        else:
            done = self.draws - self.burn_in
            segment = before + (done << max(halvings, 0)) // (max(self.planned, 1) << max(-halvings, 0))
        while self._end(segment) <= self.draws:
            segment += 1
        return segment

    @property
    def must_fold(self) -> bool:
        """Whether all slots are full, so that the next draw has no place."""
        return self.slot >= self.n_slots

    def fold(self) -> int:
        """Go to the next coarser level; the owner of the slots adds pairs of them together, but for the first ones, whose number
        this gives: burn-in that is one segment stays one.
        """
        stays = 1 if self._in_burn_in == 1 else 0
        self.level -= 1
        return stays

    def restore(self, level: int, draws: int) -> None:
        """Continue after so many draws; the level follows from them, so that another one is a ValueError."""
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
        segment = self.slot
        return self.draws - (self._end(segment - 1) if segment else 0)

    @property
    def longest_segment(self) -> int:
        """An upper bound on the draws in one slot at this level."""
        halvings = self._halvings[1]
        longest = self.planned >> halvings if halvings >= 0 else self.planned << -halvings
        return max(longest, self.burn_in >> self._halvings[0]) + 1

    def lengths(self) -> list[int]:
        """Draws in each slot in use, the last one perhaps unfinished; a short burn-in may have empty ones."""
        found: list[int] = []
        begin = 0
        while begin < self.draws:
            end = min(self._end(len(found)), self.draws)
            found.append(end - begin)
            begin = end
        return found

    def kept(self) -> dict[int, int]:
        """The slots that count, and the draws in each: a function of the number of draws recorded."""
        lengths = dict(enumerate(self.lengths()))
        share = max(self.burn_in / max(self.burn_in + self.planned, 1), LEAST_DROPPED)
        to_drop = min(self.burn_in, math.ceil(share * self.draws))
        dropped = 0
        for slot, length in list(lengths.items()):
            if dropped + length < self.draws and 2 * dropped + length <= 2 * to_drop:  # the end of a slot that is nearest
                dropped += length
                del lengths[slot]
            else:
                break
        return {slot: length for slot, length in lengths.items() if length}

    @property
    def kept_draws(self) -> int:
        """Draws that count."""
        return sum(self.kept().values())
