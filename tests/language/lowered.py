"""A slow, direct evaluation of lowered models: what templates, definitions and constants say about one world."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping

from tests.oracle.evaluation import Domains, World, count_groundings

from markovlogic.language.syntax import Constant, Model, Term
from markovlogic.language.templates import Cube, EqualityLiteral, Literal, LoweredModel


def lowered_log_weight(lowered: LoweredModel, model: Model, domains: Domains, world: World) -> float:
    """Σ constant·groundings + Σ weight·1[clause], -inf where a hard clause is false."""
    truths = set(world)

    def value(term: Term, binding: Mapping[str, str]) -> str:
        return term.name if isinstance(term, Constant) else binding[term.name]

    def true(literal: Literal | EqualityLiteral, binding: Mapping[str, str]) -> bool:
        if isinstance(literal, EqualityLiteral):
            return (value(literal.left, binding) == value(literal.right, binding)) == literal.positive
        return ((literal.predicate, tuple(value(a, binding) for a in literal.args)) in truths) == literal.positive

    def bindings(variables: tuple[tuple[str, str], ...]):
        names = [name for name, _ in variables]
        for choice in itertools.product(*(domains[t] for _, t in variables)):
            yield dict(zip(names, choice, strict=True))

    def cube_true(cube: Cube, binding: Mapping[str, str]) -> bool:
        return all(true(literal, binding) for literal in (*cube.literals, *cube.equalities))

    for definition in lowered.definitions:
        for binding in bindings(definition.parameters):
            if any(cube_true(cube, {**binding, **inner}) for inner in bindings(definition.locals_) for cube in definition.cubes):
                truths.add((definition.predicate, tuple(binding[name] for name, _ in definition.parameters)))

    total = 0.0
    for rule, constant in zip(model.rules, lowered.constant_per_grounding, strict=True):
        total += constant * count_groundings(rule, domains)
    for template in lowered.templates:
        assert template.weight > 0
        times = math.prod(len(domains[t]) for _, t in template.idle)
        for binding in bindings(template.variables):
            if any(true(literal, binding) for literal in (*template.literals, *template.equalities)):
                total += 0 if math.isinf(template.weight) else template.weight * times
            elif math.isinf(template.weight):
                return -math.inf
    return total
