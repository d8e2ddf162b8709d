"""The obviously-right meaning of a model: straight recursion over the syntax tree, one world at a time.

A *world* is the set of its true ground atoms, each `(predicate, (constant, …))`; *domains* gives the constants of each type.
Nothing here shares code with `markovlogic.language.lower` or anything after it: this is what they are judged by.

    model = parse(text)
    domains = domains_of(model)                       # or {"person": ["Ann", "Bob"], …} with the constants of the evidence
    for world in all_worlds(model, domains):          # 2^atoms of them
        log_weight(model, domains, world)             # Σ w·N, -inf where a hard rule is broken
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Collection, Iterator, Mapping, Sequence

from markovlogic.language.syntax import (
    And,
    Atom,
    Constant,
    Equal,
    Exists,
    Forall,
    Formula,
    Iff,
    Implies,
    Model,
    Not,
    Or,
    Rule,
    Term,
)

GroundAtom = tuple[str, tuple[str, ...]]
World = Collection[GroundAtom]
Domains = Mapping[str, Sequence[str]]


def holds(formula: Formula, binding: Mapping[str, str], types: Mapping[str, str], domains: Domains, world: World) -> bool:
    """Whether a formula is true in a world, its free variables bound to constants."""

    def value(term: Term) -> str:
        return term.name if isinstance(term, Constant) else binding[term.name]

    def recur(part: Formula) -> bool:
        return holds(part, binding, types, domains, world)

    match formula:
        case Atom():
            return (formula.predicate, tuple(value(a) for a in formula.args)) in world
        case Equal():
            return value(formula.left) == value(formula.right)
        case Not():
            return not recur(formula.body)
        case And():
            return all(recur(part) for part in formula.parts)
        case Or():
            return any(recur(part) for part in formula.parts)
        case Implies():
            return not recur(formula.left) or recur(formula.right)
        case Iff():
            return recur(formula.left) == recur(formula.right)
        case Exists() | Forall():
            choices = itertools.product(*(domains[types[name]] for name in formula.variables))
            truths = (
                holds(formula.body, {**binding, **dict(zip(formula.variables, choice, strict=True))}, types, domains, world)
                for choice in choices
            )
            return any(truths) if isinstance(formula, Exists) else all(truths)
    raise AssertionError(formula)


def count_groundings(rule: Rule, domains: Domains) -> int:
    """How many substitutions the free variables of a rule have."""
    return math.prod(len(domains[rule.type_of[name]]) for name in rule.free)


def count_true(rule: Rule, domains: Domains, world: World) -> int:
    """N: the number of true groundings of the whole formula, over its free variables."""
    types = rule.type_of
    return sum(
        holds(rule.formula, dict(zip(rule.free, choice, strict=True)), types, domains, world)
        for choice in itertools.product(*(domains[types[name]] for name in rule.free))
    )


def log_weight(model: Model, domains: Domains, world: World) -> float:
    """Σ w·N over all rules; -inf where a hard rule is broken. Exclusive arguments are not looked at (see `is_exclusive`)."""
    total = 0.0
    for rule in model.rules:
        assert rule.weight is not None, f"rule without weight: {rule.text}"
        true = count_true(rule, domains, world)
        if rule.is_hard:
            wanted = count_groundings(rule, domains) if rule.weight > 0 else 0
            if true != wanted:
                return -math.inf
        else:
            total += rule.weight * true
    return total


def ground_atoms(model: Model, domains: Domains) -> list[GroundAtom]:
    """All ground atoms, predicate by predicate in declaration order."""
    return [
        (predicate.name, args)
        for predicate in model.predicates.values()
        for args in itertools.product(*(domains[t] for t in predicate.types))
    ]


def is_exclusive(model: Model, domains: Domains, world: World) -> bool:
    """Whether in every group of an exclusive predicate (fixed other arguments) exactly one value is true."""
    for predicate in model.predicates.values():
        if not any(predicate.exclusive):
            continue
        trues: dict[tuple[str, ...], int] = {}
        for args in itertools.product(*(domains[t] for t in predicate.types)):
            group = tuple(a for a, exclusive in zip(args, predicate.exclusive, strict=True) if not exclusive)
            trues[group] = trues.get(group, 0) + ((predicate.name, args) in world)
        if any(count != 1 for count in trues.values()):
            return False
    return True


def all_worlds(model: Model, domains: Domains) -> Iterator[frozenset[GroundAtom]]:
    """Every subset of the ground atoms."""
    atoms = ground_atoms(model, domains)
    for truths in itertools.product((False, True), repeat=len(atoms)):
        yield frozenset(atom for atom, true in zip(atoms, truths, strict=True) if true)


def domains_of(model: Model) -> dict[str, list[str]]:
    """The domains that declarations and formulas give, without evidence."""
    return {name: list(constants) for name, constants in model.constants.items()}
