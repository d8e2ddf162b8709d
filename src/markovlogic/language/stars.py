"""Atoms with a star, `*Friends(x, y)`: one rule for each choice of signs."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import replace

from markovlogic.language.show import show_rule
from markovlogic.language.syntax import And, Atom, Exists, Forall, Formula, Iff, Implies, Not, Or, Rule


def expand_stars(rule: Rule, n_stars: int, written: Formula) -> Iterator[Rule]:
    """One rule for each choice of signs of the atoms with a star; its text has the names of the source."""
    if not n_stars:
        yield rule
        return
    for signs in itertools.product((True, False), repeat=n_stars):
        text = show_rule(replace(rule, formula=_with_signs(written, iter(signs))))
        yield replace(rule, formula=_with_signs(rule.formula, iter(signs)), text=text)


def _with_signs(formula: Formula, signs: Iterator[bool]) -> Formula:
    match formula:
        case Atom():
            if not formula.star:
                return formula
            plain = replace(formula, star=False)
            return plain if next(signs) else Not(plain)
        case Not() | Exists() | Forall():
            return replace(formula, body=_with_signs(formula.body, signs))
        case And() | Or():
            return replace(formula, parts=tuple([_with_signs(part, signs) for part in formula.parts]))
        case Implies() | Iff():
            left = _with_signs(formula.left, signs)
            return replace(formula, left=left, right=_with_signs(formula.right, signs))
    return formula
