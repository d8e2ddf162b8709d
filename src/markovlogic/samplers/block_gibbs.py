"""Gibbs sampling of blocks of atoms: cgibbs and acgibbs of [000], and the count-valued chain of ALGORITHMS.md 3.12.

[000] gives each block a selection probability, one less its share of evidence, and does not say what is done with it. Fixed
selection probabilities do not change where a chain ends up ("scan", "lazy"); only readings that put the evidence into the block
do ("clamp", and "bang-bang", the minimiser of the paper's Eq. 5). See ALGORITHMS.md 2.6.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from markovlogic.arrays import Float64, Int64, Words
from markovlogic.guarantee import Guarantee
from markovlogic.networks.blocks import BlockNetwork
from markovlogic.networks.types import TypeNetwork
from markovlogic.restoring import require_generators, require_within
from markovlogic.samplers.base import Sampler, Settings, StepInfo, Units, require_sweeps
from markovlogic.samplers.type_gibbs import TypeGibbsSampler

Alpha = Literal["none", "scan", "lazy", "clamp", "bang-bang"]
CHAINS_A_BATCH = 8
WAYS = ("false", "true", "coins", "density")


@dataclass(frozen=True)
class BlockGibbs(Settings):
    """Settings of the chain over blocks. alpha: what the selection probabilities of [000] do, see the module; "none": nothing."""

    alpha: Alpha = "none"

    @property
    def method(self) -> str:
        """As results name it."""
        return "acgibbs"

    @property
    def chains_per_batch(self) -> int:
        """Chains are walked one after the other, so that cores share them."""
        return CHAINS_A_BATCH

    def build(self, network: BlockNetwork | TypeNetwork, n_chains: int) -> BlockGibbsSampler | TypeGibbsSampler:
        """A sampler for one batch of chains."""
        if isinstance(network, TypeNetwork):
            return TypeGibbsSampler(network, n_chains)
        return BlockGibbsSampler(self, network, n_chains)


class BlockGibbsState(NamedTuple):
    """Everything that the next draw depends on."""

    counts: Int64  # (n_chains, n_blocks)
    value: Float64  # (n_chains, n_blocks) the mean of an open atom given the rest, when the block was updated last
    generator: npt.NDArray[np.uint64]  # (n_chains, 4)
    world: Words  # blocks have no atoms of their own


@dataclass(frozen=True, eq=False)
class BlockGibbsSampler(Sampler):
    """One batch of chains; see `samplers.base.Sampler`."""

    settings: BlockGibbs
    network: BlockNetwork
    n_chains: int

    @property
    def units(self) -> Units:
        """Blocks."""
        return Units(self.network.n_blocks, self.network.of_atom)

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

    def init(self, seed: np.random.SeedSequence, first: int = 0) -> BlockGibbsState:
        """Counts that are far apart."""
        from markovlogic.kernels.random import scalar_generator

        most = self.network.most
        count = np.zeros((self.n_chains, len(most)), np.int64)
        generators = np.empty((self.n_chains, 4), np.uint64)
        for chain, own in enumerate(seed.spawn(self.n_chains)):
            start, moves = own.spawn(2)
            rng = np.random.default_rng(start)
            way = WAYS[(first + chain) % len(WAYS)]
            if way == "true":
                count[chain] = most
            elif way != "false":
                count[chain] = rng.binomial(most, 0.5 if way == "coins" else rng.random())
            generators[chain] = scalar_generator(moves)
        value = np.where(most > 0, count / np.maximum(most, 1), self.network.base)
        return BlockGibbsState(count, np.ascontiguousarray(value), generators, np.zeros(0, np.uint64))

    def starts(self, first: int) -> tuple[str, ...]:
        """A word a chain."""
        return tuple(WAYS[(first + chain) % len(WAYS)] for chain in range(self.n_chains))

    def step(
        self,
        state: BlockGibbsState,
        sweeps: int,
        planes: npt.NDArray[np.uint64] | None = None,
        conditionals: npt.NDArray[np.float32] | None = None,
        *,
        burn_in: bool = False,
    ) -> StepInfo:
        """Update blocks, `sweeps` times over."""
        from markovlogic.kernels import blocks

        require_sweeps(sweeps)
        modes = {"none": blocks.EVERY, "scan": blocks.SCAN, "lazy": blocks.LAZY}
        mode = modes.get(self.settings.alpha, blocks.CLAMP)
        own, scratch, updates = self.network, np.empty((2, blocks.DEGREE)), 0
        if mode == blocks.SCAN and not self._cumulated[-1:].any():
            mode = blocks.EVERY  # nothing is ever selected: there is no evidence to adapt to, or nothing to draw
        for chain in range(self.n_chains):
            for _ in range(sweeps):
                updates += blocks.sweep_blocks(
                    mode,
                    own.alone,
                    own.base,
                    own.step,
                    own.most,
                    own.scale,
                    own.row_start,
                    own.row_literal,
                    own.row_weight,
                    own.linear,
                    own.near_start,
                    own.near_block,
                    own.near_weight,
                    own.block_start,
                    own.block_row,
                    self.alpha,
                    self._cumulated,
                    own.known_true,
                    state.counts[chain],
                    state.value[chain],
                    state.generator[chain],
                    scratch[0],
                    scratch[1],
                )
        return StepInfo(int(updates), {})

    def unit_values(self, state: BlockGibbsState) -> Float64:
        """The mean of an open atom of each block, given the rest."""
        return np.ascontiguousarray(state.value.T)

    def check(self, state: BlockGibbsState) -> None:
        """Counts that blocks can have."""
        require_within(state.counts, 0, np.broadcast_to(self.network.most, state.counts.shape), "counts of blocks")
        if not ((state.value >= 0) & (state.value <= 1)).all():
            raise ValueError("a share lies outside of 0 to 1")
        for generator in state.generator:
            require_generators(generator)

    def guarantee(self, counts: Mapping[str, int]) -> Guarantee:
        """What blocks promise, as long as evidence is not drawn."""
        adapted = self.settings.alpha in ("clamp", "bang-bang") and bool(
            np.any((self.network.evidence > 0) & (self.network.most > 0))
        )
        return Guarantee.UNBOUNDED if adapted else self.network.guarantee
