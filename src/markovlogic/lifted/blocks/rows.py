"""A predicate that theorem proving cannot draw whole, drawn row by row: its atoms with some arguments fixed, given all others.

`Student(x) ^ Links(x, y) => Student(y)` with known links is an Ising model: no rule applies to Student. Its atoms one after the
other are drawn all the same, and where a predicate has more arguments, those that need not be fixed stay together. In a term
with several atoms of the predicate some are in the row and some are not: one term for each choice, and atoms outside are read
from an array in which the row is empty.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from itertools import combinations
from math import prod

import numpy as np
import numpy.typing as npt

from markovlogic.lifted.blocks.messages import Bools, indicated, one_hot
from markovlogic.lifted.blocks.program import InnerTerm, Program, Unliftable, compile_cluster
from markovlogic.lifted.blocks.schedule import Drawn, Known, Schedule
from markovlogic.lifted.blocks.tensors import Operand, Tensor, coefficient_of
from markovlogic.lifted.blocks.terms import Factor, FalseTerm, Indicator


@dataclass(frozen=True, eq=False)
class RowTerm:
    """A term with a choice of which of its atoms are in the row."""

    term: FalseTerm
    inside: tuple[Factor, ...]  # with the arguments that are not fixed
    outside: tuple[Factor, ...]
    fixed: Mapping[str, int]  # variables that are a fixed argument: which of them
    pinned: Mapping[str, int]  # variables of atoms inside that must be a fixed argument's constant
    alike: tuple[tuple[int, int], ...]  # fixed arguments that must be the same constant

    def inner(self, number: int) -> InnerTerm:
        """What the compiler sees."""
        sizes = dict(self.term.sizes) | {name: self.term.sizes[name.split("@")[0]] for name in self.pinned}
        return InnerTerm(number, self.inside, frozenset(self.varies), sizes)

    @property
    def varies(self) -> tuple[str, ...]:
        """Variables of the row's atoms that something outside tells apart."""
        own = dict.fromkeys(name for factor in self.inside for name in factor.variables)
        seen = {name for factor in self.outside for name in factor.variables} | set(self.pinned)
        for indicator in self.term.indicators:
            seen |= {indicator.variable, str(indicator.other)}
        return tuple(name for name in own if name in seen)

    def coefficient(
        self,
        row: tuple[int, ...],
        values: Mapping[str, Bools],
        emptied: Mapping[bool, npt.NDArray[np.float64]],
        predicate: str,
        changing: Collection[str],
        axis_of: Mapping[str, int],
    ) -> Tensor:
        """The coefficient for one row; `emptied` are the falsities of the predicate's literals outside of it, by sign."""
        if any(row[i] != row[j] for i, j in self.alike):
            return Tensor((), np.zeros(()))
        operands = []
        for factor in self.outside:
            value: npt.NDArray[np.generic] = emptied[factor.positive]
            if factor.predicate != predicate:
                known = values[factor.predicate]
                value = ~known if factor.positive else known
            index = tuple(row[self.fixed[name]] if name in self.fixed else slice(None) for name in factor.variables)
            left = [name for name in factor.variables if name not in self.fixed]
            operands.append(Operand(np.asarray(value[(..., *index)], np.float64), left, factor.predicate in changing))
        return coefficient_of(self.term.weight, [*operands, *self._indicators(row)], axis_of)

    def _indicators(self, row: tuple[int, ...]) -> Iterator[Operand]:
        sizes = self.inner(0).sizes
        for name, argument in self.pinned.items():
            yield Operand(one_hot(sizes[name], row[argument]), (name,))
        for indicator in self.term.indicators:
            names = [name for name in (indicator.variable, indicator.other) if isinstance(name, str)]
            free = [name for name in names if name not in self.fixed]
            places = [row[self.fixed[name]] for name in names if name in self.fixed]
            if isinstance(indicator.other, int):
                places.append(indicator.other)
            if len(free) == 2 or not places[1:]:
                yield indicated(Indicator(free[0], places[0] if places else free[1]), sizes)
            else:
                yield Operand(np.asarray(float(places[0] == places[1])), ())


def row_terms(terms: tuple[FalseTerm, ...], predicate: str, positions: tuple[int, ...]) -> Iterator[RowTerm]:
    """Every choice of atoms inside the row, of every term that has any."""
    for term in terms:
        own = [i for i, factor in enumerate(term.factors) if factor.predicate == predicate]
        for n in range(1, len(own) + 1):
            for inside in combinations(own, n):
                made = _row_term(term, frozenset(inside), positions)
                if made is not None:
                    yield made


