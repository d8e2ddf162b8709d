"""A predicate of single objects whose atoms are tied in pairs at most: drawn atom by atom, by one kernel.

`Student(x) ^ Links(x, y) => Student(y)`: given all other predicates the log-odds of an atom are a field and a sum of couplings
with the predicate's other atoms. Fields and couplings of all atoms are contractions of whole arrays, made anew where what they
depend on changes; only the draws themselves go one after the other. This is what `rows` does, without Python for each atom.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from markovlogic.lifted.blocks.messages import Bools, falsity, indicated
from markovlogic.lifted.blocks.rows import Rows, RowTerm
from markovlogic.lifted.blocks.schedule import Drawn, Known
from markovlogic.lifted.blocks.tensors import CHAIN, Operand, Tensor, coefficient_of
from markovlogic.lifted.blocks.terms import Factor

ATOM, OTHER = 1, 2  # axes
MOST_CELLS = 1 << 21  # couplings of a chain: beyond, rows need less memory


@dataclass(frozen=True, eq=False)
class PairTerm:
    """What a term says of an atom, alone or beside one other atom of its predicate."""

    row: RowTerm
    other: Factor | None
    rest: tuple[Factor, ...]  # atoms of other predicates

    @property
    def sign(self) -> float:
        """A positive literal is false, and its term lost, where the atom is false."""
        return 1.0 if self.row.inside[0].positive else -1.0

    def speaks(self, changing: Collection[str]) -> bool:
        """Whether its coefficient changes while chains run."""
        return any(factor.predicate in changing for factor in self.rest)

    def coefficient(self, values: Mapping[str, Bools], changing: Collection[str]) -> Tensor:
        """What is lost where all literals are false, along atoms (and other atoms)."""
        term, fixed = self.row.term, self.row.fixed
        axis_of = {"": ATOM} | ({} if self.other is None else {self.other.variables[0]: OTHER})

        def named(variable: str) -> str:
            return "" if variable in fixed else variable

        operands = []
        for factor in self.rest:
            value = falsity(values[factor.predicate], factor.positive, ())
            operands.append(Operand(value, [named(name) for name in factor.variables], factor.predicate in changing))
        for indicator in term.indicators:
            operand = indicated(indicator, term.sizes)
            operands.append(operand._replace(variables=[named(name) for name in operand.variables]))
        return coefficient_of(self.sign * term.weight, operands, axis_of)


def couplings_of(predicate: str, rows: Rows, sizes: tuple[int, ...]) -> tuple[PairTerm, ...] | None:
    """The terms of a predicate of single objects; None where some tie three atoms of it, or objects are too many."""
    if len(sizes) != 1 or sizes[0] ** 2 > MOST_CELLS:
        return None
    made = []
    for row in rows.terms:
        own = [factor for factor in row.outside if factor.predicate == predicate]
        if any(factor.variables[0] in row.fixed for factor in own):
            continue  # the atom itself, which this choice leaves out of the row: counted by another choice
        if len(own) > 1:
            return None
        rest = tuple(factor for factor in row.outside if factor.predicate != predicate)
        made.append(PairTerm(row, own[0] if own else None, rest))
    return tuple(made)


@dataclass(frozen=True, eq=False)
class _Sums:
    """Field and couplings of all atoms: (1 or n_chains, n) and (1 or n_chains, n, n)."""

    field: npt.NDArray[np.float64]
    coupling: npt.NDArray[np.float64]


class SingleUnit:
    """A predicate with one argument, atom after atom."""

    def __init__(self, predicate: str, terms: tuple[PairTerm, ...], known: Known, n: int, changing: Collection[str]) -> None:
        self.predicate, self.n, self.changing = predicate, n, frozenset(changing)
        self._known = known
        self._still = tuple(term for term in terms if not term.speaks(self.changing))
        self._moving = tuple(term for term in terms if term.speaks(self.changing))
        self._constant: _Sums | None = None

    def draw(self, values: Mapping[str, Bools], n_chains: int, rng: np.random.Generator) -> Drawn:
        """New values of all atoms, each given those drawn before it."""
        from markovlogic.kernels.couplings import draw_coupled

        if self._constant is None:
            self._constant = self._summed(self._still, values)
        moving = self._summed(self._moving, values)
        field = np.ascontiguousarray(np.broadcast_to(self._constant.field + moving.field, (n_chains, self.n)))
        coupling = self._constant.coupling + moving.coupling
        value = np.ascontiguousarray(values[self.predicate], np.float64)
        chance = np.empty_like(value)
        unknown = np.ones(self.n, np.bool_)
        if self._known.true is not None and self._known.unknown is not None:
            unknown = self._known.unknown > 0
            value[:, ~unknown] = self._known.true[~unknown]
        draw_coupled(field, coupling, unknown, rng.random((self.n, n_chains)), value, chance)
        return Drawn({self.predicate: value > 0}, {self.predicate: chance})

    def _summed(self, terms: tuple[PairTerm, ...], values: Mapping[str, Bools]) -> _Sums:
        field, coupling = np.zeros((1, self.n)), np.zeros((1, self.n, self.n))
        for term in terms:
            tensor = term.coefficient(values, self.changing)
            if term.other is None:
                field = field + tensor.along((CHAIN, ATOM))
                continue
            pairs = np.array(np.broadcast_to(tensor.along((CHAIN, ATOM, OTHER)), (_chains(tensor), self.n, self.n)))
            pairs[:, np.arange(self.n), np.arange(self.n)] = 0.0  # an atom is not another one
            if term.other.positive:  # lost where the other is false: 1 − value
                field = field + pairs.sum(axis=2)
                pairs = -pairs
            coupling = coupling + pairs
        return _Sums(field, coupling)


def _chains(tensor: Tensor) -> int:
    return tensor.array.shape[0] if CHAIN in tensor.axes else 1
