"""How well facts are found among all candidates: mean reciprocal rank and Hits@k, filtered by what is known.

Each true fact gives two queries, one with its first and one with its last argument left out. Candidates that are known to be true
are no mistakes and are left out, but for the fact itself. Candidates with the same probability share their ranks' mean.
"""

from __future__ import annotations

import csv
import io
import json
import os
import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from markovlogic.data.evidence import TRUE, Evidence
from markovlogic.data.readers import read_evidence
from markovlogic.data.sources import evidence_sources
from markovlogic.errors import Fault, InputError
from markovlogic.evaluation.groups import ARGUMENT
from markovlogic.evaluation.reading import Predictions, read_result, read_truth
from markovlogic.language.load import load
from markovlogic.language.syntax import Model
from markovlogic.paths.graph import graph_of
from markovlogic.paths.reading import read_rules
from markovlogic.paths.rules import targets_of
from markovlogic.paths.scores import WeightedHead
from markovlogic.report.files import atomic_file
from markovlogic.results.marginals import Marginals
from markovlogic.system.arrays import Bool, Float64, Int64
from markovlogic.system.cancellation import check
from markovlogic.system.progress import SILENT, Progress

HITS = (1, 3, 10)
ALL = "all"
SAME = 1e-9  # log-odds or probabilities that are nearer are tied
ENDINGS = (".json", ".csv")


@dataclass(frozen=True, eq=False)
class Ranking:
    """The rank of each true fact among its candidates, in two queries each."""

    predicates: tuple[str, ...]
    predicate: Int64  # (n_queries,) as an index
    rank: Float64  # (n_queries,) mean rank where candidates are tied
    notes: tuple[str, ...]

    @cached_property
    def by_predicate(self) -> Mapping[str, dict[str, float]]:
        """Scores of each predicate."""
        return {name: self._scores(self.predicate == at) for at, name in enumerate(self.predicates)}

    @cached_property
    def overall(self) -> dict[str, float]:
        """Scores of all queries together."""
        return self._scores(np.ones(len(self.rank), bool))

    @property
    def mrr(self) -> float:
        """Mean reciprocal rank of all queries."""
        return self.overall["mrr"]

    def _scores(self, rows: Bool) -> dict[str, float]:
        rank = self.rank[rows]
        hits = {f"hits@{k}": float((rank <= k).mean()) for k in HITS}
        return {"queries": len(rank), "mrr": float((1 / rank).mean()), **hits, "mean_rank": float(rank.mean())}

    def rows(self) -> dict[str, dict[str, float]]:
        """What a table shows: each predicate, and all together where there are several."""
        return dict(self.by_predicate) if len(self.predicates) == 1 else {**self.by_predicate, ALL: self.overall}

    def as_dict(self) -> dict[str, Any]:
        """Plain values for programs."""
        return {"overall": self.overall, "predicates": dict(self.by_predicate), "notes": list(self.notes)}

    def to_pandas(self) -> Any:
        """A frame with the scores of each predicate, and of all together where there are several."""
        import pandas as pd

        return pd.DataFrame([{"predicate": name, **scores} for name, scores in self.rows().items()])

    def write(self, path: str | os.PathLike[str]) -> None:
        """Write the scores as .json or .csv."""
        if not os.fspath(path).lower().endswith(ENDINGS):
            raise InputError(f"{os.fspath(path)}: scores of rankings are written as {' or '.join(ENDINGS)}")
        text = json.dumps(self.as_dict(), indent=2) + "\n"
        if os.fspath(path).lower().endswith(".csv"):
            made = io.StringIO()
            rows = [{"predicate": name, **scores} for name, scores in self.rows().items()]
            writer = csv.DictWriter(made, rows[0])
            writer.writeheader()
            writer.writerows(rows)
            text = made.getvalue()
        with atomic_file(Path(path)) as file:
            file.write(text.encode())

    def __repr__(self) -> str:
        of = self.overall
        hits = ", ".join(f"Hits@{k} {of[f'hits@{k}']:.4f}" for k in HITS)
        return f"<ranking of {len(self.rank):,} queries: MRR {of['mrr']:.4f}, {hits}>"


