"""How good clusters are: pairs, B-cubed and exact clusters, against the truth or as the model itself expects them to be."""

from __future__ import annotations

import os
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from markovlogic.data.table_files import open_table
from markovlogic.data.vocabulary import FaultLog
from markovlogic.errors import Fault, InputError, Place
from markovlogic.evaluation.scores import Scores, scores_of
from markovlogic.system.arrays import Float64, Int64

Labels = npt.NDArray[np.integer]
ID_COLUMNS = ("id", "constant", "record")


@dataclass(frozen=True)
class PrecisionRecall:
    """Of what was found how much is right, of what is right how much was found, and their harmonic mean; nan over nothing."""

    precision: float
    recall: float

    @property
    def f1(self) -> float:
        """2PR / (P + R)."""
        both = self.precision + self.recall
        return 2 * self.precision * self.recall / both if both else 0.0


@dataclass(frozen=True)
class ClusterScores:
    """Scores of clusters: of pairs that are together, of each record's cluster (B-cubed), and of whole clusters."""

    records: int
    clusters: int
    pairs: PrecisionRecall
    bcubed: PrecisionRecall
    exact: PrecisionRecall  # clusters that are exactly right


@dataclass(frozen=True, eq=False)
class ClusterEvaluation:
    """Scores against the truth, scores that the model expects, and those of pairs' probabilities; None where not known."""

    measured: ClusterScores | None
    expected: ClusterScores | None
    of_pairs: Scores | None  # probabilities of candidate pairs against the truth
    notes: tuple[str, ...] = ()

    def rows(self) -> list[tuple[str, str, float, float, float]]:
        """(kind, what, precision, recall, F1)."""
        made = []
        for kind, scores in (("measured", self.measured), ("expected", self.expected)):
            if scores is not None:
                for what, of in (("pairs", scores.pairs), ("B-cubed", scores.bcubed), ("exact clusters", scores.exact)):
                    made.append((kind, what, of.precision, of.recall, of.f1))
        return made

    def as_dict(self) -> dict[str, Any]:
        """Plain values; None where undefined."""

        def plain(scores: ClusterScores | None) -> Any:
            if scores is None:
                return None
            parts = {name: getattr(scores, name) for name in ("pairs", "bcubed", "exact")}
            numbers = {
                name: {key: _defined(value) for key, value in {**asdict(of), "f1": of.f1}.items()} for name, of in parts.items()
            }
            return {"records": scores.records, "clusters": scores.clusters, **numbers}

        return {
            "measured": plain(self.measured),
            "expected": plain(self.expected),
            "pair_probabilities": None if self.of_pairs is None else self.of_pairs.as_dict(),
            "notes": list(self.notes),
        }

    def _repr_html_(self) -> str:
        """What notebooks show."""
        head = "".join(f"<th>{title}</th>" for title in ("", "", "precision", "recall", "F1"))
        body = "".join(
            f"<tr><td>{kind}</td><td>{what}</td>" + "".join(f"<td>{show(value)}</td>" for value in numbers) + "</tr>"
            for kind, what, *numbers in self.rows()
        )
        return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"

    def __repr__(self) -> str:
        kind, of = ("measured", self.measured) if self.measured is not None else ("expected", self.expected)
        assert of is not None
        scores = f"pair F1 {of.pairs.f1:.4f}, B-cubed {of.bcubed.f1:.4f}, exact {of.exact.f1:.4f}"
        return f"<clusters of {of.records:,} records, {kind}: {scores}>"


def show(value: float) -> str:
    """A score as a table shows it."""
    return "-" if np.isnan(value) else f"{value:.4f}"


def _defined(value: float) -> float | None:
    return None if np.isnan(value) else float(value)


def _share(part: float, whole: float) -> float:
    return float(part / whole) if whole else float("nan")


