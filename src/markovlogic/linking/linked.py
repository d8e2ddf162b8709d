"""What linking found: clusters, pairs, the model, and how it got there."""

from __future__ import annotations

import html
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from markovlogic.linking.compared import ComparedRecords
from markovlogic.linking.model import LinkModel
from markovlogic.system.arrays import Float64, Int32
from markovlogic.system.views import view

if TYPE_CHECKING:
    from markovlogic.evaluation.clusters import ClusterEvaluation


@dataclass(frozen=True, eq=False)
class Linked:
    """Clusters of records, with all that led to them; tables are Arrow tables."""

    compared: ComparedRecords
    model: LinkModel
    label: Int32  # (n_records,) the cluster of each
    probability: Float64  # (n_records,) that the record's cluster is exactly right
    pair_probability: Float64  # (n_pairs,) of compared.one and compared.other
    pair_stderr: Float64
    notes: tuple[str, ...]
    _concerns: tuple[str, ...]

    def concerns(self) -> list[str]:
        """Reasons not to trust the clusters; empty when none was found."""
        return list(self._concerns)

    @property
    def n_clusters(self) -> int:
        """How many clusters there are, single records included."""
        return int(self.label.max(initial=-1)) + 1

    @property
    def clusters(self) -> Any:
        """id, source where there are several, cluster, probability that the cluster is exactly right; one row a record."""
        import pyarrow as pa

        found = {"id": self.compared.ids}
        if len(self.compared.records.sources) > 1:
            found["source"] = self.compared.source
        return pa.table({**found, "cluster": pa.array(self.label), "probability": pa.array(self.probability)})

    @property
    def pairs(self) -> Any:
        """Pairs that took part in the decision: both records, log-odds by their values, probability and its standard error."""
        import pyarrow as pa

        of = self.compared
        found = {}
        for side, rows in (("a", of.one), ("b", of.other)):
            found[side] = of.ids.take(pa.array(rows))
            if len(of.records.sources) > 1:
                found[f"source_{side}"] = of.source.take(pa.array(rows))
        return pa.table({**found, "score": pa.array(of.score), "probability": self.pair_probability, "stderr": self.pair_stderr})

    @property
    def columns(self) -> Any:
        """How each column was compared."""
        import pyarrow as pa

        rows = [
            (c.name, c.column.kind, c.column.guessed, c.column.missing, c.column.distinct, len(c.levels) - 1)
            for c in self.compared.comparisons
        ]
        return _table(("column", "kind", "guessed", "missing", "distinct", "levels"), rows, pa)

    @property
    def blocking(self) -> Any:
        """Which pairs were compared: rules, how many pairs each takes, and which share of the pairs that are the same."""
        import pyarrow as pa

        rows = [(rule.label, rule.pairs, recall) for rule, recall in zip(self.compared.rules, self.compared.recall, strict=True)]
        return _table(("rule", "pairs", "recall"), rows, pa)

    @property
    def weights(self) -> Any:
        """What each level of agreement says: log-odds, their standard errors, and shares in either kind of pairs."""
        return self.model.weights

    def summary(self) -> dict[str, Any]:
        """Numbers of records, pairs and clusters."""
        of = self.compared
        return {
            "records": of.records.n,
            "sources": list(of.records.sources),
            "compared_pairs": of.n_compared,
            "listed_pairs": len(of.one),
            "expected_duplicate_pairs": of.weights.matches,
            "clusters": self.n_clusters,
        }

    def evaluation(self, truth: Any = None) -> ClusterEvaluation:
        """Scores against the truth (a table id, cluster; source where there are several), and those that the model expects."""
        from markovlogic.evaluation.clusters import evaluate_clusters, read_clusters

        return evaluate_clusters(read_clusters(self.clusters), None if truth is None else read_clusters(truth), self.pairs)

    def why(self, a: str, b: str, **options: Any) -> Any:
        """Why two records are the same or not: what each column says, and what third records tie together or keep apart.

        a, b: their ids, after their source where there are several (`shop:A1`). options: those of `mln.why`.
        """
        return view("why_linked")(self, str(a), str(b), **options)

    def save(self, folder: str) -> str:
        """Write the rules and tables that give these clusters; returns the command that does."""
        return self.model.save(folder)

    def _repr_html_(self) -> str:
        """What notebooks show."""
        lines = [html.escape(repr(self)[1:-1]), *(f"concern: {html.escape(concern)}" for concern in self._concerns)]
        return "".join(f"<p>{line}</p>" for line in lines) + _html(self.columns) + _html(self.blocking)

    def __repr__(self) -> str:
        n = self.compared.records.n
        return f"<{n:,} records in {self.n_clusters:,} clusters>"


def _table(names: tuple[str, ...], rows: list[tuple[Any, ...]], pa: Any) -> Any:
    return pa.table({name: [row[at] for row in rows] for at, name in enumerate(names)})


def _html(table: Any) -> str:
    head = "".join(f"<th>{html.escape(name)}</th>" for name in table.column_names)
    body = "".join(
        "<tr>" + "".join(f"<td>{html.escape(str(cell))}</td>" for cell in row.values()) + "</tr>" for row in table.to_pylist()
    )
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
