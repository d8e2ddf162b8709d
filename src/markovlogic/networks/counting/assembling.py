"""Terms and loops as flat arrays, for the kernels."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple

import numpy as np

from markovlogic.data.evidence import TRUE
from markovlogic.kernels.counting.layout import OPERAND_BEGIN, OPERAND_FLIP, OPERAND_LIST, OPERAND_ROW, OPERAND_STEPS, Code
from markovlogic.language.templates import ClauseTemplate, Definition, LoweredModel
from markovlogic.networks.counting.direct import Loop, Sizes, loops
from markovlogic.networks.counting.listing import Lists, Operand, Views, kept_as_lists
from markovlogic.networks.counting.terms import (
    FREE,
    Conjunction,
    Factor,
    Numbering,
    Term,
    Terms,
    Universe,
    add,
    components,
    conjunctions,
    counted,
    free_of,
    hinging,
    positive_lists,
    without_zeros,
)
from markovlogic.problem.values import Problem
from markovlogic.system.arrays import Int64, frozen


class Spread(NamedTuple):
    """A term whose parts may be counted at different times: bits to test, and loops."""

    tests: Sequence[Factor]
    roots: Sequence[Loop]


def spread(term: Term, universe: Universe) -> Spread:
    """All parts of a term."""
    size = {FREE + at: universe.sizes[kind] for at, kind in enumerate(term.types)}
    tests = [factor for factor in term.factors if not free_of(factor.args)]
    roots = [loops(part, term.factors, term.masks, Sizes(size, universe)) for part in components(term)]
    return Spread(tests, sorted(roots, key=lambda loop: loop.cost))


class Assembler:
    """Gathers operands, loops and terms; numbers are handed out as they come."""

    def __init__(self, universe: Universe, views: Views) -> None:
        self.universe, self.views = universe, views
        self._operands: list[tuple[Operand, int]] = []  # with the slot of the first free variable
        self._loops: list[tuple[int, ...]] = []
        self._items: list[int] = []
        self._tests: list[tuple[int, int]] = []
        self._terms: list[tuple[int, ...]] = []
        self._weights: list[float] = []
        self._conditions: list[tuple[int, int]] = []
        self.deepest = 1
        self.most_slots = 1

    @property
    def n_terms(self) -> int:
        """Terms so far."""
        return len(self._terms)

    def operands(self, rows: Iterable[Operand], first_free: int) -> tuple[int, int]:
        """Consecutive operands: from, to. Lists come first, short ones before; among each kind those that are not negated."""
        begin = len(self._operands)
        self._operands += [(row, first_free) for row in sorted(rows, key=self._rank)]
        return begin, len(self._operands)

    def _rank(self, row: Operand) -> tuple[bool, bool, float, Operand]:
        view = self.views.found[row.view]
        entries = self.universe.entries(view.predicate, view.along)
        return not view.is_list, row.negated, entries or 0.0, row

    def loop(self, loop: Loop, first_free: int, depth: int = 1) -> int:
        """The number of a loop, with all that is inside."""
        self.deepest = max(self.deepest, depth)
        self.most_slots = max(self.most_slots, self._slot(loop.variable, first_free) + 1)
        own = self.operands([self.views.row(factor, loop.variable) for factor in loop.factors], first_free)
        inside = [self.loop(inner, first_free, depth + 1) for inner in loop.inner]
        masks, inner = self._listed(loop.masks), self._listed(inside)
        self._loops.append((self._slot(loop.variable, first_free), loop.size, *own, *masks, *inner))
        return len(self._loops) - 1

    def _listed(self, items: Sequence[int]) -> tuple[int, int]:
        self._items += items
        return len(self._items) - len(items), len(self._items)

    def tests(self, factors: Iterable[Factor], first_free: int) -> tuple[int, int]:
        """Consecutive tests: from, to."""
        begin = len(self._tests)
        for factor in factors:
            at, _ = self.operands([self.views.row(factor)], first_free)
            kinds = self.universe.predicates[factor.predicate]
            bit = factor.args[-1] if factor.args else -1
            self._tests.append((at, bit if bit >= 0 or not kinds else -1 - self.universe.number(bit, kinds[-1])))
        return begin, len(self._tests)

    def conditions(self, pairs: Iterable[tuple[int, int]], slot_types: Sequence[str]) -> tuple[int, int]:
        """Consecutive conditions: from, to."""
        begin = len(self._conditions)
        self._conditions += [(slot, self.argument(arg, slot_types[slot])) for slot, arg in pairs]
        return begin, len(self._conditions)

    def argument(self, arg: int, type_name: str) -> int:
        """An argument whose constants are numbered within their type, as kernels take them."""
        return arg if arg >= 0 else -1 - self.universe.number(arg, type_name)

    def term(self, term: Term, weight: float, channel: int, slot_types: Sequence[str], parts: Spread | None = None) -> int:
        """The number of a term, or of those of its parts that are given."""
        parts = spread(term, self.universe) if parts is None else parts
        first_free = len(slot_types)
        self.most_slots = max(self.most_slots, first_free)
        tests = self.tests(parts.tests, first_free)
        roots = [self.loop(root, first_free) for root in parts.roots]
        self._weights.append(weight)
        self._terms.append((channel, *tests, *self._listed(roots), *self.conditions(term.condition, slot_types)))
        return len(self._terms) - 1

    def terms(self, terms: Terms, channel: int, slot_types: Sequence[str]) -> tuple[int, int]:
        """Consecutive terms: from, to."""
        begin = len(self._terms)
        for term, weight in terms.items():
            self.term(term, weight, channel, slot_types)
        return begin, len(self._terms)

    def _slot(self, arg: int, first_free: int) -> int:
        return arg if arg < FREE else first_free + arg - FREE

    def code(self, lists: Lists) -> Code:
        """Everything as arrays."""
        begins = self.views.begins()
        steps = max((len(row.steps) for row, _ in self._operands), default=0) or 1
        operand = np.zeros((len(self._operands), OPERAND_STEPS + 2 * steps), np.int64)
        for at, (row, first_free) in enumerate(self._operands):
            if self.views.found[row.view].is_list:
                own = (lists.begin[row.view], lists.rows[row.view], row.constant)
            else:
                own = (begins[row.view] + row.constant, -1, 0)
            operand[at, [OPERAND_BEGIN, OPERAND_LIST, OPERAND_ROW]] = own
            operand[at, OPERAND_FLIP] = -1 if row.negated else 0
            for place, (arg, words) in enumerate(row.steps):
                at_step = OPERAND_STEPS + 2 * place
                operand[at, at_step], operand[at, at_step + 1] = self._slot(arg, first_free), words
        weight = np.array(self._weights, np.float64)
        return frozen(
            Code(
                operand,
                table(self._loops, 8),
                numbers(self._items),
                table(self._tests, 2),
                table(self._terms, 7),
                weight,
                table(self._conditions, 2),
                lists.item,
            )
        )


def numbers(values: Sequence[int]) -> Int64:
    """A column of integers."""
    return np.array(values, np.int64).reshape(-1)


def table(rows: Sequence[tuple[int, ...]], width: int) -> Int64:
    """Rows of so many integers."""
    return np.array(rows, np.int64).reshape(-1, width)


SOFT, HARD = 0, 1  # channels of sums: log-odds, and how many more hard groundings hold

Rated = Callable[[ClauseTemplate], tuple[int, float]]  # the channel of a clause, and what a true grounding adds to it
Condition = tuple[tuple[int, int], ...]


class Hit(NamedTuple):
    """A term of the change of a hidden atom's count when an atom turns true; parameters are slots after the atom's own."""

    hidden: str
    term: Term  # its conditions are on the atom alone
    sign: float
    sources: tuple[int | None, ...]  # the argument that each parameter equals; None: it may be anything


def universe_of(problem: Problem, lowered: LoweredModel) -> Universe:
    """Types, relations, and what is known of whole relations."""
    predicates = {name: predicate.types for name, predicate in problem.model.predicates.items()}
    predicates |= {d.predicate: tuple(kind for _, kind in d.parameters) for d in lowered.definitions}
    constant = {}
    for name, statuses in problem.statuses.items():
        n_true = int((statuses.status == TRUE).sum())
        if not statuses.n_open and n_true in (0, statuses.n_ground):
            constant[name] = n_true > 0
    lists = {name: n for name, n in kept_as_lists(problem).items() if name not in constant}
    return Universe(problem.domains, predicates, constant, lists)


def rated_as_weight(template: ClauseTemplate) -> tuple[int, float]:
    """Log-weights, and hard clauses apart."""
    return (HARD, 1.0) if math.isinf(template.weight) else (SOFT, template.weight)


def false_groundings(template: ClauseTemplate, universe: Universe) -> Iterator[tuple[Conjunction, Condition]]:
    """The conjunctions whose counts make up the number of a clause's false groundings; idle variables count too."""
    numbering = Numbering(dict((*template.variables, *template.idle)), universe)
    factors = [numbering.factor(literal, holds=False) for literal in template.literals]
    equal = [numbering.pair(equality) for equality in template.equalities if not equality.positive]
    unequal = [numbering.pair(equality) for equality in template.equalities if equality.positive]
    return conjunctions(factors, equal, unequal, numbering.types)


