"""Random networks of strong weights around exclusive groups, whose chains move slowly: a search for what diagnostics miss."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from tests.oracle.worlds import all_worlds, random_network
from tests.running.made import run

from markovlogic.methods.sampling.gibbs import Gibbs
from markovlogic.networks.ground import GroundNetwork

MOST_ERRORS = 6.0  # as in test_multimodal


def strong_network(seed: int) -> GroundNetwork:
    """Nine atoms with one or two exclusive groups; weights and biases two, four or six times as large as usual."""
    rng = np.random.default_rng(seed)
    network = random_network(rng, 9, 10, groups=1 + seed % 2)
    factor = float(rng.choice([2.0, 4.0, 6.0]))
    return replace(network, clause_weight=network.clause_weight * factor, atom_bias=network.atom_bias * factor)


def silently_off(seed: int, **options: Any) -> str:
    """What Gibbs chains stated wrongly and without doubt; empty where they are right within their error, or reported."""
    network = strong_network(seed)
    truth = all_worlds(network).marginal[: network.n_atoms]
    found = run(Gibbs(), network, query_atoms=np.arange(network.n_atoms), seed=seed, **options)
    off = np.abs(found.atoms.mean - truth) - MOST_ERRORS * found.atoms.stderr - 1e-9
    row = int(np.argmax(off))
    if not found.converged or off[row] <= 0:
        return ""
    return f"{seed}: {truth[row]:.5f}, said {found.atoms.mean[row]:.5f} ± {found.atoms.stderr[row]:.5f}"
