"""Clauses over groups as rows of a network of blocks.

Two variables of one type differ only where an atom or an equality holds both: p(A, A) is in another block than p(A, B).
Everywhere else the product of shares counts equal objects as it counts others, which is what a clause means.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from math import prod

import numpy as np

from markovlogic.compression.block_states import BlockStates, Reading
from markovlogic.compression.partition import Partition
from markovlogic.compression.shares import Numbering, Pattern
from markovlogic.errors import Fault, ResourceError, UnsupportedError
from markovlogic.kernels.blocks import DEGREE
from markovlogic.language.syntax import Constant, Term, Variable
from markovlogic.language.templates import ClauseTemplate
from markovlogic.problem import Problem
from markovlogic.system.arrays import Bool, Float64, Int32, Int64, each_once, offsets

MOST_CELLS = 30_000_000  # of a clause's array over groups


class TooLong(Exception):
    """A clause holds more open literals than kernels take."""


Atoms = Sequence[tuple[str, tuple[Term, ...], bool]]  # predicate, arguments and sign of each literal


@dataclass(frozen=True, eq=False)
class SummedRows:
    """Parts of the chances of atoms that were summed out."""

    block: Int64  # (n,) which block of theirs
    literal: Int64  # (n, n_literals) 2·block + sign, -1 where the literal is known
    weight: Float64  # (n,)


@dataclass(frozen=True)
class Axis:
    """A class of terms of a clause that stand for one object: its type, and its group where a rule names it."""

    type_name: str
    group: int | None


class Rows:
    """Rows of all clauses so far."""

    def __init__(
        self, problem: Problem, partition: Partition, numbering: Numbering, states: BlockStates, reading: Reading
    ) -> None:
        self._problem, self._partition, self._numbering, self._states, self._reading = (
            problem,
            partition,
            numbering,
            states,
            reading,
        )
        self._made: dict[int, list[tuple[Int64, Float64]]] = {}
        types = [problem.model.predicates[name].types for name in numbering.predicates]
        diagonal = any(len(set(own)) < len(own) for own in types)
        self.exact = reading.weights == "count" and reading.evidence == "split" and (reading.split or not diagonal)
        flat = numbering.joined([array.size - array.count.max(axis=0) for array in numbering.arrays]) == 0
        self._varied = {
            (array.predicate, array.pattern): not bool(_constant(flat, states, numbering, at))
            for at, array in enumerate(numbering.arrays)
        }

    def add(self, template: ClauseTemplate) -> None:
        """Rows of a clause: one for each pattern of equal terms, and assignment of groups to what is left."""
        atoms = [(x.predicate, tuple(_plain(t) for t in x.args), x.positive) for x in template.literals]
        of = {Variable(name): own for name, own in template.variables} | self.types_of(atoms)
        equalities = [(_plain(e.left), _plain(e.right), e.positive) for e in template.equalities]
        for left, right, _ in equalities:
            own = of.get(left) or of[right]
            of.setdefault(left, own)
            of.setdefault(right, own)
        terms = list(of)
        idle = prod(self._domain(own) for _, own in template.idle)
        try:
            for place in self.patterns(terms, of, [args for _, args, _ in atoms], equalities):
                axes = self.axes(terms, of, place)
                holds = any((place[left] == place[right]) == positive for left, right, positive in equalities)
                met = _met(atoms, place)
                if axes is not None and not holds and met is not None:
                    weight = np.full(1, template.weight * idle)
                    self.add_rows(weight, met, place, axes, self.edges(of, atoms, equalities, place))
        except TooLong as reason:
            rule = self._problem.model.rules[template.rule]
            hint = "take weights=literal, which every rule allows"
            raise UnsupportedError(Fault(f"{reason}: {rule.text}", rule.place, hint=hint)) from None

    def types_of(self, atoms: Atoms) -> dict[Term, str]:
        """The types of all terms of some atoms."""
        predicates = self._problem.model.predicates
        return {term: of for name, args, _ in atoms for term, of in zip(args, predicates[name].types, strict=True)}

    def _domain(self, of: str) -> int:
        """What a variable that a clause does not mention multiplies it by."""
        if self._reading.weights == "literal":
            return self._partition.n_groups(of)
        return len(self._problem.domains[of])

    def patterns(
        self,
        terms: Sequence[Term],
        of: Mapping[Term, str],
        atoms: Sequence[tuple[Term, ...]],
        equalities: Sequence[tuple[Term, Term, bool]],
    ) -> Iterator[dict[Term, int]]:
        """Which terms stand for one object: every way, among those that something holds together."""
        together = [*atoms, *((left, right) for left, right, _ in equalities)]
        edges = [
            (one, other)
            for one, other in combinations(terms, 2)
            if of[one] == of[other] and any(one in own and other in own for own in together)
        ]
        if not self._reading.split:
            edges = [(left, right) for left, right, _ in equalities]
        seen = set()
        for chosen in range(1 << len(edges)):
            label = {term: at for at, term in enumerate(terms)}
            for at, (one, other) in enumerate(edges):
                if chosen >> at & 1:
                    old, new = label[other], label[one]
                    label = {term: new if value == old else value for term, value in label.items()}
            order = {value: at for at, value in enumerate(dict.fromkeys(label.values()))}
            place = {term: order[value] for term, value in label.items()}
            name = tuple(place.values())
            if name not in seen:
                seen.add(name)
                yield place

    def edges(
        self,
        of: Mapping[Term, str],
        atoms: Atoms,
        equalities: Sequence[tuple[Term, Term, bool]],
        place: Mapping[Term, int],
    ) -> set[tuple[int, int]]:
        """Pairs of axes that stand for different objects."""
        together = [(left, right) for left, right, _ in equalities]
        if self._reading.split:
            together += [pair for _, args, _ in atoms for pair in combinations(args, 2)]
        pairs = {(place[a], place[b]) for a, b in together if of[a] == of[b] and place[a] != place[b]}
        return {(min(pair), max(pair)) for pair in pairs}

    def axes(self, terms: Sequence[Term], of: Mapping[Term, str], place: Mapping[Term, int]) -> list[Axis] | None:
        """The distinct objects of a pattern; None where it makes two constants one."""
        found: dict[int, Axis] = {}
        for term in terms:
            group = None
            if isinstance(term, Constant):
                number = self._problem.domains[of[term]].number(term.name)
                group = int(self._partition.class_of[of[term]][number])
            before = found.get(place[term])
            if before is not None and before.group is not None and group is not None:
                return None
            kept = group if before is None or group is not None else before.group
            found[place[term]] = Axis(of[term], kept)
        return [found[at] for at in range(len(found))]

    def add_rows(
        self,
        weight: Float64,
        atoms: Atoms,
        place: Mapping[Term, int],
        axes: Sequence[Axis],
        edges: set[tuple[int, int]],
        *,
        carried: frozenset[int] = frozenset(),
    ) -> None:
        """Rows of a clause under one pattern, for every tuple of groups.

        weight: one for all, or over the grid. carried: axes that the weight distinguishes inside of groups.
        """
        grid = self.grid(axes)
        shape = tuple(map(np.size, grid)) or (1,)
        mass = self._substitutions(axes, grid, edges)
        mass = weight * ((mass > 0).astype(np.float64) if self._reading.weights == "literal" else mass)
        falsity, literals, use = self._literals(atoms, place, grid, shape)
        mass = mass * falsity
        for at in carried:
            use.setdefault(at, set()).add(-1)
        merged = [axis.group is None and self._partition.n_groups(axis.type_name) < self._domain_size(axis) for axis in axes]
        self.exact &= all(len(own) < 2 or not merged[at] for at, own in use.items())
        # different objects of one group: shares multiply as if they could be one, unless a single literal mentions both
        both = [(use.get(one, set()), use.get(other, set())) for one, other in edges if merged[one] and merged[other]]
        self.exact &= all(not one or not other or one == other for one, other in both)
        mass = np.broadcast_to(mass, shape)
        kept = np.nonzero(mass)
        rows = np.stack([own[kept] for own in literals], axis=1) if literals else np.zeros((len(kept[0]), 0), np.int64)
        apart = any(merged[one] and merged[other] for one, other in edges)
        self._keep(-np.sort(-rows, axis=1), mass[kept], apart=apart)

    def _literals(
        self, atoms: Atoms, place: Mapping[Term, int], grid: Sequence[Int64], shape: tuple[int, ...]
    ) -> tuple[Float64, list[Int64], dict[int, set[int]]]:
        """How false known literals are, the open ones, and for each axis the literals about it whose atoms are not all alike."""
        falsity, literals, use = np.ones(1), list[Int64](), dict[int, set[int]]()
        for which, (predicate, args, positive) in enumerate(atoms):
            pattern, number = self._blocks(predicate, args, place, grid)
            share = self._states.base[number]
            is_open = self._states.most[number] > 0
            falsity = np.asarray(falsity * np.where(is_open, 1.0, 1.0 - share if positive else share), np.float64)
            literals.append(np.broadcast_to(np.where(is_open, 2 * number + positive, -1), shape))
            if self._varied[predicate, pattern]:
                for term in args:
                    use.setdefault(place[term], set()).add(which)
        return falsity, literals, use

    def _blocks(
        self, predicate: str, args: Sequence[Term], place: Mapping[Term, int], grid: Sequence[Int64]
    ) -> tuple[Pattern, Int64]:
        """The pattern of an atom, and the numbers of its blocks over the grid."""
        own = [place[term] for term in args]
        order = list(dict.fromkeys(own))
        pattern: Pattern = tuple(order.index(at) for at in own) if self._reading.split else tuple(range(len(own)))
        index = tuple(grid[at] for at in (order if self._reading.split else own))
        number = self._numbering.numbers(predicate, pattern)
        return pattern, number[index] if own else number

    def grid(self, axes: Sequence[Axis]) -> tuple[Int64, ...]:
        """All tuples of groups, one axis each; refused where they are too many."""
        ranges = [
            np.arange(self._partition.n_groups(axis.type_name)) if axis.group is None else np.array([axis.group]) for axis in axes
        ]
        if (cells := prod(map(len, ranges))) > MOST_CELLS:
            raise ResourceError(
                f"a rule over groups has {cells:,} instances; at most {MOST_CELLS:,} fit. Fewer groups would do.",
                needed=cells,
                limit=MOST_CELLS,
            )
        return np.ix_(*ranges) if ranges else ()

    def shares(
        self, predicate: str, args: Sequence[Term], place: Mapping[Term, int], grid: Sequence[Int64]
    ) -> tuple[Float64, Float64]:
        """Of the atoms of each block: how many are known to be true, and how many are open."""
        _, number = self._blocks(predicate, args, place, grid)
        return self._states.base[number], self._states.step[number] * self._states.most[number]

    def mixed(self, predicate: str, args: Sequence[Term], place: Mapping[Term, int]) -> frozenset[int]:
        """The axes of an atom where some block has atoms of several statuses; none where all are alike."""
        pattern, _ = self._blocks(predicate, args, place, [np.zeros(1, np.int64)] * (max(place.values(), default=-1) + 1))
        array = self._numbering.arrays[self._numbering.place[predicate, pattern]]
        alike = bool((array.count.max(axis=0) == array.size).all())
        return frozenset() if alike else frozenset(place[term] for term in args)

    def summed_rows(
        self,
        own: tuple[str, Sequence[Term]],
        weight: float,
        atoms: Atoms,
        place: Mapping[Term, int],
        axes: Sequence[Axis],
        edges: set[tuple[int, int]],
    ) -> SummedRows:
        """What describes an atom that has no block of its own: weight · ∏ falsities, for every tuple of groups that has some."""
        grid = self.grid(axes)
        shape = tuple(map(np.size, grid)) or (1,)
        falsity, literals, _ = self._literals(atoms, place, grid, shape)
        _, number = self._blocks(own[0], own[1], place, grid)
        value = np.broadcast_to(weight * falsity * (self._substitutions(axes, grid, edges) > 0), shape)
        kept = np.nonzero(value)
        rows = np.stack([one[kept] for one in literals], axis=1) if literals else np.zeros((len(kept[0]), 0), np.int64)
        return SummedRows(np.broadcast_to(number, shape)[kept], rows, value[kept])

    def _domain_size(self, axis: Axis) -> int:
        return len(self._problem.domains[axis.type_name])

    def _substitutions(self, axes: Sequence[Axis], grid: Sequence[Int64], edges: set[tuple[int, int]]) -> Float64:
        """How many tuples of objects a tuple of groups stands for, those of an edge being different."""
        made = np.ones((1,) * len(axes))
        for at, axis in enumerate(axes):
            own = self._partition.sizes(axis.type_name)[grid[at]].astype(np.float64)
            for before in range(at):
                if (before, at) in edges:
                    own = own - (grid[before] == grid[at])
            made = made * np.maximum(own, 0)
        return made

    def _keep(self, rows: Int64, mass: Float64, *, apart: bool) -> None:
        """Rows by the number of their open literals, equal ones added up; `apart`: they hold merged objects that must differ."""
        length = (rows >= 0).sum(axis=1)
        for n in each_once(length[length > 0]).tolist():
            if n > DEGREE - 1:
                raise TooLong(f"blocks take at most {DEGREE - 1} open literals of a rule, not {n}")
            own = length == n
            self._made.setdefault(n, []).append(_added(rows[own, :n], mass[own]))
            if self.exact and n > 1:
                same = (np.diff(rows[own, :n] >> 1, axis=1) == 0) & (self._states.size[rows[own, 1:n] >> 1] > 1)
                self.exact = not same.any() or (not apart and self._unary(rows[own, :n], same))

    def _unary(self, rows: Int64, same: Bool) -> bool:
        """Whether blocks that occur twice in a row are of one argument: independent objects are squares of shares then."""
        twice = each_once((rows[:, 1:] >> 1)[same])
        at = np.searchsorted(self._numbering.start, twice, side="right") - 1
        return all(len(self._numbering.arrays[i].types) <= 1 for i in each_once(at))

    def merged(self) -> tuple[Int64, Int32, Float64]:
        """All rows: offsets, literals and weights."""
        lengths, literals, weights = [np.zeros(0, np.int64)], [np.zeros(0, np.int64)], [np.zeros(0)]
        for n, parts in sorted(self._made.items()):
            rows, mass = _added(np.concatenate([p[0] for p in parts]), np.concatenate([p[1] for p in parts]))
            lengths.append(np.full(len(rows), n))
            literals.append(rows.reshape(-1))
            weights.append(mass)
        return offsets(np.concatenate(lengths)), np.concatenate(literals).astype(np.int32), np.concatenate(weights)


def _added(rows: Int64, mass: Float64) -> tuple[Int64, Float64]:
    """Equal rows once, their weights added up."""
    if not len(rows):
        return rows, mass
    order = np.lexsort(rows.T[::-1])
    rows, mass = rows[order], mass[order]
    first = np.concatenate([[True], np.any(rows[1:] != rows[:-1], axis=1)])
    return rows[first], np.add.reduceat(mass, np.flatnonzero(first))


def _constant(flat: Bool, states: BlockStates, numbering: Numbering, at: int) -> bool:
    """Whether all blocks of an array are known, and inside each of them all atoms agree."""
    own = slice(int(numbering.start[at]), int(numbering.start[at + 1]))
    return bool(flat[own].all() and not states.reported[own].any())


def _met(atoms: Atoms, place: Mapping[Term, int]) -> Atoms | None:
    """Literals of different atoms: those that a pattern makes one are one; None where an atom and its negation met."""
    found: dict[tuple[str, tuple[int, ...]], tuple[str, tuple[Term, ...], bool]] = {}
    for predicate, args, positive in atoms:
        before = found.setdefault((predicate, tuple(place[term] for term in args)), (predicate, args, positive))
        if before[2] != positive:
            return None
    return list(found.values())


def _plain(term: Term) -> Term:
    return Variable(term.name) if isinstance(term, Variable) else Constant(term.name)
