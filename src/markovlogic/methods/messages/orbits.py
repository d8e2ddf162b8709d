"""Ground clauses of a template up to exchanges of constants: each kind once, with its weight and how many there are.

The substitutions of a template fall into canonical ones (`canonical`), each of which stands for many. What evidence leaves of a
substituted clause is a set of literals; two sets that exchanges map to each other are of one kind. The kind's name is its
smallest form over all orders of its constants. The orders that give this form are the exchanges that leave the set as it is, so
the kind has (ways to choose its constants) / (their number) ground clauses. A grounding of the rules merges equal clauses, so
the weight of each is the weight of all substitutions of its kind, divided by the number of its clauses.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from markovlogic.data.evidence import TRUE, UNKNOWN, codes, decode
from markovlogic.language.syntax import Term, Variable
from markovlogic.language.templates import ClauseTemplate, EqualityLiteral
from markovlogic.problem import Problem
from markovlogic.system.arrays import Bool, Float64, Int8, Int32, Int64, each_once, offsets


class Constants:
    """All constants of a problem, in classes whose members nothing distinguishes."""

    def __init__(self, problem: Problem, class_of: Mapping[str, Int32]) -> None:
        self._types = list(problem.domains)
        self.first = dict(zip(self._types, offsets([len(problem.domains[t]) for t in self._types]).tolist(), strict=False))
        n_classes = [int(class_of[t].max(initial=-1)) + 1 for t in self._types]
        self.first_class = dict(zip(self._types, offsets(n_classes).tolist(), strict=False))
        self.n_classes = dict(zip(self._types, n_classes, strict=True))
        parts = [class_of[t].astype(np.int64) + self.first_class[t] for t in self._types]
        self.class_of: Int64 = np.concatenate(parts) if parts else np.zeros(0, np.int64)
        self.size: Int64 = np.bincount(self.class_of, minlength=sum(n_classes)).astype(np.int64)
        self._order = np.argsort(self.class_of, kind="stable")
        self._begin = offsets(self.size)

    def member(self, in_class: Int64, rank: Int64) -> Int64:
        """The constant of that rank in its class."""
        member: Int64 = self._order[self._begin[in_class] + rank]
        return member

    def rows_at_most(self, types: Sequence[str]) -> int:
        """How many canonical tuples there are at most."""
        seen: dict[str, int] = {}
        rows = 1
        for type_name in types:
            rows *= self.n_classes[type_name] + seen.get(type_name, 0)
            seen[type_name] = seen.get(type_name, 0) + 1
        return rows

    def tuples(self, types: Sequence[str]) -> tuple[Int64, Float64]:
        """All canonical tuples of these types, (n, arity), and how many tuples each stands for."""
        value, rank = np.zeros((1, 0), np.int64), np.zeros((1, 0), np.int64)
        count = np.ones(1)
        for type_name in types:
            own = self.first_class[type_name] + np.arange(self.n_classes[type_name])
            used = np.zeros((len(value), len(own)), np.int64)  # constants of each class so far
            for at in range(value.shape[1]):
                used = np.maximum(used, np.where(self.class_of[value[:, at], None] == own, rank[:, at, None] + 1, 0))
            choices = np.minimum(used + 1, self.size[own])
            row, column = np.divmod(np.repeat(np.arange(used.size), choices.ravel()), max(len(own), 1))
            begin = offsets(choices.ravel())
            new = np.arange(len(row)) - np.repeat(begin[:-1], choices.ravel())
            before = used[row, column]
            count = count[row] * np.where(new == before, self.size[own][column] - before, 1)
            value = np.column_stack([value[row], self.member(own[column], new)])
            rank = np.column_stack([rank[row], new])
        return value, count

    def canonical(self, value: Int64) -> Int64:
        """Tuples (n, arity) in canonical form; see also `labelled`."""
        return self.labelled(value, self.class_of[value], range(value.shape[1]))

    def labelled(self, value: Int64, in_class: Int64, order: Sequence[int]) -> Int64:
        """Tuples with the constants of each class replaced by its first members, in the order of first occurrence by `order`."""
        rank = np.zeros_like(value)
        n_new: list[tuple[int, Bool]] = []  # columns so far, and in which rows each is a constant that was not there before
        for at in order:
            fresh = np.ones(len(value), bool)
            for other, _ in n_new:
                same = value[:, other] == value[:, at]
                rank[same, at] = rank[same, other]
                fresh &= ~same
            earlier = np.zeros(len(value), np.int64)
            for other, new in n_new:
                earlier += new & (in_class[:, other] == in_class[:, at])
            rank[fresh, at] = earlier[fresh]
            n_new.append((at, fresh))
        return self.member(in_class, rank)


class Atoms:
    """Open atoms up to exchanges of constants: the nodes of a lifted graph."""

    def __init__(self, problem: Problem, constants: Constants) -> None:
        self._problem, self._constants = problem, constants
        self.predicates = tuple(problem.statuses)
        self.number = {name: number for number, name in enumerate(self.predicates)}
        self._first = offsets([problem.statuses[name].n_ground for name in self.predicates])

    def key(self, predicate: str, value: Int64) -> Int64:
        """Numbers of ground atoms among all of all predicates; value: (n, arity) constants."""
        problem = self._problem
        types = problem.model.predicates[predicate].types
        local = value - np.array([self._constants.first[t] for t in types], np.int64)
        key: Int64 = self._first[self.number[predicate]] + codes(local, problem.statuses[predicate].sizes)
        return key

    def status(self, predicate: str, value: Int64) -> Int8:
        """What is known of ground atoms."""
        statuses = self._problem.statuses[predicate]
        return statuses.lookup(self.key(predicate, value) - self._first[self.number[predicate]])

    def values(self, predicate: str, code: Int64) -> Int64:
        """Constants of ground atoms, given by their numbers within the predicate."""
        types = self._problem.model.predicates[predicate].types
        local = decode(code, self._problem.statuses[predicate].sizes).astype(np.int64)
        return local + np.array([self._constants.first[t] for t in types], np.int64)

    @cached_property
    def _nodes(self) -> tuple[Int64, Float64]:
        keys, members = [np.zeros(0, np.int64)], [np.zeros(0)]
        for name in self.predicates:
            if self._problem.statuses[name].n_open:
                value, count = self._constants.tuples(self._problem.model.predicates[name].types)
                is_open = self.status(name, value) == UNKNOWN
                keys.append(self.key(name, value[is_open]))
                members.append(count[is_open])
        key, member = np.concatenate(keys), np.concatenate(members)
        order = np.argsort(key)
        return key[order], member[order]

    @property
    def members(self) -> Float64:
        """How many atoms each node stands for."""
        return self._nodes[1]

    def nodes(self, predicate: str, value: Int64) -> Int64:
        """The node of each open ground atom."""
        return np.searchsorted(self._nodes[0], self.key(predicate, self._constants.canonical(value)))

    def nodes_of_keys(self, key: Int64) -> Int64:
        """The node of each open ground atom, given by its number among all atoms."""
        found = np.zeros(len(key), np.int64)
        owner = np.searchsorted(self._first, key, side="right") - 1
        for number in each_once(owner):
            rows = np.flatnonzero(owner == number)
            name = self.predicates[number]
            found[rows] = self.nodes(name, self.values(name, key[rows] - self._first[number]))
        return found


class TooManyError(Exception):
    """Constants fall into too many classes, or rules hold what is not lifted here. The message names the cause."""


@dataclass(frozen=True, eq=False)
class Kinds:
    """Kinds of ground clauses of one length that a template gives."""

    key: Int64  # (n, length) the literals of one of them, 2·atom + sign, sorted: equal rows are one kind
    number: Float64  # (n,) ground clauses of the kind
    weight: Float64  # (n,) of all its substitutions together; inf where hard


@dataclass(frozen=True, eq=False)
class Left:
    """What evidence leaves of a template's substitutions."""

    satisfied: float  # substitutions that are true whatever open atoms are
    falsified: float
    kinds: tuple[Kinds, ...]


