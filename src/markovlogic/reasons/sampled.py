"""Contributions from chains: the same path as `reasons.exact`, at a few points, where elimination does not fit.

At each point 64 pairs of Gibbs chains run, one of a pair with the atom true, the other with it false. Chains at neighbouring
points exchange their worlds (parallel tempering), so that those at large weights get worlds from small ones, where all modes
are near. The 64 ladders of chains have nothing in common, and give the standard errors.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from markovlogic.methods.sampling.gibbs import Gibbs, GibbsState
from markovlogic.networks.ground import GroundNetwork
from markovlogic.reasons.exact import Contributions, exact_path
from markovlogic.reasons.local import LocalNetwork
from markovlogic.system import cancellation
from markovlogic.system.arrays import Float64, frozen

NODES = 10  # of Gauss and Legendre
CHAINS = 64
GROUPS = 8  # of chains, for the errors of ground instances
DRAWS = 200
BURN_IN = 100
LITERALS_A_RUN = 200_000_000  # that are looked at; fewer draws are made where the component is large
FEWEST_DRAWS = 20
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

    def base(self) -> tuple[float, float]:
        """Log-odds of the atom under hard rules alone, and their standard error: exact where hard rules tie few atoms."""
        hard = exact_path(self.local.hard_alone())
        if not isinstance(hard, str):
            return hard.logit(), 0.0
        atom = self.draw_free(network=self.local.at(0.0))[0].mean(axis=0)
        share = min(max(float(atom.mean()), 0.5 / atom.size), 1 - 0.5 / atom.size)
        error = float(atom.std(ddof=1)) / math.sqrt(CHAINS)
        return math.log(share / (1 - share)), error / (share * (1 - share))

    def follow(self, truth: bool) -> list[PointMeans]:
        """What holds at each point of the path, with the atom clamped."""
        local, n_soft = self.local, self.local.network.n_soft
        node, _ = np.polynomial.legendre.leggauss(NODES)
        ladder = _Ladder(local, (node + 1) / 2, truth, self.seed)
        ladder.sweep(BURN_IN)
        clause = np.zeros((NODES, GROUPS, n_soft), np.int64)
        atom = np.zeros((NODES, GROUPS, local.network.n_all), np.int64)
        rules = np.zeros((NODES, len(local.rules), 2, CHAINS))
        for draw in range(self.draws):
            for at, (held, world, by_rule) in enumerate(ladder.sweep(1)):
                clause[at] += _by_group(held)
                atom[at] += _by_group(world)
                rules[at, :, int(2 * draw >= self.draws)] += by_rule
        halves = np.array([(self.draws + 1) // 2, self.draws // 2]).reshape(2, 1)
        each = self.draws * CHAINS // GROUPS
        return [PointMeans(clause[at] / each, atom[at] / each, rules[at] / halves) for at in range(NODES)]

    def draw_tempered(self) -> tuple[np.ndarray, np.ndarray, GibbsState]:
        """As `draw_free`, of the model itself, from ladders that end there."""
        ladder = _Ladder(self.local, np.linspace(0.0, 1.0, NODES), None, self.seed)
        ladder.sweep(BURN_IN)
        atom, weight = np.zeros((self.draws, CHAINS)), np.zeros((self.draws, len(self.local.rules), CHAINS))
        for draw in range(self.draws):
            _, world, weight[draw] = ladder.sweep(1)[-1]
            atom[draw] = bits(world[[self.local.target]])[0]
        return atom, weight, ladder.states[-1]

    def draw_free(
        self, network: GroundNetwork | None = None, state: GibbsState | None = None
    ) -> tuple[np.ndarray, np.ndarray, GibbsState]:
        """Draws of the model, or of another network: (draws, 64) of the atom, (draws, n_rules, 64) of each rule's weight."""
        local = self.local
        network = local.network if network is None else network
        sampler = Gibbs().build(network, CHAINS)
        if state is None:
            state = sampler.init(np.random.SeedSequence([self.seed, 1000]))
        sampler.step(state, BURN_IN)
        sampler.step(state, BURN_IN)
        atom = np.zeros((self.draws, CHAINS))
        weight = np.zeros((self.draws, len(local.rules), CHAINS))
        for draw in range(self.draws):
            cancellation.check()
            sampler.step(state, 1)
            atom[draw] = bits(state.world[[local.target]])[0]
            weight[draw] = _by_rule(local, bits(_held(local.network, state.world)), bits(state.world))
        return atom, weight, state


