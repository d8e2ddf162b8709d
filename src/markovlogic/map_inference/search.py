"""MaxWalkSAT on a ground network: tries side by side, the best world of each component kept."""

from __future__ import annotations

import time
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from markovlogic.map_inference.settings import SearchSettings
from markovlogic.methods.sampling.irreducible import hidden_reach
from markovlogic.networks.components import Components, components
from markovlogic.networks.ground import GroundNetwork, group_of
from markovlogic.running.worker_pool import WorkerPool, cores
from markovlogic.system.arrays import Bool, Float64, Int32, Int64, frozen, offsets
from markovlogic.system.cancellation import Deadline, current
from markovlogic.system.progress import SILENT, Progress

PIECE_SECONDS = 0.1
FLIPS_AN_ATOM = 100  # of a try, by default
LEAST_FLIPS = 500  # of a component, likewise
UNIT_BITS = 58  # all costs together stay below 2 to this
UNREACHED = np.iinfo(np.int64).max

World = npt.NDArray[np.uint8]


@dataclass(frozen=True, eq=False)
class SearchNetwork:
    """A network as the kernel takes it: clauses of a component side by side, unit clauses among them, costs as integers."""

    clauses: tuple[Int64, Int32, Int64, npt.NDArray[np.uint8], Int64, Int64, Int32, Int64]
    groups: tuple[Int64, Int32, Int32]
    hidden: tuple[Int64, Int64, Int32, Int64, Int32]
    simple: Bool
    parts: Components
    part_clause: Int64
    heaviest: Int64

    @cached_property
    def sizes(self) -> Int64:
        """Atoms of each component, hidden ones too."""
        return np.diff(self.parts.start)

    @property
    def n_clauses(self) -> int:
        """Clauses, unit clauses included."""
        return len(self.clauses[2])

    @property
    def n_all(self) -> int:
        """Open and hidden atoms."""
        return len(self.simple)


def search_network(network: GroundNetwork) -> SearchNetwork:
    """Prepare a network without decided atoms."""
    parts = components(network)
    unit = np.flatnonzero(network.atom_bias)
    start = np.concatenate([network.clause_start, network.clause_start[-1] + 1 + np.arange(len(unit))])
    literal = np.concatenate([network.clause_literal, 2 * unit + (network.atom_bias[unit] > 0)]).astype(np.int32)
    weight = np.concatenate([network.clause_weight, np.abs(network.atom_bias[unit])])
    part_of = parts.component_of[literal[start[:-1]] >> 1]
    order = np.argsort(part_of, kind="stable")
    lengths = np.diff(start)[order]
    new_start = offsets(lengths)
    literal = literal[np.repeat(start[:-1][order] - new_start[:-1], lengths) + np.arange(len(literal))]
    row = np.repeat(np.arange(len(order)), lengths)
    by_atom = np.argsort(literal >> 1, kind="stable")
    incidence = (2 * row[by_atom] + (literal[by_atom] & 1)).astype(np.int64)
    atom_start = offsets(np.bincount(literal >> 1, minlength=network.n_all))
    weight = weight[order]
    cost = _costs(weight, literal, row, network.n_all)
    part_clause = offsets(np.bincount(part_of, minlength=parts.n_components))
    heaviest = np.ones(parts.n_components, np.int64)
    np.maximum.at(heaviest, part_of[order], cost)
    sites = np.arange(network.n_all + 1, dtype=np.int64)
    at_row = row[by_atom]
    first = literal[new_start[at_row]]
    other = np.where(lengths[at_row] == 2, first ^ literal[new_start[at_row] + lengths[at_row] - 1] ^ literal[by_atom], -1)
    reach_start, reach = hidden_reach(network, sites, np.arange(network.n_all, dtype=np.int32))
    simple = (np.diff(reach_start) == 0) & ~_has_mate(network, literal, row)
    made = SearchNetwork(
        (
            new_start,
            literal,
            cost,
            np.isinf(weight).astype(np.uint8),
            atom_start,
            incidence,
            other.astype(np.int32),
            cost[at_row],
        ),
        (network.group_start, network.group_atom, group_of(network)),
        (np.array([network.n_atoms]), network.definition_start, network.definition_literal, reach_start, reach),
        simple,
        parts,
        part_clause,
        heaviest,
    )
    for arrays in (made.clauses, made.groups, made.hidden):
        frozen(arrays)
    return frozen(made)


def _costs(weight: Float64, literal: Int32, row: Int64, n_all: int) -> Int64:
    """Costs as integers; a hard clause outweighs all soft ones that its heaviest atom is in."""
    is_hard = np.isinf(weight)
    soft = np.where(is_hard, 0.0, weight)
    around = np.bincount(literal >> 1, weights=soft[row], minlength=n_all).max(initial=0.0)
    hard = 2.0 * around if around > 0 else 1.0
    full = np.where(is_hard, hard, soft)
    total = float(full.sum())
    if total <= 0.0:
        return np.zeros(len(weight), np.int64)
    return np.maximum(np.rint(full * (2.0**UNIT_BITS / total)), 1).astype(np.int64)


