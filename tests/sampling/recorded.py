"""Worlds and counts after some steps as digests: what holds no chain to its target may still change its draws, and is seen here.

Searches for a start and SampleSAT are heuristics, whose every choice is allowed by theory; a fault in them shows nowhere else.
`python -m tests.sampling.recorded` writes the digests anew, where draws are meant to change; the commit says why.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from tests.oracle.worlds import random_network
from tests.sampling.gibbs_checks import NETWORKS

from markovlogic.methods.sampling.base import Settings
from markovlogic.methods.sampling.blocked import Blocked
from markovlogic.methods.sampling.gibbs import Gibbs
from markovlogic.methods.sampling.mcsat import MCSAT
from markovlogic.methods.sampling.tempered import Tempered
from markovlogic.networks.ground import GroundNetwork

FILE = Path(__file__).with_name("steps.json")
WAYS: dict[str, tuple[Settings, int]] = {
    "gibbs": (Gibbs(), 64),
    "gibbs, 5 chains": (Gibbs(start="satisfying"), 5),
    "gibbs, one chain": (Gibbs(start="random"), 1),
    "gibbs, random scan": (Gibbs(scan="random"), 33),
    "blocked": (Blocked(), 8),
    "blocked, narrow": (Blocked(width=1, divisions=3, start="satisfying"), 3),
    "mcsat": (MCSAT(), 2),
    "mcsat, lazy": (MCSAT(lazy=True, alternate=False, start="satisfying"), 2),
    "mcsat, every clause": (MCSAT(lazy=False), 2),
    "mcsat, sweeps": (MCSAT(exact_atoms=0, exact_tied=0, large="sweep", sweeps=3, alternate=False), 2),
    "mcsat, searches": (MCSAT(exact_atoms=0, exact_tied=0, large="samplesat", alternate=False), 2),
    "mcsat, searches that give up": (MCSAT(exact_atoms=1, exact_tied=2, large="samplesat", flips=9, alternate=False), 2),
    "tempered": (Tempered(rungs=4), 5),
}


def networks() -> dict[str, GroundNetwork]:
    """Small ones of every kind, and larger ones whose parts are too large to be drawn exactly."""
    rng = np.random.default_rng(21)
    large = {
        "large": random_network(rng, 70, 160, longest=4, hard=12, groups=6, hidden=6),
        "large and soft": random_network(rng, 60, 150, longest=3, groups=3, hidden=9),
        "large and hard": random_network(rng, 60, 40, longest=3, hard=70, groups=2),
    }
    return NETWORKS | large


def arrays(state: Any) -> Iterator[np.ndarray]:
    """Whole numbers of a state, of those within it too."""
    for value in state:
        if isinstance(value, tuple):
            yield from arrays(value)
        elif value.dtype.kind in "iu":
            yield value


def digest(way: str, network: GroundNetwork) -> str:
    """Of the start, of burn-in, and of draws that count."""
    settings, n_chains = WAYS[way]
    sampler = settings.build(network, n_chains)
    state = sampler.init(np.random.SeedSequence(7))
    found = hashlib.blake2b(digest_size=8)
    planes = np.zeros((network.n_all, 8), np.uint64)
    for sweeps, burn_in in ((0, True), (9, True), (6, False)):
        info = sampler.step(state, sweeps, None if burn_in else planes, burn_in=burn_in)
        for array in arrays(state):
            found.update(np.ascontiguousarray(array).tobytes())
        found.update(repr((info.updates, sorted((name, int(count)) for name, count in info.counts.items()))).encode())
    found.update(planes.tobytes())
    return found.hexdigest()


def digests(way: str) -> dict[str, str]:
    return {name: digest(way, network) for name, network in networks().items()}


if __name__ == "__main__":
    FILE.write_text(json.dumps({way: digests(way) for way in WAYS}, indent=1) + "\n")
