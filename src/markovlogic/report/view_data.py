"""The JSON that `view.js` draws in pages, notebooks and the studio: answers, reasons, clusters, traces, scores, a comparison.

One object; a part that a result does not have is empty or null. Undefined numbers are null, infinite ones 1e308.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from markovlogic.data.arrow import arrow_numbers
from markovlogic.estimation.diagnostics import most_effective
from markovlogic.language.equivalence import equivalences
from markovlogic.methods.partition.clusters import Pairs
from markovlogic.report.frames import clusters_table
from markovlogic.report.tables import agreement, most_probable, summary
from markovlogic.results.marginals import Marginals
from markovlogic.system.arrays import Float64, Int64

ROWS_SHOWN = 50_000
CLUSTERS_SHOWN = 2_000
PAIRS_A_CLUSTER = 200
MEMBERS_SHOWN = 400
TRACES_SHOWN = 200
TRACE_POINTS = 120
TRACE_CHAINS = 12
INFINITE = 1e308  # JSON knows no infinity

GUARANTEES = {
    "exact": "The target of the method is the true model; what remains is sampling error, where draws were made.",
    "corrected": "Approximate proposals, with an accept/reject step that keeps the target exact.",
    "bounded": "A proved bound on the bias comes with the numbers.",
    "unbounded": "No bound on the method's bias is known.",
}


def view_data(
    title: str,
    *,
    reasons: Iterable[Mapping[str, Any]] = (),
    concerns: Sequence[str] = (),
    calibration: Mapping[str, Any] | None = None,
    comparison: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """The object without a result: reasons, scores or a comparison alone."""
    answers: dict[str, Any] = {"atom": [], "predicate": [], "predicates": [], "columns": ["probability"], "probability": []}
    found = {str(reason["atom"]): dict(reason) for reason in reasons}
    return {
        "title": title,
        "summary": "",
        "guarantee": None,
        "agreement": None,
        "compression": "",
        "concerns": list(concerns),
        "left_out": "",
        "answers": answers,
        "why": found,
        "selected": next(iter(found), None),
        "why_command": "",
        "clusters": [],
        "traces": None,
        "calibration": calibration,
        "comparison": comparison,
        "run": [],
    }


def result_data(result: Marginals, **parts: Any) -> dict[str, Any]:
    """The object of a result; parts: as for `view_data`."""
    rows = np.sort(most_probable(result, ROWS_SHOWN))
    made = view_data("Marginal probabilities", **parts)
    word = result.guarantee.value
    good = result.converged
    left_out = ""
    if len(result) > ROWS_SHOWN:
        left_out = (
            f"This page holds the {ROWS_SHOWN:,} most probable of {len(result):,} rows. A .csv or .parquet file holds all of"
            " them: give such a name to -o, or to result.report()."
        )
    return made | {
        "summary": summary(result),
        "guarantee": {"word": word, "meaning": GUARANTEES[word]},
        "agreement": None if result.run.converged is None else {"good": good, "text": agreement(result)},
        "compression": "" if result.run.compression is None else f"Compression: {result.run.compression.summary}",
        "concerns": [*result.concerns(), *made["concerns"]],
        "left_out": left_out,
        "answers": _answers(result, rows),
        "why_command": _why_command(result),
        "clusters": list(_clusters(result)),
        "traces": _traces(result, made["why"]),
        "run": _facts(result),
    }


def numbers(column: npt.NDArray[np.floating[Any]]) -> list[float | None]:
    """Numbers as JSON has them."""
    return [None if value != value else max(-INFINITE, min(value, INFINITE)) for value in column.tolist()]


def _answers(result: Marginals, rows: Int64) -> dict[str, Any]:
    """The rows in columns; columns without any number are left out."""
    every = {"probability": result.probability, "stderr": result.stderr, "rhat": result.rhat, "ess": result.ess}
    columns = {name: column[rows] for name, column in every.items()}
    shown = [name for name, column in columns.items() if name in ("probability", "stderr") or not np.isnan(column).all()]
    if result.run.chains == 0 and not columns["stderr"].any():
        shown.remove("stderr")
    return {
        "atom": result.atom.take(arrow_numbers(rows)).to_pylist(),
        "predicate": result.predicate_of[rows].tolist(),
        "predicates": list(result.predicates),
        "columns": shown,
        "most_ess": most_effective(result.run.chains * result.run.draws) * (1 - 1e-12) if result.run.chains else 0,
        **{name: numbers(columns[name]) for name in shown},
    }


def _why_command(result: Marginals) -> str:
    """How to explain an atom that was not explained beforehand."""
    model, *evidence = result.run.sources or ("MODEL",)
    return " ".join(["mln why", shlex.quote(model), *(f"-e {shlex.quote(one)}" for one in evidence), "ATOM"])


def _clusters(result: Marginals) -> Iterator[dict[str, Any]]:
    """Clusters of each predicate that hard rules make an equivalence relation, the least certain first."""
    if result.prepared is None or not len(result):
        return
    found = equivalences(result.prepared.problem.model, result.prepared.lowered)
    for relation in found.relations:
        if relation.predicate in result.predicates:
            yield _clusters_of(result, relation.predicate)


def _clusters_of(result: Marginals, name: str) -> dict[str, Any]:
    table = clusters_table(result, name)
    number = result.predicates.index(name)
    names = result.domains[number][0].names
    label = table["cluster"].to_numpy()
    likely = table["probability"].to_pylist()
    rows = np.flatnonzero(result.predicate_of == number)
    pairs = Pairs.of(len(names), result.code[rows], result.probability[rows], result.stderr[rows])
    inside = np.flatnonzero((label[pairs.one] == label[pairs.other]) & (pairs.probability > 0))
    inside = inside[np.lexsort((-pairs.probability[inside], label[pairs.one[inside]]))]
    members = np.argsort(label, kind="stable")
    size = np.bincount(label)
    first = np.append(0, np.cumsum(size))
    of_cluster = np.append(0, np.cumsum(np.bincount(label[pairs.one[inside]], minlength=len(size))))
    made = []
    for cluster in np.flatnonzero(size > 1).tolist():
        own = members[first[cluster] : first[cluster + 1]]
        links = inside[of_cluster[cluster] : of_cluster[cluster + 1]]
        weakest = _weakest(own, pairs, links)
        made.append((1.0 if weakest is None else weakest[2], own, links, weakest))
    made.sort(key=lambda one: one[0])
    clusters = [
        {
            "members": [names[at] for at in own[:MEMBERS_SHOWN].tolist()],
            "probability": likely[own[0]],
            "weakest": None if weakest is None else [names[weakest[0]], names[weakest[1]], weakest[2]],
            "pairs": _numbered(own, pairs, links) if len(own) <= MEMBERS_SHOWN else [],
        }
        for _, own, links, weakest in made[:CLUSTERS_SHOWN]
    ]
    note = "A cluster's weakest link is the least probable pair that holds it together. The least certain clusters come first."
    if len(made) > CLUSTERS_SHOWN:
        note += f" {CLUSTERS_SHOWN:,} of {len(made):,} are shown."
    return {"predicate": name, "note": note, "clusters": clusters}


def _numbered(own: Int64, pairs: Pairs, links: Int64) -> list[list[float]]:
    """Pairs by the places of their members, the most probable first."""
    place = {at: number for number, at in enumerate(own.tolist())}
    return [
        [place[int(pairs.one[at])], place[int(pairs.other[at])], float(pairs.probability[at])] for at in links[:PAIRS_A_CLUSTER]
    ]


def _weakest(own: Int64, pairs: Pairs, links: Int64) -> tuple[int, int, float] | None:
    """The least probable pair of the most probable tree that spans a cluster; links: its pairs, the most probable first."""
    root = {at: at for at in own.tolist()}

    def find(at: int) -> int:
        while root[at] != at:
            root[at] = root[root[at]]
            at = root[at]
        return at

    weakest = None
    for link in links.tolist():
        one, other = int(pairs.one[link]), int(pairs.other[link])
        left, right = find(one), find(other)
        if left != right:
            root[left] = right
            weakest = (one, other, float(pairs.probability[link]))
    return weakest


def _traces(result: Marginals, why: Mapping[str, Any]) -> dict[str, Any] | None:
    """Running means of some chains, for atoms that are explained and those that are most uncertain."""
    draws = result.draws
    if draws is None or not draws.values.size:
        return None
    p = result.probability[draws.row]
    order = np.argsort(np.where(np.isnan(p), 2.0, np.abs(p - 0.5)), kind="stable")
    names = result.atom.take(arrow_numbers(draws.row)).to_pylist()
    chosen = [at for at, name in enumerate(names) if name in why]
    chosen += [at for at in order.tolist() if names[at] not in why]
    chosen = chosen[:TRACES_SHOWN]
    n_draws = draws.values.shape[1]
    step = max(1, -(-n_draws // TRACE_POINTS))
    at = np.append(np.arange(step - 1, n_draws - 1, step), n_draws - 1)
    sums = np.cumsum(draws.values[:TRACE_CHAINS, :, chosen], axis=1, dtype=np.int64)[:, at]
    means: Float64 = np.round(sums / (at + 1)[None, :, None], 4)
    return {
        "thin": step * draws.thin,
        "atoms": {names[atom]: means[:, :, number].tolist() for number, atom in enumerate(chosen)},
    }


def _facts(result: Marginals) -> list[list[str]]:
    """The inputs of the run and what was done."""
    run = result.run
    inputs = {
        "model": run.sources[0] if run.sources else "",
        "evidence": ", ".join(run.sources[1:]),
        "query": ", ".join(run.query),
        "command": run.command,
    }
    done = run.stats(result.guarantee)
    if run.compression is not None:
        done["compression"] = run.compression.name  # its line stands beside the guarantee
    lines = []
    for key, value in {**{k: v for k, v in inputs.items() if v}, **done}.items():
        text = ", ".join(f"{k} {v:.3g}" for k, v in value.items()) if isinstance(value, dict) else str(value)
        lines.append([key.replace("_", " "), text])
    return lines
