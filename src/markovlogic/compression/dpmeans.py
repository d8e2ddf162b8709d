"""DP-means and the search for its penalty ([000] Algorithms 1 and 2).

The objective is Σ ‖x − μ‖² + λ·(number of clusters) (Eq. 3). A pass puts each point into its nearest cluster, or into a new one
where the squared distance is above λ; then centres are means again. Both steps lower the objective. [000]'s Algorithm 1 leaves
out the centres and compares plain distances (papers.md 2.8).

Which λ is right follows from the bits that it takes to write the evidence down by blocks (papers.md 2.6): those that tell which
atoms of a block are true, false and unknown, given how many are, and those that tell how many. Fine groups save the former and
cost the latter.

NP-Cluster lowers λ until the evidence that groups override (E_G) is below β₁, as long as the blocks that a sampler visits (S_G)
are fewer than β₂. Where the second bound breaks first, the paper returns the partition that broke it; here the last one that did
not is returned, with a note (papers.md 2.6). In place of the blind schedule the λ's that matter can be read off the
farthest-first radii of the points, and searched by halving (papers.md 3.9).

Objects that are alike make ties, between centres and between radii. What decides them is the order of points and centres, never
the last bits of a product, which another processor or another number of threads rounds otherwise: a partition is a function of
evidence and seed.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from markovlogic.system.arrays import Float64, Int64
from markovlogic.system.cancellation import check

MOST_PASSES = 50
SEARCH_PASSES = 10  # of each penalty that is tried
MOST_RADII = 4000
MOST_ONWARDS = 8
COARSE = 24  # penalties of the first look
SMALLEST = 1e-12  # relative to the largest squared radius: below it all distinct points are apart
DIGITS = 9  # of squared radii, those behind are rounding


@dataclass(frozen=True, eq=False)
class Clusters:
    """A clustering with its centres, and the objective after every step that led to it."""

    label: Int64  # (n_points,)
    centres: Float64  # (n_clusters, n_features)
    objective: list[float] = field(repr=False)


def dp_means(
    points: Float64, penalty: float, *, seed: int = 0, centres: Float64 | None = None, passes: int = MOST_PASSES
) -> Clusters:
    """Clusters of points under a penalty on squared distances; starts at the mean, or at centres of a larger penalty.

    DP-means never merges, so centres of a smaller penalty are of no use.
    """
    n = len(points)
    if not n or not points.shape[1]:
        return Clusters(np.zeros(n, np.int64), np.zeros((min(n, 1), points.shape[1])), [penalty * min(n, 1)])
    start = points.mean(axis=0, keepdims=True) if centres is None else centres
    return settled(points, start, seed=seed, passes=passes, limit=penalty, penalty=penalty)


def settled(
    points: Float64, centres: Float64, *, seed: int, passes: int, limit: float = np.inf, penalty: float = 0.0
) -> Clusters:
    """Points to their nearest centres and centres to the means of their points, in turn, until nothing changes.

    limit: of squared distances, beyond which a point is the centre of a cluster of its own. penalty: of the objective, for each
    cluster.
    """
    from markovlogic.kernels.clustering import assign

    points = np.ascontiguousarray(points)
    n, current = len(points), centres
    order = np.random.default_rng(seed).permutation(n)
    label, before = np.zeros(n, np.int64), np.full(n, -1, np.int64)
    objective: list[float] = []
    for _ in range(passes):
        check()
        room = np.zeros((len(current) + n, points.shape[1]))
        room[: len(current)] = current
        count = assign(points, order, limit, room, len(current), label)
        objective.append(_objective(points, label, room[:count], penalty))
        _, label = np.unique(label, return_inverse=True)  # empty clusters go
        label = label.reshape(-1).astype(np.int64)
        size = np.bincount(label).astype(np.float64)
        current = np.stack([np.bincount(label, column) for column in points.T], axis=1) / size[:, None]
        objective.append(_objective(points, label, current, penalty))
        if np.array_equal(label, before):
            break
        before = label.copy()
    return Clusters(label, current, objective)


def _objective(points: Float64, label: Int64, centres: Float64, penalty: float) -> float:
    return float(((points - centres[label]) ** 2).sum() + penalty * len(centres))


def farthest_first(points: Float64, most: int = MOST_RADII) -> Float64:
    """Squared radii about the mean, then about it and the farthest point, and so on (Gonzalez 1985); decreasing."""
    if not len(points) or not points.shape[1]:
        return np.zeros(0)
    distance = ((points - points.mean(axis=0)) ** 2).sum(axis=1)
    radii: list[float] = []
    while len(radii) < most:
        at = largest(distance)
        if distance[at] <= SMALLEST * max(radii[:1], default=1.0):
            break
        radii.append(float(f"{distance[at]:.{DIGITS}g}"))
        distance = np.minimum(distance, ((points - points[at]) ** 2).sum(axis=1))
    return np.array(radii)


def largest(values: Float64) -> int:
    """The place of the largest value; of those that agree up to rounding, the first."""
    top = values.max()
    return int(np.argmax(values >= top - 1e-9 * abs(top)))


def along_axes(points: Float64) -> Float64:
    """The points along their main axes, the longest first: the same distances, and far is soon seen to be far."""
    if min(points.shape) < 2:
        return points
    centred = points - points.mean(axis=0)
    length, axes = np.linalg.eigh(centred.T @ centred)
    kept = length > SMALLEST * max(float(length[-1]), 1.0)
    return np.ascontiguousarray(centred @ axes[:, kept][:, ::-1])


@dataclass(frozen=True)
class Bounds:
    """What a partition is measured by: E_G (evidence it overrides), S_G (blocks), and whether the sizes are allowed."""

    error: float
    blocks: int
    error_bound: float
    block_bound: int
    fits: bool = True  # another bound on sizes
    length: float = 0.0  # bits of the evidence by blocks

    @property
    def small(self) -> bool:
        """Whether it has few enough blocks."""
        return self.blocks < self.block_bound and self.fits

    @property
    def good(self) -> bool:
        """Whether it meets both bounds."""
        return self.small and self.error < self.error_bound


@dataclass(frozen=True, eq=False)
class Found:
    """A penalty, the clusters of every type under it, and what they come to."""

    penalty: float
    clusters: dict[str, Clusters]
    bounds: Bounds

    def unmet_bounds(self) -> str:
        """One sentence on the bounds that are not met; empty where all are."""
        if self.bounds.good:
            return ""
        what = []
        if not self.bounds.error < self.bounds.error_bound:
            what.append(f"E_G {self.bounds.error:,.4g} is not below {self.bounds.error_bound:.3g}")
        if not self.bounds.small:
            what.append(f"S_G {self.bounds.blocks:,} is not below {self.bounds.block_bound:,}, or the ratio is not kept")
        return f"no partition meets all bounds; of the one that is taken, {' and '.join(what)}"


Measure = Callable[[dict[str, Clusters]], Bounds]


@dataclass(frozen=True, eq=False)
class Search:
    """NP-Cluster over the points of several types; `measure` is E_G and S_G of the partition that clusters make."""

    points: dict[str, Float64]
    measure: Measure
    seed: int = 0

    @cached_property
    def turned(self) -> dict[str, Float64]:
        """The points of every type along their main axes."""
        return {of: along_axes(own) for of, own in self.points.items()}

    def at(self, penalty: float, before: Found | None = None) -> Found:
        """DP-means of every type under one penalty, from the centres that a larger one left."""
        made = {}
        for of, own in self.turned.items():
            start = before.clusters[of].centres if before is not None and before.penalty >= penalty else None
            made[of] = dp_means(own, self.limit(penalty), seed=self.seed, centres=start, passes=SEARCH_PASSES)
        return Found(penalty, made, self.measure(made))

    def limit(self, penalty: float) -> float:
        """The squared distance beyond which an object is a cluster of its own."""
        return penalty

    def penalty(self, limit: float) -> float:
        """The other way."""
        return limit

    def penalties(self) -> list[float]:
        """The λ's at which farthest-first radii say that a cluster is added, decreasing; the last one sets all points apart."""
        radii = [farthest_first(own) for own in self.turned.values()]
        every = np.unique(np.concatenate([np.zeros(1), *radii]))[::-1]  # decreasing, 0 last: all distinct points apart
        steps = np.append(every[0] * 2 + 1.0, (every[:-1] + every[1:]) / 2) if len(every) > 1 else np.ones(1)
        return [self.penalty(step) for step in steps.tolist()]

    def shortest(self) -> Found:
        """Of those with few enough blocks the one of least length: a look at penalties far apart, then between the best."""
        penalties = self.penalties()
        seen: dict[int, Found] = {}

        def best() -> int | None:
            small = [at for at, found in seen.items() if found.bounds.small]
            return min(small, key=lambda at: (seen[at].bounds.length, at), default=None)

        for at in np.unique(np.geomspace(1, len(penalties), COARSE).astype(np.int64) - 1).tolist():
            seen[at] = self.at(penalties[at])
            if not seen[at].bounds.small:
                break
        chosen = best()
        while chosen is not None:
            order = sorted(seen)
            place = order.index(chosen)
            near = [(order[i] + order[i + 1]) // 2 for i in (place - 1, place) if 0 <= i < len(order) - 1]
            new = [at for at in near if at not in seen]
            if not new:
                return seen[chosen]
            seen |= {at: self.at(penalties[at]) for at in new}
            chosen = best()
        return seen[0]

    def by_radii(self) -> Found:
        """The coarsest within the bounds, among the λ's at which farthest-first radii say that a cluster is added, by halving."""
        penalties = self.penalties()
        low, high = 0, len(penalties) - 1
        best: Found | None = None  # the coarsest that meets both bounds
        small: Found | None = None  # the finest that is small enough
        coarse: Found | None = None
        while low <= high:
            middle = (low + high) // 2
            found = self.at(penalties[middle], coarse)
            if not found.bounds.small:
                high = middle - 1
                continue
            small = found if small is None or found.penalty < small.penalty else small
            if found.bounds.good:
                best, high = found, middle - 1
            else:
                coarse, low = found, middle + 1
        if best is None and small is not None:
            best = self._onwards(small, penalties)
        return best if best is not None else self.at(penalties[0])

    def _onwards(self, found: Found, penalties: Sequence[float]) -> Found:
        """The finest that was small enough, a few penalties further from its own centres: halving jumps over those."""
        for penalty in [own for own in penalties if own < found.penalty][:MOST_ONWARDS]:
            finer = self.at(penalty, found)
            if not finer.bounds.small:
                break
            found = finer
            if found.bounds.good:
                break
        return found
