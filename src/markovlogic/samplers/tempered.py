"""Tempered chains: replica exchange in the lanes of a batch, so that chains cross between modes.

The extended target is the product over the rungs of a ladder of pi^beta, where beta multiplies soft weights and finite biases,
and hard clauses, groups and definitions stay as they are (ALGORITHMS.md 3.16). A lane's log-odds are multiplied by its beta just
before the draw; after every few sweeps neighbours on a ladder swap their betas. A *chain* is a ladder: its draws are the worlds
on its coldest rung, where beta is 1. Rungs are placed in burn-in only, so that all of them are rejected equally often.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from markovlogic.arrays import Float64, Int32, Int64, Words, frozen
from markovlogic.errors import InputError, ResourceError
from markovlogic.estimate.diagnostics import student_factor
from markovlogic.networks.ground import GroundNetwork
from markovlogic.restoring import require_generators, require_permutations, require_within
from markovlogic.samplers.base import LogZ, Sampler, Settings, StepInfo, Units, require_sweeps
from markovlogic.samplers.gibbs import Gibbs, GibbsSampler, GibbsState

LANES = 64
SWAP_EVERY = 4  # sweeps: looking at all clauses costs a part of a sweep
FIRST_ROUND = 4  # swaps before rungs are placed for the first time; rounds double
FEW_TRIPS = 4  # journeys from the hottest to the coldest rung, a chain, below which a run is no reason for trust
NO_PLANES, NO_CONDITIONALS = np.zeros((0, 8), np.uint64), np.zeros((0, 0), np.float32)


@dataclass(frozen=True)
class Tempered(Settings):
    """Settings of tempered chains.

    rungs: temperatures of a ladder, 2 to 64; a batch holds as many ladders as fit into 64 lanes. base: the sweeps between swaps.
    reweight: estimates from all rungs, each world with the weight that the true target gives it, in place of the coldest alone.
    """

    rungs: int = 16
    base: Gibbs = field(default_factory=Gibbs)
    reweight: bool = False

    def __post_init__(self) -> None:
        if not isinstance(self.rungs, int) or isinstance(self.rungs, bool) or not 2 <= self.rungs <= LANES:
            raise InputError(f"Tempered: rungs is {self.rungs!r}, expected a whole number from 2 to {LANES}")

    @property
    def method(self) -> str:
        """The method's name on the command line."""
        return "tempered"

    @property
    def chains_per_batch(self) -> int:
        """Ladders that fit into the lanes of a batch."""
        return LANES // self.rungs

    def build(self, network: GroundNetwork, n_chains: int) -> TemperedSampler:
        """A sampler for one batch of ladders."""
        if not 1 <= n_chains <= self.chains_per_batch:
            raise ValueError(f"a batch has 1 to {self.chains_per_batch} ladders of {self.rungs} rungs, not {n_chains}")
        return TemperedSampler(self, network, n_chains, self.base.build(network, n_chains * self.rungs))


class Soft(NamedTuple):
    """What beta multiplies, as the kernel reads it: finite biases that are not 0, and soft clauses."""

    atom: Int32
    bias: Float64
    clause_start: Int64
    clause_literal: Int32
    weight: Float64


class TemperedState(NamedTuple):
    """Everything that the next sweep depends on."""

    base: GibbsState  # of all lanes
    world: Words  # (n_all,) on the coldest rungs, bit m is ladder m
    lane_of: Int64  # (n_ladders, n_rungs) which lane is on a rung, the hottest first
    beta: Float64  # (n_rungs,) 0 to 1, rising
    generator: npt.NDArray[np.uint64]  # (4,) of the swaps
    done: Int64  # (2,) sweeps made; 1 once a draw has counted and rungs are fixed
    tally: Float64  # (n_rungs - 1, 2) attempts and acceptance probabilities since rungs were placed
    rounds: Int64  # (2,) swaps in this round, and when it ends
    bridge: Float64  # (n_rungs - 1, n_ladders, 2) see `kernels.tempering.add_bridges`
    looks: Int64  # (1,) that the bridges hold
    heading: Int64  # (64,) where each lane comes from
    free: Float64  # (n_rungs,) log Z of each rung over that of the hottest, as burn-in found it


