"""Which profiles need counts of their own: those with equal pair weights are one *kind*, and kinds that nothing ties are apart.

Z = Σ over counts K of kinds, coefficient(K) · ∏_{s<t} r_st^{K_s K_t} · ∏_s r_ss^{K_s(K_s−1)/2}, where the coefficient of K in
∏_classes (Σ_s w_s z_s)^n gathers the multinomials of all evidence classes (ALGORITHMS.md 3.1). Three things make the sum small:

- log r_ab = u_a + v_b + c needs no counts: u and v go to the weights of single objects, c to log Z;
- profiles with equal rows of r are one kind, and classes with proportional weights of kinds are one *lump*;
- lumps that no r ties together are summed apart.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from markovlogic.arrays import Bool, Float64, Int64
from markovlogic.lifted.cells.factors import Factor
from markovlogic.lifted.cells.layout import falsified
from markovlogic.lifted.cells.numbers import Logarithms, Numbers, Values
from markovlogic.lifted.cells.tables import Tables

SAME = 16 * float(np.finfo(np.float64).eps)  # relative; below it two sums of the same numbers in another order may differ


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
    weight = np.concatenate([_profile_weights(numbers, own.weight, own.profile) for own in tables.cells] or [numbers.ones((0,))])
    pair, exponents = _pair_matrix(tables)
    constant, adjust = numbers.ones((1,)), numbers.ones(weight.shape)
    if isinstance(numbers, Logarithms):
        exponents, adjust, shift = _centred(exponents, start, sizes)
        weight, pair, constant = weight + adjust, exponents, np.array([shift])
    sides = [_sides(tables, factor) for factor in tables.count]
    kind, first = _kinds(np.concatenate([exponents, *(part.T.astype(np.float64) for part in sides)], axis=1))
    pair, exponents = pair[np.ix_(first, first)], exponents[np.ix_(first, first)]
    features = [part[:, first] for part in sides]
    n_kinds = len(first)
    by_class = numbers.zeros((len(sizes), n_kinds))
    for profile in range(len(kind)):
        row, column = class_of[profile], kind[profile]
        by_class[row, column] = numbers.plus(by_class[row, column], weight[profile])
    may = np.zeros((len(sizes), n_kinds), np.bool_)
    may[class_of, kind] = True
    label = _tied_classes(may, exponents, features)
    components, component_of, lump_of = [], np.zeros(len(sizes), np.int64), np.zeros(len(sizes), np.int64)
    place = np.zeros(len(kind), np.int64)
    for number, root in enumerate(np.unique(label)):
        classes = np.flatnonzero(label == root)
        kinds = np.flatnonzero(may[classes].any(axis=0))
        lumps, of, scale = _lumps(numbers, classes, sizes, by_class[np.ix_(classes, kinds)])
        for at, class_ in enumerate(classes):
            own = class_of == class_
            place[own] = np.searchsorted(kinds, kind[own])
            adjust[own] = numbers.over(adjust[own], scale[at])
            constant = numbers.times(constant, numbers.power(scale[at], sizes[class_ : class_ + 1]))
        component_of[classes], lump_of[classes] = number, of
        terms = [
            CountTerm(factor.weight, part[:, kinds], factor.apart)
            for factor, part in zip(tables.count, features, strict=True)
            if part[:, kinds].any()
        ]
        square = np.ix_(kinds, kinds)
        components.append(Component(kinds, lumps, pair[square], exponents[square] == 0, tuple(terms)))
    return Merged(constant[0], tuple(components), component_of, lump_of, place, adjust)


def _profile_weights(numbers: Numbers, weight: Values, profile: Int64) -> Values:
    """The sum of the cells of each profile."""
    return np.array(
        [numbers.total(weight[profile == at]) for at in range(int(profile.max()) + 1)],
        dtype=np.float64 if isinstance(numbers, Logarithms) else object,
    )


def _pair_matrix(tables: Tables) -> tuple[Values, Float64]:
    """Pair weights of all profiles, and their logarithms as floats, by which kinds are told."""
    numbers, start = tables.numbers, tables.start
    pair = numbers.ones((int(start[-1]), int(start[-1])))
    for (one, other), table in tables.pairs.items():
        rows, columns = slice(start[one], start[one + 1]), slice(start[other], start[other + 1])
        pair[rows, columns] = table.weight
        pair[columns, rows] = table.weight.T
    if isinstance(numbers, Logarithms):
        return pair, pair
    distinct = {value: numbers.log(value) for value in set(pair.ravel().tolist())}
    logs = np.array([distinct[value] for value in pair.ravel().tolist()], np.float64).reshape(pair.shape)
    return pair, logs


def _centred(exponents: Float64, start: Int64, sizes: Int64) -> tuple[Float64, Float64, float]:
    """Move u_a + v_b + c out of every finite block of log r; gives what is left, what weights gain, and the constants' sum."""
    left, weight, shift = exponents.copy(), np.zeros(len(exponents)), 0.0
    for one, other in itertools.combinations_with_replacement(range(len(sizes)), 2):
        rows, columns = slice(start[one], start[one + 1]), slice(start[other], start[other + 1])
        block = exponents[rows, columns]
        if (one == other and sizes[one] == 1) or not np.isfinite(block).all():
            continue
        c, u, v = block[0, 0], block[:, 0] - block[0, 0], block[0, :] - block[0, 0]
        rest = block - c - u[:, None] - v[None, :]
        rest[np.abs(rest) <= SAME * max(1.0, float(np.abs(block).max()))] = 0.0
        left[rows, columns], left[columns, rows] = rest, rest.T
        if one == other:
            weight[rows] += u * (sizes[one] - 1)
            shift += c * (sizes[one] * (sizes[one] - 1) // 2)
        else:
            weight[rows] += u * sizes[other]
            weight[columns] += v * sizes[one]
            shift += c * (sizes[one] * sizes[other])
    return left, weight, float(shift)


def _sides(tables: Tables, factor: Factor) -> Bool:
    """For each variable of a clause over counts, the profiles that falsify all that it says of it, (n_variables, n_profiles)."""
    layout, start = tables.layout, tables.start
    found = np.zeros((len(factor.types), int(start[-1])), np.bool_)
    for at, side in enumerate(factor.sides):
        for class_, own in enumerate(tables.cells):
            if layout.fits(factor, at, class_):
                found[at, start[class_] : start[class_ + 1]] = falsified(own.profile_truth, layout.column, factor.types[at], side)
    return found


def _kinds(rows: Float64) -> tuple[Int64, Int64]:
    """The kind of each row, and the first row of each kind; rows agree where they differ by rounding alone."""
    finite = rows[np.isfinite(rows)]
    tolerance = SAME * max(1.0, float(np.abs(finite).max(initial=0.0)))
    kind = np.full(len(rows), -1, np.int64)
    first: list[int] = []
    with np.errstate(invalid="ignore"):
        while (kind < 0).any():
            row = int(np.argmax(kind < 0))
            same = ((rows == rows[row]) | (np.abs(rows - rows[row]) <= tolerance)).all(axis=1) & (kind < 0)
            kind[same] = len(first)
            first.append(row)
    return kind, np.array(first, np.int64)


def _tied_classes(may: Bool, exponents: Float64, features: Sequence[Bool]) -> Int64:
    """Classes by component: tied where a pair weight is not 1, or where counts of both enter one clause."""
    number = may.astype(np.int64)
    ties: Bool = np.greater(number @ (exponents != 0).astype(np.int64) @ number.T, 0)
    for part in features:
        in_term = (may & part.any(axis=0)[None, :]).any(axis=1)
        ties = ties | np.outer(in_term, in_term)
    label = np.arange(len(may))
    while True:
        smaller = np.array([label[row].min(initial=at) for at, row in enumerate(ties)], np.int64)
        smaller = np.minimum(smaller, label)
        if (smaller == label).all():
            return label
        label = smaller


def _lumps(numbers: Numbers, classes: Int64, sizes: Int64, weight: Values) -> tuple[tuple[Lump, ...], Int64, list[Any]]:
    """Classes with proportional weights of kinds together; and the unit in which each class is weighed."""
    scale: list[Any] = []
    rows = []
    for row in weight:
        unit = numbers.ones((1,))[0]
        if isinstance(numbers, Logarithms):
            unit = float(row.max())
            row = row - unit if np.isfinite(unit) else row
            unit = unit if np.isfinite(unit) else 0.0
        scale.append(unit)
        rows.append(row)
    if isinstance(numbers, Logarithms):
        lump, first = _kinds(np.array(rows))
    else:
        known: dict[tuple[object, ...], int] = {}
        lump = np.array([known.setdefault(tuple(row.tolist()), len(known)) for row in rows], np.int64)
        first = np.unique(lump, return_index=True)[1]
    made = []
    for number, at in enumerate(first):
        own = classes[lump == number]
        made.append(Lump(tuple(own.tolist()), int(sizes[own].sum()), rows[at]))
    return tuple(made), lump, scale
