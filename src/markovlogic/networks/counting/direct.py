"""Conditionals by direct count of the lowered clauses' groundings, in float64: slow, and short enough to be seen to be right.

No term, no view, no program and no kernel is shared with the fast way. Relations are arrays of truth values, an axis an argument.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from markovlogic.data.evidence import TRUE, decode
from markovlogic.language.syntax import Term, Variable
from markovlogic.language.templates import ClauseTemplate, EqualityLiteral, Literal, LoweredModel
from markovlogic.networks.counting.listing import BITS_AN_ENTRY
from markovlogic.networks.counting.terms import Factor, Universe, free_of
from markovlogic.problem.soft import soft_log_odds
from markovlogic.problem.values import Problem
from markovlogic.system.arrays import Bool, Float64

Tensors = dict[str, Bool]


class DirectCount:
    """A problem's clauses, counted one grounding at a time, all at once."""

    def __init__(self, problem: Problem, lowered: LoweredModel) -> None:
        self._problem, self._lowered = problem, lowered
        self._types = {name: predicate.types for name, predicate in problem.model.predicates.items()}
        self._types |= {d.predicate: tuple(kind for _, kind in d.parameters) for d in lowered.definitions}

    @cached_property
    def _soft(self) -> Float64:
        """What soft evidence adds to each atom's log-odds."""
        found = soft_log_odds(self._problem)
        numbers = np.zeros(len(self._problem.atoms))
        numbers[found.atom] = found.log_odds
        return numbers

    def tensors(self, world: Bool) -> Tensors:
        """Every relation, hidden ones computed from the others."""
        found: Tensors = {}
        for name, statuses in self._problem.statuses.items():
            flat = np.zeros(statuses.n_ground, np.bool_)
            flat[statuses.code[statuses.status == TRUE]] = True
            numbers = self._problem.atoms.range_of(name)
            flat[self._problem.atoms.codes(name)] = world[numbers.start : numbers.stop]
            found[name] = flat.reshape(statuses.sizes)
        for definition in self._lowered.definitions:
            variables = (*definition.parameters, *definition.locals_)
            holds = np.zeros([len(self._problem.domains[kind]) for _, kind in variables], np.bool_)
            for cube in definition.cubes:
                own = np.ones_like(holds)
                parts: tuple[Literal | EqualityLiteral, ...] = (*cube.literals, *cube.equalities)
                for part in parts:
                    own &= self._truth(part, dict(variables), variables, {}, found)
                holds |= own
            found[definition.predicate] = np.asarray(holds.any(axis=tuple(range(len(definition.parameters), len(variables)))))
        return found

    def log_odds(self, atom: int, world: Bool) -> float:
        """See `networks.base.WorldNetwork.log_odds`."""
        false, true = self.log_weights([atom], np.array([[False], [True]]), world)
        return float(true - false) if np.isfinite([false, true]).any() else float("nan")

    def log_weights(self, atoms: Sequence[int], values: Bool, world: Bool) -> Float64:
        """For each row of values of the atoms, the log-weight of all groundings that can depend on them."""
        result = np.asarray(values[:, :] @ self._soft[list(atoms)], np.float64)
        worlds = []
        for value in values:
            own = np.array(world, np.bool_)
            own[list(atoms)] = value
            worlds.append(self.tensors(own))
        for template in self._lowered.templates:
            for bound, without in self._bindings(template, atoms):
                false = np.stack([self._false(template, bound, tensors, without) for tensors in worlds])
                false &= ~false.all(axis=0)  # what is false whatever the atoms are does not depend on them
                count = false.reshape(len(values), -1).sum(axis=1) * self._idle(template)
                result -= np.where(count > 0, np.inf, 0.0) if math.isinf(template.weight) else template.weight * count
        return result

    def false_groundings(self, template: ClauseTemplate, world: Bool) -> int:
        """How many groundings of a clause are false, idle variables counted."""
        return int(self._false(template, {}, self.tensors(world)).sum()) * self._idle(template)

    def _idle(self, template: ClauseTemplate) -> int:
        return math.prod(len(self._problem.domains[kind]) for _, kind in template.idle)

    def _bindings(
        self, template: ClauseTemplate, atoms: Sequence[int]
    ) -> list[tuple[dict[str, int], tuple[dict[str, int], ...]]]:
        """Values of variables that between them cover all groundings which can depend on the atoms, each but for those before.

        Where hidden atoms stand between, and for groups, that is all of them.
        """
        if self._lowered.definitions or len(atoms) > 1:
            return [({}, ())]
        predicate, args = self._named(atoms[0])
        found = [self._bound(literal, predicate, args) for literal in template.literals]
        bound = [own for own in found if own is not None]
        return [(own, tuple(bound[:at])) for at, own in enumerate(bound)]

    def _named(self, atom: int) -> tuple[str, list[int]]:
        atoms = self._problem.atoms
        at = int(np.searchsorted(atoms.start, atom, "right")) - 1
        name = atoms.predicates[at]
        code = atoms.statuses[name].unrank(np.array([atom - int(atoms.start[at])], np.int64))
        return name, decode(code, atoms.statuses[name].sizes)[0].tolist()

    def _bound(self, literal: Literal, predicate: str, args: Sequence[int]) -> dict[str, int] | None:
        """Values of the variables with which a literal mentions an atom; None where it cannot."""
        if literal.predicate != predicate:
            return None
        bound: dict[str, int] = {}
        for term, kind, value in zip(literal.args, self._types[predicate], args, strict=True):
            if isinstance(term, Variable):
                if bound.setdefault(term.name, value) != value:
                    return None
            elif self._problem.domains[kind].number(term.name) != value:
                return None
        return bound

    def _false(
        self, template: ClauseTemplate, bound: Mapping[str, int], tensors: Tensors, without: Sequence[Mapping[str, int]] = ()
    ) -> Bool:
        """Which groundings are false with some variables bound, but for those that agree with one of `without` as well."""
        free = [(name, kind) for name, kind in template.variables if name not in bound]
        false = np.ones([len(self._problem.domains[kind]) for _, kind in free], np.bool_)
        parts: tuple[Literal | EqualityLiteral, ...] = (*template.literals, *template.equalities)
        for part in parts:
            false &= ~self._truth(part, dict(template.variables), free, bound, tensors)
        for other in without:
            agrees: npt.NDArray[np.bool_] = np.ones_like(false)
            for name, value in other.items():
                agrees &= self._index(Variable(name), "", free, bound) == value
            false &= ~agrees
        return false

    def _truth(
        self,
        part: Literal | EqualityLiteral,
        types: Mapping[str, str],
        free: Sequence[tuple[str, str]],
        bound: Mapping[str, int],
        tensors: Tensors,
    ) -> Bool:
        if isinstance(part, EqualityLiteral):
            sides = (part.left, part.right)
            kind = next((types[side.name] for side in sides if isinstance(side, Variable)), "")
            left, right = (self._index(side, kind, free, bound) for side in sides)
            return np.asarray((left == right) == part.positive)
        index = [self._index(term, kind, free, bound) for term, kind in zip(part.args, self._types[part.predicate], strict=True)]
        return np.asarray(tensors[part.predicate][tuple(index)] == part.positive)

    def _index(self, term: Term, kind: str, free: Sequence[tuple[str, str]], bound: Mapping[str, int]) -> npt.NDArray[np.int64]:
        if not isinstance(term, Variable):
            return np.array(self._problem.domains[kind].number(term.name))
        if term.name in bound:
            return np.array(bound[term.name])
        axis = [name for name, _ in free].index(term.name)
        values = np.arange(len(self._problem.domains[free[axis][1]]))
        return values.reshape([-1 if at == axis else 1 for at in range(len(free))])


