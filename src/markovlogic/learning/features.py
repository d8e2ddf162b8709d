"""What is learned: one weight a rule, or one for each choice of constants for its `+` variables."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from markovlogic.data.evidence import Domain
from markovlogic.errors import InputError
from markovlogic.language.lower import lower
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
    Variable,
    atoms_of,
    known_of,
)
from markovlogic.language.templates import ClauseTemplate, Cube, LoweredModel
from markovlogic.system.arrays import Int64


@dataclass(frozen=True)
class LearningRule:
    """A rule as sums of clauses: N = constant + sign · Σ 1[clause], and the `+` variables that distinguish its weights."""

    number: int
    rule: Rule
    plus: tuple[str, ...]  # free variables marked with +
    sign: int
    templates: tuple[int, ...]  # of the lowered model
    kept: float | None  # a weight that is not to be learned


@dataclass(frozen=True)
class LearningRules:
    """All rules of a model, prepared for counting."""

    model: Model
    lowered: LoweredModel  # of rules with weight one in size; hard ones are hard
    rules: tuple[LearningRule, ...]  # the soft ones
    hard: tuple[int, ...]  # templates of hard rules


def plus_variables(rule: Rule) -> tuple[str, ...]:
    """Free variables of a rule that a `+` marks, in order."""
    marked: set[str] = set()

    def note(formula: Formula) -> None:
        for atom in atoms_of(formula):
            marked.update(term.name for term in atom.args if isinstance(term, Variable) and term.plus)

    note(rule.formula)
    return tuple(name for name in rule.free if name in marked)


def prepare(model: Model, *, keep_weights: bool = False, targets: Collection[str] = ()) -> LearningRules:
    """Lower each rule in the way that makes fewer clauses: as cubes that break it, or that make it true.

    targets: modelled predicates; what is known of an atom does not count as evidence for the atom itself.
    """
    if not any(not rule.is_hard for rule in model.rules):
        raise InputError("the model has no rule whose weight could be learned", hint="write rules without a final period")
    ways = [_weighted(model, sign, targets) for sign in (1.0, -1.0)]
    lowered = [lower(way) for way in ways]
    templates: list[ClauseTemplate] = []
    rules: list[LearningRule] = []
    hard: list[int] = []
    definitions = {d.predicate: d for d in lowered[0].definitions}
    renamed = {d.predicate: f"{d.predicate}'" for d in lowered[1].definitions}  # both ways number theirs from $0
    by_rule = [_by_rule(one) for one in lowered]
    for number, rule in enumerate(model.rules):
        if rule.is_hard:
            own = by_rule[0].get(number, [])
            hard += range(len(templates), len(templates) + len(own))
            templates += own
            continue
        way = 0 if len(by_rule[0].get(number, [])) <= len(by_rule[1].get(number, [])) else 1
        # counts of numbers of either sign come from the same clauses, as learned weights may have either sign
        own = [template for template in by_rule[way].get(number, []) if template.number is None or template.number.positive]
        if way:
            own = [_renamed(template, renamed) for template in own]
        first = len(templates)
        templates += own
        kept = rule.weight if keep_weights else None
        rules.append(LearningRule(number, rule, plus_variables(rule), 1 - 2 * way, tuple(range(first, first + len(own))), kept))
    more = [
        replace(d, predicate=renamed[d.predicate], cubes=tuple(_renamed_cube(cube, renamed) for cube in d.cubes))
        for d in lowered[1].definitions
    ]
    needed = LoweredModel(tuple(templates), (*definitions.values(), *more), (0.0,) * len(model.rules))
    return LearningRules(model, _with_used_definitions(needed), tuple(rules), tuple(hard))


def _weighted(model: Model, weight: float, targets: Collection[str]) -> Model:
    rules = tuple(
        rule if rule.is_hard else replace(rule, weight=weight, formula=_without_itself(rule, targets)) for rule in model.rules
    )
    return Model(model.predicates, rules, model.constants, model.declared_types, model.source)


def _without_itself(rule: Rule, targets: Collection[str]) -> Formula:
    """The formula where `Known(P(x))` is about other atoms than the modelled ones that stand beside it."""
    beside = [
        atom
        for atom in atoms_of(rule.formula)
        if atom.predicate in targets and all(isinstance(term, Constant) or term.name in rule.free for term in atom.args)
    ]

    def others(of: Formula) -> Formula:
        match of:
            case Atom():
                parts: list[Formula] = [of]
                for atom in beside:
                    pairs = list(zip(of.args, atom.args, strict=True)) if known_of(of.predicate) == atom.predicate else None
                    if pairs is None or any(isinstance(a, Constant) and isinstance(b, Constant) and a != b for a, b in pairs):
                        continue
                    same: list[Formula] = [Equal(a, b) for a, b in pairs if a.name != b.name or type(a) is not type(b)]
                    parts.append(Not(of if not same else same[0] if len(same) == 1 else And(tuple(same))))
                return of if len(parts) == 1 else And(tuple(parts))
            case Not() | Exists() | Forall():
                return replace(of, body=others(of.body))
            case And() | Or():
                return replace(of, parts=tuple(map(others, of.parts)))
            case Implies() | Iff():
                return replace(of, left=others(of.left), right=others(of.right))
        return of

    return others(rule.formula)


def _by_rule(lowered: LoweredModel) -> dict[int, list[ClauseTemplate]]:
    found: dict[int, list[ClauseTemplate]] = {}
    for template in lowered.templates:
        found.setdefault(template.rule, []).append(template)
    return found


def _renamed(template: ClauseTemplate, names: dict[str, str]) -> ClauseTemplate:
    return replace(template, literals=tuple(replace(x, predicate=names.get(x.predicate, x.predicate)) for x in template.literals))


def _renamed_cube(cube: Cube, names: dict[str, str]) -> Cube:
    return replace(cube, literals=tuple(replace(x, predicate=names.get(x.predicate, x.predicate)) for x in cube.literals))


def _with_used_definitions(lowered: LoweredModel) -> LoweredModel:
    used = {literal.predicate for template in lowered.templates for literal in template.literals}
    kept = []
    for definition in reversed(lowered.definitions):
        if definition.predicate in used:
            kept.append(definition)
            used.update(literal.predicate for cube in definition.cubes for literal in cube.literals)
    return LoweredModel(lowered.templates, tuple(reversed(kept)), lowered.constant_per_grounding)


def parted(rules: LearningRules, numbers: Collection[int]) -> tuple[LearningRules, LearningRules]:
    """The rules with these numbers, and the others."""
    return _some(rules, lambda number: number in numbers), _some(rules, lambda number: number not in numbers)


def _some(rules: LearningRules, chosen: Callable[[int], bool]) -> LearningRules:
    """Rules whose number is chosen, with the clauses that belong to them."""
    dropped = {at for at, template in enumerate(rules.lowered.templates) if not chosen(template.rule)}
    return without_templates(replace(rules, rules=tuple(rule for rule in rules.rules if chosen(rule.number))), dropped)


def without_templates(rules: LearningRules, dropped: Collection[int]) -> LearningRules:
    """The rules without some clauses, which are hard or of no rule that is left."""
    old = rules.lowered
    kept = [at for at in range(len(old.templates)) if at not in dropped]
    at_now = {at: now for now, at in enumerate(kept)}
    lowered = LoweredModel(tuple(old.templates[at] for at in kept), old.definitions, old.constant_per_grounding)
    soft = tuple(replace(rule, templates=tuple(at_now[at] for at in rule.templates)) for rule in rules.rules)
    hard = tuple(at_now[at] for at in rules.hard if at in at_now)
    return LearningRules(rules.model, _with_used_definitions(lowered), soft, hard)


@dataclass
class FeatureIndex:
    """Numbers for weights, given out as databases show them: (rule, names of the constants of its `+` variables)."""

    keys: list[tuple[int, tuple[str, ...]]] = field(default_factory=list)
    _number: dict[tuple[int, tuple[str, ...]], int] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.keys)

    def number(self, rule: int, constants: tuple[str, ...] = ()) -> int:
        """The weight's number; a new one where it was not met before."""
        key = (rule, constants)
        found = self._number.get(key)
        if found is None:
            found = self._number[key] = len(self.keys)
            self.keys.append(key)
        return found

    def numbers(self, rule: int, domains: Sequence[Domain], values: Sequence[Int64], n: int) -> Int64:
        """Numbers of many: constants by their numbers in the domains of one database, a column each."""
        if not values:
            return np.full(n, self.number(rule), np.int64)
        code = np.zeros(n, np.int64)
        for domain, column in zip(domains, values, strict=True):
            code = code * len(domain) + column
        distinct, first, inverse = np.unique(code, return_index=True, return_inverse=True)
        made = np.empty(len(distinct), np.int64)
        for at, row in enumerate(first.tolist()):
            names = tuple(domain.names[int(column[row])] for domain, column in zip(domains, values, strict=True))
            made[at] = self.number(rule, names)
        return made[inverse]


