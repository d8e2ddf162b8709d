"""Parts whose pairs weigh by themselves, summed over all of their partitions at the cost of their blocks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from markovlogic.kernels.partition.layout import Layout
from markovlogic.methods.partition.network import PartitionNetwork
from markovlogic.methods.partition.parts import Parts
from markovlogic.system import cancellation
from markovlogic.system.arrays import Bool, Float64, Int64, Words, frozen
from markovlogic.system.cancellation import current

MOST_NODES = 63  # of a part: bits of a mask
MOST_BLOCKS, MOST_STATES = 200_000, 400_000  # of a part
MOST_STEPS = 3_000_000  # of a part
SURE_NODES = 14  # of a part that is never too costly: where all may be together, they take 2.4 million steps
STEPS_IN_ALL, STEPS_A_NODE = 20_000_000, 2_000
KEPT_AT_ONCE = 2_000_000  # blocks; more than one part has
PARTS_AT_ONCE = 500  # between looks at the clock


@dataclass(frozen=True, eq=False)
class BlockSums:
    """The parts that were summed, with their blocks and how likely these are."""

    part: Int64  # (n,) their numbers, increasing
    log_z: Float64  # (n,) against the world in which all nodes are alone
    bit: Int64  # (n_nodes,) the bit of each node in masks of its part; -1 elsewhere
    start: Int64  # (n + 1,) where the blocks of each part lie
    mask: Words
    share: Float64

    def shares_of(self, part: Int64, mask: Words) -> Float64:
        """How likely each cluster is a block; part: its part, one of those that were summed."""
        from markovlogic.kernels.partition.block_sums import shares_of

        share = np.zeros(len(part))
        shares_of(np.searchsorted(self.part, part), mask, self.start, self.mask, self.share, share)
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
    network: PartitionNetwork, parts: Parts, net: Layout, wanted: Bool, marginal: Float64, stop: float | None = None
) -> BlockSums:
    """Sum over wanted parts that weigh by pairs and are not too costly; `marginal` gets probabilities of their pairs.

    stop: seconds that are to be left to the run.
    """
    from markovlogic.kernels.partition.block_sums import sum_parts

    of_node = parts.of_node[network.node]
    size = np.bincount(of_node, minlength=parts.n_parts)
    tried = np.flatnonzero(wanted & (size <= MOST_NODES) & weigh_by_pairs(network, parts))
    order = np.argsort(of_node, kind="stable")
    member = network.node[order].astype(np.int64)
    start = np.searchsorted(of_node[order], np.arange(parts.n_parts + 1)).astype(np.int64)
    rooms, work = _room(network.n_nodes)
    limits = np.array([MOST_STEPS, STEPS_IN_ALL + STEPS_A_NODE * len(network.node)], np.int64)
    found: list[tuple[Any, ...]] = []
    begin = -1  # the first chunk is empty: the first use of the method compiles what others need
    while begin < len(tried):
        own = tried[max(begin, 0) : max(begin, 0) + PARTS_AT_ONCE] if begin >= 0 else tried[:0]
        cancellation.check()
        if stop is not None and (current().left or 0.0) < stop:
            break
        log_z, blocks = np.full(len(own), np.nan), np.zeros(len(own) + 1, np.int64)
        mask, share = np.empty(KEPT_AT_ONCE, np.uint64), np.empty(KEPT_AT_ONCE)
        done = int(sum_parts(net, own, start, member, rooms, work, marginal, log_z, limits, blocks, mask, share))
        fits = np.flatnonzero(~np.isnan(log_z[:done]))
        n_blocks = np.diff(np.append(blocks[:done], blocks[done]))[fits]
        found.append((own[fits], log_z[fits], n_blocks, mask[: blocks[done]].copy(), share[: blocks[done]].copy()))
        begin = max(begin, 0) + done
        if not len(tried):
            break
    part, log_z, n_blocks, mask, share = (np.concatenate(kind) for kind in zip(*found, strict=True)) if found else _nothing()
    bit = np.full(network.n_nodes, -1, np.int64)
    summed = np.zeros(parts.n_parts, np.bool_)
    summed[part] = True
    mine = summed[parts.of_node[member]]
    bit[member[mine]] = (np.arange(len(member)) - start[parts.of_node[member]])[mine]
    return frozen(BlockSums(part, log_z, bit, np.concatenate([[0], np.cumsum(n_blocks)]).astype(np.int64), mask, share))


def _nothing() -> tuple[Any, ...]:
    return np.zeros(0, np.int64), np.zeros(0), np.zeros(0, np.int64), np.zeros(0, np.uint64), np.zeros(0)


def _room(n_nodes: int) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
    """What one part after the other is summed in: pairs, nodes and blocks; and states with the steps between them."""
    n = MOST_NODES
    rooms = (
        np.empty((n, n)),
        np.full(n_nodes, -1, np.int64),
        np.empty(n, np.int64),
        np.empty(n, np.int64),
        np.empty(n + 1, np.int64),
        np.empty(n + 1, np.int64),
        np.empty(n + 1, np.int64),
        np.empty(MOST_BLOCKS, np.uint64),
        np.empty(MOST_BLOCKS),
        np.empty(MOST_STATES),
        np.empty(MOST_STATES),
        np.empty(MOST_BLOCKS),
    )
    table = np.full(1 << (2 * MOST_STATES - 1).bit_length(), -1, np.int32)
    states = [np.empty(MOST_STATES, np.int64) for _ in range(4)]
    steps = [np.empty(MOST_STEPS, np.int32) for _ in range(2)]
    link, order, begin, end = states
    work = (
        np.empty(MOST_STATES, np.uint64),
        link,
        np.empty(n, np.int64),
        table,
        order,
        begin,
        end,
        *steps,
        np.zeros(3, np.int64),
    )
    return rooms, work
