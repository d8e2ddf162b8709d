"""Found rules as a learned model."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from markovlogic.data.evidence import Evidence
from markovlogic.language.load import parse
from markovlogic.language.show import show_model
from markovlogic.language.syntax import NOWHERE, Model, Rule
from markovlogic.learning.learned import Learned, LearnedWeight, Weights
from markovlogic.learning.structure.find import Found, Search, find
from markovlogic.system.measures import Stopwatch, peak_memory
from markovlogic.system.progress import Progress

METHOD = "structure"


def with_rules(model: Model, found: Found) -> tuple[Model, list[int]]:
    """The model with the found rules behind its own, and the number of each found rule."""
    new = [rule for rule in found.rules if rule.given is None]
    constants = {name: model.constants[name] for name in model.constants if name in model.declared_types}
    declared = show_model(Model(model.predicates, (), constants, model.declared_types))
    parsed = parse(declared + "\n" + "\n".join(f"{rule.weight!r} {rule.formula}" for rule in new) + "\n")
    rules = [replace(rule, place=NOWHERE, last_line=0) for rule in parsed.rules]
    numbers = []
    for rule in found.rules:
        numbers.append(rule.given if rule.given is not None else len(model.rules) + new.index(rule))
    merged = {name: tuple(dict.fromkeys((*model.constants.get(name, ()), *own))) for name, own in parsed.constants.items()}
    predicates = {**parsed.predicates, **model.predicates}
    return replace(model, rules=(*model.rules, *rules), constants={**model.constants, **merged}, predicates=predicates), numbers


def learned_structure(
    model: Model, databases: Sequence[Evidence], targets: tuple[str, ...], search: Search, progress: Progress, watch: Stopwatch
) -> Learned:
    """Find rules and their weights."""
    with watch("learn"):
        found = find(model, databases, targets, search, progress)
        full, numbers = with_rules(model, found)
    weights = tuple(
        LearnedWeight(_weighted(full.rules[number], rule.weight), number, rule.weight, rule.stderr, True, about=rule.about)
        for number, rule in zip(numbers, found.rules, strict=True)
    )
    n_found = sum(rule.given is None for rule in found.rules) - len(found.heads)
    stats = {
        "network": "none",
        "estimator": "none",
        "guarantee": "exact",
        "atoms": None,
        "clauses": None,
        "chains": 0,
        "draws": 0,
        "burn_in": 0,
        "updates": 0,
        "candidates": found.candidates,
        "rules_found": n_found,
        "seconds": dict(watch.stop()),
        "peak_memory_bytes": peak_memory(),
    }
    names = tuple("+".join(one.sources) or f"database {at + 1}" for at, one in enumerate(databases))
    notes = (f"{found.candidates:,} candidates were counted, {n_found:,} rules are left", *found.notes)
    return Learned(full, Weights(weights), METHOD, "l2 with standard deviation 3", names, targets, notes, found.worries, stats)


def _weighted(rule: Rule, weight: float) -> Rule:
    return replace(rule, weight=weight)