def score_clusters(label: Labels, truth: Labels) -> ClusterScores:
    """Scores of a partition against the true one; nothing of the size of all pairs is made."""
    n = len(label)
    _, found = np.unique(label, return_inverse=True)
    _, true = np.unique(truth, return_inverse=True)
    of_found, of_true = np.bincount(found), np.bincount(true)
    cell, first, size = np.unique(found.astype(np.int64) * max(len(of_true), 1) + true, return_index=True, return_counts=True)
    del cell
    in_found, in_true = of_found[found[first]], of_true[true[first]]

    def pairs(sizes: Int64) -> float:
        return float((sizes.astype(np.float64) * (sizes - 1) / 2).sum())

    both, squares = pairs(size), size.astype(np.float64) ** 2
    right = int(((size == in_found) & (size == in_true)).sum())
    return ClusterScores(
        n,
        len(of_found),
        PrecisionRecall(_share(both, pairs(of_found)), _share(both, pairs(of_true))),
        PrecisionRecall(_share((squares / in_found).sum(), n), _share((squares / in_true).sum(), n)),
        PrecisionRecall(_share(right, len(of_found)), _share(right, len(of_true))),
    )


def expected_scores(label: Labels, exactly_right: Float64, one: Labels, other: Labels, probability: Float64) -> ClusterScores:
    """The scores that the model expects of its clusters, without labels.

    Expected precision is exact under the given probabilities. Recall is a ratio of expectations: it divides by the expected
    number of true pairs, of a record's true companions, or of true clusters.
    `exactly_right`: (n_records,) that the record's cluster is exactly right. Pairs that are not listed are taken for different.
    """
    n = len(label)
    _, found = np.unique(label, return_inverse=True)
    size = np.bincount(found, minlength=1)
    together = found[one] == found[other]
    inside = float(probability[together].sum())
    all_found = float((size.astype(np.float64) * (size - 1) / 2).sum())
    companions, kept = np.ones(n), np.ones(n)
    for side in (one, other):
        companions += np.bincount(side, probability, n)
        kept += np.bincount(side, np.where(together, probability, 0.0), n)
    _, first = np.unique(found, return_index=True)
    right = float(np.nansum(exactly_right[first]))
    true_clusters = float((1 / companions).sum())
    return ClusterScores(
        n,
        len(first),
        PrecisionRecall(_share(inside, all_found), _share(inside, float(probability.sum()))),
        PrecisionRecall(_share((kept / size[found]).sum(), n), _share((kept / companions).sum(), n)),
        PrecisionRecall(_share(right, len(first)), min(1.0, _share(right, true_clusters))),
    )


# ---- files


@dataclass(frozen=True, eq=False)
class ClusterTable:
    """Records by their names, which hold their source where there are several, with their clusters."""

    source: str
    key: tuple[str, ...]
    cluster: tuple[str, ...]
    exactly_right: Float64


def has_clusters(path: Any) -> bool:
    """Whether these are clusters, and not probabilities of atoms."""
    if not isinstance(path, (str, os.PathLike)) or not os.fspath(path).lower().partition(":")[0].endswith(
        (".csv", ".tsv", ".parquet")
    ):
        return False
    faults = FaultLog()
    return "cluster" in [column.lower() for column in open_table(os.fspath(path), os.fspath(path), faults).columns]


def read_clusters(given: Any, *, with_source: bool = True) -> ClusterTable:
    """A table with a record's name, its source where there are several, and its cluster."""
    name = os.fspath(given) if isinstance(given, (str, os.PathLike)) else "the table"
    faults = FaultLog()
    opened = open_table(given, name, faults)
    faults.raise_if_any()
    lower: dict[str, int] = {}
    for place, column in enumerate(opened.columns):
        lower.setdefault(column.lower(), place)
    table = opened.whole()
    plain = [column for column in lower if column not in ("source", "probability")]
    at = lower.get("cluster", lower[plain[1]] if len(plain) == 2 else None)
    ids = [lower[column] for column in ID_COLUMNS if column in lower]
    if not ids and len(plain) == 2:
        ids = [lower[column] for column in plain if lower[column] != at]
    if at is None or not ids:
        listed = ", ".join(opened.columns) or "none"
        hint = f"expected id and cluster; a query names them: '{name}:SELECT rec_id AS id, person AS cluster FROM ...'"
        raise InputError(Fault(f"no columns id and cluster, found {listed}", Place(name), hint=hint))

    def texts(place: int) -> list[str]:
        return ["" if value is None else str(value) for value in table.column(place).to_pylist()]

    key = texts(ids[0])
    if "source" in lower and with_source:
        key = [f"{source}:{own}" for source, own in zip(texts(lower["source"]), key, strict=True)]
    if len(set(key)) < len(key):
        twice = next(own for own in key if key.count(own) > 1)
        raise InputError(Fault(f"record {twice} has two rows", Place(name), hint="several sources: add a column source"))
    right = np.full(len(key), np.nan)
    if "probability" in lower:
        right = np.array(
            [np.nan if cell in (None, "") else float(cell) for cell in table.column(lower["probability"]).to_pylist()]
        )
    return ClusterTable(name, tuple(key), tuple(texts(at)), right)