def rank(
    result: Marginals | Model | str | os.PathLike[str],
    truth: object,
    *,
    known: object = (),
    evidence: object = None,
    progress: Progress = SILENT,
) -> Ranking:
    """Rank true facts among all candidates.

    result: complete results, what `infer` returned or a file that it wrote; or rules over facts, as a model or a `.mln` file,
    with the evidence that they read. truth: the facts to be found. known: other true facts, which are no mistakes; those of the
    evidence are never.
    """
    if isinstance(result, Model) or (isinstance(result, str | os.PathLike) and os.fspath(result).lower().endswith(".mln")):
        model = result if isinstance(result, Model) else load(result)
        return _by_rules(model, evidence, truth, known, progress)
    if evidence is not None:
        raise InputError(
            "evidence is read only where a model is evaluated; results were already inferred from it",
            hint="leave it out, or give further true facts as known",
        )
    return _by_results(read_result(result), truth, known)


def rank_of(score: Float64, at: int, candidates: Bool) -> float:
    """The rank of one candidate among the others, mean of ties."""
    others = score[candidates]
    higher = np.count_nonzero(others > score[at] + SAME)
    return float(1 + higher + np.count_nonzero(abs(others - score[at]) <= SAME) / 2)


def _by_rules(model: Model, evidence: object, truth: object, known: object, progress: Progress) -> Ranking:
    given = _read(model, evidence)
    true, further = _read(model, truth), _read(model, known)
    domains = dict(given.domains)
    for one in (true, further):
        for name, domain in one.domains.items():
            domains[name] = domains[name].extended(domain.names) if name in domains else domain
    graph = graph_of(model, [replace(given, domains=domains)])
    names = tuple(true.facts)
    targets = targets_of(graph, names, {name: (False,) * own.arity for name, own in model.predicates.items()})
    read = read_rules(graph, model.rules, targets)
    if read.others:
        faults = [
            Fault(f"this rule about {', '.join(names[:3])} is no path along facts: {rule.text or 'see there'}", rule.place)
            for rule in read.others[:5]
        ]
        hint = "rank the results of mln infer instead"
        raise InputError([replace(fault, hint=hint) for fault in faults])
    predicates, index, ranks = [], [], []
    notes = []
    progress.stage("ranking", len(read.heads))
    for number, head in enumerate(read.heads):
        check()
        name = head.target.head.predicate
        if len(head.target.head.types) < 2:
            notes.append(f"{name} was left out: its atoms have one argument, so there is nothing to rank")
            continue
        found = _ranks_of_head(head, [_pairs(head, one, domains) for one in (true, given, further)])
        if len(found):
            if name not in predicates:
                predicates.append(name)
            index += [predicates.index(name)] * len(found)
            ranks += found
        progress.advance(number + 1, name)
    if not ranks:
        raise InputError("no fact of the truth can be ranked", hint="ranking is about predicates with two arguments or more")
    return Ranking(tuple(predicates), np.array(index), np.array(ranks), tuple(dict.fromkeys(notes)))


def _read(model: Model, given: object) -> Evidence:
    if isinstance(given, Evidence):
        return given
    return read_evidence(model, evidence_sources(given) if given else ())


def _pairs(head: WeightedHead, evidence: Evidence, domains: Mapping[str, Any]) -> Int64:
    """(n, 2) nodes of the true facts of a head."""
    relation, graph = head.target.head, head.target.graph
    facts = evidence.facts.get(relation.predicate)
    types = head.target.graph.types_of[relation.predicate]
    if facts is None:
        return np.zeros((0, 2), np.int64)
    rows = facts.args[facts.truth == TRUE]
    made = []
    for position, (own, type_name) in enumerate(zip(relation.args, types, strict=True)):
        if own is not None:
            rows = rows[rows[:, position] == evidence.domains[type_name].number_of.get(own, -1)]
    for position, (own, type_name) in enumerate(zip(relation.args, types, strict=True)):
        if own is None:
            number = np.array([domains[type_name].number_of[name] for name in evidence.domains[type_name].names], np.int64)
            made.append(number[rows[:, position]] + graph.first[0][type_name] if len(rows) else np.zeros(0, np.int64))
    return np.column_stack(made)


