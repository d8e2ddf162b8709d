"""Which atoms a slice step of MC-SAT lets go of often, so that it moves them well by itself."""

from __future__ import annotations

import numpy as np

from markovlogic.networks.ground import GroundNetwork
from markovlogic.system.arrays import Bool

LIGHT = 1.0  # sum of the weights that hold an atom, of which a slice step then lets go at least once in e draws


def lightly_held(network: GroundNetwork) -> Bool:
    """(n_all,) the atoms that soft clauses and biases hold with LIGHT in all; those of one group alike."""
    size = np.diff(network.clause_start[: network.n_soft + 1])
    atom = network.clause_literal[: int(size.sum())] >> 1
    bias = np.where(np.isfinite(network.atom_bias), np.abs(network.atom_bias), 0.0)
    held = bias + np.bincount(atom, np.repeat(network.clause_weight[: network.n_soft], size), network.n_all)
    held[network.definition_literal >> 1] = np.inf  # clauses over what follows from them hold them, too
    if network.n_groups:
        heaviest = np.maximum.reduceat(held[network.group_atom], network.group_start[:-1])
        held[network.group_atom] = np.repeat(heaviest, np.diff(network.group_start))
    light: Bool = held <= LIGHT
    return light
