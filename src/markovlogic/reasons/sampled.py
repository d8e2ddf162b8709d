"""Contributions from chains: the same path as `reasons.exact`, at a few points, where elimination does not fit.

At each point 64 pairs of Gibbs chains run, one of a pair with the atom true, the other with it false. Chains at neighbouring
points exchange their worlds (parallel tempering), so that those at large weights get worlds from small ones, where all modes
are near. The 64 ladders of chains have nothing in common, and give the standard errors.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from markovlogic.methods.sampling.gibbs import Gibbs, GibbsState
from markovlogic.methods.sampling.tempered import Soft, soft_runs
from markovlogic.networks.ground import GroundNetwork
from markovlogic.reasons.exact import Contributions, exact_path
from markovlogic.reasons.local import LocalNetwork
from markovlogic.system import cancellation
from markovlogic.system.arrays import Float64, Words, frozen, offsets

NODES = 10  # of Gauss and Legendre
CHAINS = 64
GROUPS = 8  # of chains, for the errors of ground instances
DRAWS = 200
BURN_IN = 100
LITERALS_A_RUN = 200_000_000  # that are looked at; fewer draws are made where the component is large
FEWEST_DRAWS = 20
SHARES = (0.15, 0.3, 0.5, 0.6)  # of the time then left: the base, both sides of the atom, draws of the model
LEAST_SHARE = 0.1  # of draws that reweighting must be worth
LEAST_SEEN = 50  # draws with the atom true, and with it false, that reweighting needs
STUCK = 4.0  # variance between chains over what chains themselves vary, from where they count as stuck


@dataclass(frozen=True, eq=False)
class SampledPath:
    """The chains' work for one atom."""

    local: LocalNetwork
    seed: int
    draws: int

    @staticmethod
    def of(local: LocalNetwork, seed: int, draws: int | None = None) -> SampledPath:
        """As many draws as the size of the component allows, unless their number is given."""
        if draws is not None:
            return SampledPath(local, seed, draws)
        each = NODES * 2 * max(local.network.n_literals + local.network.n_all, 1)
        return SampledPath(local, seed, int(np.clip(LITERALS_A_RUN // (CHAINS * each), FEWEST_DRAWS, DRAWS)))

    @cached_property
    def _runs(self) -> tuple[Soft, ...]:
        """Weighted clauses and biases of each rule, as the kernel reads them."""
        local, network = self.local, self.local.network
        begin, end = network.clause_start[: network.n_soft], network.clause_start[1 : network.n_soft + 1]
        found = []
        for row, rule in enumerate(local.rules):
            own = np.flatnonzero(local.clause_rule == rule)
            start = offsets((end - begin)[own])
            place = np.repeat(begin[own] - start[:-1], np.diff(start)) + np.arange(start[-1])
            found.append(soft_runs(local.bias[row], start, network.clause_literal[place], network.clause_weight[own]))
        return tuple(found)

    def weight_by_rule(self, world: Words) -> Float64:
        """(n_rules, 64) sums of the weights of what is true in each chain's world."""
        from markovlogic.kernels.tempering import PLANES, lane_energies

        total, planes = np.zeros((len(self._runs), CHAINS)), np.zeros(PLANES, np.uint64)
        for runs, own in zip(self._runs, total, strict=True):
            lane_energies(runs, world, planes, own)
        return total

    def base(self) -> tuple[float, float]:
        """Log-odds of the atom under hard rules alone, and their standard error: exact where hard rules tie few atoms."""
        hard = exact_path(self.local.hard_alone())
        if not isinstance(hard, str):
            return hard.logit(), 0.0
        atom = self.draw_free(SHARES[0], self.local.at(0.0))[0].mean(axis=0)
        share = min(max(float(atom.mean()), 0.5 / atom.size), 1 - 0.5 / atom.size)
        error = float(atom.std(ddof=1)) / math.sqrt(CHAINS)
        return math.log(share / (1 - share)), error / (share * (1 - share))

    def follow(self, truth: bool) -> list[PointMeans]:
        """What holds at each point of the path, with the atom clamped."""
        local, n_soft = self.local, self.local.network.n_soft
        node, _ = np.polynomial.legendre.leggauss(NODES)
        ladder = _Ladder(self, (node + 1) / 2, truth)
        burn_in, draws = lengths(SHARES[1] if truth else SHARES[2], self.draws, lambda: ladder.sweep(1))
        ladder.sweep(burn_in)
        clause = np.zeros((NODES, GROUPS, n_soft), np.int64)
        atom = np.zeros((NODES, GROUPS, local.network.n_all), np.int64)
        rules = np.zeros((NODES, len(local.rules), 2, CHAINS))
        for draw in range(draws):
            for at, by_rule in enumerate(ladder.sweep(1)):
                world = ladder.states[at].world
                clause[at] += _by_group(_held(local.network, world))
                atom[at] += _by_group(world)
                rules[at, :, int(2 * draw >= draws)] += by_rule
        halves = np.array([(draws + 1) // 2, draws // 2]).reshape(2, 1)
        each = draws * CHAINS // GROUPS
        return [PointMeans(clause[at] / each, atom[at] / each, rules[at] / halves, draws) for at in range(NODES)]

    def draw_tempered(self) -> tuple[np.ndarray, np.ndarray, GibbsState]:
        """As `draw_free`, of the model itself, from ladders that end there."""
        ladder = _Ladder(self, np.linspace(0.0, 1.0, NODES), None)
        burn_in, draws = lengths(SHARES[3], self.draws, lambda: ladder.sweep(1))
        ladder.sweep(burn_in)
        atom, weight = np.zeros((draws, CHAINS)), np.zeros((draws, len(self.local.rules), CHAINS))
        for draw in range(draws):
            weight[draw] = ladder.sweep(1)[-1]
            atom[draw] = bits(ladder.states[-1].world[[self.local.target]])[0]
        return atom, weight, ladder.states[-1]

    def draw_free(
        self, share: float, network: GroundNetwork, state: GibbsState | None = None
    ) -> tuple[np.ndarray, np.ndarray, GibbsState]:
        """Draws of a network: (draws, 64) of the atom, (draws, n_rules, 64) of each rule's weight. share: of the time left."""
        local = self.local
        sampler = Gibbs().build(network, CHAINS)
        if state is None:
            state = sampler.init(np.random.SeedSequence([self.seed, 1000]))
        burn_in, draws = lengths(share, self.draws, lambda: sampler.step(state, 1))
        for _ in range(2 * burn_in):
            cancellation.check()
            sampler.step(state, 1)
        atom = np.zeros((draws, CHAINS))
        weight = np.zeros((draws, len(local.rules), CHAINS))
        for draw in range(draws):
            cancellation.check()
            sampler.step(state, 1)
            atom[draw] = bits(state.world[[local.target]])[0]
            weight[draw] = self.weight_by_rule(state.world)
        return atom, weight, state


@dataclass(frozen=True, eq=False)
class PointMeans:
    """What holds at a point of the path: means over draws."""

    clause: Float64  # (GROUPS, n_soft)
    atom: Float64  # (GROUPS, n_all)
    rules: Float64  # (n_rules, 2, CHAINS) weights of what is true, in the halves of the run
    draws: int


def lengths(share: float, draws: int, sweep: Callable[[], object], burn_in: int = BURN_IN) -> tuple[int, int]:
    """Sweeps to throw away and to keep: fewer where a share of the time that is left allows no more; sweep: makes one."""
    deadline = cancellation.current()
    left = deadline.left
    if left is None:
        return burn_in, draws
    deadline.allowance = cancellation.SURE  # the fewest draws are made in any case
    sweep()  # the first one may load the kernel
    begun = time.monotonic()
    sweep()
    fit = share * max(left, 0.0) / max(time.monotonic() - begun, 1e-9)
    part = min(fit / (burn_in + draws), 1.0)
    return max(round(part * burn_in), FEWEST_DRAWS // 2), max(round(part * draws), min(FEWEST_DRAWS, draws))


class _Ladder:
    """64 ladders of chains, each with a chain at each share of the weights."""

    def __init__(self, path: SampledPath, shares: Float64, truth: bool | None) -> None:
        self._path, self._shares = path, shares
        self._samplers = [Gibbs().build(path.local.at(float(share), truth), CHAINS) for share in shares]
        # the same seeds whatever the atom is clamped to: pairs of chains then have draws in common
        self.states = [one.init(np.random.SeedSequence([path.seed, at])) for at, one in enumerate(self._samplers)]
        self._rng = np.random.default_rng(np.random.SeedSequence([path.seed, 2000]))
        self._weights: list[Float64] = []  # (n_rules, 64) of what is true in the worlds at each share
        self._sweeps = 0

    def sweep(self, count: int) -> list[Float64]:
        """Exchange worlds and update them; the weights of what is true then, by rule, at each share."""
        for _ in range(count):
            cancellation.check()
            if self._weights:
                self._exchange([by_rule.sum(axis=0) for by_rule in self._weights])
            for sampler, state in zip(self._samplers, self.states, strict=True):
                sampler.step(state, 1)
            self._weights = [self._path.weight_by_rule(state.world) for state in self.states]
        return self._weights

    def _exchange(self, weight: list[Float64]) -> None:
        """Chains at neighbouring shares exchange worlds, every other pair of neighbours at a time."""
        first, self._sweeps = self._sweeps % 2, self._sweeps + 1
        for at in range(first, len(self._shares) - 1, 2):
            gain = (self._shares[at] - self._shares[at + 1]) * (weight[at + 1] - weight[at])
            accepted = np.log(self._rng.random(CHAINS)) < gain
            mask = np.packbits(accepted, bitorder="little").view("<u8").astype(np.uint64)[0]
            low, high = self.states[at].world, self.states[at + 1].world
            moved = (low ^ high) & mask
            low ^= moved
            high ^= moved


def _held(network: GroundNetwork, world: np.ndarray) -> np.ndarray:
    """(n_soft,) words: in which chains each soft clause is true."""
    literal, start = network.clause_literal[: network.clause_start[network.n_soft]], network.clause_start[: network.n_soft]
    words = world[literal >> 1] ^ np.where(literal & 1, np.uint64(0), ~np.uint64(0))
    return np.bitwise_or.reduceat(words, start) if len(start) else np.zeros(0, np.uint64)


def _by_group(words: np.ndarray) -> np.ndarray:
    """(GROUPS, n) how many chains of each group have the bit."""
    return np.bitwise_count(words.astype("<u8").view(np.uint8).reshape(len(words), GROUPS)).T


def bits(words: np.ndarray) -> np.ndarray:
    """(n, 64) numbers: 1 in the chains where the word has the bit."""
    return np.unpackbits(words.astype("<u8").view(np.uint8).reshape(len(words), 8), axis=1, bitorder="little").astype(np.float64)


def _without(local: LocalNetwork, rule: int) -> GroundNetwork:
    network = local.network
    weight = network.clause_weight.copy()
    weight[: network.n_soft][local.clause_rule == rule] = 0.0
    return frozen(replace(network, clause_weight=weight, atom_bias=local.bias_without(rule)))


def sample(
    path: SampledPath, logit: float, logit_error: float, base: float, base_error: float
) -> tuple[Contributions, bool, int]:
    """Contributions with standard errors, whether chains look stuck, and draws; logit and base come from elsewhere."""
    local, network = path.local, path.local.network
    _, measure = np.polynomial.legendre.leggauss(NODES)
    weight = network.clause_weight[: network.n_soft]
    clause, clause_variance = np.zeros(network.n_soft), np.zeros(network.n_soft)
    atom, atom_variance = np.zeros(network.n_all), np.zeros(network.n_all)
    rule_variance = np.zeros(len(local.rules))
    stuck, draws = False, path.draws
    for share, true, false in zip(measure / 2, path.follow(True), path.follow(False), strict=True):
        draws = min(true.draws, false.draws)
        rules = true.rules - false.rules
        mean = rules.mean(axis=1)
        between = mean.var(axis=1, ddof=1)
        within = ((rules[:, 0] - rules[:, 1]) ** 2).mean(axis=1) / 4
        stuck |= bool((between > STUCK * np.maximum(within, 1e-6)).any())
        rule_variance += share**2 * between / CHAINS
        for total, variance, part in (
            (clause, clause_variance, true.clause - false.clause),
            (atom, atom_variance, true.atom - false.atom),
        ):
            total += share * part.mean(axis=0)
            variance += share**2 * part.var(axis=0, ddof=1) / GROUPS
    bias_error = np.abs(local.bias) * np.sqrt(atom_variance)
    errors = dict(zip(local.rules, np.sqrt(rule_variance).tolist(), strict=True))
    found = Contributions(
        logit,
        base,
        weight * clause,
        weight * np.sqrt(clause_variance),
        local.bias * atom,
        bias_error,
        errors,
        logit_error,
        base_error,
    )
    return found, stuck, draws


def without_rules(path: SampledPath) -> dict[int, tuple[float, float]]:
    """The probability without each rule, and its standard error: reweighted draws, or a run of its own from warm chains."""
    atom, weight, state = path.draw_tempered()
    each = 1 / max(len(path.local.rules), 1)
    return reweighted(path.local.rules, atom, weight, lambda rule: path.draw_free(each, _without(path.local, rule), state)[0])


def reweighted(
    rules: Sequence[int], atom: Float64, weight: Float64, anew: Callable[[int], Float64]
) -> dict[int, tuple[float, float]]:
    """The same from draws (draws, 64) of the atom and (draws, n_rules, 64) of each rule's weight; anew: draws without a rule.

    Undefined where the time for draws without a rule is over.
    """
    found = {}
    for row, rule in enumerate(rules):
        log = -weight[:, row]
        importance = np.exp(log - log.max())
        worth = importance.sum() ** 2 / (importance**2).sum() / importance.size
        if worth >= LEAST_SHARE and LEAST_SEEN <= atom.sum() <= atom.size - LEAST_SEEN:
            found[rule] = ratio((importance * atom).sum(axis=0), importance.sum(axis=0))
        elif cancellation.current().over:
            cancellation.check()
            found[rule] = math.nan, math.nan
        else:
            own = anew(rule)
            found[rule] = ratio(own.sum(axis=0), np.full(CHAINS, float(len(own))))
    return found


def ratio(top: Float64, bottom: Float64) -> tuple[float, float]:
    """A ratio of sums over chains, and its standard error by leaving out one chain at a time."""
    value = float(top.sum() / bottom.sum())
    left = (top.sum() - top) / (bottom.sum() - bottom)
    error = math.sqrt((CHAINS - 1) / CHAINS * float(((left - left.mean()) ** 2).sum()))
    return value, error if 0 < value < 1 else 1 / float(bottom.sum())  # what no draw showed may be as likely as one draw
