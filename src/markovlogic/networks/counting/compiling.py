"""Terms of a model: what hinges on an atom of a predicate, what a hidden atom counts, how many groundings are false."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from typing import NamedTuple

from markovlogic.data.evidence import TRUE
from markovlogic.language.templates import ClauseTemplate, Definition, LoweredModel
from markovlogic.networks.counting.listing import kept_as_lists
from markovlogic.networks.counting.terms import (
    Conjunction,
    Numbering,
    Term,
    Terms,
    Universe,
    add,
    conjunctions,
    counted,
    hinging,
    positive_lists,
    without_zeros,
)
from markovlogic.problem.values import Problem

SOFT, HARD = 0, 1  # channels of sums: log-odds, and how many more hard groundings hold

Rated = Callable[[ClauseTemplate], tuple[int, float]]  # the channel of a clause, and what a true grounding adds to it
ByChannel = Mapping[int, Terms]
Condition = tuple[tuple[int, int], ...]


class Hit(NamedTuple):
    """A term of the change of a hidden atom's count when an atom turns true; parameters are slots after the atom's own."""

    hidden: str
    term: Term  # its conditions are on the atom alone
    sign: float
    sources: tuple[int | None, ...]  # the argument that each parameter equals; None: it may be anything


def universe_of(problem: Problem, lowered: LoweredModel) -> Universe:
    """Types, relations, and what is known of whole relations."""
    predicates = {name: predicate.types for name, predicate in problem.model.predicates.items()}
    predicates |= {d.predicate: tuple(kind for _, kind in d.parameters) for d in lowered.definitions}
    constant = {}
    for name, statuses in problem.statuses.items():
        n_true = int((statuses.status == TRUE).sum())
        if not statuses.n_open and n_true in (0, statuses.n_ground):
            constant[name] = n_true > 0
    lists = {name: n for name, n in kept_as_lists(problem).items() if name not in constant}
    return Universe(problem.domains, predicates, constant, lists)


def rated_as_weight(template: ClauseTemplate) -> tuple[int, float]:
    """Log-weights, and hard clauses apart."""
    return (HARD, 1.0) if math.isinf(template.weight) else (SOFT, template.weight)


def false_groundings(template: ClauseTemplate, universe: Universe) -> Iterator[tuple[Conjunction, Condition]]:
    """The conjunctions whose counts make up the number of a clause's false groundings; idle variables count too."""
    numbering = Numbering(dict((*template.variables, *template.idle)), universe)
    factors = [numbering.factor(literal, holds=False) for literal in template.literals]
    equal = [numbering.pair(equality) for equality in template.equalities if not equality.positive]
    unequal = [numbering.pair(equality) for equality in template.equalities if equality.positive]
    return conjunctions(factors, equal, unequal, numbering.types)


def _finished(terms: Terms, universe: Universe) -> Terms:
    return positive_lists(without_zeros(terms), universe)


def target_terms(lowered: LoweredModel, universe: Universe, predicate: str, rated: Rated) -> dict[int, Terms]:
    """By channel, the terms of what an atom of the predicate adds when it turns true; a clause that is no longer false counts."""
    found: dict[int, Terms] = {}
    for template in lowered.templates:
        if all(literal.predicate != predicate for literal in template.literals):
            continue
        channel, weight = rated(template)
        terms = found.setdefault(channel, {})
        for one, condition in false_groundings(template, universe):
            add(terms, hinging(one, condition, predicate, universe), -weight)
    made = {channel: _finished(terms, universe) for channel, terms in sorted(found.items())}
    return {channel: kept for channel, kept in made.items() if kept}


def false_terms(lowered: LoweredModel, universe: Universe, rated: Rated) -> dict[int, Terms]:
    """By channel, the terms of the number of false groundings of all clauses, weighed."""
    found: dict[int, Terms] = {}
    for template in lowered.templates:
        channel, weight = rated(template)
        for one, condition in false_groundings(template, universe):
            add(found.setdefault(channel, {}), counted(one, condition, universe), weight)
    return {channel: _finished(terms, universe) for channel, terms in sorted(found.items())}


def _cubes(definition: Definition, universe: Universe, first_slot: int) -> Iterator[tuple[Conjunction, Condition]]:
    """The conjunctions whose counts make up that of a hidden atom, with its parameters from a slot on."""
    slots = {name: first_slot + at for at, (name, _) in enumerate(definition.parameters)}
    for cube in definition.cubes:
        numbering = Numbering(dict((*definition.parameters, *definition.locals_)), universe, slots)
        factors = [numbering.factor(literal, holds=True) for literal in cube.literals]
        equal = [numbering.pair(equality) for equality in cube.equalities if equality.positive]
        unequal = [numbering.pair(equality) for equality in cube.equalities if not equality.positive]
        yield from conjunctions(factors, equal, unequal, numbering.types)


def whole_terms(definition: Definition, universe: Universe) -> Terms:
    """The terms of a hidden atom's count: it is true where that is not zero."""
    terms: Terms = {}
    for one, condition in _cubes(definition, universe, 0):
        add(terms, counted(one, condition, universe), 1.0)
    return _finished(terms, universe)


def hits(lowered: LoweredModel, universe: Universe, predicate: str) -> list[Hit]:
    """What a flip of an atom of the predicate does to hidden atoms."""
    arity = len(universe.predicates[predicate])
    found = []
    for definition in lowered.definitions:
        terms: Terms = {}
        for one, condition in _cubes(definition, universe, arity):
            add(terms, hinging(one, condition, predicate, universe), 1.0)
        for term, sign in _finished(terms, universe).items():
            sources: list[int | None] = [None] * len(definition.parameters)
            kept = []
            for slot, argument in term.condition:
                if slot >= arity:
                    sources[slot - arity] = argument
                else:
                    kept.append((slot, argument))
            found.append(Hit(definition.predicate, term._replace(condition=tuple(kept)), sign, tuple(sources)))
    return found
