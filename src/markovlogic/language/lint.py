"""Findings about rules that are well formed and yet may not say what their author meant."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace

from markovlogic.errors import Fault, Place, nearest
from markovlogic.language.integers import is_built_in
from markovlogic.language.lower import lower
from markovlogic.language.show import show_formula
from markovlogic.language.syntax import (
    And,
    Atom,
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
    Variable,
    atoms_of,
    known_of,
)

LARGE_WEIGHT = 50.0  # e^50 to 1: nobody sees the difference to a hard rule, and samplers stick
SHARED = 0.5  # of the constants of the smaller of two types: perhaps they are one
FEW_SHARED = 3


@dataclass(frozen=True)
class Finding:
    """One thing to look at: a short name for filters, and a message with its place."""

    name: str
    fault: Fault


def lint(model: Model) -> tuple[Finding, ...]:
    """Findings about the rules alone, in the order of their places."""
    found = [
        *_unused_predicates(model),
        *_single_variables(model),
        *_weights(model),
        *_repeated_rules(model),
        *_constant_rules(model),
        *_similar_types(model),
    ]
    return in_order(found)


def in_order(findings: list[Finding]) -> tuple[Finding, ...]:
    """By file, line and column; what has no place comes last."""
    nowhere = Place("\uffff")
    return tuple(sorted(findings, key=lambda one: one.fault.place or nowhere))


def _finding(name: str, message: str, place: Place | None, text: str = "", hint: str = "") -> Finding:
    return Finding(name, Fault(message, place, text, hint))


def used_predicates(model: Model) -> frozenset[str]:
    """Predicates and numbers that rules name."""
    used = {known_of(atom.predicate) or atom.predicate for rule in model.rules for atom in atoms_of(rule.formula)}
    return frozenset(used | {rule.factor.predicate for rule in model.rules if rule.factor is not None})


def _unused_predicates(model: Model) -> Iterator[Finding]:
    used = used_predicates(model)
    for name, predicate in model.declared.items():
        if name not in used:
            yield _finding("unused-predicate", f"{name} is declared, and no rule names it", predicate.place)


def _single_variables(model: Model) -> Iterator[Finding]:
    """A free variable that occurs once beside others is often a slip: every constant in its place is a grounding."""
    for rule in model.rules:
        if rule.names_values:
            continue
        terms = Counter(_variables(rule.formula))
        if rule.factor is not None:
            terms.update(term.name for term in rule.factor.args if isinstance(term, Variable))
        for name in rule.free:
            if terms[name] == 1 and len(terms) > 1:
                hint = f"a slip of the pen? or write EXIST {name} if some {name} is enough"
                yield _finding("single-variable", f"variable {name} occurs once in this rule", rule.place, rule.text, hint)


def _variables(formula: Formula) -> Iterator[str]:
    stack: list[Formula] = [formula]
    while stack:
        match stack.pop():
            case Atom(args=args):
                yield from (term.name for term in args if isinstance(term, Variable))
            case Equal(left=left, right=right):
                yield from (term.name for term in (left, right) if isinstance(term, Variable))
            case Not(body=body) | Exists(body=body) | Forall(body=body):
                stack.append(body)
            case And(parts=parts) | Or(parts=parts):
                stack.extend(parts)
            case Implies(left=left, right=right) | Iff(left=left, right=right):
                stack += [left, right]


def _weights(model: Model) -> Iterator[Finding]:
    for rule in model.rules:
        weight = rule.weight
        if weight == 0:
            yield _finding("weight", "weight 0 has no effect", rule.place, rule.text)
        elif weight is not None and LARGE_WEIGHT <= abs(weight) < math.inf:
            hint = "end the formula with a period to make it hard" if weight > 0 else "write -inf to forbid the formula"
            yield _finding("weight", f"weight {weight:g} is as good as hard, and chains get stuck", rule.place, rule.text, hint)


def _repeated_rules(model: Model) -> Iterator[Finding]:
    first: dict[tuple[Formula, Atom | None], Rule] = {}
    for rule in model.rules:
        same = first.setdefault((rule.formula, rule.factor), rule)
        if same is not rule and same.place != rule.place:  # a star gives several rules at one place
            hint = "their weights add up" if rule.weight is not None and not rule.is_hard else ""
            yield _finding("repeated-rule", f"the same formula as at {same.place}", rule.place, rule.text, hint)


def _constant_rules(model: Model) -> Iterator[Finding]:
    """Formulas that are always true, or never, change no probability."""
    with_weights = tuple(rule if rule.weight is not None else replace(rule, weight=1.0) for rule in model.rules)
    lowered = lower(replace(model, rules=with_weights), "formula")
    kept = {template.rule for template in lowered.templates} | {definition.rule for definition in lowered.definitions}
    for number, rule in enumerate(with_weights):
        never = any(t.rule == number and not t.literals and not t.equalities and math.isinf(t.weight) for t in lowered.templates)
        if never:
            yield _finding("impossible-rule", "this hard rule can never hold, so no world is possible", rule.place, rule.text)
        elif number not in kept and rule.weight:
            yield _finding("constant-rule", "this formula is always true, or never, so it has no effect", rule.place, rule.text)


def _similar_types(model: Model) -> Iterator[Finding]:
    """Two spellings of what may be one type: their variables can never be equal."""
    names = sorted({name for predicate in model.declared.values() for name in predicate.types})
    place = {name: predicate.place for predicate in model.declared.values() for name in predicate.types}
    for at, name in enumerate(names):
        advice = nearest(name, names[:at])
        other = next((one for one in names[:at] if advice == f"did you mean {one}?"), None)
        if other is not None and (name.rstrip("s") == other.rstrip("s") or name.lower() == other.lower()):
            message = f"types {other} and {name} never meet: no variable is of both"
            yield _finding("similar-types", message, place[name], hint="use one name if they are the same things")


def shared_types(model: Model, constants: dict[str, tuple[str, ...]]) -> Iterator[Finding]:
    """Types that share constants in the evidence, although no variable is of both."""
    place = {name: predicate.place for predicate in model.declared.values() for name in predicate.types}
    sets = {name: set(known) for name, known in constants.items() if name in place}
    names = sorted(sets)
    for at, name in enumerate(names):
        for other in names[:at]:
            both, smaller = len(sets[name] & sets[other]), min(len(sets[name]), len(sets[other]))
            numbers = all(constant.isdigit() for constant in sets[name] & sets[other])
            if both >= FEW_SHARED and both >= SHARED * smaller and not numbers:
                message = f"types {other} and {name} share {both:,} constants, and no variable is of both"
                yield _finding("shared-constants", message, place[name], hint="use one name if they are the same things")


def decided_rules(model: Model, rows: dict[int, int], groundings: tuple[int, ...]) -> Iterator[Finding]:
    """Rules of which evidence decides every grounding; rows: by rule, at most so many clauses are left."""
    for number, rule in enumerate(model.rules):
        if number in rows and not rows[number]:
            if not groundings[number]:
                message = "this rule has no groundings: a type that it names has no constants"
            else:
                message = f"evidence decides all {groundings[number]:,} groundings of this rule, so it has no effect"
            yield _finding("decided-rule", message, rule.place, rule.text or show_formula(rule.formula))


def unused_evidence(model: Model, given: frozenset[str]) -> Iterator[Finding]:
    """Predicates with facts that no rule names."""
    used = used_predicates(model)
    for name in sorted(given - used):
        if not is_built_in(name):
            place = model.predicates[name].place
            yield _finding("unused-evidence", f"evidence has facts of {name}, and no rule names it", place)
