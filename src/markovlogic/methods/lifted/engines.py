"""The engines that ground nothing, and the choice among them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from markovlogic.data.evidence import FALSE, TRUE, UNKNOWN, atoms_of_groups, decode, group_of
from markovlogic.language.templates import LoweredModel
from markovlogic.methods.lifted.answer import Refusal, Work
from markovlogic.methods.lifted.cells import plan_cells
from markovlogic.methods.lifted.proving import plan_proof
from markovlogic.problem import Problem, Statuses, with_statuses
from markovlogic.symmetry.twins import twin_classes
from markovlogic.system.arrays import Int32, Int64, frozen


def conditioned(problem: Problem, literals: Sequence[int]) -> Problem | None:
    """The problem in which these literals of open atoms (2·atom + sign) are facts; the rest of a true value's group is false.

    None where they contradict each other: two values of one group are true, or all that are left of one are false.
    """
    facts: dict[str, dict[int, int]] = {}
    for literal in literals:
        at = int(np.searchsorted(problem.atoms.start, literal >> 1, side="right")) - 1
        name = problem.atoms.predicates[at]
        statuses = problem.statuses[name]
        code = statuses.unrank(np.array([(literal >> 1) - problem.atoms.start[at]], np.int64))
        own, truth = facts.setdefault(name, {}), TRUE if literal & 1 else FALSE
        group = _group(problem, name, code).tolist()
        others = [other for other in group if truth == TRUE and other != code[0]]
        for atom, wanted in ((int(code[0]), truth), *((other, FALSE) for other in others)):
            if own.setdefault(atom, wanted) != wanted:
                return None
        if group and all(own.get(atom) == FALSE for atom in group):
            return None
    changed = dict(problem.statuses)
    for name, own in facts.items():
        changed[name] = _with(problem.statuses[name], own)
    return with_statuses(problem, changed)


def _group(problem: Problem, name: str, code: Int64) -> Int64:
    """The open atoms of the exclusive group of an atom; none where its predicate has no exclusive arguments."""
    marks, statuses = problem.model.predicates[name].exclusive, problem.statuses[name]
    if not any(marks):
        return np.zeros(0, np.int64)
    members = atoms_of_groups(group_of(decode(code, statuses.sizes), statuses.sizes, marks), statuses.sizes, marks).ravel()
    return np.asarray(members[statuses.lookup(members) == UNKNOWN], np.int64)


def _with(statuses: Statuses, facts: dict[int, int]) -> Statuses:
    """Statuses with some more atoms known."""
    fresh = np.array(sorted(facts), np.int64)
    keep = ~np.isin(statuses.code, fresh)
    code = np.concatenate([statuses.code[keep], fresh])
    status = np.concatenate([statuses.status[keep], np.array([facts[int(c)] for c in fresh], np.int8)])
    differs = status != statuses.default
    code, status = code[differs], status[differs]
    order = np.argsort(code)
    return Statuses(statuses.predicate, statuses.sizes, statuses.default, frozen(code[order]), frozen(status[order]))


Engine = Callable[[Problem, LoweredModel], Work | Refusal]

ENGINES: tuple[Engine, ...] = (plan_cells, plan_proof)
QUICK_SECONDS = 1.0  # a plan this fast is taken at once: planning takes time too


def plan_lifted(problem: Problem, lowered: LoweredModel, *, drawing: bool = False) -> Work | Refusal:
    """The cheapest plan of all engines, in their order until one is quick; or the reason of each why it has none.

    drawing: only plans whose solution gives draws.
    """
    works: list[Work] = []
    reasons: dict[str, None] = {}
    for engine in ENGINES:
        found = engine(problem, lowered)
        if isinstance(found, Refusal):
            reasons[found.reason] = None
            continue
        if drawing and not found.can_draw:
            reasons["the sums have negative terms, which cannot be drawn from"] = None
            continue
        works.append(found)
        if found.seconds < QUICK_SECONDS:
            break
    if not works:
        return Refusal("; ".join(reasons))
    return min(works, key=lambda work: work.seconds)


def plan_event(problem: Problem, lowered: LoweredModel, literals: Sequence[int]) -> Work | Refusal | None:
    """The plan for the problem with a conjunction of open literals as evidence; None where it contradicts itself."""
    given = conditioned(problem, literals)
    return None if given is None else plan_lifted(given, lowered)


_Labelled = tuple[str, bool, tuple[tuple[str, int, int], ...]]  # predicate, sign, and type, class and constant of each argument


class EventPlans:
    """The plans of conjunctions of two or more open literals (2·atom + sign), each made when it is first needed."""

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
