"""Tempered chains: replica exchange in the lanes of a batch, so that chains cross between modes.

The extended target is the product over the rungs of a ladder of pi^beta, where beta multiplies soft weights and finite biases,
and hard clauses, groups and definitions stay as they are (papers.md 3.16). A lane's log-odds are multiplied by its beta just
before the draw; after every few sweeps neighbours on a ladder swap their betas. A *chain* is a ladder: its draws are the worlds
on its coldest rung, where beta is 1. Rungs are placed in burn-in only, so that all of them are rejected equally often. Now and
then each lane may turn its world over, which joins phases that heat alone does not (`TemperedSampler.turn_over`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from markovlogic.errors import InputError
from markovlogic.methods.sampling.base import LogZ, Sampler, Settings, StepInfo, Units, require_sweeps
from markovlogic.methods.sampling.gibbs import Gibbs, GibbsSampler, GibbsState
from markovlogic.methods.sampling.tempered_log_z import free_steps, joined_batches, worlds_allowed, worst_disagreement
from markovlogic.networks.ground import GroundNetwork
from markovlogic.system.arrays import Float64, Int32, Int64, Words, frozen, offsets
from markovlogic.system.checkpoint_validation import require_generators, require_permutations, require_within

LANES = 64
SWAP_EVERY = 3  # sweeps: looking at all clauses takes a third to half of one
FIRST_ROUND = 4  # swaps before rungs are placed for the first time; rounds double
FEW_TRIPS = 4  # journeys from the hottest to the coldest rung, a chain, below which a run is no reason for trust
TURN_EVERY = 8  # swaps between two attempts to turn worlds over
MOST_DISAGREEMENT = 1.1  # R-hat of the energies on a rung, from which on log Z is left out
LOOKS = 128  # at a ladder whose rungs stay where they are, before its worlds are weighed
NO_PLANES = np.zeros((0, 8), np.uint64)


@dataclass(frozen=True)
class Tempered(Settings):
    """Settings of tempered chains.

    rungs: temperatures of a ladder, 2 to 64. A batch holds as many ladders as fit into 64 lanes.
    base: the sweeps between swaps; Python only: `Gibbs(scan="random")`.
    reweight: estimate from all rungs, each world weighted for the true target. false uses the coldest rung alone.
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
    """What beta multiplies, as the kernel reads it: runs of clauses of one weight and length; a bias is one of one literal."""

    weight: Float64  # (n_runs,)
    length: Int64  # (n_runs,) literals of each clause
    clauses: Int64  # (n_runs,) how many
    start: Int64  # (n_runs,) the first literal of the first clause; all others follow
    literal: Int32


def soft_runs(bias: Float64, start: Int64, literal: Int32, weight: Float64) -> Soft:
    """Weighted clauses and biases by weight and length; start: (n + 1,) of the clauses in `literal`."""
    atom = np.flatnonzero(bias).astype(np.int32)
    every = np.concatenate([bias[atom], weight])
    length = np.concatenate([np.ones(len(atom), np.int64), np.diff(start)])
    order = np.lexsort((length, every))
    every, length = every[order], length[order]
    first = np.concatenate([np.arange(len(atom)), len(atom) + start[:-1]])[order]  # of each clause among all literals
    clause_start = offsets(length)
    place = np.repeat(first - clause_start[:-1], length) + np.arange(int(clause_start[-1]))
    literals = np.concatenate([2 * atom + 1, literal[: int(start[-1])]]).astype(np.int32)[place]
    begins = np.ones(len(every), np.bool_)
    begins[1:] = (every[1:] != every[:-1]) | (length[1:] != length[:-1])
    run = np.flatnonzero(begins)
    count = np.diff(np.append(run, len(every)))
    return frozen(Soft(every[run], length[run], count, clause_start[:-1][run], literals))


class Ladders(NamedTuple):
    """What one round of swaps reads and changes: arrays of the state, and room to work in."""

    beta: Float64
    lane_of: Int64
    generator: npt.NDArray[np.uint64]
    tally: Float64
    bridge: Float64
    moments: Float64
    heading: Int64
    energy: Float64  # (64,) of the lanes' worlds when they were last looked at
    proposal: Float64  # (64,) energies of the worlds that were proposed last, then the chances that they had
    planes: Words  # (PLANES,)
    lane_beta: npt.NDArray[np.float32]  # (64,) of each lane, for the sweeps


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
    moments: Float64  # (2, n_rungs, n_ladders, 2) of the first and the second part of the looks: sums of energies and squares
    looks: Int64  # (1,) that the bridges and moments hold
    heading: Int64  # (64,) where each lane comes from
    free: Float64  # (n_rungs,) log Z of each rung over that of the hottest, as burn-in found it


