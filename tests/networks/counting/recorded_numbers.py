"""Counting plans of models of all kinds: programs, the room that they need, and what they are predicted to take."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from tests.grounding.from_text import prepared
from tests.methods.recorded import EXCLUSIVE, EXISTENTIAL
from tests.methods.recorded_numbers import TEXTS
from tests.networks.recorded_numbers import digest

from markovlogic.map_inference.annealing import anneal
from markovlogic.map_inference.settings import SearchSettings
from markovlogic.networks.counting.building import counting_plan

FILE = Path(__file__).with_name("recorded_numbers.json")
FACTS = "L(A, B)\nL(B, C)\nL(C, D)\nL(D, A)\nT(A)\n"
MODELS = {
    "path": "p = {A, B, C, D, E}\nS(p)\nT(p)\nL(p, p)\nR(p, p, p)\n0.4 S(w) ^ L(w, x) ^ S(x) ^ L(x, y) ^ R(y, z, w) => S(z)\n"
    "-0.2 R(x, y, x) v S(y)\n0.3 R(x, A, y) ^ !T(y)\n",
    "triangle": "p = {A, B, C, D, E}\nS(p)\nL(p, p)\nT(p)\n0.5 S(x) ^ S(y) ^ S(z) ^ L(x, y) => T(z)\n0.7 S(x) ^ S(y) => x = y\n"
    "!T(x) v !S(x).\n0.1 EXIST z (L(x, z) ^ S(z) ^ L(z, y))\n",
    "existential": EXISTENTIAL,
    "exclusive": EXCLUSIVE,
} | {name: text for name, (text, _) in TEXTS.items() if name != "too large"}
OPEN = {"path": ["S", "R"], "triangle": ["S", "T"]}
NAMES = tuple(MODELS)


def record(name: str) -> dict[str, Any]:
    """A plan and its network."""
    problem, lowered = prepared(MODELS[name], FACTS if name in OPEN else "", open_=OPEN.get(name, ()))
    plan = counting_plan(problem, lowered)
    network = plan.network()
    found = anneal(network, SearchSettings(tries=3, flips=20 * network.n_atoms, seed=4))
    return {
        "starts": [digest(network.start_worlds(9, np.random.SeedSequence(1), kind)) for kind in ("spread", "satisfying")],
        "annealed": [found.log_weight, found.updates, found.tries, digest(found)],
        "terms": plan.assembler.n_terms,
        "works": [[work.once, work.row, work.atom] for work in plan.works],
        "cost": [plan.words, plan.sweep_seconds, plan.chain_bytes, plan.network_bytes],
        "shape": network.shape,
        "atoms": [network.n_atoms, plan.n_hidden, network.nbytes],
        "programs": [digest(network.code), digest(network.program), digest(network.definitions), digest(network.relations)],
        "evidence": [digest(network.evidence), digest(network.open_atoms), digest(network.groups), digest(network.site)],
    }
