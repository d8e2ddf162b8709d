"""Counts of true atoms in blocks as moves of lifted Metropolis-Hastings: delayed acceptance (`kernels.surrogate`).

The blocks are those of classes of nearly interchangeable constants, and their network has the rules of the problem but for hard
ones and for those with a quantifier inside: these only judge.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np
import numpy.typing as npt

from markovlogic.guarantee import Guarantee
from markovlogic.methods.sampling.base import Sampler, StepInfo, Units, require_sweeps
from markovlogic.methods.sampling.exchanges import surroundings, work_for
from markovlogic.networks.counts import BlockNetwork, CountNetwork
from markovlogic.networks.ground import GroundNetwork
from markovlogic.problem import Problem
from markovlogic.symmetry.base import ConstantClasses
from markovlogic.symmetry.groups import NO_MEMORY
from markovlogic.system.arrays import Float64, Int32, Int64, Words, frozen, offsets
from markovlogic.system.checkpoint_validation import require_generators, require_within

if TYPE_CHECKING:
    from markovlogic.kernels.exchange import Surroundings
    from markovlogic.kernels.surrogate import Surrogate


SIZES = ((1, 1), (1, 8), (1, 64), (8, 64))  # blocks and atoms of each that burn-in tries at a time


class CountArm(NamedTuple):
    """So many atoms of so many blocks at a time."""

    about: str
    source: str
    level: int
    n_steps: int
    most: int
    n_moves: int  # a sweep

    @property
    def description(self) -> str:
        """In words."""
        return f"{self.source}, {self.most} atoms of {self.n_steps} at a time"


class CountMoves:
    """Atoms of blocks are redrawn. rounds: whole worlds at once, by so many sweeps over the blocks; None: a few atoms."""

    kernel_module = "surrogate"

    def __init__(
        self, problem: Problem, network: GroundNetwork, levels: Sequence[ConstantClasses], *, tune: bool, rounds: int | None
    ) -> None:
        self.problem, self.network, self.levels, self.tune, self.rounds = problem, network, levels, tune, rounds

    @cached_property
    def surroundings(self) -> Surroundings:
        """The true network as the kernel reads it."""
        return surroundings(self.network)

    @cached_property
    def surrogates(self) -> tuple[Surrogate, ...]:
        """One for each level, with the free atoms of each block."""
        from markovlogic.compression.proposals import count_network

        return tuple(surrogate_of(count_network(self.problem, level), self.network) for level in self.levels)

    @cached_property
    def arms(self) -> tuple[tuple[CountArm, ...], ...]:
        """One group: every level in all sizes, smallest first."""
        found = []
        for number, (own, level) in enumerate(zip(self.surrogates, self.levels, strict=True)):
            sizes = np.diff(own.member_start)
            n, blocks = len(own.site), int(np.count_nonzero(sizes))
            if not n:
                continue
            if self.rounds is not None:
                found.append(CountArm("worlds", level.source, number, self.rounds * blocks, int(sizes.max()), 1))
                continue
            for n_steps, most in SIZES if self.tune else SIZES[:1]:
                drawn = n_steps * min(most, -(-n // blocks))
                if (n_steps, most) == SIZES[0] or drawn * 2 <= n:
                    found.append(CountArm("blocks", level.source, number, n_steps, most, max(1, n // drawn)))
        return (tuple(found),) if found else ()

    def memory(self, rng: np.random.Generator) -> Int32:
        """Counts begin anew with every sweep."""
        return NO_MEMORY.copy()

    def room(self, memory: Int32) -> Any:
        """Scratch arrays: of the true network, and of each level's blocks."""
        from markovlogic.kernels.blocks import DEGREE
        from markovlogic.kernels.surrogate import Room

        steps = max((arm.n_steps for arms in self.arms for arm in arms), default=1)
        rooms = []
        for own in self.surrogates:
            n, largest = len(own.base), max(1, int(np.diff(own.member_start).max(initial=0)))
            rooms.append(
                Room(
                    here=np.zeros((n, 64)),
                    there=np.zeros((n, 64)),
                    slope=np.zeros(64),
                    change=np.zeros(64),
                    touched=np.zeros(steps, np.int32),
                    chosen=np.zeros(largest, np.int32),
                    order=np.zeros(largest, np.int32),
                    logs=np.log(np.maximum(np.arange(largest + 1.0), 1.0)),
                    law=np.zeros(largest + 1),
                    loss=np.zeros(DEGREE),
                    one=np.zeros(DEGREE),
                )
            )
        return work_for(self.surroundings, 0, 0), rooms

    def begin(self, room: Any, world: Words, n_chains: int) -> None:
        """The twin equals the world; counts wait until an arm needs them."""
        room[0].twin[:] = world

    def make(self, arm: CountArm, room: Any, world: Words, n_chains: int, generator: npt.NDArray[Any], totals: Int64) -> None:
        """Redraw and judge."""
        from markovlogic.kernels.surrogate import count_blocks, count_moves

        own, (work, rooms) = self.surrogates[arm.level], room
        count_blocks(own, world, n_chains, rooms[arm.level])
        count_moves(
            own,
            self.surroundings,
            arm.n_steps,
            arm.most,
            arm.n_moves,
            world,
            work,
            rooms[arm.level],
            n_chains,
            generator,
            totals,
        )