@dataclass(frozen=True, eq=False)
class PointMeans:
    """What holds at a point of the path: means over draws."""

    clause: Float64  # (GROUPS, n_soft)
    atom: Float64  # (GROUPS, n_all)
    rules: Float64  # (n_rules, 2, CHAINS) weights of what is true, in the halves of the run


class _Ladder:
    """64 ladders of chains, each with a chain at each share of the weights."""

    def __init__(self, local: LocalNetwork, shares: Float64, truth: bool | None, seed: int) -> None:
        self.local, self.shares = local, shares
        self._samplers = [Gibbs().build(local.at(float(share), truth), CHAINS) for share in shares]
        # the same seeds whatever the atom is clamped to: pairs of chains then have draws in common
        self.states = [one.init(np.random.SeedSequence([seed, at])) for at, one in enumerate(self._samplers)]
        self._rng = np.random.default_rng(np.random.SeedSequence([seed, 2000]))
        self._sweeps = 0

    def sweep(self, count: int) -> list[tuple[np.ndarray, np.ndarray, Float64]]:
        """Soft clauses and atoms as words, and the weight of what is true by rule, at each share after the last sweep."""
        found: list[tuple[np.ndarray, np.ndarray, Float64]] = []
        for _ in range(count):
            cancellation.check()
            found = []
            for sampler, state in zip(self._samplers, self.states, strict=True):
                sampler.step(state, 1)
                held = _held(self.local.network, state.world)
                found.append((held, state.world.copy(), _by_rule(self.local, bits(held), bits(state.world))))
            self._exchange([by_rule.sum(axis=0) for _, _, by_rule in found])
        return found

    def _exchange(self, weight: list[Float64]) -> None:
        """Chains at neighbouring shares exchange worlds, every other pair of neighbours at a time."""
        first, self._sweeps = self._sweeps % 2, self._sweeps + 1
        for at in range(first, len(self.shares) - 1, 2):
            gain = (self.shares[at] - self.shares[at + 1]) * (weight[at + 1] - weight[at])
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


def _by_rule(local: LocalNetwork, clause: Float64, atom: Float64) -> Float64:
    """Sum of weights of what is true, by rule: (n_rules, …)."""
    total = np.tensordot(local.bias, atom, axes=(1, 0))
    weighted = local.network.clause_weight[: local.network.n_soft].reshape(-1, *[1] * (clause.ndim - 1)) * clause
    for row, rule in enumerate(local.rules):
        total[row] += weighted[local.clause_rule == rule].sum(axis=0)
    return total


def _without(local: LocalNetwork, rule: int) -> GroundNetwork:
    network = local.network
    weight = network.clause_weight.copy()
    weight[: network.n_soft][local.clause_rule == rule] = 0.0
    return frozen(replace(network, clause_weight=weight, atom_bias=local.bias_without(rule)))


def sample(path: SampledPath, logit: float, logit_error: float, base: float, base_error: float) -> tuple[Contributions, bool]:
    """Contributions with standard errors, and whether chains look stuck; logit and base come from elsewhere."""
    local, network = path.local, path.local.network
    _, measure = np.polynomial.legendre.leggauss(NODES)
    weight = network.clause_weight[: network.n_soft]
    clause, clause_variance = np.zeros(network.n_soft), np.zeros(network.n_soft)
    atom, atom_variance = np.zeros(network.n_all), np.zeros(network.n_all)
    rule_variance = np.zeros(len(local.rules))
    stuck = False
    for share, true, false in zip(measure / 2, path.follow(True), path.follow(False), strict=True):
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
    return found, stuck


def without_rules(path: SampledPath) -> dict[int, tuple[float, float]]:
    """The probability without each rule, and its standard error: reweighted draws, or a run of its own from warm chains."""
    atom, weight, state = path.draw_tempered()
    return reweighted(path.local.rules, atom, weight, lambda rule: path.draw_free(_without(path.local, rule), state)[0])


def reweighted(
    rules: Sequence[int], atom: Float64, weight: Float64, anew: Callable[[int], Float64]
) -> dict[int, tuple[float, float]]:
    """The same from draws (draws, 64) of the atom and (draws, n_rules, 64) of each rule's weight; anew: draws without a rule."""
    found = {}
    for row, rule in enumerate(rules):
        log = -weight[:, row]
        importance = np.exp(log - log.max())
        worth = importance.sum() ** 2 / (importance**2).sum() / importance.size
        if worth >= LEAST_SHARE and LEAST_SEEN <= atom.sum() <= atom.size - LEAST_SEEN:
            found[rule] = ratio((importance * atom).sum(axis=0), importance.sum(axis=0))
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
