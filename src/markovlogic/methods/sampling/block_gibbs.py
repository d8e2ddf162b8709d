"""Gibbs sampling of blocks of atoms: cgibbs and acgibbs of [000], and the count-valued chain of papers.md 3.12.

[000] gives each block a selection probability, one less its share of evidence, and does not state its use. Fixed
selection probabilities do not change where a chain ends up ("scan", "lazy"); only readings that put the evidence into the block
do ("clamp", and "bang-bang", the minimiser of the paper's Eq. 5). See papers.md 2.6.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from dataclasses import field as of_default
from functools import cached_property
from typing import Literal

import numpy as np

from markovlogic.guarantee import Guarantee
from markovlogic.methods.sampling.base import Settings
from markovlogic.methods.sampling.count_moves import DRIFT, CountSampler, CountState
from markovlogic.networks.counts import BlockNetwork, TypeNetwork
from markovlogic.system.arrays import Float64, Int64
from markovlogic.system.checkpoint_validation import require_within


@dataclass(frozen=True, eq=False)
class TypeGibbsSampler(CountSampler):
    """Counts are of cells, and the field of a cell is what an object in it weighs."""

    network: TypeNetwork
    start_kinds = ("first", "last", "even", "density")

    @property
    def kernel_modules(self) -> tuple[str, ...]:
        """Modules of `kernels` that `step` needs."""
        return ("types",)

    def start(self, kind: str, rng: np.random.Generator) -> Int64:
        """All objects in the first or the last cell of their class, or spread."""
        own = self.network
        counts = np.zeros(own.n_cells, np.int64)
        for number, size in enumerate(own.class_size):
            low, high = own.class_start[number], own.class_start[number + 1]
            share = rng.dirichlet(np.ones(high - low)) if kind == "density" else np.full(high - low, 1.0 / (high - low))
            if kind in ("first", "last"):
                counts[low if kind == "first" else high - 1] = size
            else:
                counts[low:high] = rng.multinomial(size, share)
        return counts

    def shares(self, counts: Int64) -> Float64:
        """Of the objects of a class."""
        return counts / np.repeat(self.network.class_size, np.diff(self.network.class_start))

    def field(self, counts: Int64) -> Float64:
        """What an object would weigh in each cell."""
        return np.asarray(self.network.cell_weight + counts @ self.network.pair, np.float64)

    def sweep(self, state: CountState, chain: int) -> int:
        """Draw all objects."""
        from markovlogic.kernels.types import sweep_types

        own = self.network
        return sweep_types(  # type: ignore[no-any-return]
            own.class_start,
            own.class_size,
            own.coupled,
            own.pair,
            state.counts[chain],
            state.field[chain],
            state.value[chain],
            np.empty(own.n_cells),
            state.generator[chain],
        )

    def unit_values(self, state: CountState) -> Float64:
        """Means of single objects' atoms from chances, of pairs' atoms from counts."""
        own = self.network
        one, other = own.link_cell[:, 0], own.link_cell[:, 1]
        pairs = state.counts[:, one] * (state.counts[:, other] - (one == other))
        return own.unit_means(state.value, pairs)

    def check(self, state: CountState) -> None:
        """Every object is in one cell of its class."""
        own = self.network
        sums = np.add.reduceat(state.counts, own.class_start[:-1], axis=1) if own.n_cells else state.counts
        if (state.counts < 0).any() or (own.n_cells and (sums != own.class_size).any()):
            raise ValueError("counts of cells do not add up to the objects of their class")
        if not np.isnan(state.seen).all():
            raise ValueError("chances of cells are computed anew in every sweep")
        super().check(state)


Alpha = Literal["none", "scan", "lazy", "clamp", "bang-bang"]
CHAINS_A_BATCH = 8


@dataclass(frozen=True)
class BlockGibbs(Settings):
    """Settings of the chain over blocks. alpha: what the selection probabilities of [000] do, see the module; "none": nothing."""

    alpha: Alpha = "none"

    @property
    def method(self) -> str:
        """As results name it."""
        return "gibbs"

    @property
    def chains_per_batch(self) -> int:
        """Chains are walked one after the other, so that cores share them."""
        return CHAINS_A_BATCH

    def build(self, network: BlockNetwork | TypeNetwork, n_chains: int) -> CountSampler:
        """A sampler for one batch of chains."""
        if isinstance(network, TypeNetwork):
            return TypeGibbsSampler(network, n_chains)
        return BlockGibbsSampler(network, n_chains, self)


@dataclass(frozen=True, eq=False)
class BlockGibbsSampler(CountSampler):
    """Counts are of blocks, and the field of a block is what clauses of one block and of two lose by its share."""

    network: BlockNetwork
    settings: BlockGibbs = of_default(default_factory=BlockGibbs)
    start_kinds = ("false", "true", "coins", "density")

    @property
    def kernel_modules(self) -> tuple[str, ...]:
        """Modules of `kernels` that `step` needs."""
        return ("blocks",)

    @cached_property
    def alpha(self) -> Float64:
        """(n_blocks,) the probability with which a block is updated."""
        share = self.network.evidence
        if self.settings.alpha == "bang-bang":
            return (share < 0.5).astype(np.float64)
        return np.asarray(1.0 - share, np.float64)

    @cached_property
    def _cumulated(self) -> Float64:
        return np.cumsum(np.where(self.network.most > 0, self.alpha, 0.0))

    @cached_property
    def _logs(self) -> Float64:
        """Logarithms of the numbers that a count may be."""
        return np.asarray(np.log(np.maximum(np.arange(int(self.network.most.max(initial=0)) + 1.0), 1.0)))

    @cached_property
    def _mode(self) -> int:
        """Which blocks a sweep updates, as the kernel has it."""
        from markovlogic.kernels import blocks

        modes = {"none": blocks.EVERY, "scan": blocks.SCAN, "lazy": blocks.LAZY}
        mode = modes.get(self.settings.alpha, blocks.CLAMP)
        if mode == blocks.SCAN and not self._cumulated[-1:].any():
            return blocks.EVERY  # nothing is ever selected: there is no evidence to adapt to, or nothing to draw
        return mode

    def start(self, kind: str, rng: np.random.Generator) -> Int64:
        """No atom true, all of them, or some."""
        most = self.network.most
        if kind in ("false", "true"):
            return np.asarray(most * (kind == "true"), np.int64)
        return np.asarray(rng.binomial(most, 0.5 if kind == "coins" else rng.random()), np.int64)

    def shares(self, counts: Int64) -> Float64:
        """Of the open atoms of a block; of a known one, of all its atoms."""
        most = self.network.most
        return np.where(most > 0, counts / np.maximum(most, 1), self.network.base)

    def field(self, counts: Int64) -> Float64:
        """What is lost for each unit of a block's share, but by long rows."""
        from markovlogic.kernels.blocks import block_fields

        own, made = self.network, np.empty(self.network.n_blocks)
        block_fields(own.base, own.step, own.linear, own.near_start, own.near_block, own.near_weight, counts, made)
        return made

    def sweep(self, state: CountState, chain: int) -> int:
        """Update blocks."""
        from markovlogic.kernels import blocks

        own, scratch = self.network, np.empty((2, blocks.DEGREE))
        return blocks.sweep_blocks(  # type: ignore[no-any-return]
            self._mode,
            own.alone,
            own.base,
            own.step,
            own.most,
            own.scale,
            own.row_start,
            own.row_literal,
            own.row_weight,
            own.near_start,
            own.near_block,
            own.near_weight,
            own.block_start,
            own.block_row,
            self.alpha,
            self._cumulated,
            own.known_true,
            state.counts[chain][:, None],
            state.value[chain],
            state.field[chain],
            state.seen[chain],
            state.generator[chain],
            scratch[0],
            scratch[1],
            self._logs,
            np.empty(len(self._logs)),
        )

    def unit_values(self, state: CountState) -> Float64:
        """The mean of an open atom of each block, given the rest; of atoms that were summed out too."""
        if not self.network.n_summed:
            return np.ascontiguousarray(state.value.T)
        return np.concatenate([state.value.T, np.clip(self.network.summed_chances(state.counts), 0.0, 1.0).T])

    def check(self, state: CountState) -> None:
        """Counts that blocks can have, and chances that follow from their fields."""
        own = self.network
        require_within(state.counts, 0, np.broadcast_to(own.most, state.counts.shape), "counts of blocks")
        short = (own.block_start[1:] == own.block_start[:-1]) & (own.most > 0) & (not own.alone)
        with np.errstate(over="ignore"):
            chance = 1.0 / (1.0 + np.exp(own.scale * own.step * state.seen))
        if not (np.isnan(state.seen) | (short & (np.abs(chance - state.value) <= DRIFT))).all():
            raise ValueError("chances of blocks do not belong to the fields that they were computed from")
        super().check(state)

    def guarantee(self, counts: Mapping[str, int]) -> Guarantee:
        """What blocks promise, as long as evidence is not drawn."""
        adapted = self.settings.alpha in ("clamp", "bang-bang") and bool(
            np.any((self.network.evidence > 0) & (self.network.most > 0))
        )
        return Guarantee.UNBOUNDED if adapted else self.network.guarantee
