"""Runs of a sampler, followed: after how many draws and seconds each estimator is how far from the truth.

All estimators see the same draws, so that they differ in nothing but what they make of them, as in [003]'s experiments: ten
runs without burn-in. The runs advance together, one bit of a word each; seconds count all of them together.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from markovlogic.estimation.metrics import kl_divergence, mean_squared_error
from markovlogic.methods.sampling.base import SWEEPS_PER_STEP, Settings
from markovlogic.networks.ground import GroundNetwork
from markovlogic.system.arrays import Float64
from markovlogic.system.progress import SILENT, Progress
from markovlogic_papers.experiments.stage import Orbits, Stage

SAMPLE, ORBIT = "sample", "orbit"  # the standard estimator and the symmetry-aware one, with the symmetries that [003] used
NETWORK_ORBIT = "orbit-network"  # the same with all symmetries of the ground network
Divergence = Literal["est||true", "true||est"]  # the papers do not say which they mean; [003]'s released code takes the first
KL_TITLE = "average KL divergence"
GOLD_SEED = 7_919  # keeps the random numbers of a gold run apart from those of the runs that it judges


class Counted:
    """A batch of chains and how often each of its open atoms was true in each of them.

    They start from `false_world` if they can,
    or from a start of the sampler's own.
    """

    def __init__(
        self,
        settings: Settings,
        network: GroundNetwork,
        chains: int,
        seed: np.random.SeedSequence,
        *,
        start: Literal["false", "own"] = "false",
    ) -> None:
        self._sampler = settings.build(network, chains)
        self._state = self._sampler.init(seed)
        false = false_world(network) if start == "false" else None
        if false is not None:
            self._state.world[:] = np.where(false, np.uint64((1 << chains) - 1), np.uint64(0))
        self._planes = np.zeros((network.n_all, 8), np.uint64)
        self._atoms = np.arange(network.n_atoms, dtype=np.int32)
        self.totals = np.zeros((network.n_atoms, chains), np.int64)
        self.draws = 0
        self.seconds = 0.0  # of sampling and counting
        self.counts: dict[str, int] = {}

    def advance(self, draws: int, *, count: bool = True) -> None:
        """Make so many sweeps more; without `count` they are burn-in."""
        from markovlogic.kernels.counters import drain

        begun = time.process_time()
        left = draws
        while left:
            sweeps = min(left, SWEEPS_PER_STEP)
            info = self._sampler.step(self._state, sweeps, self._planes if count else None, burn_in=not count)
            for name, value in info.counts.items():
                self.counts[name] = self.counts.get(name, 0) + value
            if count:
                drain(self._planes, self._atoms, self.totals)
                self._planes[:] = 0
            left -= sweeps
        self.draws += draws if count else 0
        self.seconds += time.process_time() - begun

    @property
    def means(self) -> Float64:
        """(n_atoms, chains) shares of the draws in which atoms were true."""
        return self.totals / self.draws


def compile_kernels(settings: Settings, network: GroundNetwork, chains: int) -> None:
    """Run everything once, so that compiling counts to nobody's time."""
    Counted(settings, network, chains, np.random.SeedSequence(0)).advance(1)


def false_world(network: GroundNetwork) -> npt.NDArray[np.bool_] | None:
    """The world where [003]'s released code starts: nothing is true but what hard unit rules demand; None if it is impossible."""
    if network.n_hidden or network.n_groups:
        return None
    world = network.atom_bias == np.inf
    literal = network.clause_literal
    holds = world[literal >> 1] == (literal & 1).astype(bool)
    true_clause = np.logical_or.reduceat(holds, network.clause_start[:-1]) if len(literal) else np.zeros(0, bool)
    return world if true_clause[network.n_soft :].all() else None


class Errors(NamedTuple):
    """How far an estimate is from the truth, averaged over the open atoms; verdicts and charts go by `kl`."""

    kl: float
    kl_estimate_truth: float
    kl_truth_estimate: float
    mse: float


@dataclass(frozen=True, eq=False)
class Truth:
    """Marginals to judge by; `stderr` is 0 where they are exact. kl: the direction of the divergence that is judged by."""

    probability: Float64
    stderr: Float64
    how: str
    checks: Mapping[str, float] = field(default_factory=dict)
    kl: Divergence = "est||true"

    @classmethod
    def exact(cls, probability: Float64, how: str) -> Truth:
        """Without error."""
        return cls(probability, np.zeros(len(probability)), how)

    def allow(self, estimate: Float64) -> Float64:
        """The estimate, with differences that the truth's own error explains removed (below twice its standard error)."""
        return np.where(np.abs(estimate - self.probability) <= 2 * self.stderr, self.probability, estimate)

    def errors(self, estimate: Float64) -> Errors:
        """The divergence in both directions and the mean squared error."""
        allowed = self.allow(estimate)
        truth = self.probability
        there, back = kl_divergence(allowed, truth), kl_divergence(truth, allowed)
        return Errors(there if self.kl == "est||true" else back, there, back, mean_squared_error(truth, allowed))


