"""`why`: what raises or lowers the probability of an atom, by rule and fact; the parts add up to its log-odds."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from markovlogic.api.infer import infer
from markovlogic.data.db_lines import parse_fact
from markovlogic.data.evidence import TRUE, UNKNOWN, decode
from markovlogic.errors import InputError
from markovlogic.grounding.backends import Engine
from markovlogic.grounding.ground import database_for
from markovlogic.language.equivalence import Equivalence
from markovlogic.methods.base import MethodSettings
from markovlogic.methods.has_world import require_world
from markovlogic.methods.options import options_of
from markovlogic.methods.reduction import Reduction, reduce_problem
from markovlogic.methods.resources import Resources, resources_of
from markovlogic.methods.table import AUTO
from markovlogic.networks.base import NetworkKind
from markovlogic.problem import Problem, QueryItem, WantedAtoms
from markovlogic.problem.changed import changed_evidence
from markovlogic.problem.prepare import Assumptions, Evidences, Models, PreparedProblem, Queries, prepare_problem
from markovlogic.problem.query import matching_codes, resolve_query
from markovlogic.reasons.exact import Contributions, ExactPath, exact_path, integrate
from markovlogic.reasons.instances import chain_of, show_literal
from markovlogic.reasons.local import local_network
from markovlogic.reasons.relation import (
    FEW_RECORDS,
    LikelyPairs,
    PairPath,
    explained_pair,
    found_relations,
    part_note,
    part_of_pair,
    parts_of_log_odds,
    relation_of,
    weighs_single_pairs,
)
from markovlogic.reasons.rows import neighbourhood_of, rows_of
from markovlogic.reasons.sampled import SampledPath, sample, without_rules
from markovlogic.reasons.values import Reasons
from markovlogic.running.sampling import Sampling
from markovlogic.state.saved import StateFolder, StateInMemory
from markovlogic.system.cancellation import current

if TYPE_CHECKING:
    from markovlogic.compression.base import Compressor

GROUNDINGS = 5
FAR = 0.01  # between a pair's probability in its part and in the result, errors apart
PROBABILITY_SHARE = 0.3  # of the time that is left
MOST_GAP = 1e-6  # between exact contributions and the log-odds, where these are 1
EXACT_METHODS = (AUTO, "exact", "eliminate", "enumerate", "lifted")
ABOUT_PROBABILITY = ("network", "proposals", "estimator", "orbits", "state")  # options that a probability is inferred by anew
SAMPLING = ("chains", "draws", "burn_in", "seed", "target_stderr", "estimator", "orbits")
TAKEN = {"method", "network", "proposals", "rank", "ratio", "state", "memory_limit", "clause_weights", *SAMPLING}
REFUSED = {  # options of `infer` that make no sense here: why, and what to do
    "compress": ("the model's own rules are explained, not a smaller problem", "leave it out; mln infer --compress solves it"),
    "engine": ("only the atom's component is solved, on this machine", "leave it out; mln infer --engine solves all"),
    "checkpoint": ("an explanation cannot be continued", "leave it out; --time-limit or --draws makes the run shorter"),
    "worlds": ("an explanation keeps no worlds", "leave it out; mln infer --worlds FILE.parquet writes them"),
}


def why(
    model: Models,
    evidence: Evidences,
    atom: str,
    *,
    query: Queries = (),
    changes: Sequence[str] = (),
    groundings: int = GROUNDINGS,
    method: str | MethodSettings = "auto",
    network: str = "auto",
    rank: int | None = None,
    ratio: float | None = None,
    proposals: str | Compressor | None = None,
    estimator: str = "auto",
    orbits: str = "auto",
    chains: int | None = None,
    draws: int | None = None,
    burn_in: int | None = None,
    seed: int | None = None,
    time_limit: float | None = None,
    target_stderr: float | None = None,
    open_: Sequence[str] = (),
    closed: Sequence[str] = (),
    closed_types: bool = False,
    clause_weights: str = "formula",
    state: str | os.PathLike[str] | None = None,
    memory_limit: int | None = None,
    **refused: Any,
) -> Reasons:
    """Explain the probability of a ground atom: contributions of rules and soft evidence that add up to its log-odds.

    query: what else would be requested, which decides what is open. changes: facts to assume in place of what is known, such as
    `!Smokes(Ann)`; the answer then has the present one beside it. groundings: ground instances shown of each rule. Contributions
    are exact where the atom's component can be eliminated and `method` is an exact one or auto; else chains estimate them.
    network, proposals (with rank or ratio), estimator, orbits: as for `infer`, which estimates the probability then; estimator,
    orbits and proposals ask for chains. state: a folder that `infer` left, which is read and not written. Other options of
    `infer`, such as compress, engine, checkpoint and worlds, make no sense here and are refused.
    """
    options = {
        "method": method, "network": network, "rank": rank, "ratio": ratio, "proposals": proposals, "estimator": estimator,
        "orbits": orbits, "chains": chains, "draws": draws, "burn_in": burn_in, "seed": seed, "target_stderr": target_stderr,
        "state": state, **refused,
    }  # fmt: skip
    _wants_exact(options)  # refuses options before anything is read
    assumed = Assumptions(open_, closed, closed_types, clause_weights)
    prepared = prepare_problem(model, evidence, _with_atom(query, atom), assumed)
    return why_of(
        prepared, atom, changes=changes, groundings=groundings, time_limit=time_limit, memory_limit=memory_limit, **options
    )


def why_of(
    prepared: PreparedProblem,
    atom: str,
    *,
    known: tuple[float, float] | None = None,
    pairs: Callable[[str], LikelyPairs | None] = lambda _: None,
    changes: Sequence[str] = (),
    groundings: int = GROUNDINGS,
    time_limit: float | None = None,
    memory_limit: int | None = None,
    method: str | MethodSettings = "auto",
    state: str | os.PathLike[str] | None = None,
    **others: Any,
) -> Reasons:
    """As `why`, of a prepared problem; known: the atom's probability and standard error, where it was inferred.

    pairs: those of a relation, by its name, where they were inferred.
    """
    problem = prepared.problem
    given = {"method": method, "state": state, **others}
    _wants_exact(given)
    target = _atom_of(problem, atom)
    with resources_of(time_limit=time_limit, memory_limit=memory_limit, progress=False) as resources:
        options = {"method": method, "memory_limit": resources.limit, "clause_weights": prepared.clause_weights, **others}
        if changes or state is not None:
            # chains begin where those of the saved state ended, and those under changed facts where those of the present ones did
            options["state"] = StateInMemory() if state is None else _state_in(state)
        likely = pairs(target[0])
        if any(given.get(name) not in (None, AUTO) for name in ABOUT_PROBABILITY):
            known = None
        elif known is None and likely is not None:
            known = likely.of(target[1], problem.statuses[target[0]].sizes[0])
        found = _explained(prepared, target, options, groundings, known, likely)
        if not changes:
            return found
        assumed = Assumptions(**_as_it_is(problem, target[0]), clause_weights=prepared.clause_weights)
        other = prepare_problem(problem.model, changed_evidence(problem, changes), [found.atom], assumed)
        facts = [fact for fact in map(parse_fact, changes) if fact is not None]
        named = [constant for fact in facts for constant in fact.args]
        return replace(_explained(other, target, options, groundings, None, likely, named), changed=tuple(changes), before=found)


def _with_atom(query: Queries, atom: str) -> list[str]:
    return [*([query] if isinstance(query, str) else query or ()), atom]


def _wants_exact(options: Mapping[str, Any], *others: str) -> bool:
    """Whether contributions are to be exact where that is possible, also by other methods.

    Refuses options that `infer` would refuse, and those that have no use here.
    """
    for name in options.keys() - TAKEN - REFUSED.keys():
        raise TypeError(f"why() got an unexpected keyword argument '{name}'")
    for name, (reason, hint) in REFUSED.items():
        if options.get(name) not in (None, "none"):
            raise InputError(f"--{name}: {reason}", hint=hint)
    about = {name: options[name] for name in SAMPLING if name in options}
    rest = {name: options[name] for name in ("proposals", "rank", "ratio") if name in options}
    network = options.get("network", AUTO)
    chosen = options_of(options["method"], network, Sampling(**about), **rest)
    if chosen.network == NetworkKind.COUNTING:
        raise InputError(
            "--network counting: log-odds are divided among ground instances, which counts do not show",
            hint="write --network ground, or leave it out",
        )
    if chosen.settings is not None or chosen.sampling.needs_draws:
        return False
    return (AUTO if chosen.method is None else chosen.method.name) in (*EXACT_METHODS, *others)


def _state_in(folder: str | os.PathLike[str]) -> StateInMemory:
    """What an earlier run left in a folder, which stays as it is."""
    found, kept = StateInMemory(), None
    if os.path.isdir(folder):
        with StateFolder(folder) as opened:
            kept = opened.load()
    if kept is None:
        raise InputError(f"--state {os.fspath(folder)}: there is no state", hint="mln infer --state makes one")
    found.save(kept)
    return found


def _as_it_is(problem: Problem, queried: str) -> dict[str, Any]:
    """What stays open and closed where one predicate alone is queried."""
    names = [name for name in problem.model.declared if name in problem.statuses and name != queried]
    is_open = [name for name in names if problem.statuses[name].default == UNKNOWN]
    return {"open_": is_open, "closed": [name for name in names if name not in is_open]}


def _explained(
    prepared: PreparedProblem,
    target: tuple[str, int],
    options: dict[str, Any],
    groundings: int,
    known: tuple[float, float] | None,
    likely: LikelyPairs | None,
    named: Sequence[str] = (),
) -> Reasons:
    """The reasons of an atom; of a pair of a large equivalence relation from the pair's part of the problem."""
    name, code = target
    relation = relation_of(prepared, name, code)
    if relation is None:
        return _explained_here(prepared, target, options, groundings, known, None)
    if likely is None and prepared.problem.statuses[name].sizes[0] > FEW_RECORDS:
        likely = _inferred_pairs(prepared, name, options)
    part = part_of_pair(prepared, relation, code, likely, named)
    if part is None:
        return _explained_here(prepared, target, options, groundings, known, relation)
    smaller, left_out = part
    own = _atom_of(smaller.problem, show_literal(prepared.problem, (name, code, True)))
    found = _explained_here(smaller, own, options, groundings, known, relation)
    if left_out is None or not math.isfinite(found.logit):
        return found
    note = part_note(len(smaller.problem.domains[relation.type_name]), left_out)
    concerns = found.concerns
    if known is not None and abs(known[0] - found.probability) > FAR + 4 * math.hypot(known[1], found.stderr):
        concerns += (f"in the pair's part alone the probability is {found.probability:.4f}, in the result it is {known[0]:.4f}",)
    return replace(found, notes=(*found.notes, note), concerns=concerns)