def surrogate_of(blocks: BlockNetwork, network: GroundNetwork) -> Surrogate:
    """A network of blocks as the kernel reads it; atoms that a hard unit clause decides are no members."""
    from markovlogic.kernels.surrogate import Surrogate

    free = np.flatnonzero(np.isfinite(network.atom_bias[: network.n_atoms]))
    block = blocks.of_atom[free]
    order = np.argsort(block, kind="stable")
    made = Surrogate(
        base=blocks.base,
        step=blocks.step,
        linear=blocks.linear,
        near_start=blocks.near_start,
        near_block=blocks.near_block,
        near_weight=blocks.near_weight,
        row_start=blocks.row_start,
        row_literal=blocks.row_literal,
        row_weight=blocks.row_weight,
        block_start=blocks.block_start,
        block_row=blocks.block_row,
        of_atom=blocks.of_atom,
        member_start=offsets(np.bincount(block, minlength=blocks.n_blocks)),
        member=free[order].astype(np.int32),
        site=block[order].astype(np.int32),
    )
    return frozen(made)


FRESH = 64  # sweeps after which fields are added up anew
DRIFT = 1e-6  # relative: no rounding makes so much of a difference in so few sweeps


class CountState(NamedTuple):
    """Everything that the next draw depends on."""

    counts: Int64  # (n_chains, n_counts)
    value: Float64  # (n_chains, n_counts) the chance of one member given the rest, when its count was drawn last
    field: Float64  # (n_chains, n_counts)
    seen: Float64  # (n_chains, n_counts) the field that a chance was computed from last; nan: it may be any
    age: Int64  # (n_chains,) sweeps since the fields were added up
    generator: npt.NDArray[np.uint64]  # (n_chains, 4)
    world: Words  # counts have no atoms of their own


@dataclass(frozen=True, eq=False)
class CountSampler(Sampler):
    """One batch of chains; see `methods.sampling.base.Sampler`."""

    network: CountNetwork
    n_chains: int
    start_kinds: ClassVar[tuple[str, ...]] = ()  # which chains take in turn

    @abstractmethod
    def start(self, kind: str, rng: np.random.Generator) -> Int64:
        """Counts of one chain to start from."""

    @abstractmethod
    def shares(self, counts: Int64) -> Float64:
        """What counts are in the place of chances, before the first sweep."""

    @abstractmethod
    def field(self, counts: Int64) -> Float64:
        """The fields of one chain's counts, from the definition."""

    @abstractmethod
    def sweep(self, state: CountState, chain: int) -> int:
        """One sweep of one chain; gives the number of updates."""

    @property
    def units(self) -> Units:
        """The units of the network."""
        return Units(self.network.n_units, self.network.of_atom)

    def init(self, seed: np.random.SeedSequence, first: int = 0) -> CountState:
        """Counts that are far apart."""
        from markovlogic.kernels.random import scalar_generator

        counts = np.zeros((self.n_chains, self.network.n_counts), np.int64)
        generators = np.empty((self.n_chains, 4), np.uint64)
        for chain, (own, kind) in enumerate(zip(seed.spawn(self.n_chains), self.starts(first), strict=True)):
            start, moves = own.spawn(2)
            counts[chain] = self.start(kind, np.random.default_rng(start))
            generators[chain] = scalar_generator(moves)
        field = np.zeros(counts.shape)
        age = np.full(self.n_chains, FRESH, np.int64)
        return CountState(
            counts, self.shares(counts), field, np.full(counts.shape, np.nan), age, generators, np.zeros(0, np.uint64)
        )

    def starts(self, first: int) -> tuple[str, ...]:
        """A word a chain."""
        return tuple(self.start_kinds[(first + chain) % len(self.start_kinds)] for chain in range(self.n_chains))

    def step(self, state: Any, sweeps: int, planes: Any = None, conditionals: Any = None, *, burn_in: bool = False) -> StepInfo:
        """Draw all counts, `sweeps` times over."""
        require_sweeps(sweeps)
        updates = 0
        for chain in range(self.n_chains):
            for _ in range(sweeps):
                if state.age[chain] >= FRESH:
                    state.field[chain] = self.field(state.counts[chain])
                    state.age[chain] = 0
                updates += self.sweep(state, chain)
                state.age[chain] += 1
        return StepInfo(int(updates), {})

    def check(self, state: CountState) -> None:
        """Chances, ages and generators that can be, and fields that belong to the counts."""
        require_within(state.age, 0, FRESH, "ages of fields")
        if not ((state.value >= 0) & (state.value <= 1 + 1e-9)).all():
            raise ValueError("a chance lies outside of 0 to 1")
        for chain in np.flatnonzero(state.age < FRESH).tolist():
            field = self.field(state.counts[chain])
            if not np.allclose(state.field[chain], field, rtol=DRIFT, atol=DRIFT * (1.0 + np.abs(field).max(initial=0.0))):
                raise ValueError("fields do not belong to their counts")
        for generator in state.generator:
            require_generators(generator)

    def guarantee(self, counts: Mapping[str, int]) -> Guarantee:
        """What the network promises."""
        return self.network.guarantee
