"""The most probable world where hard rules make predicates equivalence relations: the best partition.

Small parts of the network of pairs are solved by a visit of all their worlds, the others by annealing over partitions; integer
programs then prove these or improve them, as far as their records' triples can be listed: whoever is together with two is
together with both. So nothing of the three axioms is ever grounded where search has to do.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from markovlogic.map_inference.restricting import decided_by_hard_rules, restricted
from markovlogic.map_inference.settings import SearchSettings
from markovlogic.map_inference.solve import Optimum, Work, gap_of, prove_by_programs
from markovlogic.map_inference.weighing import holds, is_possible, log_weight, most_conceivable, with_hidden
from markovlogic.methods.partition.exact import heaviest_worlds
from markovlogic.methods.partition.network import PartitionNetwork
from markovlogic.methods.partition.parts import Parts, only
from markovlogic.methods.sampling.partition import Partition, PartitionSampler, PartitionState, require_partitions
from markovlogic.networks.ground import GroundNetwork, atom_rows
from markovlogic.system import cancellation
from markovlogic.system.arrays import Bool, Float64, Int32, Int64, Words, frozen, offsets, unpacked
from markovlogic.system.cancellation import Deadline, current
from markovlogic.system.measures import without_collection
from markovlogic.system.progress import SILENT, Progress

if TYPE_CHECKING:
    from markovlogic.kernels.partition.layout import Layout


SWEEPS = 60  # of a try, by default
COOLING, GREEDY = (0.2, 8.0), 1e4  # inverse temperatures: from, to; and of the last sweeps
GREEDY_SHARE = 0.15
GREEDY_FIRST = 1  # the entry of `methods.sampling.partition.STARTS` that the first try starts with


@dataclass(frozen=True, eq=False)
class FoundPartition:
    """The best world of all tries, part by part."""

    world: Bool  # (n_all,) rows
    visits: int  # of nodes, other atoms and groups
    tries: int  # that were begun


def search_partitions(
    network: PartitionNetwork, moving: PartitionNetwork, parts: Parts, settings: SearchSettings, *, progress: Progress = SILENT
) -> FoundPartition:
    """Anneal from blocks that grow greedily, from large and from small ones, until all tries are done or the time is over.

    moving: the network as far as it is to be searched; network and parts: the whole.
    """
    best, own = _Best(network, parts), current()
    sampler = PartitionSampler(Partition(), moving, 1)
    betas = _schedule(moving, settings)
    visits, tries, a_sweep = 0, 0, len(moving.node) + len(moving.site) + len(moving.group)
    progress.stage("search partitions", settings.tries * len(betas))
    for number, seed in enumerate(np.random.SeedSequence([settings.seed, 3]).spawn(settings.tries)):
        if number and _is_over(own):
            break
        state = sampler.init(seed, GREEDY_FIRST + number)
        tries += 1
        best.take(state.world)
        own.has_answer = True  # a cancelled run returns it
        walk = _Walk(sampler, state)
        for at, beta in enumerate(betas):
            if _is_over(own):
                walk.sweep(GREEDY)
                visits += a_sweep
                break
            walk.sweep(float(beta))
            visits += a_sweep
            progress.advance(number * len(betas) + at + 1)
        best.take(state.world)
    return FoundPartition(best.world, visits, tries)


def part_weights(network: PartitionNetwork, parts: Parts, world: Bool) -> Float64:
    """(n_parts,) what the rows and soft clauses of each part add to the log-weight of a world (n_all,)."""
    rows = network.rows
    liked = np.flatnonzero(world & np.isfinite(rows.atom_bias))
    weight: Float64 = np.zeros(parts.n_parts)
    weight += np.bincount(parts.of_row[liked], weights=rows.atom_bias[liked], minlength=parts.n_parts)
    soft = rows.n_soft
    true = holds(rows.clause_start[: soft + 1], rows.clause_literal[: int(rows.clause_start[soft])], world)
    clause = np.flatnonzero(true)
    weight += np.bincount(parts.of_clause[clause], weights=rows.clause_weight[clause], minlength=parts.n_parts)
    return weight


class _Best:
    """The heaviest world of each part so far."""

    def __init__(self, network: PartitionNetwork, parts: Parts) -> None:
        self._network, self._parts = network, parts
        self._weight = np.full(parts.n_parts, -np.inf)
        self.world = np.zeros(network.n_all, np.bool_)

    def take(self, words: Words) -> None:
        """Keep what is better in the world of the only chain."""
        world = unpacked(words, 1)[0]
        weight = part_weights(self._network, self._parts, world)
        better = weight > self._weight
        self._weight[better] = weight[better]
        row = better[self._parts.of_row]
        self.world[row] = world[row]


class _Walk:
    """One chain, at any temperature."""

    def __init__(self, sampler: PartitionSampler, state: PartitionState) -> None:
        self._sampler, self._state = sampler, state

    def sweep(self, beta: float) -> None:
        self._sampler.step_by(self._scaled(beta), self._state)

    def _scaled(self, beta: float) -> Layout:
        layout = self._sampler.layout
        return frozen(layout._replace(bias=layout.bias * beta, far=layout.far * beta, clause_weight=layout.clause_weight * beta))


def _schedule(network: PartitionNetwork, settings: SearchSettings) -> Float64:
    """Inverse temperatures, one a sweep."""
    moves = len(network.node) + len(network.site) + len(network.group)
    sweeps = SWEEPS if settings.flips is None else max(1, settings.flips // max(moves, 1))
    greedy = max(1, int(GREEDY_SHARE * sweeps))
    return np.concatenate([np.geomspace(*COOLING, max(0, sweeps - greedy)), np.full(greedy, GREEDY)])


def _is_over(own: Deadline) -> bool:
    return own.cancelled or (own.left is not None and own.left <= 0)


MOST_TRIPLES = 2_000_000  # of records that may be together, for integer programs
KERNELS = ("partition.sweep:partition_draws", "partition.starts:grow_blocks", "partition.enumeration:visit_worlds")
BY_LISTING, BY_SEARCH, BY_PROGRAM = "enumerate", "partition", "ilp"


def maximize_partitions(network: PartitionNetwork, parts: Parts, work: Work) -> Optimum:
    """The best world within the deadline; raises NoWorldError where no world is found that has every node alone."""
    _compile(network, parts, work)
    work.progress.stage("solve")
    small = heaviest_worlds(network, parts, parts.moves)
    left = parts.moves & ~small.parts
    world, used = small.world.copy(), Counter({BY_LISTING: int(np.count_nonzero(small.parts))})
    visits, tries, gap = 0, 0, 0.0
    if left.any():
        moving = only(network, parts, left)
        found = search_partitions(network, moving, parts, work.search, progress=work.progress)
        visits, tries, own = found.visits, found.tries, left[parts.of_row]
        world[own] = found.world[own]
        world, gap = _proved(network, parts, left, world, work, used)
    full = with_hidden(network.rows, world[: network.rows.n_atoms])
    assert is_possible(network.rows, full)
    require_partitions(network, full.astype(np.uint64), 1)
    weight = log_weight(network.rows, full)
    return Optimum(
        world=full[network.row_of],
        log_weight=weight,
        bound=weight + gap if gap > 0.0 else weight,
        is_proved=gap <= 0.0,
        flips=visits,
        tries=tries,
        used=dict(+used),
        interrupted=cancellation.current().cancelled,
        remarks=(_remark(network, used),),
    )


def _compile(network: PartitionNetwork, parts: Parts, work: Work) -> None:
    """The first use of the kernels on a machine: they are compiled, and the time does not count."""
    from markovlogic.kernels import are_cold

    if are_cold(KERNELS):
        work.progress.stage("compile kernels (once on this machine, some 20 to 60 s)")
        with cancellation.current().paused(), without_collection():
            heaviest_worlds(network, parts, np.zeros(parts.n_parts, np.bool_))
            nothing = only(network, parts, np.zeros(parts.n_parts, np.bool_))
            search_partitions(network, nothing, parts, SearchSettings(tries=2, flips=1))


def _remark(network: PartitionNetwork, used: Counter[str]) -> str:
    """One line on what was done."""
    names = " and ".join(each.relation.predicate for each in network.relations)
    are = "are equivalence relations" if len(network.relations) > 1 else "is an equivalence relation"
    return f"{names} {are} by hard rules: of {used.total():,} parts, {used[BY_LISTING]:,} were solved by all of their partitions"


def _proved(
    network: PartitionNetwork, parts: Parts, left: Bool, world: Bool, work: Work, used: Counter[str]
) -> tuple[Bool, float]:
    """The world of parts that were searched, proved or improved where feasible; and by how much another may be heavier."""
    size = np.diff(network.near_start)[left[parts.of_node]].astype(np.int64)
    feasible = work.method.programs and int((size * (size - 1) // 2).sum()) <= MOST_TRIPLES
    rows = _with_triples(network, left[parts.of_node]) if feasible else network.rows
    value = decided_by_hard_rules(rows)
    others = ~left[parts.of_row]
    value[others] = world[others]
    rest = restricted(rows, value)
    known = world[rest.atom]
    if not feasible:
        used[BY_SEARCH] += int(np.count_nonzero(left))
        return world, gap_of(rest.network, known, most_conceivable(rest.network))
    best, gap, how = prove_by_programs(rest.network, known, work)
    used[BY_PROGRAM] += how[BY_PROGRAM]
    used[BY_SEARCH] += how.total() - how[BY_PROGRAM]
    return rest.expanded(best), gap


def _with_triples(network: PartitionNetwork, wanted: Bool) -> GroundNetwork:
    """The rows with hard clauses that make pairs a partition, of the wanted nodes (n_nodes,); each triple from its middle.

    For y that may be with x and z: together with both, those are together, or cannot be. Without reflexivity, who is together
    with another one is related to itself.
    """
    n, start = network.n_nodes, network.near_start
    node = np.repeat(np.arange(n, dtype=np.int64), np.diff(start))
    entry = np.flatnonzero(wanted[node])
    later = start[node[entry] + 1] - entry - 1  # of the same node
    first = np.repeat(entry, later)
    second = first + 1 + np.arange(len(first)) - np.repeat(offsets(later)[:-1], later)
    pair = network.near_node[first].astype(np.int64) * n + network.near_node[second]
    key = node * n + network.near_node
    at = np.minimum(np.searchsorted(key, pair), max(len(key) - 1, 0))
    may = key[at] == pair if len(key) else np.zeros(0, np.bool_)
    apart = [2 * network.near_row[first], 2 * network.near_row[second]]
    open_ = np.stack([part[may] for part in (*apart, 2 * network.near_row[at] + 1)], axis=1)
    closed = np.stack([part[~may] for part in apart], axis=1)
    related = entry[network.self_row[node[entry]] >= 0]
    own = np.stack([2 * network.near_row[related], 2 * network.self_row[node[related]] + 1], axis=1)
    return _with_hard(network.rows, [open_, closed, own])


def _with_hard(rows: GroundNetwork, clauses: list[Int32]) -> GroundNetwork:
    """More hard clauses, in tables of equal length; the rules that they come from are not reported."""
    sizes = np.concatenate([np.diff(rows.clause_start), *(np.full(len(table), table.shape[1]) for table in clauses)])
    start: Int64 = offsets(sizes)
    literal = np.concatenate([rows.clause_literal, *(table.ravel() for table in clauses)]).astype(np.int32)
    weight = np.concatenate([rows.clause_weight, np.full(sum(map(len, clauses)), np.inf)])
    atom_start, atom_clause = atom_rows(start, literal, rows.n_all)
    return frozen(
        replace(
            rows,
            clause_start=start,
            clause_literal=literal,
            clause_weight=weight,
            atom_start=atom_start,
            atom_clause=atom_clause,
            hard_rule=np.zeros(0, np.int32),
            unit_rule=np.zeros(0, np.int32),
        )
    )
