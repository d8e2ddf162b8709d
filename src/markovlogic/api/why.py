"""`why`: what raises or lowers the probability of an atom, by rule and fact; the parts add up to its log-odds."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from markovlogic.api.infer import infer
from markovlogic.data.evidence import FALSE, TRUE, UNKNOWN, decode
from markovlogic.errors import InputError
from markovlogic.grounding.backends import Engine
from markovlogic.grounding.ground import database_for
from markovlogic.language.show import show_formula
from markovlogic.methods.base import MethodSettings
from markovlogic.methods.has_world import require_world
from markovlogic.methods.reduction import Reduction, reduce_problem
from markovlogic.methods.resources import Resources, resources_of
from markovlogic.problem import Problem, QueryItem, WantedAtoms
from markovlogic.problem.changed import changed_evidence
from markovlogic.problem.prepare import Assumptions, Evidences, Models, PreparedProblem, Queries, prepare_problem
from markovlogic.problem.query import matching_codes, resolve_query
from markovlogic.reasons.exact import Contributions, ExactPath, exact_path, integrate
from markovlogic.reasons.instances import chain_of, facts_behind, open_literal, show_literal
from markovlogic.reasons.local import SOFT_EVIDENCE, LocalNetwork, local_network
from markovlogic.reasons.sampled import SampledPath, sample, without_rules
from markovlogic.reasons.values import Contribution, GroundReason, Neighbour, Reasons

GROUNDINGS = 5
NEIGHBOURS = 16  # ground rules around the atom that are shown
QUANTIFIED = "(its quantified part)"
EXACT_METHODS = ("auto", "exact", "eliminate", "enumerate", "lifted")


def why(
    model: Models,
    evidence: Evidences,
    atom: str,
    *,
    query: Queries = (),
    changes: Sequence[str] = (),
    groundings: int = GROUNDINGS,
    method: str | MethodSettings = "auto",
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
    memory_limit: int | None = None,
) -> Reasons:
    """Explain the probability of a ground atom: contributions of rules and soft evidence that add up to its log-odds.

    query: what else would be requested, which decides what is open. changes: facts to assume in place of what is known, such as
    `!Smokes(Ann)`; the answer then has the present one beside it. groundings: ground instances shown of each rule. Contributions
    are exact where the atom's component can be eliminated and `method` is an exact one or auto; else chains estimate them.
    """
    assumed = Assumptions(open_, closed, closed_types, clause_weights)
    prepared = prepare_problem(model, evidence, _with_atom(query, atom), assumed)
    return why_of(
        prepared, atom, changes=changes, groundings=groundings, method=method, chains=chains, draws=draws, burn_in=burn_in,
        seed=seed, time_limit=time_limit, target_stderr=target_stderr, memory_limit=memory_limit,
    )  # fmt: skip


def why_of(
    prepared: PreparedProblem,
    atom: str,
    *,
    known: tuple[float, float] | None = None,
    changes: Sequence[str] = (),
    groundings: int = GROUNDINGS,
    time_limit: float | None = None,
    memory_limit: int | None = None,
    method: str | MethodSettings = "auto",
    **sampling: Any,
) -> Reasons:
    """As `why`, of a prepared problem; known: the atom's probability and standard error, where it was inferred."""
    problem = prepared.problem
    target = _atom_of(problem, atom)
    with resources_of(time_limit=time_limit, memory_limit=memory_limit, progress=False) as resources:
        options = {"method": method, "memory_limit": resources.limit, "clause_weights": prepared.clause_weights, **sampling}
        found = _explained(prepared, target, options, groundings, known)
        if not changes:
            return found
        was_open = [name for name, own in problem.statuses.items() if own.default == UNKNOWN]
        never_open = [name for name in problem.model.declared if name not in was_open and name != target[0]]
        other = prepare_problem(
            problem.model, changed_evidence(problem, changes), [found.atom],
            Assumptions(was_open, never_open, clause_weights=prepared.clause_weights),
        )  # fmt: skip
        return replace(_explained(other, target, options, groundings, None), changed=tuple(changes), before=found)


def _with_atom(query: Queries, atom: str) -> list[str]:
    return [*([query] if isinstance(query, str) else query or ()), atom]