def _ranks_of_head(head: WeightedHead, pairs: Sequence[Int64]) -> list[float]:
    """Ranks of the first pairs, two each; all pairs are known to be true."""
    true, *_ = pairs
    every = np.unique(np.concatenate(pairs), axis=0)
    made: dict[tuple[int, int], float] = {}
    for side in (0, 1):
        others = defaultdict(list)
        for row in every.tolist():
            others[row[side]].append(row[1 - side])
        asked = defaultdict(list)
        for at, row in enumerate(true.tolist()):
            asked[row[side]].append((at, row[1 - side]))
        for node, wanted in asked.items():
            score = head.log_odds(node, side)
            candidates = np.zeros(len(score), bool)
            candidates[head.nodes(node, side)] = True
            candidates[others[node]] = False
            for at, other in wanted:
                made[at, side] = rank_of(score, other, candidates)
    return [made[at, side] for at in range(len(true)) for side in (0, 1)]


def _by_results(predictions: Predictions, truth: object, known: object) -> Ranking:
    """Ranks in complete results: every candidate has to have its row."""
    true = read_truth(truth, predictions).true.to_pylist()
    facts = {*true, *(read_truth(known, predictions).true.to_pylist() if known else ())}
    row = {atom: at for at, atom in enumerate(predictions.atom.to_pylist())}
    groups: dict[tuple[int, str], list[int]] = defaultdict(list)
    keys: dict[str, list[tuple[int, str]]] = {}
    for atom, at in row.items():
        keys[atom] = _keys(atom)
        for key in keys[atom]:
            groups[key].append(at)
    is_fact = np.array([atom in facts for atom in row], bool)
    predicates, index, ranks, missing = [], [], [], []
    for atom in true:
        if "(" not in atom:
            continue
        if atom not in row:
            missing.append(atom)
            continue
        for key in keys[atom]:
            rows = np.array(groups[key])
            score = predictions.probability[rows]
            at = int(np.flatnonzero(rows == row[atom])[0])
            ranks.append(rank_of(score, at, ~is_fact[rows]))
            name = atom[: atom.index("(")]
            if name not in predicates:
                predicates.append(name)
            index.append(predicates.index(name))
    if missing:
        raise InputError(
            f"{len(missing):,} true facts have no row in {predictions.source}, such as {missing[0]}",
            hint="ranking needs complete results: infer all candidates, without --top and without the facts as evidence;"
            " or rank by the rule file itself, with -e",
        )
    if not ranks:
        raise InputError("no fact of the truth can be ranked", hint="ranking is about predicates with two arguments or more")
    return Ranking(tuple(predicates), np.array(index), np.array(ranks), ())


def _keys(atom: str) -> list[tuple[int, str]]:
    """The queries that an atom is an answer to: its text without the first and without the last argument."""
    name, _, rest = atom.partition("(")
    args = re.findall(rf"({ARGUMENT})(?:,|\)$)", rest) if rest else []
    if len(args) < 2:
        return []
    return [(at, f"{name}({','.join((*args[:at], '_', *args[at + 1 :]))})") for at in (0, len(args) - 1)]


def ranking_table(found: Ranking) -> Any:
    """Scores of each predicate, for a terminal."""
    from rich.table import Table

    table = Table(box=None, header_style="bold", padding=(0, 2, 0, 0))
    table.add_column("predicate")
    for title in ("queries", "MRR", *(f"Hits@{k}" for k in HITS), "mean rank"):
        table.add_column(title, justify="right", no_wrap=True)
    for name, scores in found.rows().items():
        cells = [f"{scores['mrr']:.4f}", *(f"{scores[f'hits@{k}']:.4f}" for k in HITS), f"{scores['mean_rank']:,.1f}"]
        table.add_row(name, f"{scores['queries']:,.0f}", *cells)
    return table
