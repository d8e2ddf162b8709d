"""Rules as the cell method reads them: clauses over objects, small types written out, existentials made free of quantifiers.

A clause here stands for −weight · 1[all its literals are false], for every substitution of its variables; the constant that is
missing from that (weight times the number of groundings) is gathered apart. Constants that a rule names are variables that are
*pinned* to one object, so that a clause has nothing but variables.

A definition H(x) ⇔ EXIST y cube becomes three kinds of hard clauses over H and a Skolem predicate S whose false atoms weigh −1
(Van den Broeck, Meert and Darwiche 2014, Skolemization for weighted first-order model counting, section 4):
cube ⇒ H(x), S(x) v H(x), cube ⇒ S(x). Where H holds without a witness, S true and S false cancel.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from markovlogic.data.evidence import FALSE, Domain
from markovlogic.language.syntax import Constant, Term, Variable
from markovlogic.language.templates import Definition, EqualityLiteral, Literal, LoweredModel
from markovlogic.methods.lifted.plain_clauses import (
    log_weight_of_true,
    mentioned,
    negated,
    plain_clause,
    substituted,
    substitutions,
)
from markovlogic.problem import Problem

MOST_CLAUSES = 20_000  # after small types are written out
MOST_CHOICES = 64  # clauses that the definition of one hidden predicate without local variables may need


class TooLarge(Exception):
    """Why the clauses, cells or sums of a problem are too many."""


@dataclass(frozen=True, order=True)
class Key:
    """A predicate with the constants at its written-out positions; None where an object goes."""

    predicate: str
    fixed: tuple[int | None, ...]

    @property
    def open_positions(self) -> tuple[int, ...]:
        """Positions that objects fill."""
        return tuple(at for at, number in enumerate(self.fixed) if number is None)


@dataclass(frozen=True, order=True)
class FlatLiteral:
    """A key applied to variables of its clause."""

    key: Key
    args: tuple[int, ...]
    positive: bool


@dataclass(frozen=True)
class FlatClause:
    """−weight · 1[all literals false] for all substitutions in which the pairs of `apart` differ."""

    literals: tuple[FlatLiteral, ...]
    apart: tuple[tuple[int, int], ...]
    weight: float
    types: tuple[str, ...]  # of each variable
    pinned: tuple[int | None, ...]  # the object that a variable stands for, where a rule names it
    rule: int

    @property
    def joins_objects(self) -> bool:
        """Whether one of its literals mentions two variables together."""
        return any(len(set(literal.args)) > 1 for literal in self.literals)


@dataclass(frozen=True)
class FlatModel:
    """All clauses of a problem, with small types written out."""

    clauses: tuple[FlatClause, ...]
    written_out: frozenset[str]  # types
    types: Mapping[str, tuple[str, ...]]  # of every predicate, hidden ones too
    skolem: frozenset[str]  # predicates whose false atoms weigh −1
    hidden: frozenset[str]  # predicates that are not in the problem, Skolem ones among them
    constant: float  # of log Z
    first_existential: int = 0  # the rule of the first definition with a Skolem predicate, if there is one

    def open_types(self, key: Key) -> tuple[str, ...]:
        """Types of the objects that a key takes."""
        return tuple(self.types[key.predicate][at] for at in key.open_positions)


@dataclass(frozen=True)
class _Raw:
    """A clause before types are written out."""

    literals: tuple[Literal, ...]
    equalities: tuple[EqualityLiteral, ...]
    weight: float
    variables: tuple[tuple[str, str], ...]
    rule: int


def flat_model(problem: Problem, lowered: LoweredModel, written_out: frozenset[str]) -> FlatModel:
    """Write out the small types; refuses (TooLarge) where that makes too many clauses."""
    types = {name: predicate.types for name, predicate in problem.model.predicates.items()}
    types |= {d.predicate: tuple(of for _, of in d.parameters) for d in lowered.definitions}
    raw: list[_Raw] = []
    for template in lowered.templates:
        idle = math.prod(len(problem.domains[of]) for _, of in template.idle)
        groundings = math.prod(len(problem.domains[of]) for _, of in template.variables)
        if idle and groundings:
            raw.append(_Raw(template.literals, template.equalities, template.weight * idle, template.variables, template.rule))
    skolem: set[str] = set()
    for definition in lowered.definitions:
        made, needs_skolem = _definition(definition, written_out, problem.domains)
        raw += made
        if needs_skolem:
            skolem.add(_skolem_name(definition))
            types[_skolem_name(definition)] = types[definition.predicate]
    hidden = skolem | {d.predicate for d in lowered.definitions}
    first = next((d.rule for d in lowered.definitions if _skolem_name(d) in skolem), 0)
    writer = _Writer(problem.domains, types, written_out, _all_false(problem))
    clauses: list[FlatClause] = []
    for one in raw:
        clauses += writer.flat(one)
        if len(clauses) > MOST_CLAUSES:
            raise TooLarge(f"writing out {', '.join(sorted(written_out))} gives more than {MOST_CLAUSES:,} clauses")
    return FlatModel(
        tuple(clauses), written_out, types, frozenset(skolem), frozenset(hidden), log_weight_of_true(problem, lowered), first
    )


def _skolem_name(definition: Definition) -> str:
    return f"{definition.predicate} witness"


def _all_false(problem: Problem) -> frozenset[str]:
    """Predicates of which every atom is known to be false: their literals are decided in every clause."""
    return frozenset(name for name, known in problem.statuses.items() if known.default == FALSE and not len(known.code))


def _definition(definition: Definition, written_out: frozenset[str], domains: Mapping[str, Domain]) -> tuple[list[_Raw], bool]:
    """Hard clauses for H(x) ⇔ EXIST y (cube v …), and whether they need a Skolem predicate."""
    variables = definition.parameters + definition.locals_
    args: tuple[Term, ...] = tuple(Variable(name) for name, _ in definition.parameters)
    head = Literal(definition.predicate, args, True)
    witness = Literal(_skolem_name(definition), args, True)

    def hard(literals: Sequence[Literal], equalities: Sequence[EqualityLiteral]) -> _Raw:
        own = tuple(mentioned(literals, equalities, variables))
        return _Raw(tuple(literals), tuple(equalities), math.inf, own, definition.rule)

    def broken(literal: Literal) -> list[_Raw]:
        """Each cube makes the literal true."""
        return [
            hard(
                (*map(negated, cube.literals), literal),
                tuple(EqualityLiteral(x.left, x.right, not x.positive) for x in cube.equalities),
            )
            for cube in definition.cubes
        ]

    if all(of in written_out for _, of in definition.locals_):
        choices = _some_cube(definition, domains)
        if choices is not None:
            made = [
                hard(
                    (negated(head), *(x for x in one if isinstance(x, Literal))),
                    [x for x in one if isinstance(x, EqualityLiteral)],
                )
                for one in choices
            ]
            return [*broken(head), *made], False
    return [*broken(head), hard((witness, head), ()), *broken(witness)], True


Part = Literal | EqualityLiteral


def _some_cube(definition: Definition, domains: Mapping[str, Domain]) -> list[tuple[Part, ...]] | None:
    """`cube v cube …` over the constants of the local variables, as disjunctions; None where they are too many."""
    cubes: list[tuple[Part, ...]] = []
    for value in substitutions(definition.locals_, domains):
        for cube in definition.cubes:
            literals, equalities = substituted(cube.literals, cube.equalities, value)
            decided = [x for x in equalities if isinstance(x.left, Constant) and isinstance(x.right, Constant)]
            if any((x.left == x.right) != x.positive for x in decided):
                continue
            cubes.append((*literals, *(x for x in equalities if x not in decided)))
        if math.prod(map(len, cubes)) > MOST_CHOICES:
            return None
    return list(itertools.product(*cubes))


class _Writer:
    """Writes clauses out over the constants of small types, and drops what is decided."""

    def __init__(
        self,
        domains: Mapping[str, Domain],
        types: Mapping[str, tuple[str, ...]],
        written_out: frozenset[str],
        all_false: frozenset[str],
    ) -> None:
        self._domains, self._types, self._written_out, self._all_false = domains, types, written_out, all_false

    def flat(self, raw: _Raw) -> Iterator[FlatClause]:
        """One clause for each substitution of the variables of written-out types."""
        small = [(name, of) for name, of in raw.variables if of in self._written_out]
        if math.prod(len(self._domains[of]) for _, of in small) > MOST_CLAUSES:
            raise TooLarge(f"writing out {', '.join(sorted({of for _, of in small}))} gives too many clauses")
        for value in substitutions(small, self._domains):
            made = self._one(raw, value)
            if made is not None:
                yield made

    def _one(self, raw: _Raw, value: Mapping[str, Constant]) -> FlatClause | None:
        """None where the clause cannot be false."""
        variables = [one for one in raw.variables if one[0] not in value]
        made = plain_clause(*substituted(raw.literals, raw.equalities, value), variables)
        if made is None:
            return None
        types = [of for _, of in made.variables]
        pinned: list[int | None] = [None] * len(types)
        place = {(name, ""): at for at, (name, _) in enumerate(made.variables)}

        def slot(term: Term, of: str) -> int:
            if isinstance(term, Variable):
                return place[term.name, ""]
            if (term.name, of) not in place:
                place[term.name, of] = len(types)
                types.append(of)
                pinned.append(self._domains[of].number(term.name))
            return place[term.name, of]

        apart = []
        for pair in made.unequal:
            of = next(types[place[term.name, ""]] for term in pair if isinstance(term, Variable))
            one, other = sorted(slot(term, of) for term in pair)
            apart.append((one, other))
        literals = []
        for literal in made.literals:
            if literal.predicate in self._all_false:
                if not literal.positive:
                    return None
                continue
            pairs = list(zip(literal.args, self._types[literal.predicate], strict=True))
            fixed = tuple(self._domains[of].number(term.name) if of in self._written_out else None for term, of in pairs)
            args = tuple(slot(term, of) for term, of in pairs if of not in self._written_out)
            literals.append(FlatLiteral(Key(literal.predicate, fixed), args, literal.positive))
        return FlatClause(tuple(sorted(literals)), tuple(sorted(set(apart))), raw.weight, tuple(types), tuple(pinned), raw.rule)
