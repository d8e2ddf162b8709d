"""Clusters of an equivalence relation from a result."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from markovlogic.errors import InputError, nearest
from markovlogic.methods.partition.clusters import SURE, Pairs, exactly_right, least_disagreeing

if TYPE_CHECKING:
    from markovlogic.results.marginals import Marginals
    from markovlogic.system.arrays import Int32


def clusters_table(result: Marginals, name: str) -> Any:
    """Arrow table: constant, cluster, probability, uncertain."""
    import pyarrow as pa

    if name not in result.predicates:
        known = ", ".join(result.predicates) or "no predicate"
        raise InputError(f"{name} is not in the result, which has {known}", hint=nearest(name, result.predicates))
    number = result.predicates.index(name)
    domains = result.domains[number]
    if len(domains) != 2 or domains[0].type_name != domains[1].type_name:
        raise InputError(f"{name} does not relate constants of one type, so it has no clusters")
    rows = np.flatnonzero(result.predicate_of == number)
    code, likely = result.code[rows], result.probability[rows]
    pairs = Pairs.of(len(domains[0]), code, likely, result.stderr[rows])
    label = least_disagreeing(pairs)
    probability = np.full(len(label), np.nan)
    if result.draws is not None:
        place = np.full(len(result.probability), -1)
        place[result.draws.row] = np.arange(len(result.draws.row))
        drawn = place[rows] >= 0
        kept = result.draws.values.reshape(-1, result.draws.values.shape[2])[:, place[rows][drawn]]
        one, other = np.divmod(code[~drawn], len(label))
        off = (likely[~drawn] > 0.5) != (label[one] == label[other])  # known, and not so
        wrong = np.isin(label, np.concatenate([label[one[off]], label[other[off]]]))
        probability = exactly_right(label, code[drawn], wrong, kept)
    return pa.table(
        {
            "constant": pa.array(list(domains[0].names)),
            "cluster": pa.array(label),
            "probability": pa.array(probability, mask=np.isnan(probability)),
            "uncertain": pa.array(_uncertain(pairs, domains[0].names, label), pa.list_(pa.string())),
        }
    )


def _uncertain(pairs: Pairs, names: Any, label: Int32) -> list[list[str]]:
    """For each constant those that may or may not be the same."""
    found: list[list[str]] = [[] for _ in label]
    unsure = np.flatnonzero((pairs.probability > SURE) & (pairs.probability < 1 - SURE))
    for one, other in zip(pairs.one[unsure].tolist(), pairs.other[unsure].tolist(), strict=True):
        found[one].append(names[other])
        found[other].append(names[one])
    return found
