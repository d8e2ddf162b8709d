"""The true conditional likelihood, by persistent contrastive divergence (Tieleman 2008) with 64 chains a database.

The gradient of log P(data | evidence) is N(data) - E[N]. The expectation is an average over chains that are never begun anew:
weights change little from one step to the next, so a few sweeps bring the chains along. Where data are hidden, N(data) is an
average too, over chains in which everything known stays as it is (the expectation step of EM, one gradient step at a time).

Steps are scaled by the information matrix of the pseudo-likelihood, so that one of size one is nearly Newton's where atoms are
nearly independent; a running mean of gradients (momentum) damps their noise, and the weights of the second half are averaged.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from markovlogic.learning.chains import CHAINS, Chains, WeightedNetwork, chains_of
from markovlogic.learning.information import Solver
from markovlogic.learning.partitions import PartitionChains
from markovlogic.learning.priors import Penalty
from markovlogic.system import cancellation
from markovlogic.system.arrays import Float64
from markovlogic.system.progress import Progress

SWEEPS = 5  # of each step
FIRST_SWEEPS = 50  # before the first one
MOST_STEPS = 400
LEAST_STEPS = 60
WINDOW = 20  # steps whose mean gradient is looked at
MOMENTUM = 0.7
FIRST_STEP = 0.5
LARGEST_CHANGE = 0.5  # of a weight in one step
NEAR, FARTHEST = 0.1, 0.5  # of a standard error, on average and of any weight: they are as good as at their best
STANDSTILL = 4  # windows without progress, after which there is none to hope for
SNAPSHOTS = 40  # worlds of every chain that the information is estimated from
MOST_SAMPLED = 400  # weights whose information is estimated from samples


@dataclass(frozen=True, eq=False)
class Found:
    """Weights at the end, and how sure they are."""

    weights: Float64
    steps: int
    converged: bool
    information: Float64 | None  # minus the Hessian of the log-likelihood, estimated; None where there are too many weights
    distance: float  # the last mean gradient, in standard errors of the weight it moves most
    updates: int  # of atoms, by all chains
    n_chains: int


class Likelihood:
    """N(data) - E[N], with the chains that it takes."""

    def __init__(self, networks: Sequence[WeightedNetwork], seed: int) -> None:
        seeds = np.random.SeedSequence(seed).spawn(2 * len(networks))
        self.networks = networks
        self._free = [chains_of(network, own) for network, own in zip(networks, seeds[::2], strict=True)]
        self._clamped: list[Chains | PartitionChains | None] = []
        self._observed: list[Float64] = []
        for network, free, own in zip(networks, self._free, seeds[1::2], strict=True):
            database = network.counting.database
            if database.hidden.any():
                self._clamped.append(chains_of(network, own, ~database.hidden))
                self._observed.append(np.zeros(network.n_features))
            else:
                self._clamped.append(None)
                self._observed.append(free.observed)

    @property
    def n_chains(self) -> int:
        """Of a database; fewer where one has partitions for worlds."""
        return min((free.n_chains for free in self._free), default=CHAINS)

    @property
    def observed(self) -> Float64:
        """N in the data of all databases, nothing being hidden."""
        return np.asarray(np.sum(self._observed, axis=0), np.float64)

    @property
    def updates(self) -> int:
        """Atoms that all chains have drawn so far."""
        return sum(chains.updates for chains in (*self._free, *self._clamped) if chains is not None)

    def gradient(self, weights: Float64, sweeps: int) -> Float64:
        """An estimate after some more sweeps of all chains."""
        total = np.zeros_like(weights)
        for free, clamped, observed in zip(self._free, self._clamped, self._observed, strict=True):
            cancellation.check()
            total -= free.mean_counts(weights, sweeps)
            total += observed if clamped is None else clamped.mean_counts(weights, sweeps)
        return total

    def counts(self, weights: Float64, sweeps: int) -> tuple[Float64, Float64 | None]:
        """N of every chain after some more sweeps, (n_features, n_chains), summed over databases; and with the data clamped."""
        total = np.zeros((len(weights), self.n_chains))
        clamped_total: Float64 | None = None
        for free, clamped, observed in zip(self._free, self._clamped, self._observed, strict=True):
            total += free.counts(weights, sweeps)[:, : total.shape[1]]
            if clamped is not None:
                clamped_total = np.zeros_like(total) if clamped_total is None else clamped_total
                clamped_total += clamped.counts(weights, sweeps)[:, : total.shape[1]]
            elif clamped_total is not None:
                clamped_total += observed[:, None]
        return total, clamped_total


def climb(
    likelihood: Likelihood,
    start: Float64,
    penalty: Penalty,
    solver: Solver,
    error: Float64,
    progress: Progress,
    *,
    errors: bool = True,
) -> Found:
    """Go uphill until the mean gradient is small beside the weights' standard errors, or time or steps are over.

    error: rough standard errors of the weights; errors: whether better ones are wanted in the end.
    """
    weights, velocity = start.copy(), np.zeros_like(start)
    likelihood.gradient(weights, FIRST_SWEEPS)
    recent: list[Float64] = []
    history: list[Float64] = []
    distances: list[float] = []
    distance, converged, steps = np.inf, False, 0
    for step in range(MOST_STEPS):
        if cancellation.current().over:
            break
        gradient = likelihood.gradient(weights, SWEEPS) - penalty.gradient(weights)
        velocity = MOMENTUM * velocity + (1 - MOMENTUM) * gradient
        change = FIRST_STEP / (1 + step / 30) ** 0.6 * solver(velocity)
        change[penalty.held] = 0.0
        change *= min(1.0, LARGEST_CHANGE / max(float(np.abs(change).max(initial=0.0)), 1e-12))
        if penalty.is_l1:  # a weight that would change its sign stops at zero first
            crossed = (np.sign(weights) * np.sign(weights + change) < 0) & (penalty.slope > 0)
            change[crossed] = -weights[crossed]
        weights = weights + change
        steps = step + 1
        recent = [*recent, gradient][-WINDOW:]
        history.append(weights)
        if steps % WINDOW == 0:
            moved = np.abs(solver(np.mean(recent, axis=0))) / np.maximum(error, 1e-9)
            distance = float(moved.max(initial=0.0))
            progress.advance(steps, f"step {steps}, off by {distance:.2g} standard errors")
            distances.append(distance)
            converged = distance < FARTHEST and float(np.mean(moved**2)) < NEAR**2
            if steps >= LEAST_STEPS and (converged or distance > min(distances[:-STANDSTILL], default=np.inf)):
                break
    if history:
        weights = np.mean(history[len(history) // 2 :], axis=0)
    information = None if not errors or cancellation.current().over else _information(likelihood, weights)
    return Found(weights, steps, converged, information, distance, likelihood.updates, likelihood.n_chains)


def _information(likelihood: Likelihood, weights: Float64) -> Float64 | None:
    """The covariance of N under the model, less that with the data clamped: minus the Hessian of the log-likelihood."""
    if len(weights) > MOST_SAMPLED:
        return None
    likelihood.gradient(weights, FIRST_SWEEPS)
    free: list[Float64] = []
    clamped: list[Float64] = []
    for _ in range(SNAPSHOTS):
        if cancellation.current().over:
            return None
        one, two = likelihood.counts(weights, SWEEPS)
        free.append(one)
        if two is not None:
            clamped.append(two)
    made = np.cov(np.concatenate(free, axis=1)).reshape(len(weights), len(weights))
    if clamped:
        made = made - np.cov(np.concatenate(clamped, axis=1)).reshape(made.shape)
    return np.asarray(made, np.float64)


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
    return Found(mean, steps, settled, None, distance, likelihood.updates, likelihood.n_chains)


def voted_perceptron(likelihood: Likelihood, start: Float64, penalty: Penalty, seed: int, progress: Progress) -> Found:
    """Collins (2002), as Singla and Domingos (2005) take it: counts of a most probable world in place of their expectation.

    That world is the best of 64 chains that cool down. The weights are the average over all steps; a rule's step is divided by
    the number of its true groundings in the data, so that rules with many groundings do not run away.
    """
    observed = likelihood.observed
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
    converged = steps == PERCEPTRON_STEPS and distance < 0.1
    return Found(mean, steps, converged, None, distance, updates, likelihood.n_chains)


def _most_probable_counts(likelihood: Likelihood, weights: Float64, seed: int) -> tuple[Float64, int]:
    """Counts of the best world of each database, and how many atoms were drawn on the way."""
    total, updates = np.zeros_like(weights), 0
    for number, network in enumerate(likelihood.networks):
        chains = chains_of(network, np.random.SeedSequence([seed, number]))
        for beta in COOLING:
            world = chains.sweep(weights, COOLING_SWEEPS, np.full(CHAINS, beta))
        counts = chains.counts(weights, 0)
        own = weights @ counts + network.atom_offset @ _worlds(world, len(network.must))[:, : counts.shape[1]]
        total += counts[:, int(np.argmax(own))]
        updates += chains.updates
    return total, updates


def _worlds(words: np.ndarray, n_atoms: int) -> Float64:
    shift = np.arange(CHAINS, dtype=np.uint64)
    return ((words[:n_atoms, None] >> shift) & np.uint64(1)).astype(np.float64)
