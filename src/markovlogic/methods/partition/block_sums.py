"""Parts whose pairs weigh by themselves, summed over all of their partitions at the cost of their blocks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from markovlogic.kernels.partition.layout import Layout
from markovlogic.methods.partition.network import PartitionNetwork
from markovlogic.methods.partition.parts import Parts
from markovlogic.system import cancellation
from markovlogic.system.arrays import Bool, Float64, Int32, Int64, Words, frozen, offsets
from markovlogic.system.cancellation import current

MOST_NODES = 300  # of a part
MOST_BLOCKS, MOST_STATES = 200_000, 400_000  # of a part
MOST_STEPS = 3_000_000  # of a part
SURE_NODES = 14  # of a part that is never too costly: where all may be together, they take 2.4 million steps
STEPS_IN_ALL, STEPS_A_NODE = 20_000_000, 10_000
QUICK_STEPS = 20_000  # of a part, where something may be left out after that
LEAST_LIKELY = (1e-7, 1e-6, 1e-8, 1e-9)  # blocks and states that are left out are less likely: tried in turn
KEPT_AT_ONCE = 2_000_000  # blocks; more than one part has
PARTS_AT_ONCE = 500  # between looks at the clock


@dataclass(frozen=True, eq=False)
class BlockSums:
    """The parts that were summed, with their blocks and how likely these are."""

    part: Int64  # (n,) their numbers
    log_z: Float64  # (n,) against the world in which all nodes are alone
    error: Float64  # (n,) no probability is off by more, as unlikely blocks were left out; 0 where none were
    place: Int64  # (n_nodes,) of each node in its part; -1 elsewhere
    start: Int64  # (n + 1,) where the blocks of each part lie
    first: Int32  # the first node of each block
    mask: Words  # bits of its nodes, from the first on
    share: Float64

    def shares_of(self, part: Int64, first: Int64, mask: Words) -> Float64:
        """How likely each cluster is a block; part: its part, one of those that were summed."""
        from markovlogic.kernels.partition.block_sums import shares_of

        share, order = np.zeros(len(part)), np.argsort(self.part)
        at = order[np.searchsorted(self.part, part, sorter=order)]
        shares_of(at, first, mask, self.start, (self.first, self.mask, self.share), share)
        return share


def weigh_by_pairs(network: PartitionNetwork, parts: Parts) -> Bool:
    """(n_parts,) parts in which nothing but pairs weighs, and all nodes are related to themselves."""
    made = np.diff(np.searchsorted(np.sort(parts.of_node[network.node]), np.arange(parts.n_parts + 1))) > 0
    made[parts.of_row[network.mentioned]] = False
    made[parts.of_row[network.site]] = False
    made[parts.of_row[network.rows.group_atom]] = False
    made[parts.of_node[network.self_row >= 0]] = False
    return made


def surely_summed(network: PartitionNetwork, parts: Parts, wanted: Bool) -> Bool:
    """Those of the wanted parts that are so small that a sum by blocks does not fail."""
    size = np.bincount(parts.of_node[network.node], minlength=parts.n_parts)
    found: Bool = wanted & (size <= min(SURE_NODES, MOST_NODES)) & weigh_by_pairs(network, parts)
    return found


def sum_by_blocks(
    network: PartitionNetwork,
    parts: Parts,
    net: Layout,
    wanted: Bool,
    marginal: Float64,
    stop: float | None = None,
    error: float = 0.0,
) -> BlockSums:
    """Sum over wanted parts that weigh by pairs and are not too costly; `marginal` gets probabilities of their pairs.

    stop: seconds that are to be left to the run. error: by how much probabilities of a part that is large may be off, where that
    allows to leave out what is unlikely.
    """
    from markovlogic.kernels.partition.block_sums import sum_parts

    of_node = parts.of_node[network.node]
    size = np.bincount(of_node, minlength=parts.n_parts)
    left = wanted & (size <= MOST_NODES) & weigh_by_pairs(network, parts)
    order = np.argsort(of_node, kind="stable")
    member = network.node[order].astype(np.int64)
    start = np.searchsorted(of_node[order], np.arange(parts.n_parts + 1)).astype(np.int64)
    rooms, work = _room(network.n_nodes, int(size[left].max(initial=0)))
    limits = np.array([MOST_STEPS, STEPS_IN_ALL + STEPS_A_NODE * len(network.node), 0.0, error])
    out = np.empty(KEPT_AT_ONCE, np.int32), np.empty(KEPT_AT_ONCE, np.uint64), np.empty(KEPT_AT_ONCE)
    found: list[tuple[Any, ...]] = []
    passes = [(QUICK_STEPS, 0.0), *((MOST_STEPS, least) for least in LEAST_LIKELY)] if error else [(MOST_STEPS, 0.0)]
    for limits[0], limits[2] in passes:
        tried, done = np.flatnonzero(left), 0
        while done < len(tried) or not found:  # also of no parts: the first use of the method compiles what others need
            cancellation.check()
            if found and stop is not None and (current().left or 0.0) < stop:
                break
            own = tried[done : done + PARTS_AT_ONCE] if found else tried[:0]
            sums, blocks = np.empty((len(own), 2)), np.zeros(len(own) + 1, np.int64)
            n = int(sum_parts(net, own, start, member, rooms, work, marginal, sums, limits, blocks, out))
            fits = np.flatnonzero(~np.isnan(sums[:n, 0]))
            left[own[fits]] = False
            found.append((own[fits], sums[fits], np.diff(blocks[: n + 1])[fits], *(kind[: blocks[n]].copy() for kind in out)))
            done += n
    part, sums, n_blocks, first, mask, share = (np.concatenate(kind) for kind in zip(*found, strict=True))
    place = np.full(network.n_nodes, -1, np.int64)
    summed = np.zeros(parts.n_parts, np.bool_)
    summed[part] = True
    mine = summed[parts.of_node[member]]
    place[member[mine]] = (np.arange(len(member)) - start[parts.of_node[member]])[mine]
    return frozen(BlockSums(part, sums[:, 0], sums[:, 1], place, offsets(n_blocks), first, mask, share))


def _room(n_nodes: int, n: int) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
    """What one part after the other is summed in, of n nodes at most: nodes, pairs and blocks; and states with steps."""
    from markovlogic.kernels.partition.block_sums import REFERENCES, WIDTH

    deepest = WIDTH + 1
    tree = (
        np.empty((deepest, deepest), np.int64),
        np.empty((deepest, deepest)),
        np.empty((deepest, n), np.bool_),
        np.empty(deepest, np.int64),
        np.empty(deepest, np.uint64),
        np.empty(deepest),
    )
    rooms = (
        np.empty((n, n)),
        np.empty((n, n)),
        np.empty((n, n), np.int64),
        np.full(n_nodes, -1, np.int64),
        np.empty(n, np.int64),
        np.empty((2, n), np.bool_),
        np.empty(n),
        np.empty((REFERENCES, WIDTH)),
        tree,
        np.empty(n + 1, np.int64),
        np.empty(MOST_BLOCKS, np.uint64),
        *(np.empty(MOST_BLOCKS) for _ in range(3)),
    )
    states = (
        np.empty(MOST_STATES, np.uint64),
        np.empty(MOST_STATES, np.int64),
        np.empty(MOST_STATES, np.int64),
        np.empty(MOST_STATES),
        np.empty(MOST_STATES),
    )
    work = (
        states,
        (np.empty(n + 1, np.int64), *(np.empty(MOST_STATES, np.int64) for _ in range(3))),
        tuple(np.empty(MOST_STEPS, np.int32) for _ in range(2)),
        np.full(1 << (2 * MOST_STATES - 1).bit_length(), -1, np.int32),
        np.empty(REFERENCES, np.int64),
        np.zeros(3, np.int64),
    )
    return rooms, work
