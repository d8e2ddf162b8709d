"""Which predicates hard rules make equivalence relations, whatever the spelling: read from the lowered model, by meaning.

Clauses without function symbols hold in a relation iff they hold on every few of its elements. So clauses entail symmetry and
transitivity iff every relation on three elements that obeys them is symmetric and transitive; and a clause of k variables says
nothing beyond an equivalence relation iff all equivalence relations on k elements obey it. Such clauses need not be grounded
where worlds are kept as partitions. Without reflexivity the relation is a partial one: an element that is related to nothing may
or may not be related to itself.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property

import numpy as np
import numpy.typing as npt

from markovlogic.language.syntax import Model, Variable
from markovlogic.language.templates import ClauseTemplate, Definition, Literal, LoweredModel

MOST_VARIABLES = 5  # of a clause that is looked at
_ELEMENTS = 3  # that a counter-example to transitivity needs

Relations = npt.NDArray[np.bool_]  # (n_relations, k, k)
Truth = npt.NDArray[np.bool_]  # (n_relations,)


@dataclass(frozen=True)
class Equivalence:
    """A predicate that hard rules make an equivalence relation over one type."""

    predicate: str
    type_name: str
    reflexive: bool  # False: an element that is related to nothing may also not be related to itself
    templates: tuple[int, ...]  # of the lowered model: those that say nothing else
    rule: int  # a rule that makes it transitive, for messages


@dataclass(frozen=True)
class NearMiss:
    """A predicate that some rules treat like an equivalence relation, and why it is none."""

    predicate: str
    reason: str


@dataclass(frozen=True)
class Found:
    """All equivalence relations of a model, and what is nearly one."""

    relations: tuple[Equivalence, ...]
    misses: tuple[NearMiss, ...] = ()

    def without_axioms(self, lowered: LoweredModel) -> LoweredModel:
        """The rules but those that say nothing else than that a relation is an equivalence relation."""
        dropped = {number for relation in self.relations for number in relation.templates}
        left = tuple(t for number, t in enumerate(lowered.templates) if number not in dropped)
        return replace(lowered, templates=left)


def equivalences(model: Model, lowered: LoweredModel) -> Found:
    """Find them; a predicate takes part if its two arguments have one type and neither is exclusive."""
    relations, misses = [], []
    rules = _Rules.of(lowered)
    for name, predicate in model.predicates.items():
        if predicate.arity != 2 or predicate.types[0] != predicate.types[1] or any(predicate.exclusive):
            continue
        found = _Reading(name, model, rules).found()
        if isinstance(found, Equivalence):
            relations.append(found)
        elif found is not None:
            misses.append(found)
    return Found(tuple(relations), tuple(misses))


@dataclass(frozen=True, eq=False)
class _Rules:
    """The rules by the predicates that they mention, so that each predicate looks at its own alone."""

    templates: tuple[ClauseTemplate, ...]
    speaking: Mapping[str, Sequence[int]]  # of each predicate, the templates in which it stands
    implications: Mapping[str, Sequence[int]]  # those of them that are hard and have two literals
    definitions: Mapping[str, Mapping[str, Definition]]  # quantified parts whose cubes mention one predicate alone
    silent: Mapping[str, Definition]  # those whose cubes mention none

    @staticmethod
    def of(lowered: LoweredModel) -> _Rules:
        """Sort them, in one pass."""
        speaking: dict[str, list[int]] = {}
        implications: dict[str, list[int]] = {}
        for number, template in enumerate(lowered.templates):
            names = {literal.predicate for literal in template.literals}
            implies = math.isinf(template.weight) and len(template.literals) == 2 and not template.equalities
            for name in names:
                speaking.setdefault(name, []).append(number)
                if implies:
                    implications.setdefault(name, []).append(number)
        definitions: dict[str, dict[str, Definition]] = {}
        silent = {}
        for definition in lowered.definitions:
            literals = [literal for cube in definition.cubes for literal in cube.literals]
            names = {literal.predicate for literal in literals}
            if not names:
                silent[definition.predicate] = definition
            elif len(names) == 1 and all(map(_has_variables_only, literals)):
                definitions.setdefault(names.pop(), {})[definition.predicate] = definition
        return _Rules(lowered.templates, speaking, implications, definitions, silent)


@dataclass(frozen=True, eq=False)
class _Reading:
    """What the rules say of one predicate."""

    name: str
    model: Model
    rules: _Rules

    def found(self) -> Equivalence | NearMiss | None:
        """An equivalence relation, or what is missing where something speaks for one."""
        if not self._clauses:
            return None
        hard = {n: t for n, t in self._clauses if math.isinf(t.weight)}
        for reflexive in (True, False):
            implied = {n: t for n, t in hard.items() if self._is_implied(t, reflexive=reflexive)}
            left = self._obeying(implied.values())
            if _symmetric(left).all() and _transitive(left).all() and (not reflexive or _reflexive(left).all()):
                type_name = self.model.predicates[self.name].types[0]
                return Equivalence(self.name, type_name, reflexive, tuple(implied), self._transitive_rule(implied))
        return self._miss(hard)

    @cached_property
    def _clauses(self) -> Sequence[tuple[int, ClauseTemplate]]:
        """Clauses that mention this predicate alone, once guards that other hard clauses imply are left out."""
        alone = {self.name, *self._definitions}
        found = []
        for number in self.rules.speaking.get(self.name, ()):
            template = self.rules.templates[number]
            if len(template.variables) > MOST_VARIABLES:
                continue
            plain = self._without_guards(number, template)
            if all(literal.predicate in alone for literal in plain.literals) and all(map(_has_variables_only, plain.literals)):
                found.append((number, plain))
        return found

    @cached_property
    def _definitions(self) -> Mapping[str, Definition]:
        """Quantified parts whose cubes mention this predicate alone."""
        return {**self.rules.silent, **self.rules.definitions.get(self.name, {})}

    def _without_guards(self, number: int, template: ClauseTemplate) -> ClauseTemplate:
        """Drop literals !G of a clause (… v !P(x,y) v !G(x,y)) where a hard clause says P(x,y) => G(x,y): they change nothing."""
        others = [self.rules.templates[other] for other in self.rules.implications.get(self.name, ()) if other != number]
        kept = []
        for literal in template.literals:
            own = literal.predicate == self.name
            if own or not any(self._guards(other, literal, template.literals) for other in others):
                kept.append(literal)
        return template if len(kept) == len(template.literals) else replace(template, literals=tuple(kept))

    def _guards(self, implication: ClauseTemplate, guard: Literal, literals: Sequence[Literal]) -> bool:
        """Whether the guard is false for sure where one of the literals !P(…) is."""
        for premise, conclusion in (implication.literals, implication.literals[::-1]):
            if premise.predicate != self.name or premise.positive or len({*premise.args}) != 2:
                continue
            for own in literals:
                if own.predicate != self.name or own.positive or not all(isinstance(arg, Variable) for arg in premise.args):
                    continue
                given = dict(zip(premise.args, own.args, strict=True))
                args = tuple(given.get(arg, arg) for arg in conclusion.args)
                free = {arg for arg in conclusion.args if isinstance(arg, Variable)} - given.keys()
                if not free and Literal(conclusion.predicate, args, not conclusion.positive) == guard:
                    return True
        return False

    def _is_implied(self, template: ClauseTemplate, *, reflexive: bool) -> bool:
        """Whether every equivalence relation obeys a clause; quantified parts count by what holds among its variables."""
        if any(literal.predicate != self.name and not literal.positive for literal in template.literals):
            return False
        own = self._definitions
        names = [name for name, _ in template.variables]
        every = _equivalences(max(len(names), 1), reflexive=reflexive)
        chosen = itertools.product(range(every.shape[1]), repeat=len(names))
        return all(_holds(template, dict(zip(names, each, strict=True)), every, own, exact=False).all() for each in chosen)

    def _obeying(self, templates: Iterable[ClauseTemplate]) -> Relations:
        """All relations on three elements that obey the clauses."""
        left, own = _all_relations(), self._definitions
        for template in templates:
            names = [name for name, _ in template.variables]
            for each in itertools.product(range(_ELEMENTS), repeat=len(names)):
                left = left[_holds(template, dict(zip(names, each, strict=True)), left, own, exact=True)]
        return left

    def _transitive_rule(self, templates: Mapping[int, ClauseTemplate]) -> int:
        longest = max(templates, key=lambda number: len(templates[number].variables))
        return self.rules.templates[longest].rule

    def _miss(self, hard: Mapping[int, ClauseTemplate]) -> NearMiss | None:
        """What is missing, where hard rules say a part of it, or soft rules all of it."""
        implied = [t for t in hard.values() if self._is_implied(t, reflexive=True)]
        left = self._obeying(implied)
        has = {"symmetric": _symmetric(left).all(), "transitive": _transitive(left).all()}
        softly = {}
        for _, template in self._clauses:
            if math.isinf(template.weight) or not self._is_implied(template, reflexive=True):
                continue
            also = self._obeying([*implied, template])
            for word, test in (("symmetric", _symmetric), ("transitive", _transitive)):
                if not has[word] and test(also).all():
                    softly[word] = str(self.model.rules[template.rule].place)
        if not any(has.values()) and "transitive" not in softly:
            return None
        lacks = [
            f"no hard rule makes it {word}" + (f" (the rule at {softly[word]} has a weight)" if word in softly else "")
            for word, there in has.items()
            if not there
        ]
        return NearMiss(self.name, f"{self.name} is not an equivalence relation: {' and '.join(lacks)}")


def _has_variables_only(literal: Literal) -> bool:
    return all(isinstance(arg, Variable) for arg in literal.args)


def _holds(
    template: ClauseTemplate, at: Mapping[str, int], relations: Relations, own: Mapping[str, Definition], *, exact: bool
) -> Truth:
    """Whether a ground clause holds in each relation.

    A quantified part is true as far as the elements at hand show; where `exact` needs more than that, it counts as true unless
    no element could make it so.
    """
    holds = np.zeros(len(relations), np.bool_)
    for equality in template.equalities:
        left, right = equality.left, equality.right
        if not (isinstance(left, Variable) and isinstance(right, Variable)):
            return np.ones(len(relations), np.bool_) if exact else holds
        if (at[left.name] == at[right.name]) == equality.positive:
            return np.ones(len(relations), np.bool_)
    for literal in template.literals:
        if literal.predicate in own:
            holds |= _quantified(own[literal.predicate], [at[_name(arg)] for arg in literal.args], relations, exact=exact)
        else:
            one, other = (at[_name(arg)] for arg in literal.args)
            holds |= relations[:, one, other] == literal.positive
    return holds


def _name(term: object) -> str:
    assert isinstance(term, Variable)
    return term.name


def _quantified(definition: Definition, parameters: Sequence[int], relations: Relations, *, exact: bool) -> Truth:
    if exact and not any(_could_hold(cube.literals, definition, parameters) for cube in definition.cubes):
        return np.zeros(len(relations), np.bool_)
    if exact:
        return np.ones(len(relations), np.bool_)
    given = {name: value for (name, _), value in zip(definition.parameters, parameters, strict=True)}
    names = [name for name, _ in definition.locals_]
    found = np.zeros(len(relations), np.bool_)
    for each in itertools.product(range(relations.shape[1]), repeat=len(names)):
        at = given | dict(zip(names, each, strict=True))
        for cube in definition.cubes:
            if cube.equalities:
                continue
            holds = np.ones(len(relations), np.bool_)
            for literal in cube.literals:
                one, other = (at[_name(arg)] for arg in literal.args)
                holds &= relations[:, one, other] == literal.positive
            found |= holds
    return found


def _could_hold(literals: Sequence[Literal], definition: Definition, parameters: Sequence[int]) -> bool:
    """Whether a conjunction does not contradict itself, its quantified variables being whatever they are."""
    given: dict[str, object] = {name: value for (name, _), value in zip(definition.parameters, parameters, strict=True)}
    signs: dict[tuple[object, ...], bool] = {}
    for literal in literals:
        atom = tuple(given.get(_name(arg), _name(arg)) for arg in literal.args)
        if signs.setdefault(atom, literal.positive) != literal.positive:
            return False
    return True


@cache
def _all_relations() -> Relations:
    bits = np.arange(2 ** (_ELEMENTS * _ELEMENTS))[:, None] >> np.arange(_ELEMENTS * _ELEMENTS)
    return (bits & 1).astype(np.bool_).reshape(-1, _ELEMENTS, _ELEMENTS)


@cache
def _equivalences(n: int, *, reflexive: bool) -> Relations:
    """All (partial) equivalence relations on n elements; block 0 of a partial one holds those that are related to nothing."""
    found = set()
    for blocks in itertools.product(range(n + 1), repeat=n):
        if reflexive and 0 in blocks:
            continue
        found.add(tuple(one == other and one > 0 for one in blocks for other in blocks))
    return np.array(sorted(found), np.bool_).reshape(-1, n, n)


def _reflexive(relations: Relations) -> Truth:
    return np.asarray(np.einsum("rii->ri", relations).all(axis=1))


def _symmetric(relations: Relations) -> Truth:
    return np.asarray((relations == relations.transpose(0, 2, 1)).all(axis=(1, 2)))


def _transitive(relations: Relations) -> Truth:
    through = np.einsum("rij,rjk->rik", relations.astype(np.uint8), relations.astype(np.uint8)) > 0
    return np.asarray((~through | relations).all(axis=(1, 2)))
