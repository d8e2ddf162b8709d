"""M3 of [001], the example of its section 3: R(x,y) v S(y,z) and S(y,z) v T(z,u), which no lifted rule solves as a whole."""

from __future__ import annotations

import numpy as np

from markovlogic.generate.draws import random_atoms, type_line, weights
from markovlogic.generate.families import Request
from markovlogic.generate.problem_files import Generated

NOTE = """\
The paper gives no weights; both are 1 here, or drawn from [0, 1] in the variant random-weights.
Evidence: that share of all ground atoms, chosen at random, with random truth values.
Query all three predicates, so that the atoms that are not listed stay open."""


def rows(size: int, share: float) -> int:
    """About how many facts and constants there will be; the share is drawn from all ground atoms."""
    return 4 * size + (3 * size * size if share else 0)


def build(request: Request) -> Generated:
    """Four types of the same size, one for each variable."""
    size = request.size
    constant_of = {"first": "A%d", "second": "B%d", "third": "C%d", "fourth": "D%d"}
    types = "".join(type_line(name, constant, np.arange(size)) for name, constant in constant_of.items())
    first, second = weights(request.rng, 2) if request.variant == "random-weights" else ("1.0", "1.0")
    rules = f"{first} R(x, y) v S(y, z)\n{second} S(y, z) v T(z, u)\n"
    atoms = dict.fromkeys(("R(A%d,B%d)", "S(B%d,C%d)", "T(C%d,D%d)"), (size, size))
    given = random_atoms(request.rng, atoms, request.share)
    declarations = "R(first, second)\nS(second, third)\nT(third, fourth)\n"
    return Generated("m3", f"{types}{declarations}\n{rules}", given, "R,S,T", NOTE)
