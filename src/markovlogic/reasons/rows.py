"""Contributions as rows: the text of each rule, its ground instances, and the ground rules around the atom."""

from __future__ import annotations

import math

import numpy as np

from markovlogic.language.show import show_formula
from markovlogic.problem.prepare import PreparedProblem
from markovlogic.reasons.exact import Contributions
from markovlogic.reasons.instances import facts_behind, open_literal, show_literal
from markovlogic.reasons.local import SOFT_EVIDENCE, LocalNetwork
from markovlogic.reasons.values import Contribution, GroundReason, Neighbour

NEIGHBOURS = 16  # ground rules around the atom that are shown
QUANTIFIED = "(its quantified part)"


def rows_of(
    prepared: PreparedProblem,
    solved: PreparedProblem,
    local: LocalNetwork,
    found: Contributions,
    without: dict[int, tuple[float, float]],
    groundings: int,
) -> tuple[Contribution, ...]:
    """A row for each rule, the largest first, with its ground instances that have the largest parts."""
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
        if not literals:
            text = show_formula(prepared.problem.model.rules[local.rules[at]].formula)
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


def neighbourhood_of(
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
