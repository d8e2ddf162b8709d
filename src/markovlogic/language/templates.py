"""What lowering turns rules into: clause templates with positive weights, and definitions of hidden predicates.

A rule with weight w is w·1[f] for every substitution of its free variables. Lowering writes it as

    constant · (number of groundings)  +  Σ over templates  weight · 1[clause],      weight > 0 or inf.

A quantified part that is not swallowed otherwise becomes a *hidden* predicate H over the variables that are free in it,
with the definition  H(x) ⇔ EXIST locals (cube₁ v cube₂ v …). It appears as an ordinary literal in clauses and cubes.
Grounding decides, from the evidence, whether a ground H needs an atom of its own at all (see `grounding.assemble`).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from markovlogic.language.syntax import Term


@dataclass(frozen=True, order=True)
class Literal:
    """A predicate, or hidden predicate, applied to terms, with a sign."""

    predicate: str
    args: tuple[Term, ...]
    positive: bool


@dataclass(frozen=True, order=True)
class EqualityLiteral:
    """`left = right` (positive) or `left != right`; grounding decides it."""

    left: Term
    right: Term
    positive: bool


@dataclass(frozen=True)
class Number:
    """An atom whose number multiplies a weight, where that number has the given sign; what has no number does not count."""

    predicate: str
    args: tuple[Term, ...]
    positive: bool


@dataclass(frozen=True)
class ClauseTemplate:
    """A disjunction of literals for every substitution of `variables` (those that occur in it, in order, with types).

    `idle` are the rule's free variables that this clause does not mention: each ground clause stands for
    ∏|domain(idle)| groundings, so its weight is multiplied by that number.
    """

    literals: tuple[Literal, ...]
    equalities: tuple[EqualityLiteral, ...]
    weight: float
    variables: tuple[tuple[str, str], ...]
    idle: tuple[tuple[str, str], ...]
    rule: int  # index into Model.rules
    # the size of this number multiplies the weight; the clause holds the negated atom, so that it is true where there is none
    number: Number | None = None


@dataclass(frozen=True)
class NumberConstant:
    """A constant that belongs to log weights for the sum of a rule's numbers, over all its groundings."""

    rule: int
    number: Number
    weight: float


@dataclass(frozen=True)
class Cube:
    """A conjunction of literals inside a definition; `locals_` are the variables bound by the quantifier."""

    literals: tuple[Literal, ...]
    equalities: tuple[EqualityLiteral, ...]


@dataclass(frozen=True)
class Definition:
    """`predicate(parameters) ⇔ EXIST locals_ (cube v cube …)`; definitions come before their users in a lowered model."""

    predicate: str
    parameters: tuple[tuple[str, str], ...]
    locals_: tuple[tuple[str, str], ...]
    cubes: tuple[Cube, ...]
    rule: int


@dataclass(frozen=True)
class LoweredModel:
    """Everything that the engine below the language sees."""

    templates: tuple[ClauseTemplate, ...]
    definitions: tuple[Definition, ...]
    constant_per_grounding: tuple[float, ...]  # by rule; multiplied by the rule's number of groundings
    numbers: tuple[NumberConstant, ...] = ()

    @property
    def has_numbers(self) -> bool:
        """Whether numbers multiply weights of any clause."""
        return any(template.number is not None for template in self.templates) or bool(self.numbers)

    def of_rule(self, rule: int) -> LoweredModel:
        """The clauses, definitions and numbers of one rule; constants of all rules stay."""
        return replace(
            self,
            templates=tuple(template for template in self.templates if template.rule == rule),
            definitions=tuple(definition for definition in self.definitions if definition.rule == rule),
            numbers=tuple(number for number in self.numbers if number.rule == rule),
        )

    @property
    def has_hard(self) -> bool:
        """Whether any rule must hold."""
        return any(math.isinf(template.weight) for template in self.templates)
