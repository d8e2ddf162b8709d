"""Found rules as a learned model."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from markovlogic.data.evidence import Evidence
from markovlogic.language.load import parse
from markovlogic.language.show import show_model
from markovlogic.language.syntax import NOWHERE, Model, Rule
from markovlogic.learning.learned import Learned, LearnedWeight, Weights
from markovlogic.learning.structure.couplings import with_couplings
from markovlogic.learning.structure.find import Found, Search, find
from markovlogic.learning.structure.refine import refine
from markovlogic.system.measures import Stopwatch, peak_memory
from markovlogic.system.progress import Progress


def with_rules(model: Model, found: Found) -> tuple[Model, list[tuple[int, Rule]]]:
    """The model with the found rules behind its own, and of each found rule its number and, with its weight, itself."""
    written = [rule for rule in found.rules if rule.given is None or rule.is_changed]
    constants = {name: model.constants[name] for name in model.constants if name in model.declared_types}
    declared = show_model(Model(model.predicates, (), constants, model.declared_types))
    parsed = parse(declared + "\n" + "\n".join(f"{rule.weight!r} {rule.formula}" for rule in written) + "\n")
    new: list[Rule] = []
    made = []
    read = iter(parsed.rules)
    for rule in found.rules:
        if rule.given is not None and not rule.is_changed:
            made.append((rule.given, replace(model.rules[rule.given], weight=rule.weight)))
            continue
        own = replace(next(read), place=NOWHERE, last_line=0)
        made.append((len(model.rules) + len(new) if rule.given is None else rule.given, own))
        if rule.given is None:
            new.append(own)
    merged = {name: tuple(dict.fromkeys((*model.constants.get(name, ()), *own))) for name, own in parsed.constants.items()}
    predicates = {**parsed.predicates, **model.predicates}
    return replace(model, rules=(*model.rules, *new), constants={**model.constants, **merged}, predicates=predicates), made


def learned_structure(
    model: Model,
    databases: Sequence[Evidence],
    targets: tuple[str, ...],
    search: Search,
    refines: bool,
    progress: Progress,
    watch: Stopwatch,
) -> Learned:
    """Find rules and their weights; refines: change those that are given instead."""
    with watch("learn"):
        found = (refine if refines else find)(model, databases, targets, search, progress)
        if not refines and not search.is_open:
            found = with_couplings(model, databases, targets, found, search.seed, progress)
        full, own = with_rules(model, found)
    weights = tuple(
        LearnedWeight(rule, number, one.weight, one.stderr, True, about=one.about)
        for (number, rule), one in zip(own, found.rules, strict=True)
    )
    if refines:
        name, n_found, done = "refinement", sum(rule.is_changed for rule in found.rules), "rules are changed"
    else:
        name, n_found, done = "structure", sum(rule.given is None for rule in found.rules) - len(found.heads), "rules are left"
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
        "rules_changed" if refines else "rules_found": n_found,
        "seconds": dict(watch.stop()),
        "peak_memory_bytes": peak_memory(),
    }
    names = tuple("+".join(one.sources) or f"database {at + 1}" for at, one in enumerate(databases))
    notes = (f"{found.candidates:,} candidates were counted, {n_found:,} {done}", *found.notes)
    return Learned(full, Weights(weights), name, "l2 with standard deviation 3", names, targets, notes, found.worries, stats)
