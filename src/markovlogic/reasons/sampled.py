"""Contributions from chains: the same path as `reasons.exact`, at a few points, where elimination does not fit.

At each point 64 pairs of Gibbs chains run, one of a pair with the atom true, the other with it false. Chains start at small
weights and follow the path, so that they are spread over modes before weights are large. Pairs give the standard errors.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
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
DRAWS = 200
BURN_IN = 100
LITERALS_A_RUN = 200_000_000  # that are looked at; fewer draws are made where the component is large
FEWEST_DRAWS = 20
LEAST_SHARE = 0.1  # of draws that reweighting must be worth
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
        hard = exact_path(replace(self.local, network=self.local.at(0.0), bias=np.zeros_like(self.local.bias)))
        if not isinstance(hard, str):
            return hard.logit(), 0.0
        atom = self.draw_free(network=self.local.at(0.0))[0].mean(axis=0)
        share = min(max(float(atom.mean()), 0.5 / atom.size), 1 - 0.5 / atom.size)
        error = float(atom.std(ddof=1)) / math.sqrt(CHAINS)
        return math.log(share / (1 - share)), error / (share * (1 - share))

    def _truths(self, network: GroundNetwork, world: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Soft clauses and atoms by chain: (n_soft, 64) and (n_all, 64) of 0 and 1."""
        literal, start = network.clause_literal[: network.clause_start[network.n_soft]], network.clause_start[: network.n_soft]
        flip = np.where(literal & 1, np.uint64(0), ~np.uint64(0))
        words = world[literal >> 1] ^ flip
        held = np.bitwise_or.reduceat(words, start) if len(start) else np.zeros(0, np.uint64)
        return _bits(held), _bits(world)

    def follow(self, truth: bool) -> Iterator[tuple[Float64, Float64]]:
        """Mean truth of soft clauses and atoms by chain, in two halves of each run: (2, n, 64), point by point."""
        state = None
        node, _ = np.polynomial.legendre.leggauss(NODES)
        for at, share in enumerate((node + 1) / 2):
            network = self.local.at(float(share), truth)
            sampler = Gibbs().build(network, CHAINS)
            if state is None:
                state = sampler.init(np.random.SeedSequence([self.seed, at]))
            sampler.step(state, BURN_IN if at == 0 else BURN_IN // 2)
            clause = np.zeros((2, network.n_soft, CHAINS))
            atom = np.zeros((2, network.n_all, CHAINS))
            for draw in range(self.draws):
                cancellation.check()
                sampler.step(state, 1)
                held, world = self._truths(network, state.world)
                half = int(2 * draw >= self.draws)
                clause[half] += held
                atom[half] += world
            counts = np.array([(self.draws + 1) // 2, self.draws // 2]).reshape(2, 1, 1)
            yield clause / counts, atom / counts

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
            held, world = self._truths(local.network, state.world)
            atom[draw] = world[local.target]
            weight[draw] = _by_rule(local, held, world)
        return atom, weight, state


def _bits(words: np.ndarray) -> np.ndarray:
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
        held, world = true[0] - false[0], true[1] - false[1]
        rules = _by_rule(local, np.moveaxis(held, 0, 1), np.moveaxis(world, 0, 1))  # (n_rules, 2, 64)
        mean = rules.mean(axis=1)
        between = mean.var(axis=1, ddof=1)
        within = ((rules[:, 0] - rules[:, 1]) ** 2).mean(axis=1) / 4
        stuck |= bool((between > STUCK * np.maximum(within, 1e-6)).any())
        rule_variance += share**2 * between / CHAINS
        for total, variance, part in ((clause, clause_variance, held), (atom, atom_variance, world)):
            by_chain = part.mean(axis=0)
            total += share * by_chain.mean(axis=1)
            variance += share**2 * by_chain.var(axis=1, ddof=1) / CHAINS
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
    """The probability without each rule, and its standard error: reweighted draws, or a run of its own."""
    atom, weight, state = path.draw_free()
    found = {}
    for row, rule in enumerate(path.local.rules):
        log = -weight[:, row]
        importance = np.exp(log - log.max())
        worth = importance.sum() ** 2 / (importance**2).sum() / importance.size
        if worth >= LEAST_SHARE:
            found[rule] = _ratio((importance * atom).sum(axis=0), importance.sum(axis=0))
        else:
            own, _, _ = path.draw_free(_without(path.local, rule), state)
            found[rule] = _ratio(own.sum(axis=0), np.full(CHAINS, float(path.draws)))
    return found


def _ratio(top: Float64, bottom: Float64) -> tuple[float, float]:
    """A ratio of sums over chains, and its standard error by leaving out one chain at a time."""
    value = float(top.sum() / bottom.sum())
    left = (top.sum() - top) / (bottom.sum() - bottom)
    return value, math.sqrt((CHAINS - 1) / CHAINS * float(((left - left.mean()) ** 2).sum()))
