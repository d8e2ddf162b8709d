"""K-means: seeds far from one another, then nearest centres and means in turn.

Its own, because the clusters must be a function of points and seed: where objects are alike, products of matrices decide between
centres that are equally near, and their last bits depend on processor and threads.
"""

from __future__ import annotations

from math import log

import numpy as np

from markovlogic.compression.dpmeans import MOST_PASSES, along_axes, largest, settled
from markovlogic.system.arrays import Float64, Int64
from markovlogic.system.cancellation import check

NOTHING = 1e-9  # squared distances below are rounding
MOST_REPAIRS = 10


def k_means(points: Float64, k: int, seed: int) -> Int64:
    """(n,) labels of k clusters, of at least as many different points."""
    points = along_axes(points)
    found = settled(points, _seeds(points, k, np.random.default_rng(seed)), seed=seed, passes=MOST_PASSES)
    for _ in range(MOST_REPAIRS):  # a cluster that all its points left is opened again at the point that is farthest from its own
        missing = k - len(found.centres)
        if not missing:
            break
        centres = found.centres
        far = ((points - centres[found.label]) ** 2).sum(axis=1)
        for _ in range(missing):
            at = largest(far)
            centres = np.concatenate([centres, points[at : at + 1]])
            far = np.minimum(far, ((points - points[at]) ** 2).sum(axis=1))
        found = settled(points, centres, seed=seed, passes=MOST_PASSES)
    return found.label


def _seeds(points: Float64, k: int, rng: np.random.Generator) -> Float64:
    """k-means++ (Arthur and Vassilvitskii 2007), greedy: of a few points drawn by squared distance the one that leaves least."""
    n, trials = len(points), 2 + int(log(k))
    square = (points**2).sum(axis=1)
    chosen = [int(rng.integers(n))]
    near = _squared(points, square, np.array(chosen))[0]
    while len(chosen) < k:
        check()
        drawn = np.searchsorted(np.cumsum(near), rng.random(trials) * near.sum(), side="right")
        left = np.minimum(near, _squared(points, square, np.minimum(drawn, n - 1)))
        best = largest(-left.sum(axis=1))
        chosen.append(int(min(drawn[best], n - 1)))
        near = left[best]
    return points[chosen]


def _squared(points: Float64, square: Float64, to: Int64) -> Float64:
    """(len(to), n) squared distances of some points to all."""
    made = square + square[to, None] - 2 * (points[to] @ points.T)
    return np.asarray(np.where(made > NOTHING, made, 0.0), np.float64)
