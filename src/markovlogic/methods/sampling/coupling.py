"""Partitions tempered over their coupling: a ladder over the weight of the rules that tie relations together.

On a rung with share s, the weight of every soft clause that holds pairs of two or more relations is multiplied by s; everything
else is as it is. At 0 the relations know nothing of each other and mix by themselves, at 1 all is as the rules say. After every
sweep neighbouring rungs may exchange their worlds, even and odd neighbours in turn, with probability
min(1, exp((s' - s)(E - E'))), E being the weight of the true ones of these clauses on the lower rung and E' that on the higher
one. So each rung keeps its own distribution. The draws are those of the highest rung. Rungs between the ends are placed in
burn-in, so that exchanges are rejected equally often.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from markovlogic.errors import InputError
from markovlogic.grounding.rows import Rows
from markovlogic.methods.partition.network import PartitionNetwork
from markovlogic.methods.sampling.base import Sampler, StepInfo
from markovlogic.methods.sampling.partition import PartitionSampler, PartitionState
from markovlogic.system.arrays import Float64, Int32, Int64, Words, frozen
from markovlogic.system.checkpoint_validation import require_within

if TYPE_CHECKING:
    from markovlogic.kernels.partition.layout import Layout

FIRST_ROUND = 8  # exchanges before rungs are placed for the first time; rounds double
FEW_EXCHANGES = 0.05  # share of exchanges that are accepted, below which the ladder is of little use
NO_PLANES = np.zeros((0, 8), np.uint64)


class LadderState(NamedTuple):
    """Worlds of all rungs, the lowest first; `world` is that of the highest."""

    world: Words  # (n_all,)
    worlds: Words  # (n_rungs, n_all)
    generator: npt.NDArray[np.uint64]  # (n_rungs, n_chains, 4)
    block: Int32  # (n_rungs, n_chains, n_nodes)
    share: Float64  # (n_rungs,) 0 to 1, rising
    seed: npt.NDArray[np.uint64]  # (2,) of the exchanges
    done: Int64  # (2,) sweeps made; 1 once a draw has counted and rungs are fixed
    rounds: Int64  # (2,) exchanges in this round, and when it ends
    tally: Float64  # (n_rungs - 1, 2) attempts, and acceptance probabilities, since rungs were placed


@dataclass(frozen=True, eq=False)
class LadderSampler(Sampler):
    """One batch of ladders."""

    base: PartitionSampler
    rungs: int
    n_chains: int

    @property
    def network(self) -> PartitionNetwork:
        """What is drawn from on the highest rung."""
        return self.base.network

    @property
    def kernel_modules(self) -> tuple[str, ...]:
        """Those of the sweeps."""
        return self.base.kernel_modules

    def starts(self, first: int) -> tuple[str, ...]:
        """How each ladder's highest rung starts."""
        return self.base.starts(first)

    @cached_property
    def ties(self) -> Int64:
        """Soft clauses that hold pairs of several relations."""
        found = tying(self.network)
        if not len(found):
            raise InputError("Partition: rungs has no effect: no soft rule ties two equivalence relations together")
        return found

    @cached_property
    def _tying_rows(self) -> Rows:
        rows = self.network.rows
        return Rows(rows.clause_start, rows.clause_literal).take(self.ties)

    def layout(self, share: float) -> Layout:
        """What the kernels read on a rung."""
        layout = self.base.layout
        weight = layout.clause_weight.copy()
        weight[self.ties] *= share
        return frozen(layout._replace(clause_weight=weight))

    def energies(self, world: Words) -> Float64:
        """(n_chains,) the weight of the tying clauses that each chain's world makes true."""
        rows = self._tying_rows
        words = world[rows.literal >> 1] ^ np.where(rows.literal & 1 == 1, np.uint64(0), ~np.uint64(0))
        true = np.bitwise_or.reduceat(words, rows.start[:-1])
        weight = self.network.rows.clause_weight[self.ties]
        chains = np.arange(self.n_chains, dtype=np.uint64)
        return np.asarray(weight @ ((true[:, None] >> chains) & np.uint64(1)).astype(np.float64), np.float64)

    def init(self, seed: np.random.SeedSequence, first: int = 0) -> LadderState:
        """Rungs that start alike in kind, each with a seed of its own."""
        exchanges, *own = seed.spawn(1 + self.rungs)
        states = [self.base.init(child, first) for child in own]
        return LadderState(
            world=states[-1].world.copy(),
            worlds=np.stack([state.world for state in states]),
            generator=np.stack([state.generator for state in states]),
            block=np.stack([state.block for state in states]),
            share=np.linspace(0.0, 1.0, self.rungs),
            seed=np.asarray(exchanges.generate_state(2, np.uint64), np.uint64),
            done=np.zeros(2, np.int64),
            rounds=np.array([0, FIRST_ROUND]),
            tally=np.zeros((self.rungs - 1, 2)),
        )

    def with_worlds(self, state: LadderState, world: Words) -> LadderState:
        """On the highest rung."""
        state.world[:] = world
        state.worlds[-1] = world
        return state

    def learned(self, states: Sequence[LadderState]) -> dict[str, npt.NDArray[Any]]:
        """Where the rungs are."""
        return {"share": states[0].share.copy()}

    def with_learned(self, state: LadderState, learned: Mapping[str, npt.NDArray[Any]]) -> LadderState:
        """Rungs where an earlier run had them; burn-in moves them on."""
        share = learned.get("share")
        if share is not None and share.shape == state.share.shape:
            state.share[:] = share
        return state

    def step(
        self,
        state: LadderState,
        sweeps: int,
        planes: npt.NDArray[np.uint64] | None = None,
        conditionals: npt.NDArray[np.float32] | None = None,
        *,
        burn_in: bool = False,
    ) -> StepInfo:
        """Make sweeps of all rungs, with exchanges before each but the first."""
        if not burn_in and not state.done[1]:
            state.done[1] = 1
            state.tally[:] = 0.0
        counts = {"proposed": 0, "accepted": 0, "exchanges": 0, "exchanged": 0}
        layouts = [self.layout(float(share)) for share in state.share]
        for _ in range(sweeps):
            if state.done[0]:
                tried, made = self.exchange(state)
                counts["exchanges"] += tried
                counts["exchanged"] += made
                if burn_in and not state.done[1] and self._placed(state):
                    layouts = [self.layout(float(share)) for share in state.share]
            for rung, layout in enumerate(layouts):
                own = PartitionState(state.worlds[rung], state.generator[rung], state.block[rung])
                counted = planes if planes is not None and rung == self.rungs - 1 else NO_PLANES
                proposed, accepted = self.base.drawn(layout, own, 1, counted).tolist()
                counts["proposed"] += proposed
                counts["accepted"] += accepted
            state.done[0] += 1
        state.world[:] = state.worlds[-1]
        moving = len(self.network.node) + len(self.network.site) + len(self.network.group)
        return StepInfo(sweeps * self.rungs * self.n_chains * moving + counts["proposed"], {} if burn_in else counts)

    def exchange(self, state: LadderState) -> tuple[int, int]:
        """One round between neighbours; gives how many exchanges were tried, and how many were made."""
        energy = np.stack([self.energies(world) for world in state.worlds])
        chance = np.random.default_rng([*state.seed.tolist(), int(state.done[0])]).random((self.rungs, self.n_chains))
        tried = made = 0
        for low in range(int(state.done[0]) % 2, self.rungs - 1, 2):
            step = state.share[low + 1] - state.share[low]
            accepted = acceptance(step, energy[low], energy[low + 1])
            state.tally[low] += len(accepted), accepted.sum()
            chosen = np.flatnonzero(chance[low] < accepted)
            tried, made = tried + len(accepted), made + len(chosen)
            mask = np.uint64(int((1 << chosen.astype(object)).sum())) if len(chosen) else np.uint64(0)
            differ = (state.worlds[low] ^ state.worlds[low + 1]) & mask
            state.worlds[low] ^= differ
            state.worlds[low + 1] ^= differ
            state.block[low : low + 2, chosen] = state.block[low : low + 2, chosen][::-1]
        return tried, made

    def _placed(self, state: LadderState) -> bool:
        """At the end of a round, place rungs so that exchanges are rejected equally often everywhere."""
        state.rounds[0] += 1
        if state.rounds[0] < state.rounds[1]:
            return False
        rejected = np.clip(1.0 - state.tally[:, 1] / np.maximum(state.tally[:, 0], 1.0), 1e-3, 1.0)
        barrier = np.concatenate([[0.0], np.cumsum(rejected)])
        state.share[:] = np.interp(np.linspace(0.0, barrier[-1], self.rungs), barrier, state.share.copy())
        state.share[0], state.share[-1] = 0.0, 1.0
        state.rounds[:] = 0, 2 * state.rounds[1]
        state.tally[:] = 0.0
        return True

    def check(self, state: LadderState) -> None:
        """Partitions on every rung, shares that rise from 0 to 1, and the highest rung's world."""
        for rung in range(self.rungs):
            self.base.check(PartitionState(state.worlds[rung], state.generator[rung], state.block[rung]))
        require_within(state.done, 0, np.iinfo(np.int64).max // 2, "sweeps made")
        require_within(state.rounds, 0, np.iinfo(np.int64).max // 4, "exchanges in a round")
        if not (state.share[0] == 0 and state.share[-1] == 1 and (np.diff(state.share) >= 0).all()):
            raise ValueError("shares of the coupling do not rise from 0 to 1")
        if not np.isfinite(state.tally).all() or (state.worlds[-1] != state.world).any():
            raise ValueError("the world is not that of the highest rung")

    def concerns(self, counts: dict[str, int]) -> list[str]:
        """Few exchanges mean that the highest rung is by itself."""
        tried, made = counts.get("exchanges", 0), counts.get("exchanged", 0)
        if not tried or made >= FEW_EXCHANGES * tried:
            return []
        return [
            f"partition: {made:,} of {tried:,} exchanges between rungs were accepted, so that the ladder is of little use; "
            f"take more rungs than {self.rungs}."
        ]


def acceptance(step: float, low: Float64, high: Float64) -> Float64:
    """With which probability worlds are exchanged; low, high: energies on a rung and on the next one."""
    return np.asarray(np.exp(np.minimum(0.0, step * (low - high))), np.float64)


def tying(network: PartitionNetwork) -> Int64:
    """Soft clauses that hold pairs of two or more relations."""
    rows = network.rows
    relation = network.relation_row[rows.clause_literal[: int(rows.clause_start[rows.n_soft])] >> 1]
    if not rows.n_soft or not len(relation):
        return np.zeros(0, np.int64)
    start = rows.clause_start[: rows.n_soft]
    high = np.maximum.reduceat(relation, start)
    low = np.minimum.reduceat(np.where(relation < 0, len(network.relations), relation), start)
    return np.flatnonzero((high >= 0) & (low < high))
