"""What sums over cells need, whatever the 0-ary atoms are: keys about one object and about two, with statuses."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from markovlogic.data.evidence import UNKNOWN, codes
from markovlogic.methods.lifted.cells.cell_factors import Factor, Factors, Side
from markovlogic.methods.lifted.cells.clauses import FlatModel, Key, TooLarge
from markovlogic.problem import Problem
from markovlogic.symmetry.twins import classes_by_evidence, relations_of, set_apart
from markovlogic.system.arrays import Bool, Int8, Int32, Int64

MOST_CLASSES = 64  # so that planning, which makes a table for every two of them, stays within a second


@dataclass(frozen=True, eq=False)
class ObjectClass:
    """Objects of one type that are exchangeable."""

    type_name: str
    members: Int64  # sorted

    def __len__(self) -> int:
        return len(self.members)


@dataclass(frozen=True, eq=False)
class Objects:
    """The classes of all types that are not written out, and statuses of their atoms."""

    problem: Problem
    flat: FlatModel
    classes: tuple[ObjectClass, ...]
    class_of: Mapping[str, Int32]  # for each such type the class of every object

    def status(self, key: Key, *at: int) -> int:
        """What is known of the atom of a key whose objects are first members of these classes; other members know the same.

        The same class twice stands for two different objects of it; `reflexive` is for the same object twice.
        """
        seen: Counter[int] = Counter()
        objects = []
        for number in at:
            objects.append(int(self.classes[number].members[seen[number]]))
            seen[number] += 1
        return self._status(key, objects)

    def reflexive(self, key: Key, at: int) -> int:
        """What is known of a binary atom with the same object twice."""
        return self._status(key, [int(self.classes[at].members[0])] * 2)

    def _status(self, key: Key, objects: list[int]) -> int:
        if key.predicate in self.flat.hidden:
            return UNKNOWN
        left = iter(objects)
        args = np.array([[next(left) if number is None else number for number in key.fixed]], np.int64).reshape(1, -1)
        statuses = self.problem.statuses[key.predicate]
        return int(statuses.lookup(codes(args, statuses.sizes))[0])

    def pinned(self, type_name: str, number: int) -> int:
        """The class of an object that a rule names: it is alone there."""
        return int(self.class_of[type_name][number])


def object_classes(problem: Problem, flat: FlatModel, keys: set[Key]) -> Objects:
    """Classes by what is known of the mentioned predicates; refuses (TooLarge) where binary evidence leaves too many."""
    mentioned = {key.predicate for key in keys}
    relations = [relation for name, relation in relations_of(problem).items() if name in mentioned]
    alone: dict[str, set[int]] = {}
    for clause in flat.clauses:
        for of, number in zip(clause.types, clause.pinned, strict=True):
            if number is not None:
                alone.setdefault(of, set()).add(number)
    used = {of for key in keys for of in flat.open_types(key)}
    used |= {of for clause in flat.clauses for of in clause.types}
    classes: list[ObjectClass] = []
    class_of = {}
    for of in sorted(used):
        own = classes_by_evidence(of, len(problem.domains[of]), relations)
        own = set_apart(own, np.array(sorted(alone.get(of, ())), np.int64))
        count = int(own.max()) + 1
        if count + len(classes) > MOST_CLASSES:
            raise TooLarge(_too_many(problem, of, count, mentioned))
        class_of[of] = own + np.int32(len(classes))
        order = np.argsort(own, kind="stable")
        parts = np.split(order, np.flatnonzero(np.diff(own[order])) + 1)
        classes += [ObjectClass(of, part.astype(np.int64)) for part in parts]
    return Objects(problem, flat, tuple(classes), class_of)


def _too_many(problem: Problem, of: str, count: int, mentioned: set[str]) -> str:
    """Name the predicate whose facts distinguish most objects of the type."""
    known = [
        (len(statuses.code), name)
        for name, statuses in problem.statuses.items()
        if name in mentioned and of in problem.model.predicates[name].types
    ]
    _, name = max(known, default=(0, ""))
    return f"the evidence about {name} tells {count:,} classes of {of} apart, and lifting pays for at most {MOST_CLASSES}"


@dataclass(frozen=True, eq=False)
class Layout:
    """What is the same for all values of the 0-ary atoms: the keys about one object of each type, and statuses."""

    objects: Objects
    factors: Factors
    single: Mapping[str, tuple[Key, ...]]  # by type
    seen: Mapping[str, Bool]  # which of them pairs and counts see
    links: tuple[Key, ...]  # keys with two open positions
    link_status: Mapping[Key, Int8]  # (n_classes, n_classes); of different objects

    @cached_property
    def column(self) -> dict[tuple[str, Key], int]:
        """Where a key stands among those of its type."""
        return {(of, key): at for of, keys in self.single.items() for at, key in enumerate(keys)}

    @cached_property
    def pins(self) -> frozenset[int]:
        """Classes of the objects that rules name."""
        return frozenset(
            self.objects.pinned(of, number)
            for factor in (*self.factors.single, *self.factors.pair)
            for of, number in zip(factor.types, factor.pinned, strict=True)
            if number is not None
        )

    def fits(self, factor: Factor, at: int, class_: int) -> bool:
        """Whether a factor's object may belong to a class."""
        own = self.objects.classes[class_]
        number = factor.pinned[at]
        return own.type_name == factor.types[at] and (number is None or self.objects.pinned(own.type_name, number) == class_)


