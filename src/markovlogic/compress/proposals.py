"""Where lifted Metropolis-Hastings gets its classes of constants from, by name."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from markovlogic.arrays import Float64, Int32, frozen
from markovlogic.compress.evidence_factors import BMF
from markovlogic.compress.osa import factor_classes, unary_classes
from markovlogic.errors import InputError, nearest
from markovlogic.problem import Problem
from markovlogic.symmetry.base import ConstantClasses
from markovlogic.symmetry.twins import numbered, relations_of, twin_classes

SHARE = 0.1  # of a type's constants that are centres of k-means: the K of [000]'s cgibbs
TOLERANCE, ROUNDS = 1.0, 2  # of colours: counts that differ by less than a factor of two may have one colour


def proposal_classes(problem: Problem, source: str | BMF, *, rank: int | None = None) -> ConstantClasses:
    """Classes by name: unary, twins, bmf (with a rank), kmeans or colours; or by settings of bmf."""
    if isinstance(source, BMF):
        return factor_classes(problem, source if rank is None else replace(source, rank=rank))
    sources: dict[str, Callable[[], ConstantClasses]] = {
        "unary": lambda: unary_classes(problem),
        "twins": lambda: twin_classes(problem),
        "bmf": lambda: factor_classes(problem, BMF(rank)),
        "kmeans": lambda: kmeans_classes(problem),
        "colours": lambda: colour_classes(problem),
    }
    if source not in sources:
        raise InputError(
            f"unknown source of proposals {source!r}", hint=nearest(source, sources) or f"known are {', '.join(sources)}"
        )
    if rank is not None and source != "bmf":
        raise InputError(f"a rank belongs to bmf, not to {source}")
    return sources[source]()


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
