"""Marginals and log Z from sums over cells."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from markovlogic.data.evidence import TRUE, UNKNOWN, codes, decode
from markovlogic.data.exclusive import group_of
from markovlogic.methods.lifted.cells.clauses import Key
from markovlogic.methods.lifted.cells.layout import Layout
from markovlogic.methods.lifted.cells.numbers import Numbers, Scalar
from markovlogic.methods.lifted.cells.state import State
from markovlogic.problem import Problem
from markovlogic.system.arrays import Bool, Float64, Int64


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
        """Which atoms some clause speaks of, by the constants at written-out positions."""
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
    """What sums over cells say; sums are made when first asked for, and kept."""

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
        from markovlogic.methods.lifted.cells.draws import draw

        return draw(self, count, np.random.default_rng(seed))
