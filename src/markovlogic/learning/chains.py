"""Worlds of a training database sampled at given weights, 64 chains at once, and how often each rule is true in them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from markovlogic.grounding.rows import Rows, concatenated, order_of
from markovlogic.learning.counts import CountingRows, true_literals
from markovlogic.learning.partitions import PartitionChains
from markovlogic.methods.sampling.gibbs import Gibbs, GibbsSampler, GibbsState
from markovlogic.networks.ground import GroundNetwork, atom_rows
from markovlogic.system import cancellation
from markovlogic.system.arrays import Bool, Float64, Int64, Words, frozen

CHAINS = 64
UPDATES_AT_ONCE = 100_000_000  # of atoms, between looks at the time


@dataclass(frozen=True, eq=False)
class WeightedNetwork:
    """The ground network of a database as a function of the weights: clauses, each with a row of what it counts for.

    log weight = Σ_a world[a]·(per_atom @ w + atom_offset)[a] + Σ_c 1[clause c]·(per_clause @ w + clause_offset)[c] + constant.
    Clause weights may be negative, which Gibbs kernels take.
    """

    counting: CountingRows
    n_features: int
    rows: Rows  # clauses of two or more literals, each once
    per_clause: Any  # CSR, (n_clauses, n_features)
    clause_offset: Float64  # of kept weights
    per_atom: Any  # CSR, (n_atoms, n_features)
    atom_offset: Float64
    hard: Rows  # of two or more literals
    must: Bool  # (n_atoms,) hard unit clauses
    must_not: Bool

    @cached_property
    def _structure(self) -> tuple[Rows, Int64, Any]:
        rows = concatenated([self.rows, self.hard])
        return rows, *atom_rows(rows.start, rows.literal, len(self.must))

    def network(self, weights: Float64, *, clamped: Bool | None = None) -> GroundNetwork:
        """The network at these weights. clamped: atoms that keep the value they have in the data."""
        rows, atom_start, atom_clause = self._structure
        bias = self.per_atom @ weights + self.atom_offset
        bias[self.must], bias[self.must_not] = np.inf, -np.inf
        if clamped is not None:
            truth = self.counting.database.truth
            bias[clamped & truth], bias[clamped & ~truth] = np.inf, -np.inf
            bias[self.counting.database.excluded] = -np.inf
        weight = np.concatenate([self.per_clause @ weights + self.clause_offset, np.full(len(self.hard), np.inf)])
        none = np.zeros(0, np.int32)
        return frozen(
            GroundNetwork(
                n_atoms=len(bias),
                clause_start=rows.start,
                clause_literal=rows.literal,
                clause_weight=weight,
                atom_bias=bias,
                atom_start=atom_start,
                atom_clause=atom_clause,
                group_start=self.counting.group_start,
                group_atom=self.counting.group_atom,
                definition_start=np.zeros(1, np.int64),
                definition_literal=none,
                definition_rule=none,
                log_constant=0.0,
            )
        )

    def counts_in(self, world: Bool) -> Float64:
        """N of each feature in one world, up to a constant that no world changes."""
        true = self.per_atom.T @ world.astype(np.float64)
        if len(self.rows):
            row = np.repeat(np.arange(len(self.rows), dtype=np.int64), self.rows.length)
            holds = np.bincount(row[true_literals(self.rows, world)], minlength=len(self.rows)) > 0
            true = true + self.per_clause.T @ holds.astype(np.float64)
        return np.asarray(true, np.float64)

    def _clause_words(self, world: Words) -> Words:
        """Which chains make each clause true."""
        literal = self.rows.literal
        words = world[literal >> 1] ^ np.where(literal & 1 == 1, np.uint64(0), np.uint64(0xFFFFFFFFFFFFFFFF))
        return np.asarray(np.bitwise_or.reduceat(words, self.rows.start[:-1]) if len(self.rows) else words, np.uint64)

    def expected(self, probability: Float64, world: Words, n_chains: int = CHAINS) -> Float64:
        """The mean of N over chains; probability: (n_atoms,) of atoms, that of clauses is read off the worlds."""
        found = self.per_atom.T @ probability
        if len(self.rows):
            true = self._clause_words(world) & np.uint64((1 << n_chains) - 1)
            found = found + self.per_clause.T @ np.bitwise_count(true).astype(np.float64) / n_chains
        return np.asarray(found, np.float64)

    def counts_of_chains(self, world: Words) -> Float64:
        """N of every chain, (n_features, 64)."""
        made = self.per_atom.T @ _bits(world[: len(self.must)])
        if len(self.rows):
            made = made + self.per_clause.T @ _bits(self._clause_words(world))
        return np.asarray(made, np.float64)

    @cached_property
    def _couples(self) -> Bool:
        """(n_clauses,) which clauses hold two modelled atoms that are not values of one group."""
        units = self.counting.group
        if not len(self.rows):
            return np.zeros(0, bool)
        atom = self.rows.literal >> 1
        unit = np.where(units[atom] >= 0, -1 - units[atom], atom)
        first = np.repeat(unit[self.rows.start[:-1]], self.rows.length)
        return np.asarray(np.logical_or.reduceat(unit != first, self.rows.start[:-1]), np.bool_)

    @property
    def is_coupled(self) -> bool:
        """Whether a clause ties two modelled atoms together, or transitivity does: else each atom stands for itself."""
        return bool(self._couples.any()) or self.counting.partitions is not None

    @property
    def is_coupling(self) -> Bool:
        """(n_features,) weights of clauses that tie two modelled atoms together."""
        found = np.zeros(self.n_features, bool)
        found[self.per_clause[np.flatnonzero(self._couples)].indices] = True
        return found


def _bits(words: Words) -> Float64:
    """(n, 64) of zeros and ones."""
    shift = np.arange(CHAINS, dtype=np.uint64)
    return ((words[:, None] >> shift) & np.uint64(1)).astype(np.float64)


def weighted_network(counting: CountingRows, n_features: int) -> WeightedNetwork:
    """Merge the clauses of a database: unit clauses count for atoms, equal ones are one."""
    from scipy import sparse

    rows, feature, count = counting.clauses.rows, counting.clauses.feature, counting.clauses.count
    n_atoms = len(counting.offset)
    unit = np.flatnonzero(rows.length == 1)
    literal = rows.literal[rows.start[:-1][unit]]
    signed = np.where(literal & 1 == 1, count[unit], -count[unit])
    atom_offset = counting.offset.copy()
    kept = feature[unit] < 0
    np.add.at(atom_offset, literal[kept] >> 1, signed[kept])
    per_atom = sparse.csr_array((signed[~kept], (literal[~kept] >> 1, feature[unit][~kept])), shape=(n_atoms, n_features))
    longer = np.flatnonzero(rows.length > 1)
    several, of, number = rows.take(longer), feature[longer], count[longer]
    order, same = order_of(several)
    clause = np.empty(len(several), np.int64)
    clause[order] = np.cumsum(~same) - 1
    merged = several.take(order[~same])
    kept = of < 0
    clause_offset = np.bincount(clause[kept], number[kept], minlength=len(merged)).astype(np.float64)
    per_clause = sparse.csr_array((number[~kept], (clause[~kept], of[~kept])), shape=(len(merged), n_features))
    single = np.flatnonzero(counting.hard.length == 1)
    decided = counting.hard.literal[counting.hard.start[:-1][single]]
    must, must_not = np.zeros(n_atoms, bool), np.zeros(n_atoms, bool)
    must[decided[decided & 1 == 1] >> 1] = True
    must_not[decided[decided & 1 == 0] >> 1] = True
    hard = counting.hard.take(np.flatnonzero(counting.hard.length > 1))
    for made in (per_atom, per_clause):
        made.sum_duplicates()
    return WeightedNetwork(counting, n_features, merged, per_clause, clause_offset, per_atom, atom_offset, hard, must, must_not)


def chains_of(network: WeightedNetwork, seed: np.random.SeedSequence, clamped: Bool | None = None) -> Chains | PartitionChains:
    """Chains over partitions where hard rules make relations equivalence relations, else over atoms."""
    if network.counting.partitions is None:
        return Chains(network, seed, clamped)
    assert clamped is None  # atoms are hidden nowhere
    return PartitionChains(network, seed)


class Chains:
    """64 chains of one database that go on while the weights change."""

    n_chains = CHAINS

    def __init__(self, network: WeightedNetwork, seed: np.random.SeedSequence, clamped: Bool | None = None) -> None:
        self.network, self._clamped = network, clamped
        self._seed = seed
        self._state: GibbsState | None = None
        self.updates = 0  # atoms that were drawn, in all chains
        self._last: tuple[Float64, GibbsSampler] | None = None

    def sampler(self, weights: Float64) -> GibbsSampler:
        """Gibbs sampling at these weights; made once for the same array."""
        if self._last is None or self._last[0] is not weights:
            self._last = weights, GibbsSampler(Gibbs(), self.network.network(weights, clamped=self._clamped), CHAINS)
        return self._last[1]

    def sweep(self, weights: Float64, sweeps: int, beta: Float64 | None = None) -> Words:
        """Go on for some sweeps at these weights, fewer where the time is over; gives the worlds.

        beta: of each chain, see `GibbsSampler.sweep`.
        """
        sampler = self.sampler(weights)
        if self._state is None:
            self._state = sampler.init(self._seed)
        n_drawn = len(self.network.must) if self._clamped is None else int(np.count_nonzero(~self._clamped))
        at_once = max(1, UPDATES_AT_ONCE // (CHAINS * max(1, n_drawn)))
        done = 0
        while done < sweeps and not (done and cancellation.current().over):
            now = min(at_once, sweeps - done)
            if beta is None:
                sampler.sweep(self._state, now)
            else:
                sampler.sweep(self._state, now, beta=beta.astype(np.float32))
            done += now
            cancellation.check()
        self.updates += done * CHAINS * n_drawn
        return self._state.world

    @property
    def observed(self) -> Float64:
        """N in the data."""
        return self.network.counts_in(self.network.counting.database.truth)

    def mean_counts(self, weights: Float64, sweeps: int) -> Float64:
        """The mean of N over 64 chains after some more sweeps."""
        world = self.sweep(weights, sweeps)
        return self.network.expected(np.bitwise_count(world[: len(self.network.must)]) / CHAINS, world)

    def counts(self, weights: Float64, sweeps: int) -> Float64:
        """(n_features, n_chains) N of every chain after some more sweeps."""
        return self.network.counts_of_chains(self.sweep(weights, sweeps))
