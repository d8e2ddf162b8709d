"""Those who want to see every draw's world: kept draws, world files, and estimators that are functions of a world.

An observer is asked once for each batch of chains for a `Watcher`, which then sees the batch's worlds in the order of the
draws, in the
thread that runs the batch. What a watcher has gathered is part of the checkpoint, through `saved` and `restore`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Protocol

import numpy as np
import numpy.typing as npt

from markovlogic.errors import ResourceError
from markovlogic.estimation.tallies import Saved
from markovlogic.system.arrays import Int32, Words
from markovlogic.system.checkpoint_validation import Restored, require_lanes

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
    """Makes watchers; `name` tells observers of one run apart."""

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
                "ask for fewer atoms or draws, a larger thin, or a file of worlds instead",
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
