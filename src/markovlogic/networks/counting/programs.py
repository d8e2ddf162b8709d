"""How each predicate is swept: its terms divided into what is computed once a row and what is counted at an atom's turn.

A factor of the swept predicate is *live* where it may read the row that is being swept, whose bits change from atom to atom. Of a
binary predicate that is a factor whose first argument is the row's (`terms.split_rows` takes all others apart from it); of other
predicates every factor counts as live. A component is live if one of its factors is.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from markovlogic.kernels.counting.layout import (
    COLUMNS,
    DIAGONAL,
    HAS_HARD,
    INSTRUCTIONS,
    LIVE,
    OWN_COLUMNS,
    POINTS,
    ROW_GROUPS_OF,
    ROW_TERMS,
    SPECIAL,
    VECTORS,
    RowProgram,
)
from markovlogic.networks.counting.assembling import Assembler, Hit, numbers, table
from markovlogic.networks.counting.direct import Loop, Sizes, loops
from markovlogic.networks.counting.listing import Operand
from markovlogic.networks.counting.messages import Instructions, Part, Vector
from markovlogic.networks.counting.terms import (
    FREE,
    Factor,
    Term,
    Terms,
    Universe,
    components,
    free_of,
    positive_form,
    split_rows,
)
from markovlogic.system.arrays import frozen

AN_ATOM = 24.0  # words that could be read in the time of drawing one atom
A_TEST = 4.0  # the same for a test, and for beginning a loop
A_FLIP = 400.0  # for a flip, with what is noted of hidden atoms
FLIPS_AN_ATOM = 2.0  # there, and back
A_CELL = 1.5  # for adding to the sum of one atom of a row


@dataclass
class Tables:
    """The tables of all predicates' programs, as lists; see `kernels.counting.layout.RowProgram`."""

    instruction: list[tuple[int, ...]] = field(default_factory=list)
    term: list[tuple[int, ...]] = field(default_factory=list)
    weight: list[float] = field(default_factory=list)
    item: list[int] = field(default_factory=list)
    group: list[tuple[int, ...]] = field(default_factory=list)
    entry: list[tuple[int, int]] = field(default_factory=list)
    column: list[tuple[int, int]] = field(default_factory=list)
    vector: list[tuple[int, int]] = field(default_factory=list)
    live: list[tuple[int, ...]] = field(default_factory=list)
    most_registers: list[int] = field(default_factory=lambda: [1, 1, 1])
    most_columns: int = 1

    def lengths(self) -> dict[int, int]:
        """How long the lists of which each predicate has a part are now, by the column that says where it begins."""
        return {
            INSTRUCTIONS: len(self.instruction),
            ROW_TERMS: len(self.term),
            ROW_GROUPS_OF: len(self.group),
            COLUMNS: len(self.column),
            VECTORS: len(self.vector),
            LIVE: len(self.live),
        }

    def listed(self, items: Iterable[int]) -> tuple[int, int]:
        """Put items in a row: from, to."""
        begin = len(self.item)
        self.item += items
        return begin, len(self.item)

    def program(self) -> RowProgram:
        """All lists as arrays."""
        return frozen(
            RowProgram(
                table(self.instruction, 9),
                table(self.term, 7),
                np.array(self.weight, np.float64),
                numbers(self.item),
                table(self.group, 5),
                table(self.entry, 2),
                table(self.column, 2),
                table(self.vector, 2),
                table(self.live, 7),
            )
        )


@dataclass(frozen=True)
class Work:
    """What a sweep of one predicate takes, in words that are read."""

    once: float
    row: float
    atom: float


@dataclass(frozen=True)
class RowPlan:
    """A predicate's program: its columns in the table of predicates, and what a sweep takes."""

    columns: dict[int, int]
    work: Work


class RowPlanner:
    """Plans one predicate after the other into common tables."""

    def __init__(self, assembler: Assembler) -> None:
        self.assembler, self.universe, self.tables = assembler, assembler.universe, Tables()

    def plan(self, predicate: str, by_channel: Mapping[int, Terms], first_term: int, *, in_rows: bool) -> RowPlan:
        """Plan a predicate whose terms, in this order, are those from `first_term` on; without `in_rows` it has no program."""
        before = self.tables.lengths()
        own = _PredicatePlan(self, predicate)
        work = own.plan(by_channel, first_term) if in_rows else Work(0.0, 0.0, 0.0)
        columns = {OWN_COLUMNS: int(own.has_own_columns), HAS_HARD: int(1 in by_channel)}
        columns |= {SPECIAL: own.special_begin, POINTS: own.point_begin}
        columns |= {DIAGONAL: own.diagonal[0], DIAGONAL + 1: own.diagonal[1]}
        for column, length in self.tables.lengths().items():
            columns |= {column: before[column], column + 1: length}
        return RowPlan(columns, work)


