"""Nearly uniform elements of a group that is given by generators: a random walk whose state its owner keeps."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from markovlogic.system.arrays import Int32
from markovlogic.system.checkpoint_validation import require_permutations

LEAST_SLOTS = 10
BURN_IN = 60  # steps of product replacement at least, papers.md 3.7
STEPS_A_SLOT = 8  # and so many for each slot, since every slot must have met the others


class ProductReplacement:
    """Slots that hold a generating set are multiplied into each other at random.

    After Celler, Leedham-Green, Murray, Niemeyer and O'Brien (1995), with the accumulator ("rattle") of Leedham-Green and
    Murray, which removes most of the bias of the slots themselves. The whole state is `rows`, the slots and then the rattle,
    which steps change in place: a chain that needs an element a draw keeps it, since a burn-in costs a hundred steps.
    """

    def __init__(self, rows: Int32) -> None:
        self.rows = rows

    @classmethod
    def begun(cls, generators: Sequence[Int32], n_points: int, rng: np.random.Generator) -> ProductReplacement:
        """A walk, burnt in."""
        n_slots = slots_for(generators)
        rows = np.empty((n_slots + 1, n_points), np.int32)
        for k in range(n_slots):
            rows[k] = generators[k % len(generators)]
        rows[-1] = np.arange(n_points)
        walk = cls(rows)
        for _ in range(max(BURN_IN, STEPS_A_SLOT * n_slots) if generators else 0):
            walk.step(rng)
        return walk

    def step(self, rng: np.random.Generator) -> Int32:
        """The next element."""
        slots: Int32 = self.rows[:-1]
        rattle: Int32 = self.rows[-1]
        n_slots = len(slots)
        if n_slots:
            i = int(rng.integers(n_slots))
            j = int(rng.integers(n_slots - 1))
            j += j >= i
            other = slots[j] if rng.integers(2) else inverse(slots[j])
            one = slots[i]
            # images compose as (first p, then q) = q[p]
            slots[i] = other[one] if rng.integers(2) else one[other]
            rattle[:] = slots[i][rattle] if rng.integers(2) else rattle[slots[i]]
        return rattle.copy()

    def check(self) -> None:
        """Rows that were read back are permutations."""
        require_permutations(self.rows, "walk in the group")


def slots_for(generators: Sequence[Int32]) -> int:
    """At least one slot beyond the generators: without room to spare some groups' walks are not connected."""
    return max(LEAST_SLOTS, len(generators) + 1) if generators else 0


def inverse(image: Int32) -> Int32:
    """The permutation that undoes another."""
    back = np.empty_like(image)
    back[image] = np.arange(len(image), dtype=image.dtype)
    return back
