"""The search for a world that obeys all hard rules: bounded pieces of it, between which the run's deadline is checked."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from markovlogic.networks.ground import atom_rows, group_of, signed_atom_rows, with_definitions
from markovlogic.system import cancellation
from markovlogic.system.arrays import Bool, Int32, Int64, each_once, frozen, offsets

if TYPE_CHECKING:
    from markovlogic.networks.ground import GroundNetwork


NO_RULE = -1  # of a definition, and of clauses whose rule is not known


@dataclass(frozen=True, eq=False)
class HardPart:
    """Everything that a possible world must obey.

    Definitions of hidden atoms are among the clauses where a hard clause mentions a hidden atom; elsewhere hidden atoms follow
    from the others and need no clause.
    """

    clause_start: Int64
    clause_literal: Int32
    atom_start: Int64
    atom_clause: Int32
    group_start: Int64
    group_atom: Int32
    group_of: Int32  # (n_all,) -1 outside of groups
    value: npt.NDArray[np.int8]  # (n_all,) what hard unit clauses decide, -1 elsewhere
    has_hidden: bool
    clause_rule: Int32  # (n_clauses,) the rule that each clause comes from, or NO_RULE
    value_rule: Int32  # (n_decided,) the same of what decides atoms, in their order

    @property
    def n_clauses(self) -> int:
        """Ground hard clauses of two or more literals."""
        return len(self.clause_start) - 1

    @property
    def is_empty(self) -> bool:
        """Whether any world with one true atom a group, and decided atoms as decided, is possible."""
        return self.n_clauses == 0

    @property
    def clauses(self) -> tuple[Int64, Int32, Int64, Int32]:
        """The clauses as kernels take them."""
        return self.clause_start, self.clause_literal, self.atom_start, self.atom_clause

    @property
    def groups(self) -> tuple[Int64, Int32, Int32]:
        """The exclusive groups as kernels take them."""
        return self.group_start, self.group_atom, self.group_of

    @property
    def rules(self) -> Int32:
        """The rules that it comes from, as far as they are known."""
        known = np.concatenate([self.clause_rule, self.value_rule])
        return each_once(known[known != NO_RULE])

    def of_rules(self, rules: Int32) -> HardPart:
        """What some of the rules request; definitions and groups stay, and so does what is of no known rule."""
        stays = _among(self.clause_rule, rules)
        length = np.diff(self.clause_start)
        start = offsets(length[stays])
        literal = self.clause_literal[np.repeat(stays, length)]
        value = self.value.copy()
        value[np.flatnonzero(value >= 0)[~_among(self.value_rule, rules)]] = -1
        atom_start, atom_clause = atom_rows(start, literal, len(value))
        made = replace(
            self,
            clause_start=start,
            clause_literal=literal,
            atom_start=atom_start,
            atom_clause=atom_clause,
            value=value,
            clause_rule=self.clause_rule[stays],
            value_rule=self.value_rule[_among(self.value_rule, rules)],
        )
        return frozen(made)


def _among(rule: Int32, rules: Int32) -> Bool:
    among: Bool = np.isin(rule, rules) | (rule == NO_RULE)
    return among


def hard_part(network: GroundNetwork) -> HardPart:
    """Collect the hard part of a network."""
    first = int(network.clause_start[network.n_soft])
    start = network.clause_start[network.n_soft :] - first
    literal = network.clause_literal[first:]
    decided = np.isinf(network.atom_bias)
    value = np.where(decided, network.atom_bias > 0, -1).astype(np.int8)
    has_hidden = bool((literal >> 1 >= network.n_atoms).any() or decided[network.n_atoms :].any())
    if has_hidden:
        start, literal = with_definitions(network, start, literal)
    atom_start, atom_clause = atom_rows(start, literal, network.n_all)
    return frozen(
        HardPart(
            np.ascontiguousarray(start),
            literal,
            atom_start,
            atom_clause,
            network.group_start,
            network.group_atom,
            group_of(network),
            value,
            has_hidden,
            _padded(network.hard_rule, len(start) - 1),
            _padded(network.unit_rule, int(decided.sum())),
        )
    )


def _padded(rule: Int32, n: int) -> Int32:
    return np.concatenate([rule, np.full(n - len(rule), NO_RULE, np.int32)])


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
        start, clause, positive = signed_atom_rows(part.clause_start, part.clause_literal, len(value))
        incidence = frozen(2 * clause.astype(np.int64) + positive)
        kept, forced = frozen(np.ones(n, np.uint8)), frozen((value >= 0).astype(np.uint8))
        self._true_count, self._where, self._broken = np.zeros(n, np.int32), np.full(n, -1, np.int64), np.zeros(n, np.int64)
        self._n_broken = np.zeros(1, np.int64)
        counted = (self._true_count, self._where, self._broken, self._n_broken)
        self._fixed = (part.clause_start, part.clause_literal), part.groups, forced, (frozen(start), incidence, kept, *counted)
        self._flips_a_piece = 100
        self.flips = 0
        self.least = n  # the fewest broken clauses that were seen

    def compile(self) -> None:
        """Have the kernel compiled where it is not, so that no limit counts it as search."""
        self._walk(np.zeros(len(self._value), np.uint8), np.zeros(4, np.uint64), 0)

    def _walk(self, world: World, generator: Generator, flips: int) -> int:
        from markovlogic.kernels.local_search import walk_sat

        return int(walk_sat(*self._fixed, world, generator, NOISE, flips))

    def from_random(self, world: World, generator: Generator) -> None:
        """Let `world` be a random one, apart from what is decided."""
        from markovlogic.kernels.satisfy import random_world

        random_world(*self._part.groups, self._value, world, generator)

    def go(self, world: World, generator: Generator, flips: int, until: float) -> bool:
        """Walk from `world` for so many flips, or until a time of the monotonic clock; whether nothing is broken at the end."""
        true = world[self._part.clause_literal >> 1] == (self._part.clause_literal & 1)
        self._true_count[:] = np.add.reduceat(true, self._part.clause_start[:-1], dtype=np.int32)
        broken = np.flatnonzero(self._true_count == 0)
        self._n_broken[0] = len(broken)
        self._broken[: len(broken)] = broken
        self._where[broken] = np.arange(len(broken))
        while flips and self._n_broken[0]:
            piece, begun = min(flips, self._flips_a_piece), time.monotonic()
            self.least = min(self.least, self._walk(world, generator, piece))
            flips -= piece
            self.flips += piece
            now = time.monotonic()
            if now - begun < PIECE_SECONDS / 2:
                self._flips_a_piece *= 2
            elif now - begun > 2 * PIECE_SECONDS:
                self._flips_a_piece = max(1, self._flips_a_piece // 2)
            if now > until:
                break
            if self._n_broken[0]:
                _pause_for_others(self)
        return not self._n_broken[0]


def _pause_for_others(walk: Walk) -> None:
    """Between two pieces: stop a cancelled run, and report why it takes long."""
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
