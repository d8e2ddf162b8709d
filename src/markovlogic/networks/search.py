"""The search for a world that obeys all hard rules: bounded pieces of it, between which the run's deadline is asked."""

from __future__ import annotations

import math
import time

import numpy as np
import numpy.typing as npt

from markovlogic.networks.hard import HardPart
from markovlogic.system import cancellation

NOISE = 0.5  # of WalkSAT, as papers.md 3.13 has it for MaxWalkSAT
RESTARTS = 20
PIECE_SECONDS = 0.1
LEAST_SECONDS = 0.5  # of search, however late it is
TELLING_SECONDS = 2.0  # of a limit that are kept for naming the rules that conflict, a quarter of it at most

World = npt.NDArray[np.uint8]
Value = npt.NDArray[np.int8]
Generator = npt.NDArray[np.uint64]


class Walk:
    """WalkSAT on the clauses of a hard part, in pieces of about a tenth of a second; the pieces do not change where it goes."""

    def __init__(self, part: HardPart, value: Value) -> None:
        self._part, self._value = part, value
        n = part.n_clauses
        self._state = (np.zeros(n, np.int32), np.zeros(n, np.int64), np.zeros(n, np.int64), np.zeros(1, np.int64))
        self._flips_a_piece = 100
        self.flips = 0
        self.least = n  # the fewest broken clauses that were seen

    def compile(self) -> None:
        """Have the kernels compiled where they are not, so that no limit counts it as search."""
        from markovlogic.kernels.satisfy import begin_walk, walk_sat

        part, world = self._part, np.zeros(len(self._value), np.uint8)
        begin_walk(part.clauses, world, self._state)
        walk_sat(part.clauses, part.groups, self._value, world, np.zeros(4, np.uint64), NOISE, 0, self._state)

    def from_random(self, world: World, generator: Generator) -> None:
        """Let `world` be a random one, apart from what is decided."""
        from markovlogic.kernels.satisfy import random_world

        random_world(*self._part.groups, self._value, world, generator)

    def go(self, world: World, generator: Generator, flips: int, until: float) -> bool:
        """Walk from `world` for so many flips, or until a time of the monotonic clock; whether nothing is broken at the end."""
        from markovlogic.kernels.satisfy import begin_walk, walk_sat

        part, value = self._part, self._value
        begin_walk(part.clauses, world, self._state)
        while flips and self._state[3][0]:
            piece, begun = min(flips, self._flips_a_piece), time.monotonic()
            least = walk_sat(part.clauses, part.groups, value, world, generator, NOISE, piece, self._state)
            self.least = min(self.least, int(least))
            flips -= piece
            self.flips += piece
            now = time.monotonic()
            if now - begun < PIECE_SECONDS / 2:
                self._flips_a_piece *= 2
            elif now - begun > 2 * PIECE_SECONDS:
                self._flips_a_piece = max(1, self._flips_a_piece // 2)
            if now > until:
                break
            if self._state[3][0]:
                _pause_for_others(self)
        return not self._state[3][0]


def _pause_for_others(walk: Walk) -> None:
    """Between two pieces: end where somebody asked for it, and say why it takes long."""
    own = cancellation.current()
    if own.cancelled:
        raise cancellation.interrupted()
    own.report_delay(f"no world that obeys the hard rules yet, {walk.least:,} ground rules broken at best")


class Search:
    """Worlds for the chains of a batch, one after the other."""

    def __init__(self, part: HardPart, value: Value) -> None:
        self._walk = Walk(part, value)
        self._flips = 10_000 + 10 * part.n_clauses
        self._walk.compile()
        self._until = _deadline()
        self._found: World | None = None

    @property
    def flips(self) -> int:
        """Flips that were made."""
        return self._walk.flips

    @property
    def least(self) -> int:
        """The fewest broken clauses that were seen."""
        return self._walk.least

    def find(self, world: World, generator: Generator) -> bool:
        """Turn a random world into one that obeys all hard clauses, with restarts that may take longer and longer.

        When the time is over, the world of an earlier chain stands in for one that was not found: late starts that are alike
        are better than no answer.
        """
        for attempt in range(RESTARTS):
            if self._walk.go(world, generator, self._flips * (attempt + 1), self._until):
                self._found = world.copy()
                return True
            if time.monotonic() > self._until:
                break
            self._walk.from_random(world, generator)
        if self._found is None:
            return False
        world[:] = self._found
        return True


def _deadline() -> float:
    """When the search has to end, by the monotonic clock."""
    own = cancellation.current()
    left = own.left
    if left is None or own.seconds is None:
        return math.inf
    return time.monotonic() + max(left - min(TELLING_SECONDS, own.seconds / 4), LEAST_SECONDS)
