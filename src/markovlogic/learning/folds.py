"""Cross-validation over databases: learn from all but one, infer what that one says of the modelled predicates, and compare."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from markovlogic.api.infer import infer
from markovlogic.data.domains import Domain
from markovlogic.data.evidence import Evidence
from markovlogic.errors import InputError
from markovlogic.evaluation.evaluate import Evaluation, evaluate_left_out
from markovlogic.language import syntax
from markovlogic.language.load import load
from markovlogic.learning.databases import read_databases, targets_of
from markovlogic.learning.learn import learn
from markovlogic.learning.result import Learned
from markovlogic.problem.prepare import Models, Queries
from markovlogic.report.progress import progress_of
from markovlogic.results.marginals import Marginals
from markovlogic.system.progress import SILENT, Progress


@dataclass(frozen=True, eq=False)
class Fold:
    """One database left out: what was learned from the others, and how well it predicts this one."""

    left_out: str
    learned: Learned
    evaluation: Evaluation
    inference: str  # the method that gave the probabilities
    doubts: tuple[str, ...] = ()  # reasons not to trust these

    def concerns(self) -> list[str]:
        """Reasons not to trust the weights, or what was inferred with them; empty when none was found."""
        return [*self.learned.concerns(), *self.doubts]

    def as_dict(self) -> dict[str, Any]:
        """Plain values."""
        return {
            "left_out": self.left_out,
            "seconds": dict(self.learned.stats["seconds"]),
            "inference": self.inference,
            "concerns": self.concerns(),
            **self.evaluation.as_dict(),
        }


@dataclass(frozen=True, eq=False)
class CrossValidation:
    """All folds, and the evaluation of all their predictions together."""

    folds: tuple[Fold, ...]
    pooled: Evaluation

    def concerns(self) -> list[str]:
        """Those of all folds, each once, and before it the databases that were left out where it came up."""
        found: dict[str, list[str]] = {}
        for fold in self.folds:
            for concern in fold.concerns():
                found.setdefault(concern, []).append(fold.left_out)
        return [f"without {', '.join(names)}: {concern}" for concern, names in found.items()]

    def as_dict(self) -> dict[str, Any]:
        """Plain values."""
        return {"folds": [fold.as_dict() for fold in self.folds], "pooled": self.pooled.as_dict()}


def cross_validate(
    model: Models,
    evidence: object,
    query: Queries = None,
    *,
    infer_options: Mapping[str, Any] | None = None,
    progress: Progress | bool | None = None,
    **options: Any,
) -> CrossValidation:
    """Leave one database out at a time. options: those of `learn`; infer_options: those of `infer`; progress: as in `infer`."""
    with progress_of(progress) as shown:
        return _validated(model, evidence, query, infer_options, shown, options)


def _validated(
    model: Models,
    evidence: object,
    query: Queries,
    infer_options: Mapping[str, Any] | None,
    progress: Progress,
    options: Mapping[str, Any],
) -> CrossValidation:
    source = model if isinstance(model, syntax.Model) else load(model)
    closed_types = bool(options.get("closed_types", False))
    given = read_databases(source, evidence, closed_types=closed_types, progress=progress)
    if len(given) < 2:
        raise InputError("one database cannot be left out of one", hint="give several, each by an -e of its own")
    targets = targets_of(source, given, query)
    folds = [
        left_out(source, given, targets, at, infer_options=infer_options, progress=progress, **options)[0]
        for at in range(len(given))
    ]
    return CrossValidation(tuple(folds), _pooled(folds))


def left_out(
    model: syntax.Model,
    given: Sequence[Evidence],
    targets: Sequence[str],
    at: int,
    *,
    infer_options: Mapping[str, Any] | None = None,
    progress: Progress = SILENT,
    **options: Any,
) -> tuple[Fold, Marginals]:
    """One fold, and the probabilities that it evaluates: learned from all databases but one, inferred from its other facts."""
    own = given[at]
    learned = learn(model, [one for number, one in enumerate(given) if number != at], list(targets), progress=progress, **options)
    known = {name: facts for name, facts in own.facts.items() if name not in targets}
    shown = Evidence(_domains(learned.model, own), known, own.sources, own.observed - set(targets))
    result = infer(learned.model, shown, list(targets), progress=progress, **(infer_options or {}))
    name = "+".join(own.sources) or f"database {at + 1}"
    return Fold(name, learned, evaluate_left_out(result, own), result.run.method, tuple(result.concerns())), result


def _domains(model: syntax.Model, evidence: Evidence) -> dict[str, Domain]:
    """The evidence's constants, and after them those that learned rules name; facts keep their numbers."""
    made = dict(evidence.domains)
    for name, constants in model.constants.items():
        known = made.get(name, Domain(name, ()))
        made[name] = Domain(name, tuple(dict.fromkeys((*known.names, *constants))))
    return made


def _pooled(folds: Sequence[Fold]) -> Evaluation:
    names = sorted({name for fold in folds for name in fold.evaluation.predicates})
    number = {name: at for at, name in enumerate(names)}
    parts = [fold.evaluation for fold in folds]
    predicate = [np.array([number[name] for name in one.predicates], np.int64)[one.predicate] for one in parts]
    return Evaluation(
        tuple(names),
        np.concatenate(predicate),
        np.concatenate([one.truth for one in parts]),
        np.concatenate([one.probability for one in parts]),
        tuple(dict.fromkeys(note for one in parts for note in one.notes)),
    )
