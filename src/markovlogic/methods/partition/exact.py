"""Parts of a network that are small enough for a visit of all their worlds."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from markovlogic.kernels.partition.layout import Chain, Layout
from markovlogic.methods.partition.layout import layout_of, room_for
from markovlogic.methods.partition.network import PartitionNetwork
from markovlogic.methods.partition.parts import Parts
from markovlogic.system import cancellation
from markovlogic.system.arrays import Bool, Float64, Int8, Int64, each_once, frozen
from markovlogic.system.cancellation import current

MOST_NODES = 12  # of a part
MOST_PLACES = 16  # nodes, other atoms and groups of a part
MOST_WORLDS = 5_000_000  # of one part; 12 records that may all be together have 4.2 million partitions
MOST_IN_ALL = 20_000_000
_NODE, _SITE, _GROUP = 0, 1, 2  # as kernels.partition.enumeration
_NOTHING = np.zeros(0, np.float64)
_NO_CHOICES = np.zeros(0, np.int64)
_ALL = np.zeros(0, np.int8)  # no pair is pinned


@dataclass(frozen=True, eq=False)
class Solved:
    """The parts that were visited, and what was found there."""

    parts: Bool  # (n_parts,)
    marginal: Float64  # (n_all,) of rows of these parts; whatever elsewhere
    log_z: float  # where these are all parts in which anything moves


@dataclass(frozen=True, eq=False)
class _Visit:
    """Everything that a visit needs."""

    net: Layout
    chain: Chain
    elsewhere: Int64  # (n_parts,) hard clauses of other parts that are broken while nothing is placed
    log_weight: float  # of the world in which nothing is placed

    def __call__(self, part: int, places: Int64, pinned: Int8, top: float, marginal: Float64) -> tuple[int, float, float]:
        """Number of worlds (negative where it gave up), largest log-weight, and Σ exp(log-weight − top)."""
        return self._made(part, places, pinned, top, marginal, _NO_CHOICES)

    def heaviest(self, part: int, places: Int64) -> tuple[int, float, Int64]:
        """Number of worlds (negative where it gave up), largest log-weight, and the choices that lead there."""
        choice = np.zeros(len(places), np.int64)
        worlds, best, _ = self._made(part, places, _ALL, -np.inf, _NOTHING, choice)
        return worlds, best, choice

    def _made(
        self, part: int, places: Int64, pinned: Int8, top: float, marginal: Float64, heaviest: Int64
    ) -> tuple[int, float, float]:
        from markovlogic.kernels.partition.enumeration import visit_worlds

        room, choice = np.zeros((2, len(places) + 1)), np.zeros(len(places) + 1, np.int64)
        limits = np.array([top, MOST_WORLDS, self.elsewhere[part]])
        worlds, best, total = visit_worlds(self.net, self.chain, places, room, choice, pinned, limits, marginal, heaviest)
        return int(worlds), float(best), float(total)


def small_parts(network: PartitionNetwork, parts: Parts, wanted: Bool) -> Bool:
    """Those of the wanted parts that a visit is tried on."""
    size = np.bincount(parts.of_node[network.node], minlength=parts.n_parts)
    small: Bool = wanted & (size <= MOST_NODES) & (np.diff(_places(network, parts).start) <= MOST_PLACES)
    return small


def solve_parts(network: PartitionNetwork, parts: Parts, wanted: Bool, *, deadline_share: float | None = None) -> Solved:
    """Visit all worlds of the parts that are wanted and small enough; wanted: (n_parts,).

    deadline_share: of the time that is left to the run, after which the other parts are left alone.
    """
    left_at_first = current().left
    stop = None if left_at_first is None or deadline_share is None else left_at_first * (1 - deadline_share)
    places, visit = _places(network, parts), _prepared(network, parts)
    marginal, log_z = np.zeros(network.n_all), visit.log_weight
    done, worlds_left = np.zeros(parts.n_parts, np.bool_), MOST_IN_ALL
    visit(0, places.place[:0], _ALL, -np.inf, _NOTHING)  # one world: the first use of the method compiles what others need
    for part in np.flatnonzero(small_parts(network, parts, wanted)):
        cancellation.check()
        if worlds_left <= 0 or (stop is not None and (current().left or 0.0) < stop):
            break
        own = places.of(int(part))
        worlds, top, _ = visit(int(part), own, _ALL, -np.inf, _NOTHING)
        worlds_left -= abs(worlds)
        if worlds < 0 or top == -np.inf:  # too many; or none, which the search for a first world explains
            continue
        _, _, total = visit(int(part), own, _ALL, top, marginal)
        marginal[places.rows_of(network, own)] /= total
        log_z += top + math.log(total)
        done[part] = True
    marginal[network.rows.atom_bias == np.inf] = 1.0
    return frozen(Solved(done, marginal, log_z))


@dataclass(frozen=True, eq=False)
class Heaviest:
    """The parts that were visited, and a heaviest world of each."""

    parts: Bool  # (n_parts,)
    world: Bool  # (n_all,) rows of these parts; whatever elsewhere


def heaviest_worlds(network: PartitionNetwork, parts: Parts, wanted: Bool) -> Heaviest:
    """Visit all worlds of the parts that are wanted and small enough, and keep a heaviest one of each; wanted: (n_parts,)."""
    from markovlogic.kernels.partition.enumeration import settle

    places, visit = _places(network, parts), _prepared(network, parts)
    done, worlds_left = np.zeros(parts.n_parts, np.bool_), MOST_IN_ALL
    chosen: list[tuple[Int64, Int64]] = []
    for part in np.flatnonzero(small_parts(network, parts, wanted)):
        left = current().left
        if worlds_left <= 0 or current().cancelled or (left is not None and left <= 0):
            break
        own = places.of(int(part))
        worlds, top, choice = visit.heaviest(int(part), own)
        worlds_left -= abs(worlds)
        if worlds > 0 and top > -np.inf:  # else too many; or none, which the search for a first world explains
            chosen.append((own, choice))
            done[part] = True
    for own, choice in chosen:
        settle(visit.net, visit.chain, own, choice)
    return frozen(Heaviest(done, visit.chain.world[0] == 1))


@dataclass(frozen=True, eq=False)
class _Places:
    """Where choices are made in each part."""

    start: Int64  # (n_parts + 1,)
    place: Int64  # (n, 2)

    def of(self, part: int) -> Int64:
        return self.place[self.start[part] : self.start[part + 1]]

    @staticmethod
    def rows_of(network: PartitionNetwork, places: Int64) -> Int64:
        """All rows that choices at these places decide."""
        found = [places[places[:, 0] == _SITE, 1]]
        for node in places[places[:, 0] == _NODE, 1]:
            found.append(network.near_row[network.near_start[node] : network.near_start[node + 1]].astype(np.int64))
            found.append(network.self_row[node : node + 1].astype(np.int64))
        for group in places[places[:, 0] == _GROUP, 1]:
            rows = network.rows
            found.append(rows.group_atom[rows.group_start[group] : rows.group_start[group + 1]].astype(np.int64))
        every = each_once(np.concatenate(found))
        return every[every >= 0]


def _places(network: PartitionNetwork, parts: Parts) -> _Places:
    """Nodes of each part in their order, then single rows, then groups."""
    first_of_group = network.rows.group_atom[network.rows.group_start[:-1]]
    kinds = [(_NODE, network.node, parts.of_node[network.node])]
    kinds.append((_SITE, network.site, parts.of_row[network.site]))
    kinds.append((_GROUP, network.group, parts.of_row[first_of_group[network.group]]))
    kind = np.concatenate([np.full(len(item), word) for word, item, _ in kinds])
    item = np.concatenate([item for _, item, _ in kinds]).astype(np.int64)
    part = np.concatenate([part for _, _, part in kinds])
    order = np.argsort(part, kind="stable")
    start = np.searchsorted(part[order], np.arange(parts.n_parts + 1))
    return _Places(start.astype(np.int64), np.stack([kind, item], axis=1)[order].astype(np.int64))


def _prepared(network: PartitionNetwork, parts: Parts) -> _Visit:
    """A world in which nothing is placed, and what is broken there part by part."""
    from markovlogic.kernels.partition.enumeration import prepare

    net, chain, rows = layout_of(network), room_for(network, 1), network.rows
    chain.world[0, : rows.n_atoms] = rows.atom_bias[: rows.n_atoms] == np.inf
    prepare(net, chain, 0)
    false = np.flatnonzero(chain.count[0][rows.n_soft :] == 0) + rows.n_soft
    own = np.bincount(parts.of_clause[false], minlength=parts.n_parts)
    wrong = np.isinf(rows.atom_bias) & ((rows.atom_bias > 0) != (chain.world[0] == 1))
    own += np.bincount(parts.of_row[wrong], minlength=parts.n_parts)
    holds = chain.count[0][: rows.n_soft] > 0
    liked = rows.atom_bias[np.isfinite(rows.atom_bias) & (chain.world[0] == 1)]  # of hidden rows
    log_weight = rows.log_constant + float(rows.clause_weight[: rows.n_soft] @ holds) + float(liked.sum())
    return _Visit(net, chain, chain.broken[0, 0] - own, log_weight)


def probability_of(network: PartitionNetwork, parts: Parts, pairs: Int8, part: int) -> float:
    """How likely it is that pairs of a part, given as 0 or 1 by row and -1 elsewhere, are as they are given."""
    places, visit = _places(network, parts), _prepared(network, parts)
    own = places.of(part)
    _, top, _ = visit(part, own, _ALL, -np.inf, _NOTHING)
    _, _, total = visit(part, own, _ALL, top, _NOTHING)
    _, _, share = visit(part, own, pairs, top, _NOTHING)
    return share / total


def blocks_exactly(network: PartitionNetwork, parts: Parts, done: Bool, label: Int64, first_node: int) -> Float64:
    """How likely it is that clusters are blocks, for nodes of visited parts; nan elsewhere.

    label: (n,) the cluster of each of the nodes from `first_node` on.
    """
    places, visit = _places(network, parts), _prepared(network, parts)
    right, pinned = np.full(len(label), np.nan), np.full(network.n_all, -1, np.int8)
    of_node = parts.of_node[first_node : first_node + len(label)]
    mine = np.flatnonzero(done[of_node])
    order = mine[np.lexsort((label[mine], of_node[mine]))]
    ends = np.flatnonzero(np.diff(of_node[order], append=-1))
    start = 0
    for end in (ends + 1).tolist():
        cancellation.check()
        nodes, part = order[start:end], int(of_node[order[start]])
        start = end
        own = places.of(part)
        _, top, _ = visit(part, own, _ALL, -np.inf, _NOTHING)
        _, _, total = visit(part, own, _ALL, top, _NOTHING)
        for cluster in each_once(label[nodes]):
            members = first_node + nodes[label[nodes] == cluster]
            rows = []
            for node in members:
                near = slice(network.near_start[node], network.near_start[node + 1])
                pinned[network.near_row[near]] = np.isin(network.near_node[near], members)
                rows.append(network.near_row[near])
            _, _, share = visit(part, own, pinned, top, _NOTHING)
            right[members - first_node] = share / total
            pinned[np.concatenate(rows)] = -1
    return right
