"""The orbital Markov chain: after each sweep of a base chain, a random symmetry of the model moves the world inside its orbit.

Source: Niepert (2012), as [003] and [004] cite it; papers.md 3.7. A symmetry leaves the target invariant and is drawn
independently of the world, so the target stays invariant whatever distribution it is drawn from; a uniform one makes the world
uniform over its orbit at once, so that only the mixing between orbits is left to the base chain.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from markovlogic.errors import InputError
from markovlogic.guarantee import Guarantee
from markovlogic.methods.sampling.base import Sampler, Settings, StepInfo, Target, require_sweeps, total_counts
from markovlogic.methods.sampling.gibbs import Gibbs
from markovlogic.system.arrays import Words
from markovlogic.system.checkpoint_validation import require_within

if TYPE_CHECKING:
    from markovlogic.networks.ground import GroundNetwork
    from markovlogic.symmetry.base import AtomGroup


@dataclass(frozen=True)
class Orbital(Settings):
    """Settings of the orbital chain.

    base: the chain between the symmetric moves; Python only: `Orbital(base=MCSAT())`.
    group: the symmetries of model and evidence; `bind` finds them.
    """

    base: Settings = field(default_factory=Gibbs)
    group: AtomGroup | None = field(default=None, repr=False, compare=False)
    found: tuple[str, ...] = field(default=(), repr=False, compare=False)  # notes of the search

    @property
    def method(self) -> str:
        """The method's name on the command line."""
        return "orbital"

    @property
    def chains_per_batch(self) -> int:
        """As many as the base chain wants."""
        return self.base.chains_per_batch

    @property
    def has_conditionals(self) -> bool:
        """As the base chain."""
        return self.base.has_conditionals

    @property
    def notes(self) -> tuple[str, ...]:
        """Notes of the search for symmetries."""
        return self.found

    @property
    def symmetries(self) -> str:
        """The orbits of the group."""
        return "" if self.group is None else self.group.orbits().words

    @property
    def moves_by_symmetry(self) -> bool:
        """That is what it does."""
        return True

    def bind(self, target: Target) -> Orbital:
        """The same settings with the symmetries of a problem, unless a group was given."""
        base = self.base.bind(target)
        if self.group is not None:
            return replace(self, base=base)
        found = target.symmetry.for_moves
        notes = found.notes
        if not found.moves_something:
            notes = (*notes, f"no symmetries were found, so {self.method} is its base chain")
        return replace(self, base=base, group=found.group, found=notes)

    def build(self, network: GroundNetwork, n_chains: int) -> OrbitalSampler:
        """A sampler for one batch of 1 to 64 chains."""
        if self.group is None:
            raise InputError(
                "orbital moves need the symmetries of the problem", hint="give them: Orbital(group=RenamingGroup(…))"
            )
        if self.group.n_atoms != network.n_atoms:
            raise ValueError(f"a group on {self.group.n_atoms} atoms does not fit a network of {network.n_atoms}")
        return OrbitalSampler(self.base.build(network, n_chains), network, self.group, n_chains)


class OrbitalState(NamedTuple):
    """The base chain's state, and what the next symmetry depends on."""

    base: Any
    key: Words  # (4,) of the symmetries, which are numbered by sweep
    moves: Words  # (1,) symmetries drawn so far
    memory: npt.NDArray[np.int32]  # of the walks in the group, empty where it is sampled directly

    @property
    def world(self) -> Words:
        """The base chain's world is ours."""
        return self.base.world  # type: ignore[no-any-return]


@dataclass(frozen=True, eq=False)
class OrbitalSampler(Sampler):
    """One batch of orbital chains; see `methods.sampling.base.Sampler`.

    All chains of a batch get the same symmetry, so that moving 64 worlds is one permutation of words. Each chain is valid, since
    the symmetry does not depend on its world; and chains stay uncorrelated: given all symmetries drawn, the chains are
    independent, and in equilibrium each has the target as its law whatever they were, so that conditional means do not vary.
    """

    base: Sampler
    network: GroundNetwork
    group: AtomGroup
    n_chains: int

    @property
    def kernel_modules(self) -> tuple[str, ...]:
        """Modules of `kernels` that `step` needs."""
        return (*self.base.kernel_modules, "orbital")

    def init(self, seed: np.random.SeedSequence, first: int = 0) -> OrbitalState:
        """The base chain's start, and a key for the symmetries: they are numbered by sweep, so the state is a key and a count."""
        base_seed, own = seed.spawn(2)
        state = self.base.init(base_seed, first)
        key = own.generate_state(4, np.uint32).astype(np.uint64)
        memory = self.group.memory(np.random.default_rng(own.spawn(1)[0]))
        return OrbitalState(state, key, np.zeros(1, np.uint64), memory)

    def starts(self, first: int) -> tuple[str, ...]:
        """As the base chain."""
        return self.base.starts(first)

    def step(
        self,
        state: OrbitalState,
        sweeps: int,
        planes: npt.NDArray[np.uint64] | None = None,
        conditionals: npt.NDArray[np.float32] | None = None,
        *,
        burn_in: bool = False,
    ) -> StepInfo:
        """Make `sweeps` sweeps of the base chain, each followed by a symmetry; a draw is the world after both."""
        from markovlogic.kernels.counters import add_world
        from markovlogic.kernels.orbital import move_worlds

        require_sweeps(sweeps)
        network, world = self.network, state.world
        before = np.empty(network.n_atoms, np.uint64)
        done: list[StepInfo] = []
        for _ in range(sweeps):
            done.append(self.base.step(state.base, 1, None, conditionals, burn_in=burn_in))
            image = self._element(state)
            move_worlds(world, before, image, network.definition_start, network.definition_literal, self.n_chains)
            if planes is not None:
                add_world(planes, world)
        return StepInfo(sum(info.updates for info in done), total_counts([info.counts for info in done]))

    def _element(self, state: OrbitalState) -> npt.NDArray[np.int32]:
        """The next symmetry as literals, (n_atoms,): where each atom's value goes, and whether it is negated on the way.

        The generator is made of key and count, so that there is no more state than that and the group's own.
        """
        rng = np.random.default_rng([*state.key.tolist(), int(state.moves[0])])
        state.moves[0] += np.uint64(1)
        return self.group.next_literals(rng, state.memory)

    def check(self, state: OrbitalState) -> None:
        """The base chain's own, and the group's."""
        self.base.check(state.base)
        require_within(state.key, 0, np.iinfo(np.uint32).max, "key of the symmetries")
        self.group.check(state.memory)

    def guarantee(self, counts: dict[str, int]) -> Guarantee:
        """Symmetries keep what the base chain promises."""
        return self.base.guarantee(counts)

    def concerns(self, counts: dict[str, int]) -> list[str]:
        """Those of the base chain."""
        return self.base.concerns(counts)
