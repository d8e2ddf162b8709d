"""The sum over counts of kinds of one component, with some objects pinned to kinds.

The objects of a lump of n fall into kinds as the terms of (Σ_s w_s z_s)^n; the product of these polynomials over lumps gives a
coefficient for every count vector, and pair weights and clauses over counts multiply it. A marginal is the same sum with one
object (or two) taken out of its lump and pinned to a kind, over the whole sum: no term is ever divided by, so that terms may
have either sign.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from markovlogic.methods.lifted.cells.cell_merging import Component, CountTerm
from markovlogic.methods.lifted.cells.numbers import Numbers, Scalar, Values, Whole
from markovlogic.system import cancellation
from markovlogic.system.arrays import Bool, Int64, each_once

LEAST_LISTED, KEYS_A_PRODUCT = 1_000_000, 10  # sorting a key takes about as long as looking through so many places
MOST_KEYS = 2.0**62  # numbers of count vectors have to fit into 64 bits

Pins = tuple[tuple[int, int], ...]  # objects taken out: the lump of each, and the kind that it is pinned to


@dataclass(frozen=True, eq=False)
class Polynomial:
    """Count vectors, each once, and their coefficients."""

    counts: Int64  # (n_rows, n_kinds)
    value: Values  # (n_rows,)


class Sums:
    """Sums over the count vectors of one component; polynomials that several of them need are made once."""

    def __init__(self, numbers: Numbers, component: Component) -> None:
        self.numbers, self.component = numbers, component
        self.order = _order(component, numbers)
        self._products: dict[tuple[int, ...], Polynomial] = {}
        self._found: dict[Pins, Scalar] = {}
        self._factorials = numbers.factorials(max((lump.size for lump in component.lumps), default=0))

    def value(self, pins: Pins = ()) -> Scalar:
        """The sum with these objects pinned, each with weight 1."""
        pins = tuple(sorted(pins))
        if pins not in self._found:
            product = self.product(pins)
            self._found[pins] = self.numbers.total(self.terms(product, [kind for _, kind in pins]))
        return self._found[pins]

    def product(self, pins: Pins = ()) -> Polynomial:
        """The coefficients of all lumps, without the pinned objects."""
        sizes = [self.component.lumps[at].size - sum(lump == at for lump, _ in pins) for at in self.order]
        return self.prefix(tuple(sizes))

    def prefix(self, sizes: tuple[int, ...]) -> Polynomial:
        """The product of the first lumps in order, with so many objects each."""
        if sizes not in self._products:
            if not sizes:
                made = Polynomial(np.zeros((1, len(self.component.kinds)), np.int64), self.numbers.ones((1,)))
            else:
                made = self._times(self.prefix(sizes[:-1]), self.lump(self.order[len(sizes) - 1], sizes[-1]))
            self._products[sizes] = made
        return self._products[sizes]

    def lump(self, at: int, size: int) -> Polynomial:
        """(Σ_s w_s z_s)^size."""
        numbers, lump = self.numbers, self.component.lumps[at]
        support = np.flatnonzero(~numbers.is_zero(lump.weight))
        if not len(support):
            empty = Polynomial(np.zeros((1, len(lump.weight)), np.int64), numbers.ones((1,)))
            return empty if not size else Polynomial(empty.counts[:0], empty.value[:0])
        part = compositions(size, len(support))
        value = np.repeat(self._factorials[size : size + 1], len(part))
        for column, kind in enumerate(support):
            value = numbers.over(value, self._factorials[part[:, column]])
            value = numbers.times(value, numbers.power(lump.weight[kind], part[:, column]))
        counts = np.zeros((len(part), len(lump.weight)), np.int64)
        counts[:, support] = part
        return Polynomial(counts, value)

    def terms(self, product: Polynomial, pinned: Sequence[int] = ()) -> Values:
        """Every coefficient times the pair weights and clauses over counts of its count vector."""
        counts = product.counts + np.bincount(np.array(pinned, np.int64), minlength=product.counts.shape[1])
        value, numbers, component = product.value, self.numbers, self.component
        for one, other in itertools.combinations_with_replacement(range(counts.shape[1]), 2):
            if component.ones[one, other]:
                continue
            pairs = counts[:, one] * (counts[:, other] - 1) // 2 if one == other else counts[:, one] * counts[:, other]
            value = numbers.times(value, numbers.power(component.pair[one, other], pairs))
        for term in component.terms:
            value = numbers.times(value, numbers.power(factor_of(numbers, term), falsifying(term, counts)))
        return value

    def splits(self, count: int, rng: np.random.Generator) -> list[Int64]:
        """For each lump its counts of kinds in so many draws, (count, n_kinds): the last lump of the product first."""
        numbers, lumps = self.numbers, self.component.lumps
        whole = self.product()
        left = whole.counts[_drawn(numbers, self.terms(whole), count, rng)]
        split = [np.zeros_like(left) for _ in lumps]
        for length in range(len(self.order), 0, -1):
            at = self.order[length - 1]
            own = self.lump(at, lumps[at].size)
            before = self.prefix(tuple(lumps[i].size for i in self.order[: length - 1]))
            if len(own.value) == 1:
                split[at] = np.repeat(own.counts, count, axis=0)
            elif len(before.value) == 1:
                split[at] = left - before.counts[0]
            else:
                known = {tuple(row): value for row, value in zip(before.counts.tolist(), before.value.tolist(), strict=True)}
                zero = numbers.zeros((1,))[0]
                distinct, inverse = np.unique(left, axis=0, return_inverse=True)
                for number, row in enumerate(distinct):
                    rest = [known.get(tuple(one), zero) for one in (row - own.counts).tolist()]
                    weight = numbers.times(own.value, np.array(rest, own.value.dtype))
                    mine = np.flatnonzero(inverse.reshape(-1) == number)
                    split[at][mine] = own.counts[_drawn(numbers, weight, len(mine), rng)]
            left = left - split[at]
        return split

    def _times(self, one: Polynomial, other: Polynomial) -> Polynomial:
        """The product of two polynomials."""
        numbers = self.numbers
        if len(one.value) < len(other.value):
            one, other = other, one
        if not len(other.value):
            return other
        if not (one.counts.any(axis=0) & other.counts.any(axis=0)).any() or len(other.value) == 1:
            counts = (one.counts[:, None, :] + other.counts[None, :, :]).reshape(-1, one.counts.shape[1])
            return Polynomial(counts, numbers.times(one.value[:, None], other.value[None, :]).ravel())
        keys = _keys(one.counts, other.counts)
        many, few = keys.of(one.counts), keys.of(other.counts)
        listed = None if is_dense(keys.size, len(many) * len(few)) else each_once(many[:, None] + few[None, :])
        size = keys.size if listed is None else len(listed)
        sums, met = numbers.zeros((size,)), np.zeros(size, np.bool_)
        for key, value in zip(few.tolist(), other.value.tolist(), strict=True):
            cancellation.check()
            at = many + key if listed is None else np.searchsorted(listed, many + key)
            sums[at] = numbers.plus(sums[at], numbers.times(one.value, value))
            met[at] = True
        found = np.flatnonzero(met)
        return Polynomial(keys.counts(found if listed is None else listed), sums[found])


def is_dense(n_keys: float, n_products: float) -> bool:
    """Whether products of terms are added up in an array over all keys; where most of it would be empty, keys are listed."""
    return n_keys <= LEAST_LISTED + KEYS_A_PRODUCT * n_products


def _drawn(numbers: Numbers, weight: Values, count: int, rng: np.random.Generator) -> Int64:
    """Row numbers, in proportion to weights."""
    share = numbers.share(weight, numbers.total(weight))
    return rng.choice(len(share), size=count, p=share / share.sum())


def factor_of(numbers: Numbers, term: CountTerm) -> Scalar:
    """What each falsified substitution of a clause over counts multiplies by: e^−weight, or 0."""
    is_hard = math.isinf(term.weight)
    exponent = numbers.no_exponents((1,)) - numbers.exponent(0.0 if is_hard else term.weight)
    return numbers.exp(exponent, np.array([is_hard]))[0]


def compositions(total: int, parts: int) -> Int64:
    """All ways to write a number as a sum of so many counts, (n_ways, parts)."""
    rows, left = np.zeros((1, 0), np.int64), np.array([total], np.int64)
    for _ in range(parts - 1):
        times = left + 1
        first = np.repeat(np.cumsum(times) - times, times)
        count = np.arange(len(first)) - first
        rows = np.concatenate([np.repeat(rows, times, axis=0), count[:, None]], axis=1)
        left = np.repeat(left, times) - count
    return np.concatenate([rows, left[:, None]], axis=1)


def falsifying(term: CountTerm, counts: Int64) -> Whole:
    """How many substitutions falsify a clause over counts: by inclusion and exclusion over the pairs that must differ.

    Python's integers where 64 bits may not hold them: six variables over 3,000 objects are beyond.
    """
    most = int(counts.sum(axis=1).max(initial=0)) ** len(term.sides) << len(term.apart)
    kind: type = np.int64 if most < 1 << 63 else object
    counts = counts.astype(kind)
    total: Whole = np.zeros(len(counts), kind)
    for length in range(len(term.apart) + 1):
        for equal in itertools.combinations(term.apart, length):
            label = list(range(len(term.sides)))
            for one, other in equal:
                old, new = label[other], label[one]
                label = [new if x == old else x for x in label]
            product: Whole = np.full(len(counts), (-1) ** length, kind)
            for root in set(label):
                both = np.all([term.sides[at] for at in range(len(label)) if label[at] == root], axis=0)
                product = product * counts[:, both].sum(axis=1)
            total += product
    return total


def _order(component: Component, numbers: Numbers) -> list[int]:
    """Lumps that share kinds one after the other, large ones first: their products stay small and need no sorting."""
    support = [~numbers.is_zero(lump.weight) for lump in component.lumps]
    left = sorted(range(len(support)), key=lambda at: -component.lumps[at].size)
    order: list[int] = []
    met: Bool = np.zeros(len(component.kinds), np.bool_)
    while left:
        following = next((at for at in left if (support[at] & met).any()), left[0])
        left.remove(following)
        order.append(following)
        met = met | support[following]
    return order


@dataclass(frozen=True)
class _Keys:
    """Numbers that add up as count vectors do. All counts together have one sum, so the kind of the largest count is left out."""

    radix: tuple[int, ...]
    left_out: int
    total: int

    @property
    def size(self) -> int:
        """How many numbers there are."""
        return math.prod(self.radix)

    def of(self, counts: Int64) -> Int64:
        """The number of each count vector."""
        key = np.zeros(len(counts), np.int64)
        for at, size in enumerate(self.radix):
            if at != self.left_out:
                key = key * size + counts[:, at]
        return key

    def counts(self, key: Int64) -> Int64:
        """The count vector of each number."""
        found = np.zeros((len(key), len(self.radix)), np.int64)
        for at in range(len(self.radix) - 1, -1, -1):
            if at != self.left_out:
                key, found[:, at] = np.divmod(key, self.radix[at])
        found[:, self.left_out] = self.total - found.sum(axis=1)
        return found


def _keys(one: Int64, other: Int64) -> _Keys:
    most = one.max(axis=0) + other.max(axis=0)
    left_out = int(np.argmax(most))
    radix = [int(number) + 1 for number in most]
    radix[left_out] = 1
    return _Keys(tuple(radix), left_out, int(one[0].sum() + other[0].sum()))