def flips_work(by_channel: Mapping[int, Terms], found: Iterable[Hit], universe: Universe) -> Work:
    """What it takes to draw an atom by flips: all its terms are counted, and what it does to each hidden atom it bears on."""
    flip = A_FLIP + sum(_term_cost(term, universe) for terms in by_channel.values() for term in terms)
    for hit in found:
        kinds = universe.predicates[hit.hidden]
        anything = [universe.sizes[kind] for kind, source in zip(kinds, hit.sources, strict=True) if source is None]
        flip += math.prod(anything) * _term_cost(hit.term, universe)
    return Work(0.0, 0.0, AN_ATOM + FLIPS_AN_ATOM * flip)


def _term_cost(term: Term, universe: Universe) -> float:
    size = {FREE + at: universe.sizes[kind] for at, kind in enumerate(term.types)}
    roots = [loops(part, term.factors, term.masks, Sizes(size, universe)) for part in components(term)]
    return A_TEST * (1 + len(term.factors)) + sum(A_TEST + root.cost for root in roots)


class _PredicatePlan:
    """The row program of one predicate."""

    def __init__(self, planner: RowPlanner, predicate: str) -> None:
        self._assembler, self._universe, self._tables = planner.assembler, planner.universe, planner.tables
        self._predicate = predicate
        self._kinds = self._universe.predicates[predicate]
        self._arity = len(self._kinds)
        self._last = self._arity - 1
        self._instructions = Instructions(self._assembler, predicate, self._arity)
        self._groups: dict[tuple[int, tuple[Operand, ...]], list[tuple[int, int]]] = {}
        self._columns: dict[tuple[Operand, ...], int] = {}
        self._special: set[int] = set()
        self.has_own_columns = False
        self.special_begin = self.point_begin = -1
        self.diagonal = (0, 0)
        self._live_cost = 0.0
        self._n_vectors = 0

    def plan(self, by_channel: Mapping[int, Terms], first_term: int) -> Work:
        diagonal = {0} if self._arity == 2 and self._kinds[0] == self._kinds[1] else set()
        points: dict[int, list[int]] = {}
        number = first_term
        for channel, terms in by_channel.items():
            plain: Terms = {}
            for term, weight in terms.items():
                at_last = [argument for slot, argument in term.condition if slot == self._last]
                if any(argument >= 0 for argument in at_last):
                    diagonal.update(argument for argument in at_last if argument >= 0)
                elif at_last:
                    points.setdefault(self._universe.number(at_last[0], self._kinds[-1]), []).append(number)
                    self._live_cost += _term_cost(term, self._universe) / self._universe.sizes[self._kinds[-1]]
                else:
                    plain[term] = weight
                number += 1
            plain = positive_form(plain, self._universe)
            if self._arity == 2:
                plain = split_rows(plain, self._predicate, self._universe)
            for term, weight in plain.items():
                self._add(term, weight, channel)
        self.diagonal = self._tables.listed(sorted(diagonal))
        self._finish(points)
        return self._work()

    def _is_live(self, factor: Factor) -> bool:
        if factor.predicate != self._predicate:
            return False
        return self._arity != 2 or factor.args[0] == 0

    def _add(self, term: Term, weight: float, channel: int) -> None:
        """Divide a term into the row's part and the atom's."""
        universe, instructions, last = self._universe, self._instructions, self._last
        for factor in term.factors:
            if factor.predicate == self._predicate and self._arity == 2 and factor.args[0] < 0:
                self._special.add(universe.number(factor.args[0], self._kinds[0]))
        size = {FREE + at: universe.sizes[kind] for at, kind in enumerate(term.types)}
        size[last] = universe.sizes[self._kinds[-1]]
        bound = [factor for factor in term.factors if not free_of(factor.args)]
        row_tests = [f for f in bound if last not in f.args and not self._is_live(f)]
        along = [f for f in bound if last in f.args and not self._is_live(f)]
        atom_tests = [f for f in bound if self._is_live(f)]
        row_numbers: list[int] = []
        vectors: list[Vector] = []
        roots: list[Loop] = []
        for variables in components(term):
            own = tuple(f for f in term.factors if not free_of(f.args).isdisjoint(variables))
            masks = tuple(mask for mask in term.masks if mask[0] in variables)
            part = Part(variables, own, masks, size)
            is_live, at_last = any(map(self._is_live, own)), any(last in f.args for f in own)
            is_tree = part.is_tree(last)
            if is_live or (at_last and not is_tree):
                roots.append(loops(variables, own, masks, Sizes(size, universe)))
            elif at_last:
                vectors.append(instructions.vector_at_end(part))
            elif is_tree:
                root = variables[0]
                row_numbers.append(instructions.number(instructions.message(part, root), size[root]))
            else:
                row_numbers.append(instructions.nested(loops(variables, own, masks, Sizes(size, universe))))
        number = self._row_term(term, weight, channel, row_tests, row_numbers)
        if atom_tests or roots:
            self._add_live(number, [*along, *atom_tests], vectors, roots)
        elif vectors:
            vector = vectors[0]
            for other in vectors[1:]:
                vector = instructions.product(vector, other, size[last])
            if along:
                vector = instructions.masked(vector, instructions.bits(along, last, (), size[last]), size[last])
            self._tables.vector.append((number, vector.register))
            self._n_vectors += 1
        else:
            self._add_to_group(number, channel, along)

    def _row_term(self, term: Term, weight: float, channel: int, factors: Sequence[Factor], registers: Sequence[int]) -> int:
        tables = self._tables
        tests = self._assembler.tests(factors, self._arity)
        conditions = self._assembler.conditions(term.condition, self._kinds)
        tables.weight.append(weight)
        tables.term.append((channel, *tests, *tables.listed(registers), *conditions))
        return len(tables.term) - 1

    def _add_live(self, number: int, tests: Sequence[Factor], vectors: Sequence[Vector], roots: Sequence[Loop]) -> None:
        tables = self._tables
        ordered = sorted(roots, key=lambda root: root.cost)
        own = tables.listed([self._assembler.loop(root, self._arity) for root in ordered])
        at = tables.listed([vector.register for vector in vectors])
        tables.live.append((number, *self._assembler.tests(tests, self._arity), *at, *own))
        self._live_cost += A_TEST * (1 + len(tests)) + sum(A_TEST + root.cost for root in roots)

    def _add_to_group(self, number: int, channel: int, along: Sequence[Factor]) -> None:
        """Terms that request the same bits that depend on the row stand together; other bits along the row are columns."""
        views, last = self._assembler.views, self._last
        depends = [f for f in along if any(0 <= arg < last for arg in f.args)]
        fixed = [f for f in along if f not in depends]
        column = -1
        if fixed:
            rows = tuple(sorted(views.row(factor, last) for factor in fixed))
            column = self._columns.setdefault(rows, len(self._columns))
            self.has_own_columns |= any(factor.predicate == self._predicate for factor in fixed)
        key = channel, tuple(sorted(views.row(factor, last) for factor in depends))
        self._groups.setdefault(key, []).append((number, column))

    def _finish(self, points: Mapping[int, Sequence[int]]) -> None:
        tables, own = self._tables, self._instructions
        tables.instruction += [(*found, int(once)) for found, once in zip(own.found, own.is_once, strict=True)]
        for (channel, rows), entries in self._groups.items():
            begin = len(tables.entry)
            tables.entry += entries
            tables.group.append((*self._assembler.operands(rows, self._arity), begin, len(tables.entry), channel))
        tables.column += [self._assembler.operands(rows, self._arity) for rows in self._columns]
        tables.most_columns = max(tables.most_columns, len(self._columns))
        tables.most_registers = [max(pair) for pair in zip(tables.most_registers, own.used, strict=True)]
        if self._special:
            size = self._universe.sizes[self._kinds[0]]
            self.special_begin, _ = tables.listed([int(row in self._special) for row in range(size)])
        if points:
            values = range(self._universe.sizes[self._kinds[-1]])
            begin = len(tables.item) + len(values) + 1
            starts = [begin + sum(len(points.get(value, ())) for value in values[:at]) for at in range(len(values) + 1)]
            self.point_begin, _ = tables.listed(starts)
            tables.listed([term for value in values for term in points.get(value, ())])

    def _work(self) -> Work:
        own = self._instructions
        width = self._universe.sizes[self._kinds[-1]]
        tables = -(-len(self._columns) // 8)
        once = sum(cost for cost, is_once in zip(own.cost, own.is_once, strict=True) if is_once)
        row = sum(cost for cost, is_once in zip(own.cost, own.is_once, strict=True) if not is_once)
        for _, rows in self._groups:
            row += A_CELL * width * (max(tables, 1) + (0.5 if rows else 0.0))
        row += A_CELL * width * self._n_vectors
        row += len(self._columns) * width if self.has_own_columns else 0.0
        return Work(once + len(self._columns) * width, row, AN_ATOM + self._live_cost)
