"""What the orbit estimator counts in every draw: for each orbit that the query meets, how many of its members hold.

A *pool* is an orbit of atoms with two or more members, or the orbit of an event. The Rao-Blackwell value of a draw is the share
of the pool that holds ([003] Eq. 2 and Lemma 3); its average over draws is the estimate for every member. Atoms and events that
are alone in their orbit stay with the ordinary tallies. Known atoms are in no orbit: nothing is averaged over evidence.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from markovlogic.estimation.diagnostics import Series
from markovlogic.estimation.estimator import NAMED, Estimator
from markovlogic.estimation.slots import SlotClock, slots_for
from markovlogic.estimation.substitutions import (
    LISTED_READS,
    Conjunctions,
    Count,
    CubeCount,
    DrawnCount,
    ListedCount,
    MergedCount,
    SummedCount,
    count_of,
    pattern_of,
    sequence_orbit,
)
from markovlogic.estimation.tallies import Cubes, Saved
from markovlogic.symmetry.groups import RenamingGroup
from markovlogic.system.arrays import Float64, Int32, Int64, Pickled, Words, each_once, offsets, short_digest
from markovlogic.system.checkpoint_validation import Restored

if TYPE_CHECKING:
    from markovlogic.symmetry.base import AtomGroup
    from markovlogic.symmetry.find import Symmetries


SUBSTITUTION_STREAM = 1 << 30  # keeps the random substitutions apart from the chains, whose streams are numbered from 0


@dataclass(frozen=True, eq=False)
class OrbitPools(Pickled):
    """The pools that a query needs, for chains of any network whose first atoms are the problem's open atoms."""

    query_atoms: Int32
    atom_pool: Int32  # (n_query,) pool of each query atom, -1 where it is alone in its orbit
    member_start: Int64  # (n_pools + 1,)
    member: Int32  # literals of each pool, 2·atom + sign; negative ones where a symmetry exchanges values
    event_count: tuple[Count | None, ...]  # for each event how its orbit is counted, None where it is alone
    source: str

    @property
    def words(self) -> str:
        """What distinguishes these pools from others: sums over some must not be divided by the sizes of others."""
        digest = short_digest(self.atom_pool, self.member_start, self.member, self.size)
        return f"{self.source}, {self.n_pools:,} pools ({digest})"

    @property
    def n_atom_pools(self) -> int:
        """How many orbits of atoms are pooled."""
        return len(self.member_start) - 1

    @property
    def n_pools(self) -> int:
        """Pools of atoms, then of events."""
        return self.n_atom_pools + sum(count is not None for count in self.event_count)

    @property
    def size(self) -> Float64:
        """(n_pools,) what each count is divided by."""
        events = [float(count.size) for count in self.event_count if count is not None]
        return np.concatenate([np.diff(self.member_start).astype(np.float64), events])

    @property
    def counted_atoms(self) -> Int32:
        """Query atoms and all other members of their orbits, sorted: what must be tallied for an average of conditionals."""
        return each_once(np.concatenate([self.query_atoms, self.member >> 1])).astype(np.int32)

    def watch(self, *, draws: int, chains: int, seed: int, burn_in: int = 0) -> PoolObserver:
        """An observer for one run; burn_in: sweeps that it sees before the planned draws."""
        return PoolObserver(self, draws=draws, chains=chains, seed=seed, burn_in=burn_in)


def orbit_pools(
    group: AtomGroup,
    query_atoms: Int32,
    events: Sequence[Cubes] = (),
    *,
    renamings: RenamingGroup | None = None,
) -> OrbitPools:
    """Pools of all orbits with two or more members that query atoms and events meet.

    renamings: tried first for events, since their orbits of events need no list.
    """
    label = group.literal_orbits()
    size = np.bincount(label, minlength=1)
    orbit = label[2 * query_atoms + 1]
    wanted = each_once(orbit[size[orbit] > 1])
    pool_of = np.full(len(size), -1, np.int32)
    pool_of[wanted] = np.arange(len(wanted), dtype=np.int32)
    pool = pool_of[label]
    inside = np.flatnonzero(pool >= 0)
    member = inside[np.argsort(pool[inside], kind="stable")].astype(np.int32)
    start = offsets(size[wanted])
    groups = [group] if renamings is None or renamings is group else [renamings, group]
    counts = tuple(_first_count(groups, event) for event in events)
    return OrbitPools(np.asarray(query_atoms, np.int32), pool_of[orbit], start, member, counts, group.orbits().source)


