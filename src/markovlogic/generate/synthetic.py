"""[002]'s synthetic model, R(x) v S_i(x,y) v T_i(x,z) for i = 1..10, on which exact inference is easy."""

from __future__ import annotations

import numpy as np

from markovlogic.generate.draws import facts, known_with_truth, type_line, weights
from markovlogic.generate.families import Request
from markovlogic.generate.problem_files import FactBlock, Generated

N_RULES = 10
LARGEST_LOG_ODDS = 3.0  # of the variant desaturated

NOTE = """\
Evidence: that share of all ground atoms of S1..S10 and T1..T10, fair coins; the paper gives no share.
With R alone queried, S and T are closed as soon as they have evidence: what is not listed is false.
--open S1,T1,... leaves it open instead.
Weights are drawn from [-1, 1] as in the paper; with thousands of groundings an R atom, that makes most marginals 0 or 1.
The variant desaturated divides all weights by one number, so that the largest log-odds of an R atom is about 3."""


def rows(size: int, share: float) -> int:
    """About how many facts and constants there will be; the share is drawn from all ground atoms."""
    return 5 * size + (2 * N_RULES * size * 2 * size if share else 0)


def build(request: Request) -> Generated:
    """Ten rules over y and z of twice the size of x: 50, 100 and 100 in the paper."""
    rng, size = request.rng, request.size
    wide = 2 * size
    weight = np.array(weights(rng, N_RULES, -1, 1), np.float64)
    per_relation = size * wide
    known, truth = known_with_truth(rng, 2 * N_RULES * per_relation, request.share)
    names = [(f"{letter}{i}", variable) for i in range(1, N_RULES + 1) for letter, variable in (("S", "Y"), ("T", "Z"))]
    given: tuple[FactBlock, ...] = ()
    not_true = np.full((len(names), size), wide, np.float64)  # for each relation and x, how many atoms are not known true
    for number, (name, constant) in enumerate(names):
        here = slice(*np.searchsorted(known, [number * per_relation, (number + 1) * per_relation]))
        x, other = np.divmod(known[here] - number * per_relation, wide)
        not_true[number] -= np.bincount(x[truth[here]], minlength=size)
        given += facts(f"{name}(X%d,{constant}%d)", np.stack([x, other], axis=1), truth[here])
    if request.variant == "desaturated":
        log_odds = weight @ (not_true[0::2] * not_true[1::2])
        weight = weight * (LARGEST_LOG_ODDS / max(float(np.abs(log_odds).max()), LARGEST_LOG_ODDS))
    constant_of = {"item": ("X%d", size), "left": ("Y%d", wide), "right": ("Z%d", wide)}
    types = "".join(type_line(name, constant, np.arange(count)) for name, (constant, count) in constant_of.items())
    declarations = "R(item)\n" + "".join(f"S{i}(item, left)\nT{i}(item, right)\n" for i in range(1, N_RULES + 1))
    rules = "".join(f"{w:.10g} R(x) v S{i}(x, y) v T{i}(x, z)\n" for i, w in enumerate(weight.tolist(), 1))
    return Generated("synthetic", f"{types}{declarations}\n{rules}", given, "R", NOTE)
