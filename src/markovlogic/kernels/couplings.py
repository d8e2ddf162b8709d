"""Atoms of one predicate that are tied in pairs, drawn one after the other."""

import math

from markovlogic.kernels.internal import called


@called
def draw_coupled(base, coupling, unknown, uniform, value, chance):
    """Draw every unknown atom in turn from its conditional: log-odds base + Σ_b coupling[atom, b]·value[b].

    base: (n_chains, n) float64; coupling: (1 or n_chains, n, n) float64, zero on its diagonal; unknown: (n,) bool;
    uniform: (n, n_chains) float64; value: (n_chains, n) float64, 0 or 1, changed in place; chance: (n_chains, n) float64,
    gets P(atom true | rest) as it was when the atom was drawn, and the value of what is known.
    """
    n_chains, n = base.shape
    for chain in range(n_chains):
        own = chain if coupling.shape[0] > 1 else 0
        for atom in range(n):
            if not unknown[atom]:
                chance[chain, atom] = value[chain, atom]
                continue
            odds = base[chain, atom]
            for other in range(n):
                odds += coupling[own, atom, other] * value[chain, other]
            share = 0.5 * (1.0 + math.tanh(0.5 * odds))
            chance[chain, atom] = share
            value[chain, atom] = 1.0 if uniform[atom, chain] < share else 0.0
