"""Functions, `person MotherOf(person)`: a predicate whose last argument, the value, is exclusive.

Exactly one value z has MotherOf(x, z), so a formula F of MotherOf(x) holds as often as MotherOf(x, z) ^ F[z] with z free: one
grounding of F gives one true grounding or none. A hard formula becomes MotherOf(x, z) => F[z]. `MotherOf(x) = y` is the atom
itself.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace

from markovlogic.language.syntax import And, Atom, Formula, Implies, Term, Variable


@dataclass
class Calls:
    """The functions that one formula uses."""

    of: dict[tuple[str, tuple[Term, ...]], Atom] = field(default_factory=dict)  # by name and arguments, with the value's variable
    used: list[Atom] = field(default_factory=list)  # all of them, those with a given value too

    def value(self, call: Atom) -> Term:
        """The variable for a function's value; the same for the same arguments."""
        key = (call.predicate, call.args)
        if key not in self.of:
            name = Variable(f"value_of_{call.predicate}_{len(self.of) + 1}")
            self.of[key] = replace(call, args=(*call.args, name))
            self.used.append(self.of[key])
        return self.of[key].args[-1]

    def equality(self, call: Atom, value: Term) -> Atom:
        """`F(x) = y` as an atom."""
        made = replace(call, args=(*call.args, value))
        self.used.append(made)
        return made

    def around(self, formula: Formula, weight: float | None) -> Formula:
        """The formula with its functions named by atoms."""
        if not self.of:
            return formula
        atoms = tuple(self.of.values())
        if weight == math.inf:
            return Implies(atoms[0] if len(atoms) == 1 else And(atoms), formula)
        return And((*atoms, *(formula.parts if isinstance(formula, And) else (formula,))))