def _inferred_pairs(prepared: PreparedProblem, name: str, options: dict[str, Any]) -> LikelyPairs:
    """Probabilities of the candidate pairs of a relation, from clusters that are found for it."""
    from markovlogic.api.cluster import cluster

    problem = prepared.problem
    shared = ("chains", "draws", "burn_in", "seed", "target_stderr", "memory_limit")
    passed = {one: options[one] for one in shared if one in options}
    found = cluster(
        problem.model, problem.evidence, name, apart=True, progress=False, time_limit=_part_of_time(), **_as_it_is(problem, name),
        **passed,
    )  # fmt: skip
    return found.likely_pairs()


def _explained_here(
    prepared: PreparedProblem,
    target: tuple[str, int],
    options: dict[str, Any],
    groundings: int,
    known: tuple[float, float] | None,
    relation: Equivalence | None,
) -> Reasons:
    problem, (name, code) = prepared.problem, target
    limit = int(options["memory_limit"])
    unchecked = require_world(prepared, Resources(limit))
    with database_for(limit) as database:
        solved = reduce_problem(_of_atom(prepared, name, code), database, Reduction.BY_QUERY, memory_limit=limit)
        status = int(solved.solved.problem.statuses[name].lookup(np.array([code]))[0])
        if status != UNKNOWN:
            chain = chain_of(problem, solved.decided.problem, prepared.lowered, name, code)
            sign = math.inf if status == TRUE else -math.inf
            shown = show_literal(problem, (name, code, True))
            return Reasons(shown, float(status == TRUE), 0.0, sign, sign, 0.0, (), chain, notes=unchecked)
        own = None if relation is None else _of_pair(prepared, solved.solved, target, options, groundings, database)
        found = own or _contributions(prepared, solved.solved, target, options, groundings, database, known)
        return replace(found, notes=(*found.notes, *unchecked))


