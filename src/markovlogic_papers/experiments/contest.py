"""[001] section 5: the samplers that are compared, each on the network that it works on, and batches of their chains.

Lifted blocked Gibbs works on tensors, the others on the ground network. Its own clusters, drawn by ground elimination (which is
what blocked Gibbs has to be to compare lifting and nothing else, papers.md 3.13), fit where their elimination width is small;
elsewhere blocked Gibbs has blocks of bounded width that it grows itself, and the outcome says so.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

import numpy as np

from markovlogic.errors import ResourceError
from markovlogic.methods.lifted.blocks.tensor_network import TensorNetwork
from markovlogic.methods.sampling.base import SWEEPS_PER_STEP, Settings
from markovlogic.methods.sampling.blocked import Blocked, BlockedSampler
from markovlogic.methods.sampling.lifted_blocked import LiftedBlocked
from markovlogic.networks.base import Network
from markovlogic.system.arrays import Float64
from markovlogic_papers.experiments.follow import GOLD_SEED, Truth
from markovlogic_papers.experiments.stage import Stage

LBG, BG, SAME_CLUSTERS = "lifted-blocked", "blocked", "blocked, same clusters"
MOST_WIDTH = 11  # of ground elimination with given blocks
SAMPLE, CONDITIONAL = "sample", "conditional"


@dataclass(frozen=True, eq=False)
class Contender:
    """A sampler and what it works on."""

    name: str
    settings: Settings
    network: Network


class Chains:
    """A batch of chains from starts of their own: how often atoms were true, and the mean of their conditionals."""

    def __init__(self, contender: Contender, chains: int, seed: np.random.SeedSequence) -> None:
        network = contender.network
        begun = time.process_time()
        self._sampler = contender.settings.build(network, chains)
        self._state = self._sampler.init(seed)
        self._planes = np.zeros((network.n_all, 8), np.uint64)
        self._atoms = np.arange(network.n_atoms, dtype=np.int32)
        self._step = np.zeros((network.n_all, chains), np.float32) if contender.settings.has_conditionals else None
        self._sum = np.zeros((network.n_atoms, chains)) if contender.settings.has_conditionals else None
        self.totals = np.zeros((network.n_atoms, chains), np.int64)
        self.draws = 0
        self.seconds = time.process_time() - begun  # building, burn-in, sampling and counting

    def advance(self, draws: int, *, count: bool = True) -> None:
        """Make so many sweeps more; without `count` they are burn-in."""
        from markovlogic.kernels.counters import drain

        begun = time.process_time()
        left = draws
        while left:
            sweeps = min(left, SWEEPS_PER_STEP)
            if not count:
                self._sampler.step(self._state, sweeps, burn_in=True)
            else:
                self._sampler.step(self._state, sweeps, self._planes, self._step)
                drain(self._planes, self._atoms, self.totals)
                self._planes[:] = 0
                if self._sum is not None and self._step is not None:
                    self._sum += self._step[: len(self._atoms)]
                    self._step[:] = 0
                self.draws += sweeps
            left -= sweeps
        self.seconds += time.process_time() - begun

    def estimates(self) -> dict[str, Float64]:
        """(n_atoms, chains) by estimator; the means of conditionals of [001], where the sampler has them."""
        found: dict[str, Float64] = {SAMPLE: self.totals / self.draws}
        if self._sum is not None:
            found[CONDITIONAL] = np.clip(self._sum / self.draws, 0.0, 1.0)
        return found


def gold_of(contender: Contender, chains: int, burn_in: int, draws: int, seed: int) -> Truth:
    """A long run: means of conditionals, with standard errors from the spread of its chains, and its halves compared."""
    run = Chains(contender, chains, np.random.SeedSequence([seed, GOLD_SEED]))
    run.advance(burn_in, count=False)
    run.advance(draws // 2)
    first = run.estimates()[CONDITIONAL]
    run.advance(draws - draws // 2)
    each = run.estimates()[CONDITIONAL]
    second = (each * draws - first * (draws // 2)) / (draws - draws // 2)
    difference = first - second
    own = difference.std(axis=1, ddof=1) / np.sqrt(chains)
    worst = float(np.abs(difference.mean(axis=1)[own > 0] / own[own > 0]).max(initial=0.0))
    stderr = each.std(axis=1, ddof=1) / np.sqrt(chains)
    checks = {"gold_largest_stderr": float(stderr.max()), "gold_worst_z_between_halves": worst}
    how = f"gold run of {contender.name}: {chains} chains of {draws} draws after {burn_in} of burn-in"
    return Truth(each.mean(axis=1), stderr, how, checks)


def lifted_blocked(stage: Stage) -> Contender:
    """Lifted blocked Gibbs with the clusters that it constructs."""
    return Contender(LBG, LiftedBlocked(), TensorNetwork.of(stage.problem, stage.prepared.lowered))


def blocked_ones(stage: Stage) -> tuple[list[Contender], list[str]]:
    """Blocked Gibbs with grown blocks, and with the clusters of lifted blocked Gibbs; and why one of them cannot run."""
    lifted = lifted_blocked(stage)
    assert isinstance(lifted.settings, LiftedBlocked) and isinstance(lifted.network, TensorNetwork)
    clusters = [cluster.predicates for cluster in lifted.settings.graph(lifted.network).clusters]
    blocks = [[atom for name in names for atom in stage.problem.atoms.range_of(name)] for names in clusters]
    grown = Contender(BG, Blocked(), stage.network)
    same = Contender(SAME_CLUSTERS, Blocked(blocks=[block for block in blocks if block]), stage.network)
    reason = _too_wide(same)
    return ([grown, same], []) if reason is None else ([grown], [reason])


def _too_wide(contender: Contender) -> str | None:
    """Why ground elimination of given blocks would not do; None where it would."""
    try:
        sampler = contender.settings.build(contender.network, 1)
    except ResourceError as refusal:
        return f"{contender.name}: {refusal}"
    assert isinstance(sampler, BlockedSampler)
    widest = max((int(np.diff(plan.scope_start).max(initial=0)) for plan in sampler.plans), default=0)
    if widest > MOST_WIDTH:
        return f"{contender.name}: left out, elimination makes tables of 2^{widest} entries, seconds for every sweep"
    return None


def clusters_of(stage: Stage) -> list[str]:
    """What lifted blocked Gibbs draws at once, for the record."""
    lifted = lifted_blocked(stage)
    settings: Any = lifted.settings
    return [", ".join(cluster.predicates) for cluster in settings.graph(lifted.network).clusters]


def looks(draws: int, per_decade: int = 6) -> list[int]:
    """Numbers of draws at which to look, evenly on a logarithmic scale."""
    steps = int(np.ceil(np.log10(max(draws, 1)) * per_decade)) + 1
    return sorted({max(1, round(value)) for value in np.geomspace(1, draws, steps)} | {draws})
