"""Weights judged by inference: how probable are the atoms of a database where none of its modelled atoms is known?

Couplings that were learned with all neighbours known may do harm where none is. So how far they may go from zero is chosen by
inference in databases that were not learned from, one left out at a time; that they are not worth having is among the answers.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from markovlogic.learning.chains import CHAINS, Chains, WeightedNetwork
from markovlogic.learning.optimise import maximise
from markovlogic.learning.preparing import Prepared
from markovlogic.learning.priors import NO_COUPLINGS, Prior, penalty_of
from markovlogic.learning.pseudolikelihood import Design
from markovlogic.system import cancellation
from markovlogic.system.arrays import Float64
from markovlogic.system.progress import Progress

COUPLINGS = (NO_COUPLINGS, 0.03, 0.1, 0.3, 1.0, 3.0)  # scales that are tried
BURN_IN, SNAPSHOTS, BETWEEN = 40, 20, 3  # sweeps thrown away, worlds looked at, sweeps between them
WORSE = 0.01  # of the best value: from there on it only gets worse


def marginal_log_likelihood(network: WeightedNetwork, weights: Float64, seed: Sequence[int]) -> tuple[float, int]:
    """Σ log P(the atom is as the data say | evidence), and how many atoms were drawn for it; of a group its true value alone."""
    database = network.counting.database
    chains = Chains(network, np.random.SeedSequence(list(seed)))
    chains.sweep(weights, BURN_IN)
    n = len(database.truth)
    true = np.zeros(n)
    for _ in range(SNAPSHOTS):
        cancellation.check()
        true += np.bitwise_count(chains.sweep(weights, BETWEEN)[:n])
    share = (true + 0.5) / (SNAPSHOTS * CHAINS + 1)
    said = np.log(np.where(database.truth, share, 1 - share))
    counts = ~database.hidden & ((network.counting.group < 0) | database.truth)
    return float(said[counts].sum()), chains.updates


def all_together(networks: Sequence[WeightedNetwork], weights: Float64, seed: int) -> tuple[float, int]:
    """The same of several databases."""
    found = [marginal_log_likelihood(network, weights, (seed, at)) for at, network in enumerate(networks)]
    return sum(value for value, _ in found), sum(updates for _, updates in found)


def with_coupling_scale(ready: Prepared, design: Design, prior: Prior, seed: int, progress: Progress) -> tuple[Prior, str, int]:
    """The prior with the strength for couplings that predicts left-out databases best, how it was found, and atoms drawn."""
    of_unit = design.database[np.searchsorted(design.unit, np.arange(design.n_units))]
    parts = [design.units_of(of_unit != at) for at in range(len(ready.networks))]
    starts: list[Float64 | None] = [None] * len(parts)
    progress.stage("held-out inference", len(COUPLINGS) * len(parts))
    best: tuple[float, float] | None = None
    done = drawn = 0
    for scale in COUPLINGS:
        penalty = penalty_of(replace(prior, coupling=scale), ready.is_base, ready.is_coupling)
        total = 0.0
        for at, part in enumerate(parts):
            weights, _ = maximise(part, penalty, starts[at], tolerance=1e-6)
            starts[at] = weights
            value, updates = marginal_log_likelihood(ready.networks[at], weights, (seed, at))
            total += value
            drawn += updates
            done += 1
            progress.advance(done, f"couplings of scale {scale:g}" if scale else "no couplings")
        if best is None or total > best[0]:
            best = (total, scale)
        elif total < best[0] * (1 + WORSE):
            break
    assert best is not None
    how = f"inference in {len(parts)} databases left out one at a time"
    return replace(prior, coupling=best[1]), how, drawn
