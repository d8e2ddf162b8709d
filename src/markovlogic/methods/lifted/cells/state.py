"""One assignment of the 0-ary atoms, and the sum over everything else under it, with objects pinned to kinds where requested."""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import cached_property

import numpy as np

from markovlogic.data.evidence import FALSE, UNKNOWN
from markovlogic.methods.lifted.cells.cell_layout import Layout
from markovlogic.methods.lifted.cells.cell_merging import Merged, merged
from markovlogic.methods.lifted.cells.cell_tables import Given, Tables, live, tables_of
from markovlogic.methods.lifted.cells.clauses import Key, TooLarge
from markovlogic.methods.lifted.cells.closed import cheapest
from markovlogic.methods.lifted.cells.numbers import Numbers, Scalar, Values
from markovlogic.system import cancellation
from markovlogic.system.arrays import Int64, each_once

MOST_NULLARY = 10  # open 0-ary atoms


class State:
    """The sum under one assignment of the 0-ary atoms."""

    def __init__(self, tables: Tables, given: Given, weight: Scalar) -> None:
        self.numbers, self.tables, self.given = tables.numbers, tables, given
        self.merged: Merged = merged(tables)
        self.sums = [cheapest(self.numbers, component) for component in self.merged.components]
        self.outside = self.numbers.times(weight, self.merged.constant)
        self.unit = self.numbers.ones(())[()]  # sums are reported in it: large constants would cost digits of ratios

    @cached_property
    def total(self) -> Scalar:
        """The whole sum."""
        return self.pinned(())

    def pinned(self, objects: tuple[tuple[int, int], ...]) -> Scalar:
        """The sum with different objects, given by class and kind, pinned: each with weight 1."""
        cancellation.check()
        found = self.numbers.over(self.outside, self.unit)
        for number, sums in enumerate(self.sums):
            own = [(int(self.merged.lump_of[c]), kind) for c, kind in objects if self.merged.component_of[c] == number]
            found = self.numbers.times(found, sums.value(tuple(own)))
        return found

    @cached_property
    def cell_weights(self) -> list[Values]:
        """For each class the weights of its cells in the units of its lump."""
        start = self.tables.start
        return [
            self.numbers.times(own.weight, self.merged.adjust[start[at] + own.profile])
            for at, own in enumerate(self.tables.cells)
        ]

    def kinds(self, class_: int) -> Int64:
        """The kind of each profile of a class."""
        start = self.tables.start
        return self.merged.kind[start[class_] : start[class_ + 1]]

    def profile_weights(self, class_: int) -> Values:
        """The weights of the profiles of a class, in the units of its lump."""
        own, weight = self.tables.cells[class_], self.cell_weights[class_]
        made = self.numbers.zeros((len(own.profile_truth),))
        for at in range(len(made)):
            made[at] = self.numbers.total(weight[own.profile == at])
        return made

    def unary(self, class_: int, column: int) -> Scalar:
        """The part of the sum in which an atom about one object of a class holds."""
        own, numbers = self.tables.cells[class_], self.numbers
        kind = self.kinds(class_)[own.profile]
        found = numbers.zeros((1,))[0]
        for one in each_once(kind[own.truth[:, column]]):
            weight = numbers.total(self.cell_weights[class_][(kind == one) & own.truth[:, column]])
            found = numbers.plus(found, numbers.times(weight, self.pinned(((class_, int(one)),))))
        return found

    def binary(self, classes: tuple[int, int], key: Key, swapped: bool) -> Scalar:
        """The part of the sum in which an open binary atom of two different objects holds; the first class is not the larger."""
        numbers, table = self.numbers, self.tables.pairs[classes]
        part = next(part for part in table.parts if (key, swapped) in part.links)
        chance = numbers.over(part.true(part.links.index((key, swapped)), numbers), part.total)
        one, other = (self.profile_weights(at) for at in classes)
        weight = numbers.times(numbers.times(one[:, None], other[None, :]), chance)
        kinds = [self.kinds(at) for at in classes]
        found = numbers.zeros((1,))[0]
        for first in each_once(kinds[0]):
            for second in each_once(kinds[1]):
                own = numbers.total(weight[np.ix_(kinds[0] == first, kinds[1] == second)])
                pins = ((classes[0], int(first)), (classes[1], int(second)))
                found = numbers.plus(found, numbers.times(own, self.pinned(pins)))
        return found


def states_of(layout: Layout, numbers: Numbers) -> Iterator[State]:
    """One state for each assignment of the 0-ary atoms that nothing forbids."""
    for given, minus in _assignments(layout):
        cancellation.check()
        weight = numbers.no_exponents((1,))
        factors = live(layout.factors.nullary, given)
        if any(math.isinf(factor.weight) for factor in factors):
            continue
        for factor in factors:
            weight = weight - numbers.exponent(factor.weight)
        tables = tables_of(layout, given, numbers)
        if tables is not None:
            value = numbers.exp(weight, np.zeros(1, np.bool_), np.array([minus]))
            yield State(tables, given, value[0])


def _assignments(layout: Layout) -> Iterator[tuple[Given, bool]]:
    """Assignments of the 0-ary atoms that agree with what is known and exclusive arguments; and whether they count negative."""
    keys = sorted(key for key in layout.factors.keys if not key.open_positions)
    status = {key: layout.objects.status(key) for key in keys}
    free = [key for key in keys if status[key] == UNKNOWN]
    if len(free) > MOST_NULLARY:
        raise TooLarge(f"{len(free)} atoms without objects are open, more than {MOST_NULLARY}")
    groups = [group for group in layout.factors.groups if not group[0].open_positions]
    skolem = layout.objects.flat.skolem
    for index in range(1 << len(free)):
        given = {key: bool(index >> at & 1) for at, key in enumerate(free)}
        given |= {key: status[key] != FALSE for key in keys if key not in given}
        if all(sum(given[key] for key in group) == 1 for group in groups):
            yield given, sum(not given[key] for key in free if key.predicate in skolem) % 2 == 1
