"""Small components of many forms, listed together: equal in their numbers of atoms and clauses, whatever ties which.

A table of log weights grows atom by atom: the worlds without it, then those with it. A clause is taken off as soon as its last
atom is there, so that most clauses touch small tables only. Components are lines, and the worlds of each are columns.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from markovlogic.methods.exact.shapes import Event, ShapeAnswer, normalised
from markovlogic.system.arrays import Bool, Float64, Int32, Int64, Pickled, offsets

MOST_ATOMS = 15
MANY_FORMS = 64  # of one size; fewer are solved form by form
_TILE = 2**19  # log weights that are held at once
# Seconds on one core of a small machine: of a size, a component, an atom's answer, a world, and for each clause an atom in it
_SECONDS, _ROW, _ATOM, _WORLD, _CLAUSE = 2e-4, 8e-6, 0.2e-6, 8e-9, 9e-9


@dataclass(frozen=True, eq=False)
class Assorted(Pickled):
    """Components of one size without groups and hidden atoms; atoms are numbered within a component.

    Clauses of a component are sorted by their last atom. A world is a number with a bit for each atom, and a clause is false
    where the bits of its mask are those of `value`.
    """

    component: Int64  # (n_rows,)
    atom: Int32  # (n_rows, n_open) numbers in the network
    bias: Float64  # (n_rows, n_open) infinite where an atom is fixed
    mask: Int32  # (n_rows, n_clauses)
    value: Int32
    weight: Float64  # infinite where a clause is hard

    @property
    def n_rows(self) -> int:
        """How many components there are."""
        return len(self.component)

    @property
    def n_open(self) -> int:
        """Atoms of one component."""
        return int(self.atom.shape[1])

    @property
    def n_clauses(self) -> int:
        """Clauses of one component."""
        return int(self.mask.shape[1])

    @property
    def seconds(self) -> float:
        """Predicted, of solving all of them."""
        worlds = 2.0**self.n_open * self.n_rows
        own = self.n_rows * (_ROW + _ATOM * self.n_open)
        return _SECONDS + own + worlds * (_WORLD + _CLAUSE * self.n_clauses / self.n_open)

    @property
    def room(self) -> float:
        """Bytes while they are solved."""
        return 8.0 * (6.0 * _TILE + self.n_rows * (2.0 * self.n_open + 1.0))

    @property
    def kept(self) -> float:
        """Bytes of its arrays."""
        return self.n_rows * (8.0 * (self.n_open + 2 * self.n_clauses + 1) + 4.0 * self.n_open)

    def log2_worlds(self) -> float:
        """Base-2 logarithm of the worlds that are listed for a component."""
        return float(self.n_open)


def assorted(component: Int64, atom: Int32, bias: Float64, weight: Float64, length: Int64, literal: Int32) -> Assorted:
    """Components by their clauses in rows: length: (n_rows, n_clauses); literal: (n_rows, n_literals)."""
    mask, value = np.zeros(length.shape, np.int32), np.zeros(length.shape, np.int32)
    if length.size:
        start = offsets(length.ravel())[:-1]
        bit = np.left_shift(np.int32(1), literal.ravel() >> 1)
        mask = np.add.reduceat(bit, start).reshape(length.shape).astype(np.int32)
        value = np.add.reduceat(np.where(literal.ravel() & 1, 0, bit), start).reshape(length.shape).astype(np.int32)
    order = np.argsort(mask, axis=1, kind="stable")  # by the highest bit, and then by the others
    mask, value = np.take_along_axis(mask, order, axis=1), np.take_along_axis(value, order, axis=1)
    return Assorted(component, atom, bias, mask, value, np.take_along_axis(weight, order, axis=1))


def enumerate_assorted(
    shape: Assorted, events: Sequence[Event] = (), *, advance: Callable[[float], None] = lambda share: None
) -> ShapeAnswer:
    """Solve all components by listing their worlds."""
    n_rows, n = shape.n_rows, shape.n_open
    log_z, marginal = np.empty(n_rows), np.empty((n_rows, n))
    probability = np.empty(len(events))
    step = max(1, _TILE >> n)
    for begin in range(0, n_rows, step):
        rows = slice(begin, min(begin + step, n_rows))
        table = _log_weights(shape, rows)
        top = table.max(axis=1)
        table -= np.where(np.isneginf(top), 0.0, top)[:, None]
        np.exp(table, out=table)
        soft = np.where(np.isinf(shape.weight[rows]), 0.0, shape.weight[rows]).sum(axis=1)
        with np.errstate(divide="ignore"):
            log_z[rows] = top + np.log(table.sum(axis=1)) + soft
        for number, event in enumerate(events):
            if rows.start <= event.row < rows.stop:
                line = table[event.row - begin]
                probability[number] = min(line[_holding(event, n)].sum() / line.sum(), 1.0)
        for k in range(n - 1, -1, -1):
            half = table.shape[1] // 2
            without, with_it = table[:, :half], table[:, half:]
            with np.errstate(invalid="ignore"):  # no world is possible: log Z shows
                marginal[rows, k] = normalised(with_it.sum(axis=1), without.sum(axis=1))
            table = without + with_it
        advance(rows.stop / n_rows)
    return ShapeAnswer(log_z, marginal, probability)


def _log_weights(shape: Assorted, rows: slice) -> Float64:
    """(n_rows, 2^n_open) minus the weights of false clauses, plus the biases of true atoms."""
    mask, value, weight, bias = shape.mask[rows], shape.value[rows], shape.weight[rows], shape.bias[rows]
    last = np.frexp(mask.astype(np.float64))[1] - 1  # the highest bit
    table, at = np.zeros((len(mask), 1)), np.arange(len(mask))
    for k in range(shape.n_open):
        up = np.where(np.isposinf(bias[:, k]), 0.0, bias[:, k])
        down = np.where(np.isposinf(bias[:, k]), -np.inf, 0.0)
        table = np.concatenate([table + down[:, None], table + up[:, None]], axis=1)
        world = np.arange(table.shape[1], dtype=np.int32)
        first, count = (last < k).sum(axis=1), (last == k).sum(axis=1)
        for slot in range(int(count.max(initial=0))):
            own = np.flatnonzero(count > slot)
            clause = first[own] + slot
            line = at[own]
            false = (world & mask[line, clause][:, None]) == value[line, clause][:, None]
            off = np.where(false, weight[line, clause][:, None], 0.0)
            if len(own) == len(table):
                table -= off
            else:
                table[own] -= off
    return table


def _holding(event: Event, n: int) -> Bool:
    """The worlds in which a conjunction holds."""
    mask = sum(1 << (literal >> 1) for literal in event.literal)
    value = sum((literal & 1) << (literal >> 1) for literal in event.literal)
    holds: Bool = (np.arange(1 << n) & mask) == value
    return holds
