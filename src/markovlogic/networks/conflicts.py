"""Which hard rules conflict, where no world that obeys all of them was found: as few of them as a bounded search shows."""

from __future__ import annotations

import time
from dataclasses import dataclass

import numpy as np

from markovlogic.errors import InputError
from markovlogic.networks.hard_part import TELLING_SECONDS, HardPart, Value, Walk
from markovlogic.system.arrays import Int32
from markovlogic.system.cancellation import current

FLIPS = 20_000  # of each trial, and a few more for each clause
FLIPS_A_CLAUSE = 4
LEAST_SECONDS = 0.3  # however late it is
SEED = 0  # what is reported does not depend on the seed of the run


@dataclass(frozen=True, eq=False)
class Conflict:
    """Rules that no world was found to obey together."""

    rules: Int32  # numbers of rules; none where they are not known
    is_proven: bool  # they contradict each other; else no world was found, though there may be one
    is_least: bool  # without any one of them a world was found
    has_groups: bool  # exclusive arguments play a part, or may
    n_clauses: int  # ground hard rules of all rules
    flips: int  # of the search, 0 where no search was needed
    least_broken: int  # ground rules that were broken in the best world


class NoWorldError(InputError):
    """No world that obeys the hard rules was found; `conflict` shows more, for those who can name rules."""

    def __init__(self, conflict: Conflict) -> None:
        self.conflict = conflict
        super().__init__(what_happened(conflict), hint="give one of the hard rules a weight, or correct the evidence")


def what_happened(conflict: Conflict) -> str:
    """The sentence that shows it, without the rules."""
    if conflict.is_proven:
        return "no world satisfies the hard rules and the evidence"
    return (
        f"no world that satisfies the hard rules and the evidence was found in {conflict.flips:,} flips of WalkSAT: at best "
        f"{conflict.least_broken:,} of {conflict.n_clauses:,} ground hard rules were broken; they contradict each other, or "
        "worlds that obey them are rare"
    )


def no_world(part: HardPart, *, flips: int = 0, least_broken: int = 0) -> NoWorldError:
    """The error, with the smallest conflict that is found in a short time."""
    trials, left = _Trials(part), current().left
    seconds = TELLING_SECONDS if left is None else min(TELLING_SECONDS, max(left, LEAST_SECONDS))
    rules, is_least = trials.least(time.monotonic() + seconds)
    is_proven = trials.contradicts(rules)
    groups = len(part.group_start) > 1
    return NoWorldError(Conflict(rules, is_proven, is_least, groups, part.n_clauses, flips, least_broken))


class _Trials:
    """Sets of rules, tried one after the other."""

    def __init__(self, part: HardPart) -> None:
        self._part = part
        self._until = 0.0

    def least(self, until: float) -> tuple[Int32, bool]:
        """A set of rules that conflict, and whether each was shown to be needed before the time was over.

        Blocks of rules are left out, half of them at first and single ones at the end; what conflicts without them does not need
        them.
        """
        self._until = until
        rules, size = self._part.rules, max(1, len(self._part.rules) // 2)
        if len(rules) < 2:
            return rules, True
        while True:
            at = 0
            while at < len(rules):
                fewer = np.delete(rules, slice(at, at + size))
                conflicts = self.conflicts(fewer) if time.monotonic() < until else None
                if conflicts is None:
                    return rules, False
                if conflicts:
                    rules = fewer
                else:
                    at += size
            if size == 1:
                return rules, True
            size //= 2

    def conflicts(self, rules: Int32) -> bool | None:
        """Whether no world that obeys the rules is found; None when the time is over before that is known."""
        part = self._part.of_rules(rules)
        value = part.value.copy()
        if not propagates(part, value):
            return True
        if part.is_empty:
            return False
        from markovlogic.kernels.random import scalar_generator

        generator = scalar_generator(np.random.SeedSequence(SEED))
        walk, world = Walk(part, value), np.zeros(len(value), np.uint8)
        walk.from_random(world, generator)
        if walk.go(world, generator, FLIPS + FLIPS_A_CLAUSE * part.n_clauses, self._until):
            return False
        return True if time.monotonic() < self._until else None

    def contradicts(self, rules: Int32) -> bool:
        """Whether unit propagation shows that the rules contradict each other."""
        part = self._part.of_rules(rules)
        return not propagates(part, part.value.copy())


def propagates(part: HardPart, value: Value) -> bool:
    """Extend what is decided by unit propagation over clauses and groups; False when they contradict each other."""
    from markovlogic.kernels.satisfy import propagate

    return bool(propagate(*part.clauses, *part.groups, value))
