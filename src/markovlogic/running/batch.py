"""One batch of up to 64 chains on its way: sampler, state and tallies."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from markovlogic.arrays import Int32
from markovlogic.estimate.tallies import Events, Saved, Tallies
from markovlogic.running.observers import Observer
from markovlogic.samplers.base import SWEEPS_PER_STEP, Sampler

Arrays = Mapping[str, npt.NDArray[np.generic]]


class Batch:
    """The chains of one sampler; `advance` is called from one thread at a time."""

    def __init__(
        self,
        number: int,
        sampler: Sampler,
        seed: np.random.SeedSequence,
        *,
        n_all: int,
        burn_in: int,
        draws: int,
        atoms: Int32,
        events: Events,
        n_slots: int,
        conditional: bool,
        sum_slots: bool,
        observers: Sequence[Observer],
    ) -> None:
        self.number, self.sampler = number, sampler
        self.burn_in, self.planned = burn_in, draws
        self.sweeps = 0  # burn-in included
        self.updates = 0
        self.counts: dict[str, int] = {}
        self._seed = seed
        self.tallies = Tallies(
            n_all=n_all,
            n_chains=sampler.n_chains,
            atoms=atoms,
            events=events,
            planned=draws,
            n_slots=n_slots,
            conditional=conditional,
            sum_slots=sum_slots,
        )
        self._watchers = [(observer.name, observer.watch(number, sampler.n_chains)) for observer in observers]

    @property
    def draws(self) -> int:
        """Draws made after burn-in."""
        return self.tallies.draws

    def start(self) -> None:
        """Give the chains their first worlds, which may take a search."""
        self.state: Any = self.sampler.init(self._seed)

    def advance(self, until: int) -> None:
        """Make sweeps until so many were made in all, burn-in included."""
        while self.sweeps < until:
            if self.sweeps < self.burn_in:
                self._step(min(until, self.burn_in) - self.sweeps, counted=False)
            else:
                self._step(until - self.sweeps, counted=True)

    def _step(self, sweeps: int, *, counted: bool) -> None:
        tallies = self.tallies
        sweeps = min(sweeps, SWEEPS_PER_STEP)
        if not counted:
            info = self.sampler.step(self.state, sweeps)
        else:
            each = bool(self._watchers) or tallies.events.n_events > 0
            sweeps = 1 if each else min(sweeps, tallies.room())
            if each:
                tallies.room()  # lets the slots fold before the draw is added
            info = self.sampler.step(self.state, sweeps, tallies.planes, tallies.conditionals)
            if tallies.events.n_events:
                tallies.add_events(self.state.world)
            tallies.record(sweeps)
            for _, watcher in self._watchers:
                watcher.see(tallies.draws, self.state.world)
        self.sweeps += sweeps
        self.updates += info.updates
        for name, value in info.counts.items():
            self.counts[name] = self.counts.get(name, 0) + value

    def saved(self) -> Iterator[Saved]:
        """Every array that a checkpoint needs."""
        for name, array in self.state._asdict().items():
            yield Saved(f"state.{name}", np.asarray(array), self.sweeps)
        for item in self.tallies.saved():
            yield item._replace(name=f"tallies.{item.name}")
        for name, watcher in self._watchers:
            for item in watcher.saved():
                yield item._replace(name=f"{name}.{item.name}")

    def facts(self) -> dict[str, Any]:
        """Every number that a checkpoint needs beside the arrays."""
        return {"sweeps": self.sweeps, "updates": self.updates, "counts": self.counts}

    def restore(self, facts: Mapping[str, Any], arrays: Arrays) -> None:
        """Continue where a checkpoint was taken."""
        self.sweeps, self.updates = int(facts["sweeps"]), int(facts["updates"])
        self.counts = {name: int(value) for name, value in facts["counts"].items()}
        fields = _under(arrays, "state")
        self.state = type(self.state)(**{name: fields[name] for name in self.state._asdict()})
        self.tallies.restore(_under(arrays, "tallies"))
        for name, watcher in self._watchers:
            watcher.restore(_under(arrays, name))


def _under(arrays: Arrays, prefix: str) -> dict[str, npt.NDArray[np.generic]]:
    return {name[len(prefix) + 1 :]: array for name, array in arrays.items() if name.startswith(prefix + ".")}