def gold_run(
    settings: Settings,
    stage: Stage,
    orbits: Orbits,
    *,
    burn_in: int,
    draws: int,
    seed: int,
    chains: int = 64,
    progress: Progress = SILENT,
) -> Truth:
    """A long run with standard errors from the spread of independent chains, its values averaged over orbits.

    `checks` holds the largest standard error and the largest distance between the two halves of the run in units of its
    standard error, which stays below about 4 unless the run was too short.
    """
    run = Counted(settings, stage.network, chains, np.random.SeedSequence([seed, GOLD_SEED]))
    progress.stage("gold run", burn_in + draws)
    run.advance(burn_in, count=False)
    halves: list[Float64] = []
    done, before = 0, np.zeros_like(run.totals)
    for part in (draws // 2, draws - draws // 2):
        for stretch in _stretches(part, 20):
            run.advance(stretch)
            done += stretch
            progress.advance(burn_in + done)
        halves.append(orbits.average((run.totals - before) / part))
        before = run.totals.copy()
    each = orbits.average(run.means)
    stderr = each.std(axis=1, ddof=1) / np.sqrt(chains)
    difference = halves[0] - halves[1]
    own = difference.std(axis=1, ddof=1) / np.sqrt(chains)
    moving = own > 0
    worst = float(np.abs(difference.mean(axis=1)[moving] / own[moving]).max(initial=0.0))
    checks = {"gold_largest_stderr": float(stderr.max()), "gold_worst_z_between_halves": worst}
    how = f"gold run: {chains} chains of {draws} draws after {burn_in} of burn-in"
    return Truth(each.mean(axis=1), stderr, how, checks)


def _stretches(total: int, parts: int) -> list[int]:
    edges = np.linspace(0, total, min(parts, total) + 1).astype(int)
    return [int(step) for step in np.diff(edges)]


def checkpoints(draws: int, per_decade: int = 8) -> list[int]:
    """Numbers of draws at which to look, evenly on a logarithmic scale; the last is `draws`."""
    steps = int(np.ceil(np.log10(max(draws, 1)) * per_decade)) + 1
    return sorted({max(1, round(value)) for value in np.geomspace(1, draws, steps)} | {draws})


COLUMNS = ("sampler", "estimator", "run", "draws", "updates", "seconds", *Errors._fields)


@dataclass(frozen=True)
class Look:
    """What one estimator has of one run after some draws."""

    sampler: str
    estimator: str
    run: int
    draws: int
    updates: int  # atom updates of this run: [003] counts each of them as one sample point
    seconds: float  # of all runs together; for the orbit estimator, with finding the orbits and averaging
    kl: float
    kl_estimate_truth: float
    kl_truth_estimate: float
    mse: float

    def row(self) -> tuple[str | int | float, ...]:
        """As a row of COLUMNS."""
        return tuple(getattr(self, name) for name in COLUMNS)


@dataclass(frozen=True)
class Pursuit:
    """How long the runs of a sampler are followed: until `draws` or `seconds` are over or what was seen is `enough`."""

    runs: int
    draws: int
    seed: int
    per_decade: int = 8
    seconds: float = np.inf
    enough: Callable[[list[Look]], bool] = lambda looks: False


def follow(
    sampler: str,
    settings: Settings,
    stage: Stage,
    orbits: Mapping[str, Orbits],
    truth: Truth,
    pursuit: Pursuit,
    *,
    progress: Progress = SILENT,
) -> tuple[list[Look], dict[str, int]]:
    """Look at the runs of one sampler again and again.

    orbits: by the name of the estimator that averages over them. Gives the looks and the sampler's own counters.
    """
    compile_kernels(settings, stage.network, pursuit.runs)
    run = Counted(settings, stage.network, pursuit.runs, np.random.SeedSequence(pursuit.seed))
    progress.stage(sampler, pursuit.draws)
    looks: list[Look] = []
    for until in checkpoints(pursuit.draws, pursuit.per_decade):
        run.advance(until - run.draws)
        means = run.means
        fresh = _looks(sampler, SAMPLE, until, stage, truth, means, run.seconds)
        for estimator, own in orbits.items():
            begun = time.process_time()
            averaged = own.average(means)
            extra = own.seconds + time.process_time() - begun
            fresh += _looks(sampler, estimator, until, stage, truth, averaged, run.seconds + extra)
        looks += fresh
        progress.advance(until)
        if run.seconds >= pursuit.seconds or pursuit.enough(fresh):
            break
    return looks, run.counts


def _looks(sampler: str, estimator: str, draws: int, stage: Stage, truth: Truth, values: Float64, seconds: float) -> list[Look]:
    updates = draws * stage.network.n_atoms
    return [
        Look(sampler, estimator, number + 1, draws, updates, seconds, *truth.errors(values[:, number]))
        for number in range(values.shape[1])
    ]