def _explained(
    prepared: PreparedProblem,
    target: tuple[str, int],
    options: dict[str, Any],
    groundings: int,
    known: tuple[float, float] | None,
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
        found = _contributions(prepared, solved.solved, target, options, groundings, database, known)
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
    named = options["method"] if isinstance(options["method"], str) else "settings"
    notes: tuple[str, ...] = ()
    concerns: tuple[str, ...] = ()
    if isinstance(path, ExactPath) and named in EXACT_METHODS:
        found = integrate(path)
        probability = 1.0 / (1.0 + math.exp(-found.logit)) if math.isfinite(found.logit) else float(found.logit > 0)
        stderr = 0.0
        without = {rule: (_share(path.logit(rule)), 0.0) for rule in local.rules}
    else:
        if not isinstance(path, ExactPath) and named in EXACT_METHODS[1:]:
            raise InputError(f"the component of {shown} cannot be solved exactly: {path}", hint="leave out --method")
        if known is None:
            marginal = infer(
                prepared.problem.model, prepared.problem.evidence, [shown], progress=False,
                open_=[one for one, own in prepared.problem.statuses.items() if own.default == UNKNOWN and one != name],
                closed=[one for one, own in prepared.problem.statuses.items() if own.default == FALSE and one != name],
                **options,
            )  # fmt: skip
            known = float(marginal.probability[0]), float(marginal.stderr[0])
            concerns = tuple(marginal.concerns())
        probability, stderr = known
        sampled = SampledPath.of(local, int(options.get("seed") or 0), options.get("draws"))
        base, base_error = sampled.base()
        spread = max(probability * (1 - probability), 1e-12)
        found, stuck = sample(sampled, math.log(probability / (1 - probability)) if 0 < probability < 1 else math.nan,
                              stderr / spread, base, base_error)  # fmt: skip
        if stuck:
            concerns += ("chains disagree about some contributions: their errors may be too small; give more --draws",)
        without = without_rules(sampled)
        notes = (f"chains estimate the contributions: {path}",) if isinstance(path, str) else ()
    rows = _rows(prepared, solved, local, found, without, groundings)
    near = _neighbourhood(prepared, solved, local, found)
    return Reasons(
        shown, probability, stderr, found.logit, found.base, found.base_error, rows,
        notes=notes, concerns=concerns, neighbourhood=near,
    )  # fmt: skip


def _share(logit: float) -> float:
    return float(np.exp(-np.logaddexp(0.0, -logit)))


def _rows(
    prepared: PreparedProblem,
    solved: PreparedProblem,
    local: LocalNetwork,
    found: Contributions,
    without: dict[int, tuple[float, float]],
    groundings: int,
) -> tuple[Contribution, ...]:
    rows = []
    for at, rule in enumerate(local.rules):
        clauses = np.flatnonzero(local.clause_rule == rule)
        atoms = np.flatnonzero(local.bias[at])
        log_odds = math.fsum(found.clause[clauses]) + math.fsum(found.bias[at])
        reasons = _instances(prepared, solved, local, found, at, clauses, atoms, groundings)
        text, place, weight = _rule_shown(prepared, rule)
        if weight is not None and math.isinf(weight):
            continue  # hard rules are in the base
        rows.append(
            Contribution(
                text, place, weight, log_odds, found.rule_error.get(rule, 0.0), *without[rule],
                len(clauses) + len(atoms), reasons,
            )
        )  # fmt: skip
    return tuple(sorted(rows, key=lambda one: -abs(one.log_odds)))


def _instances(
    prepared: PreparedProblem,
    solved: PreparedProblem,
    local: LocalNetwork,
    found: Contributions,
    at: int,
    clauses: np.ndarray,
    atoms: np.ndarray,
    most: int,
) -> tuple[GroundReason, ...]:
    """The ground instances of a rule with the largest part in its contribution."""
    parts = [(float(found.clause[c]), float(found.clause_error[c]), int(c), True) for c in clauses]
    parts += [(float(found.bias[at, a]), float(found.bias_error[at, a]), int(a), False) for a in atoms]
    parts.sort(key=lambda part: -abs(part[0]))
    shown = []
    for value, error, number, is_clause in parts[:most]:
        literals, whole, facts = _ground_instance(
            solved, local, local.rules[at], number, is_clause, float(local.bias[at, number]) if not is_clause else 0.0
        )
        text = " v ".join([*literals, *([] if whole else [QUANTIFIED])])
        shown.append(GroundReason(text, facts, value, error))
    return tuple(shown)


def _ground_instance(
    solved: PreparedProblem, local: LocalNetwork, rule: int, number: int, is_clause: bool, bias: float
) -> tuple[tuple[str, ...], bool, tuple[str, ...]]:
    """The open literals of a clause, or of a unit clause of an atom; whether they are all; the known literals behind them."""
    network = local.network
    if is_clause:
        literals = network.clause_literal[network.clause_start[number] : network.clause_start[number + 1]].tolist()
    else:
        literals = [2 * number + int(bias > 0)]
    own = [open_literal(local.problem, one) for one in literals if one >> 1 < network.n_atoms]
    whole = len(own) == len(literals)
    facts = None
    if rule != SOFT_EVIDENCE and whole:
        facts = facts_behind(solved.problem, solved.problem.statuses, solved.lowered, rule, own)
    return tuple(show_literal(local.problem, one) for one in own), whole, facts or ()


def _rule_shown(prepared: PreparedProblem, rule: int) -> tuple[str, str, float | None]:
    """Text, place and weight of a rule."""
    if rule == SOFT_EVIDENCE:
        return "soft evidence", "", None
    own = prepared.problem.model.rules[rule]
    return own.text or show_formula(own.formula), str(own.place), own.weight


def _neighbourhood(
    prepared: PreparedProblem, solved: PreparedProblem, local: LocalNetwork, found: Contributions
) -> tuple[Neighbour, ...]:
    """Ground rules that hold the atom itself, those with the largest parts."""
    network, target = local.network, local.target
    owner = np.repeat(np.arange(network.n_clauses), np.diff(network.clause_start))
    clauses = np.unique(owner[network.clause_literal >> 1 == target])
    rule_of = np.concatenate([local.clause_rule, network.hard_rule])
    parts: list[tuple[float, int, int, bool]] = []
    for clause in clauses.tolist():
        value = float(found.clause[clause]) if clause < network.n_soft else 0.0
        parts.append((value, int(rule_of[clause]), clause, True))
    parts += [(float(found.bias[at, target]), local.rules[at], target, False) for at in np.flatnonzero(local.bias[:, target])]
    parts.sort(key=lambda part: -abs(part[0]))
    near = []
    for value, rule, number, is_clause in parts[:NEIGHBOURS]:
        bias = 0.0 if is_clause else float(local.bias[local.rules.index(rule), target])
        literals, _, facts = _ground_instance(solved, local, rule, number, is_clause, bias)
        text, place, _ = _rule_shown(prepared, rule)
        near.append(Neighbour(text, place, literals, facts, value))
    return tuple(near)