def layout_of(objects: Objects, factors: Factors) -> Layout:
    """Keys by the objects they mention."""
    single: dict[str, set[Key]] = {of: set() for of in objects.class_of}
    links: set[Key] = set()
    for key in factors.keys:
        own = objects.flat.open_types(key)
        if len(own) > 2:
            raise TooLarge(f"{key.predicate} takes {len(own)} objects")
        if len(own) == 2:
            links.add(key)
        if len(own) == 1 or (len(own) == 2 and own[0] == own[1]):
            single[own[0]].add(key)
    ordered = {of: tuple(sorted(keys)) for of, keys in single.items()}
    seen = {of: np.zeros(len(keys), np.bool_) for of, keys in ordered.items()}
    for factor in (*factors.pair, *factors.count):
        for of, side in zip(factor.types, factor.sides, strict=True):
            for key, _ in side:
                seen[of][ordered[of].index(key)] = True
    return Layout(objects, factors, ordered, seen, tuple(sorted(links)), {key: _link_status(objects, key) for key in links})


def _link_status(objects: Objects, key: Key) -> Int8:
    """Status of a binary key for two different objects of each pair of classes; UNKNOWN where the types do not fit."""
    count = len(objects.classes)
    found = np.full((count, count), UNKNOWN, np.int8)
    if key.predicate in objects.flat.hidden:
        return found
    statuses = objects.problem.statuses[key.predicate]
    one, other = objects.flat.open_types(key)
    rows = np.array([at for at, own in enumerate(objects.classes) if own.type_name == one], np.int64)
    columns = np.array([at for at, own in enumerate(objects.classes) if own.type_name == other], np.int64)
    first = np.array([own.members[0] for own in objects.classes], np.int64)
    second = np.array([own.members[min(1, len(own) - 1)] for own in objects.classes], np.int64)
    row, column = (part.ravel() for part in np.meshgrid(rows, columns, indexing="ij"))
    args = np.empty((len(row), len(key.fixed)), np.int64)
    for at, number in enumerate(key.fixed):
        if number is not None:
            args[:, at] = number
    args[:, key.open_positions[0]] = first[row]
    args[:, key.open_positions[1]] = np.where(row == column, second[column], first[column])
    found[row, column] = statuses.lookup(codes(args, statuses.sizes))
    return found


def falsified(truth: Bool, columns: Mapping[tuple[str, Key], int], of: str, side: Side) -> Bool:
    """Rows in which all literals about one object are false."""
    mask = np.ones(len(truth), np.bool_)
    for key, positive in side:
        mask &= truth[:, columns[of, key]] != positive
    return mask