MOST_ORDERED = 6  # variables, up to which every order is tried
AN_ENTRY = BITS_AN_ENTRY / 64  # words that could be read in the time of an entry of a list
A_LIST = 15.0  # the same for beginning a list
HIT_SHARE = 0.5  # of a variable's values that a loop goes on with, where nothing is known


class Sizes(NamedTuple):
    """What costs depend on: the number of values of each variable, and how long lists are."""

    values: Mapping[int, int]
    universe: Universe


@dataclass(frozen=True)
class Loop:
    """One variable with the factors that are decided when it is fixed; without inner loops, a popcount."""

    variable: int
    size: int
    factors: tuple[Factor, ...]
    masks: tuple[int, ...]  # slots that the variable differs from
    inner: tuple[Loop, ...]
    cost: float  # words that are read, about


def loops(part: Iterable[int], factors: Iterable[Factor], masks: Iterable[tuple[int, int]], sizes: Sizes) -> Loop:
    """The cheapest loops over a component: `part` are its variables."""
    variables = frozenset(part)
    own = tuple(factor for factor in factors if not free_of(factor.args).isdisjoint(variables))
    return _Planner(own, tuple(masks), sizes).best(variables, frozenset())


class _Planner:
    def __init__(self, factors: tuple[Factor, ...], masks: tuple[tuple[int, int], ...], sizes: Sizes) -> None:
        self._factors, self._masks, self._sizes = factors, masks, sizes
        self._known: dict[frozenset[int], Loop] = {}

    def best(self, variables: frozenset[int], bound: frozenset[int]) -> Loop:
        if variables not in self._known:  # what is bound are all other variables that its factors name
            choices = [self._loop(variable, variables, bound) for variable in self._candidates(variables)]
            self._known[variables] = min(choices, key=lambda loop: (loop.cost, loop.variable))
        return self._known[variables]

    def _candidates(self, variables: frozenset[int]) -> list[int]:
        if len(variables) <= MOST_ORDERED:
            return sorted(variables)
        degree = {v: sum(v in factor.args for factor in self._factors) for v in variables}
        return [max(sorted(variables), key=lambda v: degree[v])]

    def _loop(self, variable: int, variables: frozenset[int], bound: frozenset[int]) -> Loop:
        fixed = bound | {variable}
        own = tuple(f for f in self._factors if variable in f.args and free_of(f.args) <= fixed)
        inner = tuple(self.best(part, fixed) for part in self._parts(variables - {variable}))
        size = self._sizes.values[variable]
        entries = self._entries(variable, own)
        cost = -(-size // 64) * (len(own) + 1.0) if entries is None else A_LIST + AN_ENTRY * entries * max(len(own) - 1, 1)
        if inner:
            cost += (HIT_SHARE * size if entries is None else entries) * (1.0 + sum(loop.cost for loop in inner))
        masks = tuple(slot for name, slot in self._masks if name == variable)
        return Loop(variable, size, own, masks, inner, cost)

    def _entries(self, variable: int, own: tuple[Factor, ...]) -> float | None:
        """Entries of the list that is gone through; None where it is a row of bits."""
        found = [
            self._sizes.universe.entries(f.predicate, [at for at, arg in enumerate(f.args) if arg == variable])
            for f in own
            if f.positive
        ]
        return min((entries for entries in found if entries is not None), default=None)

    def _parts(self, variables: frozenset[int]) -> list[frozenset[int]]:
        groups: list[frozenset[int]] = [frozenset([variable]) for variable in sorted(variables)]
        for factor in self._factors:
            names = free_of(factor.args) & variables
            touched = [group for group in groups if group & names]
            if len(touched) > 1:
                groups = [group for group in groups if not group & names] + [frozenset().union(*touched)]
        return groups
