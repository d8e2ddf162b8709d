"""M1 of [001]: R(x) v S(x,y) and S(x,y) v T(y,z), which lifted rules solve in polynomial time without binary evidence."""

from __future__ import annotations

import numpy as np

from markovlogic.generate.draws import random_atoms, type_line, weights
from markovlogic.generate.families import Request
from markovlogic.generate.problem_files import Generated

NOTE = """\
The paper gives no weights; all are 1 here, or drawn from [0, 1] in the variant random-weights.
Evidence: that share of all ground atoms, chosen at random, with random truth values;
in the variant unary, of the atoms of R alone.
Query all three predicates, so that the atoms that are not listed stay open."""


def rows(size: int, share: float) -> int:
    """About how many facts and constants there will be; the share is drawn from all ground atoms."""
    return 3 * size + (size + 2 * size * size if share else 0)


def build(request: Request) -> Generated:
    """Three types of the same size, since no variable links an argument of one to another."""
    size = request.size
    numbers = np.arange(size)
    types = type_line("left", "A%d", numbers) + type_line("middle", "B%d", numbers) + type_line("right", "C%d", numbers)
    first, second = weights(request.rng, 2) if request.variant == "random-weights" else ("1.0", "1.0")
    rules = f"{first} R(x) v S(x, y)\n{second} S(x, y) v T(y, z)\n"
    atoms = {"R(A%d)": (size,), "S(A%d,B%d)": (size, size), "T(B%d,C%d)": (size, size)}
    if request.variant == "unary":
        del atoms["S(A%d,B%d)"], atoms["T(B%d,C%d)"]
    given = random_atoms(request.rng, atoms, request.share)
    declarations = "R(left)\nS(left, middle)\nT(middle, right)\n"
    return Generated("rst", f"{types}{declarations}\n{rules}", given, "R,S,T", NOTE)
