"""The compressors that merge objects: by counts of groundings, at random, or where they are interchangeable."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from math import inf
from typing import Self

import numpy as np

from markovlogic.compression.base import Compression, projection
from markovlogic.compression.dpmeans import Bounds, Clusters, Found, Measure, Search
from markovlogic.compression.features import FeatureKind, features_of
from markovlogic.compression.grouping import CarryOver, Grouping, SharedRatio, group_number, lowered_of
from markovlogic.compression.kmeans import k_means
from markovlogic.compression.partition import Partition, held_apart, partition_of
from markovlogic.compression.shares import Blocks, description_length, evidence_error, meta_atoms
from markovlogic.errors import InputError, ResourceError
from markovlogic.guarantee import Guarantee
from markovlogic.language.templates import LoweredModel
from markovlogic.problem import Problem
from markovlogic.problem.prepare import PreparedProblem
from markovlogic.symmetry.base import ConstantClasses
from markovlogic.symmetry.twins import numbered, twin_classes
from markovlogic.system.arrays import Float64, Int32


@dataclass(frozen=True)
class KMeans(SharedRatio):
    """Clusters of objects with similar counts of groundings: cgibbs of [000], VG of [002].

    ratio: number of groups over number of objects, for each type. Default: 0.1. Also `--ratio`.
    """

    @property
    def name(self) -> str:
        """As `--compress` spells it."""
        return "kmeans"

    @property
    def feature_kind(self) -> FeatureKind:
        """Which groundings of an object are counted."""
        return "sat-fals-unk"

    def number(self, problem: Problem, of: str) -> int:
        """How many groups a type gets."""
        return group_number(problem, of, self.share)

    def partition(self, problem: Problem) -> Partition:
        """K-means of every type."""
        features, label = features_of(problem, lowered_of(problem), self.feature_kind), {}
        for of, domain in problem.domains.items():
            free = np.flatnonzero(~held_apart(problem)[of])
            own = np.arange(len(domain), dtype=np.int32)
            k = self.number(problem, of)
            own[free] = _clusters(features.points[of][free], k, self.seed or 0) + len(domain)
            label[of] = own
        return partition_of(problem, label, self.source, notes=features.notes)


@dataclass(frozen=True)
class DPMeans(Grouping):
    """Clusters by DP-means, whose number follows from bounds (NP-Cluster, [000] Algorithm 2).

    detail: what the evidence counts for where the number of groups is chosen. More gives more groups.
    beta1: bound on the evidence that merging overrides (E_G). Then the coarsest groups within it are taken. Default: no such
        bound; groups are those that describe the evidence in the fewest bits.
    most_blocks: bound on the number of blocks of atoms (S_G).
    ratio: at most this share of groups over objects of each type. Default: no such bound. Also `--ratio`.
    """

    detail: float = 1.0
    beta1: float | None = None
    most_blocks: int = 10_000
    ratio: float | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.ratio is not None and not 0.0 < self.ratio <= 1.0:
            raise InputError(f"dpmeans: the ratio is {self.ratio:g}, expected a share above 0, up to 1")
        if self.most_blocks < 1 or (self.beta1 is not None and not self.beta1 > 0):
            raise InputError("dpmeans: beta1 must be above 0, and most_blocks at least 1")
        if not 0 < self.detail < inf:
            raise InputError(f"dpmeans: detail is {self.detail:g}, expected a number above 0")
        if self.beta1 is not None and self.detail != 1.0:
            raise InputError("dpmeans: detail and beta1 both choose the number of groups", hint="leave detail or beta1 out")

    @property
    def feature_kind(self) -> FeatureKind:
        """Which groundings of an object are counted."""
        return "sat-fals-unk"

    @property
    def name(self) -> str:
        """As `--compress` spells it."""
        return "dpmeans"

    def finer(self) -> Self:
        """Bounds that leave room for about twice as many groups of a type, whose pairs are blocks; and more detail."""
        ratio = None if self.ratio is None else min(1.0, 2 * self.ratio)
        coarser = replace(self, most_blocks=4 * self.most_blocks, ratio=ratio)
        return replace(coarser, beta1=self.beta1 / 1e3) if self.beta1 else replace(coarser, detail=4 * self.detail)

    def partition(self, problem: Problem) -> Partition:
        """The partition that the evidence calls for, or the coarsest that the bounds allow; with a note where none meets them."""
        lowered = lowered_of(problem)
        apart = held_apart(problem)
        features = features_of(problem, lowered, self.feature_kind)
        points = {of: own[~apart[of]] for of, own in features.points.items()}
        found = self.search(points, partial(self._bounds, problem, lowered))
        note = found.unmet_bounds()
        notes = (f"dpmeans: {note}",) if note else ()
        return self._partition(problem, found.clusters, (*notes, *features.notes))

    def search(self, points: dict[str, Float64], measure: Measure) -> Found:
        """The penalty, and the clusters under it."""
        search = Search(points, measure, self.seed or 0)
        return search.by_radii() if self.goes_by_error else search.shortest()

    @property
    def goes_by_error(self) -> bool:
        """Whether a bound of E_G chooses the groups."""
        return self.beta1 is not None

    def evidence_error(self, blocks: Blocks, predicates: list[str]) -> float:
        """E_G, the evidence that a partition overrides."""
        return evidence_error(blocks, predicates)

    def _partition(self, problem: Problem, clusters: dict[str, Clusters], notes: tuple[str, ...] = ()) -> Partition:
        label = {}
        for of, domain in problem.domains.items():
            own = np.arange(len(domain), dtype=np.int64)
            own[~held_apart(problem)[of]] = clusters[of].label + len(domain)
            label[of] = numbered(own)
        return partition_of(problem, label, self.source, notes=notes)

    def _bounds(self, problem: Problem, lowered: LoweredModel, clusters: dict[str, Clusters]) -> Bounds:
        made = self._partition(problem, clusters)
        blocks = Blocks(problem, made, split=True)
        used = {literal.predicate for template in lowered.templates for literal in template.literals}
        predicates = [name for name in problem.statuses if name in used]
        count = meta_atoms(blocks, predicates)
        error = self.evidence_error(blocks, predicates) if self.goes_by_error else 0.0
        length = 0.0 if self.goes_by_error else description_length(blocks, predicates, self.detail)
        fits = self.ratio is None or all(
            clusters[of].label.max(initial=-1) < group_number(problem, of, self.ratio) for of in problem.domains
        )
        return Bounds(error, count, 1e-4 * count if self.beta1 is None else self.beta1, self.most_blocks, fits, length)


@dataclass(frozen=True)
class RandomGroups(SharedRatio):
    """Objects put into groups at random, as [000] does for its Figure 2."""

    @property
    def name(self) -> str:
        """As `--compress` spells it."""
        return "random"

    def partition(self, problem: Problem) -> Partition:
        """As many objects in each group as can be."""
        label = {}
        for (of, domain), own_seed in zip(
            problem.domains.items(), np.random.SeedSequence(self.seed or 0).spawn(len(problem.domains)), strict=True
        ):
            free = np.flatnonzero(~held_apart(problem)[of])
            own = np.arange(len(domain), dtype=np.int32)
            k = group_number(problem, of, self.share)
            drawn = np.random.default_rng(own_seed).permutation(len(free)) % max(k, 1)
            own[free] = (drawn + len(domain)).astype(np.int32)
            label[of] = own
        return partition_of(problem, label, self.source)


@dataclass(frozen=True)
class Twins(Grouping):
    """Objects that nothing known distinguishes: what can be merged with no loss.

    No problem with fewer objects has the same marginals in general, so that the problem stays as it is; methods that are lifted
    use the classes anyway.
    """

    @property
    def name(self) -> str:
        """As `--compress` spells it."""
        return "twins"

    def finer(self) -> Self:
        """Twin groups cannot be refined; return self."""
        return self

    def partition(self, problem: Problem) -> Partition:
        """Twin classes."""
        return partition_of(problem, twin_classes(problem).class_of, self.source)

    def classes(self, problem: Problem) -> ConstantClasses:
        """The same, and sound."""
        return twin_classes(problem)

    def compress(self, prepared: PreparedProblem, *, needs_problem: bool = False) -> Compression:
        """A smaller problem, or blocks, where that is exact or was requested by a reading of it; else the problem itself."""
        same = projection(prepared.problem, prepared.problem)
        usual = self.carry_over == CarryOver()
        try:
            made = super().compress(prepared, needs_problem=needs_problem)
        except ResourceError as reason:
            if not usual:
                raise
            return Compression(prepared, same, Guarantee.EXACT, f"twins: the problem stays as it is, since {reason}")
        if made.guarantee is Guarantee.EXACT or not usual:
            return made
        note = "twins: interchangeable objects meet in rules, so the problem stays as it is"
        return Compression(prepared, same, Guarantee.EXACT, note, made.partition)


def _clusters(features: Float64, k: int, seed: int) -> Int32:
    """Labels of k clusters, or of the distinct points where those are fewer."""
    n = len(features)
    if k >= n:
        return np.arange(n, dtype=np.int32)
    point = np.unique(np.round(features, 9), axis=0, return_inverse=True)[1].ravel() if features.size else np.zeros(n, np.int64)
    distinct = int(point.max(initial=0)) + 1
    if k >= distinct:
        return point.astype(np.int32)
    return (k_means(features, k, seed) if k > 1 else np.zeros(n)).astype(np.int32)