@dataclass(frozen=True, eq=False)
class TemperedSampler(Sampler):
    """One batch of ladders; see `samplers.base.Sampler`."""

    settings: Tempered
    network: GroundNetwork
    n_chains: int
    base: GibbsSampler

    @property
    def kernel_modules(self) -> tuple[str, ...]:
        """Modules of `kernels` that `step` needs."""
        return (*self.base.kernel_modules, "tempering")

    @cached_property
    def soft(self) -> Soft:
        """What beta multiplies."""
        network = self.network
        atom = np.flatnonzero(np.isfinite(network.atom_bias) & (network.atom_bias != 0)).astype(np.int32)
        start = np.ascontiguousarray(network.clause_start[: network.n_soft + 1])
        literal = network.clause_literal[: int(start[-1])]
        return frozen(Soft(atom, network.atom_bias[atom], start, literal, network.clause_weight[: network.n_soft].copy()))

    @property
    def units(self) -> Units | None:
        """Weighted truth of each atom over all rungs, and the weights themselves; None where the coldest rung alone counts."""
        if not self.settings.reweight:
            return None
        n_atoms = self.network.n_atoms
        return Units(n_atoms + 1, np.arange(n_atoms, dtype=np.int32), total=n_atoms)

    def init(self, seed: np.random.SeedSequence, first: int = 0) -> TemperedState:
        """Lanes that start far apart, so that every ladder holds starts of all kinds."""
        from markovlogic.kernels.random import scalar_generator

        rungs, ladders = self.settings.rungs, self.n_chains
        lanes, swaps = seed.spawn(2)
        state = TemperedState(
            base=self.base.init(lanes, 0),
            world=np.zeros(self.network.n_all, np.uint64),
            lane_of=np.arange(ladders * rungs, dtype=np.int64).reshape(ladders, rungs),
            beta=np.linspace(0.0, 1.0, rungs) ** 1.5,
            generator=scalar_generator(swaps),
            done=np.zeros(2, np.int64),
            tally=np.zeros((rungs - 1, 2)),
            rounds=np.array([0, FIRST_ROUND]),
            bridge=np.full((rungs - 1, ladders, 2), -np.inf),
            looks=np.zeros(1, np.int64),
            heading=np.zeros(LANES, np.int64),
            free=np.zeros(rungs),
        )
        self._show(state)
        return state

    def step(
        self,
        state: TemperedState,
        sweeps: int,
        planes: npt.NDArray[np.uint64] | None = None,
        conditionals: npt.NDArray[np.float32] | None = None,
        *,
        burn_in: bool = False,
    ) -> StepInfo:
        """Make `sweeps` sweeps of all lanes in place; a draw is the coldest world of each ladder."""
        from markovlogic.kernels.counters import add_world

        require_sweeps(sweeps)
        counts = {"round_trips": 0, "swaps": 0, "ladders": 0}
        if not burn_in and not state.done[1]:
            self._fix(state)
            counts["ladders"] = self.n_chains  # once a batch, so that their sum is that of all
        left = sweeps
        while left:
            until_swap = SWAP_EVERY - int(state.done[0]) % SWAP_EVERY
            piece = 1 if planes is not None else min(left, until_swap)
            self.base.sweep(state.base, piece, NO_PLANES, NO_CONDITIONALS, self._lane_betas(state))
            state.done[0] += piece
            left -= piece
            if int(state.done[0]) % SWAP_EVERY == 0:
                counts["round_trips"] += self._swap(state, burn_in=burn_in)
                counts["swaps"] += 1
            if planes is not None:
                self._show(state)
                add_world(planes, state.world)
        if planes is None:
            self._show(state)
        return StepInfo(self.network.n_atoms * self.n_chains * self.settings.rungs * sweeps, {} if burn_in else counts)

    def _lane_betas(self, state: TemperedState) -> npt.NDArray[np.float32]:
        found = np.ones(LANES, np.float32)
        found[state.lane_of] = state.beta.astype(np.float32)[None, :]
        return found

    def _show(self, state: TemperedState) -> None:
        """Let the state's world be that of the coldest rungs."""
        from markovlogic.kernels.tempering import coldest_worlds

        coldest_worlds(state.base.world, np.ascontiguousarray(state.lane_of[:, -1]), state.world)

    def _energies(self, state: TemperedState) -> Float64:
        from markovlogic.kernels.tempering import lane_energies

        energy = np.zeros(LANES)
        lane_energies(self.soft, state.base.world, energy)
        return energy

    def _swap(self, state: TemperedState, *, burn_in: bool) -> int:
        """One round of swaps; gives how many replicas came from the hottest to the coldest rung."""
        from markovlogic.kernels.tempering import add_bridges, follow_replicas, swap_rungs

        energy = self._energies(state)
        add_bridges(energy, state.beta, state.lane_of, state.bridge)
        state.looks[0] += 1
        parity = (int(state.done[0]) // SWAP_EVERY) % 2
        swap_rungs(energy, state.beta, state.lane_of, parity, state.generator, state.tally)
        arrived = int(follow_replicas(state.lane_of, state.heading))
        if burn_in and not state.done[1]:
            state.rounds[0] += 1
            if state.rounds[0] == state.rounds[1]:
                self._place(state)
                state.rounds[:] = 0, 2 * state.rounds[1]
        return arrived

    def _place(self, state: TemperedState) -> None:
        """Place the rungs so that the barrier between neighbours, the share of rejected swaps, is the same everywhere."""
        tried = np.maximum(state.tally[:, 0], 1.0)
        rejected = np.clip(1.0 - state.tally[:, 1] / tried, 1e-3, 1.0)
        barrier = np.concatenate([[0.0], np.cumsum(rejected)])
        state.beta[:] = np.interp(np.linspace(0.0, barrier[-1], len(state.beta)), barrier, state.beta.copy())
        state.beta[0], state.beta[-1] = 0.0, 1.0
        self._forget(state)

    def _fix(self, state: TemperedState) -> None:
        """The first draw counts now: rungs stay where they are, and what burn-in found about the normalisers is kept."""
        if state.looks[0]:
            state.free[1:] = np.cumsum(_steps(state.bridge))
        state.done[1] = 1
        self._forget(state)

    def _forget(self, state: TemperedState) -> None:
        state.tally[:] = 0.0
        state.bridge[:] = -np.inf
        state.looks[0] = 0

    def unit_values(self, state: TemperedState) -> Float64:
        """Weighted truth: each lane counts with pi(x) over the mixture of all rungs' densities at x (the balance heuristic)."""
        from markovlogic.kernels.tempering import weighted_truth

        energy = self._energies(state)
        mixture = np.logaddexp.reduce(state.beta[:, None] * energy - state.free[:, None], axis=0)
        weight = np.exp(energy - state.free[-1] - mixture)
        values = np.zeros((self.network.n_atoms + 1, self.n_chains))
        weighted_truth(state.base.world, weight, state.lane_of, values)
        return values

    def check(self, state: TemperedState) -> None:
        """Every lane on one rung, rungs that rise from 0 to 1, and the lanes' own worlds."""
        from markovlogic.kernels.tempering import coldest_worlds

        self.base.check(state.base)
        require_generators(state.generator)
        require_permutations(state.lane_of.reshape(1, -1), "lanes on rungs")
        require_within(state.heading, 0, 2, "where lanes come from")
        require_within(state.done, 0, np.iinfo(np.int64).max // 2, "sweeps made")
        require_within(state.rounds, 0, np.iinfo(np.int64).max // 4, "swaps in a round")
        require_within(state.looks, 0, np.iinfo(np.int64).max // 2, "looks at the ladder")
        beta = state.beta
        if not (beta[0] == 0 and beta[-1] == 1 and (np.diff(beta) >= 0).all()):
            raise ValueError("inverse temperatures do not rise from 0 to 1")
        if not (np.isfinite(state.free).all() and np.isfinite(state.tally).all() and not np.isnan(state.bridge).any()):
            raise ValueError("what was found about the ladder holds numbers that are none")
        cold = np.zeros_like(state.world)
        coldest_worlds(state.base.world, np.ascontiguousarray(state.lane_of[:, -1]), cold)
        if (cold != state.world).any():
            raise ValueError("the worlds are not those on the coldest rungs")

    def concerns(self, counts: dict[str, int]) -> list[str]:
        """Few journeys along the ladder mean that the coldest worlds are still those that chains started with."""
        found = self.base.concerns({})
        trips, swaps = counts.get("round_trips", 0), counts.get("swaps", 0)
        if swaps and trips < FEW_TRIPS * counts.get("ladders", self.n_chains):
            found.append(
                f"tempered: only {trips} replicas came from the hottest to the coldest rung, so that modes may be missed; "
                f"make more draws, or take more rungs than Tempered(rungs={self.settings.rungs})."
            )
        return found

    def log_z(self, states: Sequence[Any]) -> LogZ | str | None:
        """Ln Z by bridges between neighbouring rungs, from the number of worlds at beta 0; its error from the ladders' spread."""
        if not int(states[0].looks[0]):
            return None
        hottest = worlds_allowed(self.network)
        if isinstance(hottest, str):
            return hottest
        change = joined_batches([state.bridge for state in states])
        return LogZ(hottest + self.network.log_constant + change.value, change.stderr)


def joined_batches(bridges: Sequence[Float64]) -> LogZ:
    """Ln Z(1)/Z(0) from the ladders of all batches, which place their rungs each for itself.

    The error comes from leaving out one ladder at a time (jackknife); from the spread of the batches where each has one ladder.
    """
    ladders = np.array([bridge.shape[1] for bridge in bridges], np.float64)
    share = ladders / ladders.sum()
    whole = np.array([float(_steps(bridge).sum()) for bridge in bridges])
    value = float(share @ whole)
    if (ladders > 1).all():
        variance = float(share**2 @ np.array([_jackknife_variance(bridge) for bridge in bridges]))
        degrees = float((ladders - 1).sum())
    elif len(bridges) > 1:
        variance, degrees = float(whole.var(ddof=1)) / len(bridges), len(bridges) - 1.0
    else:
        return LogZ(value, float("nan"))
    return LogZ(value, float(np.sqrt(variance) * student_factor(np.array([degrees]))[0]))


def _jackknife_variance(bridge: Float64) -> float:
    n = bridge.shape[1]
    without = np.array([float(_steps(np.delete(bridge, ladder, axis=1)).sum()) for ladder in range(n)])
    return float((n - 1) / n * ((without - without.mean()) ** 2).sum())


def _steps(bridge: Float64) -> Float64:
    """(n_rungs - 1,) log Z(upper) - log Z(lower), from the sums of all ladders."""
    lower, upper = (np.logaddexp.reduce(bridge[:, :, side], axis=1) for side in (0, 1))
    steps: Float64 = lower - upper
    return steps


def worlds_allowed(network: GroundNetwork) -> float | str:
    """The logarithm of the number of worlds that hard clauses, groups and decided atoms leave; why not, where it is not known."""
    from markovlogic.exact.effort import ONE_SECOND
    from markovlogic.exact.planning import plan_exact
    from markovlogic.exact.solve import solve
    from markovlogic.networks.components import components

    bare = network.hard_only()
    try:
        plan = plan_exact(bare, components(bare), effort=ONE_SECOND)
    except ResourceError:
        return "log_z is left out: hard rules tie too many atoms together for the worlds that they allow to be counted"
    return solve(bare, plan=plan).log_z
