"""Which profiles need counts of their own: those with equal pair weights are one *kind*, and kinds that nothing ties are apart.

Z = Σ over counts K of kinds, coefficient(K) · ∏_{s<t} r_st^{K_s K_t} · ∏_s r_ss^{K_s(K_s−1)/2}, where the coefficient of K in
∏_classes (Σ_s w_s z_s)^n gathers the multinomials of all evidence classes (papers.md 3.1). Three things make the sum small:

- log r_ab = u_a + v_b + c needs no counts: u and v go to the weights of single objects, c to log Z;
- profiles with equal rows of r are one kind, and classes with proportional weights of kinds are one *lump*;
- lumps that no r ties together are summed apart.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from markovlogic.methods.lifted.cells.cell_factors import Factor
from markovlogic.methods.lifted.cells.cell_layout import falsified
from markovlogic.methods.lifted.cells.cell_tables import Tables
from markovlogic.methods.lifted.cells.numbers import Numbers, Scalar, Values
from markovlogic.system.arrays import Bool, Int64, each_once


@dataclass(frozen=True, eq=False)
class Lump:
    """Classes whose objects fall into kinds in the same proportions."""

    classes: tuple[int, ...]
    size: int  # objects in all of them
    weight: Values  # (n_kinds of the component,) of one object; 0 where it cannot be of that kind


@dataclass(frozen=True, eq=False)
class CountTerm:
    """A clause over counts: its weight, and for each of its variables which kinds falsify the literals about it."""

    weight: float
    sides: Bool  # (n_variables, n_kinds of the component)
    apart: tuple[tuple[int, int], ...]


@dataclass(frozen=True, eq=False)
class Component:
    """Lumps that pair weights or counts tie together, over kinds numbered from 0."""

    kinds: Int64  # their numbers among all
    lumps: tuple[Lump, ...]
    pair: Values  # (n_kinds, n_kinds)
    ones: Bool  # (n_kinds, n_kinds) where the pair weight is 1
    terms: tuple[CountTerm, ...]


@dataclass(frozen=True, eq=False)
class Merged:
    """The whole sum: a constant times the product of its components."""

    constant: Values  # one value, of shape ()
    components: tuple[Component, ...]
    component_of: Int64  # of each class
    lump_of: Int64  # of each class, within its component
    kind: Int64  # of each profile, numbered within the component of its class
    adjust: Values  # of each profile: what its cells' weights are multiplied by, so that they are in the units of their lump


def merged(tables: Tables) -> Merged:
    """Find kinds, lumps and components."""
    numbers, start = tables.numbers, tables.start
    sizes = np.array([len(own) for own in tables.layout.objects.classes], np.int64)
    class_of = np.repeat(np.arange(len(sizes)), np.diff(start))
    pair, adjust, constant, name = _centred(tables, sizes)
    sides = [_sides(tables, factor) for factor in tables.count]
    kind, first = _alike(np.concatenate([name, *(part.T.astype(np.int64) for part in sides)], axis=1))
    square = np.ix_(first, first)
    pair, ones, features = pair[square], name[square] == 0, [part[:, first] for part in sides]
    may = np.zeros((len(sizes), len(first)), np.bool_)
    may[class_of, kind] = True
    weight = numbers.zeros(may.shape)
    for at, own in enumerate(tables.cells):
        for cell, value in zip((start[at] + own.profile).tolist(), own.weight.tolist(), strict=True):
            value = numbers.times(value, adjust[cell])
            weight[at, kind[cell]] = numbers.plus(weight[at, kind[cell]], value)
    label = _tied_classes(may, ones, features)
    components, component_of, lump_of = [], np.zeros(len(sizes), np.int64), np.zeros(len(sizes), np.int64)
    place = np.zeros(len(kind), np.int64)
    for number, root in enumerate(each_once(label)):
        classes = np.flatnonzero(label == root)
        kinds = np.flatnonzero(may[classes].any(axis=0))
        lumps, of, units = _lumps(numbers, classes, sizes, weight[np.ix_(classes, kinds)])
        for unit, class_ in zip(units, classes, strict=True):
            own_profiles = class_of == class_
            place[own_profiles] = np.searchsorted(kinds, kind[own_profiles])
            adjust[own_profiles] = numbers.over(adjust[own_profiles], unit)
            constant = numbers.times(constant, numbers.power(unit, sizes[class_ : class_ + 1]))
        component_of[classes], lump_of[classes] = number, of
        terms = [
            CountTerm(factor.weight, part[:, kinds], factor.apart)
            for factor, part in zip(tables.count, features, strict=True)
            if part[:, kinds].any()
        ]
        square = np.ix_(kinds, kinds)
        components.append(Component(kinds, lumps, pair[square], ones[square], tuple(terms)))
    return Merged(constant[0], tuple(components), component_of, lump_of, place, adjust)


def _centred(tables: Tables, sizes: Int64) -> tuple[Values, Values, Values, Int64]:
    """Pair weights of all profiles, without c·u_a·v_b in every block that has no 0.

    Gives what is left, what the weights of profiles are multiplied by, the product of the c's, and names of what is left.
    """
    numbers, start, anchors = tables.numbers, tables.start, _Anchors(tables)
    pair, adjust, constant = numbers.ones((int(start[-1]),) * 2), numbers.ones((int(start[-1]),)), numbers.ones((1,))
    largest = 0.0
    for one, other in itertools.combinations_with_replacement(range(len(sizes)), 2):
        rows, columns = slice(start[one], start[one + 1]), slice(start[other], start[other + 1])
        block, reference = anchors.block(one, other)
        if block is None:
            continue
        if reference is not None:
            largest = max(largest, *(abs(numbers.log(value)) for value in (block.max(), block.min())))
            c, u, v = reference
            block = numbers.over(block, numbers.times(c, numbers.times(u[:, None], v[None, :])))
            times, pairs = int(sizes[one]) - (one == other), int(sizes[one] * sizes[other])
            adjust[columns] = numbers.times(adjust[columns], _powers(numbers, v, times))
            if one != other:
                adjust[rows] = numbers.times(adjust[rows], _powers(numbers, u, int(sizes[other])))
            else:
                pairs = int(sizes[one]) * times // 2
            constant = numbers.times(constant, numbers.power(c, np.array([pairs], np.int64)))
        pair[rows, columns], pair[columns, rows] = block, block.T
    name = numbers.names(pair, largest)
    pair[name == 0] = numbers.ones((1,))[0]
    return pair, adjust, constant, name


class _Anchors:
    """One class of each type that shows most profiles: blocks of other classes are divided by the same c, u and v as its own.

    Then profiles that look alike stay alike, whatever is known of the classes they occur in.
    """

    def __init__(self, tables: Tables) -> None:
        self.tables, classes = tables, tables.layout.objects.classes
        anchor: dict[str, int] = {}
        for at in sorted(range(len(classes)), key=lambda at: (len(classes[at]) < 2, -len(tables.cells[at].profile_truth))):
            anchor.setdefault(classes[at].type_name, at)
        self.anchor = [anchor[own.type_name] for own in classes]
        known = {at: {row.tobytes(): i for i, row in enumerate(tables.cells[at].profile_truth)} for at in anchor.values()}
        found = [
            [known[self.anchor[at]].get(row.tobytes(), -1) for row in own.profile_truth] for at, own in enumerate(tables.cells)
        ]
        self.place = [np.array(places, np.int64) if -1 not in places else None for places in found]

    def block(self, one: int, other: int) -> tuple[Values | None, tuple[Scalar, Values, Values] | None]:
        """The pair weights of two classes, and c, u, v to divide them by; None where there are none.

        Two objects of a class of one do not exist: their block is filled so that its profiles look like the anchor's.
        """
        numbers, table = self.tables.numbers, self.tables.pairs.get((one, other))
        there = self._there(one, other)
        if table is None:
            if there is None:
                return None, None
            whole, rows, columns = there
            reference = self._reference(whole)
            if reference is None:
                return whole[np.ix_(rows, columns)], None
            c, u, v = reference
            return numbers.over(whole, numbers.times(c, numbers.times(u[:, None], v[None, :])))[np.ix_(rows, columns)], None
        if there is not None:
            whole, rows, columns = there
            if bool(np.all(whole[np.ix_(rows, columns)] == table.weight)):
                reference = self._reference(whole)
                return table.weight, None if reference is None else (reference[0], reference[1][rows], reference[2][columns])
        return table.weight, self._reference(table.weight)

    def _there(self, one: int, other: int) -> tuple[Values, Int64, Int64] | None:
        """The anchors' own block, and where the profiles of the two classes stand in it."""
        rows, columns, at = self.place[one], self.place[other], (self.anchor[one], self.anchor[other])
        if rows is None or columns is None:
            return None
        table = self.tables.pairs.get((min(at), max(at)))
        if table is None:
            return None
        return (table.weight if at[0] <= at[1] else table.weight.T), rows, columns

    def _reference(self, whole: Values) -> tuple[Scalar, Values, Values] | None:
        numbers = self.tables.numbers
        if numbers.is_zero(whole).any():
            return None
        return whole[0, 0], numbers.over(whole[:, 0], whole[0, 0]), numbers.over(whole[0, :], whole[0, 0])


