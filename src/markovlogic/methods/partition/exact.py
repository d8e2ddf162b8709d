"""Parts of a network that are cheap enough for a sum over all their worlds."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from markovlogic.kernels.partition.layout import Chain, Layout
from markovlogic.methods.partition.block_sums import BlockSums, sum_by_blocks
from markovlogic.methods.partition.layout import layout_of, room_for
from markovlogic.methods.partition.network import PartitionNetwork
from markovlogic.methods.partition.parts import Parts
from markovlogic.system import cancellation
from markovlogic.system.arrays import Bool, Float64, Int64, frozen
from markovlogic.system.cancellation import current

MOST_NODES = 12  # of a part
MOST_PLACES = 16  # nodes, other atoms and groups of a part
MOST_WORLDS = 5_000_000  # of one part; 12 records that may all be together have 4.2 million partitions
MOST_IN_ALL = 20_000_000
WORLDS_A_NODE = 200  # beside these
PARTS_AT_ONCE = 500  # visited in one go, between looks at the clock
_NODE, _SITE, _GROUP = 0, 1, 2  # as kernels.partition.enumeration
_NOTHING = np.zeros(0, np.float64)
_ALL = np.zeros(0, np.int8)  # no pair is pinned


@dataclass(frozen=True, eq=False)
class Solved:
    """The parts that were visited, and what was found there."""

    parts: Bool  # (n_parts,)
    marginal: Float64  # (n_all,) of rows of these parts; whatever elsewhere
    log_z: float  # where these are all parts in which anything moves
    top: Float64  # (n_parts,) largest log-weight of a world of each, against the world in which nothing is placed
    total: Float64  # (n_parts,) sum of exp(log-weight - top)
    sums: BlockSums  # of those of these parts that were summed by blocks


@dataclass(frozen=True, eq=False)
class _Visit:
    """Everything that a visit needs."""

    net: Layout
    chain: Chain
    elsewhere: Int64  # (n_parts,) hard clauses of other parts that are broken while nothing is placed
    log_weight: float  # of the world in which nothing is placed

    def heaviest(self, part: int, places: Int64) -> tuple[int, float, Int64]:
        """Number of worlds (negative where it gave up), largest log-weight, and the choices that lead there."""
        from markovlogic.kernels.partition.enumeration import visit_worlds

        (room, path, limits), choice = self.room(len(places)), np.zeros(len(places), np.int64)
        limits[:] = -np.inf, MOST_WORLDS, self.elsewhere[part]
        worlds, best, _ = visit_worlds(self.net, self.chain, places, room, path, _ALL, limits, _NOTHING, choice)
        return int(worlds), float(best), choice

    @staticmethod
    def room(n: int) -> tuple[Float64, Int64, Float64]:
        """What a visit of n places works in: sums and choices by depth, and limits."""
        return np.zeros((2, n + 1)), np.zeros(n + 1, np.int64), np.array([0.0, MOST_WORLDS, 0.0])


def small_parts(network: PartitionNetwork, parts: Parts, wanted: Bool) -> Bool:
    """Those of the wanted parts that a visit is tried on."""
    size = np.bincount(parts.of_node[network.node], minlength=parts.n_parts)
    small: Bool = wanted & (size <= MOST_NODES) & (np.diff(_places(network, parts).start) <= MOST_PLACES)
    return small


def solve_parts(
    network: PartitionNetwork, parts: Parts, wanted: Bool, *, deadline_share: float | None = None, error: float = 0.0
) -> Solved:
    """Sum over all worlds of the parts that are wanted and cheap enough; wanted: (n_parts,).

    Parts whose pairs weigh by themselves are summed by blocks, others by a visit of all worlds.
    deadline_share: of the time that is left to the run, after which the other parts are left alone.
    error: as for `sum_by_blocks`.
    """
    left_at_first = current().left
    stop = None if left_at_first is None or deadline_share is None else left_at_first * (1 - deadline_share)
    from markovlogic.kernels.partition.enumeration import visit_parts

    places, visit = _places(network, parts), _prepared(network, parts)
    marginal, log_z = np.zeros(network.n_all), visit.log_weight
    done, worlds_left = np.zeros(parts.n_parts, np.bool_), MOST_IN_ALL + WORLDS_A_NODE * len(network.node)
    top, total = np.zeros(parts.n_parts), np.ones(parts.n_parts)
    sums = sum_by_blocks(network, parts, visit.net, wanted, marginal, stop, error)
    done[sums.part] = True
    log_z += float(sums.log_z.sum())
    room = visit.room(int(np.diff(places.start).max(initial=0)))
    part = np.flatnonzero(small_parts(network, parts, wanted & ~done))
    # the first chunk is empty: the first use of the method compiles what others need
    for begin in range(-PARTS_AT_ONCE, len(part), PARTS_AT_ONCE):
        own = part[max(begin, 0) : begin + PARTS_AT_ONCE] if begin >= 0 else part[:0]
        cancellation.check()
        if worlds_left <= 0 or (stop is not None and (current().left or 0.0) < stop):
            break
        found = np.zeros((len(own), 3))
        visit_parts(visit.net, visit.chain, own, places.start, places.place, *room, visit.elsewhere, marginal, found)
        worlds_left -= int(np.abs(found[:, 0]).sum())
        fits = found[:, 0] > 0  # else too many; or none, which the search for a first world explains
        done[own[fits]] = True
        top[own[fits]], total[own[fits]] = found[fits, 1], found[fits, 2]
        log_z += float((found[fits, 1] + np.log(found[fits, 2])).sum())
    marginal /= total[parts.of_row]
    marginal[network.rows.atom_bias == np.inf] = 1.0
    return frozen(Solved(done, marginal, log_z, top, total, sums))


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


def blocks_exactly(network: PartitionNetwork, parts: Parts, solved: Solved, label: Int64, first_node: int) -> Float64:
    """How likely it is that clusters are blocks, for nodes of solved parts; nan elsewhere.

    label: (n,) the cluster of each of the nodes from `first_node` on; no cluster has nodes of two parts.
    """
    from markovlogic.kernels.partition.block_sums import WIDTH
    from markovlogic.kernels.partition.enumeration import visit_clusters

    places, visit = _places(network, parts), _prepared(network, parts)
    part_of, moving = parts.of_node[first_node : first_node + len(label)], np.zeros(network.n_nodes, np.bool_)
    moving[network.node] = True
    solves = solved.parts[part_of] & moving[first_node : first_node + len(label)]
    right, summed = np.full(len(label), np.nan), solved.sums.place[first_node : first_node + len(label)] >= 0
    mine = np.flatnonzero(solves & summed)
    if len(mine):
        _, one, inverse = np.unique(label[mine], return_index=True, return_inverse=True)
        place = solved.sums.place[first_node + mine]
        first, mask = np.full(len(one), len(label)), np.zeros(len(one), np.uint64)
        np.minimum.at(first, inverse, place)
        bit = place - first[inverse]
        np.bitwise_or.at(mask, inverse, np.uint64(1) << np.minimum(bit, WIDTH - 1).astype(np.uint64))
        share = solved.sums.shares_of(part_of[mine[one]].astype(np.int64), first, mask)
        share[inverse[bit >= WIDTH]] = 0.0  # no block is so wide
        right[mine] = share[inverse]
    mine = np.flatnonzero(solves & ~summed)
    mine = mine[np.argsort(label[mine], kind="stable")]
    first = np.flatnonzero(np.diff(label[mine], prepend=-1))
    part, share = part_of[mine[first]], np.zeros(len(first))
    start = np.append(first, len(mine)).astype(np.int64)
    node, pinned = (first_node + mine).astype(np.int32), np.zeros(network.n_nodes, np.int8)
    room = visit.room(int(np.diff(places.start).max(initial=0)))
    for begin in range(0, len(first), PARTS_AT_ONCE):
        cancellation.check()
        own = slice(begin, min(begin + PARTS_AT_ONCE, len(first)))
        visit_clusters(
            visit.net,
            visit.chain,
            part[own].astype(np.int64),
            places.start,
            places.place,
            *room,
            visit.elsewhere,
            solved.top[part[own]],
            start[own.start : own.stop + 1],
            node,
            pinned,
            share[own],
        )
    right[mine] = np.repeat(share / solved.total[part], np.diff(start))
    return right
