"""Blocked Gibbs on the ground network: blocks of atoms are drawn jointly, and exactly, given all others.

Source: [001] section 2.1 (the propositional baseline of lifted blocked Gibbs); papers.md 3.13, BG. Blocks of bounded
elimination width are grown where couplings are strongest, or given by the user; hard clauses and definitions inside of a block
are obeyed by the joint draw, so it moves where single atoms cannot.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from markovlogic.errors import InputError
from markovlogic.methods.sampling.atom_blocks import AtomBlocks, Variables, variables_of
from markovlogic.methods.sampling.base import CHAINS_PER_BATCH, SWEEPS_PER_STEP, Sampler, Settings, StepInfo, require_sweeps
from markovlogic.methods.sampling.block_plan import MOST_BITS, Plan, Ties, given, grown, site_blocks, ties_of
from markovlogic.methods.sampling.block_program import Program, SweepScratch, compiled
from markovlogic.methods.sampling.irreducible import Start, check_start, start_kind, start_words
from markovlogic.networks.components import connected_parts
from markovlogic.networks.ground import GroundNetwork
from markovlogic.networks.hard_part import hard_part
from markovlogic.networks.starts import require_worlds
from markovlogic.system.arrays import Words
from markovlogic.system.checkpoint_validation import require_generators, require_within


class BlockedState(NamedTuple):
    """Everything that the next sweep depends on."""

    world: Words  # (n_all,)
    generator: npt.NDArray[np.uint64]  # (n_chains, 4) one stream a chain
    done: npt.NDArray[np.int64]  # (1,) sweeps made, which determine the next division


@dataclass(frozen=True)
class Blocked(Settings):
    """Settings of blocked Gibbs.

    width: elimination width of grown blocks. No table has more than 2^(width + 1) entries, except that of one large
        exclusive group.
    blocks: "auto" grows the blocks. From Python also lists or arrays of atom numbers; atoms in no list are drawn alone.
    divisions: number of different divisions into grown blocks. They take turns, one sweep each.
    start: "auto" starts chains far apart, "satisfying" from fair coins. Both obey the hard rules.
    """

    width: int = 4
    blocks: Literal["auto"] | AtomBlocks | Sequence[Any] = "auto"
    divisions: int = 2
    start: Start = "auto"

    def __post_init__(self) -> None:
        check_start("Blocked", self.start, obeying=True)
        for name, value, most in (("width", self.width, MOST_BITS - 1), ("divisions", self.divisions, 16)):
            if not isinstance(value, int | np.integer) or isinstance(value, bool) or not 1 <= value <= most:
                raise InputError(f"Blocked: {name} is {value!r}, expected a whole number from 1 to {most}")
        if isinstance(self.blocks, str):
            if self.blocks != "auto":
                raise InputError(f'Blocked: blocks is {self.blocks!r}, expected "auto" or lists of atom numbers')
        elif not isinstance(self.blocks, AtomBlocks):
            try:
                lists = list(self.blocks)
            except TypeError:
                raise InputError(f'Blocked: blocks is {self.blocks!r}, expected "auto" or lists of atom numbers') from None
            object.__setattr__(self, "blocks", AtomBlocks.of(lists))

    @property
    def method(self) -> str:
        """The method's name on the command line."""
        return "blocked"

    @property
    def has_conditionals(self) -> bool:
        """A block's elimination gives its marginals too."""
        return True

    @property
    def chains_per_batch(self) -> int:
        """Eight lanes are what the kernel works on at once; more chains go to other cores."""
        return 8

    def build(self, network: GroundNetwork, n_chains: int) -> BlockedSampler:
        """A sampler for one batch of 1 to 64 chains."""
        if not 1 <= n_chains <= CHAINS_PER_BATCH:
            raise ValueError(f"a batch has 1 to {CHAINS_PER_BATCH} chains, not {n_chains}")
        sampler = BlockedSampler(self, network, n_chains)
        _ = sampler.program  # what does not fit is refused now, and no two threads make it
        return sampler


