"""Rules, definitions of hidden predicates and exclusive arguments as one kind of value: clauses that cost when false."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations, product
from typing import NamedTuple

from markovlogic.data.evidence import n_values
from markovlogic.language.syntax import Constant, Term, Variable
from markovlogic.language.templates import Definition, EqualityLiteral, Literal, LoweredModel
from markovlogic.methods.lifted.answer import Refusal
from markovlogic.methods.lifted.plain_clauses import (
    log_weight_of_true,
    mentioned,
    negated,
    plain_clause,
    substituted,
    substitutions,
)
from markovlogic.problem import Problem
from markovlogic.problem.statuses import Statuses

MOST_ALTERNATIVES = 24  # of an existential quantifier or an exclusive argument, which are written out constant by constant


class PlainLiteral(NamedTuple):
    """A predicate applied to variables (numbers from 0) and constants (−1 − number)."""

    predicate: str
    args: tuple[int, ...]
    positive: bool


@dataclass(frozen=True)
class Statement:
    """A clause for every substitution of its variables in which the pairs in `unequal` differ."""

    literals: tuple[PlainLiteral, ...]
    unequal: tuple[tuple[int, int], ...]
    types: tuple[str, ...]  # of the variables
    weight: float
    rule: int  # −1 for exclusive arguments
    names: tuple[str, ...] = ()  # of the variables, for messages


class Slice(NamedTuple):
    """The part of a predicate that has one constant at one place."""

    predicate: str
    place: int
    constant: int


@dataclass(frozen=True, eq=False)
class ProofInput:
    """All statements of a problem, and what is known of the predicates in them, hidden ones and slices included."""

    statements: tuple[Statement, ...]
    types: Mapping[str, tuple[str, ...]]
    hidden: frozenset[str]
    constant: float  # what the log partition function would be if no statement were ever false, atoms apart
    statuses: Mapping[str, Statuses]  # of all but hidden predicates
    sizes: Mapping[str, int]  # of types
    slices: Mapping[str, Slice] = field(default_factory=dict)  # by the name that stands for one


def statements(problem: Problem, lowered: LoweredModel) -> ProofInput | Refusal:
    """All statements that a problem makes; a refusal where some do not fit."""
    writer = _Writer(problem)
    for definition in lowered.definitions:
        refusal = writer.definition(definition)
        if refusal is not None:
            return refusal
    for template in lowered.templates:
        idle = math.prod(writer.size(type_name) for _, type_name in template.idle)
        writer.clause(template.literals, template.equalities, template.variables, template.weight * idle, template.rule)
    for group in problem.groups:
        refusal = writer.exclusive(group.predicate)
        if refusal is not None:
            return refusal
    return ProofInput(
        tuple(writer.found),
        writer.types,
        frozenset(writer.types) - problem.model.predicates.keys(),
        log_weight_of_true(problem, lowered),
        problem.statuses,
        {name: len(domain) for name, domain in problem.domains.items()},
    )


class _Writer:
    """Collects statements."""

    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        self.found: list[Statement] = []
        self.types = {name: predicate.types for name, predicate in problem.model.predicates.items()}

    def size(self, type_name: str) -> int:
        return len(self.problem.domains[type_name])

    def clause(
        self,
        literals: Iterable[Literal],
        equalities: Iterable[EqualityLiteral],
        variables: Sequence[tuple[str, str]],
        weight: float,
        rule: int,
    ) -> None:
        """Add a clause, with its equalities applied."""
        made = plain_clause(literals, equalities, variables)
        if made is None:
            return
        number = {name: at for at, (name, _) in enumerate(made.variables)}
        type_of = dict(made.variables)

        def plain(term: Term, type_name: str) -> int:
            if isinstance(term, Constant):
                return -1 - self.problem.domains[type_name].number(term.name)
            return number[term.name]

        unequal = []
        for pair in made.unequal:
            type_name = next(type_of[term.name] for term in pair if isinstance(term, Variable))
            unequal.append((plain(pair[0], type_name), plain(pair[1], type_name)))
        plainly = [
            PlainLiteral(q.predicate, tuple(map(plain, q.args, self.types[q.predicate])), q.positive) for q in made.literals
        ]
        types = tuple(type_of.values())
        self.found.append(Statement(tuple(plainly), tuple(unequal), types, weight, rule, tuple(type_of)))

    def definition(self, definition: Definition) -> Refusal | None:
        """`H(x) ⇔ EXIST y (cube v …)` as hard clauses; that H needs a reason is one long clause over all y."""
        parameters, locals_ = definition.parameters, definition.locals_
        alternatives = math.prod(self.size(type_name) for _, type_name in locals_) * len(definition.cubes)
        if alternatives > MOST_ALTERNATIVES:
            return Refusal(
                f"the quantifier over {', '.join(name for name, _ in locals_)} in"
                f" {self.problem.model.rules[definition.rule].text} has {alternatives} alternatives,"
                f" and at most {MOST_ALTERNATIVES} are written out"
            )
        self.types[definition.predicate] = tuple(type_name for _, type_name in parameters)
        head = Literal(definition.predicate, tuple(Variable(name) for name, _ in parameters), True)
        variables = (*parameters, *locals_)
        reasons: dict[Literal, None] = {}
        for at, cube in enumerate(definition.cubes):
            reason = cube.literals[0] if len(cube.literals) == 1 and not cube.equalities else None
            if reason is None:
                name = f"{definition.predicate}.{at}"
                self.types[name] = tuple(type_name for _, type_name in variables)
                reason = Literal(name, tuple(Variable(v) for v, _ in variables), True)
                self._conjunction(reason, cube.literals, cube.equalities, variables, definition.rule)
            self.clause((head, negated(reason)), (), mentioned((head, reason), (), variables), math.inf, definition.rule)
            for value in substitutions(locals_, self.problem.domains):
                reasons |= dict.fromkeys(substituted((reason,), (), value)[0])
        self.clause((negated(head), *reasons), (), mentioned((head,), (), variables), math.inf, definition.rule)
        return None

    def _conjunction(
        self,
        name: Literal,
        literals: Sequence[Literal],
        equalities: Sequence[EqualityLiteral],
        variables: Sequence[tuple[str, str]],
        rule: int,
    ) -> None:
        """`name ⇔ all of them`."""
        for literal in literals:
            self.clause((negated(name), literal), (), variables, math.inf, rule)
        for equality in equalities:
            self.clause((negated(name),), (equality,), variables, math.inf, rule)
        unequal = [EqualityLiteral(e.left, e.right, not e.positive) for e in equalities]
        self.clause((name, *map(negated, literals)), unequal, variables, math.inf, rule)

    def exclusive(self, predicate: str) -> Refusal | None:
        """Exactly one value in each group: one long clause, and one for each two values."""
        declared, sizes = self.problem.model.predicates[predicate], self.problem.statuses[predicate].sizes
        values = n_values(sizes, declared.exclusive)
        if values > MOST_ALTERNATIVES:
            return Refusal(
                f"the exclusive arguments of {predicate} have {values} values; at most {MOST_ALTERNATIVES} are written out"
            )
        types = tuple([t for t, marked in zip(declared.types, declared.exclusive, strict=True) if not marked])
        choices = list(_choices(sizes, declared.exclusive))
        at_least = tuple([PlainLiteral(predicate, args, True) for args in choices])
        self.found.append(Statement(at_least, (), types, math.inf, -1))
        for one, other in combinations(choices, 2):
            both = (PlainLiteral(predicate, one, False), PlainLiteral(predicate, other, False))
            self.found.append(Statement(both, (), types, math.inf, -1))
        return None


def _choices(sizes: Sequence[int], exclusive: Sequence[bool]) -> Iterator[tuple[int, ...]]:
    """Arguments of a group's atoms: variables, numbered, in the unmarked places, each combination of constants in the others."""
    variable = iter(range(len(sizes)))
    ranges = [range(-1, -1 - size, -1) if marked else (next(variable),) for size, marked in zip(sizes, exclusive, strict=True)]
    return product(*ranges)
