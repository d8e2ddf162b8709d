"""Conjunctions of a query: those that renamings of interchangeable constants turn into each other are planned and summed once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from markovlogic.data.evidence import decode
from markovlogic.language.templates import LoweredModel
from markovlogic.methods.lifted.answer import Refusal, Work
from markovlogic.methods.lifted.engines import plan_event
from markovlogic.problem import Problem
from markovlogic.symmetry.twins import twin_classes
from markovlogic.system.arrays import Int32

_Labelled = tuple[str, bool, tuple[tuple[str, int, int], ...]]  # predicate, sign, and type, class and constant of each argument


class EventPlans:
    """The plans of conjunctions of two or more open literals (2·atom + sign), each made when it is first asked for."""

    def __init__(self, problem: Problem, lowered: LoweredModel, events: Sequence[Sequence[int]]) -> None:
        self._problem, self._lowered, self._events = problem, lowered, events
        self.first_alike = first_alike(problem, events)  # of each conjunction, the first one that is like it
        self._found: dict[int, Work | Refusal | None] = {}

    @property
    def distinct(self) -> list[int]:
        """Numbers of conjunctions of which no earlier one is alike."""
        return [at for at, first in enumerate(self.first_alike) if at == first]

    def work(self, at: int) -> Work | Refusal | None:
        """The plan of one of the distinct ones; None where it contradicts itself."""
        if at not in self._found:
            self._found[at] = plan_event(self._problem, self._lowered, self._events[at])
        return self._found[at]


def first_alike(problem: Problem, events: Sequence[Sequence[int]]) -> list[int]:
    """For each conjunction the first one that a renaming inside twin classes makes of it, as far as it is easily seen.

    Twin classes are sound: every permutation inside them leaves the target as it is, so such conjunctions have one probability.
    """
    if not events:
        return []
    class_of = twin_classes(problem).class_of
    known: dict[tuple[_Labelled, ...], int] = {}
    return [known.setdefault(_form(problem, class_of, literals), at) for at, literals in enumerate(events)]


def _form(problem: Problem, class_of: Mapping[str, Int32], literals: Sequence[int]) -> tuple[_Labelled, ...]:
    """The literals in an order that names matter little to, with constants numbered by first occurrence within their class."""
    read: list[_Labelled] = []
    for literal in literals:
        at = int(np.searchsorted(problem.atoms.start, literal >> 1, side="right")) - 1
        name = problem.atoms.predicates[at]
        statuses = problem.statuses[name]
        code = statuses.unrank(np.array([(literal >> 1) - problem.atoms.start[at]], np.int64))
        types = problem.model.predicates[name].types
        args = decode(code, statuses.sizes)[0].tolist()
        read.append(
            (name, bool(literal & 1), tuple((of, int(class_of[of][arg]), arg) for of, arg in zip(types, args, strict=True)))
        )
    read.sort(key=lambda one: (one[0], one[1], [label[:2] for label in one[2]]))
    number: dict[tuple[str, int, int], int] = {}
    count: dict[tuple[str, int], int] = {}
    form: list[_Labelled] = []
    for name, sign, labels in read:
        for label in labels:
            if label not in number:
                number[label] = count.get(label[:2], 0)
                count[label[:2]] = number[label] + 1
        form.append((name, sign, tuple((*label[:2], number[label]) for label in labels)))
    return tuple(form)
