"""Domains of which one constant is enough for the most probable world: the single-occurrence rule.

Argument positions that share a variable in some clause form a class. Where no clause has two variables of a class, constants of
it never meet: given the atoms that do not mention the class, the world falls apart into one part for each constant, all parts
are alike, and all may take the same best values. So the domain can be one constant, and clauses that mention the class get their
weight times the number of constants (Mittal, Goyal, Gogate, Singla 2014, Theorem 1; there the other weights are divided instead).

What must hold besides: the evidence is the same for all constants of the class, no rule names one, none is compared, no
quantifier ranges over them, and they are no exclusive values. A predicate with soft evidence or with numbers stays as it is.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, replace

import numpy as np

from markovlogic.data.evidence import Domain, codes, decode
from markovlogic.language.syntax import Constant, Term, Variable
from markovlogic.language.templates import ClauseTemplate, Definition, Literal, LoweredModel
from markovlogic.problem import Problem, Statuses, with_statuses
from markovlogic.problem.prepare import PreparedProblem
from markovlogic.system.arrays import Bool, Int8, Int64, each_once, frozen

Position = tuple[str, int]  # a predicate, and the number of an argument
Places = dict[str, set[Position]]  # where each variable of a clause stands


@dataclass(frozen=True, eq=False)
class Reduction:
    """A problem with smaller domains that has the same most probable world, and the way back."""

    prepared: PreparedProblem
    is_reduced: dict[str, tuple[bool, ...]]  # for each predicate, of which arguments one constant stands for all
    note: str

    def codes(self, predicate: str, code: Int64, sizes: tuple[int, ...]) -> Int64:
        """The atoms of the smaller problem that stand for some atoms, given by code."""
        args = decode(code, sizes)
        args[:, np.array(self.is_reduced[predicate], np.bool_)] = 0
        return codes(args, self.prepared.problem.statuses[predicate].sizes)


def reduced(prepared: PreparedProblem) -> Reduction | None:
    """Reduce all domains that can be; None where none can."""
    problem, lowered = prepared.problem, prepared.lowered
    classes = _Classes(problem, lowered)
    chosen = {root for root in classes.roots if classes.is_single(root)}
    if not chosen:
        return None
    type_of = {root: f"{classes.type_of(root)}, as one constant ({number})" for number, root in enumerate(sorted(chosen))}
    new_types = {
        name: tuple(type_of.get(classes.root((name, at)), old) for at, old in enumerate(predicate.types))
        for name, predicate in problem.model.predicates.items()
    }
    made = _smaller_rules(lowered, classes, type_of, problem)
    smaller = _smaller_problem(problem, classes, type_of, new_types)
    sizes: dict[str, int] = {classes.type_of(root): classes.size(root) for root in sorted(chosen)}
    shown = ", ".join(f"{name} ({size:,})" for name, size in sizes.items())
    is_reduced = {
        name: tuple(classes.root((name, at)) in chosen for at in range(predicate.arity))
        for name, predicate in problem.model.predicates.items()
    }
    note = f"lifted: one constant stands for all of {shown} in places where no rule connects two of them"
    return Reduction(PreparedProblem(smaller, prepared.clause_weights, made), is_reduced, note)


class _Classes:
    """Classes of argument positions, and what speaks against reducing each."""

    def __init__(self, problem: Problem, lowered: LoweredModel) -> None:
        self._problem = problem
        self._parent: dict[Position, Position] = {}
        self._barred: set[Position] = set()
        self._clauses = [_places(template.literals) for template in lowered.templates]
        for definition in lowered.definitions:
            literals = [literal for cube in definition.cubes for literal in cube.literals]
            head = Literal(definition.predicate, tuple(Variable(name) for name, _ in definition.parameters), True)
            self._clauses.append(_places([head, *literals]))
        for places in self._clauses:
            for at in places.values():
                first, *others = sorted(at)
                for other in others:
                    self._join(first, other)
        self._bar(lowered)

    def _bar(self, lowered: LoweredModel) -> None:
        """Positions whose constants are distinguished by anything."""
        barred = self._barred
        for template in lowered.templates:
            barred |= _named(template.literals) | _compared(template, _places(template.literals))
        for definition in lowered.definitions:
            literals = [literal for cube in definition.cubes for literal in cube.literals]
            places = _places(literals)
            barred |= _named(literals) | _compared_in(definition, places)
            for name, _ in definition.locals_:
                barred |= places.get(name, set())
        for name, predicate in self._problem.model.predicates.items():
            statuses = self._problem.statuses[name]
            for at in range(predicate.arity):
                same = [other for other in range(predicate.arity) if self.root((name, other)) == self.root((name, at))]
                differs = name in self._problem.soft or name in self._problem.numbers or not _is_uniform(statuses, at)
                if predicate.exclusive[at] or differs or len(same) > 1:
                    barred.add((name, at))
        self._barred_roots = {self.root(position) for position in barred}

    def _join(self, one: Position, other: Position) -> None:
        one, other = self.root(one), self.root(other)
        if one[0] not in self._problem.model.predicates:  # a hidden predicate has no declared types: never stand for a class
            one, other = other, one
        if one != other:
            self._parent[other] = one

    def root(self, position: Position) -> Position:
        """The class of a position."""
        while (above := self._parent.get(position, position)) != position:
            position = above
        return position

    @property
    def roots(self) -> set[Position]:
        """All classes."""
        predicates = self._problem.model.predicates
        return {self.root((name, at)) for name, predicate in predicates.items() for at in range(predicate.arity)}

    def type_of(self, root: Position) -> str:
        """The type of a class."""
        return self._problem.model.predicates[root[0]].types[root[1]]

    def size(self, root: Position) -> int:
        """How many constants a class has."""
        return len(self._problem.domains[self.type_of(root)])

    def is_single(self, root: Position) -> bool:
        """Whether one constant is enough, and fewer than there are."""
        if root in self._barred_roots or self.size(root) < 2:
            return False
        return all(len(self.variables_of(root, places)) <= 1 for places in self._clauses)

    def variables_of(self, root: Position, places: Places) -> list[str]:
        """The variables of a clause that belong to a class."""
        return [name for name, at in places.items() if self.root(next(iter(at))) == root]


def _places(literals: Iterable[Literal]) -> Places:
    found: Places = {}
    for literal in literals:
        for at, term in enumerate(literal.args):
            if isinstance(term, Variable):
                found.setdefault(term.name, set()).add((literal.predicate, at))
    return found


def _named(literals: Iterable[Literal]) -> set[Position]:
    """Positions at which a constant stands."""
    return {(q.predicate, at) for q in literals for at, term in enumerate(q.args) if isinstance(term, Constant)}


def _compared(template: ClauseTemplate, places: Places) -> set[Position]:
    terms: list[Term] = [term for equality in template.equalities for term in (equality.left, equality.right)]
    return _where(terms, places)


def _compared_in(definition: Definition, places: Places) -> set[Position]:
    pairs = [equality for cube in definition.cubes for equality in cube.equalities]
    return _where([term for equality in pairs for term in (equality.left, equality.right)], places)


def _where(terms: Iterable[Term], places: Places) -> set[Position]:
    return {at for term in terms if isinstance(term, Variable) for at in places.get(term.name, set())}


def _is_uniform(statuses: Statuses, position: int) -> bool:
    """Whether a predicate's evidence is the same for all constants at a position."""
    if not len(statuses.code):
        return True
    size = statuses.sizes[position]
    if not size or len(statuses.code) % size:
        return False
    args = decode(statuses.code, statuses.sizes)
    others = np.delete(args, position, axis=1)
    rest = codes(others, tuple(np.delete(statuses.sizes, position).tolist()))
    order = np.lexsort((args[:, position], rest))
    rest, status = rest[order].reshape(-1, size), statuses.status[order].reshape(-1, size)
    return bool((rest == rest[:, :1]).all() and (status == status[:, :1]).all() and len(each_once(rest[:, 0])) == len(rest))


