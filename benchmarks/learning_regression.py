"""Logistic regression (scikit-learn, l2) on the features of local rules, its strength chosen on training databases alone."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

import markovlogic as mln
from learning_problems import Trial
from markovlogic.learning.databases import Database, database_of, read_databases, targets_of
from markovlogic.learning.priors import SCALES

Key = tuple[str, str]  # target, and the value where there is a classifier for each


@dataclass(frozen=True, eq=False)
class Table:
    """Objects of one database: sparse features and truth."""

    features: Any
    truth: np.ndarray


Tables = Mapping[Key, Table]


class Regression:
    """Tables of all databases; classifiers learned from some of them."""

    def __init__(self, trial: Trial) -> None:
        model = mln.Model.parse(trial.local)
        given = read_databases(model, [str(file) for file in trial.files])
        targets = targets_of(model, given, list(trial.targets))
        self._column: dict[tuple[str, str], int] = {}
        if trial.listed_pairs:
            self.tables: list[Tables] = _of_counts(model, given, targets)
        else:
            made = [database_of(model, one, targets, "fold") for one in given]
            self.tables = [dict(self._of_facts(one)) for one in made]

    def chosen_scale(self, training: Sequence[int]) -> float:
        """The standard deviation that predicts best, training databases left out one at a time."""
        best: tuple[float, float] | None = None
        for scale in SCALES:
            total = 0.0
            for at in training:
                message = self.predicted([other for other in training if other != at], at, scale)
                total += sum(
                    float(np.log(np.clip(np.where(truth, p, 1 - p), 1e-6, 1)).sum()) for truth, p in _by_target(message).values()
                )
            if best is None or total > best[0]:
                best = (total, scale)
            elif total < best[0] - 1e-3 * abs(best[0]):
                break
        assert best is not None
        return best[1]

    def predicted(self, training: Sequence[int], at: int, scale: float) -> dict[Key, tuple[np.ndarray, np.ndarray]]:
        """Truth and probabilities of one database, by classifiers that were learned from others."""
        from sklearn.linear_model import LogisticRegression

        message = {}
        for key, table in self.tables[at].items():
            own = [self.tables[other][key] for other in training if key in self.tables[other]]
            if not own:  # a value that no training database shows
                message[key] = (table.truth, np.zeros(len(table.truth)))
                continue
            known = np.concatenate([one.truth for one in own])
            if known.all() or not known.any():
                message[key] = (table.truth, np.full(len(table.truth), float(known.mean())))
                continue
            width = max(one.features.shape[1] for one in (*own, table))
            fitted = LogisticRegression(C=scale**2, max_iter=2000).fit(_stacked([one.features for one in own], width), known)
            message[key] = (table.truth, fitted.predict_proba(_stacked([table.features], width))[:, 1])
        return message

    def _of_facts(self, database: Database) -> Iterator[tuple[Key, Table]]:
        """For each target and value: the facts about each object that the local rules speak of."""
        from scipy import sparse

        problem = database.problem
        for target in dict.fromkeys(group for group in problem.atoms.predicates if len(problem.atoms.range_of(group))):
            predicate = problem.model.predicates[target]
            objects = problem.domains[predicate.types[0]]
            rows, columns = [], []
            for name, facts in problem.evidence.facts.items():
                types = problem.model.predicates[name].types
                if predicate.types[0] not in types or types.count(predicate.types[0]) > 1:
                    continue
                own = types.index(predicate.types[0])
                for args in facts.args.tolist():
                    others = [problem.domains[t].names[a] for at, (t, a) in enumerate(zip(types, args, strict=True)) if at != own]
                    rows.append(args[own])
                    columns.append(self._column.setdefault((name, ",".join(others)), len(self._column)))
            features = sparse.csr_array((np.ones(len(rows)), (rows, columns)), shape=(len(objects), len(self._column)))
            span = problem.atoms.range_of(target)
            truth = database.truth[span.start : span.stop].reshape(len(objects), -1)
            values = [""] if predicate.arity == 1 else list(problem.domains[predicate.types[1]].names)
            for at, value in enumerate(values):
                yield (target, value), Table(features, truth[:, at])


def _of_counts(model: Any, given: Sequence[Any], targets: Sequence[str]) -> list[Tables]:
    """The very changes of counts that pseudo-likelihood learns from, a classifier for each target."""
    from markovlogic.learning.counts import count_rows
    from markovlogic.learning.features import FeatureIndex, prepare
    from markovlogic.learning.pseudolikelihood import design_of

    rules, index = prepare(model), FeatureIndex()
    countings = [count_rows(rules, database_of(model, one, targets, "fold"), index) for one in given]
    made: list[Tables] = []
    for counting in countings:
        design = design_of([counting], [counting.database.truth], len(index))
        atoms = counting.database.problem.atoms
        tables = {}
        for target in targets:
            own = atoms.range_of(target)
            tables[target, ""] = Table(design.matrix[own.start : own.stop], design.label[own.start : own.stop])
        made.append(tables)
    return made


def _by_target(message: Mapping[Key, tuple[np.ndarray, np.ndarray]]) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    parts: dict[str, list[tuple[np.ndarray, np.ndarray]]] = {}
    for (target, _), pair in message.items():
        parts.setdefault(target, []).append(pair)
    return {name: (np.concatenate([t for t, _ in own]), np.concatenate([p for _, p in own])) for name, own in parts.items()}


def regressed(trial: Trial, at: int) -> tuple[dict[str, tuple[np.ndarray, np.ndarray]], str]:
    """Truth and probabilities of the left-out database by target, and a line on how."""
    found = Regression(trial)
    training = [other for other in range(len(trial.files)) if other != at]
    scale = found.chosen_scale(training)
    return _by_target(found.predicted(training, at, scale)), f"scikit-learn, standard deviation {scale:g}"


def _stacked(parts: Sequence[Any], width: int) -> Any:
    from scipy import sparse

    wide = [sparse.csr_array((part.data, part.indices, part.indptr), shape=(part.shape[0], width)) for part in parts]
    return sparse.csr_array(sparse.vstack(wide))
