"""Terms and loops as flat arrays, for the kernels."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np

from markovlogic.kernels.counting.layout import OPERAND_BEGIN, OPERAND_FLIP, OPERAND_LIST, OPERAND_ROW, OPERAND_STEPS, Code
from markovlogic.networks.counting.joins import Loop, Sizes, loops
from markovlogic.networks.counting.listing import Lists
from markovlogic.networks.counting.terms import FREE, Factor, Term, Terms, Universe, components, free_of
from markovlogic.networks.counting.views import Operand, Views
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
