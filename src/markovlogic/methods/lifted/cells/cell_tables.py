"""Cells of every class of objects with their weights, and the weights of pairs: all that the sums need, given the 0-ary atoms.

A cell is a truth vector of one object's unary and reflexive atoms. What pairs see of a cell (the atoms that clauses about two
objects, or counts, mention) is its *profile*.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from markovlogic.data.evidence import TRUE, UNKNOWN
from markovlogic.methods.lifted.cells.cell_factors import Factor
from markovlogic.methods.lifted.cells.cell_layout import Layout, falsified
from markovlogic.methods.lifted.cells.clauses import Key, TooLarge
from markovlogic.methods.lifted.cells.numbers import Numbers, Values
from markovlogic.methods.lifted.cells.pairs import PairTable, pair_table
from markovlogic.system.arrays import Bool, Int64

MOST_CELLS = 1 << 14  # of one class
MOST_PROFILES = 1500  # of all classes together

Given = Mapping[Key, bool]  # truth of the 0-ary atoms


@dataclass(frozen=True, eq=False)
class Cells:
    """The cells of one class that are possible, and what pairs see of them."""

    truth: Bool  # (n_cells, n_keys of the type)
    weight: Values  # (n_cells,)
    profile: Int64  # (n_cells,)
    profile_truth: Bool  # (n_profiles, n_keys of the type); what pairs do not see is False


@dataclass(frozen=True, eq=False)
class Tables:
    """Cells of every class and pair tables of every two, given the 0-ary atoms."""

    numbers: Numbers
    layout: Layout
    cells: tuple[Cells, ...]
    pairs: Mapping[tuple[int, int], PairTable] = field(repr=False)  # first class <= second class
    count: tuple[Factor, ...] = ()  # what clauses over counts are left

    @cached_property
    def start(self) -> Int64:
        """Where the profiles of each class begin among all."""
        return np.cumsum([0, *(len(own.profile_truth) for own in self.cells)])


def live(factors: Sequence[Factor], given: Given) -> list[Factor]:
    """Factors that the 0-ary atoms leave."""
    return [factor for factor in factors if all(given[key] != positive for key, positive in factor.nullary)]


def tables_of(layout: Layout, given: Given, numbers: Numbers) -> Tables | None:
    """All tables; None where a class has no possible cell."""
    single, pair = live(layout.factors.single, given), live(layout.factors.pair, given)
    cells = []
    for at in range(len(layout.objects.classes)):
        own = cells_of(layout, single, at, numbers)
        if not len(own.weight):
            return None
        cells.append(own)
    if sum(len(own.profile_truth) for own in cells) > MOST_PROFILES:
        raise TooLarge(f"more than {MOST_PROFILES:,} kinds of objects that rules about two objects distinguish")
    sizes = [len(own) for own in layout.objects.classes]
    made: dict[object, PairTable] = {}
    pairs = {}
    for one, other in itertools.combinations_with_replacement(range(len(cells)), 2):
        if one == other and sizes[one] == 1:
            continue
        name = _signature(layout, cells, one, other)
        if name not in made:
            made[name] = pair_table(layout, pair, (one, other), (cells[one].profile_truth, cells[other].profile_truth), numbers)
        pairs[one, other] = made[name]
    return Tables(numbers, layout, tuple(cells), pairs, tuple(live(layout.factors.count, given)))


def _signature(layout: Layout, cells: Sequence[Cells], one: int, other: int) -> object:
    """Pairs of classes with equal signatures have equal tables."""
    known = tuple((int(status[one, other]), int(status[other, one])) for status in layout.link_status.values())
    sides = tuple(
        (layout.objects.classes[at].type_name, cells[at].profile_truth.tobytes(), at if at in layout.pins else -1)
        for at in (one, other)
    )
    return sides, known


def cells_of(layout: Layout, single: Sequence[Factor], class_: int, numbers: Numbers) -> Cells:
    """Every truth vector that evidence, exclusive arguments and hard clauses about one object allow."""
    objects = layout.objects
    of = objects.classes[class_].type_name
    keys = layout.single[of]
    status = {
        key: objects.status(key, class_) if len(key.open_positions) == 1 else objects.reflexive(key, class_) for key in keys
    }
    truth = _vectors(layout, of, status)
    exponents, impossible = numbers.no_exponents((len(truth),)), np.zeros(len(truth), np.bool_)
    for factor in single:
        if layout.fits(factor, 0, class_):
            mask = falsified(truth, layout.column, of, factor.sides[0])
            if math.isinf(factor.weight):
                impossible |= mask
            else:
                exponents = exponents - mask * numbers.exponent(factor.weight)
    minus = np.zeros(len(truth), np.bool_)
    for at, key in enumerate(keys):
        if key.predicate in objects.flat.skolem:
            minus ^= ~truth[:, at]
    truth, exponents, minus = truth[~impossible], exponents[~impossible], minus[~impossible]
    weight = numbers.exp(exponents, np.zeros(len(truth), np.bool_), minus)
    profiles, profile = np.unique(truth & layout.seen[of], axis=0, return_inverse=True)
    return Cells(truth, weight, profile.reshape(-1).astype(np.int64), profiles)


def _vectors(layout: Layout, of: str, status: Mapping[Key, int]) -> Bool:
    """Truth vectors that agree with what is known, and in which exactly one key of every exclusive group is true."""
    keys = layout.single[of]
    column = {key: at for at, key in enumerate(keys)}
    fixed = np.array([status[key] == TRUE for key in keys], np.bool_)
    choices: list[list[list[int]]] = []  # for each free part the sets of columns that it may make true
    grouped: set[Key] = set()
    for group in layout.factors.groups:
        if group[0] in column:
            grouped |= set(group)
            if not any(status[key] == TRUE for key in group):
                choices.append([[column[key]] for key in group if status[key] == UNKNOWN])
    choices += [[[], [column[key]]] for key in keys if status[key] == UNKNOWN and key not in grouped]
    count = math.prod(map(len, choices))
    if count > MOST_CELLS:
        raise TooLarge(f"one object of {of} has {count:,} states, more than {MOST_CELLS:,}")
    truth = np.repeat(fixed[None, :], count, axis=0)
    index = np.arange(count)
    for options in choices:
        index, which = np.divmod(index, len(options))
        for number, columns in enumerate(options):
            for at in columns:
                truth[which == number, at] = True
    return truth
