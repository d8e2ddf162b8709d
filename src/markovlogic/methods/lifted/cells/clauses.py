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
from markovlogic.grounding.predict import groundings_of
from markovlogic.language.syntax import Constant, Term, Variable
from markovlogic.language.templates import Definition, EqualityLiteral, Literal, LoweredModel
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
    constants = [
        constant * groundings
        for constant, groundings in zip(
            lowered.constant_per_grounding, groundings_of(problem.model, problem.domains), strict=True
        )
    ]
    raw: list[_Raw] = []
    for template in lowered.templates:
        idle = math.prod(len(problem.domains[of]) for _, of in template.idle)
        groundings = math.prod(len(problem.domains[of]) for _, of in template.variables)
        if idle and groundings:
            weight = template.weight * idle
            constants += [weight * groundings] if math.isfinite(weight) else []
            raw.append(_Raw(template.literals, template.equalities, weight, template.variables, template.rule))
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
    return FlatModel(tuple(clauses), written_out, types, frozenset(skolem), frozenset(hidden), math.fsum(constants), first)


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
        used = {t.name for x in literals for t in x.args if isinstance(t, Variable)}
        used |= {t.name for e in equalities for t in (e.left, e.right) if isinstance(t, Variable)}
        own = tuple(variable for variable in variables if variable[0] in used)
        return _Raw(tuple(literals), tuple(equalities), math.inf, own, definition.rule)

    def broken(literal: Literal) -> list[_Raw]:
        """Each cube makes the literal true."""
        return [
            hard(
                (*(Literal(x.predicate, x.args, not x.positive) for x in cube.literals), literal),
                tuple(EqualityLiteral(x.left, x.right, not x.positive) for x in cube.equalities),
            )
            for cube in definition.cubes
        ]

    if all(of in written_out for _, of in definition.locals_):
        choices = _some_cube(definition, domains)
        if choices is not None:
            absent = Literal(head.predicate, head.args, False)
            made = [
                hard((absent, *(x for x in one if isinstance(x, Literal))), [x for x in one if isinstance(x, EqualityLiteral)])
                for one in choices
            ]
            return [*broken(head), *made], False
    return [*broken(head), hard((witness, head), ()), *broken(witness)], True


Part = Literal | EqualityLiteral


def _some_cube(definition: Definition, domains: Mapping[str, Domain]) -> list[tuple[Part, ...]] | None:
    """`cube v cube …` over the constants of the local variables, as disjunctions; None where they are too many."""
    cubes: list[tuple[Part, ...]] = []
    names = [name for name, _ in definition.locals_]
    for constants in itertools.product(*(domains[of].names for _, of in definition.locals_)):
        value = {name: Constant(constant) for name, constant in zip(names, constants, strict=True)}

        def put(term: Term, value: dict[str, Constant] = value) -> Term:
            return value.get(term.name, term) if isinstance(term, Variable) else term

        for cube in definition.cubes:
            equalities = [EqualityLiteral(put(x.left), put(x.right), x.positive) for x in cube.equalities]
            decided = [x for x in equalities if isinstance(x.left, Constant) and isinstance(x.right, Constant)]
            if any((x.left == x.right) != x.positive for x in decided):
                continue
            literals = [Literal(x.predicate, tuple(map(put, x.args)), x.positive) for x in cube.literals]
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
        ranges = [range(len(self._domains[of])) for _, of in small]
        if math.prod(map(len, ranges)) > MOST_CLAUSES:
            raise TooLarge(f"writing out {', '.join(sorted({of for _, of in small}))} gives too many clauses")
        type_of = dict(raw.variables)
        for numbers in itertools.product(*ranges):
            made = self._one(raw, type_of, dict(zip((name for name, _ in small), numbers, strict=True)))
            if made is not None:
                yield made

    def _one(self, raw: _Raw, type_of: Mapping[str, str], value: Mapping[str, int]) -> FlatClause | None:
        """None where the clause cannot be false."""
        merged = _Names()
        for name, of in raw.variables:
            if of not in self._written_out:
                merged.add(name, of, None)

        def slot(term: Term, of: str) -> int:
            if isinstance(term, Variable):
                return merged.slot[term.name]
            return merged.add(f" {of} {term.name}", of, self._domains[of].number(term.name))

        apart: list[tuple[int, int]] = []
        for equality in raw.equalities:
            of = next(type_of[t.name] for t in (equality.left, equality.right) if isinstance(t, Variable))
            if of in self._written_out:
                same = self._number(equality.left, of, value) == self._number(equality.right, of, value)
                if same == equality.positive:
                    return None
                continue
            pair = (slot(equality.left, of), slot(equality.right, of))
            if equality.positive:
                apart.append(pair)
            elif not merged.join(*pair):
                return None
        literals = []
        for literal in raw.literals:
            if literal.predicate in self._all_false:
                if not literal.positive:
                    return None
                continue
            types = self._types[literal.predicate]
            fixed = tuple(
                self._number(term, of, value) if of in self._written_out else None
                for term, of in zip(literal.args, types, strict=True)
            )
            slots = [slot(term, of) for term, of in zip(literal.args, types, strict=True) if of not in self._written_out]
            literals.append((Key(literal.predicate, fixed), slots, literal.positive))
        return _clause(raw, merged, literals, apart)

    def _number(self, term: Term, of: str, value: Mapping[str, int]) -> int:
        return self._domains[of].number(term.name) if isinstance(term, Constant) else value[term.name]


class _Names:
    """The variables of one clause: pinned ones by their object, and those that an equality makes one."""

    def __init__(self) -> None:
        self.slot: dict[str, int] = {}
        self.types: list[str] = []
        self.pinned: list[int | None] = []
        self.parent: list[int] = []

    def add(self, name: str, of: str, pinned: int | None) -> int:
        if name not in self.slot:
            self.slot[name] = len(self.types)
            self.parent.append(len(self.types))
            self.types.append(of)
            self.pinned.append(pinned)
        return self.slot[name]

    def root(self, at: int) -> int:
        while self.parent[at] != at:
            at = self.parent[at]
        return at

    def join(self, left: int, right: int) -> bool:
        """Make two variables one; False where they are different objects."""
        one, other = self.root(left), self.root(right)
        if one == other:
            return True
        pins = {pin for pin in (self.pinned[one], self.pinned[other]) if pin is not None}
        if len(pins) > 1:
            return False
        self.parent[other] = one
        self.pinned[one] = next(iter(pins), None)
        return True


def _clause(
    raw: _Raw, names: _Names, literals: list[tuple[Key, list[int], bool]], apart: list[tuple[int, int]]
) -> FlatClause | None:
    """The clause over the variables that are left after equalities made some of them one."""
    roots = sorted({names.root(at) for at in range(len(names.types))})
    number = {root: at for at, root in enumerate(roots)}
    place = [number[names.root(at)] for at in range(len(names.types))]
    made = {FlatLiteral(key, tuple(place[s] for s in slots), positive) for key, slots, positive in literals}
    if any(FlatLiteral(x.key, x.args, not x.positive) in made for x in made):
        return None
    pinned = tuple(names.pinned[root] for root in roots)
    left = set()
    for one, other in apart:
        one, other = sorted((place[one], place[other]))
        if one == other:
            return None
        if pinned[one] is None or pinned[other] is None or pinned[one] == pinned[other]:
            left.add((one, other))
    return FlatClause(
        tuple(sorted(made)), tuple(sorted(left)), raw.weight, tuple(names.types[root] for root in roots), pinned, raw.rule
    )
