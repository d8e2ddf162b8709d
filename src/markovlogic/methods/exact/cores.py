"""The k-core of a graph, with arrays: what is left when vertices of degree below k are taken away again and again.

Every order of elimination meets a first vertex of the core, whose neighbours in it are all still there; so a graph with a k-core
has treewidth k or more (Bodlaender & Koster, Treewidth computations II: lower bounds, 2011).
"""

from __future__ import annotations

import numpy as np

from markovlogic.methods.exact.effort import Effort
from markovlogic.system.arrays import Int64

_SLOW = 0.9  # share of the edges that is left by a round from which on only what changes is looked at
_ROUND = 30.0  # steps of effort of such a round


def core(n: int, source: Int64, target: Int64, k: int, effort: Effort | None = None) -> Int64:
    """The vertices of the k-core. Edges may be repeated: that is settled for those that are left when counting them all."""
    source, target = _thinned(n, *_without_loops(source, target), k)
    source, target = distinct(n, source, target)
    before = -1
    while len(source) != before:
        before = len(source)
        source, target = _thinned(n, source, target, k)
        if len(source) > _SLOW * before:
            return _peeled(n, source, target, k, effort or Effort())
    return np.zeros(0, np.int64) if k > 0 else np.arange(n)


def distinct(n: int, source: Int64, target: Int64) -> tuple[Int64, Int64]:
    """Each edge once, the smaller vertex first, sorted; without loops."""
    source, target = _without_loops(source, target)
    key = np.sort(np.minimum(source, target).astype(np.int64) * n + np.maximum(source, target))
    first = np.ones(len(key), bool)
    np.not_equal(key[1:], key[:-1], out=first[1:])
    return np.divmod(key[first], max(n, 1))


def _without_loops(source: Int64, target: Int64) -> tuple[Int64, Int64]:
    apart = source != target
    return source[apart], target[apart]


def _thinned(n: int, source: Int64, target: Int64, k: int) -> tuple[Int64, Int64]:
    """Edges between vertices of degree k or more."""
    high = np.bincount(source, minlength=n) + np.bincount(target, minlength=n) >= k
    inside = high[source] & high[target]
    return source[inside], target[inside]


def _peeled(n: int, source: Int64, target: Int64, k: int, effort: Effort) -> Int64:
    """The core of a graph that shrinks slowly: each round looks at the neighbours of those that leave, and at nothing else."""
    both = np.concatenate([source, target])
    degree = np.bincount(both, minlength=n)
    left = np.ones(n, bool)
    leaving = np.nonzero(degree < k)[0]
    left[leaving] = False
    leaving = leaving[degree[leaving] > 0]
    if not len(leaving):
        return np.nonzero(left)[0]
    other = np.concatenate([target, source])[np.argsort(both, kind="stable")]
    start, length = np.cumsum(degree) - degree, degree.copy()
    while len(leaving):
        effort.spend(_ROUND)
        count = length[leaving]
        at = np.repeat(start[leaving] - (np.cumsum(count) - count), count) + np.arange(count.sum())
        near, lost = np.unique(other[at], return_counts=True)
        degree[near] -= lost
        leaving = near[left[near] & (degree[near] < k)]
        left[leaving] = False
    return np.nonzero(left)[0]
