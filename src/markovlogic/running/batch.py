"""One batch of up to 64 chains on its way: sampler, state and tallies."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from markovlogic.errors import ResourceError
from markovlogic.estimation.diagnostics import Series
from markovlogic.estimation.early import EarlyLooks
from markovlogic.estimation.tallies import Counting, Saved, Tallies
from markovlogic.methods.sampling.base import SWEEPS_PER_STEP, Sampler
from markovlogic.running.warm import WarmStart, warm_worlds
from markovlogic.system.arrays import Int32, Words
from markovlogic.system.checkpoint_validation import Restored, require_lanes, whole_number

DRAWS_A_CHUNK = 64


class Watcher(Protocol):
    """Sees the draws of one batch."""

    def see(self, draw: int, world: Words) -> None:
        """Draw number `draw` (the first is 1) of all chains of the batch; `world` may not be kept, it changes."""
        ...

    def saved(self) -> Iterator[Saved]:
        """All that must be saved for the watcher to continue after these draws."""
        ...

    def restore(self, arrays: Restored, draws: int) -> None:
        """Continue where `saved` was taken, after so many draws; a ValueError where the arrays cannot be what was saved then."""
        ...


class Observer(Protocol):
    """Makes watchers; `name` distinguishes observers of one run."""

    @property
    def name(self) -> str:
        """A short name without dots."""
        ...

    def watch(self, batch: int, n_chains: int) -> Watcher:
        """A watcher for one batch."""
        ...


class KeptBatch:
    """Every `thin`-th world of one batch, packed as it was drawn: 64 chains a word."""

    def __init__(self, atoms: Int32, n_chains: int, thin: int) -> None:
        self._atoms, self._thin = atoms, thin
        self.n_chains = n_chains
        self._chunks: list[Words] = []
        self.n_kept = 0

    def see(self, draw: int, world: Words) -> None:
        """Keep it if its turn has come."""
        if draw % self._thin:
            return
        if self.n_kept == len(self._chunks) * DRAWS_A_CHUNK:
            self._chunks.append(np.zeros((DRAWS_A_CHUNK, len(self._atoms)), np.uint64))
        np.take(world, self._atoms, out=self._chunks[-1][self.n_kept % DRAWS_A_CHUNK])
        self.n_kept += 1

    def saved(self) -> Iterator[Saved]:
        """Chunks; a full one never changes again."""
        yield Saved("kept", np.array([self.n_kept], np.int64), self.n_kept)
        for at, chunk in enumerate(self._chunks):
            yield Saved(f"chunk.{at}", chunk, min(self.n_kept, (at + 1) * DRAWS_A_CHUNK))

    def restore(self, arrays: Restored, draws: int) -> None:
        """Take the chunks back."""
        self.n_kept = draws // self._thin
        arrays.take("kept", np.int64, (1,), low=self.n_kept, high=self.n_kept)
        shape = (DRAWS_A_CHUNK, len(self._atoms))
        self._chunks = [arrays.take(f"chunk.{at}", np.uint64, shape) for at in range(-(-self.n_kept // DRAWS_A_CHUNK))]
        for chunk in self._chunks:
            require_lanes(chunk, self.n_chains, "a kept world")

    def worlds(self) -> npt.NDArray[np.bool_]:
        """(n_chains, n_kept, n_atoms) truth values."""
        found = np.empty((self.n_chains, self.n_kept, len(self._atoms)), np.bool_)
        for at, chunk in enumerate(self._chunks):
            rows = slice(at * DRAWS_A_CHUNK, min((at + 1) * DRAWS_A_CHUNK, self.n_kept))
            for chain in range(self.n_chains):
                found[chain, rows] = (chunk[: rows.stop - rows.start] >> np.uint64(chain)) & np.uint64(1)
        return found


class KeepDraws:
    """Keeps every `thin`-th draw of the query atoms in memory, one bit each."""

    name = "draws"

    def __init__(self, atoms: Int32, *, chains: int, draws: int, thin: int = 1, limit: int = 1 << 32) -> None:
        needed = -(-chains // 64) * (draws // thin) * len(atoms) * 8
        if needed > limit:
            raise ResourceError(
                f"keeping all draws would take {needed / 2**30:.1f} GiB, more than the {limit / 2**30:.1f} GiB allowed; "
                "take fewer atoms or draws, a larger thin, or a file of worlds",
                needed=needed,
                limit=limit,
            )
        self.thin = thin
        self._atoms = atoms
        self._batches: list[KeptBatch] = []

    def watch(self, batch: int, n_chains: int) -> Watcher:
        """A keeper for one batch."""
        self._batches.append(KeptBatch(self._atoms, n_chains, self.thin))
        return self._batches[-1]

    def worlds(self, dropped: int = 0) -> npt.NDArray[np.bool_]:
        """(n_chains, n_kept, n_atoms) truth values of all chains; draw d of the second axis is draw (d + 1)·thin of the run.

        The first `dropped` draws that were seen do not count.
        """
        return np.concatenate([batch.worlds()[:, dropped // self.thin :] for batch in self._batches], axis=0)


class Batch:
    """The chains of one sampler; `advance` is called from one thread at a time."""

    def __init__(
        self,
        number: int,
        sampler: Sampler,
        seed: np.random.SeedSequence,
        burn_in: int,
        counting: Counting,
        observers: Sequence[Observer],
        first: int = 0,
        warm: WarmStart | None = None,
    ) -> None:
        self.number, self.sampler = number, sampler
        self.burn_in = burn_in
        self.records_burn_in = counting.burn_in > 0
        self.sweeps = 0  # burn-in included
        self.updates = 0
        self.counts: dict[str, int] = {}
        self._seed, self._first = seed, first  # the number of the first chain among all chains of the run
        self._warm, self._warm_lanes = warm, 0  # worlds of an earlier run, and a word of the chains that start with them
        self.tallies = Tallies(counting, sampler.n_chains)
        self.units: Series | None = None
        self.early: EarlyLooks | None = None
        if sampler.units is None and burn_in:
            self.early = EarlyLooks(counting.atoms, counting.events, sampler.n_chains, burn_in)
        if sampler.units is not None:
            self.units = Series(sampler.units.n_units, sampler.n_chains, counting.clock())
        self._watchers = [(observer.name, observer.watch(number, sampler.n_chains)) for observer in observers]

    @property
    def draws(self) -> int:
        """Draws that count: those after burn-in."""
        return self.tallies.clock.kept_draws

    @property
    def dropped(self) -> int:
        """Recorded draws that do not count."""
        return self.tallies.draws - self.draws

    @property
    def starts(self) -> tuple[str, ...]:
        """How each chain started, by a word."""
        words = self.sampler.starts(self._first)
        return tuple("warm" if self._warm_lanes >> lane & 1 else word for lane, word in enumerate(words))

    def start(self) -> None:
        """Give the chains their first worlds, which may take a search."""
        self.state: Any = self.sampler.init(self._seed, self._first)
        if self._warm is not None:
            seed, n_chains = self._seed.spawn(1)[0], self.sampler.n_chains
            world, self._warm_lanes = warm_worlds(self._warm, self.state.world, self._first, n_chains, seed)
            self.state = self.sampler.with_worlds(self.state, world)
            self.state = self.sampler.with_learned(self.state, self._warm.ended.learned)
        self._began: npt.NDArray[np.uint64] = self.state.world.copy()

    def began_true(self, atoms: npt.NDArray[np.integer]) -> npt.NDArray[np.int64]:
        """How many chains each of these atoms was true in when the run began; nothing where chains have counts and no worlds."""
        if not len(self._began):
            return np.zeros(0, np.int64)
        chains = np.uint64((1 << self.sampler.n_chains) - 1)
        return np.asarray(np.bitwise_count(self._began[atoms] & chains), np.int64)

    def advance(self, until: int) -> None:
        """Make sweeps until so many were made in all, burn-in included."""
        while self.sweeps < until:
            if self.sweeps < self.burn_in:
                self._step(min(until, self.burn_in) - self.sweeps, burn_in=True)
            else:
                self._step(until - self.sweeps, burn_in=False)

    def _step(self, sweeps: int, *, burn_in: bool) -> None:
        tallies = self.tallies
        sweeps = min(sweeps, SWEEPS_PER_STEP)
        early = self.early if burn_in else None
        if early is not None:
            sweeps = min(sweeps, early.next_look(early.sweeps) - self.sweeps)
        if burn_in and not self.records_burn_in:
            info = self.sampler.step(self.state, sweeps, burn_in=True)
        else:
            each = bool(self._watchers) or tallies.events.n_events > 0 or self.units is not None
            sweeps = 1 if each else min(sweeps, tallies.room())
            if each:
                tallies.room()  # lets the slots fold before the draw is added
            if self.units is not None:
                info = self.sampler.step(self.state, sweeps, burn_in=burn_in)
                self.units.add(self.sampler.unit_values(self.state))
            else:
                info = self.sampler.step(self.state, sweeps, tallies.planes, tallies.conditionals, burn_in=burn_in)
            if tallies.events.n_events:
                tallies.add_events(self.state.world)
            tallies.record(sweeps)
            for _, watcher in self._watchers:
                watcher.see(tallies.draws, self.state.world)
        self.sweeps += sweeps
        if early is not None and self.sweeps == early.next_look(early.sweeps):
            early.see(self.state.world)
        self.updates += info.updates
        for name, value in info.counts.items():
            self.counts[name] = self.counts.get(name, 0) + value

    def saved(self) -> Iterator[Saved]:
        """Every array that a checkpoint needs."""
        for name, array in _arrays(self.state):
            yield Saved(f"state.{name}", array, self.sweeps)
        for item in self.tallies.saved():
            yield item._replace(name=f"tallies.{item.name}")
        if self.early is not None:
            for item in self.early.saved():
                yield item._replace(name=f"early.{item.name}")
        if self.units is not None:
            for item in self.units.saved():
                yield item._replace(name=f"units.{item.name}")
        for name, watcher in self._watchers:
            for item in watcher.saved():
                yield item._replace(name=f"{name}.{item.name}")

    def facts(self) -> dict[str, Any]:
        """Every number that a checkpoint needs beside the arrays."""
        return {"sweeps": self.sweeps, "updates": self.updates, "counts": self.counts}

    def restore(self, facts: Mapping[str, Any], saved: Mapping[str, npt.NDArray[np.generic]]) -> None:
        """Continue where a checkpoint was taken; a ValueError where it cannot be one of this run."""
        arrays = Restored(saved)
        self.sweeps, self.updates = whole_number(facts, "sweeps"), whole_number(facts, "updates")
        self.counts = {str(name): whole_number(facts["counts"], name) for name in dict(facts["counts"])}
        self.state = _restored(self.state, arrays.under("state"))
        self.sampler.check(self.state)
        self.tallies.restore(arrays.under("tallies"))
        if self.early is not None:
            self.early.restore(arrays.under("early"), self.sweeps)
        draws = self.sweeps if self.records_burn_in else max(self.sweeps - self.burn_in, 0)
        if self.units is not None:
            weighted = self.sampler.units is not None and self.sampler.units.total is not None
            self.units.restore(arrays.under("units"), largest=np.inf if weighted else 1.0)
        if draws != self.tallies.draws or (self.units is not None and draws != self.units.draws):
            raise ValueError(f"{self.sweeps} sweeps were made, and {self.tallies.draws} draws counted")
        for name, watcher in self._watchers:
            watcher.restore(arrays.under(name), draws)
        arrays.require_none_left()


def _arrays(state: Any, prefix: str = "") -> Iterator[tuple[str, npt.NDArray[np.generic]]]:
    """The arrays of a state and of the states inside it, by name."""
    for name, value in state._asdict().items():
        if isinstance(value, tuple):  # the state of a base chain
            yield from _arrays(value, f"{prefix}{name}.")
        else:
            yield f"{prefix}{name}", np.asarray(value)


def _restored(state: Any, arrays: Restored) -> Any:
    """A state like this one, made of saved arrays."""
    fields = {
        name: _restored(value, arrays.under(name)) if isinstance(value, tuple) else arrays.like(name, np.asarray(value))
        for name, value in state._asdict().items()
    }
    return type(state)(**fields)