def evaluate_clusters(clusters: ClusterTable, truth: ClusterTable | None, pairs: Any = None) -> ClusterEvaluation:
    """Compare clusters with the truth, and say what the model expects where probabilities of pairs are given.

    pairs: a table that `mln link --pairs` or `mln cluster --pairs` wrote.
    """
    notes: list[str] = []
    label = np.unique(clusters.cluster, return_inverse=True)[1] if clusters.cluster else np.zeros(0, np.int64)
    number = {own: at for at, own in enumerate(clusters.key)}
    found = None if pairs is None else _pairs(pairs, number)
    expected = None if found is None else expected_scores(label, clusters.exactly_right, *found)
    if truth is None:
        return ClusterEvaluation(None, expected, None)
    known = {own: cluster for own, cluster in zip(truth.key, truth.cluster, strict=True) if cluster != ""}
    rows = np.array([at for at, own in enumerate(clusters.key) if own in known], np.int64)
    if not len(rows):
        shown = (
            f"a record is {clusters.key[0]}, one of the truth {truth.key[0]}" if clusters.key and truth.key else "one has no rows"
        )
        raise InputError(Fault(f"no record of {clusters.source} is in {truth.source}: {shown}", hint="records are matched by id"))
    if len(rows) < len(clusters.key):
        notes.append(f"{len(clusters.key) - len(rows):,} records were left out: {truth.source} does not list them")
    if len(rows) < len(known):
        notes.append(f"{len(known) - len(rows):,} records of {truth.source} are not among the clusters")
    true = np.full(len(label), -1, np.int64)
    true[rows] = np.unique([known[clusters.key[at]] for at in rows], return_inverse=True)[1]
    of_pairs = None
    if found is not None:
        one, other, probability = found
        both = (true[one] >= 0) & (true[other] >= 0)
        if both.any():
            of_pairs = scores_of(true[one[both]] == true[other[both]], probability[both])
    return ClusterEvaluation(score_clusters(label[rows], true[rows]), expected, of_pairs, tuple(notes))


def _pairs(given: Any, number: dict[str, int]) -> tuple[Int64, Int64, Float64]:
    name = os.fspath(given) if isinstance(given, (str, os.PathLike)) else "the pairs"
    faults = FaultLog()
    opened = open_table(given, name, faults)
    faults.raise_if_any()
    columns = opened.columns
    sides = next((pair for pair in (("a", "b"), ("first", "second"), ("one", "other")) if set(pair) <= set(columns)), None)
    if sides is None or "probability" not in columns:
        raise InputError(
            Fault(f"no columns a, b and probability, found {', '.join(columns)}", Place(name), hint="see mln link --pairs")
        )
    table = opened.whole()
    rows = []
    for side in sides:
        keys = [str(value) for value in table.column(columns.index(side)).to_pylist()]
        if f"source_{side}" in columns:
            keys = [f"{s}:{own}" for s, own in zip(table.column(columns.index(f"source_{side}")).to_pylist(), keys, strict=True)]
        if unknown := next((own for own in keys if own not in number), None):
            raise InputError(Fault(f"record {unknown} is not among the clusters", Place(name)))
        rows.append(np.array([number[own] for own in keys], np.int64))
    probability = np.array([float(value) for value in table.column(columns.index("probability")).to_pylist()])
    return rows[0], rows[1], probability