@dataclass(frozen=True, eq=False)
class BlockedSampler(Sampler):
    """One batch of blocked chains; see `methods.sampling.base.Sampler`."""

    settings: Blocked
    network: GroundNetwork
    n_chains: int

    @property
    def kernel_modules(self) -> tuple[str, ...]:
        """Modules of `kernels` that `step` needs."""
        return ("blocked",)

    @cached_property
    def variables(self) -> Variables:
        """The network's sites and hidden atoms."""
        return variables_of(self.network)

    @cached_property
    def ties(self) -> Ties:
        """What ties the variables."""
        return ties_of(self.variables)

    @cached_property
    def plans(self) -> list[Plan]:
        """The divisions into blocks that take turns."""
        blocks = self.settings.blocks
        if isinstance(blocks, AtomBlocks):
            return [given(self.variables, self.ties, blocks)]
        return grown(self.variables, self.ties, int(self.settings.width), int(self.settings.divisions))

    @cached_property
    def program(self) -> Program:
        """What the kernel interprets."""
        return compiled(self.variables, self.ties, self.plans)

    def init(self, seed: np.random.SeedSequence, first: int = 0) -> BlockedState:
        """Start worlds that obey every hard clause, and fresh generators."""
        from markovlogic.kernels.random import scalar_generator

        chains, start = seed.spawn(2)
        generator = np.stack([scalar_generator(child) for child in chains.spawn(self.n_chains)])
        return BlockedState(
            self.network.start_worlds(self.n_chains, start, start_kind(self.settings.start), first),
            generator,
            np.zeros(1, np.int64),
        )

    def starts(self, first: int) -> tuple[str, ...]:
        """Far apart by default."""
        return start_words(self.settings.start, first, self.n_chains)

    def step(
        self,
        state: BlockedState,
        sweeps: int,
        planes: npt.NDArray[np.uint64] | None = None,
        conditionals: npt.NDArray[np.float32] | None = None,
        *,
        burn_in: bool = False,
    ) -> StepInfo:
        """Make `sweeps` sweeps in place; see `methods.sampling.base.Sampler.step`.

        A conditional is P(atom true | all atoms outside of its block), as it was when the block was drawn.
        """
        from markovlogic.kernels.blocked import sweep_blocks

        require_sweeps(sweeps)
        counted = np.zeros((0, 8), np.uint64) if planes is None else planes
        recorded = np.zeros((0, 0), np.float32) if conditionals is None else conditionals
        scratch = SweepScratch.of(self.program)  # one a call: threads share the sampler
        impossible = sweep_blocks(self.program, scratch, state.world, state.generator, state.done, sweeps, counted, recorded)
        if conditionals is not None:
            conditionals[self._required] += np.float32(sweeps)
        return StepInfo(self.network.n_atoms * self.n_chains * sweeps, {"impossible_blocks": int(impossible)})

    @cached_property
    def _required(self) -> npt.NDArray[np.int64]:
        """Atoms that a hard unit clause makes true: they are no sites, their conditional is 1."""
        decided = (self.variables.variable_of < 0) & (self.network.atom_bias == np.inf)
        return np.flatnonzero(decided)

    def check(self, state: BlockedState) -> None:
        """Worlds that are possible; `done` is the number of the next division, whatever its size."""
        require_worlds(self.network, state.world, self.n_chains)
        require_generators(state.generator)
        require_within(state.done, 0, np.iinfo(np.int64).max - SWEEPS_PER_STEP, "sweeps done")

    def concerns(self, counts: dict[str, int]) -> list[str]:
        """Hard clauses between blocks that may confine the chains."""
        found = []
        if counts.get("impossible_blocks", 0):
            found.append(
                f"blocked: {counts['impossible_blocks']} times the world around a block left it no possible state, and it was "
                "not changed; the chains did not start from a possible world. Take --method mcsat."
            )
        if self._may_be_confined:
            found.append(
                "blocked: hard rules reach across the blocks and may confine the chains to a part of the possible worlds; take "
                "--method mcsat, or Blocked(blocks=...) with what the hard rules tie together in one block."
            )
        return found

    @cached_property
    def _may_be_confined(self) -> bool:
        """Whether it is not known that the blocks' moves reach every possible world.

        They do where single-site moves would, since a block can make each of those; and where all that a hard clause ties
        together is inside one block of some division, for each connected set of hard clauses.
        """
        from markovlogic.methods.sampling.irreducible import Reachability, single_site_reach

        part = hard_part(self.network)
        if part.is_empty or single_site_reach(self.network) is Reachability.ALL:
            return False
        n_rows = len(part.clause_start) - 1
        atom = part.clause_literal >> 1
        clause = np.repeat(np.arange(n_rows), np.diff(part.clause_start))
        site = self.variables.variable_of[atom]
        tied = site >= 0
        n = n_rows + len(self.variables.bits)
        count, label = connected_parts(n, clause[tied], n_rows + site[tied])
        label = label[n_rows : n_rows + self.variables.n_sites]
        held = np.zeros(count, bool)
        for plan in self.plans:
            block = site_blocks(self.variables, plan).astype(np.int64)
            low, high = np.full(count, len(block) + 1), np.full(count, -1)
            np.minimum.at(low, label, block)
            np.maximum.at(high, label, block)
            held |= low >= high
        return not bool(held.all())
