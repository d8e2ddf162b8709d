"""Relations of integers, `x < y + 2`, `x = y + 1`, `x < 10`: atoms of closed predicates, true by the numbers.

Such a predicate is named by what it says and the type that it is about, in a way that no file can write: `<time` is x < y,
`<+2time` is x < y + 2, `=+1time` is x = y + 1, and with one argument `<#10time` is x < 10 and `=#4time` is x = 4. Evidence gets
its facts from the constants of the type; a number that a variable is compared with becomes no constant of it.
"""

from __future__ import annotations

import math
import operator
import re
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from markovlogic.errors import Place
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
    Not,
    Or,
    Predicate,
    Term,
    Variable,
)

INTEGER = re.compile(r"-?[0-9]{1,18}\Z")
LESS, SAME = "<", "="
_NAME = re.compile(r"([<=])(?:([+-][0-9]+)|#(-?[0-9]+))?(\w*)\Z")
_HOLDS: dict[str, Callable[[int, int], bool]] = {"<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge}
_COMPARISONS = {"lessThan": "<", "lessThanEq": "<=", "greaterThan": ">", "greaterThanEq": ">="}
STEPS = {"succ": 1, "prec": -1}  # succ(t) is t + 1
SUMS = {"plus": 1, "minus": -1}  # minus(t, 2) is t - 2
NOT_SUPPORTED = frozenset({"times", "dividedBy", "mod", "concat", "substr"})  # other built-ins of Alchemy and LoMRF


class NotAnIntegerError(Exception):
    """A constant that cannot be compared or added to."""


class Side(NamedTuple):
    """One side of a relation: `t + 1`."""

    term: Term
    shift: int = 0


@dataclass(frozen=True)
class Relation:
    """What a predicate says: left < right + shift, left = right + shift, or the same of one argument and a number."""

    sign: str
    shift: int
    bound: int | None
    type_name: str

    @property
    def arity(self) -> int:
        """How many arguments it takes."""
        return 2 if self.bound is None else 1


def is_built_in(predicate: str) -> bool:
    """Whether a predicate is one of these."""
    return predicate.startswith((LESS, SAME))


def relation_of(predicate: str) -> Relation:
    """What the name of such a predicate says."""
    found = _NAME.match(predicate)
    assert found is not None, predicate
    sign, shift, bound, type_name = found.groups()
    return Relation(sign, int(shift or 0), None if bound is None else int(bound), type_name)


def built_in(name: str) -> Predicate:
    """The declaration of such a predicate."""
    relation = relation_of(name)
    return Predicate(name, (relation.type_name,) * relation.arity, (False,) * relation.arity, closed=True)


# ---- from what is written to atoms


def number(constant: Constant) -> int:
    """The integer that a constant is."""
    if not INTEGER.match(constant.name):
        raise NotAnIntegerError(constant.name)
    return int(constant.name)


def compared(left: Side, sign: str, right: Side, place: Place) -> Formula:
    """A comparison by < alone: integers are ordered, so x <= y is !(y < x), and 3 < x is !(x < 4).

    Two constants give `c = c` or its negation: learning writes such, where `+t` is compared.
    """
    if isinstance(left.term, Constant) and isinstance(right.term, Constant):
        holds = _HOLDS[sign](number(left.term) + left.shift, number(right.term) + right.shift)
        same = Equal(left.term, left.term, place)
        return same if holds else Not(same)
    less = _less(left, right, place) if sign in ("<", ">=") else _less(right, left, place)
    return less if sign in ("<", ">") else _negated(less)


def _less(left: Side, right: Side, place: Place) -> Formula:
    shift = right.shift - left.shift
    if isinstance(right.term, Constant):
        return Atom(f"{LESS}#{number(right.term) + shift}", (left.term,), place=place)
    if isinstance(left.term, Constant):
        return Not(Atom(f"{LESS}#{number(left.term) - shift + 1}", (right.term,), place=place))
    return Atom(f"{LESS}{_shifted(shift)}", (left.term, right.term), place=place)


def equal(left: Side, right: Side, place: Place) -> Formula:
    """`x = y`, or `x = y + 2` as an atom."""
    if left.shift == right.shift or (isinstance(left.term, Constant) and isinstance(right.term, Constant)):
        return Equal(left.term, right.term, place)
    if isinstance(left.term, Constant):
        left, right = right, left
    shift = right.shift - left.shift
    if isinstance(right.term, Constant):
        return Atom(f"{SAME}#{number(right.term) + shift}", (left.term,), place=place)
    return Atom(f"{SAME}{_shifted(shift)}", (left.term, right.term), place=place)


def _shifted(shift: int) -> str:
    return f"{shift:+d}" if shift else ""


def _negated(formula: Formula) -> Formula:
    return formula.body if isinstance(formula, Not) else Not(formula)


def named_like_alchemy(atom: Atom) -> Formula | None:
    """`greaterThan(s, t)` and its relatives; None for anything else."""
    if atom.predicate in _COMPARISONS and len(atom.args) == 2:
        return compared(Side(atom.args[0]), _COMPARISONS[atom.predicate], Side(atom.args[1]), atom.place)
    return None


def is_named_like_alchemy(name: str) -> bool:
    """Whether a name is a built-in predicate there, where no file declares it."""
    return name in _COMPARISONS or name in NOT_SUPPORTED


# ---- walks over formulas


def with_types(formula: Formula, type_of: dict[str, str]) -> Formula:
    """The formula with each relation named by its type; one side of it is a variable."""

    def typed(atom: Atom) -> Formula:
        if not is_built_in(atom.predicate):
            return atom
        names = [type_of[term.name] for term in atom.args if isinstance(term, Variable) and term.name in type_of]
        return replace(atom, predicate=f"{atom.predicate}{names[0]}") if names else atom

    return with_atoms(formula, typed)


def with_atoms(formula: Formula, changed: Callable[[Atom], Formula]) -> Formula:
    """The formula with something else for each of its atoms."""
    match formula:
        case Atom():
            return changed(formula)
        case Not() | Exists() | Forall():
            return replace(formula, body=with_atoms(formula.body, changed))
        case And() | Or():
            return replace(formula, parts=tuple([with_atoms(part, changed) for part in formula.parts]))
        case Implies() | Iff():
            return replace(formula, left=with_atoms(formula.left, changed), right=with_atoms(formula.right, changed))
    return formula


# ---- and back


def shown_relation(atom: Atom, negated: bool, show: Callable[[Term], str]) -> str:
    """`x < y + 2` as it is written; `y <= x` where it is negated."""
    relation = relation_of(atom.predicate)
    left = show(atom.args[0])
    if relation.bound is not None:
        if relation.sign == LESS:
            return f"{left} {'>=' if negated else '<'} {show(Constant(str(relation.bound)))}"
        return f"{left} + 1 {'!=' if negated else '='} {show(Constant(str(relation.bound + 1)))}"
    shift = f" {'+' if relation.shift > 0 else '-'} {abs(relation.shift)}" if relation.shift else ""
    right = f"{show(atom.args[1])}{shift}"
    if relation.sign == SAME:
        return f"{left} {'!=' if negated else '='} {right}"
    return f"{right} <= {left}" if negated else f"{left} < {right}"


def relation_name(predicate: str) -> str:
    """What such a predicate says, for messages: `x = y + 1`."""
    variables = (Variable("x"), Variable("y"))[: relation_of(predicate).arity]
    return shown_relation(Atom(predicate, variables), False, lambda term: term.name)


@dataclass
class _Scope:
    """What one quantifier binds, or the rule itself: its variables, and the values that depend on them."""

    names: set[str]
    of: dict[Hashable, tuple[Variable, Formula]] = field(default_factory=dict)  # variables of values, with their atoms


@dataclass
class Calls:
    """The functions and sums that one formula uses."""

    scopes: list[_Scope] = field(default_factory=lambda: [_Scope(set())])  # of the rule, then of quantifiers
    used: list[Atom] = field(default_factory=list)  # all functions, those with a given value too
    n_made: int = 0

    def value(self, call: Atom) -> Term:
        """The variable for a function's value; the same for the same arguments."""

        def made(name: Variable) -> Formula:
            atom = replace(call, args=(*call.args, name))
            self.used.append(atom)
            return atom

        return self._named((call.predicate, call.args), call.args, f"value_of_{call.predicate}", made)

    def total(self, base: Variable, shift: int, place: Place) -> Term:
        """The variable for `t + 1`."""
        plain = Variable(base.name)
        return self._named((plain, shift), (plain,), f"{base.name}_shifted", lambda z: equal(Side(z), Side(base, shift), place))

    def _named(self, key: Hashable, args: Sequence[Term], stem: str, made: Callable[[Variable], Formula]) -> Term:
        names = {arg.name for arg in args if isinstance(arg, Variable)}
        scope = next((scope for scope in reversed(self.scopes) if scope.names & names), self.scopes[0])
        if key not in scope.of:
            self.n_made += 1
            variable = Variable(f"{stem}_{self.n_made}")
            scope.names.add(variable.name)
            scope.of[key] = variable, made(variable)
        return scope.of[key][0]

    def equality(self, call: Atom, value: Term) -> Atom:
        """`F(x) = y` as an atom."""
        made = replace(call, args=(*call.args, value))
        self.used.append(made)
        return made

    def enter(self, names: Sequence[str]) -> None:
        """The cursor goes into a quantifier."""
        self.scopes.append(_Scope(set(names)))

    def leave(self, names: Sequence[str], body: Formula, place: Place, *, exists: bool) -> Formula:
        """The quantifier that the cursor comes out of, with the values that depend on its variables."""
        named = list(self.scopes.pop().of.values())
        variables = (*names, *(variable.name for variable, _ in named))
        conditions = [atom for _, atom in named]
        if exists:
            return Exists(variables, _both(conditions, body), place)
        return Forall(variables, _given(conditions, body), place)

    def around(self, formula: Formula, weight: float | None) -> Formula:
        """The whole formula with its functions named by atoms."""
        conditions = [atom for _, atom in self.scopes[0].of.values()]
        return _given(conditions, formula) if weight == math.inf else _both(conditions, formula)


_MADE = re.compile(r"(?:value_of_(?P<function>.+)|(?P<base>.+)_shifted)_\d+\Z")  # names that `Calls` gives


def in_words(variable: str) -> str:
    """What a message calls a variable: one that stands for a value is called by what it is the value of."""
    found = _MADE.match(variable)
    if found is None:
        return variable
    return f"the value of {found['function']}" if found["function"] else f"a sum with {found['base']}"


def _both(conditions: Sequence[Formula], formula: Formula) -> Formula:
    return And((*conditions, *(formula.parts if isinstance(formula, And) else (formula,)))) if conditions else formula


def _given(conditions: Sequence[Formula], formula: Formula) -> Formula:
    if not conditions:
        return formula
    return Implies(conditions[0] if len(conditions) == 1 else And(tuple(conditions)), formula)
