"""Clauses as terms: weight · 1[clause] is weight − weight · ∏ 1[literal is false], summed over free variables.

Equalities go by inclusion and exclusion: a clause that is false only where x ≠ y is the term without that condition, less the
one with y in place of x. Constants and repeated variables inside an atom become variables of their own with an indicator. So
every atom has distinct variables, all ranging over whole domains, and everything that distinguishes constants is an indicator.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from math import prod

from markovlogic.data.evidence import Domain
from markovlogic.errors import Fault, Place, UnsupportedError
from markovlogic.language.syntax import Constant, Variable
from markovlogic.language.templates import ClauseTemplate, EqualityLiteral, LoweredModel
from markovlogic.methods.lifted.plain_clauses import PlainClause, plain_clause
from markovlogic.problem import Problem

MOST_TOGETHER = 12  # atoms of one predicate in a term: where it is drawn in rows, each set of them may be inside one


@dataclass(frozen=True)
class Factor:
    """An atom with variables; its value in a term is 1 where the literal is false."""

    predicate: str
    variables: tuple[str, ...]
    positive: bool


@dataclass(frozen=True)
class Indicator:
    """1 where a variable is a constant (`other` is its number) or is the same as another variable."""

    variable: str
    other: int | str


@dataclass(frozen=True)
class FalseTerm:
    """The world loses `weight` for every substitution in which all factors are false and all indicators hold."""

    weight: float
    factors: tuple[Factor, ...]
    indicators: tuple[Indicator, ...]
    sizes: Mapping[str, int]  # of the domain of each variable
    rule: int


def terms_of(problem: Problem, lowered: LoweredModel, held: Mapping[str, str]) -> tuple[FalseTerm, ...]:
    """All terms with a predicate that is not `held`; refuses formulas with too many atoms of one predicate."""
    rules = problem.model.rules
    made: list[FalseTerm] = []
    for template in lowered.templates:
        heard = [p for p in dict.fromkeys(literal.predicate for literal in template.literals) if p in problem.statuses]
        if not any(problem.statuses[p].n_open and p not in held for p in heard):
            continue
        own = tuple(_terms(template, problem.domains, problem))
        if any(number > MOST_TOGETHER for term in own for number in Counter(f.predicate for f in term.factors).values()):
            rule = rules[template.rule]
            raise unsupported(f"more than {MOST_TOGETHER} atoms of one predicate in a formula", rule.place, rule.text)
        made += own
    return tuple(made)


def unsupported(what: str, place: Place, text: str) -> UnsupportedError:
    """A refusal with its place and what to do."""
    hint = "leave --method out, or take another one; explain lists those that can do it"
    return UnsupportedError(Fault(f"{what}: {text}" if text else what, place, text, hint=hint))


def _terms(template: ClauseTemplate, domains: Mapping[str, Domain], problem: Problem) -> Iterator[FalseTerm]:
    weight = template.weight * prod(len(domains[type_name]) for _, type_name in template.idle)
    same = [e for e in template.equalities if not e.positive]
    differ = [EqualityLiteral(e.left, e.right, positive=False) for e in template.equalities if e.positive]
    for chosen in range(1 << len(differ)):
        clause = plain_clause(
            template.literals, [*same, *(e for i, e in enumerate(differ) if chosen >> i & 1)], template.variables
        )
        sign = -1.0 if chosen.bit_count() % 2 else 1.0
        term = None if clause is None else _term(clause, sign * weight, template.rule, problem)
        if term is not None:
            yield term


def _term(clause: PlainClause, weight: float, rule: int, problem: Problem) -> FalseTerm | None:
    """None where it weighs nothing."""
    domains = problem.domains
    sizes: dict[str, int] = {}
    indicators: list[Indicator] = []
    factors: list[Factor] = []
    for predicate, args, positive in ((one.predicate, one.args, one.positive) for one in clause.literals):
        own: list[str] = []
        for position, (term, type_name) in enumerate(zip(args, problem.model.predicates[predicate].types, strict=True)):
            size = len(domains[type_name])
            name = term.name if isinstance(term, Variable) else f"={type_name}={term.name}"
            if name in own:
                fresh = f"{name}'{len(factors)}.{position}"
                indicators.append(Indicator(fresh, name))
                name = fresh
            elif isinstance(term, Constant) and name not in sizes:
                indicators.append(Indicator(name, domains[type_name].number(term.name)))
            sizes[name] = size
            own.append(name)
        factors.append(Factor(predicate, tuple(own), positive))
    weight *= prod(len(domains[type_name]) for name, type_name in clause.variables if name not in sizes)
    return FalseTerm(weight, tuple(factors), tuple(indicators), sizes, rule) if weight else None
