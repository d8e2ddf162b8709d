"""Smoking, asthma and cancer: M2 of [001] (printed M3 there), and the hard form that [003]'s released code has."""

from __future__ import annotations

import numpy as np

from markovlogic.generate import smokers
from markovlogic.generate.draws import random_atoms, type_line
from markovlogic.generate.families import Request
from markovlogic.generate.problem_files import Generated

DECLARATIONS = "Asthma(person)\nSmokes(person)\nCancer(person)\nFriends(person, person)\n"

FORMULAS = (
    "Asthma(x) => !Smokes(x)",
    "Asthma(x) ^ Friends(x, y) => !Smokes(y)",
    "Smokes(x) => Cancer(x)",
)

SOFT_NOTE = """\
The paper gives no weights; all are 1 here. Evidence: that share of all ground atoms, chosen at random, with random truth values;
in the variant unary, of the atoms about one person alone.
Query all four predicates, so that the atoms that are not listed stay open."""

HARD_NOTE = f"""\
All three rules are hard.
{smokers.NOTE}"""


def rows(size: int, share: float) -> int:
    """About how many facts and constants there will be; the share is drawn from all ground atoms."""
    return size + (size * (size + 3) if share else 0)


def build(request: Request) -> Generated:
    """Weight 1 and random evidence atoms, in `unary` no friendships; `hard`: hard rules, evidence about people as in [003]."""
    size = request.size
    if request.variant == "hard":
        persons, given = smokers.people(request)
        rules = "".join(f"{formula}.\n" for formula in FORMULAS)
        note = HARD_NOTE
    else:
        persons = type_line("person", "P%d", np.arange(size))
        rules = "".join(f"1.0 {formula}\n" for formula in FORMULAS)
        note = SOFT_NOTE
        unary = dict.fromkeys(("Asthma(P%d)", "Smokes(P%d)", "Cancer(P%d)"), (size,))
        binary = {} if request.variant == "unary" else {"Friends(P%d,P%d)": (size, size)}
        given = random_atoms(request.rng, {**unary, **binary}, request.share)
    return Generated("asthma", f"{persons}{DECLARATIONS}\n{rules}", given, "Asthma,Smokes,Cancer,Friends", note)
