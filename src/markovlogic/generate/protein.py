"""Protein functions from interactions and places, of the shape of [000]'s Protein benchmark, with ten functions for its 42."""

from __future__ import annotations

import numpy as np

from markovlogic.generate.draws import facts, known_ones, structure, type_line, weights
from markovlogic.generate.families import Request
from markovlogic.generate.problem_files import Generated
from markovlogic.system.arrays import Int64, each_once

N_FUNCTIONS = 10
FUNCTIONS = tuple(f"Func_{number}" for number in range(1, N_FUNCTIONS + 1))
N_PLACES = 44  # as in the benchmark
FUNCTIONS_A_PROTEIN = 2
INTERACTIONS_A_PROTEIN = 2.5  # 4474 for 1785 proteins there
PLACES_A_PROTEIN = 2

NOTE = """\
Proteins that share a function interact more often. Evidence: all interactions and places, and the functions of that share of the
proteins. Rules have the benchmark's five forms. Weights are drawn from [0, 1], those of the functions themselves from [-3, -1],
so that the marginals are not all near 1."""


def rows(size: int, share: float) -> int:
    """About how many facts and constants there will be."""
    return size * (1 + 3 + PLACES_A_PROTEIN) + int(share * size) * N_FUNCTIONS + N_PLACES


def build(request: Request) -> Generated:
    """Interactions and places drawn around hidden functions, which the evidence share reveals."""
    rng, size = request.rng, request.size
    functions = rng.integers(0, N_FUNCTIONS, (size, FUNCTIONS_A_PROTEIN))
    given = structure("Interaction(Pr%d,Pr%d)", _interactions(rng, functions[:, 0]))
    given += structure("Location(Pr%d,L%d)", _places(rng, functions[:, 0]))
    rules = _rules(rng)
    known = known_ones(rng, size, request.share)
    for number, name in enumerate(FUNCTIONS):
        given += facts(f"{name}(Pr%d)", known, (functions[known] == number).any(axis=1))
    types = type_line("protein", "Pr%d", np.arange(size)) + type_line("place", "L%d", np.arange(N_PLACES))
    declarations = (
        "".join(f"{name}(protein)\n" for name in FUNCTIONS) + "Interaction(protein, protein)\nLocation(protein, place)\n"
    )
    return Generated("protein", f"{types}{declarations}\n{rules}", given, ",".join(FUNCTIONS), NOTE)


def _rules(rng: np.random.Generator) -> str:
    priors = weights(rng, N_FUNCTIONS, -3, -1)
    other = iter(weights(rng, 4 * N_FUNCTIONS + 1))
    lines = [f"{weight} {name}(p)" for weight, name in zip(priors, FUNCTIONS, strict=True)]
    lines.append(f"{next(other)} Interaction(x, y)")
    lines += [f"{next(other)} !Location(p, t) v {name}(p)" for name in FUNCTIONS]
    for name in FUNCTIONS:
        lines.append(f"{next(other)} !Interaction(x, y) v !{name}(x) v {name}(y)")
        lines.append(f"{next(other)} !Interaction(x, y) v !{name}(y) v {name}(x)")
        lines.append(f"{next(other)} Interaction(x, y) v !Interaction(y, x) v {name}(y)")
    return "\n".join(lines) + "\n"


def _interactions(rng: np.random.Generator, function: Int64) -> Int64:
    """Different pairs of different proteins; about half of them within a function."""
    n = len(function)
    source = rng.integers(0, n, int(INTERACTIONS_A_PROTEIN * n))
    members = np.argsort(function, kind="stable")
    start = np.searchsorted(function[members], np.arange(N_FUNCTIONS + 1))
    count = np.diff(start)[function[source]]
    within = members[start[function[source]] + (rng.random(len(source)) * count).astype(np.int64)]
    target = np.where(rng.random(len(source)) < 0.5, within, rng.integers(0, n, len(source)))
    code = each_once((source * n + target)[source != target])
    return np.stack(np.divmod(code, n), axis=1)


def _places(rng: np.random.Generator, function: Int64) -> Int64:
    """Up to two places a protein, the first one near the places of its function."""
    n = len(function)
    near = (function * N_PLACES // N_FUNCTIONS + rng.integers(0, 4, n)) % N_PLACES
    place = np.stack([near, rng.integers(0, N_PLACES, n)], axis=1)
    code = each_once(np.arange(n)[:, None] * N_PLACES + place)
    return np.stack(np.divmod(code, N_PLACES), axis=1)