def instantiate(rule: Rule, plus: tuple[str, ...], constants: tuple[str, ...], weight: float | None) -> Rule:
    """The rule with constants in place of its `+` variables."""
    value = dict(zip(plus, constants, strict=True))
    formula = _substituted(rule.formula, value)
    free = tuple(name for name in rule.free if name not in value)
    types = tuple(pair for pair in rule.types if pair[0] not in value)
    factor = None if rule.factor is None else _substituted(rule.factor, value)
    assert factor is None or isinstance(factor, Atom)
    return replace(rule, formula=formula, weight=weight, free=free, types=types, factor=factor)


def _substituted(formula: Formula, value: dict[str, str]) -> Formula:
    def term(of: Term) -> Term:
        return Constant(value[of.name]) if isinstance(of, Variable) and of.name in value else of

    match formula:
        case Atom():
            return replace(formula, args=tuple(term(t) for t in formula.args))
        case Equal():
            return replace(formula, left=term(formula.left), right=term(formula.right))
        case Not() | Exists() | Forall():
            return replace(formula, body=_substituted(formula.body, value))
        case And() | Or():
            return replace(formula, parts=tuple(_substituted(part, value) for part in formula.parts))
        case Implies() | Iff():
            return replace(formula, left=_substituted(formula.left, value), right=_substituted(formula.right, value))
    raise AssertionError(formula)
