"""Products of arrays summed over all variables but one, along an elimination order.

Arrays are a constant with exceptions, as statuses are, so that a relation with few facts costs as much as its facts: a product
with a vector is `base · Σ vector + sparse · vector`. While no variable to be eliminated has more than one neighbour, nothing is
made that is larger than a vector. Where rules have cycles, arrays become dense; a query for which even those are too large is
counted in pieces of at most `JOINS` arrays by SQL (`bounded_joins`), whose counts are multiplied as if they were independent
([000] section 5 bounds its joins so; papers.md 3.10).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import prod
from typing import Any

import numpy as np
import numpy.typing as npt

from markovlogic.compression.bounded_joins import joined_counts
from markovlogic.system.arrays import Float64

MOST_CELLS = 30_000_000  # of one dense array
MOST_PRODUCTS = 20_000_000_000  # multiplications of one query
JOINS = 2


@dataclass(frozen=True, eq=False)
class Operand:
    """An array over some variables: `base` everywhere, plus `value` at the listed places, each of which is listed once."""

    variables: tuple[str, ...]
    sizes: tuple[int, ...]
    base: float
    index: npt.NDArray[np.int32]  # (n, n_variables)
    value: Float64  # (n,)

    @staticmethod
    def of(
        variables: tuple[str, ...], sizes: tuple[int, ...], base: float, index: npt.NDArray[np.int32], value: Float64
    ) -> Operand:
        """An operand; without variables its only place is part of the base."""
        if not variables:
            return Operand.constant(base + float(value.sum()))
        if not len(value):
            return Operand.constant(base)
        return Operand(variables, sizes, base, index, value)

    @staticmethod
    def constant(value: float) -> Operand:
        """The same everywhere."""
        return Operand((), (), value, np.zeros((0, 0), np.int32), np.zeros(0))

    @property
    def mean(self) -> float:
        """Over all cells."""
        return self.base + float(self.value.sum()) / max(1, prod(self.sizes))

    @cached_property
    def dense(self) -> Float64:
        """All cells."""
        made = np.full(self.sizes, self.base)
        if self.variables:
            made[tuple(self.index.T)] += self.value
        return made

    @cached_property
    def sparse(self) -> Any:
        """The exceptions of an array over two variables, as a sparse matrix."""
        from scipy.sparse import csr_array

        return csr_array((self.value, (self.index[:, 0], self.index[:, 1])), shape=self.sizes)

    def summed(self, vector: Float64, at: int) -> Float64:
        """Σ over one of its two variables of the array times a vector."""
        matrix = self.sparse if at == 1 else self.sparse.T
        return np.asarray(self.base * vector.sum() + matrix @ vector, np.float64)


class Contraction:
    """Counts of conjunctive queries; matrices that many rules share are made once."""

    def counts(self, operands: Sequence[Operand], target: str, sizes: Mapping[str, int]) -> tuple[Float64, bool]:
        """(size of target,) the sum over all other variables of the product, and whether it is exact."""
        scale = prod(operand.base for operand in operands if not operand.variables)
        left = [operand for operand in operands if operand.variables]
        if scale == 0.0:
            return np.zeros(sizes[target]), True
        used = {name for operand in left for name in operand.variables}
        scale *= prod(size for name, size in sizes.items() if name not in used and name != target)
        found, exact = np.full(sizes[target], scale), True
        for part in _connected(left, target):
            own = _tree(part, target, sizes)
            if own is None:
                own = _dense(part, target, sizes)
            if own is None:
                own, exact = _in_pieces(part, target, sizes), False
            found = found * own
        return found, exact


def _connected(operands: Sequence[Operand], target: str) -> list[list[Operand]]:
    """Parts that no variable but the target ties together."""
    parts: list[tuple[set[str], list[Operand]]] = []
    for operand in operands:
        names, own = set(operand.variables) - {target}, [operand]
        apart = []
        for other in parts:
            if other[0] & names:
                names, own = names | other[0], [*other[1], *own]
            else:
                apart.append(other)
        parts = [*apart, (names, own)]
    return [own for _, own in parts]


def _tree(part: Sequence[Operand], target: str, sizes: Mapping[str, int]) -> Float64 | None:
    """By vectors alone: each variable goes when one neighbour is left; None where the query is not so narrow."""
    if any(len(operand.variables) > 2 for operand in part):
        return None
    vectors: dict[str, Float64] = {}
    edges: list[Operand] = []
    for operand in part:
        if len(operand.variables) == 1:
            name = operand.variables[0]
            vectors[name] = vectors.get(name, np.ones(sizes[name])) * operand.dense
        else:
            edges.append(operand)
    merged: dict[frozenset[str], Operand] = {}
    for edge in edges:
        pair = frozenset(edge.variables)
        merged[pair] = _multiplied(merged[pair], edge) if pair in merged else edge
    edges = list(merged.values())
    while edges:
        loose = None
        for edge in edges:
            for at, name in enumerate(edge.variables):
                if name != target and sum(name in other.variables for other in edges) == 1:
                    loose = edge, at
        if loose is None:
            return None
        edge, at = loose
        name, other = edge.variables[at], edge.variables[1 - at]
        message = edge.summed(vectors.pop(name, np.ones(sizes[name])), at)
        vectors[other] = vectors.get(other, np.ones(sizes[other])) * message
        edges = [own for own in edges if own is not edge]
    found = vectors.pop(target, np.ones(sizes[target]))
    return found * prod(float(vector.sum()) for vector in vectors.values())


def _multiplied(one: Operand, other: Operand) -> Operand:
    """The product of two arrays over the same two variables: again a constant with exceptions."""
    turned = other.sparse if one.variables == other.variables else other.sparse.T
    exceptions = (one.base * turned + other.base * one.sparse + one.sparse.multiply(turned)).tocoo()
    index = np.stack([exceptions.row, exceptions.col], axis=1).astype(np.int32)
    return Operand(one.variables, one.sizes, one.base * other.base, index, np.asarray(exceptions.data, np.float64))


def _dense(part: Sequence[Operand], target: str, sizes: Mapping[str, int]) -> Float64 | None:
    """By dense arrays in the order that a search for cheap products gives; None where some array would be too large."""
    names = list(dict.fromkeys([target, *(name for operand in part for name in operand.variables)]))
    number = {name: at for at, name in enumerate(names)}
    if any(prod(operand.sizes) > MOST_CELLS for operand in part) or len(names) > 26:
        return None
    shapes = [[number[name] for name in operand.variables] for operand in part]
    # the path needs shapes alone, so that nothing is made before it is known to fit
    blank = [item for operand, places in zip(part, shapes, strict=True) for item in (np.broadcast_to(0.0, operand.sizes), places)]
    kept = [0] if any(target in operand.variables for operand in part) else []
    path, _ = np.einsum_path(*blank, kept, optimize="greedy")
    if not _fits(path[1:], [set(places) for places in shapes], set(kept), [sizes[name] for name in names]):
        return None
    arrays: list[Any] = [item for operand, places in zip(part, shapes, strict=True) for item in (operand.dense, places)]
    found = np.einsum(*arrays, kept, optimize=path)
    return np.asarray(np.broadcast_to(found, (sizes[target],)), np.float64)


def _fits(path: Sequence[Any], places: list[set[int]], kept: set[int], sizes: list[int]) -> bool:
    """Whether all arrays on the way, and the multiplications, are few enough."""
    work = 0
    for step in path:
        joined = set().union(*(places[at] for at in step))
        places = [own for at, own in enumerate(places) if at not in step]
        left = {axis for axis in joined if axis in kept or any(axis in own for own in places)}
        work += prod(sizes[axis] for axis in joined)
        if prod(sizes[axis] for axis in left) > MOST_CELLS or work > MOST_PRODUCTS:
            return False
        places.append(left)
    return True


def _in_pieces(part: Sequence[Operand], target: str, sizes: Mapping[str, int]) -> Float64:
    """Pieces of few arrays that hang together from the target on, their counts multiplied as if they were independent.

    A variable that two pieces share is counted by both, and its size divided out once.
    """
    left, seen = list(part), {target}
    found = np.ones(sizes[target])
    while left:
        piece: list[Operand] = []
        while left and len(piece) < JOINS:
            near = [operand for operand in left if seen & set(operand.variables)] or left
            chosen = max(near, key=lambda operand: len(set(operand.variables) & seen))
            if piece and not set(chosen.variables) & {name for own in piece for name in own.variables}:
                break
            piece.append(chosen)
            left.remove(chosen)
        names = {name for operand in piece for name in operand.variables}
        own = _tree(piece, target, sizes) if target in names else None
        if own is None:
            own = joined_counts(piece, target, sizes)
        # variables that an earlier piece counted already are shared by both
        found = found * own / prod(sizes[name] for name in (names & seen) - {target})
        seen |= names
    return found
