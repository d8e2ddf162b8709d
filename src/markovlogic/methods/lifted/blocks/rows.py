"""How a predicate that theorem proving cannot draw whole is divided: into rows, its atoms with some arguments fixed.

`Student(x) ^ Links(x, y) => Student(y)` with known links is an Ising model: no rule applies to Student. Its atoms one after the
other can be drawn all the same, and where a predicate has more arguments, those that need not be fixed stay together. In a term
with several atoms of the predicate some are in the row and some are not: one term for each choice. What a row's program comes to
is either independent atoms, or blocks of atoms of which only the number that are true matters; `counted` draws both.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations
from math import prod

from markovlogic.methods.lifted.blocks.program import Count, Each, InnerTerm, Program, Unliftable, compile_cluster
from markovlogic.methods.lifted.blocks.terms import Factor, FalseTerm


@dataclass(frozen=True, eq=False)
class RowTerm:
    """A term with a choice of which of its atoms are in the row."""

    term: FalseTerm
    inside: tuple[Factor, ...]  # with the arguments that are not fixed
    outside: tuple[Factor, ...]
    pinned: frozenset[str]  # variables of atoms inside that must be a fixed argument's constant

    def inner(self, number: int) -> InnerTerm:
        """What the compiler sees."""
        sizes = dict(self.term.sizes) | {name: self.term.sizes[name.split("@")[0]] for name in self.pinned}
        return InnerTerm(number, self.inside, frozenset(self.varies), sizes)

    @property
    def varies(self) -> tuple[str, ...]:
        """Variables of the row's atoms that something outside tells apart."""
        own = dict.fromkeys(name for factor in self.inside for name in factor.variables)
        seen = {name for factor in self.outside for name in factor.variables} | self.pinned
        for indicator in self.term.indicators:
            seen |= {indicator.variable, str(indicator.other)}
        return tuple(name for name in own if name in seen)


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
    fixed = {term.factors[i].variables[position] for i in inside for position in positions}
    pinned: set[str] = set()
    atoms: dict[tuple[str, ...], bool] = {}
    kept: list[Factor] = []
    for i in sorted(inside):
        factor = term.factors[i]
        free = []
        for position, name in enumerate(factor.variables):
            if position in positions:
                continue
            if name in fixed:
                name = f"{name}@{i}"
                pinned.add(name)
            free.append(name)
        known = atoms.get(tuple(free))
        if known is None:
            atoms[tuple(free)] = factor.positive
            kept.append(Factor(factor.predicate, tuple(free), factor.positive))
        elif known != factor.positive:
            return None  # one atom, true and false at once
    outside = tuple(factor for i, factor in enumerate(term.factors) if i not in inside)
    return RowTerm(term, tuple(kept), outside, frozenset(pinned))


@dataclass(frozen=True, eq=False)
class Rows:
    """Which arguments of a predicate are fixed, and how theorem proving draws a row then."""

    positions: tuple[int, ...]
    program: Program
    n_rows: int

    @property
    def counted(self) -> tuple[int, ...]:
        """Arguments along which only the number of true atoms matters; where there are none, atoms are free of each other."""
        node = self.program.root
        while isinstance(node, Each):
            node = node.child
        if not isinstance(node, Count):
            return ()
        left = [i for i in range(len(self.positions) + len(node.places)) if i not in self.positions]
        return tuple(position for position, place in zip(left, node.places, strict=True) if place is None)


def rows_of(predicate: str, terms: tuple[FalseTerm, ...], sizes: tuple[int, ...]) -> Rows:
    """The arguments to fix such that theorem proving can draw a row: most atoms at once, then fewest rows."""
    best: tuple[tuple[int, int, tuple[int, ...]], Rows] | None = None
    for positions in (c for n in range(1, len(sizes) + 1) for c in combinations(range(len(sizes)), n)):
        made = tuple(row_terms(terms, predicate, positions))
        free = {predicate: tuple(size for i, size in enumerate(sizes) if i not in positions)}
        try:
            program = compile_cluster([term.inner(i) for i, term in enumerate(made)], free)
        except Unliftable:
            continue
        rows = Rows(positions, program, prod(sizes[i] for i in positions))
        rank = (-prod(sizes[i] for i in rows.counted), rows.n_rows, positions)
        if best is None or rank < best[0]:
            best = rank, rows
    assert best is not None  # an atom alone is always a coin
    return best[1]