def _has_mate(network: GroundNetwork, literal: Int32, row: Int64) -> Bool:
    """Atoms that share a clause with another value of their own group."""
    mate = np.zeros(network.n_all, np.bool_)
    if not network.n_groups:
        return mate
    group = group_of(network)[literal >> 1].astype(np.int64)
    inside = np.flatnonzero(group >= 0)
    key = row[inside] * network.n_groups + group[inside]
    _, number, count = np.unique(key, return_inverse=True, return_counts=True)
    mate[literal[inside[count[number] > 1]] >> 1] = True
    return mate


class Walk:
    """One try: a walk that can be stopped between pieces; the same seed goes the same way."""

    def __init__(self, net: SearchNetwork, flips: Int64, noise: float, world: World, generator: npt.NDArray[np.uint64]) -> None:
        self._net, self._noise, self._generator = net, noise, generator
        n = net.n_clauses
        self.world, self.best = world, world.copy()
        self._tally = np.zeros(9, np.int64)
        self._work = (
            np.zeros(n, np.int32),
            np.zeros(n, np.int32),
            np.zeros(net.n_all, np.int64),
            np.zeros(n, np.int64),
            np.zeros(n, np.int64),
            self._tally,
        )
        self._journal = np.zeros(max(net.n_all, 1), np.int32)
        self.cost_of = np.full((net.parts.n_components, 2), UNREACHED, np.int64)
        self._parts = (net.parts.start, net.parts.atom, net.part_clause, frozen(flips), net.heaviest)
        self.is_over = False

    @property
    def flips(self) -> int:
        """Flips that were made."""
        return int(self._tally[8])

    def go(self, flips: int) -> None:
        """Walk on for so many flips."""
        from markovlogic.kernels.maxwalksat import BEST_COST, BEST_HARD, COMPONENT, DONE, max_walk

        net, tally = self._net, self._tally
        self.is_over = bool(
            max_walk(
                net.clauses,
                net.groups,
                net.hidden,
                net.simple,
                self._parts,
                self._work,
                self.world,
                self.best,
                self._journal,
                self.cost_of,
                self._generator,
                self._noise,
                flips,
            )
        )
        if not self.is_over and tally[DONE]:
            self.cost_of[tally[COMPONENT]] = tally[BEST_HARD], tally[BEST_COST]

    def run(self, deadline: Deadline) -> None:
        """Walk to the end, or until the time is over or the run is cancelled."""
        piece = 1000
        while not self.is_over:
            begun = time.monotonic()
            self.go(piece)
            took = time.monotonic() - begun
            if took < PIECE_SECONDS / 2:
                piece *= 2
            elif took > 2 * PIECE_SECONDS:
                piece = max(100, piece // 2)
            if deadline.cancelled or (deadline.left is not None and deadline.left <= 0):
                return


@dataclass(frozen=True, eq=False)
class SearchResult:
    """What the tries found together."""

    world: Bool  # (n_all,) the best of each component
    flips: int
    tries: int  # that were begun
    is_whole: bool  # every try went to its end


def flips_of(net: SearchNetwork, flips: int | None) -> Int64:
    """Flips of a try in each component: what was given shared out by atoms, or so many an atom."""
    sizes = net.sizes
    if flips is None:
        return np.maximum(LEAST_FLIPS, FLIPS_AN_ATOM * sizes).astype(np.int64)
    return np.maximum(1, np.ceil(flips * (sizes / max(int(sizes.sum()), 1)))).astype(np.int64)


def search(
    network: GroundNetwork,
    start: list[World],
    settings: SearchSettings,
    *,
    threads: int | None = None,
    progress: Progress = SILENT,
) -> SearchResult:
    """Run a try from each of the worlds (n_all,) of a network without decided atoms.

    What is found depends on the seed and not on the number of threads, unless time or deadline end.
    """
    from markovlogic.kernels.random import scalar_generator

    net = search_network(network)
    flips = flips_of(net, settings.flips)
    seeds = np.random.SeedSequence([settings.seed, 1]).spawn(len(start))
    deadline = current()
    walks: list[Walk] = []
    best = start[0].copy()
    cost = np.full((net.parts.n_components, 2), UNREACHED, np.int64)
    progress.stage("search", len(start))
    n_threads = min(len(start), cores() if threads is None else threads)
    made = 0
    with WorkerPool(n_threads) as pool:
        for begin in range(0, len(start), n_threads):
            if begin and (deadline.cancelled or (deadline.left is not None and deadline.left <= 0)):
                break
            at = range(begin, min(begin + n_threads, len(start)))
            walks = [Walk(net, flips, settings.noise, start[i], scalar_generator(seeds[i])) for i in at]
            pool.each(lambda walk: walk.run(deadline), walks)
            for walk in walks:
                _take_better(net, best, cost, walk)
                made += walk.flips
            progress.advance(begin + len(walks), f"{made:,} flips")
    whole = all(walk.is_over for walk in walks) and begin + len(walks) == len(start)
    return SearchResult(best.astype(np.bool_), made, begin + len(walks), whole)


def _take_better(net: SearchNetwork, best: World, cost: Int64, walk: Walk) -> None:
    """Take over the components in which a try got further: fewer broken hard clauses, then less cost."""
    better = (walk.cost_of[:, 0] < cost[:, 0]) | ((walk.cost_of[:, 0] == cost[:, 0]) & (walk.cost_of[:, 1] < cost[:, 1]))
    cost[better] = walk.cost_of[better]
    chosen = better[net.parts.component_of]
    best[chosen] = walk.best[chosen]
