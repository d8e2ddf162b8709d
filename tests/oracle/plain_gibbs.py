"""A slow and plain Gibbs sampler that obeys the protocol of samplers, and variants that misbehave on demand.

Systematic scan, numpy over the chains of a batch, float64; the conditional is computed from whole clauses. No groups,
no hidden atoms. The generator is Philox, keyed once and counted by sweep, so that the state is two small arrays.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from markovlogic.guarantee import Guarantee
from markovlogic.methods.sampling.base import Sampler, Settings, StepInfo
from markovlogic.networks.ground import GroundNetwork


class PlainState(NamedTuple):
    world: np.ndarray
    key: np.ndarray  # (2,) uint64
    sweep: np.ndarray  # (1,) uint64


class PlainSampler(Sampler):
    def __init__(self, settings: PlainGibbs, network: GroundNetwork, n_chains: int) -> None:
        assert network.n_groups == 0 and network.n_hidden == 0
        self.n_chains, self._network, self._settings = n_chains, network, settings
        start, literal = network.clause_start, network.clause_literal
        self._clauses = [literal[start[c] : start[c + 1]] for c in range(network.n_clauses)]

    def init(self, seed: np.random.SeedSequence, first: int = 0) -> PlainState:
        words = seed.generate_state(3, np.uint64)
        truth = np.random.Generator(np.random.Philox(key=words[2])).random((self._network.n_all, self.n_chains)) < 0.5
        return PlainState(pack(truth), words[:2].copy(), np.zeros(1, np.uint64))

    def log_odds(self, atom: int, truth: np.ndarray) -> np.ndarray:
        total = np.full(self.n_chains, self._network.atom_bias[atom])
        for clause in self._network.atom_clause[self._network.atom_start[atom] : self._network.atom_start[atom + 1]]:
            rest_false = np.ones(self.n_chains, bool)
            sign = 0
            for literal in self._clauses[clause]:
                if literal >> 1 == atom:
                    sign = 1 if literal & 1 else -1
                else:
                    rest_false &= truth[literal >> 1] != bool(literal & 1)
            total = total + np.where(rest_false, sign * self._network.clause_weight[clause], 0.0)
        return total

    def step(
        self, state: PlainState, sweeps: int, planes: Any = None, conditionals: Any = None, *, burn_in: bool = False
    ) -> StepInfo:
        assert 1 <= sweeps <= 255
        truth = unpack(state.world, self.n_chains)
        for _ in range(sweeps):
            counter = np.array([0, 0, 0, state.sweep[0]], np.uint64)
            uniform = np.random.Generator(np.random.Philox(key=state.key, counter=counter)).random(truth.shape)
            for atom in range(len(truth)):
                with np.errstate(over="ignore"):
                    chance = 1 / (1 + np.exp(-self.log_odds(atom, truth)))
                truth[atom] = uniform[atom] < chance
                if conditionals is not None:
                    conditionals[atom] += chance.astype(np.float32)
            state.sweep[0] += np.uint64(1)
            if planes is not None:
                carry = pack(truth)
                for plane in range(8):
                    old = planes[:, plane].copy()
                    planes[:, plane] = old ^ carry
                    carry &= old
                assert not carry.any()
            self._misbehave(int(state.sweep[0]))
        state.world[:] = pack(truth)
        return StepInfo(sweeps * truth.size, {"sweeps": sweeps})

    def _misbehave(self, sweep: int) -> None:
        if self._settings.seconds_a_sweep:
            time.sleep(self._settings.seconds_a_sweep)
        if sweep == self._settings.fail_at:
            raise RuntimeError(f"planted failure in sweep {sweep}")

    def guarantee(self, counts: dict[str, int]) -> Guarantee:
        return Guarantee.EXACT

    def concerns(self, counts: dict[str, int]) -> list[str]:
        return ["planted concern"] if self._settings.worried else []


@dataclass(frozen=True)
class PlainGibbs(Settings):
    fail_at: int = -1
    seconds_a_sweep: float = 0.0
    has_conditionals: bool = True
    worried: bool = False
    chains_per_batch: int = 64
    method: str = "plain"

    def build(self, network: GroundNetwork, n_chains: int) -> PlainSampler:
        return PlainSampler(self, network, n_chains)


def pack(truth: np.ndarray) -> np.ndarray:
    """(n, chains) truth values as (n,) words."""
    return (truth.astype(np.uint64) << np.arange(truth.shape[1], dtype=np.uint64)).sum(axis=1, dtype=np.uint64)


def unpack(world: np.ndarray, n_chains: int) -> np.ndarray:
    """(n,) words as (n, chains) truth values."""
    return (world[:, None] >> np.arange(n_chains, dtype=np.uint64)) & np.uint64(1) == 1
