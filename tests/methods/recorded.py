"""Draws of small problems as digests: a change of the code that should change no draw is held against them.

`python -m tests.methods.recorded` writes the digests anew, where draws are meant to change; the commit says why.
"""

from __future__ import annotations

import hashlib
import json
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import markovlogic as mln
from markovlogic.generate import make, write

FILE = Path(__file__).with_name("draws.json")
DRAWS, BURN_IN, SEED = 40, 12, 5

EXISTENTIAL = """
person = {A, B, C, D, E, F, G, H, I}
Advises(person, person)
Professor(person)
Senior(person)
1.3 Senior(x) => EXIST y Advises(y, x)
0.7 Advises(x, y) => Professor(x)
0.4 !Advises(x, y)
-0.5 EXIST x (Professor(x) ^ Senior(x))
Advises(x, y) => !Advises(y, x).
"""
EXCLUSIVE = """
class = {Course, Faculty, Student}
page = {P1, P2, P3, P4, P5, P6}
Class(page, class!)
Linked(page, page)
0.9 Linked(p, q) ^ Class(p, Faculty) => Class(q, Course)
0.6 Linked(p, q) ^ Class(p, Student) => Class(q, Student)
0.8 !Linked(p, q)
-0.3 Class(p, Course)
"""


class Case(NamedTuple):
    """One recorded run."""

    name: str
    problem: str
    options: dict[str, Any]


def cases() -> Iterator[Case]:
    """All recorded runs; chains start from fair coins and MC-SAT is the papers', as they were when these were recorded."""
    gibbs, blocked = mln.Gibbs(start="satisfying"), mln.Blocked(start="satisfying")
    mcsat = mln.MCSAT(start="satisfying", alternate=False)
    ways: dict[str, dict[str, Any]] = {
        "gibbs": {"method": gibbs, "chains": 64},
        "gibbs few": {"method": gibbs, "chains": 5},
        "gibbs one": {"method": gibbs, "chains": 1},
        "gibbs two batches": {"method": gibbs, "chains": 70},
        "gibbs random": {"method": mln.Gibbs(scan="random", start="satisfying"), "chains": 9},
        "blocked": {"method": blocked, "chains": 8},
        "mcsat": {"method": mcsat, "chains": 8},
        "lifted-mh": {"method": mln.LiftedMH(base=gibbs), "chains": 8},
        "lifted-mh on mcsat": {"method": mln.LiftedMH(base=mcsat), "chains": 4},
        "lifted-mh by bmf": {"method": mln.LiftedMH(base=gibbs), "chains": 8, "proposals": "bmf", "rank": 2},
        "orbital": {"method": mln.Orbital(base=gibbs), "chains": 8},
        "orbital on blocked": {"method": mln.Orbital(base=blocked), "chains": 4},
    }
    for problem in problems():
        for name, options in ways.items():
            yield Case(f"{problem}: {name}", problem, options)


def problems() -> tuple[str, ...]:
    """Names of the problems."""
    return ("smokers", "asthma hard", "webkb", "er", "ising", "transitivity", "existential", "exclusive")


def prepared(name: str, folder: Path) -> tuple[Path, tuple[Path, ...], str]:
    """Rules, evidence files and query of a problem, written into a folder."""
    texts = {"existential": (EXISTENTIAL, "Advises,Professor"), "exclusive": (EXCLUSIVE, "Class,Linked")}
    if name in texts:
        text, query = texts[name]
        path = folder / f"{name}.mln"
        path.write_text(text)
        return path, (), query
    family, _, variant = name.partition(" ")
    sizes = {"smokers": 7, "asthma": 7, "webkb": 8, "er": 4, "ising": 5, "transitivity": 5}
    made = make(family, sizes[family], 0.3, 1, variant=variant)
    write(made, folder)
    return folder / f"{family}.mln", (folder / f"{family}.db",), made.query


def digest(case: Case) -> str:
    """A digest of every draw of every query atom in every chain."""
    with tempfile.TemporaryDirectory() as folder:
        model, evidence, query = prepared(case.problem, Path(folder))
        options = {"estimator": "sample", "draws": DRAWS, "burn_in": BURN_IN, "seed": SEED, "keep_draws": True}
        result = mln.infer(model, evidence, query, **options | case.options)
    draws = result.draws
    assert draws is not None
    values = draws.values[:, :, np.argsort(draws.row)]
    return hashlib.blake2b(repr(values.shape).encode() + np.packbits(values).tobytes(), digest_size=12).hexdigest()


if __name__ == "__main__":
    FILE.write_text(json.dumps({case.name: digest(case) for case in cases()}, indent=1) + "\n")
