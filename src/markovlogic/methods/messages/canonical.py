"""Constants in classes: tuples of them up to exchanges inside the classes, with how many tuples each stands for.

A tuple is *canonical* if in every class its constants are the first members, in the order in which they first occur: every tuple
can be brought to that form by exchanges inside classes, in one way. Constants of all types are numbered together.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property

import numpy as np

from markovlogic.data.evidence import UNKNOWN, codes, decode
from markovlogic.problem import Problem
from markovlogic.system.arrays import Bool, Float64, Int8, Int32, Int64, each_once, offsets


class Constants:
    """All constants of a problem, in classes whose members nothing tells apart."""

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
