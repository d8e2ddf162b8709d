"""Random networks whose factor graph is a forest, with every kind of factor, and a possible world."""

from __future__ import annotations

import math

import numpy as np
from hypothesis import strategies as st
from tests.oracle.worlds import all_worlds

from markovlogic.networks.ground import GroundNetwork, network_of


@st.composite
def tree_networks(draw) -> GroundNetwork:
    """Each new factor takes one atom that is there already, in another tree each time, and new ones."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    while True:
        network = _tree(rng, draw(st.integers(1, 6)), draw(st.sampled_from([0.5, 3.0, 20.0])))
        if all_worlds(network).log_z > -math.inf:
            return network


def _tree(rng: np.random.Generator, n_factors: int, scale: float) -> GroundNetwork:
    n_atoms, clauses, groups, definitions = 1, [], [], []
    in_group: set[int] = set()
    for _ in range(n_factors):
        size = int(rng.integers(1, 4))
        if n_atoms + size > 14:
            break
        old, fresh = int(rng.integers(n_atoms)), list(range(n_atoms, n_atoms + size))
        kind = rng.choice(["soft", "soft", "hard", "group", "definition"])
        n_atoms += size
        if kind == "group":
            members = fresh if old in in_group else [old, *fresh]
            in_group.update(members)
            groups.append(sorted(members))
            continue
        literals = [2 * a + int(rng.integers(2)) for a in (old, *fresh)]
        if kind == "definition":
            definitions.append(literals)
        else:
            clauses.append((math.inf if kind == "hard" else float(rng.exponential(scale)) + 1e-3, literals))
    bias = {a: float(rng.normal(0, scale)) for a in range(n_atoms) if rng.random() < 0.8}
    for a in range(n_atoms):
        if rng.random() < 0.1:
            bias[a] = math.inf if rng.random() < 0.5 else -math.inf
    uses = []
    for h in range(len(definitions)):  # a clause of the hidden atom and one more open atom keeps it a tree
        if rng.random() < 0.7 and n_atoms < 15:
            uses.append((h, n_atoms, int(rng.integers(2))))
            n_atoms += 1
    for h, atom, sign in uses:
        clauses.append((float(rng.exponential(scale)) + 1e-3, [2 * atom + 1, 2 * (n_atoms + h) + sign]))
    for h in range(len(definitions)):
        bias[n_atoms + h] = float(rng.normal(0, scale))
    return network_of(n_atoms, clauses, bias=bias, groups=groups, definitions=definitions)
