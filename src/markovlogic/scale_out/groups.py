"""Components that are pairs of one equivalence relation over a few records: exact sums over all partitions of the records.

Elimination looks at pairs as if they were free, and gives up from six records on; partitions of nine records are 21,147. Every
world of the component is a partition, seen through its open pairs, since the rules about the relation are among its clauses.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

import numpy as np

from markovlogic.networks.ground import GroundNetwork
from markovlogic.system.arrays import Bool, Float64, Int8, Int32, Int64

MOST_RECORDS = 9
PARTITIONS = (1, 1, 2, 5, 15, 52, 203, 877, 4140, 21147)  # of so many records
SECONDS = 5e-9  # for a literal in one partition
Relations = Sequence[tuple[int, int]]  # first code of an equivalence relation, and how many constants there are


def pairs_of(relations: Relations, codes: Int64, network: GroundNetwork) -> tuple[int, Int64, Int64] | None:
    """Number of records, and the two of each atom, where the component is pairs of few records of one relation."""
    if network.n_hidden or len(network.group_atom) or not len(codes):
        return None
    for first, size in relations:
        if first <= codes[0] and codes[-1] < first + size * size:
            one, other = np.divmod(codes - first, size)
            records, place = np.unique(np.concatenate([one, other]), return_inverse=True)
            if len(records) <= MOST_RECORDS:
                place = place.reshape(-1)
                return len(records), place[: len(codes)], place[len(codes) :]
    return None


def seconds_of(n_records: int, network: GroundNetwork) -> float:
    """What a sum takes, about."""
    return PARTITIONS[n_records] * (network.n_atoms + len(network.clause_literal)) * SECONDS


def sums(
    n_records: int, one: Int64, other: Int64, network: GroundNetwork, events: Sequence[Sequence[Int32]]
) -> tuple[Float64, Float64]:
    """Probability of each atom, and of each event: cubes of literals of which one at most holds. Nan where no world exists."""
    label = partitions(n_records)
    world: Bool = label[:, one] == label[:, other]
    bias = network.atom_bias
    decided = np.isinf(bias)
    world = world[(world[:, decided] == (bias[decided] > 0)).all(axis=1)]
    length = np.diff(network.clause_start)
    hard = np.isinf(network.clause_weight)
    for of in np.unique(length[hard]).tolist():
        world = world[_holds(world, network, np.flatnonzero(hard & (length == of)), of).all(axis=1)]
    world = np.unique(world, axis=0)  # records whose pairs are not open may be together or not, and no open pair shows it
    weight: Float64 = np.asarray(world @ np.where(decided, 0.0, bias), np.float64)
    for of in np.unique(length[~hard]).tolist():
        clauses = np.flatnonzero(~hard & (length == of))
        weight = weight + _holds(world, network, clauses, of) @ network.clause_weight[clauses]
    if not len(world):
        return np.full(len(one), np.nan), np.full(len(events), np.nan)
    share = np.exp(weight - weight.max())
    share /= share.sum()
    met = [np.any([(world[:, cube >> 1] == (cube & 1)).all(axis=1) for cube in cubes], axis=0) for cubes in events]
    return share @ world, np.array([share @ own for own in met], np.float64)


def _holds(world: Bool, network: GroundNetwork, clauses: Int64, length: int) -> Bool:
    """(n_worlds, n_clauses) whether clauses of one length are true."""
    literal = network.clause_literal[network.clause_start[clauses][:, None] + np.arange(length)]
    true: Bool = np.zeros((len(world), len(clauses)), np.bool_)
    for column in literal.T:
        true |= world[:, column >> 1] == (column & 1)
    return true


@cache
def partitions(n: int) -> Int8:
    """(n_partitions, n) the group of each of n records; groups are numbered as they come."""
    label = np.zeros((1, 1), np.int8)
    for _ in range(1, n):
        most = label.max(axis=1)
        own = np.repeat(np.arange(len(label)), most + 2)
        first = np.cumsum(most + 2) - (most + 2)
        label = np.concatenate([label[own], (np.arange(len(own)) - first[own])[:, None].astype(np.int8)], axis=1)
    return label
