"""Tallies: what estimates, standard errors, split R-hat and ESS need, in memory that does not grow with the number of draws.

For each row (a query atom or an event) and chain they hold how often it was true in each slot of time (see `slots`), and on
demand the
sum of its conditionals (Eq. 2 of [000]). Counts are exact integers. Sums of conditionals are collected in float32 planes
that are emptied into float64 totals after fixed numbers of draws, so that no result depends on how sweeps were grouped.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from markovlogic.estimation.slots import SlotClock, slots_for, sum_slots_for
from markovlogic.system.arrays import Int32, Int64, Words, offsets
from markovlogic.system.checkpoint_validation import Restored, require_counters, require_within

Cells = npt.NDArray[np.number]  # (n_rows, n_chains)

COUNTER_DRAWS = 255  # what eight planes hold
SUM_DRAWS = 32  # float32 additions between emptyings: each rounds by at most 1e-6, so a mean is off by less than that
SUM_SLACK = 1e-3  # what roundings may add to a sum of conditionals, at the very most


class Saved(NamedTuple):
    """An array to be saved; it has changed since the last time when its version has."""

    name: str
    array: npt.NDArray[np.generic]
    version: int


Cubes: TypeAlias = Sequence[npt.NDArray[np.integer]]  # conjunctions of literals, of which no two hold together


class Events(NamedTuple):
    """Disjunctions of conjunctions of literals, in compressed rows twice over; a literal is 2·atom + (1 if positive)."""

    start: Int64  # (n_events + 1,) into the cubes
    cube_start: Int64  # (n_cubes + 1,) into the literals
    literal: Int32

    @property
    def n_events(self) -> int:
        """How many there are."""
        return len(self.start) - 1

    @staticmethod
    def of(events: Sequence[Cubes]) -> Events:
        """The rows of some events, each given by its cubes."""
        cubes = [np.asarray(cube, np.int32) for event in events for cube in event]
        literal = np.concatenate([np.zeros(0, np.int32), *cubes]).astype(np.int32)
        return Events(offsets([len(event) for event in events]), offsets([len(cube) for cube in cubes]), literal)


class Slots:
    """Cells (row by chain) of each slot of time."""

    def __init__(self, n_rows: int, n_chains: int, n_slots: int, dtype: npt.DTypeLike) -> None:
        # zeros are not backed by memory before they are written
        self.cells: list[Cells] = [np.zeros((n_rows, n_chains), dtype) for _ in range(n_slots)]
        self.version = [0] * n_slots  # 0: never touched since it was made or freed
        self._stamp = 0

    def touch(self, slot: int) -> None:
        """Say that a slot has changed; a version never comes back, even after the slot was freed."""
        self._stamp += 1
        self.version[slot] = self._stamp

    def fold(self, dtype: npt.DTypeLike, first: int = 0) -> None:
        """Add pairs of slots together, from slot `first` on; the freed ones are at the end. One at a time, which saves memory."""
        shape, n = self.cells[0].shape, len(self.cells)
        for at in range(first):
            self.cells[at] = self.cells[at].astype(dtype, copy=False)
        for at in range(first, n):
            one, other = 2 * at - first, 2 * at - first + 1
            if one < n:
                pair = self.cells[one].astype(dtype)
                if other < n:
                    pair += self.cells[other]
                self.cells[at] = pair
                self.touch(at)
                for read in (one, other):  # no longer needed
                    if at < read < n:
                        self.cells[read] = np.zeros((0, 0), dtype)
            else:
                self.cells[at] = np.zeros(shape, dtype)
                self.version[at] = 0

    def saved(self, prefix: str) -> Iterator[Saved]:
        """The slots for a checkpoint; a slot that was never touched is left out."""
        for at, cells in enumerate(self.cells):
            if self.version[at] and cells.size:
                yield Saved(f"{prefix}.{at}", cells, self.version[at])

    def restore(self, prefix: str, arrays: Restored, dtype: npt.DTypeLike, most: Sequence[float]) -> None:
        """Take the slots of a checkpoint back; most: what a cell of each slot in use can hold, 0 where it was never touched."""
        shape = self.cells[0].shape
        for at in range(len(self.cells)):
            self.version[at] = 0
            if at < len(most) and most[at] and self.cells[at].size:
                self.cells[at] = arrays.take(f"{prefix}.{at}", dtype, shape, low=0, high=most[at])
                self.touch(at)
            else:
                self.cells[at] = np.zeros(shape, dtype)


@dataclass(frozen=True, eq=False)
class Counting:
    """What the tallies of a run hold: the same for every batch of its chains.

    n_rows: atoms that a sampler counts, from the one numbered `first` on, or units of its own
    (see `methods.sampling.base.Units`).
    chains: of all batches together.
    """

    n_rows: int
    atoms: Int32  # rows that are tallied
    events: Events
    draws: int  # planned, a chain
    chains: int
    conditional: bool
    slots: int | None = None  # None: as many as suit rows and chains
    burn_in: int = 0  # sweeps that are recorded before, see `slots`
    in_bytes: bool = False  # batches of one chain: a byte a row in place of eight words
    first: int = 0

    @property
    def n_slots(self) -> int:
        """Slots of time for counts."""
        if self.slots is not None:
            return self.slots
        return slots_for(len(self.atoms) + self.events.n_events, self.chains, dropping=self.burn_in > 0)

    @property
    def n_sum_slots(self) -> int:
        """Slots of time for sums of conditionals."""
        return sum_slots_for(self.n_slots, len(self.atoms), self.chains, dropping=self.burn_in > 0)

    def clock(self) -> SlotClock:
        """A clock for one batch."""
        return SlotClock.start(self.draws, self.n_slots, self.burn_in)


class Tallies:
    """Everything that is counted for one batch of chains."""

    def __init__(self, counting: Counting, n_chains: int) -> None:
        atoms, events, n_slots = counting.atoms, counting.events, counting.n_slots
        self.n_chains = n_chains
        self.atoms, self.events = atoms, events
        self._rows: Int32 = atoms - np.int32(counting.first)  # of the planes
        self.clock = counting.clock()
        self.planes: npt.NDArray[np.unsignedinteger] = (
            np.zeros(counting.n_rows, np.uint8) if counting.in_bytes else np.zeros((counting.n_rows, 8), np.uint64)
        )
        self.event_planes: Words = np.zeros((events.n_events, 8), np.uint64)
        self.conditionals = np.zeros((counting.n_rows, n_chains), np.float32) if counting.conditional else None
        self.counts = Slots(len(atoms), n_chains, n_slots, self._count_type())
        self.event_counts = Slots(events.n_events, n_chains, n_slots, self._count_type())
        self.sums = Slots(len(atoms), n_chains, counting.n_sum_slots, np.float64) if counting.conditional else None
        self._event_rows = np.arange(events.n_events, dtype=np.int32)
        self._chain_mask = np.uint64((1 << n_chains) - 1)
        self._in_planes = 0  # draws that the planes hold
        self._in_sums = 0  # draws that the float32 sums hold

    @property
    def draws(self) -> int:
        """Draws recorded so far."""
        return self.clock.draws

    def _count_type(self) -> npt.DTypeLike:
        longest = self.clock.longest_segment
        return np.uint16 if longest < 1 << 16 else np.uint32 if longest < 1 << 32 else np.uint64

    def room(self) -> int:
        """How many draws may be added to the planes before `record` must be called."""
        if self.clock.must_fold:
            self._fold()
        room = min(self.clock.room(), COUNTER_DRAWS - self._in_planes)
        return room if self.conditionals is None else min(room, SUM_DRAWS - self._in_sums)

    def add_events(self, world: Words) -> None:
        """Add one draw of the events to their planes; `record` counts it."""
        from markovlogic.kernels.tally_sums import add_events

        add_events(self.event_planes, world, *self.events, self._chain_mask)

    def record(self, draws: int) -> None:
        """The planes hold so many draws more now (at most `room`)."""
        slot, ends = self.clock.slot, draws == self.clock.room()
        self._in_planes += draws
        if self.conditionals is not None:
            self._in_sums += draws
        if ends or self._in_planes == COUNTER_DRAWS:
            self._empty_planes(slot)
        if self.conditionals is not None and (ends or self._in_sums == SUM_DRAWS):
            from markovlogic.kernels.tally_sums import drain_sums

            assert self.sums is not None
            at = slot if len(self.sums.cells) > 1 else 0
            drain_sums(self.conditionals, self._rows, self.sums.cells[at])
            self.sums.touch(at)
            self._in_sums = 0
        self.clock.draws += draws

    def settle(self) -> None:
        """Move what the count planes hold into slots, so that the slots can be read; exact, so that it changes no result."""
        if self._in_planes:
            self._empty_planes(self.clock.slot)

    def _empty_planes(self, slot: int) -> None:
        from markovlogic.kernels.counters import drain

        if self.planes.ndim == 1:
            self.counts.cells[slot][:, 0] += self.planes[self._rows]
            self.counts.touch(slot)
            self.planes[:] = 0
        for planes, rows, counts in (
            (self.planes, self._rows, self.counts),
            (self.event_planes, self._event_rows, self.event_counts),
        ):
            if planes.ndim == 2:
                if len(rows):
                    drain(planes, rows, counts.cells[slot])
                    counts.touch(slot)
                planes[:] = 0
        self._in_planes = 0

    def _fold(self) -> None:
        first = self.clock.fold()
        self.counts.fold(self._count_type(), first)
        self.event_counts.fold(self._count_type(), first)
        if self.sums is not None and len(self.sums.cells) > 1:
            self.sums.fold(np.float64, first)

    def slot_sums(self, rows: slice) -> list[npt.NDArray[np.float64]]:
        """Sums of conditionals of some rows by slot that counts (or all in one), with those still in the float32 plane."""
        assert self.sums is not None and self.conditionals is not None
        in_use = self.clock.kept() if len(self.sums.cells) > 1 else (0,)
        found = [self.sums.cells[at][rows].astype(np.float64) for at in in_use]
        if self._in_sums:
            found[-1] = found[-1] + self.conditionals[self._rows[rows]]
        return found

    def saved(self) -> Iterator[Saved]:
        """All that a checkpoint needs; planes always count as changed."""
        clock = np.array([self.clock.level, self.clock.draws, self._in_planes, self._in_sums], np.int64)
        yield Saved("clock", clock, self.draws)
        if self._in_planes:
            yield Saved("planes", self.planes, self.draws)
            yield Saved("event_planes", self.event_planes, self.draws)
        if self.conditionals is not None and self._in_sums:
            yield Saved("conditionals", self.conditionals, self.draws)
        yield from self.counts.saved("counts")
        yield from self.event_counts.saved("event_counts")
        if self.sums is not None:
            yield from self.sums.saved("sums")

    def restore(self, arrays: Restored) -> None:
        """Continue where `saved` was taken."""
        level, draws, self._in_planes, self._in_sums = arrays.numbers("clock", 4)
        self.clock.restore(level, draws)
        lengths = self.clock.lengths()
        unfinished = self.clock.unfinished
        in_sums = unfinished % SUM_DRAWS if self.conditionals is not None else 0
        if self._in_planes > min(unfinished, COUNTER_DRAWS - 1) or self._in_sums != in_sums:
            raise ValueError(f"after {draws} draws, {self._in_planes} and {self._in_sums} cannot be left to be moved into slots")
        if self._in_planes:
            for name, planes in (("planes", self.planes), ("event_planes", self.event_planes)):
                planes[:] = arrays.like(name, planes)
                if planes.ndim == 1:
                    require_within(planes, 0, self._in_planes, name)
                else:
                    require_counters(planes, self._in_planes, self.n_chains, name)
        if self.conditionals is not None and self._in_sums:
            plane, most = self.conditionals, self._in_sums + SUM_SLACK
            plane[:] = arrays.take("conditionals", plane.dtype, plane.shape, low=0, high=most)
        counted = _without(lengths, self._in_planes)
        self.counts.restore("counts", arrays, self._count_type(), counted)
        self.event_counts.restore("event_counts", arrays, self._count_type(), counted)
        if self.sums is not None:
            summed = _without(lengths, self._in_sums) if len(self.sums.cells) > 1 else [draws - self._in_sums]
            self.sums.restore("sums", arrays, np.float64, [n * (1 + SUM_SLACK) for n in summed])


def _without(lengths: Sequence[int], waiting: int) -> list[int]:
    """Draws that each slot in use holds, when some of the last one's are not in it yet."""
    return [*lengths[:-1], lengths[-1] - waiting] if lengths else []


def tally_bytes(
    *,
    n_all: int,
    n_query: int,
    n_events: int,
    n_chains: int,
    draws: int,
    conditional: bool,
    n_batches: int | None = None,
    dropping: bool = False,
    plane_bytes: int = 64,
) -> int:
    """Bytes that the tallies of a run take at most, for plans that are made before it starts.

    n_batches: each has count planes of its own; None: as few as can hold the chains. dropping: a limit may end the run, and then
    early sweeps do not count. plane_bytes: of a row's count planes.
    """
    n_slots = slots_for(n_query + n_events, n_chains, dropping=dropping)
    cell = 2 if draws // n_slots + 1 < 1 << 16 else 4
    batches = -(-n_chains // 64) if n_batches is None else n_batches
    total = batches * (n_all * plane_bytes + n_events * 64) + n_slots * (n_query + n_events) * n_chains * cell
    total += (n_query + n_events) * n_chains * 2  # looks at burn-in
    if conditional:
        sum_slots = sum_slots_for(n_slots, n_query, n_chains, dropping=dropping)
        total += n_all * n_chains * 4 + sum_slots * n_query * n_chains * 8
    return total