def _finished(terms: Terms, universe: Universe) -> Terms:
    return positive_lists(without_zeros(terms), universe)


def target_terms(lowered: LoweredModel, universe: Universe, predicate: str, rated: Rated) -> dict[int, Terms]:
    """By channel, the terms of what an atom of the predicate adds when it turns true; a clause that is no longer false counts."""
    found: dict[int, Terms] = {}
    for template in lowered.templates:
        if all(literal.predicate != predicate for literal in template.literals):
            continue
        channel, weight = rated(template)
        terms = found.setdefault(channel, {})
        for one, condition in false_groundings(template, universe):
            add(terms, hinging(one, condition, predicate, universe), -weight)
    made = {channel: _finished(terms, universe) for channel, terms in sorted(found.items())}
    return {channel: kept for channel, kept in made.items() if kept}


def false_terms(lowered: LoweredModel, universe: Universe, rated: Rated) -> dict[int, Terms]:
    """By channel, the terms of the number of false groundings of all clauses, weighed."""
    found: dict[int, Terms] = {}
    for template in lowered.templates:
        channel, weight = rated(template)
        for one, condition in false_groundings(template, universe):
            add(found.setdefault(channel, {}), counted(one, condition, universe), weight)
    return {channel: _finished(terms, universe) for channel, terms in sorted(found.items())}


