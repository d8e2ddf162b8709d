"""Functions, `person MotherOf(person)`, and sums, `t + 1`: terms whose value is named by a variable of its own.

A function is a predicate whose last argument, the value, is exclusive. Exactly one value z has MotherOf(x, z), so a formula F
of MotherOf(x) holds as often as MotherOf(x, z) ^ F[z] with z free: one grounding of F gives one true grounding or none. A hard
formula becomes MotherOf(x, z) => F[z]. Where x is quantified, so is z: EXIST x F becomes EXIST x,z MotherOf(x, z) ^ F[z], and
FORALL x F becomes FORALL x,z MotherOf(x, z) => F[z]. `MotherOf(x) = y` is the atom itself.

A sum is a function of the same kind that has no value where it leaves the constants of its type: such groundings are left out,
of a rule and of a quantifier alike.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field, replace

from markovlogic.errors import Place
from markovlogic.language.integers import Side, equal
from markovlogic.language.syntax import And, Atom, Exists, Forall, Formula, Implies, Term, Variable


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
