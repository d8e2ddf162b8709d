"""Predicates of which terms do not show everything: their atoms are drawn one by one, or group by group, and never with others.

Terms are soft clauses over atoms that are free of each other. An exclusive predicate has groups, a quantifier inside a formula
stands for atoms that follow from others, and a hard rule leaves no weight to lose. Such a formula concerns its own
predicates alone; all others depend on their values, as on those of any predicate.

With hard rules, moves must still reach every world. A predicate that is open throughout and has one sign in all hard clauses can
satisfy all of its own for good; these are struck out, and so on. Where none is left, every two worlds are joined by a path of
single atoms: set those predicates one after the other to their sign, do the same in the other world, and go back. A cluster's
draw can do whatever a draw of one of its atoms can.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import isinf

from markovlogic.language.templates import ClauseTemplate, LoweredModel
from markovlogic.methods.lifted.blocks.tensor_terms import unsupported
from markovlogic.problem import Problem


def held_predicates(problem: Problem, lowered: LoweredModel) -> dict[str, str]:
    """Open predicates that are drawn by themselves, and why; refuses hard rules that may keep moves from some worlds."""
    found: dict[str, str] = {groups.predicate: "it is exclusive in an argument" for groups in problem.groups}
    behind = _behind(lowered)
    _require_free_moves(problem, [template for template in lowered.templates if isinf(template.weight)], behind)
    for template in lowered.templates:
        names = [literal.predicate for literal in template.literals]
        why = "it is in a hard rule" if isinf(template.weight) else ""
        if any(name in behind for name in names):
            why = why or "it is in a formula with a quantifier inside"
        if why:
            for name in names:
                for own in behind.get(name, (name,)):
                    found.setdefault(own, f"{why}: {problem.model.rules[template.rule].text}")
    return {name: why for name, why in found.items() if problem.statuses[name].n_open}


def rules_about(predicate: str, lowered: LoweredModel) -> LoweredModel:
    """The clauses on which a conditional of the predicate depends, with the definitions that they need."""
    behind = _behind(lowered)
    templates = tuple(
        template
        for template in lowered.templates
        if any(predicate in behind.get(literal.predicate, (literal.predicate,)) for literal in template.literals)
    )
    wanted = {literal.predicate for template in templates for literal in template.literals}
    for definition in reversed(lowered.definitions):  # users come after what they use
        if definition.predicate in wanted:
            wanted |= {literal.predicate for cube in definition.cubes for literal in cube.literals}
    definitions = tuple(definition for definition in lowered.definitions if definition.predicate in wanted)
    return LoweredModel(templates, definitions, lowered.constant_per_grounding, lowered.numbers)


def _behind(lowered: LoweredModel) -> dict[str, set[str]]:
    """The predicates that each hidden one follows from."""
    found: dict[str, set[str]] = {}
    for definition in lowered.definitions:
        names = {literal.predicate for cube in definition.cubes for literal in cube.literals}
        found[definition.predicate] = set().union(*(found.get(name, {name}) for name in names))
    return found


def _require_free_moves(problem: Problem, hard: Sequence[ClauseTemplate], behind: Mapping[str, set[str]]) -> None:
    exclusive = {groups.predicate for groups in problem.groups}
    free = {
        name
        for name, statuses in problem.statuses.items()
        if statuses.n_ground and statuses.n_open == statuses.n_ground and name not in exclusive
    }
    left = list(hard)
    while left:
        signs: dict[str, set[bool]] = {}
        for template in left:
            for literal in template.literals:
                for name in behind.get(literal.predicate, ()):
                    signs[name] = {True, False}  # its effect there is unknown
                signs.setdefault(literal.predicate, set()).add(literal.positive)
        struck = {name for name, own in signs.items() if name in free and len(own) == 1}
        kept = [template for template in left if not any(literal.predicate in struck for literal in template.literals)]
        if len(kept) == len(left):
            rule = problem.model.rules[left[0].rule]
            what = "hard rules may keep blocks of predicates from reaching every world"
            raise unsupported(what, rule.place, rule.text)
        left = kept
