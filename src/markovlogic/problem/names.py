"""Open atoms by their numbers, as users write them."""

from __future__ import annotations

import numpy as np

from markovlogic.data.evidence import decode
from markovlogic.language.syntax import show_constant
from markovlogic.problem.values import Problem


def atom_name(problem: Problem, atom: int) -> str:
    """An open atom as it is written; a hidden one is named as such."""
    if atom >= len(problem.atoms):
        return "a quantified part"
    at = int(np.searchsorted(problem.atoms.start, atom, side="right")) - 1
    predicate = problem.atoms.predicates[at]
    code = problem.statuses[predicate].unrank(np.array([atom - problem.atoms.start[at]], np.int64))
    return name_of(problem, predicate, int(code[0]))


def name_of(problem: Problem, predicate: str, code: int) -> str:
    """A ground atom, open or known, by its code within the predicate."""
    types = problem.model.predicates[predicate].types
    numbers = decode(np.array([code], np.int64), problem.statuses[predicate].sizes)[0]
    args = [show_constant(problem.domains[t].names[int(number)]) for t, number in zip(types, numbers, strict=True)]
    return f"{predicate}({','.join(args)})" if args else predicate
