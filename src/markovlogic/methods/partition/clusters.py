"""One partition for an equivalence relation: the one that disagrees least with the pairs' probabilities, and how sure it is."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from markovlogic.networks.components import connected_parts
from markovlogic.system.arrays import Bool, Float64, Int32, Int64, offsets

ROUNDS = 200  # of improvement, at most
SURE = 0.05  # pairs whose probability is farther than this from 0 and 1 are uncertain


@dataclass(frozen=True, eq=False)
class Pairs:
    """Probabilities of pairs of constants, each pair once; pairs that are not listed are never together."""

    n: int  # constants
    one: Int32
    other: Int32
    probability: Float64
    stderr: Float64

    @staticmethod
    def of(n: int, code: Int64, probability: Float64, stderr: Float64) -> Pairs:
        """From atoms P(x,y) with code x·n + y: both orders, and x with itself, may be among them."""
        one, other = np.divmod(code, max(n, 1))
        apart = one != other
        low, high = np.minimum(one, other)[apart], np.maximum(one, other)[apart]
        _, first = np.unique(low * n + high, return_index=True)
        at = np.flatnonzero(apart)[first]
        return Pairs(n, low[first].astype(np.int32), high[first].astype(np.int32), probability[at], stderr[at])


@dataclass(frozen=True, eq=False)
class Clusters:
    """The cluster of each constant, numbered from 0 by their first members; how likely each cluster is exactly right."""

    label: Int32  # (n,)
    probability: Float64  # (n,) of the constant's cluster; nan where no draws were kept


def least_disagreeing(pairs: Pairs) -> Int32:
    """Labels of the partition with the least Σ |1[together] − p|: the best of two starts, improved by single moves."""
    from markovlogic.kernels.partition.agreeing import improve

    likely = pairs.probability > 0
    source = np.concatenate([pairs.one[likely], pairs.other[likely]])
    target = np.concatenate([pairs.other[likely], pairs.one[likely]])
    order = np.argsort(source, kind="stable")
    start = offsets(np.bincount(source, minlength=pairs.n))
    weight = np.tile(pairs.probability[likely], 2)[order]
    above = pairs.probability > 0.5
    _, joined = connected_parts(pairs.n, pairs.one[above], pairs.other[above])
    best: tuple[float, Int32] | None = None
    for first in (np.arange(pairs.n, dtype=np.int32), joined.astype(np.int32)):
        block, size = first.copy(), np.bincount(first, minlength=pairs.n).astype(np.int32)
        room = (np.zeros(pairs.n + 1, np.int32), np.zeros(pairs.n), np.zeros(pairs.n, np.int32))
        improve(start, target[order].astype(np.int32), weight, block, size, *room, ROUNDS)
        cost = disagreement(pairs, block)
        if best is None or cost < best[0]:
            best = (cost, block)
    assert best is not None
    return _numbered(best[1])


def disagreement(pairs: Pairs, label: npt.NDArray[np.integer]) -> float:
    """Σ |1[together] − p| over all pairs of constants."""
    size = np.bincount(label)
    together = label[pairs.one] == label[pairs.other]
    unlisted = float((size * (size - 1) // 2).sum() - together.sum())
    return unlisted + float(np.abs(together - pairs.probability).sum())


def _numbered(label: Int32) -> Int32:
    _, first, inverse = np.unique(label, return_index=True, return_inverse=True)
    rank = np.empty(len(first), np.int32)
    rank[np.argsort(first)] = np.arange(len(first))
    return rank[inverse]


def exactly_right(label: Int32, code: Int64, known: Bool, kept: Bool) -> Float64:
    """How often each constant's cluster was exactly a block: its pairs together, and no pair that leads out of it.

    code: of atoms x·n + y; kept: (n_draws, n_atoms) their values; known: (n,) constants of clusters that no draw can make right.
    """
    n = len(label)
    one, other = np.divmod(code, max(n, 1))
    inside = label[one] == label[other]
    wrong = np.zeros(int(label.max(initial=-1)) + 1)
    for draw in kept:
        bad = np.zeros(len(wrong), np.bool_)
        off = draw != inside
        bad[label[one[off]]] = True
        bad[label[other[off]]] = True
        wrong += bad
    right = 1 - wrong / max(len(kept), 1)
    return np.where(known, 0.0, right[label])
