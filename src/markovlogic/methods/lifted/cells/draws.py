"""Independent exact draws from sums over cells (papers.md 3.2).

Draw the 0-ary atoms, then the count vector of every component, its split among lumps from the last one back, then which object
is of which kind (all ways are alike), the cell of each object given its kind, and the binary atoms of every pair given both.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from markovlogic.data.evidence import UNKNOWN, codes
from markovlogic.errors import Fault, ResourceError, UnsupportedError
from markovlogic.methods.lifted.cells.clauses import Key
from markovlogic.methods.lifted.cells.pairs import LinkPart
from markovlogic.methods.lifted.cells.state import State
from markovlogic.problem import Problem
from markovlogic.system import cancellation
from markovlogic.system.arrays import Bool, Int64, each_once

if TYPE_CHECKING:
    from markovlogic.methods.lifted.cells.solution import CellSolution

MOST_BITS = 4_000_000_000  # truth values of all draws, one byte each
BITS_AT_ONCE = 20_000_000


def draw(solution: CellSolution, count: int, rng: np.random.Generator) -> Bool:
    """One row a world, one column an open atom."""
    problem, flat = solution.problem, solution.layout.objects.flat
    if flat.skolem:
        rule = problem.model.rules[flat.first_existential]
        raise UnsupportedError(
            Fault(
                "no exact draws: the sums over this existential have terms of either sign, which are no probabilities",
                rule.place,
                rule.text,
                hint="take the worlds of a sampler instead",
            )
        )
    n_atoms = len(problem.atoms)
    if count * n_atoms > MOST_BITS:
        raise ResourceError(
            f"{count:,} worlds of {n_atoms:,} atoms are too many at once", needed=count * n_atoms, limit=MOST_BITS
        )
    world = np.zeros((count, n_atoms), np.bool_)
    chance = solution.numbers.share(np.array([state.total for state in solution.states]), solution.total)
    which = rng.choice(len(chance), size=count, p=chance / chance.sum())
    step = max(1, BITS_AT_ONCE // max(1, n_atoms))
    for at, state in enumerate(solution.states):
        rows = np.flatnonzero(which == at)
        for begin in range(0, len(rows), step):
            cancellation.check()
            some = rows[begin : begin + step]
            world[some] = _Drawing(solution, state, len(some), rng).world
    return world


class _Drawing:
    """Some draws under one assignment of the 0-ary atoms."""

    def __init__(self, solution: CellSolution, state: State, count: int, rng: np.random.Generator) -> None:
        self.problem, self.layout, self.state = solution.problem, solution.layout, state
        self.count, self.rng = count, rng
        self.world = np.zeros((count, len(self.problem.atoms)), np.bool_)
        self._untouched(solution)
        for key, truth in state.given.items():
            self._set(key, [], np.full((count, 1), truth))
        cells = self._cells()
        for at, cell in enumerate(cells):
            self._single(at, cell)
        for classes, table in state.tables.pairs.items():
            for part in table.parts:
                self._pairs(classes, part, cells)

    def _cells(self) -> list[Int64]:
        """For each class the cell of each of its objects in every draw, (count, n_objects)."""
        classes = self.layout.objects.classes
        cells = [np.zeros((self.count, len(own)), np.int64) for own in classes]
        for sums in self.state.sums:
            split = sums.splits(self.count, self.rng)
            for lump, counts in zip(sums.component.lumps, split, strict=True):
                kinds = np.repeat(np.tile(np.arange(counts.shape[1]), self.count), counts.ravel()).reshape(self.count, lump.size)
                kinds = self.rng.permuted(kinds, axis=1)
                begin = 0
                for class_ in lump.classes:
                    own = kinds[:, begin : begin + len(classes[class_])]
                    begin += len(classes[class_])
                    for kind in each_once(own):
                        cells[class_][own == kind] = self._of_kind(class_, int(kind), int(np.count_nonzero(own == kind)))
        return cells

    def _of_kind(self, class_: int, kind: int, size: int) -> Int64:
        """Cells of objects that are known to be of a kind."""
        own = self.state.tables.cells[class_]
        weight = self.state.cell_weights[class_]
        members = np.flatnonzero(self.state.kinds(class_)[own.profile] == kind)
        share = self.state.numbers.share(weight[members], self.state.numbers.total(weight[members]))
        return members[self.rng.choice(len(members), size=size, p=share / share.sum())]

    def _single(self, class_: int, cell: Int64) -> None:
        own = self.layout.objects.classes[class_]
        for column, key in enumerate(self.layout.single[own.type_name]):
            objects = [own.members] * len(key.open_positions)
            self._set(key, objects, self.state.tables.cells[class_].truth[:, column][cell])

    def _pairs(self, classes: tuple[int, int], part: LinkPart, cells: Sequence[Int64]) -> None:
        """The links of every pair of objects, independent given their cells."""
        own = [self.layout.objects.classes[at] for at in classes]
        if classes[0] == classes[1]:
            one, other = np.triu_indices(len(own[0]), 1)
        else:
            one, other = (each.ravel() for each in np.indices((len(own[0]), len(own[1]))))
        profile = [self.state.tables.cells[at].profile[cells[at]] for at in classes]
        share = self.state.numbers.share(part.value, np.where(np.isneginf(part.total), 0.0, part.total))
        upto = np.cumsum(share, axis=0)
        first, second = profile[0][:, one], profile[1][:, other]
        number = self.rng.random(first.shape)
        drawn = np.zeros(first.shape, np.int64)
        for at in range(len(upto) - 1):
            drawn += number > upto[at][first, second] / upto[-1][first, second]
        for at, (key, swapped) in enumerate(part.links):
            objects = [own[0].members[one], own[1].members[other]]
            self._set(key, objects[::-1] if swapped else objects, (drawn >> at) & 1 == 1)

    def _set(self, key: Key, objects: Sequence[Int64], truth: Bool) -> None:
        """Write the open ones of a list of atoms of one key."""
        statuses = self.problem.statuses[key.predicate]
        args = np.empty((truth.shape[1], len(key.fixed)), np.int64)
        left = iter(objects)
        for at, number in enumerate(key.fixed):
            args[:, at] = next(left) if number is None else number
        code = codes(args, statuses.sizes)
        is_open = statuses.lookup(code) == UNKNOWN
        self.world[:, self.problem.atoms.numbers(key.predicate, code[is_open])] = truth[:, is_open]

    def _untouched(self, solution: CellSolution) -> None:
        """Coins, and uniform values of exclusive groups."""
        problem: Problem = self.problem
        for name in problem.statuses:
            own = problem.atoms.range_of(name)
            if any(problem.model.predicates[name].exclusive):
                if not solution.untouched.mentions(name):
                    self._untouched_groups(name)
                continue
            code = problem.atoms.codes(name)
            free = np.flatnonzero(~solution.untouched.is_mentioned(name, code)) + own.start
            self.world[:, free] = self.rng.random((self.count, len(free))) < 0.5

    def _untouched_groups(self, name: str) -> None:
        for group in self.problem.groups:
            if group.predicate == name:
                size = np.diff(group.start)
                chosen = group.start[:-1] + self.rng.integers(0, size, (self.count, len(size)))
                self.world[np.arange(self.count)[:, None], group.atom[chosen]] = True