def _first_count(groups: Sequence[AtomGroup], event: Cubes) -> Count | None:
    """How the orbit of an event is counted under the first of the groups that moves one of its cubes."""
    for group in groups:
        counts = [_cube_count(group, cube) for cube in event]
        if any(count is not None for count in counts):
            alone = [ListedCount(Conjunctions(np.asarray(cube, np.int32)[None, :])) for cube in event]
            parts = tuple(one if one is not None else itself for one, itself in zip(counts, alone, strict=True))
            return parts[0] if len(parts) == 1 else SummedCount(parts)
    return None


def _cube_count(group: AtomGroup, cube: npt.NDArray[np.integer]) -> CubeCount | None:
    """How the orbit of a conjunction is counted; None where it is alone, or where its group's orbit is too long to be listed."""
    if isinstance(group, RenamingGroup):
        pattern = pattern_of(group.problem, group.classes, cube)
        return count_of(pattern) if pattern.members else None
    images = group.literal_generators()
    orbit = sequence_orbit(images, cube, most=LISTED_READS // max(len(cube), 1)) if images else None
    return None if orbit is None or len(orbit) < 2 else ListedCount(Conjunctions(orbit))


class PoolObserver:
    """Counts the pools in every draw of a run; see `running.batch.Observer`."""

    name = "orbits"

    def __init__(self, pools: OrbitPools, *, draws: int, chains: int, seed: int, burn_in: int) -> None:
        self.pools = pools
        self._draws, self._burn_in, self._seed = draws, burn_in, seed
        self._n_slots = slots_for(4 * pools.n_pools, chains, dropping=burn_in > 0)  # a cell here is four times as wide as a count
        self._lists = _lists(pools)
        self.batches: list[PoolWatcher] = []

    def watch(self, batch: int, n_chains: int) -> PoolWatcher:
        """A watcher for one batch."""
        clock = SlotClock.start(self._draws, self._n_slots, self._burn_in)
        made = PoolWatcher(self.pools, self._lists, clock, n_chains, (self._seed, batch))
        self.batches.append(made)
        return made


@dataclass(frozen=True, eq=False)
class _Lists:
    """All lists of conjunctions as the kernel reads them: the atom pools, then the lists of the events."""

    start: Int64
    literal: Int32
    width: Int64


def _lists(pools: OrbitPools) -> _Lists:
    parts: list[Conjunctions] = []
    for count in itertools.chain.from_iterable(map(_cubes_of, pools.event_count)):
        if isinstance(count, ListedCount):
            parts.append(count.conjunctions)
        elif isinstance(count, MergedCount):
            parts += count.parts
    ends = pools.member_start[-1] + np.cumsum([part.literal.size for part in parts], dtype=np.int64)
    return _Lists(
        np.concatenate([pools.member_start, ends]).astype(np.int64),
        np.concatenate([pools.member, *(part.literal.ravel() for part in parts)]).astype(np.int32),
        np.array([1] * pools.n_atom_pools + [part.literal.shape[1] for part in parts], np.int64),
    )


def _cubes_of(count: Count | None) -> tuple[CubeCount, ...]:
    """The counts of an event's cubes."""
    if count is None:
        return ()
    return count.parts if isinstance(count, SummedCount) else (count,)


class PoolWatcher:
    """Sums of counts for each pool, chain and slot of time, and of their squares over all chains."""

    def __init__(self, pools: OrbitPools, lists: _Lists, clock: SlotClock, n_chains: int, stream: tuple[int, int]) -> None:
        self._pools, self._lists, self._stream = pools, lists, stream
        self.n_chains = n_chains
        self.series = Series(pools.n_pools, n_chains, clock)
        self._counts = np.zeros((len(lists.start) - 1, n_chains), np.int64)
        self._values = np.zeros((pools.n_pools, n_chains), np.float64) if pools.event_count else self._counts

    def see(self, draw: int, world: Words) -> None:
        """Count one draw."""
        self.series.add(self.values(draw, world))

    def values(self, draw: int, world: Words) -> npt.NDArray[np.number]:
        """(n_pools, n_chains) how many members of each pool hold in each chain; of random substitutions those of this draw."""
        from markovlogic.kernels.orbital import count_conjunctions

        lists, counts, values = self._lists, self._counts, self._values
        count_conjunctions(world, lists.start, lists.literal, lists.width, self.n_chains, counts)
        if values is counts:
            return counts
        row = at = self._pools.n_atom_pools
        values[:row] = counts[:row]
        for number, count in enumerate(self._pools.event_count):
            if count is None:
                continue
            parts = _cubes_of(count)
            values[row] = 0
            for part, one in enumerate(parts):
                scale = 1.0 if len(parts) == 1 else count.size / one.size
                if isinstance(one, ListedCount):
                    values[row] += scale * counts[at]
                    at += 1
                elif isinstance(one, MergedCount):
                    values[row] += scale * one.combine(counts[at : at + len(one.parts)])
                    at += len(one.parts)
                else:
                    key = (number, draw) if len(parts) == 1 else (number, draw, part)
                    values[row] += scale * self._drawn(one, key, world)
            row += 1
        return values

    def _drawn(self, count: DrawnCount, key: tuple[int, ...], world: Words) -> Int64:
        """The count among random substitutions, one set for all chains of the batch.

        Sharing them correlates nothing: under the target every member of the orbit has the same probability, so given the
        substitutions each chain's value has the same mean. The stream is numbered by event and draw (`key`): no state to save.
        """
        from markovlogic.kernels.orbital import count_conjunctions

        seed, batch = self._stream
        rng = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(SUBSTITUTION_STREAM, batch, *key)))
        literal = count.draw(rng)
        found: Int64 = np.zeros((1, self.n_chains), np.int64)
        start, width = np.array([0, literal.size], np.int64), np.array([literal.shape[1]], np.int64)
        count_conjunctions(world, start, literal.ravel(), width, self.n_chains, found)
        return found.ravel()

    def saved(self) -> Iterator[Saved]:
        """All that a checkpoint needs."""
        yield from self.series.saved()

    def restore(self, arrays: Restored, draws: int) -> None:
        """Continue where `saved` was taken, after so many draws."""
        summed = max((len(_cubes_of(count)) for count in self._pools.event_count), default=1)  # random shares may add up beyond 1
        self.series.restore(arrays, largest=float(self._pools.size.max(initial=1.0)) * max(summed, 1))
        if self.series.draws != draws:
            raise ValueError(f"orbits were counted in {self.series.draws} of {draws} draws")