def _cubes(definition: Definition, universe: Universe, first_slot: int) -> Iterator[tuple[Conjunction, Condition]]:
    """The conjunctions whose counts make up that of a hidden atom, with its parameters from a slot on."""
    slots = {name: first_slot + at for at, (name, _) in enumerate(definition.parameters)}
    for cube in definition.cubes:
        numbering = Numbering(dict((*definition.parameters, *definition.locals_)), universe, slots)
        factors = [numbering.factor(literal, holds=True) for literal in cube.literals]
        equal = [numbering.pair(equality) for equality in cube.equalities if equality.positive]
        unequal = [numbering.pair(equality) for equality in cube.equalities if not equality.positive]
        yield from conjunctions(factors, equal, unequal, numbering.types)


def whole_terms(definition: Definition, universe: Universe) -> Terms:
    """The terms of a hidden atom's count: it is true where that is not zero."""
    terms: Terms = {}
    for one, condition in _cubes(definition, universe, 0):
        add(terms, counted(one, condition, universe), 1.0)
    return _finished(terms, universe)


def hits(lowered: LoweredModel, universe: Universe, predicate: str) -> list[Hit]:
    """What a flip of an atom of the predicate does to hidden atoms."""
    arity = len(universe.predicates[predicate])
    found = []
    for definition in lowered.definitions:
        terms: Terms = {}
        for one, condition in _cubes(definition, universe, arity):
            add(terms, hinging(one, condition, predicate, universe), 1.0)
        for term, sign in _finished(terms, universe).items():
            sources: list[int | None] = [None] * len(definition.parameters)
            kept = []
            for slot, argument in term.condition:
                if slot >= arity:
                    sources[slot - arity] = argument
                else:
                    kept.append((slot, argument))
            found.append(Hit(definition.predicate, term._replace(condition=tuple(kept)), sign, tuple(sources)))
    return found
