"""Whether worlds that come from outside are worlds of a network at all; a sampler's kernels take it for granted."""

from __future__ import annotations

import numpy as np

from markovlogic.networks.ground import GroundNetwork
from markovlogic.system.arrays import Words, frozen


def require_worlds(network: GroundNetwork, world: Words, n_chains: int, *, hard: bool = True) -> None:
    """Raise a ValueError where a world is none of the network's.

    world: (n_all,), chain-minor. Absent chains are zero, decided atoms are as decided, every exclusive group has one true atom,
    hidden atoms follow from the others; with `hard`, all hard clauses hold too.
    """
    from markovlogic.kernels.hidden import compute_hidden
    from markovlogic.kernels.literals import broken_word

    every = np.uint64((1 << n_chains) - 1)
    if (world & ~every).any():
        raise ValueError(f"a world has chains beyond the {n_chains} of its batch")
    bias = network.atom_bias
    bound = slice(None) if hard else slice(network.n_atoms)  # a hidden atom that is decided is a hard clause on the others
    if (world[bound][bias[bound] == np.inf] != every).any() or world[bound][bias[bound] == -np.inf].any():
        raise ValueError("a world differs from what hard rules decide")
    if network.n_groups:
        members, start = world[network.group_atom], network.group_start[:-1]
        true_values = np.add.reduceat(np.bitwise_count(members).astype(np.int64), start)
        if (true_values != n_chains).any() or (np.bitwise_or.reduceat(members, start) != every).any():
            raise ValueError("an exclusive group of a world has no true value, or several")
    if network.n_hidden:
        told = world.copy()
        hidden = frozen(np.arange(network.n_atoms, network.n_all, dtype=np.int32))
        compute_hidden(network.definition_start, network.definition_literal, network.n_atoms, hidden, told)
        if ((told ^ world) & every).any():
            raise ValueError("hidden atoms of a world do not follow from the others")
    if hard and broken_word(network.clause_start, network.clause_literal, network.n_soft, world, n_chains):
        raise ValueError("a world breaks hard rules")