class Substituted:
    """A template's canonical substitutions."""

    def __init__(self, template: ClauseTemplate, problem: Problem, constants: Constants, atoms: Atoms) -> None:
        self._template, self._problem, self._constants, self._atoms = template, problem, constants, atoms
        self._value, self.count = constants.tuples([type_name for _, type_name in template.variables])
        self._column = {name: at for at, (name, _) in enumerate(template.variables)}
        self._type = dict(template.variables)

    def _of(self, term: Term, type_name: str) -> Int64:
        """The constant that stands for a term, in every substitution."""
        if isinstance(term, Variable):
            return self._value[:, self._column[term.name]]
        number = self._constants.first[type_name] + self._problem.domains[type_name].number(term.name)
        return np.full(len(self._value), number, np.int64)

    def _equal(self, literal: EqualityLiteral) -> Bool:
        sides = (literal.left, literal.right)
        types = [self._type[side.name] for side in sides if isinstance(side, Variable)]
        if not types:
            same = np.full(len(self._value), literal.left.name == literal.right.name)
        else:
            left, right = (self._of(side, types[0]) for side in sides)
            same = left == right
        return same if literal.positive else ~same

    def left(self) -> Left:
        """Evaluate all literals, and sort what is left of the clauses by kind."""
        template, atoms = self._template, self._atoms
        n = len(self._value)
        true = np.zeros(n, bool)
        for equality in template.equalities:
            true |= self._equal(equality)
        args: list[Int64] = []
        keys: list[Int64] = []
        is_open = np.zeros((n, len(template.literals)), bool)
        for at, literal in enumerate(template.literals):
            types = self._problem.model.predicates[literal.predicate].types
            value = np.column_stack([np.zeros((n, 0), np.int64), *map(self._of, literal.args, types)])
            status = atoms.status(literal.predicate, value)
            true |= (status != UNKNOWN) & ((status == TRUE) == literal.positive)
            key = 2 * atoms.key(literal.predicate, value) + literal.positive
            is_open[:, at] = status == UNKNOWN
            for other in range(at):
                both = is_open[:, other] & is_open[:, at]
                true |= both & (keys[other] == key ^ 1)
                is_open[:, at] &= ~(both & (keys[other] == key))
            args.append(value)
            keys.append(key)
        none = ~true & ~is_open.any(axis=1)
        kinds = []
        some = np.flatnonzero(~true & ~none)
        for chosen in _alike(is_open[some]) if len(some) else ():
            kinds.append(self._kinds(args, is_open[some[chosen[0]]], some[chosen]))
        return Left(float(self.count[true].sum()), float(self.count[none].sum()), tuple(kinds))

    def _kinds(self, args: list[Int64], is_open: Bool, rows: Int64) -> Kinds:
        """Kinds of the clauses of some rows, in all of which the same literals are open."""
        places = [int(at) for at in np.flatnonzero(is_open)]
        slots = np.column_stack([np.zeros((len(rows), 0), np.int64), *(args[at][rows] for at in places)])
        key, number = np.zeros((len(rows), len(places)), np.int64), np.zeros(len(rows))
        first = (
            np.stack([np.argmax(slots == slots[:, [at]], axis=1) for at in range(slots.shape[1])], axis=1)
            if slots.size
            else slots
        )
        for here in _alike(first):
            key[here], number[here] = self._smallest(places, slots[here], first[here[0]])
        return Kinds(key, number, self.count[rows] * self.weight)

    @property
    def weight(self) -> float:
        """Of one substitution, those of idle variables included."""
        idle = math.prod(len(self._problem.domains[type_name]) for _, type_name in self._template.idle)
        return self._template.weight * idle if idle else 0.0

    def _smallest(self, places: list[int], slots: Int64, first: Int64) -> tuple[Int64, Float64]:
        """The smallest form of each clause, and how many clauses are of its kind.

        slots: constants of the literals at these places, one after the other; first: where each stands for the first time.
        """
        constants, literals = self._constants, self._template.literals
        own, where = np.unique(first, return_inverse=True)
        distinct = slots[:, own]
        in_class = constants.class_of[distinct]
        best, hits = np.zeros((0, 0), np.int64), np.zeros(len(slots))
        orders = list(itertools.permutations(range(len(own))))
        for order in orders:
            renamed = constants.labelled(distinct, in_class, order)[:, where.ravel()]
            form, at = np.empty((len(slots), len(places)), np.int64), 0
            for column, place in enumerate(places):
                arity = len(literals[place].args)
                atom = self._atoms.key(literals[place].predicate, renamed[:, at : at + arity])
                form[:, column] = 2 * atom + literals[place].positive
                at += arity
            form.sort(axis=1)
            if not hits.any():
                best, hits = form, hits + 1
                continue
            smaller, equal = _compared(form, best)
            best[smaller] = form[smaller]
            hits = np.where(smaller, 1, hits + equal)
        ways, labellings = np.ones(len(slots)), np.ones(len(slots))
        for at in range(len(own)):
            before = (in_class[:, :at] == in_class[:, [at]]).sum(axis=1)
            ways *= constants.size[in_class[:, at]] - before
            labellings *= before + 1
        # every labelling of the classes' constants comes from equally many orders
        fixing = hits * labellings / len(orders)
        return best, ways / fixing


def _alike(rows: Int64 | Bool) -> Iterator[Int64]:
    """Numbers of equal rows."""
    if not rows.shape[1]:
        yield np.arange(len(rows))
        return
    _, pattern = np.unique(rows, axis=0, return_inverse=True)
    order = np.argsort(pattern.ravel(), kind="stable")
    yield from np.split(order, np.flatnonzero(np.diff(pattern.ravel()[order])) + 1)


def _compared(form: Int64, best: Int64) -> tuple[Bool, Bool]:
    """Which rows are smaller than others, column by column, and which are equal."""
    smaller, equal = np.zeros(len(form), bool), np.ones(len(form), bool)
    for column in range(form.shape[1]):
        smaller |= equal & (form[:, column] < best[:, column])
        equal &= form[:, column] == best[:, column]
    return smaller, equal
