"""Sums over counts in which one set of kinds needs no counts of its own: given the others, its members add up in closed form.

Where r_ik = ρ·h_i·h_k for all i, k of a set I (i = k included), the pairs among M objects of I weigh ρ^{M(M−1)/2}·∏ h^{M−1}.
So, given the counts K of the other kinds, each object of a lump that falls into I adds y(K) = Σ_i w_i·h_i^{M−1}·∏_j r_ij^{K_j},
and all m of them y^m (papers.md 3.1 has the case h = 1). Lumps are not multiplied out, since y differs between them: the sum
goes over the counts of every lump, which pays where one lump is large and the others are small.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from markovlogic.methods.lifted.cells.cell_merging import Component
from markovlogic.methods.lifted.cells.cell_tables import Tables
from markovlogic.methods.lifted.cells.lattice import MOST_KEYS, Pins, Sums, compositions, factor_of, falsifying, is_dense
from markovlogic.methods.lifted.cells.numbers import Numbers, Scalar, Values
from markovlogic.system import cancellation
from markovlogic.system.arrays import Bool, Int64

MOST_COMPARED = 4_000_000  # pair weights that are looked at in the search for a set: it is made for every plan


@dataclass(frozen=True, eq=False)
class FreeSet:
    """Kinds whose pair weights are ρ·h_i·h_k among themselves."""

    kinds: Int64
    base: Scalar  # ρ
    ratio: Values  # h


def free_set(numbers: Numbers, component: Component) -> FreeSet | None:
    """The largest such set that is found by adding one kind after the other; None where it would have less than two."""
    pair, best = component.pair, np.zeros(0, np.int64)
    finite = [abs(numbers.log(value)) for value in pair[~numbers.is_zero(pair)].tolist()]
    tried = max(1, min(len(pair), MOST_COMPARED // max(1, len(pair)) ** 2))
    for first in np.linspace(0, len(pair) - 1, tried).astype(np.int64).tolist():
        cancellation.check()
        usable = np.flatnonzero(~numbers.is_zero(pair[first]))
        if first not in usable:
            continue
        row = pair[first, usable]
        square = numbers.over(
            numbers.times(pair[np.ix_(usable, usable)], pair[first, first]), numbers.times(row[:, None], row[None, :])
        )
        one = numbers.names(square, 4 * max(finite, default=0.0)) == 0
        chosen = [int(np.flatnonzero(usable == first)[0])]
        for at in range(len(usable)):
            alike = all((term.sides[:, usable[at]] == term.sides[:, first]).all() for term in component.terms)
            if at not in chosen and alike and one[at, at] and one[at, chosen].all():
                chosen.append(at)
        if len(chosen) > len(best):
            best = np.sort(usable[chosen])
    if len(best) < 2:
        return None
    base = pair[best[0], best[0]]
    return FreeSet(best, base, numbers.over(pair[best, best[0]], base))


@dataclass(frozen=True, eq=False)
class _Rows:
    """Count vectors of the kinds outside of the set, lump by lump."""

    counted: list[Int64]  # for each lump (n_rows, n_kinds): 0 for kinds of the set
    free: Int64  # (n_rows, n_lumps): objects of each lump that fall into the set
    coefficient: Values  # (n_rows,)


class ClosedSums:
    """Sums over the counts of the kinds outside of a free set; see the head of this file."""

    def __init__(self, numbers: Numbers, component: Component, free: FreeSet) -> None:
        self.numbers, self.component, self.free = numbers, component, free
        self._found: dict[Pins, Scalar] = {}
        self._factorials = numbers.factorials(max((lump.size for lump in component.lumps), default=0))

    @cached_property
    def is_free(self) -> Bool:
        """Which kinds belong to the set."""
        found = np.zeros(len(self.component.kinds), np.bool_)
        found[self.free.kinds] = True
        return found

    @cached_property
    def supports(self) -> list[tuple[Int64, bool]]:
        """For each lump the kinds outside of the set that its objects may have, and whether they may fall into it."""
        found = []
        for lump in self.component.lumps:
            may = ~self.numbers.is_zero(lump.weight)
            found.append((np.flatnonzero(may & ~self.is_free), bool((may & self.is_free).any())))
        return found

    @property
    def vectors(self) -> int:
        """How many count vectors the sum goes over."""
        return math.prod(
            math.comb(lump.size + len(kinds) + inside - 1, lump.size) if len(kinds) + inside else 0
            for lump, (kinds, inside) in zip(self.component.lumps, self.supports, strict=True)
        )

    def value(self, pins: Pins = ()) -> Scalar:
        """The sum with these objects pinned, each with weight 1."""
        pins = tuple(sorted(pins))
        if pins not in self._found:
            self._found[pins] = self.numbers.total(self._terms(self._rows(pins), pins)[0])
        return self._found[pins]

    def _rows(self, pins: Pins) -> _Rows:
        numbers, parts, values = self.numbers, [], []
        for at, (lump, (kinds, inside)) in enumerate(zip(self.component.lumps, self.supports, strict=True)):
            size = lump.size - sum(pinned == at for pinned, _ in pins)
            if len(kinds) + inside:
                part = compositions(size, len(kinds) + inside)
            else:
                part = np.zeros((int(size == 0), 0), np.int64)
            value = np.repeat(self._factorials[size : size + 1], len(part))
            for column in range(part.shape[1]):
                value = numbers.over(value, self._factorials[part[:, column]])
                if column < len(kinds):
                    value = numbers.times(value, numbers.power(lump.weight[kinds[column]], part[:, column]))
            parts.append(part)
            values.append(value)
        index = np.indices([len(part) for part in parts]).reshape(len(parts), -1)
        counted, coefficient = [], numbers.ones((index.shape[1],))
        free = np.zeros((index.shape[1], len(parts)), np.int64)
        for at, (kinds, inside) in enumerate(self.supports):
            rows = parts[at][index[at]]
            counts = np.zeros((index.shape[1], len(self.is_free)), np.int64)
            counts[:, kinds] = rows[:, : len(kinds)]
            counted.append(counts)
            if inside:
                free[:, at] = rows[:, -1]
            coefficient = numbers.times(coefficient, values[at][index[at]])
        return _Rows(counted, free, coefficient)

    def _terms(self, rows: _Rows, pins: Pins) -> tuple[Values, list[Values]]:
        """The terms, and for each kind of the set what an object of it is multiplied by, row by row."""
        numbers, component, pair = self.numbers, self.component, self.component.pair
        pinned = np.bincount(np.array([kind for _, kind in pins], np.int64), minlength=len(self.is_free))
        counts = np.sum(rows.counted, axis=0, dtype=np.int64) + np.where(self.is_free, 0, pinned)
        inside = rows.free.sum(axis=1) + int(pinned[self.is_free].sum())
        others = np.flatnonzero(~self.is_free)
        value = numbers.times(rows.coefficient, numbers.power(self.free.base, inside * (inside - 1) // 2))
        for one, other in itertools.combinations_with_replacement(others.tolist(), 2):
            if not component.ones[one, other]:
                pairs = counts[:, one] * (counts[:, one] - 1) // 2 if one == other else counts[:, one] * counts[:, other]
                value = numbers.times(value, numbers.power(pair[one, other], pairs))
        each = []
        for kind, ratio in zip(self.free.kinds.tolist(), self.free.ratio.tolist(), strict=True):
            own = numbers.power(ratio, np.maximum(inside - 1, 0))
            for other in others.tolist():
                if not component.ones[kind, other]:
                    own = numbers.times(own, numbers.power(pair[kind, other], counts[:, other]))
            value = numbers.times(value, numbers.powers(own, np.full(len(inside), pinned[kind])))
            each.append(own)
        for at, lump in enumerate(component.lumps):
            if self.supports[at][1]:
                together = self._together(lump.weight, each)
                value = numbers.times(value, numbers.powers(together, rows.free[:, at]))
        counts[:, self.free.kinds[0]] = inside  # clauses over counts do not distinguish the kinds of the set
        for term in component.terms:
            value = numbers.times(value, numbers.power(factor_of(numbers, term), falsifying(term, counts)))
        return value, each

    def _together(self, weight: Values, each: list[Values]) -> Values:
        found = self.numbers.zeros(each[0].shape)
        for kind, own in zip(self.free.kinds.tolist(), each, strict=True):
            found = self.numbers.plus(found, self.numbers.times(own, weight[kind]))
        return found

    def splits(self, count: int, rng: np.random.Generator) -> list[Int64]:
        """For each lump its counts of kinds in so many draws, (count, n_kinds)."""
        numbers, rows = self.numbers, self._rows(())
        value, each = self._terms(rows, ())
        share = numbers.share(value, numbers.total(value))
        drawn = rng.choice(len(share), size=count, p=share / share.sum())
        split = []
        for at, lump in enumerate(self.component.lumps):
            counts = rows.counted[at][drawn]
            if self.supports[at][1]:
                together = self._together(lump.weight, each)[drawn]
                weights = zip(lump.weight[self.free.kinds].tolist(), each, strict=True)
                own = [numbers.share(numbers.times(factor[drawn], weight), together) for weight, factor in weights]
                chance = np.stack(own, axis=1)
                chance = np.where(np.isfinite(chance), chance, 1.0)
                counts[:, self.free.kinds] = rng.multinomial(rows.free[drawn, at], chance / chance.sum(axis=1, keepdims=True))
            split.append(counts)
        return split


# Measured on one core: multiplying two terms and adding them to an array, one pair weight of one count vector.
SECONDS_A_PRODUCT = 4e-8
SECONDS_A_POWER = 2e-9
SECONDS_A_PLACE = 2e-9  # of the array that products are added up in
SLOWER_IN_DECIMALS = 60.0
SECONDS_A_SUM = 1.5e-4  # of Python, whatever its size
SECONDS_A_STATE = 2e-3  # of Python, for an assignment of the 0-ary atoms
SECONDS_A_TABLE = 4e-4  # of cells or of a pair of classes
SECONDS_AN_ENTRY = 5e-8
BYTES_A_COUNT = 12  # with the temporary arrays that go with it
LISTED_AT_ONCE = 2  # copies of a key while keys are sorted


@dataclass(frozen=True)
class SumCost:
    """Of one component: count vectors, products of terms for one polynomial, and what all its marginals would take."""

    vectors: float
    products: float
    seconds: float
    memory_bytes: float


def cheapest(numbers: Numbers, component: Component) -> Sums | ClosedSums:
    """The way to sum over the counts of a component that takes less time."""
    plain, free = Sums(numbers, component), free_set(numbers, component)
    if free is None:
        return plain
    closed = ClosedSums(numbers, component, free)
    return closed if sum_cost(closed).seconds < sum_cost(plain).seconds else plain


def sum_cost(sums: Sums | ClosedSums, *, pairs: bool = False) -> SumCost:
    """What one way to sum would take: the whole sum, and those with one object pinned; with two as well, for binary atoms."""
    return _closed_cost(sums, pairs) if isinstance(sums, ClosedSums) else _plain_cost(sums, pairs)


@dataclass(frozen=True)
class _Lump:
    """What one lump means for the cost of sums."""

    size: int
    parts: int  # among which its objects are counted
    pins: int  # ways to pin one object of it

    def share(self, pinned: int) -> float:
        """Count vectors that are left where so many objects are pinned, of those of the whole lump."""
        if self.parts == 0 or pinned > self.size:
            return 0.0
        rows, whole = (math.comb(size + self.parts - 1, self.parts - 1) for size in (self.size - pinned, self.size))
        return rows / whole


def _sums(lumps: list[_Lump], pairs: bool) -> float:
    """Count vectors of all sums together, of those of the whole: nothing, each one object and each two objects pinned."""
    one = [lump.pins * lump.share(1) for lump in lumps]
    of_two = sum(lump.pins * (lump.pins + 1) / 2 * lump.share(2) for lump in lumps)
    of_two += (sum(one) ** 2 - sum(share**2 for share in one)) / 2
    return 1 + sum(one) + (of_two if pairs else 0.0)


def _n_sums(lumps: list[_Lump], pairs: bool) -> int:
    """How many sums these are."""
    n = sum(lump.pins for lump in lumps if lump.size)
    return 1 + n + (n * (n + 1) // 2 if pairs else 0)


def _closed_cost(sums: ClosedSums, pairs: bool) -> SumCost:
    n_free, n_others, n_lumps = len(sums.free.kinds), int((~sums.is_free).sum()), len(sums.component.lumps)
    vectors = float(sums.vectors)
    lumps = [
        _Lump(lump.size, len(kinds) + inside, len(kinds) + inside * n_free)
        for lump, (kinds, inside) in zip(sums.component.lumps, sums.supports, strict=True)
    ]
    powers = n_others**2 / 2 + n_free * (n_others + n_lumps + 2) + 4 * n_lumps * (n_others + 1) + 8 * len(sums.component.terms)
    seconds = vectors * powers * SECONDS_A_POWER * _sums(lumps, pairs) + SECONDS_A_SUM * _n_sums(lumps, pairs)
    memory = vectors * (n_lumps * (n_others + n_free + 2) + n_free + 6) * BYTES_A_COUNT
    return SumCost(vectors, 0.0, seconds, memory)


def _plain_cost(sums: Sums, pairs: bool) -> SumCost:
    component = sums.component
    n_kinds = len(component.kinds)
    support = [~sums.numbers.is_zero(lump.weight) for lump in component.lumps]
    vectors, products, dense = 1.0, 0.0, 0.0
    met, objects = np.zeros(n_kinds, np.bool_), 0
    most = np.zeros(n_kinds)
    for at in sums.order:
        size, own = component.lumps[at].size, support[at]
        rows = float(math.comb(size + max(int(own.sum()), 1) - 1, max(int(own.sum()), 1) - 1))
        most[own] += size
        objects += size
        if (met & own).any() and rows > 1 and vectors > 1:
            products += rows * vectors
            cells = float(np.prod(np.delete(most, int(np.argmax(most))) + 1))
            if cells > MOST_KEYS:
                return SumCost(vectors, products, math.inf, math.inf)
            places = cells if is_dense(cells, rows * vectors) else LISTED_AT_ONCE * rows * vectors
            dense = max(dense, places)
            met_kinds = int((met | own).sum())
            vectors = min(rows * vectors, cells, float(math.comb(objects + met_kinds - 1, objects)))
        else:
            vectors *= rows
        met |= own
    lumps = [_Lump(lump.size, int(own.sum()), int(own.sum())) for lump, own in zip(component.lumps, support, strict=True)]
    powers = float((~component.ones).sum() + n_kinds) / 2 + 4 * n_kinds + 8 * len(component.terms)
    made = _sums([_Lump(lump.size, lump.parts, 1) for lump in lumps if lump.parts > 1], pairs)  # polynomials
    seconds = (products * SECONDS_A_PRODUCT + dense * SECONDS_A_PLACE) * made
    seconds += vectors * powers * SECONDS_A_POWER * _sums(lumps, pairs) + SECONDS_A_SUM * _n_sums(lumps, pairs)
    memory = made * vectors * (n_kinds + 4) * BYTES_A_COUNT + 2 * dense * BYTES_A_COUNT
    return SumCost(vectors, products, seconds, memory)


def tables_cost(tables: Tables) -> float:
    """Seconds that making these tables once more would take."""
    entries = sum(len(own.weight) for own in tables.cells) * 20
    distinct = {id(table): table for table in tables.pairs.values()}
    entries += sum(part.value.size for table in distinct.values() for part in table.parts) * 20
    return SECONDS_A_TABLE * (len(tables.cells) + len(distinct)) + SECONDS_AN_ENTRY * (entries + int(tables.start[-1]) ** 2)
