"""One partition of the constants of an equivalence relation from the probabilities of its pairs, component by component."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from markovlogic.data.evidence import TRUE
from markovlogic.errors import InputError
from markovlogic.scale_out.answers import ATOM
from markovlogic.scale_out.components import bundles_of, stars
from markovlogic.scale_out.stages import Prepared

SCHEMA = "node bigint, cluster bigint"


@dataclass(frozen=True)
class ClusterWork:
    """Pairs of a bundle to the cluster of each constant, named after its smallest member."""

    def __call__(self, table: Any) -> Any:
        """Each component by itself, so that bundles do not matter."""
        import pyarrow as pa

        from markovlogic.methods.partition.clusters import Pairs, least_disagreeing

        comp, x, y, p = (table.column(name).to_numpy() for name in ("comp", "x", "y", "p"))
        order = np.lexsort((y, x, comp))
        comp, x, y, p = comp[order], x[order], y[order], p[order]
        bounds = [*np.flatnonzero(np.diff(comp, prepend=-1)).tolist(), len(comp)]
        nodes, labels = [], []
        for begin, end in pairwise(bounds):
            own = np.unique(np.concatenate([x[begin:end], y[begin:end]]))
            n = len(own)
            code = np.searchsorted(own, x[begin:end]) * n + np.searchsorted(own, y[begin:end])
            label = least_disagreeing(Pairs.of(n, code, p[begin:end], np.zeros(end - begin)))
            first = np.full(int(label.max()) + 1, n, np.int64)
            np.minimum.at(first, label, np.arange(n))
            nodes.append(own)
            labels.append(own[first[label]])
        return pa.table({"node": np.concatenate(nodes), "cluster": np.concatenate(labels)})


def cluster_stored(prepared: Prepared, predicate: str) -> None:
    """Make the table `clusters`: constant, cluster, probability, of all constants; needs the answers about the predicate."""
    problem, engine = prepared.problem, prepared.problem.engine
    declared = problem.model.predicates.get(predicate)
    if declared is None or len(declared.types) != 2 or len(set(declared.types)) != 1:
        raise InputError(f"{predicate} does not relate constants of one type, so it is no equivalence relation")
    relation = problem.relations[predicate]
    known = f"SELECT t.a0, t.a1, CAST(1 AS DOUBLE) AS p FROM {relation.table} AS t WHERE t.status = {TRUE}"
    opened = f"SELECT o.a0, o.a1, x.probability AS p FROM ({relation.opened()}) AS o JOIN answers AS x"
    opened += f" ON x.kind = {ATOM} AND x.atom = {relation.code('o')} WHERE x.probability > 0"
    engine.run(
        "pairs",
        "SELECT CAST(least(a0, a1) AS BIGINT) AS x, CAST(greatest(a0, a1) AS BIGINT) AS y, MAX(p) AS p"
        f" FROM ({known} UNION ALL {opened}) AS every_pair WHERE a0 <> a1 GROUP BY least(a0, a1), greatest(a0, a1)",
    )
    stars(engine, "SELECT x AS u, y AS v FROM pairs")
    engine.run("labelled", "SELECT l.comp, p.x, p.y, p.p FROM pairs AS p JOIN label AS l ON l.node = p.x")
    bundles_of(engine, "labelled", "", 20_000)
    engine.apply("grouped", "SELECT * FROM bundled", "bundle", ClusterWork(), SCHEMA)
    constants = problem.domains[declared.types[0]].table
    engine.run(
        "clusters",
        "SELECT n.name AS constant, COALESCE(g.cluster, n.id) AS cluster, CAST(NULL AS DOUBLE) AS probability"
        f" FROM {constants} AS n LEFT JOIN grouped AS g ON g.node = n.id",
    )
