"""`learn`: from rules without weights and training databases to a weighted model."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from markovlogic.errors import InputError, UnsupportedError, known_name
from markovlogic.language import syntax
from markovlogic.language.load import load
from markovlogic.learning.chains import CHAINS
from markovlogic.learning.counted import Wanted
from markovlogic.learning.databases import Database, halves, read_databases, targets_of
from markovlogic.learning.divergence import Found, Likelihood, climb, diagonal_newton, voted_perceptron
from markovlogic.learning.features import instantiate
from markovlogic.learning.held_out import PARTS, all_together, parts_of_atoms, parts_of_databases, with_coupling_scale
from markovlogic.learning.information import Preconditioner, standard_errors
from markovlogic.learning.learned import Learned, LearnedWeight, Weights
from markovlogic.learning.messages import Messages, assumed, undecided
from markovlogic.learning.optimise import Chosen, cross_validated, maximise
from markovlogic.learning.preparing import Prepared, Task, prepared
from markovlogic.learning.priors import Penalty, Prior, PriorChoice, penalty_of, prior_choice
from markovlogic.learning.pseudolikelihood import Design
from markovlogic.learning.structure.find import ALL as ALL_NEGATIVES
from markovlogic.learning.structure.find import LENGTH, Search
from markovlogic.learning.structure.learned import learned_structure
from markovlogic.methods.resources import Resources, resources_of
from markovlogic.problem.prepare import Models, Queries
from markovlogic.system import measures
from markovlogic.system.arrays import Bool, Float64
from markovlogic.system.cancellation import current, part_of_time
from markovlogic.system.measures import Stopwatch, peak_memory
from markovlogic.system.progress import Progress

PSEUDO, CD, NEWTON, PERCEPTRON, AUTO = "pseudolikelihood", "cd", "newton", "perceptron", "auto"
METHODS = (AUTO, PSEUDO, CD, NEWTON, PERCEPTRON)
STAGES = (*measures.STAGES, "learn")  # the stages of every record, and its own
MUCH_WORSE = 0.01  # of the training data's log-likelihood: so much less, and chains went astray
SWEEPS_OF_HIDDEN, ROUNDS_OF_HIDDEN = 100, 5
# shares of the time that is left: for choosing the prior (half of it for couplings), for the pseudo-likelihood where chains
# follow, and for those before both are compared
CHOOSING, COUPLING, FITTING, CLIMBING = 0.4, 0.5, 0.4, 0.6


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
    hold_out: int | None = None,
    engine: Any = None,
    spark_remote: str | None = None,
    spark_folder: str | None = None,
    structure: bool = False,
    length: int | None = None,
    rules: int | None = None,
    negatives: str | None = None,
    refine: bool = False,
    progress: Progress | bool | None = None,
) -> Learned:
    """Learn the weights of a model's rules.

    evidence: a training database, or a list with one an item, each a world with its own constants; a database is files, tables by
    predicate or an Evidence. query: the predicates that are modelled given all others; None: all that data show (generative).
    Facts that are missing are false, `?` ones hidden. prior: "auto", "none", a standard deviation, "l2:2", "l1:0.5".
    keep_weights: rules that have a weight keep it; else it is learned too.
    hold_out: how far rules may tie modelled atoms together is chosen by inference of a K-th of the query facts at a time, given
    the others; None: in databases left out one at a time, and where there is one alone in its halves, each without the other.
    structure: find rules about the query predicates too, with bodies of at most `length` literals (3) and at most so many
    `rules`; rules of the model are kept and built upon. refine: change the model's rules instead, by literals dropped or added
    where held-out likelihood gains. negatives, for both: "all" atoms that are no facts are false (the default), or "sampled" ones
    are, ten a fact, and the others unknown.
    time_limit: seconds for all stages together; each has its share, and the weights are the best of what was reached.
    engine, spark_remote, spark_folder: as in `infer`; observations of the pseudo-likelihood are counted there, and nothing else.
    progress: as in `infer`; False shows nothing.
    """
    known_name(method, "method", METHODS)
    if engine is not None:
        from markovlogic.api.scaled import OnEngine
        from markovlogic.learning.on_engine import learn_on

        other: dict[str, Any] = {"--time-limit": time_limit, "--hold-out": hold_out, "--structure": structure or None}
        other["--refine"] = refine or None
        other["--method"] = None if method in (AUTO, PSEUDO) else method
        if wrong := [name for name, value in other.items() if value is not None]:
            raise UnsupportedError(f"{', '.join(wrong)}: not supported on an engine, which learns by pseudo-likelihood")
        if isinstance(evidence, list) and len(evidence) > 1:
            raise UnsupportedError("several training databases: on an engine there is one", hint="join its files by commas")
        data = evidence[0] if isinstance(evidence, list) and evidence else evidence
        return learn_on(
            OnEngine(engine, spark_remote, spark_folder),
            model,
            data,
            query,
            prior=prior,
            keep_weights=keep_weights,
            seed=seed,
            memory_limit=memory_limit,
            closed_types=closed_types,
            progress=progress,
        )
    if hold_out is not None and hold_out < 2:
        raise InputError(f"hold_out={hold_out} is less than 2", hint="5 hides a fifth of the query facts at a time")
    if structure and refine:
        raise InputError("structure and refine together", hint="refine first, then look for rules beside the refined ones")
    if negatives is not None and not (structure or refine):
        raise InputError("negatives is for structure=True or refine=True: without them what is no fact is false")
    if (not structure and rules is not None) or (not (structure or refine) and length is not None):
        raise InputError(
            "length and rules are for structure=True, length for refine=True too: without them no rules are looked for"
        )
    if structure or refine:
        unused = {
            "method": method != AUTO,
            "prior": prior not in (None, AUTO),
            "keep_weights": keep_weights,
            "hold_out": hold_out,
        }
        if wrong := [name for name, is_given in unused.items() if is_given]:
            name = "structure" if structure else "refine"
            raise InputError(f"{', '.join(wrong)}: not supported with {name}, which has ways of its own", hint="leave it out")
    choice = prior_choice(prior)
    watch = Stopwatch(STAGES)
    with resources_of(time_limit=time_limit, memory_limit=memory_limit, progress=progress) as resources:
        shown = resources.progress
        with watch("read"):
            shown.stage("read")
            source = model if isinstance(model, syntax.Model) else load(model)
            given = read_databases(source, evidence, closed_types=closed_types, progress=shown)
        if structure or refine:
            search = Search(LENGTH if length is None else length, rules, seed, negatives or ALL_NEGATIVES)
            return learned_structure(source, given, targets_of(source, given, query), search, refine, shown, watch)
        task = Task(source, given, targets_of(source, given, query), keep_weights, hold_out)
        return _learned(task, method, choice, seed, resources, watch)


def _wanted(method: str, databases: Sequence[Database]) -> Wanted:
    """Chains need clauses: those that draw hidden atoms, and those of the conditional likelihood."""
    if any(database.hidden.any() for database in databases):
        return Wanted.CLAUSES
    return {PSEUDO: Wanted.CHANGES, AUTO: Wanted.CLAUSES_IF_THEY_FIT}.get(method, Wanted.CLAUSES)


def _learned(task: Task, method: str, choice: PriorChoice, seed: int, resources: Resources, watch: Stopwatch) -> Learned:
    ready = prepared(task, lambda databases: _wanted(method, databases), resources, watch)
    notes: list[str] = []
    progress = resources.progress
    with watch("learn"):
        progress.stage("pseudo-likelihood")
        worlds, updates = [one.truth for one in ready.databases], 0
        if ready.hides:
            worlds, updates = _completed(ready, np.zeros(len(ready.index)), seed)
        design = ready.design(worlds)
        chosen, start, goes_on = choice.fixed, None, None
        if chosen is None:
            with part_of_time(CHOOSING):
                found = _chosen_prior(task, ready, design, method, choice, seed, resources, watch)
            chosen, updates = found.prior, updates + found.updates
            start = None if current().left is None else found.start  # time is short: what was reached is where to begin
            progress.stage("pseudo-likelihood")
            notes += [f"the prior, {chosen}, was chosen by {found.how}", *found.notes]
            goes_on = found.goes_on
        penalty = penalty_of(chosen, ready.is_base, ready.is_coupling)
        with part_of_time(FITTING if _goes_on(ready, method) else 1.0):
            weights, ended = maximise(design, penalty, start, on_step=lambda step, _value: progress.advance(step, f"step {step}"))
        for turn in range(ROUNDS_OF_HIDDEN if ready.hides else 0):  # EM: complete the data, learn from them, again
            if current().over:
                break
            worlds, drawn = _completed(ready, weights, seed + turn + 1)
            updates += drawn
            design = ready.design(worlds)
            weights, ended = maximise(design, penalty, weights)
        information = design.information(weights)
        errors, exact_errors = weight_errors(information, penalty)
        if chosen.has_couplings and goes_on is False:
            further = _Further(
                PSEUDO, Messages(("the conditional likelihood predicts left-out atoms no better: it is not gone on to",))
            )
        elif chosen.has_couplings or not ready.is_coupling.any():
            further = _went_on(ready, method, weights, penalty, errors, information, seed, progress)
        else:
            why = "they predict left-out atoms no better" if choice.fixed is None else "the prior leaves them none"
            further = _Further(PSEUDO, Messages((f"rules that tie modelled atoms together get no weight: {why}",)))
        notes += further.messages.notes
        if further.found is not None:
            weights = further.found.weights
            if further.found.information is not None:
                errors, exact_errors = weight_errors(_sparse(further.found.information), penalty)
    worries = list(further.messages.worries)
    if not ended and further.used == PSEUDO:
        worries.append("the search for the best weights ended early: allow more time")
    if not exact_errors:
        notes.append(
            "there are too many weights for full standard errors: those given hold where all others are known, and are too small"
        )
    messages = undecided(task, ready, design, weights, errors, chosen, frozenset().union(*(one.met for one in ready.countings)))
    stats = _stats(ready, further, updates, watch)
    return Learned(
        task.model,
        Weights(learned_weights(ready, weights, errors, design)),
        further.used,
        str(chosen),
        tuple(one.name for one in ready.databases),
        task.targets,
        (*assumed(task, ready), *notes, *messages.notes),
        (*worries, *messages.worries),
        stats,
    )


def _chosen_prior(
    task: Task,
    ready: Prepared,
    design: Design,
    method: str,
    choice: PriorChoice,
    seed: int,
    resources: Resources,
    watch: Stopwatch,
) -> Chosen:
    """The prior: `auto` chooses the strength of couplings by inference, and all else by the pseudo-likelihood.

    Parts of one graph say too much of each other, so one database alone is divided in two of their own where that is possible.
    """
    hold_out, progress = task.hold_out, resources.progress
    if method != AUTO or not ready.coupled or ready.hides or ready.counts or ready.partitions:
        return cross_validated(design, choice, ready.is_base, seed, progress, tries_base_alone=method == AUTO)
    with part_of_time(COUPLING):
        local = cross_validated(
            design, choice, ready.is_base, seed, progress, left_aside=ready.is_coupling, tries_base_alone=True
        )
    n_databases = len(ready.databases)
    if hold_out is None and n_databases > 1:
        how = f"inference in {n_databases} databases left out one at a time"
        return with_coupling_scale(ready, parts_of_databases(ready, design), local, how, seed, progress)
    if hold_out is None and (evidence := halves(task.model, task.evidence[0], task.targets, seed)):
        apart = prepared(replace(task, evidence=evidence), lambda _: Wanted.CLAUSES_IF_THEY_FIT, resources, watch)
        if apart.coupled and not apart.counts:
            how = "inference in each half of the database, learned from the other"
            parts = parts_of_databases(apart, apart.design([one.truth for one in apart.databases]))
            return with_coupling_scale(apart, parts, local, how, seed, progress)
    n_parts = hold_out or PARTS
    ways, others = ("given the others", (True,)) if hold_out else ("given the others and without them", (True, False))
    how = f"inference of the modelled atoms in {n_parts} parts, each {ways}"
    parts = parts_of_atoms(ready, n_parts, seed, others)
    return with_coupling_scale(ready, parts, local, how, seed, progress)


def _goes_on(ready: Prepared, method: str) -> bool:
    """Whether the conditional likelihood comes after the pseudo-likelihood."""
    return method != PSEUDO and not ready.counts and (ready.coupled or ready.hides or method != AUTO)


def weight_errors(information: Any, penalty: Penalty) -> tuple[Float64, bool]:
    """Standard errors of weights, nan of those that are held at 0, and whether they are exact."""
    free = np.flatnonzero(~penalty.held)
    errors = np.full(len(penalty.held), np.nan)
    if not len(free):
        return errors, True
    errors[free], exact = standard_errors(information[free][:, free], penalty.precision[free])
    return errors, exact


def _sparse(dense: Float64) -> object:
    from scipy import sparse

    return sparse.csr_array(dense)


@dataclass(frozen=True, eq=False)
class _Further:
    """How far it went beyond the pseudo-likelihood."""

    used: str  # the method that gave the weights in the end
    messages: Messages = field(default_factory=Messages)
    found: Found | None = None

    @property
    def converged(self) -> bool:
        return self.found is None or self.found.converged


def _went_on(
    ready: Prepared,
    method: str,
    weights: Float64,
    penalty: Penalty,
    errors: Float64,
    information: object,
    seed: int,
    progress: Progress,
) -> _Further:
    """Go on to the true conditional likelihood where that was requested, or where it differs."""
    if not len(weights):
        return _Further(PSEUDO)
    if method == AUTO and not ready.coupled and not ready.hides:
        note = "no rule ties two modelled atoms together, so the pseudo-likelihood is the conditional likelihood itself"
        return _Further(PSEUDO, Messages((note,)))
    if method == PSEUDO:
        note = "couplings were learned with all neighbours known; where they are not, --method cd or auto may do better"
        return _Further(PSEUDO, Messages((note,) if ready.coupled else ()))
    if ready.counts:
        worry = (
            "the ground clauses would not fit the memory limit, so groundings were counted, and the weights are those of the"
            " pseudo-likelihood: couplings were learned with all neighbours known; smaller databases would let auto go on"
        )
        return _Further(PSEUDO, Messages(worries=(worry,)))
    if current().over:
        worry = "the time limit left no time for the conditional likelihood: allow more time, or take --method pseudolikelihood"
        return _Further(PSEUDO, Messages(worries=(worry,)))
    progress.stage("conditional likelihood", None)
    likelihood = Likelihood(ready.networks, seed)
    solver = Preconditioner(information, penalty.precision)
    rough = np.where(np.isnan(errors), 1.0, errors)
    ways: dict[str, Callable[[], Found]] = {
        AUTO: lambda: climb(likelihood, weights, penalty, solver, rough, progress),
        CD: lambda: climb(likelihood, weights, penalty, solver, rough, progress),
        NEWTON: lambda: diagonal_newton(likelihood, weights, penalty, progress),
        PERCEPTRON: lambda: voted_perceptron(likelihood, weights, penalty, seed, progress),
    }
    with part_of_time(CLIMBING):
        found = ways[method]()
    used = CD if method == AUTO else method
    notes, worries = [], []
    if method == AUTO and not ready.hides:
        before = after = -np.inf
        if not current().over:
            before, drawn = all_together(ready.networks, weights, seed)
            after, more = all_together(ready.networks, found.weights, seed)
            found = replace(found, updates=found.updates + drawn + more)
        kept = ""
        if current().over:
            kept = "" if found.converged else "the time limit ended the conditional likelihood before it was near its best"
        elif before > after * (1 - MUCH_WORSE):  # both are negative
            kept = (
                "went on to the conditional likelihood, but inference with the weights "
                "of the pseudo-likelihood explains the data better"
                " of the training data"
            )
        if kept:
            note = f"{kept}, so the weights of the pseudo-likelihood were kept"
            return _Further(PSEUDO, Messages((note,)), replace(found, weights=weights, information=None))
    if method == AUTO:
        notes.append(
            f"went on from the pseudo-likelihood to the conditional likelihood: {found.steps} steps, {found.n_chains} chains"
        )
    if not found.converged:
        worries.append(
            f"{used} ended after {found.steps} steps, and the weights were still about {found.distance:.2g} standard errors"
            " from where they go: allow more time, or a stronger prior"
        )
    worries += _confined(ready, weights)
    return _Further(used, Messages(tuple(notes), tuple(worries)), found)


def _confined(ready: Prepared, weights: Float64) -> list[str]:
    from markovlogic.methods.sampling.irreducible import Reachability, single_site_reach

    hard = [network for network in ready.networks if len(network.hard) and network.counting.partitions is None]
    if hard and any(single_site_reach(network.network(weights)) is not Reachability.ALL for network in hard):
        return ["hard rules may confine the chains that expectations come from; --method pseudolikelihood needs none"]
    return []


def _completed(ready: Prepared, weights: Float64, seed: int) -> tuple[list[Bool], int]:
    """Worlds in which hidden atoms are drawn given all that is known, and how many atoms were drawn for that."""
    from markovlogic.learning.chains import Chains

    worlds, updates = [], 0
    for number, (database, network) in enumerate(zip(ready.databases, ready.networks, strict=True)):
        if not database.hidden.any():
            worlds.append(database.truth)
            continue
        chains = Chains(network, np.random.SeedSequence([seed, number]), ~database.hidden)
        words = chains.sweep(weights, SWEEPS_OF_HIDDEN)
        drawn = (words[: len(database.truth)] & np.uint64(1)) == 1
        worlds.append(np.where(database.hidden, drawn, database.truth))
        updates += chains.updates
    return worlds, updates


def learned_weights(ready: Prepared, weights: Float64, errors: Float64, design: Design) -> tuple[LearnedWeight, ...]:
    """The weights rule by rule, with the rules that have them."""
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


def _stats(ready: Prepared, further: _Further, updates: int, watch: Stopwatch) -> dict[str, object]:
    """The run's record; updates: of atoms, before the conditional likelihood was gone on to."""
    found = further.found
    exact = further.used == PSEUDO and not ready.coupled and not ready.hides
    n_clauses = sum(len(one.rows) + len(one.hard) for one in ready.networks)
    return {
        "network": "counting" if ready.counts else "ground",
        "estimator": "none",
        "guarantee": "exact" if exact else "unbounded",
        "atoms": sum(len(one.truth) for one in ready.databases),
        "clauses": n_clauses if n_clauses or not ready.counts else None,
        "chains": found.n_chains if found is not None else CHAINS if updates else 0,
        "draws": 0 if found is None else found.steps,
        "burn_in": 0,
        "updates": updates + (0 if found is None else found.updates),
        "steps": None if found is None else found.steps,
        "converged": further.converged,
        "seconds": dict(watch.stop()),
        "peak_memory_bytes": peak_memory(),
    }
