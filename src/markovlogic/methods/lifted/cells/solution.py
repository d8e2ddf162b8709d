"""Marginals and log Z from sums over cells."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from markovlogic.data.evidence import TRUE, UNKNOWN, codes, decode, group_of
from markovlogic.errors import Fault, ResourceError, UnsupportedError
from markovlogic.methods.lifted.cells.cell_layout import Layout
from markovlogic.methods.lifted.cells.clauses import Key
from markovlogic.methods.lifted.cells.numbers import Numbers, Scalar
from markovlogic.methods.lifted.cells.pairs import LinkPart
from markovlogic.methods.lifted.cells.state import State
from markovlogic.problem import Problem
from markovlogic.system import cancellation
from markovlogic.system.arrays import Bool, Float64, Int64, each_once


@dataclass(frozen=True, eq=False)
class Untouched:
    """Open atoms that no clause mentions: fair coins, or one value of an exclusive group, all alike."""

    problem: Problem
    mentioned: frozenset[Key]

    def log_worlds(self) -> float:
        """The logarithm of the number of their assignments."""
        found = []
        for name, statuses in self.problem.statuses.items():
            if any(self.problem.model.predicates[name].exclusive):
                if not self.mentions(name):
                    groups = [group for group in self.problem.groups if group.predicate == name]
                    found += [float(np.log(np.diff(group.start)).sum()) for group in groups]
                continue
            own = [key for key in self.mentioned if key.predicate == name]
            if not own:
                found.append(statuses.n_open * math.log(2))
            elif any(number is not None for number in own[0].fixed):
                open_ = self.problem.atoms.codes(name)
                found.append(float(np.count_nonzero(~self.is_mentioned(name, open_))) * math.log(2))
        return math.fsum(found)

    def mentions(self, predicate: str) -> bool:
        """Whether any clause does."""
        return any(key.predicate == predicate for key in self.mentioned)

    def is_mentioned(self, predicate: str, code: Int64) -> Bool:
        """Which atoms some clause mentions, by the constants at written-out positions."""
        own = [key for key in self.mentioned if key.predicate == predicate]
        args = decode(code, self.problem.statuses[predicate].sizes)
        found = np.zeros(len(code), np.bool_)
        for key in own:
            found |= np.all([args[:, at] == n for at, n in enumerate(key.fixed) if n is not None] or [found | True], axis=0)
        return found

    def marginal(self, predicate: str, code: Int64) -> Float64:
        """One half, or one over the number of values that are left."""
        marks = self.problem.model.predicates[predicate].exclusive
        if not any(marks):
            return np.full(len(code), 0.5)
        sizes = self.problem.statuses[predicate].sizes
        every = group_of(decode(self.problem.atoms.codes(predicate), sizes), sizes, marks)
        distinct, count = np.unique(every, return_counts=True)
        return np.asarray(1.0 / count[np.searchsorted(distinct, group_of(decode(code, sizes), sizes, marks))], np.float64)


class CellSolution:
    """The results of sums over cells. Sums are made when first needed, and kept."""

    def __init__(self, layout: Layout, numbers: Numbers, states: Sequence[State]) -> None:
        self.layout, self.numbers, self.states = layout, numbers, states
        self.problem = layout.objects.problem
        self.untouched = Untouched(self.problem, frozenset(layout.factors.keys))
        self._known: dict[tuple[Key, tuple[int, ...]], float] = {}
        self.rounding = 0.0  # about how far marginals may be off because floats round; `CellWork.solve` finds out
        with numbers.active():
            outside = np.array([state.outside for state in states]) if states else numbers.zeros((0,))
            self.unit = numbers.size(numbers.unit(outside))
            for state in states:
                state.unit = self.unit

    @cached_property
    def total(self) -> Scalar:
        """The sum over all worlds of the mentioned atoms, in its unit and without the constants of clauses."""
        return self._sum([state.total for state in self.states])

    @property
    def log_z(self) -> float:
        """Natural logarithm of the partition function, in the convention of exact inference."""
        with self.numbers.active():
            parts = (self.numbers.log(self.total), self.numbers.log(self.unit), self.untouched.log_worlds())
            return math.fsum((*parts, self.layout.objects.flat.constant))

    def marginal(self, predicate: str, code: Int64) -> Float64:
        """P(atom) for atoms of one predicate, given by their codes; 0 or 1 for known ones."""
        statuses = self.problem.statuses[predicate]
        status = statuses.lookup(code)
        found: Float64 = (status == TRUE).astype(np.float64)
        is_open = status == UNKNOWN
        if not self.untouched.mentions(predicate):
            found[is_open] = self.untouched.marginal(predicate, code[is_open])
            return found
        mentioned = self.untouched.is_mentioned(predicate, code)
        found[is_open & ~mentioned] = 0.5
        rows = np.flatnonzero(is_open & mentioned)
        found[rows] = self._mentioned(predicate, decode(code[rows], statuses.sizes).astype(np.int64))
        return found

    def _mentioned(self, predicate: str, args: Int64) -> Float64:
        """By key, by the classes of the objects, and by whether the two objects of a binary atom are the same."""
        objects = self.layout.objects
        types = objects.flat.types[predicate]
        label = args.copy()
        places = [at for at, of in enumerate(types) if of not in objects.flat.written_out]
        for at in places:
            label[:, at] = objects.class_of[types[at]][args[:, at]]
        same = np.zeros(len(args), np.int64)
        if len(places) == 2 and types[places[0]] == types[places[1]]:
            same = (args[:, places[0]] == args[:, places[1]]).astype(np.int64)
        radix = tuple(len(objects.classes) if at in places else size for at, size in enumerate(self._sizes(predicate)))
        name = codes(label, radix) * 2 + same  # few numbers, since classes and written-out constants are few
        met = np.flatnonzero(np.bincount(name, minlength=2 * math.prod(radix)))
        value: Float64 = np.empty(2 * math.prod(radix), np.float64)
        for number, entry in zip(met.tolist(), decode(met >> 1, radix).tolist(), strict=True):
            key = Key(predicate, tuple(None if at in places else entry[at] for at in range(len(types))))
            classes = tuple(entry[at] for at in places)
            value[number] = self._chance(key, classes[:1] if number & 1 else classes)
        return np.asarray(value[name], np.float64)

    def _sizes(self, predicate: str) -> tuple[int, ...]:
        return self.problem.statuses[predicate].sizes

    def _chance(self, key: Key, classes: tuple[int, ...]) -> float:
        """P(atom) for objects of these classes; the same object twice counts once."""
        if (key, classes) not in self._known:
            with self.numbers.active():
                part = self._sum([self._part(state, key, classes) for state in self.states])
                self._known[key, classes] = float(self.numbers.share(np.asarray(part), self.total))
        return self._known[key, classes]

    def _part(self, state: State, key: Key, classes: tuple[int, ...]) -> Scalar:
        if not classes:
            return state.total if state.given[key] else self.numbers.zeros((1,))[0]
        if len(classes) == 1:
            of = self.layout.objects.classes[classes[0]].type_name
            return state.unary(classes[0], self.layout.column[of, key])
        one, other = classes
        if one <= other:
            return state.binary((one, other), key, False)
        return state.binary((other, one), key, True)

    def _sum(self, parts: list[Scalar]) -> Scalar:
        found = self.numbers.zeros((1,))[0]
        for part in parts:
            found = self.numbers.plus(found, part)
        return found

    def draw(self, count: int, seed: int) -> Bool:
        """Independent exact draws, one row a world, one column an open atom, in the order of the problem's numbers."""
        return draw(self, count, np.random.default_rng(seed))


MOST_BITS = 4_000_000_000  # truth values of all draws, one byte each
BITS_AT_ONCE = 20_000_000


def draw(solution: CellSolution, count: int, rng: np.random.Generator) -> Bool:
    """One row a world, one column an open atom."""
    problem, flat = solution.problem, solution.layout.objects.flat
    if flat.skolem:
        rule = problem.model.rules[flat.first_existential]
        raise UnsupportedError(
            Fault(
                "no exact draws: the sums over this existential have negative terms",
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
