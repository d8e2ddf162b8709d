"""Long runs that stand for the truth where nothing exact fits, Gibbs chains that ground nothing, run twice; and chains of blocks.

The distance of the two runs is what any method would have against them though it made no error of its own: the noise floor.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from markovlogic.methods.sampling.block_gibbs import BlockGibbs
from markovlogic.methods.sampling.counting_gibbs import CountingGibbs
from markovlogic.networks.counting.network import CountingNetwork
from markovlogic.networks.counts import BlockNetwork, TypeNetwork
from markovlogic.system.arrays import Float64

SWEEPS_AT_ONCE = 100  # counts are bytes


@dataclass(frozen=True, eq=False)
class LongRun:
    """Marginals of the open atoms by two independent runs, and how far their chains are from each other."""

    probability: Float64  # of both runs together
    first: Float64
    second: Float64
    mean_rhat: float
    apart: float  # share of atoms frozen at different values in different chains


def counted_means(network: CountingNetwork, chains: int, burn_in: int, draws: int, seed: np.random.SeedSequence) -> Float64:
    """(n_atoms, chains) how often atoms were true; chains start from coins."""
    means = np.zeros((network.n_atoms, chains))
    sampler = CountingGibbs(start="random").build(network, 1)
    for chain, own in enumerate(seed.spawn(chains)):
        state = sampler.init(own)
        sampler.step(state, burn_in, burn_in=True)
        left = draws
        while left:
            sweeps = min(left, SWEEPS_AT_ONCE)
            counts = np.zeros(network.n_atoms, np.uint8)
            sampler.step(state, sweeps, counts)
            means[:, chain] += counts
            left -= sweeps
    return means / draws


def long_run(network: CountingNetwork, chains: int, burn_in: int, draws: int, seed: int) -> LongRun:
    """Two runs of so many chains."""
    from markovlogic_papers.experiments.racing import agreement

    each = [counted_means(network, chains, burn_in, draws, np.random.SeedSequence([seed, 7_919, run])) for run in (0, 1)]
    both = np.concatenate(each, axis=1)
    first, second = (own.mean(axis=1) for own in each)
    return LongRun(both.mean(axis=1), first, second, *agreement(np.rint(both * draws), draws))


def block_means(
    network: BlockNetwork | TypeNetwork, alpha: str, chains: int, looks: Collection[int], seed: int
) -> Iterator[tuple[int, Float64]]:
    """Means of conditionals of all open atoms after so many sweeps over blocks, averaged over chains."""
    sampler: Any = BlockGibbs(alpha).build(network, chains)  # type: ignore[arg-type]
    state = sampler.init(np.random.SeedSequence(seed))
    units, total = sampler.units, 0.0
    for sweep in range(1, max(looks) + 1):
        sampler.step(state, 1)
        total = total + sampler.unit_values(state).mean(axis=1)
        if sweep in looks:
            yield sweep, np.clip(total / sweep, 0.0, 1.0)[units.of_atom]