@dataclass(frozen=True, eq=False)
class TemperedSampler(Sampler):
    """One batch of ladders; see `methods.sampling.base.Sampler`."""

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
        bias = np.where(np.isfinite(network.atom_bias), network.atom_bias, 0.0)
        start = network.clause_start[: network.n_soft + 1]
        return soft_runs(bias, start, network.clause_literal, network.clause_weight[: network.n_soft])

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
            moments=np.zeros((2, rungs, ladders, 2)),
            looks=np.zeros(1, np.int64),
            heading=np.zeros(LANES, np.int64),
            free=np.zeros(rungs),
        )
        self._arrange(state)
        self._show(state)
        return state

    def with_worlds(self, state: TemperedState, world: Words) -> TemperedState:
        """On the coldest rung of each ladder."""
        for ladder, lane in enumerate(state.lane_of[:, -1].tolist()):
            bit = (world >> np.uint64(ladder)) & np.uint64(1)
            state.base.world[:] = (state.base.world & ~(np.uint64(1) << np.uint64(lane))) | (bit << np.uint64(lane))
        self._show(state)
        return state

    def learned(self, states: Sequence[TemperedState]) -> dict[str, npt.NDArray[Any]]:
        """Where the rungs are."""
        return {"beta": states[0].beta.copy()}

    def with_learned(self, state: TemperedState, learned: Mapping[str, npt.NDArray[Any]]) -> TemperedState:
        """Rungs where an earlier run had them; burn-in moves them on."""
        beta = learned.get("beta")
        if beta is not None and beta.shape == state.beta.shape:
            state.beta[:] = beta
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
        from markovlogic.kernels.tempering import count_coldest

        require_sweeps(sweeps)
        counts = {"round_trips": 0, "swaps": 0, "ladders": 0}
        ladders = self.ladders(state)
        extra = 0
        if not burn_in and not state.done[1]:
            extra = self._fix(state, ladders)
            counts["ladders"] = self.n_chains  # once a batch, so that their sum is that of all
        counted = NO_PLANES if planes is None else np.zeros_like(planes)
        left = sweeps
        while left:
            since = int(state.done[0]) % SWAP_EVERY
            if state.done[0] and not since:  # before sweeps, so that what is counted is what the state shows after the last
                counts["round_trips"] += self._swap(state, ladders, burn_in=burn_in)
                counts["swaps"] += 1
            piece = min(left, SWAP_EVERY - since)
            self.base.sweep(state.base, piece, counted, beta=ladders.lane_beta)
            if planes is not None:
                count_coldest(counted, piece, state.lane_of, planes)
            state.done[0] += piece
            left -= piece
        self._show(state)
        return StepInfo(self.network.n_atoms * self.n_chains * self.settings.rungs * (sweeps + extra), {} if burn_in else counts)

    def ladders(self, state: TemperedState) -> Ladders:
        """The state's arrays and room, as the kernels take them."""
        from markovlogic.kernels.tempering import PLANES

        room = np.zeros(LANES), np.zeros(LANES), np.zeros(PLANES, np.uint64), np.ones(LANES, np.float32)
        kept = state.tally, state.bridge, state.moments[1], state.heading
        ladders = Ladders(state.beta, state.lane_of, state.generator, *kept, *room)
        ladders.lane_beta[state.lane_of] = state.beta
        return ladders

    def _arrange(self, state: TemperedState) -> None:
        """Put the starts on rungs: heavier ones on colder rungs, where swaps would bring them; on hot ones they melt first.

        Every second ladder starts with copies of its heaviest world alone. What is heavy and rare melts in a few sweeps on rungs
        that are too hot for it, while a ladder without it waits for it to be found there, for thousands of sweeps where the
        transition is of first order. The others start from elsewhere, so that they disagree where heat does not join the two.
        """
        energy = self.energies(state.base.world)[state.lane_of]
        state.lane_of[:] = np.take_along_axis(state.lane_of, np.argsort(energy, axis=1, kind="stable"), axis=1)
        for ladder in range(1, self.n_chains, 2):
            heaviest = np.uint64(state.lane_of[ladder, -1])
            lanes = np.bitwise_or.reduce(np.uint64(1) << state.lane_of[ladder].astype(np.uint64))
            chosen = (state.base.world >> heaviest) & np.uint64(1) != 0
            state.base.world[:] = np.where(chosen, state.base.world | lanes, state.base.world & ~lanes)

    def _show(self, state: TemperedState) -> None:
        """Let the state's world be that of the coldest rungs."""
        from markovlogic.kernels.tempering import coldest_worlds

        coldest_worlds(state.base.world, state.lane_of, state.world)

    def energies(self, world: Words) -> Float64:
        """(64,) what beta multiplies, of each lane's world."""
        from markovlogic.kernels.tempering import PLANES, lane_energies

        energy = np.zeros(LANES)
        lane_energies(self.soft, world, np.zeros(PLANES, np.uint64), energy)
        return energy

    def _swap(self, state: TemperedState, ladders: Ladders, *, burn_in: bool) -> int:
        """One round of swaps; gives how many replicas came from the hottest to the coldest rung."""
        from markovlogic.kernels.tempering import exchange

        arrived = int(exchange(self.soft, state.base.world, ladders, int(state.looks[0]) % 2))
        state.looks[0] += 1
        if int(state.looks[0]).bit_count() == 1:  # as many looks again are the second part
            state.moments[0] += state.moments[1]
            state.moments[1] = 0.0
        if int(state.looks[0]) % TURN_EVERY == 0:
            self.turn_over(state, ladders)
        if burn_in and not state.done[1]:
            state.rounds[0] += 1
            if state.rounds[0] == state.rounds[1]:
                self._place(state)
                state.rounds[:] = 0, 2 * state.rounds[1]
        ladders.lane_beta[state.lane_of] = state.beta
        return arrived

    @cached_property
    def _turning(self) -> Words:
        """(n_all,) ones in all lanes for atoms that turning over changes: open ones, outside of groups, that nothing decides."""
        network = self.network
        changes = np.zeros(network.n_all, np.bool_)
        changes[: network.n_atoms] = np.isfinite(network.atom_bias[: network.n_atoms])
        changes[network.group_atom] = False
        lanes = np.uint64((1 << (self.n_chains * self.settings.rungs)) - 1)
        return frozen(np.where(changes, lanes, np.uint64(0)))

    def turn_over(self, state: TemperedState, ladders: Ladders) -> None:
        """Propose to every lane the world in which all atoms are the other way round, a Metropolis move on its rung.

        Rules over many people often have two phases, most of them true or most of them false, with a first-order transition
        between them that swaps pass once in thousands of sweeps. On middle rungs the two are about equally heavy.
        """
        from markovlogic.kernels.hidden import compute_hidden
        from markovlogic.kernels.literals import broken_word
        from markovlogic.kernels.tempering import turn_over

        network = self.network
        turned = state.base.world ^ self._turning
        if network.n_hidden:
            hidden = frozen(np.arange(network.n_atoms, network.n_all, dtype=np.int32))
            compute_hidden(network.definition_start, network.definition_literal, network.n_atoms, hidden, turned)
            turned[network.n_atoms :] &= np.uint64((1 << (self.n_chains * self.settings.rungs)) - 1)
        broken = int(broken_word(network.clause_start, network.clause_literal, network.n_soft, turned, self.base.n_chains))
        bias = network.atom_bias[network.n_atoms :]
        for wrong in (~turned[network.n_atoms :][bias == np.inf], turned[network.n_atoms :][bias == -np.inf]):
            broken |= int(np.bitwise_or.reduce(wrong, initial=np.uint64(0)))
        turn_over(self.soft, state.base.world, turned, np.uint64(~broken & ((1 << LANES) - 1)), ladders)

    def _place(self, state: TemperedState) -> None:
        """Place the rungs so that the barrier between neighbours, the share of rejected swaps, is the same everywhere."""
        tried = np.maximum(state.tally[:, 0], 1.0)
        rejected = np.clip(1.0 - state.tally[:, 1] / tried, 1e-3, 1.0)
        barrier = np.concatenate([[0.0], np.cumsum(rejected)])
        state.beta[:] = np.interp(np.linspace(0.0, barrier[-1], len(state.beta)), barrier, state.beta.copy())
        state.beta[0], state.beta[-1] = 0.0, 1.0
        self._forget(state)

    def _fix(self, state: TemperedState, ladders: Ladders) -> int:
        """The first draw counts now: rungs stay where they are. Gives the sweeps that it took to learn what weights need.

        Weights of rungs need their normalisers, from looks at the ladder since rungs were placed last, which may be few.
        """
        state.done[1] = 1
        extra = 0
        while self.settings.reweight and state.looks[0] < LOOKS:
            self.base.sweep(state.base, SWAP_EVERY, beta=ladders.lane_beta)
            self._swap(state, ladders, burn_in=False)
            extra += SWAP_EVERY
        if state.looks[0]:
            state.free[1:] = np.cumsum(free_steps(state.bridge))
        self._forget(state)
        return extra

    def _forget(self, state: TemperedState) -> None:
        state.tally[:] = 0.0
        state.bridge[:] = -np.inf
        state.moments[:] = 0.0
        state.looks[0] = 0

    def unit_values(self, state: TemperedState) -> Float64:
        """Weighted truth: each lane counts with pi(x) over the mixture of all rungs' densities at x (the balance heuristic)."""
        from markovlogic.kernels.tempering import weighted_truth

        energy = self.energies(state.base.world)
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
        finite = all(np.isfinite(part).all() for part in (state.free, state.tally, state.moments))
        if not finite or np.isnan(state.bridge).any():
            raise ValueError("what was found about the ladder holds numbers that are none")
        cold = np.zeros_like(state.world)
        coldest_worlds(state.base.world, state.lane_of, cold)
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
        worst = max(worst_disagreement(state.moments, int(state.looks[0])) for state in states)
        if worst > MOST_DISAGREEMENT:
            return (
                f"log_z is left out: at some temperature ladders, or early and late draws, disagree (R-hat {worst:.2f} of their "
                "log-weights), so that phases have not been weighed; make more draws"
            )
        hottest = worlds_allowed(self.network)
        if isinstance(hottest, str):
            return hottest
        change = joined_batches([state.bridge for state in states])
        return LogZ(hottest + self.network.log_constant + change.value, change.stderr)
