"""Comparisons of integers, `x < y` and its relatives: atoms of one closed predicate for each type, true by the numbers.

The predicate is named `<time`, which no file can write; evidence gets its facts from the constants of the type.
"""

from __future__ import annotations

from dataclasses import replace

from markovlogic.errors import Place
from markovlogic.language.syntax import And, Atom, Exists, Forall, Formula, Iff, Implies, Not, Or, Predicate, Term, Variable

LESS = "<"


def compared(left: Term, sign: str, right: Term, place: Place) -> Formula:
    """A comparison by < alone; integers are ordered, so x <= y is !(y < x)."""
    one, other = (left, right) if sign in ("<", ">=") else (right, left)
    less = Atom(LESS, (one, other), place=place)
    return less if sign in ("<", ">") else Not(less)


def is_order(predicate: str) -> bool:
    """Whether a predicate is one of these."""
    return predicate.startswith(LESS)


def order_of(type_name: str) -> Predicate:
    """The predicate of a type."""
    return Predicate(f"{LESS}{type_name}", (type_name, type_name), (False, False), closed=True)


def with_types(formula: Formula, type_of: dict[str, str]) -> Formula:
    """The formula with each comparison named by its type; one side of it is a variable."""
    match formula:
        case Atom(predicate="<"):
            names = [type_of[term.name] for term in formula.args if isinstance(term, Variable) and term.name in type_of]
            return replace(formula, predicate=f"{LESS}{names[0]}") if names else formula
        case Not() | Exists() | Forall():
            return replace(formula, body=with_types(formula.body, type_of))
        case And() | Or():
            return replace(formula, parts=tuple([with_types(part, type_of) for part in formula.parts]))
        case Implies() | Iff():
            return replace(formula, left=with_types(formula.left, type_of), right=with_types(formula.right, type_of))
    return formula
