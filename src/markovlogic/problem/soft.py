"""Soft evidence of a problem: a number for some atoms, added to the log weight of every world where the atom is true.

Networks that keep a number an atom request `soft_log_odds`. What works on rules needs the problem *written as rules* instead:
for each value s that soft evidence has about P, a hidden closed predicate S is true of its atoms, and the rules get
s · 1[S(x) ^ P(x)], a clause and a constant. No atom is added, so that open atoms keep their numbers.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from markovlogic.data.evidence import FALSE, TRUE, UNKNOWN, Evidence, codes
from markovlogic.errors import Fault, UnsupportedError
from markovlogic.language.syntax import And, Atom, Model, Predicate, Rule, Variable
from markovlogic.language.templates import ClauseTemplate, Literal, LoweredModel
from markovlogic.problem.numbers import without_numbers
from markovlogic.problem.statuses import AtomIndex, Statuses
from markovlogic.problem.values import NumberedAtoms, Problem, SoftAtoms
from markovlogic.system.arrays import Float64, Int64, frozen

MOST_VALUES = 200  # of soft evidence about one predicate that are written as rules, one rule each


def soft_atoms(evidence: Evidence, statuses: Mapping[str, Statuses]) -> dict[str, SoftAtoms]:
    """What evidence adds to open atoms, by predicate; a number that is zero says nothing."""
    found = {}
    for name, facts in evidence.facts.items():
        if facts.log_odds is None or not np.any(facts.log_odds):
            continue
        rows = np.flatnonzero(facts.log_odds)
        made = SoftAtoms(codes(facts.args[rows], statuses[name].sizes), facts.log_odds[rows])
        found[name] = frozen(made)
    return found


def numbered_atoms(evidence: Evidence, statuses: Mapping[str, Statuses]) -> dict[str, NumberedAtoms]:
    """The numbers that evidence gives to atoms of predicates that have numbers."""
    return {
        name: frozen(NumberedAtoms(codes(facts.args, statuses[name].sizes), facts.number))
        for name, facts in evidence.facts.items()
        if facts.number is not None and len(facts)
    }


class SoftLogOdds(NamedTuple):
    """Soft evidence by open atoms, and what it comes to where atoms are known to be true."""

    atom: Int64  # (n,) numbers of open atoms, each once
    log_odds: Float64  # (n,)
    constant: float


def soft_log_odds(problem: Problem) -> SoftLogOdds:
    """The numbers that soft evidence adds to open atoms. Atoms that were decided since give a constant, or nothing."""
    atoms, numbers, constant = [np.zeros(0, np.int64)], [np.zeros(0)], 0.0
    for name, soft in problem.soft.items():
        status = problem.statuses[name].lookup(soft.code)
        is_open = status == UNKNOWN
        atoms.append(problem.atoms.numbers(name, soft.code[is_open]))
        numbers.append(soft.log_odds[is_open])
        constant += float(soft.log_odds[status == TRUE].sum())
    return SoftLogOdds(np.concatenate(atoms), np.concatenate(numbers), constant)


@dataclass(frozen=True, eq=False)
class WrittenAsRules:
    """A problem without soft evidence, and its lowered rules, that mean the same."""

    problem: Problem
    lowered: LoweredModel


def written_as_rules(problem: Problem, lowered: LoweredModel) -> WrittenAsRules:
    """The same distribution over the same open atoms without soft evidence; refuses where its values are too many."""
    if not problem.soft and not lowered.has_numbers:
        return WrittenAsRules(problem, lowered)
    predicates, statuses = dict(problem.model.predicates), dict(problem.statuses)
    rules, templates, constants = list(problem.model.rules), list(lowered.templates), list(lowered.constant_per_grounding)
    for name, soft in problem.soft.items():
        predicate = problem.model.predicates[name]
        values, which = np.unique(soft.log_odds, return_inverse=True)
        if len(values) > MOST_VALUES:
            message = (
                f"soft evidence about {name} has {len(values):,} different values; at most {MOST_VALUES} are written as rules"
            )
            raise UnsupportedError(Fault(message, predicate.place, hint="round them, or take a method on the ground network"))
        for number, value in enumerate(values.tolist()):
            marker = Predicate(f"{name}~{number}", predicate.types, (False,) * predicate.arity, predicate.place)
            code = soft.code[which == number]
            marked = Statuses(marker.name, statuses[name].sizes, FALSE, code, np.full(len(code), TRUE, np.int8))
            frozen((marked.code, marked.status))
            predicates[marker.name], statuses[marker.name] = marker, marked
            template, constant = _lowered(predicate, marker, value, len(rules), len(code) / max(1, marked.n_ground))
            rules.append(_rule(predicate, marker, value))
            templates.append(template)
            constants.append(constant)
    plain = without_numbers(problem, LoweredModel(tuple(templates), lowered.definitions, tuple(constants), lowered.numbers))
    predicates, statuses = predicates | plain.predicates, statuses | plain.statuses
    model = Model(predicates, tuple(rules), problem.model.constants, problem.model.declared_types, problem.model.source)
    start = np.concatenate([problem.atoms.start, np.full(len(statuses) - len(problem.statuses), len(problem.atoms))])
    atoms = AtomIndex(tuple(statuses), frozen(start), statuses)
    return WrittenAsRules(
        replace(problem, model=model, statuses=statuses, atoms=atoms, soft={}, numbers={}),
        plain.lowered,
    )


def _terms(predicate: Predicate) -> tuple[Variable, ...]:
    return tuple(Variable(f"x{at}") for at in range(predicate.arity))


def _variables(predicate: Predicate) -> tuple[tuple[str, str], ...]:
    return tuple((f"x{at}", type_name) for at, type_name in enumerate(predicate.types))


def _rule(predicate: Predicate, marker: Predicate, value: float) -> Rule:
    variables = _variables(predicate)
    formula = And((Atom(marker.name, _terms(predicate)), Atom(predicate.name, _terms(predicate))))
    text = f"soft evidence about {predicate.name}"
    return Rule(formula, value, tuple(name for name, _ in variables), variables, text, predicate.place)


def _lowered(predicate: Predicate, marker: Predicate, value: float, rule: int, share: float) -> tuple[ClauseTemplate, float]:
    """The rule value · 1[S ^ P] as a clause with positive weight and a constant; share: of the atoms that S is true of.

    value > 0: value · 1[!S v P] - value · 1[!S]. value < 0: |value| · 1[!S v !P] - |value|.
    """
    literals = (Literal(marker.name, _terms(predicate), False), Literal(predicate.name, _terms(predicate), value > 0))
    template = ClauseTemplate(literals, (), abs(value), _variables(predicate), (), rule)
    return template, -value * (1.0 - share) if value > 0 else value
