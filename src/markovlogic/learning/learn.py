"""`learn`: from rules without weights and training databases to a weighted model."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from markovlogic import measures
from markovlogic.arrays import Bool, Float64
from markovlogic.data.evidence import Evidence
from markovlogic.errors import known_name
from markovlogic.language import syntax
from markovlogic.language.load import load
from markovlogic.learning.chains import WeightedNetwork, weighted_network
from markovlogic.learning.counts import CountingRows, count_rows
from markovlogic.learning.databases import Database, assumed_of, database_of, read_databases, targets_of
from markovlogic.learning.divergence import Found, Likelihood, Preconditioner, climb
from markovlogic.learning.features import FeatureIndex, LearningRules, instantiate, prepare
from markovlogic.learning.optimise import cross_validated, maximise
from markovlogic.learning.priors import Penalty, Prior, PriorWish, penalty_of, prior_wish
from markovlogic.learning.pseudolikelihood import MOST_DENSE, Design, design_of, standard_errors
from markovlogic.learning.references import diagonal_newton, voted_perceptron
from markovlogic.learning.result import Learned, LearnedWeight
from markovlogic.measures import Stopwatch, peak_memory
from markovlogic.patience import SURE, Patience, current
from markovlogic.posing import Models, Queries
from markovlogic.progress import SILENT, Progress

PSEUDO, CD, NEWTON, PERCEPTRON, AUTO = "pseudolikelihood", "cd", "newton", "perceptron", "auto"
METHODS = (AUTO, PSEUDO, CD, NEWTON, PERCEPTRON)
STAGES = (*measures.STAGES, "learn")  # the stages of every record, and its own
MOST_NAMED = 5  # rules in a note
SWEEPS_OF_HIDDEN, ROUNDS_OF_HIDDEN = 100, 5


def learn(
    model: Models,
    evidence: object,
    query: Queries = None,
    *,
    method: str = AUTO,
    prior: str | float | Prior | None = None,
    keep_weights: bool = False,
    time_limit: float | None = None,
    seed: int = 0,
    memory_limit: int | None = None,
    closed_types: bool = False,
    progress: Progress = SILENT,
) -> Learned:
    """Learn the weights of a model's rules.

    evidence: a training database, or a list with one an item, each a world with its own constants; a database is files, tables by
    predicate or an Evidence. query: the predicates that are modelled given all others; None: all that data show (generative).
    Facts that are missing are false, `?` ones hidden. prior: "auto", "none", a standard deviation, "l2:2", "l1:0.5".
    keep_weights: rules that have a weight keep it; else it is learned too.
    """
    known_name(method, "method", METHODS)
    wish = prior_wish(prior)
    watch = Stopwatch(STAGES)
    limit = None if time_limit is None or time_limit == math.inf else float(time_limit)
    with Patience(limit, outer=current()).of_this_run():
        with watch("read"):
            progress.stage("read")
            source = model if isinstance(model, syntax.Model) else load(model)
            given = read_databases(source, evidence, closed_types=closed_types, progress=progress)
        task = Task(source, given, targets_of(source, given, query), keep_weights, memory_limit)
        return _learned(task, method, wish, seed, watch, progress)


@dataclass(frozen=True, eq=False)
class Task:
    """What is to be learned from what."""

    model: syntax.Model
    evidence: Sequence[Evidence]
    targets: tuple[str, ...]
    keep_weights: bool
    memory_limit: int | None


@dataclass(frozen=True, eq=False)
class Prepared:
    """Counts of all databases, and observations for the pseudo-likelihood."""

    rules: LearningRules
    databases: Sequence[Database]
    countings: Sequence[CountingRows]
    index: FeatureIndex
    networks: Sequence[WeightedNetwork]

    @property
    def hides(self) -> bool:
        """Whether nothing is known of some atoms."""
        return any(database.hidden.any() for database in self.databases)

    @property
    def coupled(self) -> bool:
        """Whether rules tie modelled atoms together, so that the pseudo-likelihood is not the likelihood itself."""
        return any(network.is_coupled for network in self.networks)

    @property
    def is_base(self) -> Bool:
        """(n_features,) weights of rules that are a single literal: how often it is true at all."""
        base = {rule.number for rule in self.rules.rules if _is_literal(rule.rule.formula)}
        return np.array([number in base for number, _ in self.index.keys], bool)

    def design(self, worlds: Sequence[Bool]) -> Design:
        """Observations at these worlds; hidden atoms are none."""
        return design_of(self.countings, worlds, len(self.index), left_out=[one.hidden for one in self.databases])


def _is_literal(formula: syntax.Formula) -> bool:
    return isinstance(formula, syntax.Atom) or (isinstance(formula, syntax.Not) and isinstance(formula.body, syntax.Atom))


def _prepared(task: Task, watch: Stopwatch, progress: Progress) -> Prepared:
    with watch("ground"):
        rules = prepare(task.model, keep_weights=task.keep_weights)
        index = FeatureIndex()
        names = [_name(one, at) for at, one in enumerate(task.evidence)]
        databases = [database_of(task.model, one, task.targets, name) for one, name in zip(task.evidence, names, strict=True)]
        countings = [count_rows(rules, one, index, memory_limit=task.memory_limit, progress=progress) for one in databases]
        networks = [weighted_network(one, len(index)) for one in countings]
    current().allowance = SURE  # from here on weights can always be told
    return Prepared(rules, databases, countings, index, networks)


def _name(evidence: Evidence, at: int) -> str:
    return "+".join(evidence.sources) if evidence.sources else f"database {at + 1}"


def _learned(task: Task, method: str, wish: PriorWish, seed: int, watch: Stopwatch, progress: Progress) -> Learned:
    ready = _prepared(task, watch, progress)
    assumed = [assumed_of(one, evidence) for one, evidence in zip(ready.databases, task.evidence, strict=True)]
    notes = list(dict.fromkeys(note for found in assumed for note in found))
    with watch("learn"):
        progress.stage("pseudo-likelihood")
        worlds = [one.truth for one in ready.databases]
        if ready.hides:
            worlds = _completed(ready, np.zeros(len(ready.index)), seed)
        design = ready.design(worlds)
        chosen = wish.fixed
        if chosen is None:
            chosen, how = cross_validated(design, wish, ready.is_base, seed, progress)
            progress.stage("pseudo-likelihood")
            notes.append(f"the prior, {chosen}, was chosen by {how}")
        penalty = penalty_of(chosen, ready.is_base)
        weights, ended = maximise(design, penalty, told=lambda step, _value: progress.advance(step, f"step {step}"))
        for turn in range(ROUNDS_OF_HIDDEN if ready.hides else 0):  # EM: complete the data, learn from them, again
            worlds = _completed(ready, weights, seed + turn + 1)
            design = ready.design(worlds)
            weights, ended = maximise(design, penalty, weights)
        information = design.information(weights)
        errors, exact_errors = standard_errors(information, penalty.precision)
        used, converged, more = _went_on(ready, method, weights, penalty, errors, information, seed, progress)
        notes += more.notes
        if more.found is not None:
            weights = more.found.weights
            if more.found.information is not None:
                errors, exact_errors = standard_errors(_sparse(more.found.information), penalty.precision)
    worries = list(more.worries)
    if not ended and used == PSEUDO:
        worries.append("the search for the best weights ended early: allow more time")
    if not exact_errors:
        notes.append(
            "there are too many weights for full standard errors: those given hold where all others are known, and are too small"
        )
    told = _told(task, ready, design, weights, chosen)
    stats = _stats(ready, used, more.found, converged, watch)
    return Learned(
        task.model,
        _weights(ready, weights, errors, design),
        used,
        str(chosen),
        tuple(one.name for one in ready.databases),
        task.targets,
        (*notes, *told.notes),
        (*worries, *told.worries),
        stats,
    )


def _sparse(dense: Float64) -> object:
    from scipy import sparse

    return sparse.csr_array(dense)


@dataclass(frozen=True)
class _Told:
    notes: tuple[str, ...] = ()
    worries: tuple[str, ...] = ()
    found: Found | None = None


def _went_on(
    ready: Prepared,
    method: str,
    weights: Float64,
    penalty: Penalty,
    errors: Float64,
    information: object,
    seed: int,
    progress: Progress,
) -> tuple[str, bool, _Told]:
    """Go on to the true conditional likelihood where that was asked for, or where it differs."""
    if not len(weights):
        return PSEUDO, True, _Told()
    if method == AUTO and not ready.coupled and not ready.hides:
        note = "no rule ties two modelled atoms together, so the pseudo-likelihood is the conditional likelihood itself"
        return PSEUDO, True, _Told((note,))
    if method == PSEUDO:
        note = "couplings were learned with all neighbours known; where they are not, --method cd or auto may do better"
        return PSEUDO, True, _Told((note,) if ready.coupled else ())
    progress.stage("conditional likelihood", None)
    likelihood = Likelihood(ready.networks, seed)
    solver = Preconditioner(information, penalty.precision, MOST_DENSE)
    rough = np.where(np.isnan(errors), 1.0, errors)
    ways: dict[str, Callable[[], Found]] = {
        AUTO: lambda: climb(likelihood, weights, penalty, solver, rough, progress),
        CD: lambda: climb(likelihood, weights, penalty, solver, rough, progress),
        NEWTON: lambda: diagonal_newton(likelihood, weights, penalty, progress),
        PERCEPTRON: lambda: voted_perceptron(likelihood, weights, penalty, seed, progress),
    }
    found = ways[method]()
    used = CD if method == AUTO else method
    notes, worries = [], []
    if method == AUTO:
        notes.append(f"went on from the pseudo-likelihood to the conditional likelihood: {found.steps} steps, 64 chains")
    if not found.converged:
        worries.append(
            f"{used} ended after {found.steps} steps, and the weights were still about {found.distance:.2g} standard errors"
            " from where they go: allow more time, or a stronger prior"
        )
    worries += _confined(ready, weights)
    return used, found.converged, _Told(tuple(notes), tuple(worries), found)


def _confined(ready: Prepared, weights: Float64) -> list[str]:
    from markovlogic.samplers.irreducible import Reach, single_site_reach

    hard = [network for network in ready.networks if len(network.hard)]
    if hard and any(single_site_reach(network.network(weights)) is not Reach.ALL for network in hard):
        return ["hard rules may confine the chains that expectations come from; --method pseudolikelihood needs none"]
    return []


def _completed(ready: Prepared, weights: Float64, seed: int) -> list[Bool]:
    """Worlds in which hidden atoms are drawn given all that is known."""
    from markovlogic.learning.chains import Chains

    worlds = []
    for number, (database, network) in enumerate(zip(ready.databases, ready.networks, strict=True)):
        if not database.hidden.any():
            worlds.append(database.truth)
            continue
        chains = Chains(network, np.random.SeedSequence([seed, number]), ~database.hidden)
        words = chains.sweep(weights, SWEEPS_OF_HIDDEN)
        drawn = (words[: len(database.truth)] & np.uint64(1)) == 1
        worlds.append(np.where(database.hidden, drawn, database.truth))
    return worlds


def _weights(ready: Prepared, weights: Float64, errors: Float64, design: Design) -> tuple[LearnedWeight, ...]:
    informed = np.diff(design.matrix.tocsc().indptr) > 0
    by_rule: dict[int, list[int]] = {}
    for feature, (number, _) in enumerate(ready.index.keys):
        by_rule.setdefault(number, []).append(feature)
    made = []
    for rule in ready.rules.rules:
        if rule.kept is not None:
            continue
        features = by_rule.get(rule.number, [])
        if not rule.plus and not features:
            made.append(LearnedWeight(replace(rule.rule, weight=0.0), rule.number, 0.0, math.nan, False))
        for feature in sorted(features, key=lambda at: ready.index.keys[at][1]):
            constants = ready.index.keys[feature][1]
            weight = float(weights[feature])
            own = instantiate(rule.rule, rule.plus, constants, weight)
            types = rule.rule.type_of
            named = tuple((types[name], constant) for name, constant in zip(rule.plus, constants, strict=True))
            made.append(LearnedWeight(own, rule.number, weight, float(errors[feature]), bool(informed[feature]), named))
    return tuple(made)


def _told(task: Task, ready: Prepared, design: Design, weights: Float64, prior: Prior) -> _Told:
    """What the data do not decide, rule by rule."""
    notes: list[str] = []
    worries: list[str] = []
    for name in task.targets:
        shares = [_share(one, name) for one in ready.databases]
        known = [share for share in shares if share is not None]
        for value, word in ((1.0, "true"), (0.0, "false")):
            if known and all(share == value for share in known):
                worries.append(
                    f"every atom of {name} is {word} in the training data: nothing tells what would make it otherwise;"
                    " add data in which it varies, or take it out of -q"
                )
    informed = np.diff(design.matrix.tocsc().indptr) > 0
    silent = [
        rule
        for rule in ready.rules.rules
        if rule.kept is None and not any(informed[at] for at, key in enumerate(ready.index.keys) if key[0] == rule.number)
    ]
    met = frozenset().union(*(one.met for one in ready.countings)) if ready.countings else frozenset()
    decided = [rule.rule for rule in silent if rule.number not in met]
    for rules, why in (
        (decided, "the evidence decides all their groundings"),
        ([rule.rule for rule in silent if rule.number in met], "no atom of the data makes a difference to them"),
    ):
        if rules:
            notes.append(f"the data say nothing about {_listed(rules)}: {why}; their weight is 0")
    up, down = design.one_sided()
    plain = [at for at, (number, constants) in enumerate(ready.index.keys) if not constants and (up[at] or down[at])]
    if plain:
        rules = [task.model.rules[ready.index.keys[at][0]] for at in plain]
        text = f"the data never contradict {_listed(rules)}: by themselves they would make the weight infinite"
        if prior.kind == "none":
            worries.append(f"{text}; give a prior, such as --prior 2, or make the rule hard by a final period")
        else:
            notes.append(f"{text}; the prior keeps it finite, and a final period would make the rule hard")
    by_constant = int(sum(1 for at, (_, constants) in enumerate(ready.index.keys) if constants and (up[at] or down[at])))
    if by_constant and prior.kind == "none":
        worries.append(f"{by_constant:,} weights of rules with + would be infinite: give a prior, such as --prior 1")
    if prior.kind == "none" and not plain and not by_constant and np.any(np.abs(weights) > 30):
        worries.append("some weights run to infinity: the data are separable; give a prior, such as --prior 2")
    return _Told(tuple(notes), tuple(worries))


def _share(database: Database, predicate: str) -> float | None:
    own = database.problem.atoms.range_of(predicate)
    known = ~database.hidden[own.start : own.stop]
    return float(database.truth[own.start : own.stop][known].mean()) if known.any() else None


def _listed(rules: Sequence[syntax.Rule]) -> str:
    shown = [f"{rule.text} ({rule.place})" for rule in rules[:MOST_NAMED]]
    more = len(rules) - len(shown)
    return ", ".join(shown) + (f" and {more:,} more" if more else "")


def _stats(ready: Prepared, used: str, found: Found | None, converged: bool, watch: Stopwatch) -> dict[str, object]:
    exact = used == PSEUDO and not ready.coupled and not ready.hides
    return {
        "network": "ground",
        "estimator": "none",
        "guarantee": "exact" if exact else "unbounded",
        "atoms": sum(len(one.truth) for one in ready.databases),
        "clauses": sum(len(one.rows) + len(one.hard) for one in ready.networks),
        "chains": 0 if found is None else 64,
        "draws": 0 if found is None else found.steps,
        "burn_in": 0,
        "updates": 0 if found is None else None,  # nobody counts those of chains whose weights change
        "steps": None if found is None else found.steps,
        "converged": converged,
        "seconds": dict(watch.stop()),
        "peak_memory_bytes": peak_memory(),
    }
