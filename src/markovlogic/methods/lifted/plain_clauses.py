"""Clauses as all lifted engines read them: equal terms are one term, and what is left of equalities are terms that differ.

A clause with equalities is false only where its equations fail and its inequations hold. So `x != y v …` is the clause with y
in place of x, and `x = y v …` the clause for different x and y.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product

from markovlogic.data.evidence import Domain
from markovlogic.grounding.predict import groundings_of
from markovlogic.language.syntax import Constant, Term, Variable
from markovlogic.language.templates import EqualityLiteral, Literal, LoweredModel
from markovlogic.problem import Problem

TypedVariables = Sequence[tuple[str, str]]  # names with their types


@dataclass(frozen=True)
class PlainClause:
    """A clause for every substitution of its variables in which the pairs of `unequal` differ; no literal stands twice."""

    literals: tuple[Literal, ...]
    unequal: tuple[tuple[Term, Term], ...]
    variables: tuple[tuple[str, str], ...]  # that are left, with their types


def plain_clause(
    literals: Iterable[Literal], equalities: Iterable[EqualityLiteral], variables: TypedVariables
) -> PlainClause | None:
    """The clause with its equations applied; None where it cannot be false."""
    same = _EqualTerms()
    equalities = tuple(equalities)
    if not all(same.join(one.left, one.right) for one in equalities if not one.positive):
        return None
    unequal = [(same.root(one.left), same.root(one.right)) for one in equalities if one.positive]
    if any(one == other for one, other in unequal):
        return None
    signs: dict[tuple[str, tuple[Term, ...]], bool] = {}
    for literal in literals:
        if signs.setdefault((literal.predicate, tuple(map(same.root, literal.args))), literal.positive) != literal.positive:
            return None
    return PlainClause(
        tuple(Literal(predicate, args, positive) for (predicate, args), positive in signs.items()),
        tuple(pair for pair in unequal if any(isinstance(term, Variable) for term in pair)),
        tuple(one for one in variables if same.root(Variable(one[0])) == Variable(one[0])),
    )


class _EqualTerms:
    """Terms that are equal; a constant stands for all that equal it."""

    def __init__(self) -> None:
        self._parent: dict[Term, Term] = {}

    def root(self, term: Term) -> Term:
        """What a term stands for; the mark of `+x` is dropped."""
        if isinstance(term, Variable):
            term = Variable(term.name)
        while (above := self._parent.get(term, term)) != term:
            term = above
        return term

    def join(self, one: Term, other: Term) -> bool:
        """Make two terms one; False where they are different constants."""
        one, other = self.root(one), self.root(other)
        if one == other:
            return True
        if isinstance(one, Constant):
            one, other = other, one
        if isinstance(one, Constant):
            return False
        self._parent[one] = other
        return True


def negated(literal: Literal) -> Literal:
    """The literal with the other sign."""
    return Literal(literal.predicate, literal.args, not literal.positive)


def mentioned(
    literals: Iterable[Literal], equalities: Iterable[EqualityLiteral], variables: TypedVariables
) -> list[tuple[str, str]]:
    """The variables that literals and equalities mention."""
    terms = [term for literal in literals for term in literal.args]
    terms += [term for equality in equalities for term in (equality.left, equality.right)]
    used = {term.name for term in terms if isinstance(term, Variable)}
    return [one for one in variables if one[0] in used]


def substitutions(variables: TypedVariables, domains: Mapping[str, Domain]) -> Iterator[dict[str, Constant]]:
    """All ways to put constants in place of variables."""
    for names in product(*(domains[of].names for _, of in variables)):
        yield {variable: Constant(name) for (variable, _), name in zip(variables, names, strict=True)}


def substituted(
    literals: Iterable[Literal], equalities: Iterable[EqualityLiteral], value: Mapping[str, Constant]
) -> tuple[list[Literal], list[EqualityLiteral]]:
    """With constants in place of variables."""

    def put(term: Term) -> Term:
        return value.get(term.name, term) if isinstance(term, Variable) else term

    return (
        [Literal(one.predicate, tuple(map(put, one.args)), one.positive) for one in literals],
        [EqualityLiteral(put(one.left), put(one.right), one.positive) for one in equalities],
    )


def log_weight_of_true(problem: Problem, lowered: LoweredModel) -> float:
    """What every world would weigh if no clause were ever false."""
    found = [
        constant * groundings
        for constant, groundings in zip(
            lowered.constant_per_grounding, groundings_of(problem.model, problem.domains), strict=True
        )
    ]
    for template in lowered.templates:
        if math.isfinite(template.weight):
            ranges = [len(problem.domains[of]) for _, of in (*template.idle, *template.variables)]
            found.append(template.weight * math.prod(ranges))
    return math.fsum(found)
