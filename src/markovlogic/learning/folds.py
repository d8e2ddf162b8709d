"""Cross-validation: learn without a part of the data, infer that part, and compare with what is true.

The part is a whole database, inferred from its other facts; or a K-th of the query facts of every database, which are unknown
both when weights are learned and when they are inferred from the rest.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from markovlogic.api.infer import infer
from markovlogic.data.evidence import FALSE, TRUE, UNKNOWN, Domain, Evidence, Facts, decode
from markovlogic.errors import InputError
from markovlogic.evaluation.evaluate import Evaluation, evaluate_left_out
from markovlogic.language import syntax
from markovlogic.language.load import load
from markovlogic.learning.databases import Database, database_of, read_databases, targets_of
from markovlogic.learning.held_out import fold_of_atoms
from markovlogic.learning.learn import learn
from markovlogic.learning.learned import Learned
from markovlogic.problem.prepare import Models, Queries
from markovlogic.report.progress import progress_of
from markovlogic.results.marginals import Marginals
from markovlogic.system.arrays import Bool, frozen
from markovlogic.system.cancellation import Deadline
from markovlogic.system.progress import SILENT, Progress

LEARNING_SHARE = 0.6  # of a fold's time
LEAST_SECONDS = 0.05


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


class _Turns:
    """One time limit for all folds: each gets an equal part of what is left, most of it for learning."""

    def __init__(self, limit: float | None, n_turns: int) -> None:
        self._limit = Deadline(limit)
        self._to_come = n_turns
        self._ends = 0.0  # what is left of the whole when the turn ends

    def begin(self) -> None:
        """The next fold."""
        left = self._limit.left
        if left is not None:
            self._ends = left * (1 - 1 / self._to_come)
        self._to_come -= 1

    def _left(self) -> float | None:
        left = self._limit.left
        return None if left is None else max(left - self._ends, LEAST_SECONDS)

    @property
    def for_learning(self) -> float | None:
        """Seconds to learn; None where there is no limit."""
        left = self._left()
        return None if left is None else LEARNING_SHARE * left

    def for_inference(self, n_runs: int) -> float | None:
        """Seconds for the next of several runs of inference."""
        left = self._left()
        return None if left is None else left / n_runs


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
    hold_out: int | None = None,
    infer_options: Mapping[str, Any] | None = None,
    progress: Progress | bool | None = None,
    **options: Any,
) -> CrossValidation:
    """Leave one database out at a time, or hide a K-th of the query facts of each database at a time (hold_out=K).

    options: those of `learn`; infer_options: those of `infer`; progress: as in `infer`.
    """
    with progress_of(progress) as shown:
        return _validated(model, evidence, query, hold_out, infer_options, shown, options)


def _validated(
    model: Models,
    evidence: object,
    query: Queries,
    hold_out: int | None,
    infer_options: Mapping[str, Any] | None,
    progress: Progress,
    options: Mapping[str, Any],
) -> CrossValidation:
    source = model if isinstance(model, syntax.Model) else load(model)
    closed_types = bool(options.get("closed_types", False))
    given = read_databases(source, evidence, closed_types=closed_types, progress=progress)
    targets = targets_of(source, given, query)
    if hold_out is not None:
        return _held_out(source, given, targets, hold_out, infer_options, progress, options)
    if len(given) < 2:
        hint = "give several, each by an -e of its own, or hide a part of its query facts at a time: --hold-out 5"
        raise InputError("--folds needs at least two databases", hint=hint)
    turns = _Turns(options.get("time_limit"), len(given))
    folds = []
    for at in range(len(given)):
        turns.begin()
        own = {**options, "time_limit": turns.for_learning}
        folds.append(left_out(source, given, targets, at, infer_options=infer_options, progress=progress, turns=turns, **own)[0])
    return CrossValidation(tuple(folds), _pooled([fold.evaluation for fold in folds]))


def left_out(
    model: syntax.Model,
    given: Sequence[Evidence],
    targets: Sequence[str],
    at: int,
    *,
    infer_options: Mapping[str, Any] | None = None,
    progress: Progress = SILENT,
    turns: _Turns | None = None,
    **options: Any,
) -> tuple[Fold, Marginals]:
    """One fold, and the probabilities that it evaluates: learned from all databases but one, inferred from its other facts."""
    own = given[at]
    learned = learn(model, [one for number, one in enumerate(given) if number != at], list(targets), progress=progress, **options)
    known = {name: facts for name, facts in own.facts.items() if name not in targets}
    shown = Evidence(_domains(learned.model, own), known, own.sources, own.observed - set(targets))
    limit = {} if turns is None else {"time_limit": turns.for_inference(1)}
    result = infer(learned.model, shown, list(targets), progress=progress, **{**limit, **(infer_options or {})})
    name = "+".join(own.sources) or f"database {at + 1}"
    return Fold(name, learned, evaluate_left_out(result, own), result.run.method, tuple(result.concerns())), result


def _held_out(
    model: syntax.Model,
    given: Sequence[Evidence],
    targets: Sequence[str],
    n_parts: int,
    infer_options: Mapping[str, Any] | None,
    progress: Progress,
    options: Mapping[str, Any],
) -> CrossValidation:
    if n_parts < 2:
        raise InputError(f"--hold-out must be at least 2, not {n_parts}", hint="5 hides a fifth at a time")
    seed = int(options.get("seed", 0))
    databases = [database_of(model, one, targets, f"database {at + 1}") for at, one in enumerate(given)]
    of_atoms = [fold_of_atoms(one, n_parts, (seed, at)) for at, one in enumerate(databases)]
    truths = [
        _without(own, targets, database, np.zeros(len(fold), bool))
        for own, database, fold in zip(given, databases, of_atoms, strict=True)
    ]
    for fold, truth in zip(of_atoms, truths, strict=True):
        if fold.max(initial=-1) < n_parts - 1:
            name, n_known = "+".join(truth.sources) or "a database", fold.max(initial=-1) + 1
            raise InputError(f"{name} has {n_known} query facts, too few for {n_parts} parts", hint="take a smaller --hold-out")
    turns = _Turns(options.get("time_limit"), n_parts)
    folds = []
    for part in range(n_parts):
        hidden = [
            _without(own, targets, database, fold == part) for own, database, fold in zip(given, databases, of_atoms, strict=True)
        ]
        turns.begin()
        own_options = {**options, "time_limit": turns.for_learning}
        learned = learn(model, hidden, list(targets), progress=progress, hold_out=n_parts, **own_options)
        results = []
        for at, (own, shown) in enumerate(zip(given, hidden, strict=True)):
            limit = turns.for_inference(len(given) - at)
            known = Evidence(_domains(learned.model, own), shown.facts, own.sources, shown.observed)
            how = {"time_limit": limit, **(infer_options or {})}
            results.append(infer(learned.model, known, list(targets), progress=progress, **how))
        scores = _pooled([evaluate_left_out(result, own) for result, own in zip(results, truths, strict=True)])
        doubts = tuple(dict.fromkeys(concern for result in results for concern in result.concerns()))
        folds.append(Fold(f"part {part + 1} of {n_parts}", learned, scores, results[0].run.method, doubts))
    return CrossValidation(tuple(folds), _pooled([fold.evaluation for fold in folds]))


def _without(evidence: Evidence, targets: Sequence[str], database: Database, held: Bool) -> Evidence:
    """The evidence in which some modelled atoms are unknown, and all others are facts."""
    facts = {name: own for name, own in evidence.facts.items() if name not in targets}
    problem = database.problem
    grouped = np.zeros(len(held), bool)
    for groups in problem.groups:
        grouped[groups.atom] = True
    for name in targets:
        of = problem.atoms.range_of(name)
        at = slice(of.start, of.stop)
        truth = np.where(database.truth[at], TRUE, FALSE).astype(np.int8)
        truth[held[at] | database.hidden[at]] = UNKNOWN
        truth[database.excluded[at]] = FALSE
        kept = ~grouped[at] | (truth != FALSE) | database.excluded[at]  # one value of a group says all of the others
        code = problem.atoms.codes(name)[kept]
        order = np.argsort(code, kind="stable")
        args = decode(code[order], problem.statuses[name].sizes)
        facts[name] = frozen(Facts(args, truth[kept][order]))
    return Evidence(evidence.domains, facts, evidence.sources, evidence.observed | set(targets))


def _domains(model: syntax.Model, evidence: Evidence) -> dict[str, Domain]:
    """The evidence's constants, and after them those that learned rules name; facts keep their numbers."""
    made = dict(evidence.domains)
    for name, constants in model.constants.items():
        known = made.get(name, Domain(name, ()))
        made[name] = Domain(name, tuple(dict.fromkeys((*known.names, *constants))))
    return made


def _pooled(parts: Sequence[Evaluation]) -> Evaluation:
    names = sorted({name for part in parts for name in part.predicates})
    number = {name: at for at, name in enumerate(names)}
    group, n_groups = [], 0
    for one in parts:
        own = np.full(len(one.truth), -1, np.int64) if one.group is None else one.group
        group.append(np.where(own >= 0, own + n_groups, -1))
        n_groups += int(own.max(initial=-1)) + 1
    predicate = [np.array([number[name] for name in one.predicates], np.int64)[one.predicate] for one in parts]
    return Evaluation(
        tuple(names),
        np.concatenate(predicate),
        np.concatenate([one.truth for one in parts]),
        np.concatenate([one.probability for one in parts]),
        tuple(dict.fromkeys(note for one in parts for note in one.notes)),
        np.concatenate(group),
    )
