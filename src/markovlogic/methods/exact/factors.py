"""A component as variables and small factors, for elimination.

Hidden atoms are variables of their own, bound by a 0/1 factor to what defines them. A row of many literals (a long clause, an
EXIST over hundreds of atoms) is split by chain variables o_i <=> o_{i-1} v l_i, so that no factor is larger than the bound.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from markovlogic.methods.exact.shapes import NEVER, UNDECIDED, Shape, Variable, variables_of
from markovlogic.system.arrays import Bool, Float64

Test = tuple[int, Bool]  # a variable, and in which of its states a literal (or one of some literals) is true

_YES = np.array([False, True])


@dataclass(frozen=True, eq=False)
class Factor:
    """`weight` where `holds`, else 0 (soft); or 0 where `holds`, else -inf (hard: `weight` is None)."""

    scope: tuple[int, ...]
    holds: Bool  # one axis for each variable in `scope`
    weight: int | None  # column of Shape.weight

    def table(self, weight: Float64) -> Float64:
        """Log values with a last axis for the components: of length 1 when they all agree."""
        if self.weight is None:
            return np.where(self.holds, 0.0, -math.inf)[..., None]
        table: Float64 = self.holds[..., None] * weight[:, self.weight]
        return table


@dataclass(eq=False)
class FactorModel:
    """Variables and factors of a component. Variables with one state are left out: their literals are decided."""

    n_states: list[int] = field(default_factory=list)
    factors: list[Factor] = field(default_factory=list)
    open_choices: list[tuple[int, Variable]] = field(default_factory=list)  # variables that choose among open atoms
    hidden_states: list[tuple[int, int]] = field(default_factory=list)  # variable, its hidden atom
    decided: dict[int, bool] = field(default_factory=dict)  # atoms without a variable
    possible: bool = True
    _true_state: dict[int, tuple[int, int]] = field(default_factory=dict)  # atom -> variable, its state in which the atom is true

    def test(self, literal: int) -> Test | bool:
        """Where a literal is true."""
        atom = literal >> 1
        if atom in self.decided:
            return self.decided[atom] == bool(literal & 1)
        variable, state = self._true_state[atom]
        true = np.full(self.n_states[variable], not literal & 1)
        if state != NEVER:
            true[state] = bool(literal & 1)
        return variable, true

    def either(self, literals: Sequence[int]) -> list[Test] | bool:
        """Where one of the literals is true, by variable: True or False where that is decided."""
        found: dict[int, Bool] = {}
        for literal in literals:
            test = self.test(literal)
            if test is True:
                return True
            if test is not False:
                variable, true = test
                found[variable] = found[variable] | true if variable in found else true
        if any(true.all() for true in found.values()):
            return True
        return [(v, true) for v, true in found.items() if true.any()] or False

    def choose(self, choice: Variable) -> None:
        """Add a free choice of the component."""
        if choice.n_states < 2:
            self.possible &= choice.n_states == 1
            self.decided.update(zip(choice.atom, (choice.true_state == 0).tolist(), strict=True))
            return
        number = self.new_variable(choice.n_states)
        self.open_choices.append((number, choice))
        self._true_state.update(zip(choice.atom, ((number, s) for s in choice.true_state.tolist()), strict=True))

    def new_variable(self, n_states: int) -> int:
        """Add a variable."""
        self.n_states.append(n_states)
        return len(self.n_states) - 1

    def require(self, tests: Sequence[Test]) -> None:
        """Demand that one of the tests is true."""
        self._add(tests, None)

    def clause(self, literals: Sequence[int], weight: int | None, longest: int) -> None:
        """Add a clause: soft with a column of weights, else hard."""
        tests = self.either(literals)
        if isinstance(tests, bool):
            if weight is None:
                self.possible &= tests
            elif tests:
                self.factors.append(Factor((), np.array(True), weight))
            return
        self._add(self._shortened(tests, longest), weight)

    def define(self, atom: int, literals: Sequence[int], fixed: int, longest: int) -> None:
        """Add a hidden atom that is true iff one of the literals is."""
        tests = self.either(literals)
        if isinstance(tests, bool):
            self.decided[atom] = tests
            self.possible &= fixed in (UNDECIDED, int(tests))
        elif fixed == UNDECIDED:
            variable = self.new_variable(2)
            self.hidden_states.append((variable, atom))
            self._true_state[atom] = (variable, 1)
            self._equate(variable, self._shortened(tests, longest - 1))
        else:
            self.decided[atom] = fixed == 1
            if fixed == 1:
                self.require(self._shortened(tests, longest))
            else:
                for variable, true in tests:
                    self.require([(variable, ~true)])

    def _shortened(self, tests: list[Test], longest: int) -> list[Test]:
        """At most `longest` tests (2 or more) that set the same thing, with chain variables."""
        n_links = len(tests) - max(longest, 2)
        if n_links <= 0:
            return tests
        carried = tests[0]
        for test in tests[1 : 1 + n_links]:
            link = self.new_variable(2)
            self._equate(link, [carried, test])
            carried = (link, _YES)
        return [carried, *tests[1 + n_links :]]

    def _equate(self, variable: int, tests: Sequence[Test]) -> None:
        """Bind a two-state variable to the disjunction of tests."""
        holds = _one_true(tests)
        scope = (*(v for v, _ in tests), variable)
        self.factors.append(Factor(scope, np.stack([~holds, holds], axis=-1), None))

    def _add(self, tests: Sequence[Test], weight: int | None) -> None:
        self.factors.append(Factor(tuple(v for v, _ in tests), _one_true(tests), weight))


def factor_model(shape: Shape, longest: int) -> FactorModel:
    """Translate a shape; rows of more than `longest` literals (3 or more) are split."""
    model = FactorModel()
    for variable in variables_of(shape):
        model.choose(variable)
    for h in range(shape.n_hidden):
        atom = shape.n_open + h
        model.define(atom, shape.definition(h), int(shape.fixed[atom]), longest)
    for c in range(shape.n_clauses):
        model.clause(shape.clause(c), c if c < shape.n_soft else None, longest)
    return model


def _one_true(tests: Sequence[Test]) -> Bool:
    """A table that is true where one of the tests is."""
    holds = np.zeros((), bool)
    for _, true in tests:
        holds = holds[..., None] | true
    return holds