def _of_atom(prepared: PreparedProblem, name: str, code: int) -> PreparedProblem:
    """The problem with the atom as its only query: what it cannot depend on is left out."""
    sizes = prepared.problem.statuses[name].sizes
    constants = tuple(decode(np.array([code]), sizes)[0].tolist())
    item = QueryItem(show_literal(prepared.problem, (name, code, True)), WantedAtoms(name, constants))
    return replace(prepared, problem=replace(prepared.problem, query=(item,)), rules=prepared.lowered)


def _atom_of(problem: Problem, text: str) -> tuple[str, int]:
    """The one ground atom that the text names."""
    (*_, item) = resolve_query(problem.model, problem.domains, text)
    wanted = item.wanted
    if isinstance(wanted, WantedAtoms):
        arity = problem.model.predicates[wanted.predicate].arity
        constants = wanted.constants if wanted.constants is not None else ()
        if len(constants) == arity and None not in constants:
            (code,) = matching_codes(wanted, problem.statuses[wanted.predicate].sizes).tolist()
            return wanted.predicate, int(code)
    raise InputError(f"{text} is not one ground atom", hint="name one, such as Smokes(Bob)")


def _of_pair(
    prepared: PreparedProblem,
    solved: PreparedProblem,
    target: tuple[str, int],
    options: dict[str, Any],
    groundings: int,
    database: Engine,
) -> Reasons | None:
    """The reasons of a pair by sums or chains over partitions; None where other things than single pairs move with it."""
    name, code = target
    relations = found_relations(solved)
    number = int(solved.problem.atoms.numbers(name, np.array([code]))[0])
    lowered = relations.without_axioms(solved.lowered)
    local = local_network(solved.problem, lowered, number, database, int(options["memory_limit"]), whole=True)
    by_partitions = _wants_exact(options, "partition") and options.get("network", AUTO) == AUTO
    if not relations.relations or not weighs_single_pairs(local) or not by_partitions:
        return None
    path = PairPath(local, relations.relations, int(options.get("seed") or 0), options.get("draws"))
    found, without, is_exact = explained_pair(path)
    probability = _share(found.logit)
    notes = () if is_exact else ("chains estimate the contributions: the pair's part is too large for sums",)
    rows = rows_of(prepared, solved, local, found, without, groundings)
    return Reasons(
        show_literal(prepared.problem, (name, code, True)), probability, found.logit_error * probability * (1 - probability),
        found.logit, found.base, found.base_error, rows, notes=notes, concerns=_gap(found) if is_exact else (),
        neighbourhood=neighbourhood_of(prepared, solved, local, found), pair=parts_of_log_odds(local, name, code, found),
    )  # fmt: skip


