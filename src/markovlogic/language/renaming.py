"""Variables of one rule distinguished: bound ones get names of their own."""

from __future__ import annotations

import itertools
from dataclasses import replace

from markovlogic.language.syntax import And, Atom, Constant, Equal, Exists, Forall, Formula, Iff, Implies, Not, Or, Term, Variable


class Renamer:
    """Renames bound variables so that no name is bound twice, or both bound and free; drops quantifiers that bind nothing."""

    def __init__(self, formula: Formula) -> None:
        self.free: set[str] = set()
        self.taken: set[str] = set()
        self.original: dict[str, str] = {}
        self.plus_bound: set[str] = set()
        self._collect(formula, frozenset())
        self.taken |= self.free

    def _collect(self, formula: Formula, around: frozenset[str]) -> None:
        """Find the free names, and all names that are written anywhere."""
        match formula:
            case Atom(args=args):
                self.free.update(t.name for t in args if isinstance(t, Variable) and t.name not in around)
                self.plus_bound.update(t.name for t in args if isinstance(t, Variable) and t.plus and t.name in around)
            case Equal(left=left, right=right):
                self.free.update(t.name for t in (left, right) if isinstance(t, Variable) and t.name not in around)
            case Not(body=body):
                self._collect(body, around)
            case And(parts=parts) | Or(parts=parts):
                for part in parts:
                    self._collect(part, around)
            case Implies(left=left, right=right) | Iff(left=left, right=right):
                self._collect(left, around)
                self._collect(right, around)
            case Exists(variables=names, body=body) | Forall(variables=names, body=body):
                self._collect(body, around.union(names))

    def fresh(self, name: str) -> str:
        """The name itself where nobody has it yet, else the name with a number."""
        new = name
        numbers = itertools.count(1)
        while new in self.taken:
            new = f"{name}_{next(numbers)}"
        self.taken.add(new)
        self.original[new] = name
        return new

    def rename(self, formula: Formula, names: dict[str, str], free: dict[str, None], bound: list[str]) -> Formula:
        """The formula with every bound variable renamed by need; collects free and bound names in order of occurrence."""

        def term(old: Term) -> Term:
            if isinstance(old, Constant):
                return old
            new = names.get(old.name)
            if new is None:
                free.setdefault(old.name)
                return old
            return old if new == old.name else Variable(new, old.plus)

        match formula:
            case Atom():
                return replace(formula, args=tuple([term(arg) for arg in formula.args])) if formula.args else formula
            case Equal():
                return Equal(term(formula.left), term(formula.right), formula.place)
            case Not():
                return Not(self.rename(formula.body, names, free, bound))
            case And():
                return And(tuple([self.rename(part, names, free, bound) for part in formula.parts]))
            case Or():
                return Or(tuple([self.rename(part, names, free, bound) for part in formula.parts]))
            case Implies():
                left = self.rename(formula.left, names, free, bound)
                return Implies(left, self.rename(formula.right, names, free, bound))
            case Iff():
                left = self.rename(formula.left, names, free, bound)
                return Iff(left, self.rename(formula.right, names, free, bound))
        used = _names_in(formula.body)
        own = {name: self.fresh(name) for name in formula.variables if name in used}
        bound.extend(own.values())
        body = self.rename(formula.body, {**names, **own}, free, bound)
        return replace(formula, variables=tuple(own.values()), body=body) if own else body


def _names_in(formula: Formula) -> set[str]:
    """Names of the variables that are free in a formula."""
    match formula:
        case Atom(args=args):
            return {t.name for t in args if isinstance(t, Variable)}
        case Equal(left=left, right=right):
            return {t.name for t in (left, right) if isinstance(t, Variable)}
        case Not(body=body):
            return _names_in(body)
        case And(parts=parts) | Or(parts=parts):
            return set().union(*[_names_in(part) for part in parts])
        case Implies(left=left, right=right) | Iff(left=left, right=right):
            return _names_in(left) | _names_in(right)
        case Exists(variables=names, body=body) | Forall(variables=names, body=body):
            return _names_in(body).difference(names)