def _row_term(term: FalseTerm, inside: frozenset[int], positions: tuple[int, ...]) -> RowTerm | None:
    fixed: dict[str, int] = {}
    alike: list[tuple[int, int]] = []
    for i in sorted(inside):
        for argument, position in enumerate(positions):
            name = term.factors[i].variables[position]
            if fixed.setdefault(name, argument) != argument:
                alike.append((fixed[name], argument))
    pinned: dict[str, int] = {}
    atoms: dict[tuple[str, ...], bool] = {}
    kept: list[Factor] = []
    for i in sorted(inside):
        factor = term.factors[i]
        free = []
        for position, name in enumerate(factor.variables):
            if position in positions:
                continue
            if name in fixed:
                name = f"{name}@{fixed[name]}.{i}"
                pinned[name] = fixed[name.split("@")[0]]
            free.append(name)
        known = atoms.get(tuple(free))
        if known is None:
            atoms[tuple(free)] = factor.positive
            kept.append(Factor(factor.predicate, tuple(free), factor.positive))
        elif known != factor.positive:
            return None  # one atom, true and false at once
    outside = tuple(factor for i, factor in enumerate(term.factors) if i not in inside)
    return RowTerm(term, tuple(kept), outside, fixed, pinned, tuple(alike))


@dataclass(frozen=True, eq=False)
class Rows:
    """Which arguments of a predicate are fixed, and how a row is drawn."""

    positions: tuple[int, ...]
    terms: tuple[RowTerm, ...]
    program: Program
    n_rows: int


class RowUnit:
    """A predicate, row after row."""

    def __init__(
        self,
        predicate: str,
        rows: Rows,
        known: Known,
        sizes: tuple[int, ...],
        changing: Collection[str],
    ) -> None:
        self.predicate, self.sizes, self.changing = predicate, sizes, frozenset(changing)
        self.positions, self.terms, self.program = rows.positions, rows.terms, rows.program
        self._known = known
        self._schedules: dict[tuple[int, ...], Schedule] = {}

    def draw(self, values: Mapping[str, Bools], n_chains: int, rng: np.random.Generator) -> Drawn:
        """New values of all rows, each given the rows drawn before it."""
        current = values[self.predicate].copy()
        probability = np.zeros(current.shape)
        falsities = {True: (~current).astype(np.float64), False: current.astype(np.float64)}
        rows = np.ndindex(*(self.sizes[i] for i in self.positions))
        for row in rows:
            at = self._at(row)
            for array in falsities.values():
                array[at] = 0.0
            coefficient = {
                number: term.coefficient(row, values, falsities, self.predicate, self.changing, self.program.axis_of[number])
                for number, term in enumerate(self.terms)
            }
            drawn = self._schedule(row).draw(coefficient, n_chains, rng)
            current[at] = drawn.value[self.predicate]
            probability[at] = drawn.probability[self.predicate]
            falsities[True][at], falsities[False][at] = ~current[at], current[at]
        return Drawn({self.predicate: current}, {self.predicate: probability})

    def _at(self, row: tuple[int, ...]) -> tuple[int | slice, ...]:
        place = dict(zip(self.positions, row, strict=True))
        return (slice(None), *(place.get(i, slice(None)) for i in range(len(self.sizes))))

    def _schedule(self, row: tuple[int, ...]) -> Schedule:
        known = self._known
        key = row if known.true is not None else ()
        if key not in self._schedules:
            at = self._at(row)[1:]
            if known.true is not None and known.unknown is not None:
                known = Known(known.true[at], known.unknown[at])
            free = {self.predicate: tuple(size for i, size in enumerate(self.sizes) if i not in self.positions)}
            self._schedules[key] = Schedule(self.program, {self.predicate: known}, free)
        return self._schedules[key]


def rows_of(predicate: str, terms: tuple[FalseTerm, ...], sizes: tuple[int, ...]) -> Rows:
    """The arguments to fix that leave the fewest rows, each of which theorem proving can draw."""
    choices = [c for n in range(1, len(sizes) + 1) for c in combinations(range(len(sizes)), n)]
    choices.sort(key=lambda c: (prod(sizes[i] for i in c), c))
    for positions in choices:
        made = tuple(row_terms(terms, predicate, positions))
        free = {predicate: tuple(size for i, size in enumerate(sizes) if i not in positions)}
        try:
            program = compile_cluster([term.inner(i) for i, term in enumerate(made)], free)
        except Unliftable:
            continue
        return Rows(positions, made, program, prod(sizes[i] for i in positions))
    raise Unliftable(f"the atoms of {predicate} cannot be told apart")  # an atom alone is always a coin