def _smaller_rules(lowered: LoweredModel, classes: _Classes, type_of: dict[Position, str], problem: Problem) -> LoweredModel:
    """The clauses over the smaller domains: each weighs as much as all that it stands for."""

    def typed(variables: tuple[tuple[str, str], ...], places: Places) -> tuple[tuple[str, str], ...]:
        def of(name: str, old: str) -> str:
            at = places.get(name)
            return type_of.get(classes.root(next(iter(at))), old) if at else old

        return tuple((name, of(name, old)) for name, old in variables)

    def template(old: ClauseTemplate) -> ClauseTemplate:
        places = _places(old.literals)
        variables = typed(old.variables, places)
        sizes = [len(problem.domains[was]) for (_, was), (_, now) in zip(old.variables, variables, strict=True) if was != now]
        return replace(old, weight=old.weight * math.prod(sizes), variables=variables)

    def definition(old: Definition) -> Definition:
        head = Literal(old.predicate, tuple(Variable(name) for name, _ in old.parameters), True)
        places = _places([head, *(literal for cube in old.cubes for literal in cube.literals)])
        return replace(old, parameters=typed(old.parameters, places), locals_=typed(old.locals_, places))

    return replace(
        lowered,
        templates=tuple(template(old) for old in lowered.templates),
        definitions=tuple(definition(old) for old in lowered.definitions),
    )


def _smaller_problem(
    problem: Problem, classes: _Classes, type_of: dict[Position, str], new_types: dict[str, tuple[str, ...]]
) -> Problem:
    """The problem over the smaller domains; the old ones stay, since they show how many groundings a rule has."""
    domains = dict(problem.domains)
    for root, name in type_of.items():
        domains[name] = Domain(name, problem.domains[classes.type_of(root)].names[:1])
    predicates = {name: replace(old, types=new_types[name]) for name, old in problem.model.predicates.items()}
    model = replace(problem.model, predicates=predicates)
    statuses = {
        name: _smaller_statuses(old, np.array([new != was for new, was in zip(new_types[name], types, strict=True)], np.bool_))
        for name, old in problem.statuses.items()
        for types in [problem.model.predicates[name].types]
    }
    base = replace(problem, model=model, evidence=replace(problem.evidence, domains=domains))
    return with_statuses(base, statuses)


def _smaller_statuses(statuses: Statuses, is_reduced: Bool) -> Statuses:
    if not is_reduced.any():
        return statuses
    sizes = tuple(1 if one else size for size, one in zip(statuses.sizes, is_reduced.tolist(), strict=True))
    args = decode(statuses.code, statuses.sizes)
    first = (args[:, is_reduced] == 0).all(axis=1)
    code: Int64 = codes(args[first], sizes)
    status: Int8 = statuses.status[first]
    order = np.argsort(code)
    return replace(statuses, sizes=sizes, code=frozen(code[order]), status=frozen(status[order]))
