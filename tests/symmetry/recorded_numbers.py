"""Classes, orbits and what broke them, of generated problems and texts, by every kind of search."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from tests.methods.problems import PROBLEMS, inputs
from tests.methods.recorded import prepared
from tests.methods.recorded_numbers import TEXTS
from tests.networks.recorded_numbers import digest

import markovlogic as mln

FILE = Path(__file__).with_name("recorded_numbers.json")
KINDS = ("twins", "refined", "automorphisms", "auto")
FILES = ("smokers", "asthma hard", "webkb", "er", "ising", "existential")
NAMES = (*FILES, "several parts", "mixed", "two kinds", "hidden", "exclusive", "hard")


def record(name: str) -> dict[str, Any]:
    """By each kind: classes of constants, orbits, what was found out on the way, and elements of the group."""
    found = {}
    with tempfile.TemporaryDirectory() as folder:
        if name in TEXTS:
            given: Any = (mln.Model.parse(TEXTS[name][0]), None, TEXTS[name][1])
        else:
            given = inputs(name) if name in PROBLEMS else prepared(name, Path(folder))
        for kind in KINDS:
            report = mln.symmetries(*given, kind=kind)
            told: dict[str, Any] = {
                "kind": report.kind,
                "sizes": [report.atoms, report.orbits, report.largest_orbit],
                "orbits": np.bincount(report.orbit_size).nonzero()[0],
                "notes": report.notes,
            }
            if kind == "twins":
                told["classes"] = {of: sorted(map(len, parts)) for of, parts in report.constants().items()}
                told["breaks"] = [[one.type_name, one.predicate, one.n_classes, one.pair, one.example] for one in report.breaks]
            if report.found is not None:
                group, rng = report.found.group, np.random.default_rng(2)
                memory = group.memory(rng)
                told["moves"] = [digest(group.next_literals(rng, memory)) for _ in range(3)]
            found[kind] = told
    return found
