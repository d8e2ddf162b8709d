"""Objects that nothing known tells apart, and what is known of each class of them: unary, reflexive and binary atoms.

Classes are twin classes (symmetry.twins) of the predicates that clauses mention, with the constants that rules name set apart.
Between two classes, and inside one, a binary predicate has one status for all pairs of different objects.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from markovlogic.data.evidence import UNKNOWN, codes
from markovlogic.methods.lifted.cells.clauses import FlatModel, Key, TooLarge
from markovlogic.problem import Problem
from markovlogic.symmetry.twins import classes_by_evidence, relations_of, set_apart
from markovlogic.system.arrays import Int32, Int64

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
    """Name the predicate whose facts tell most objects of the type apart."""
    known = [
        (len(statuses.code), name)
        for name, statuses in problem.statuses.items()
        if name in mentioned and of in problem.model.predicates[name].types
    ]
    _, name = max(known, default=(0, ""))
    return f"the evidence about {name} tells {count:,} classes of {of} apart, and lifting pays for at most {MOST_CLASSES}"
