"""Numbers that multiply weights: sums over atoms that have one, and the same written as plain rules.

For what works on rules, each number v of a predicate S gets a hidden closed predicate that is true of the atoms with that number;
a clause with the number's size in its weight becomes one clause for each of them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from math import prod

import numpy as np

from markovlogic.data.evidence import FALSE, TRUE, codes, decode
from markovlogic.errors import Fault, UnsupportedError
from markovlogic.language.syntax import Constant, Predicate, Term, Variable
from markovlogic.language.templates import ClauseTemplate, Literal, LoweredModel, Number
from markovlogic.problem.statuses import Statuses
from markovlogic.problem.values import Problem
from markovlogic.system.arrays import Bool, Float64, Int64, frozen

MOST_NUMBERS = 200  # different ones of one predicate that are written as rules


def sizes_at(problem: Problem, number: Number, values: Mapping[str, Int64], n: int) -> Float64:
    """The size of the number of each substitution, 0 where it has the other sign or there is none; values: of variables."""
    return np.where(_has_sign(found := signed_at(problem, number, values, n), number), np.abs(found), 0.0)


def signed_at(problem: Problem, number: Number, values: Mapping[str, Int64], n: int) -> Float64:
    """The number of each substitution, whatever its sign; 0 where there is none."""
    known = problem.numbers.get(number.predicate)
    if known is None:
        return np.zeros(n)
    columns = [_column(problem, number.predicate, at, term, values, n) for at, term in enumerate(number.args)]
    args = np.stack(columns, axis=1) if columns else np.zeros((n, 0), np.int64)
    code = codes(args, problem.statuses[number.predicate].sizes)
    at = np.minimum(np.searchsorted(known.code, code), len(known.code) - 1)
    return np.where(known.code[at] == code, known.number[at], 0.0)


def _column(problem: Problem, predicate: str, at: int, term: Term, values: Mapping[str, Int64], n: int) -> Int64:
    if isinstance(term, Variable):
        return values[term.name]
    type_name = problem.model.predicates[predicate].types[at]
    return np.full(n, problem.domains[type_name].number(term.name), np.int64)


def _has_sign(number: Float64, wanted: Number) -> Bool:
    return np.asarray(number > 0 if wanted.positive else number < 0, np.bool_)


def total_size(problem: Problem, number: Number, others: tuple[str, ...]) -> float:
    """The sum of sizes of a number over all substitutions of its own variables and of further ones of these types."""
    known = problem.numbers.get(number.predicate)
    if known is None:
        return 0.0
    fits = _unifies(problem, number) & _has_sign(known.number, number)
    return float(np.abs(known.number[fits]).sum()) * prod(len(problem.domains[type_name]) for type_name in others)


def _unifies(problem: Problem, number: Number) -> Bool:
    """Which of the predicate's atoms with numbers are instances of the number's atom."""
    known = problem.numbers[number.predicate]
    args = decode(known.code, problem.statuses[number.predicate].sizes)
    fits = np.ones(len(known.code), bool)
    first: dict[str, int] = {}
    for at, term in enumerate(number.args):
        if isinstance(term, Constant):
            type_name = problem.model.predicates[number.predicate].types[at]
            fits &= args[:, at] == problem.domains[type_name].number(term.name)
        elif term.name in first:
            fits &= args[:, at] == args[:, first[term.name]]
        else:
            first[term.name] = at
    return fits


def variables_of(number: Number) -> tuple[str, ...]:
    """The variables among a number's arguments, each once."""
    return tuple(dict.fromkeys(term.name for term in number.args if isinstance(term, Variable)))


@dataclass(frozen=True, eq=False)
class WithoutNumbers:
    """Rules whose weights no number multiplies, and the hidden predicates that they need."""

    lowered: LoweredModel
    predicates: dict[str, Predicate]
    statuses: dict[str, Statuses]


def without_numbers(problem: Problem, lowered: LoweredModel) -> WithoutNumbers:
    """One clause for each number that multiplies a clause's weight; refuses where a predicate has too many different ones."""
    predicates: dict[str, Predicate] = {}
    statuses: dict[str, Statuses] = {}
    marked: dict[str, dict[float, str]] = {}
    templates: list[ClauseTemplate] = []
    constants = list(lowered.constant_per_grounding)
    for template in lowered.templates:
        if template.number is None:
            templates.append(template)
            continue
        name = template.number.predicate
        if name not in marked:
            marked[name] = _mark(problem, name, predicates, statuses)
        for value, marker in marked[name].items():
            if (value > 0) == template.number.positive:
                guard = Literal(marker, template.number.args, False)
                literals = (guard, *template.literals[1:])
                weight = template.weight * abs(value)
                templates.append(replace(template, literals=literals, weight=weight, number=None))
                # where an atom has another number, or none, the clause is true and should not count
                constants[template.rule] -= weight * (1 - _share(problem, template.number, value))
    for own in lowered.numbers:
        rule = problem.model.rules[own.rule]
        inside = set(variables_of(own.number))
        others = tuple(rule.type_of[name] for name in rule.free if name not in inside)
        groundings = prod(len(problem.domains[rule.type_of[name]]) for name in rule.free)
        constants[own.rule] += own.weight * total_size(problem, own.number, others) / max(groundings, 1)
    return WithoutNumbers(LoweredModel(tuple(templates), lowered.definitions, tuple(constants)), predicates, statuses)


def _share(problem: Problem, number: Number, value: float) -> float:
    """The share of substitutions of a number's variables for which it has this value."""
    known = problem.numbers[number.predicate]
    declared = problem.model.predicates[number.predicate].types
    types = {term.name: of for term, of in zip(number.args, declared, strict=True) if isinstance(term, Variable)}
    n_all = prod(len(problem.domains[type_name]) for type_name in types.values())
    return float((_unifies(problem, number) & (known.number == value)).sum()) / max(n_all, 1)


def _mark(problem: Problem, name: str, predicates: dict[str, Predicate], statuses: dict[str, Statuses]) -> dict[float, str]:
    known = problem.numbers.get(name)
    if known is None:
        return {}
    declared = problem.model.predicates[name]
    values, which = np.unique(known.number, return_inverse=True)
    if len(values) > MOST_NUMBERS:
        message = f"{name} has {len(values):,} different numbers; at most {MOST_NUMBERS} are written as rules"
        raise UnsupportedError(Fault(message, declared.place, hint="round them, or take a method on the ground network"))
    made: dict[float, str] = {}
    for at, value in enumerate(values.tolist()):
        marker = f"{name}~{at}"
        code = known.code[which == at]
        predicates[marker] = Predicate(marker, declared.types, declared.exclusive, declared.place)
        own = Statuses(marker, problem.statuses[name].sizes, FALSE, code, np.full(len(code), TRUE, np.int8))
        frozen((own.code, own.status))
        statuses[marker] = own
        made[value] = marker
    return made