AUTO_ATOMS = 1 << 24  # "auto" looks for orbits up to so many open atoms: a second or two
AUTO_POOL_CELLS = 1 << 22  # and pools them up to so many orbits times chains: a hundred megabytes


def wants_orbits(wanted: str, n_atoms: int) -> bool:
    """Whether an estimator, as the user named it, has use for symmetries."""
    return n_atoms <= AUTO_ATOMS if wanted == "auto" else wanted in NAMED and NAMED[wanted].pooled


def plan_pools(
    symmetries: Symmetries, wanted: str, query_atoms: Int32, events: Sequence[Cubes], *, chains: int
) -> OrbitPools | None:
    """The pools for a run; None where "auto" finds no symmetry that the query meets, or too many small orbits."""
    if wanted == "auto" and symmetries.kind == "twins" and symmetries.renamings.is_trivial:
        return None
    pools = orbit_pools(symmetries.group, query_atoms, events, renamings=symmetries.renamings)
    if wanted == "auto" and (not pools.n_pools or pools.n_pools * chains > AUTO_POOL_CELLS):
        return None
    return pools


def remarks_on(pools: OrbitPools, estimator: Estimator, taken: Estimator, method: str, *, fixed_order: bool) -> tuple[str, ...]:
    """What the estimator does and does not promise; `taken` is the one that gave the numbers.

    That averages over *dependent* draws gain as well needs a kernel that commutes with the group ([003] Prop. 7, papers.md
    2.14); a sweep in one fixed order does not.
    """
    if not estimator.pooled:
        return ()
    name = estimator.name
    if not pools.n_pools:
        return (f"no symmetry moves the query atoms, so the estimator {name} had nothing to average over",)
    found = []
    if estimator.either and not taken.conditional:
        found.append("orbit means of samples vary less here than those of conditionals, and are what is given")
    if fixed_order:
        found.append(
            f"{name}: {method} visits atoms in one fixed order, which symmetries do not preserve; so the smaller "
            'error is guaranteed draw by draw, and for averages over draws only with a random order (Gibbs(scan="random"))'
        )
    return tuple(found)
