"""Gibbs sampling on the ground network: each atom, or exclusive group, is drawn from its conditional given all others.

Source: [000] section 2.3, Eq. 2 (the estimator that averages conditionals); [001] section 2.1. Batches of up to 64 chains share
each pass over the network (`kernels.gibbs`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import numpy.typing as npt

from markovlogic.kernels.counters import add_world
from markovlogic.kernels.gibbs.room import Chains, HalfOfChains
from markovlogic.kernels.random import LANES_A_ROUND, moved_on
from markovlogic.methods.sampling.base import CHAINS_PER_BATCH, Sampler, StepInfo, require_sweeps
from markovlogic.methods.sampling.irreducible import Scanning, start_kind, start_words, until_obeyed
from markovlogic.networks.ground import GroundNetwork
from markovlogic.networks.starts import require_worlds
from markovlogic.system.arrays import Words
from markovlogic.system.checkpoint_validation import require_generators

if TYPE_CHECKING:
    from markovlogic.kernels.gibbs.layout import GibbsLayout
    from markovlogic.kernels.gibbs.room import GibbsRoom
    from markovlogic.methods.sampling.base import Together


LONG_FROM = 9  # literals of a clause that is counted; from eight to nine of them rows and counters take the same time
SHARED_FROM = 5000  # atoms; from there on two threads are quicker even where they meet after every sweep
NO_PLANES = np.zeros((0, 8), np.uint64)
NO_CONDITIONALS = np.zeros((0, 0), np.float32)
ONES = np.ones(CHAINS_PER_BATCH, np.float32)


class GibbsState(NamedTuple):
    """Everything that the next sweep depends on."""

    world: Words  # (n_all,)
    generator: npt.NDArray[np.uint64]  # (4, 8) the draws of all chains
    scalar: npt.NDArray[np.uint64]  # (4,) the order of random scan; all draws of a single chain


@dataclass(frozen=True)
class Gibbs(Scanning):
    """Gibbs sampling; on the counting network it becomes a `CountingGibbs`."""

    @property
    def may_scout(self) -> bool:
        """All chains of a word share each pass over the network."""
        return True

    def build(self, network: GroundNetwork, n_chains: int) -> GibbsSampler:
        """A sampler for one batch of 1 to 64 chains."""
        if not 1 <= n_chains <= CHAINS_PER_BATCH:
            raise ValueError(f"a batch has 1 to {CHAINS_PER_BATCH} chains, not {n_chains}")
        return GibbsSampler(self, network, n_chains)


@dataclass(frozen=True, eq=False)
class GibbsSampler(Sampler):
    """One batch of Gibbs chains; see `methods.sampling.base.Sampler`."""

    settings: Gibbs
    network: GroundNetwork
    n_chains: int
    long_from: int = LONG_FROM  # no draw depends on it
    together: Together | None = None  # runs the halves of a batch, nor on this

    @property
    def kernel_modules(self) -> tuple[str, ...]:
        """Modules of `kernels` that `step` needs."""
        if self.n_chains == 1:
            return ("gibbs.single",)
        if self.together is not None:
            return ("gibbs.plain:sweep_half",) if self._is_plain else ("gibbs.sweep:sweep_half",)
        return ("gibbs.plain:sweep_plain",) if self._is_plain else ("gibbs.sweep:sweep_block",)

    @cached_property
    def _is_plain(self) -> bool:
        """Whether there is nothing but short clauses on single atoms, for which there is a smaller kernel."""
        network = self.network
        longest = int(np.diff(network.clause_start).max(initial=0))
        return not network.n_groups and not network.n_hidden and longest < self.long_from

    @cached_property
    def layout(self) -> GibbsLayout:
        """The network as the kernels read it; made when it is first needed."""
        from markovlogic.methods.sampling.gibbs_layout import build_layout

        return build_layout(self.network, self.long_from)

    @cached_property
    def _rooms(self) -> tuple[list[GibbsRoom], list[GibbsRoom]]:
        """Rooms that no step is using, for either half of a batch; threads share the sampler, and each takes one or makes it."""
        return [], []

    def shared(self, together: Together) -> GibbsSampler:
        """Two threads share a batch where that is quicker."""
        if self.n_chains <= CHAINS_PER_BATCH // 2 or self.network.n_atoms < SHARED_FROM:
            return self
        return replace(self, together=together)

    def init(self, seed: np.random.SeedSequence, first: int = 0) -> GibbsState:
        """Start worlds and fresh generators."""
        from markovlogic.kernels.random import lane_generator, scalar_generator

        start, lanes, scalar = seed.spawn(3)
        world = self.network.start_worlds(self.n_chains, start, start_kind(self.settings.start), first)
        return GibbsState(world, lane_generator(lanes), scalar_generator(scalar))

    def starts(self, first: int) -> tuple[str, ...]:
        """Far apart by default."""
        return start_words(self.settings.start, first, self.n_chains)

    def step(
        self,
        state: GibbsState,
        sweeps: int,
        planes: npt.NDArray[np.uint64] | None = None,
        conditionals: npt.NDArray[np.float32] | None = None,
        *,
        burn_in: bool = False,
    ) -> StepInfo:
        """Make `sweeps` sweeps in place; see `methods.sampling.base.Sampler.step`."""
        require_sweeps(sweeps)
        counted = NO_PLANES if planes is None else planes
        recorded = NO_CONDITIONALS if conditionals is None else conditionals
        counts: dict[str, int] = {}
        done = 0
        if self._start_may_break_hard_clauses:
            done, counts = until_obeyed(
                sweeps,
                lambda: self._chains_breaking_hard_clauses(state.world),
                lambda: self.sweep(state, 1, counted, recorded),
            )
        if done < sweeps:
            self.sweep(state, sweeps - done, counted, recorded)
        if conditionals is not None:
            self._record_the_rest(sweeps, conditionals)
        return StepInfo(self.network.n_atoms * self.n_chains * sweeps, counts)

    def sweep(
        self,
        state: GibbsState,
        sweeps: int,
        planes: npt.NDArray[np.uint64] = NO_PLANES,
        conditionals: npt.NDArray[np.float32] = NO_CONDITIONALS,
        beta: npt.NDArray[np.float32] = ONES,
    ) -> None:
        """Make `sweeps` sweeps in place; chain c samples the distribution whose log-probabilities are multiplied by beta[c].

        planes and conditionals: as for `step`, or empty; the conditionals are those of each chain's own distribution. beta: (64,)
        float32, not negative, ones for the network's distribution; hard clauses hold at any.
        """
        from markovlogic.kernels.gibbs.room import Chains

        random_scan = self.settings.scan == "random"
        chains = Chains(state.generator, state.scalar, beta, self.n_chains)
        if self.n_chains == 1:
            from markovlogic.kernels.gibbs.single import sweep_single

            sweep_single(self.layout, state.world, chains, sweeps, random_scan, planes, conditionals)
        elif self.together is None:
            self._sweep_lanes(0, state.world, chains, sweeps, planes, conditionals)
        else:

            def sweep_half(half: int, world: Words, part: Chains, counted: npt.NDArray[np.uint32]) -> None:
                self._sweep_lanes(half, world, part, sweeps, counted, conditionals)

            sweep_halves(sweep_half, self.together, state.world, chains, planes, several=sweeps > 1)

    def _sweep_lanes(
        self,
        half: int,
        world: Words,
        chains: Chains,
        sweeps: int,
        planes: npt.NDArray[np.uint64] | npt.NDArray[np.uint32],
        conditionals: npt.NDArray[np.float32],
    ) -> None:
        """Sweep all chains of a batch, or half of them; halves keep to rooms of their own, whose counters fit their worlds."""
        from markovlogic.kernels.gibbs.room import room_for

        if self._is_plain:
            if self.together is None:
                from markovlogic.kernels.gibbs.plain import sweep_plain as sweep
            else:
                from markovlogic.kernels.gibbs.plain import sweep_half as sweep
        elif self.together is None:
            from markovlogic.kernels.gibbs.sweep import sweep_block as sweep
        else:
            from markovlogic.kernels.gibbs.sweep import sweep_half as sweep
        try:
            room = self._rooms[half].pop()
        except IndexError:
            room = room_for(self.layout)
        sweep(self.layout, room, world, chains, sweeps, self.settings.scan == "random", planes, conditionals)
        self._rooms[half].append(room)

    def _record_the_rest(self, sweeps: int, conditionals: npt.NDArray[np.float32]) -> None:
        """Decided atoms are no sites: their conditional is 0 or 1. Hidden atoms have none of their own."""
        required = np.flatnonzero(self.network.atom_bias[: self.network.n_atoms] == np.inf)
        grouped = np.isin(required, self.network.group_atom)
        conditionals[required[~grouped]] += np.float32(sweeps)

    def check(self, state: GibbsState) -> None:
        """Worlds of the network; hard clauses hold unless the start was free to break them."""
        require_worlds(self.network, state.world, self.n_chains, hard=not self._start_may_break_hard_clauses)
        require_generators(state.generator.T)
        require_generators(state.scalar)

    def concerns(self, counts: dict[str, int]) -> list[str]:
        """Hard clauses that confine single-site moves, or that a start broke."""
        found = self.settings.concern(counts, 'start="satisfying" or --method mcsat')
        if self._confinement:
            found.append(self._confinement)
        return found

    @cached_property
    def _confinement(self) -> str:
        from markovlogic.methods.sampling.irreducible import Reachability, single_site_reach

        reach = single_site_reach(self.network)
        if reach is Reachability.ALL:
            return ""
        can = "cannot reach every possible world" if reach is Reachability.PART else "may not reach every possible world"
        return f"gibbs: hard rules confine the chains: changing one atom at a time {can} from its start; take --method mcsat."

    @cached_property
    def _start_may_break_hard_clauses(self) -> bool:
        decided = np.isinf(self.network.atom_bias[self.network.n_atoms :]).any()
        has_hard = bool(decided) or self.network.n_soft < self.network.n_clauses
        return self.settings.start_is_free and has_hard

    def _chains_breaking_hard_clauses(self, world: Words) -> int:
        from markovlogic.kernels.literals import broken_word

        network = self.network
        word = int(broken_word(network.clause_start, network.clause_literal, network.n_soft, world, self.n_chains))
        # hidden atoms that a hard unit clause decides; open ones are never wrong
        bias = network.atom_bias[network.n_atoms :]
        wrong = np.concatenate([~world[network.n_atoms :][bias == np.inf], world[network.n_atoms :][bias == -np.inf]])
        word |= int(np.bitwise_or.reduce(wrong, initial=0)) & ((1 << self.n_chains) - 1)
        return word.bit_count()


HALF = CHAINS_PER_BATCH // 2
LOW = np.uint64(2**HALF - 1)
NO_HALF_PLANES = np.zeros((0, 8), np.uint32)

Planes = npt.NDArray[np.uint32]  # (n_all, 8)
SweepHalf = Callable[[int, Words, Chains, Planes], None]  # which half, its world, its chains, its planes


def halves_of(chains: Chains) -> tuple[HalfOfChains, HalfOfChains]:
    """Two halves of more than 32 chains; the first moves the generators of the whole on, the second has its own."""
    lower = HalfOfChains(chains.generator, chains.scalar, chains.beta[:HALF], HALF, 0)
    later = moved_on(chains.generator, HALF // LANES_A_ROUND)
    upper = HalfOfChains(later, chains.scalar.copy(), chains.beta[HALF:], chains.n_chains - HALF, HALF)
    return lower, upper


def sweep_halves(
    sweep: SweepHalf, together: Together, world: Words, chains: Chains, planes: npt.NDArray[np.uint64], *, several: bool
) -> None:
    """Sweep both halves at once and join their worlds and planes in place.

    several: whether `sweep` makes more than one sweep. The world after a single one is added to the planes when it is whole,
    which takes less than cutting the planes in two.
    """
    parts = halves_of(chains)
    worlds = [world & LOW, world >> np.uint64(HALF)]
    counted = [NO_HALF_PLANES, NO_HALF_PLANES]
    counting = several and len(planes) > 0

    def of(half: int) -> Callable[[], None]:
        def call() -> None:
            if counting:
                counted[half] = np.empty(planes.shape, np.uint32)
                np.right_shift(planes, np.uint64(HALF * half), out=counted[half], casting="unsafe")  # keeps the lower half
            sweep(half, worlds[half], parts[half], counted[half])

        return call

    together([of(0), of(1)])
    world[:] = worlds[0] | (worlds[1] << np.uint64(HALF))
    if counting:
        planes[:] = counted[1]
        planes <<= np.uint64(HALF)
        planes |= counted[0]
    elif len(planes):
        add_world(planes, world)