def _powers(numbers: Numbers, values: Values, power: int) -> Values:
    """Many numbers to one power."""
    made = numbers.ones(values.shape)
    for at, value in enumerate(values.tolist()):
        made[at] = numbers.power(value, np.array([power], np.int64))[0]
    return made


def _sides(tables: Tables, factor: Factor) -> Bool:
    """For each variable of a clause over counts, the profiles that falsify its literals, (n_variables, n_profiles)."""
    layout, start = tables.layout, tables.start
    found = np.zeros((len(factor.types), int(start[-1])), np.bool_)
    for at, side in enumerate(factor.sides):
        for class_, own in enumerate(tables.cells):
            if layout.fits(factor, at, class_):
                found[at, start[class_] : start[class_ + 1]] = falsified(own.profile_truth, layout.column, factor.types[at], side)
    return found


def _alike(rows: Int64) -> tuple[Int64, Int64]:
    """A number for each row, equal ones for equal rows; and the first row of each."""
    if not len(rows):
        return np.zeros(0, np.int64), np.zeros(0, np.int64)
    _, first, inverse = np.unique(rows, axis=0, return_index=True, return_inverse=True)
    return inverse.reshape(-1).astype(np.int64), first.astype(np.int64)


def _tied_classes(may: Bool, ones: Bool, features: Sequence[Bool]) -> Int64:
    """Classes by component: tied where a pair weight is not 1, or where counts of both enter one clause."""
    number = may.astype(np.int64)
    ties: Bool = np.greater(number @ (~ones).astype(np.int64) @ number.T, 0)
    for part in features:
        in_term: Bool = np.any(may & np.any(part, axis=0, keepdims=True), axis=1)
        ties = ties | np.outer(in_term, in_term)
    label = np.arange(len(may))
    while True:
        smaller = np.array([label[row].min(initial=at) for at, row in enumerate(ties)], np.int64)
        smaller = np.minimum(smaller, label)
        if (smaller == label).all():
            return label
        label = smaller


def _lumps(numbers: Numbers, classes: Int64, sizes: Int64, weight: Values) -> tuple[tuple[Lump, ...], Int64, list[Scalar]]:
    """Classes with proportional weights of kinds together; and the unit in which each class is weighed."""
    units = [numbers.unit(row) for row in weight]
    rows = np.array([numbers.over(row, unit) for row, unit in zip(weight, units, strict=True)], dtype=weight.dtype)
    lump, first = _alike(numbers.names(rows, max((abs(numbers.log(numbers.size(unit))) for unit in units), default=0.0)))
    made = []
    for number, at in enumerate(first):
        own = classes[lump == number]
        made.append(Lump(tuple(own.tolist()), int(sizes[own].sum()), rows[at]))
    return tuple(made), lump, units
