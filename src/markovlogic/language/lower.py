"""From rules to what the engine sees: clause templates with positive weights, definitions of hidden predicates, constants.

With K orthogonal cubes of !f, w·1[f] = w·Σ 1[clause] − w(K−1), one clause (the negated cube) for each; with J orthogonal cubes
of f, w·1[f] = wJ − w·Σ 1[clause]. The first is taken for w > 0, the second for w < 0: all clause weights are positive. Of hard
formulas only satisfaction matters, so the cubes that break one may overlap, and universal quantifiers turn into free variables.

Domains are taken to hold at least one constant (an empty one is an error of the data).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

from markovlogic.errors import Fault, InputError, UnsupportedError, capped
from markovlogic.language.propositional import (
    MAX_CUBES,
    LiteralCube,
    Node,
    TooManyCubes,
    conj,
    covering_cubes,
    disj,
    disjunctive_form,
    iff,
    negate,
    orthogonal_cubes,
)
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
)
from markovlogic.language.templates import (
    ClauseTemplate,
    Cube,
    Definition,
    EqualityLiteral,
    Literal,
    LoweredModel,
    Number,
    NumberConstant,
)
from markovlogic.system.measures import without_collection

_PULLED_EQUIVALENCES = 2  # nested `<=>` that are expanded so that a quantifier inside needs no hidden predicate


def lower(model: Model, clause_weights: str = "formula") -> LoweredModel:
    """Lower all rules of a model.

    `clause_weights="formula"` keeps the weight of the whole formula; `"alchemy"` splits a formula into its clauses and divides
    the weight equally among them, Alchemy's habit. Raises InputError for rules without weight, contradictory hard rules and
    formulas that need too many clauses.
    """
    if clause_weights not in ("formula", "alchemy"):
        raise InputError(f"unknown clause weights {clause_weights}", hint="formula or alchemy")
    missing = [
        Fault(f"weight missing for inference: {rule.text or 'a formula'}", rule.place, hint="give a weight, or learn it first")
        for rule in model.rules
        if rule.weight is None
    ]
    if missing:
        raise InputError(capped(missing))
    if clause_weights == "alchemy":
        _refuse_values(model)
    result = _Result()
    faults: list[Fault] = []
    with without_collection():
        for number, rule in enumerate(model.rules):
            lowering = _RuleLowering(rule, number, result)
            try:
                result.constants.append(lowering.lower(clause_weights == "alchemy"))
            except TooManyCubes:
                hint = "split it, or name a part of it by a predicate of its own"
                faults.append(Fault(f"formula stands for more than {MAX_CUBES} clauses: {rule.text}", rule.place, hint=hint))
            except _Contradiction:
                faults.append(Fault(f"hard formula can never be true: {rule.text}", rule.place))
    if faults:
        raise InputError(capped(faults))
    return LoweredModel(tuple(result.templates), _used_definitions(result), tuple(result.constants), tuple(result.numbers))


def _refuse_values(model: Model) -> None:
    """A weight that is divided among clauses would reach groundings whose variables are no values of functions and sums."""
    faults = [
        Fault(
            f"functions and sums are not divided into clauses: {rule.text}",
            rule.place,
            hint="leave --clause-weights alchemy out, or write the function as a predicate",
        )
        for rule in model.rules
        if rule.names_values and not rule.is_hard
    ]
    if faults:
        raise UnsupportedError(capped(faults))


def _used_definitions(result: _Result) -> tuple[Definition, ...]:
    """The definitions that clauses depend on; simplification can leave others over."""
    used = {literal.predicate for template in result.templates for literal in template.literals}
    kept = []
    for definition in reversed(result.definitions):
        if definition.predicate in used:
            kept.append(definition)
            used.update(literal.predicate for cube in definition.cubes for literal in cube.literals)
    return tuple(reversed(kept))


class _Contradiction(Exception):
    """A hard rule that no world satisfies."""


@dataclass
class _Result:
    """What the rules before have given."""

    templates: list[ClauseTemplate] = field(default_factory=list)
    definitions: list[Definition] = field(default_factory=list)
    constants: list[float] = field(default_factory=list)
    numbers: list[NumberConstant] = field(default_factory=list)


@dataclass(frozen=True)
class _Key:
    """What a propositional variable stands for: an atom, a hidden atom, or an equality (predicate None)."""

    predicate: str | None
    args: tuple[Term, ...]


class _RuleLowering:
    """Lowers one rule; numbers its atoms and equalities, and shares equal definitions."""

    def __init__(self, rule: Rule, number: int, result: _Result) -> None:
        self.rule = rule
        self.number = number
        self.result = result
        self.types = rule.type_of
        self.keys: list[_Key] = []
        self.number_of: dict[_Key, int] = {}
        self.known_definitions: dict[object, _Key] = {}

    def lower(self, alchemy: bool) -> float:
        """Add the rule's templates and definitions; gives its constant for every grounding."""
        weight = self.rule.weight
        assert weight is not None
        if weight == 0:
            return 0.0
        if self.rule.factor is not None:
            self.numbered(weight, self.rule.factor)
            return 0.0
        if math.isinf(weight):
            self.hard(self.node(self.rule.formula, weight < 0, pull=_PULLED_EQUIVALENCES))
            return 0.0
        if alchemy:
            return self.divided(weight)
        if weight > 0:
            breaking = orthogonal_cubes(self.node(self.rule.formula, False))
            self.clauses(breaking, weight)
            return weight * (1 - len(breaking)) if len(breaking) != 1 else 0.0
        making = orthogonal_cubes(self.node(self.rule.formula, True))
        self.clauses(making, -weight)
        return weight * len(making)

    def numbered(self, weight: float, factor: Atom) -> None:
        """Clauses for numbers of either sign: from what breaks the formula where weight times number is positive.

        With K cubes that break f, u·1[f] = u·Σ 1[clause] - u(K - 1); with J that make it, -u·1[f] = u·Σ 1[clause] - u·J; u > 0.
        """
        args = tuple(_plain(term) for term in factor.args)
        for positive in (True, False):
            number = Number(factor.predicate, args, positive)
            breaks = (weight > 0) == positive
            cubes = orthogonal_cubes(self.node(self.rule.formula, not breaks))
            self.clauses(cubes, abs(weight), number)
            lost = 1 - len(cubes) if breaks else -len(cubes)
            if lost:
                self.result.numbers.append(NumberConstant(self.number, number, abs(weight) * lost))

    def hard(self, breaking: Node) -> None:
        """One hard clause for each cube that breaks the rule."""
        cubes = covering_cubes(breaking)
        if () in cubes:
            raise _Contradiction
        if len(cubes) > 1:
            try:
                if not orthogonal_cubes(negate(breaking), limit=64):
                    raise _Contradiction
            except TooManyCubes:
                pass  # it is true in many ways
        self.clauses(cubes, math.inf)

    def divided(self, weight: float) -> float:
        """Alchemy's habit: the clauses of the formula, each with an equal part of its weight, whatever its sign."""
        breaking = disjunctive_form(self.node(self.rule.formula, False), absorb=False)
        if not breaking:
            return weight
        part = weight / len(breaking)
        if weight > 0:
            self.clauses(breaking, part)
            return 0.0
        constant = 0.0
        for cube in breaking:
            making = orthogonal_cubes(negate(conj(cube)))
            self.clauses(making, -part)
            constant += part * len(making)
        return constant

    # ---- from formulas to propositional nodes

    def node(self, formula: Formula, positive: bool, pull: int = -1, locals_: dict[str, None] | None = None) -> Node:
        """The formula (or its negation) as a propositional node; quantified parts become hidden atoms.

        With `pull` >= 0 the node stands under existential quantifiers already (`locals_` collects their variables), so further
        ones that are not below a negation join them; at most `pull` nested equivalences are expanded for that.
        """
        locals_ = {} if locals_ is None else locals_
        match formula:
            case Atom():
                number = self.variable(_Key(formula.predicate, tuple([_plain(term) for term in formula.args])))
                return number if positive else -number
            case Equal():
                return self.equality(_plain(formula.left), _plain(formula.right), positive)
            case Not():
                return self.node(formula.body, not positive, pull, locals_)
            case And() | Or():
                parts = [self.node(part, positive, pull, locals_) for part in formula.parts]
                return conj(parts) if isinstance(formula, And) == positive else disj(parts)
            case Implies():
                left = self.node(formula.left, not positive, pull, locals_)
                right = self.node(formula.right, positive, pull, locals_)
                return disj((left, right)) if positive else conj((left, right))
            case Iff():
                return self.equivalence(formula, positive, pull, locals_)
            case Exists() | Forall():
                if isinstance(formula, Exists) == positive:
                    if pull < 0:
                        return self.hidden(formula, positive)
                    locals_.update(dict.fromkeys(formula.variables))
                    return self.node(formula.body, positive, pull, locals_)
                return negate(self.hidden(formula, not positive))
        raise AssertionError(formula)

    def equivalence(self, formula: Iff, positive: bool, pull: int, locals_: dict[str, None]) -> Node:
        """`f <=> g`, expanded where that lets quantifiers inside join those around."""
        if pull > 0 and _has_quantifier(formula):
            options = []
            for left_sign in (True, False):
                left = self.node(formula.left, left_sign, pull - 1, locals_)
                right = self.node(formula.right, left_sign == positive, pull - 1, locals_)
                options.append(conj((left, right)))
            return disj(options)
        return iff(self.node(formula.left, True), self.node(formula.right, positive))

    def variable(self, key: _Key) -> int:
        """Number of what a literal says, from 1."""
        number = self.number_of.get(key)
        if number is None:
            self.keys.append(key)
            number = self.number_of[key] = len(self.keys)
        return number

    def equality(self, left: Term, right: Term, positive: bool) -> Node:
        """`left = right`: decided where both are constants or the same variable."""
        if left == right:
            return positive
        if isinstance(left, Constant) and isinstance(right, Constant):
            return not positive
        if isinstance(left, Constant) or (isinstance(right, Variable) and right.name < left.name):
            left, right = right, left
        number = self.variable(_Key(None, (left, right)))
        return number if positive else -number

    def hidden(self, formula: Exists | Forall, body_sign: bool) -> Node:
        """A hidden atom for EXIST variables (body), the body negated where `body_sign` is False."""
        locals_: dict[str, None] = dict.fromkeys(formula.variables)
        body = self.node(formula.body, body_sign, _PULLED_EQUIVALENCES, locals_)
        cubes = covering_cubes(body)
        if not cubes or () in cubes:
            return bool(cubes)
        used = self.variables_in(cubes)
        bound = [name for name in used if name in locals_]
        if not bound:
            return disj([conj(cube) for cube in cubes])
        parameters = [name for name in used if name not in locals_]
        canonical = {name: f"${at}" for at, name in enumerate(bound)}
        shape = tuple(sorted(tuple(sorted(self.shape(literal, canonical) for literal in cube)) for cube in cubes))
        key = self.known_definitions.get(shape)
        if key is None:
            name = f"${len(self.result.definitions)}"
            self.result.definitions.append(
                Definition(name, self.typed(parameters), self.typed(bound), tuple(map(self.cube, cubes)), self.number)
            )
            key = self.known_definitions[shape] = _Key(name, tuple(Variable(p) for p in parameters))
        return self.variable(key)

    def shape(self, literal: int, canonical: dict[str, str]) -> tuple[bool, str, tuple[tuple[bool, str], ...]]:
        """A literal with the bound variables renamed by order, for comparison of definitions."""
        key = self.keys[abs(literal) - 1]
        args = [
            (isinstance(term, Constant), canonical.get(term.name, term.name) if isinstance(term, Variable) else term.name)
            for term in key.args
        ]
        return literal > 0, key.predicate or "", tuple(args)

    # ---- from cubes to values

    def variables_in(self, cubes: list[LiteralCube]) -> list[str]:
        """Variables of cubes, in the order of the rule."""
        used = {
            term.name
            for cube in cubes
            for literal in cube
            for term in self.keys[abs(literal) - 1].args
            if isinstance(term, Variable)
        }
        return [name for name in self.types if name in used]

    def typed(self, names: list[str]) -> tuple[tuple[str, str], ...]:
        return tuple([(name, self.types[name]) for name in names])

    def literals(self, cube: LiteralCube, negated: bool) -> tuple[tuple[Literal, ...], tuple[EqualityLiteral, ...]]:
        literals, equalities = [], []
        for literal in cube:
            key = self.keys[abs(literal) - 1]
            positive = (literal > 0) != negated
            if key.predicate is None:
                equalities.append(EqualityLiteral(key.args[0], key.args[1], positive))
            else:
                literals.append(Literal(key.predicate, key.args, positive))
        return tuple(literals), tuple(equalities)

    def cube(self, cube: LiteralCube) -> Cube:
        return Cube(*self.literals(cube, negated=False))

    def clauses(self, cubes: list[LiteralCube], weight: float, number: Number | None = None) -> None:
        """A template for each cube: the clause that is false where the cube is true. An empty clause is never true."""
        for cube in cubes:
            if not cube:
                continue
            literals, equalities = self.literals(cube, negated=True)
            used = self.variables_in([cube])
            if number is not None:
                own = {term.name for term in number.args if isinstance(term, Variable)}
                used = [name for name in self.types if name in used or name in own]
                literals = (Literal(number.predicate, number.args, False), *literals)
            idle = [name for name in self.rule.free if name not in used]
            self.result.templates.append(
                ClauseTemplate(literals, equalities, weight, self.typed(used), self.typed(idle), self.number, number)
            )


def _plain(term: Term) -> Term:
    """The term without its `+`, which matters to learning only."""
    return Variable(term.name) if isinstance(term, Variable) and term.plus else term


def _has_quantifier(formula: Formula) -> bool:
    match formula:
        case Exists() | Forall():
            return True
        case Not(body=body):
            return _has_quantifier(body)
        case And(parts=parts) | Or(parts=parts):
            return any(_has_quantifier(part) for part in parts)
        case Implies(left=left, right=right) | Iff(left=left, right=right):
            return _has_quantifier(left) or _has_quantifier(right)
    return False
