"""Two older ways to the conditional likelihood, to compare with: diagonal Newton and the voted perceptron."""

from __future__ import annotations

import numpy as np

from markovlogic.learning.chains import CHAINS, Chains
from markovlogic.learning.divergence import FIRST_SWEEPS, Found, Likelihood
from markovlogic.learning.priors import Penalty
from markovlogic.system import cancellation
from markovlogic.system.arrays import Float64
from markovlogic.system.progress import Progress

NEWTON_STEPS, NEWTON_SWEEPS = 100, 10
PERCEPTRON_STEPS = 60
COOLING = (0.5, 1.0, 2.0, 4.0, 8.0, 16.0)  # inverse temperatures on the way to a most probable world
COOLING_SWEEPS = 10


def diagonal_newton(likelihood: Likelihood, start: Float64, penalty: Penalty, progress: Progress) -> Found:
    """Lowd and Domingos (2007): the gradient divided by the variances of counts, as far as a quadratic model trusts it.

    The step along d is d·g / (d·H·d + λ d·d), H·d from the same samples; λ grows where a step was worse than expected.
    """
    weights = start.copy()
    likelihood.gradient(weights, FIRST_SWEEPS)
    damping, steps, distance = 1.0, 0, np.inf
    history: list[Float64] = []
    for step in range(NEWTON_STEPS):
        if cancellation.current().over:
            break
        counts, clamped = likelihood.counts(weights, NEWTON_SWEEPS)
        gradient = likelihood.gradient(weights, NEWTON_SWEEPS) - penalty.gradient(weights)
        variance = counts.var(axis=1) + penalty.precision + 1e-6
        if clamped is not None:
            variance = np.maximum(variance - clamped.var(axis=1), 1e-6)
        direction = gradient / variance
        curvature = float((direction @ counts).var()) + float((penalty.precision * direction**2).sum())
        size = float(direction @ gradient) / (curvature + damping * float(direction @ direction) + 1e-12)
        change = np.clip(min(size, 1.0) * direction, -1.0, 1.0)
        weights = weights + change
        history.append(weights)
        damping = max(damping * 0.9, 1e-3)
        steps = step + 1
        distance = float(np.abs(change * np.sqrt(variance)).max(initial=0.0))
        progress.advance(steps, f"step {steps}")
    mean = np.mean(history[len(history) // 2 :], axis=0) if history else weights
    settled = len(history) >= NEWTON_STEPS and float(np.abs(history[-1] - mean).max(initial=0.0)) < 1.0
    return Found(mean, steps, settled, None, distance, likelihood.updates)


def voted_perceptron(likelihood: Likelihood, start: Float64, penalty: Penalty, seed: int, progress: Progress) -> Found:
    """Collins (2002), as Singla and Domingos (2005) take it: counts of a most probable world in place of their expectation.

    That world is the best of 64 chains that cool down. The weights are the average over all steps; a rule's step is divided by
    the number of its true groundings in the data, so that rules with many groundings do not run away.
    """
    observed = sum((network.counts_in(network.counting.database.truth) for network in likelihood.networks), np.zeros(len(start)))
    rate = 1.0 / np.maximum(np.abs(observed), 1.0)
    weights, total, steps, updates = start.copy(), np.zeros_like(start), 0, 0
    previous = weights
    for step in range(PERCEPTRON_STEPS):
        if cancellation.current().over:
            break
        counts, drawn = _most_probable_counts(likelihood, weights, seed + step)
        updates += drawn
        gradient = observed - counts - penalty.gradient(weights)
        previous = weights
        weights = weights + rate * gradient
        total += weights
        steps = step + 1
        progress.advance(steps, f"step {steps}")
    mean = total / max(steps, 1) if steps else weights
    distance = float(np.abs(weights - previous).max(initial=0.0))
    return Found(mean, steps, steps == PERCEPTRON_STEPS and distance < 0.1, None, distance, updates)


def _most_probable_counts(likelihood: Likelihood, weights: Float64, seed: int) -> tuple[Float64, int]:
    """Counts of the best world of each database, and how many atoms were drawn on the way."""
    total, updates = np.zeros_like(weights), 0
    for number, network in enumerate(likelihood.networks):
        chains = Chains(network, np.random.SeedSequence([seed, number]))
        for beta in COOLING:
            world = chains.sweep(weights, COOLING_SWEEPS, np.full(CHAINS, beta))
        counts = network.counts_of_chains(world)
        own = weights @ counts + network.atom_offset @ _worlds(world, len(network.must))
        total += counts[:, int(np.argmax(own))]
        updates += chains.updates
    return total, updates


def _worlds(words: np.ndarray, n_atoms: int) -> Float64:
    shift = np.arange(CHAINS, dtype=np.uint64)
    return ((words[:n_atoms, None] >> shift) & np.uint64(1)).astype(np.float64)