def _contributions(
    prepared: PreparedProblem,
    solved: PreparedProblem,
    target: tuple[str, int],
    options: dict[str, Any],
    groundings: int,
    database: Engine,
    known: tuple[float, float] | None,
) -> Reasons:
    limit = int(options["memory_limit"])
    name, code = target
    shown = show_literal(prepared.problem, (name, code, True))
    number = int(solved.problem.atoms.numbers(name, np.array([code]))[0])
    local = local_network(solved.problem, solved.lowered, number, database, limit)
    path = exact_path(local)
    notes: tuple[str, ...] = ()
    concerns: tuple[str, ...] = ()
    exactly = _wants_exact(options)
    if isinstance(path, ExactPath) and exactly:
        found = integrate(path)
        probability, stderr, concerns = _share(found.logit), 0.0, _gap(found)
        without = {rule: (_share(path.logit(rule)), 0.0) for rule in local.rules}
    else:
        if not isinstance(path, ExactPath) and exactly and options["method"] != AUTO:
            raise InputError(f"the component of {shown} cannot be solved exactly: {path}", hint="leave out --method")
        if known is None:
            marginal = infer(
                prepared.problem.model,
                prepared.problem.evidence,
                [shown],
                progress=False,
                time_limit=_part_of_time(),
                **_as_it_is(prepared.problem, name),
                **options,
            )
            known = float(marginal.probability[0]), float(marginal.stderr[0])
            concerns = tuple(marginal.concerns())
        probability, stderr = known
        sampled = SampledPath.of(local, int(options.get("seed") or 0), options.get("draws"))
        base, base_error = sampled.base()
        spread = max(probability * (1 - probability), 1e-12)
        found, stuck, draws = sample(sampled, math.log(probability / (1 - probability)) if 0 < probability < 1 else math.nan,
                              stderr / spread, base, base_error)  # fmt: skip
        if stuck:
            concerns += ("chains disagree about some contributions: their errors may be too small; give more --draws",)
        without = without_rules(sampled)
        notes = (f"chains estimate the contributions: {path}",) if isinstance(path, str) else ()
        if draws < sampled.draws:
            notes += (f"the time limit allowed {draws} of {sampled.draws} draws, so that errors are larger",)
    rows = rows_of(prepared, solved, local, found, without, groundings)
    near = neighbourhood_of(prepared, solved, local, found)
    return Reasons(
        shown, probability, stderr, found.logit, found.base, found.base_error, rows,
        notes=notes, concerns=concerns, neighbourhood=near,
    )  # fmt: skip


def _part_of_time() -> float | None:
    """Seconds for the probability itself: what is left is for the contributions."""
    left = current().left
    return None if left is None else max(left * PROBABILITY_SHARE, 0.1)


def _gap(found: Contributions) -> tuple[str, ...]:
    """A concern where the integral is not as exact as it should be, which very large weights can cause."""
    gap = found.base + float(found.clause.sum() + found.bias.sum()) - found.logit
    if not abs(gap) > MOST_GAP * max(1.0, abs(found.logit)):
        return ()
    return (f"contributions miss the log-odds by {abs(gap):.1g}, since very large weights make the integral hard to compute",)


def _share(logit: float) -> float:
    return float(np.exp(-np.logaddexp(0.0, -logit)))
