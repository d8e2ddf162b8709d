"""What a sum over counts would take, from the sizes of lumps alone."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from markovlogic.methods.lifted.cells.closed import ClosedSums, free_set
from markovlogic.methods.lifted.cells.lattice import MOST_KEYS, Sums, is_dense
from markovlogic.methods.lifted.cells.merging import Component
from markovlogic.methods.lifted.cells.numbers import Numbers
from markovlogic.methods.lifted.cells.tables import Tables

# Measured on one core: multiplying two terms and adding them to an array, one pair weight of one count vector.
SECONDS_A_PRODUCT = 4e-8
SECONDS_A_POWER = 1.2e-8
SECONDS_A_PLACE = 2e-9  # of the array that products are added up in
SLOWER_IN_DECIMALS = 60.0
SECONDS_A_SUM = 1.5e-4  # of Python, whatever its size
SECONDS_A_STATE = 2e-3  # of Python, for an assignment of the 0-ary atoms
SECONDS_A_TABLE = 4e-4  # of cells or of a pair of classes
SECONDS_AN_ENTRY = 5e-8
BYTES_A_COUNT = 8
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


def _times(pinned: int, pairs: bool) -> int:
    """How many sums there are, with so many ways to pin one object."""
    return 1 + pinned + (pinned * (pinned + 1) // 2 if pairs else 0)


def _closed_cost(sums: ClosedSums, pairs: bool) -> SumCost:
    n_free, n_others, n_lumps = len(sums.free.kinds), int((~sums.is_free).sum()), len(sums.component.lumps)
    vectors = float(sums.vectors)
    pinned = sum(len(kinds) + inside * n_free for kinds, inside in sums.supports)
    powers = n_others**2 / 2 + n_free * (n_others + n_lumps + 2) + 4 * n_lumps * (n_others + 1) + 8 * len(sums.component.terms)
    seconds = (vectors * powers * SECONDS_A_POWER + SECONDS_A_SUM) * _times(pinned, pairs)
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
    pinned = sum(int(own.sum()) for own in support)
    changed = sum(1 for own in support if own.sum() > 1)
    powers = float((~component.ones).sum() + n_kinds) / 2 + 4 * n_kinds + 8 * len(component.terms)
    made = _times(changed, pairs)  # polynomials
    seconds = (products * SECONDS_A_PRODUCT + dense * SECONDS_A_PLACE) * made
    seconds += (vectors * powers * SECONDS_A_POWER + SECONDS_A_SUM) * _times(pinned, pairs)
    memory = made * vectors * (n_kinds + 4) * BYTES_A_COUNT + 2 * dense * BYTES_A_COUNT
    return SumCost(vectors, products, seconds, memory)


def tables_cost(tables: Tables) -> float:
    """Seconds that making these tables once more would take."""
    entries = sum(len(own.weight) for own in tables.cells) * 20
    distinct = {id(table): table for table in tables.pairs.values()}
    entries += sum(part.value.size for table in distinct.values() for part in table.parts) * 20
    return SECONDS_A_TABLE * (len(tables.cells) + len(distinct)) + SECONDS_AN_ENTRY * (entries + int(tables.start[-1]) ** 2)
