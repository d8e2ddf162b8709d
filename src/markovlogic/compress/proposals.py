"""Where lifted Metropolis-Hastings gets its classes of constants from, by name."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from markovlogic.arrays import Float64, Int32, frozen
from markovlogic.compress.evidence_factors import BMF
from markovlogic.compress.osa import unary_classes
from markovlogic.errors import InputError, UnsupportedError, nearest
from markovlogic.problem import Problem
from markovlogic.symmetry.base import ConstantClasses
from markovlogic.symmetry.find import SymmetryDoor
from markovlogic.symmetry.twins import numbered, relations_of

if TYPE_CHECKING:
    from markovlogic.compress.base import Compression, Compressor
    from markovlogic.posing import Posed

SHARE = 0.1  # of a type's constants that are centres of k-means: the K of [000]'s cgibbs
TOLERANCE, ROUNDS = 1.0, 2  # of colours: counts that differ by less than a factor of two may have one colour


def proposal_classes(problem: Problem, source: str | Compressor) -> ConstantClasses:
    """Classes by name, or those of a compressor."""
    if not isinstance(source, str):
        return source.classes(problem)
    sources: dict[str, Callable[[Problem], ConstantClasses]] = {
        "unary": unary_classes,
        "twins": lambda problem: SymmetryDoor(problem).classes,
        "bmf": BMF().classes,
        "kmeans": kmeans_classes,
        "colours": colour_classes,
    }
    if source not in sources:
        raise InputError(
            f"unknown source of proposals {source!r}", hint=nearest(source, sources) or f"known are {', '.join(sources)}"
        )
    return sources[source](problem)


@dataclass(frozen=True)
class KMeans:
    """Settings of clusters of constants with similar counts of facts ([000]'s cgibbs); so far a source of proposals only.

    share: of a type's constants that are centres.
    """

    share: float = SHARE
    seed: int = 0

    @property
    def name(self) -> str:
        """As `--compress` spells it."""
        return "kmeans"

    @property
    def source(self) -> str:
        """How results name it."""
        return "kmeans"

    def compress(self, posed: Posed) -> Compression:
        """Refuse: merged constants need weights and evidence of their own."""
        raise UnsupportedError("compression kmeans is not available in this version, only its classes as proposals")

    def classes(self, problem: Problem) -> ConstantClasses:
        """The clusters."""
        return kmeans_classes(problem, share=self.share, seed=self.seed)


def colour_classes(problem: Problem, *, tolerance: float = TOLERANCE, rounds: int = ROUNDS) -> ConstantClasses:
    """Colours of the constants after a few rounds of refinement that compare counts roughly."""
    from markovlogic.symmetry.refinement import refine_evidence

    return refine_evidence(problem, tolerance=tolerance, most_rounds=rounds)


def kmeans_classes(problem: Problem, *, share: float = SHARE, seed: int = 0) -> ConstantClasses:
    """Clusters of constants with similar counts of facts, inside classes of equal unary evidence.

    A constant's features are the numbers of facts of each status at each place of each predicate with two or more arguments,
    as log(1 + count), standardised ([000] section 5 counts groundings; ALGORITHMS.md 3.10).
    """
    base = unary_classes(problem)
    class_of = {}
    for type_name, domain in problem.domains.items():
        cluster = _clusters(_fact_counts(problem, type_name), max(1, round(share * len(domain))), seed)
        own = base.class_of[type_name].astype(np.int64)
        class_of[type_name] = frozen(numbered(own * (int(cluster.max(initial=0)) + 1) + cluster))
    return ConstantClasses(class_of, sound=False, source="kmeans")


def _fact_counts(problem: Problem, type_name: str) -> Float64:
    """(n_constants, n_features) standardised; features that are the same for all are left out."""
    n = len(problem.domains[type_name])
    columns = [np.zeros((n, 0))]
    for relation in relations_of(problem).values():
        for place, own in enumerate(relation.types):
            if own != type_name or len(relation.types) < 2:
                continue
            for status in np.unique(relation.statuses.status):
                facts = relation.args[relation.statuses.status == status, place]
                columns.append(np.log1p(np.bincount(facts, minlength=n)).reshape(n, 1))
    features = np.concatenate(columns, axis=1)
    spread = features.std(axis=0) if n else np.zeros(features.shape[1])
    varies = spread > 1e-9  # a constant column's deviation is rounding, not zero
    features = features[:, varies]
    return np.asarray((features - features.mean(axis=0)) / spread[varies], np.float64)


def _clusters(features: Float64, k: int, seed: int) -> Int32:
    n = len(features)
    distinct = len(np.unique(features, axis=0)) if features.size else 1
    if min(k, distinct) <= 1:
        return np.zeros(n, np.int32)
    if k >= distinct:
        return np.unique(features, axis=0, return_inverse=True)[1].ravel().astype(np.int32)
    from sklearn.cluster import KMeans

    made = KMeans(k, n_init=1, random_state=seed, max_iter=50).fit(features)
    return np.asarray(made.labels_, np.int32)
