"""What chains did in burn-in: whether one stayed for a while where no draw ever was.

Chains start far apart. One that starts in a rare mode leaves it in burn-in, perhaps for good, and the draws know nothing of it.
But the time that it stayed there bounds what the mode may weigh: had it weighed more than a few such times among all draws, some
chain would have come back. So each row's truth is looked at a few times in burn-in, in every chain.

Few chains may all start where they find no other mode. So scouts, whose draws do not count, go through burn-in beside them where
that is cheap. A scout that is elsewhere for most of burn-in bounds nothing: its mode may weigh more than all that was drawn.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from markovlogic.estimation.tallies import Events, Saved
from markovlogic.system.arrays import Bool, Float64, Int32, Words
from markovlogic.system.checkpoint_validation import Restored, require_within

Sweeps = npt.NDArray[np.unsignedinteger[Any]]  # (n_rows, n_chains)
LOOKS = 32  # at the worlds of burn-in
MOST_OF_BURN_IN = 0.5
NOISE = 3.0  # standard deviations by which so few looks may stand out by chance


class Early(NamedTuple):
    """The looks at some rows."""

    share: Float64  # (n_rows, n_chains) of burn-in in which the row was true
    looks: float  # of equal weight
    sweeps: int  # of burn-in that they stand for
    stayed: Float64 | None = None  # (n_chains,) sweeps that each chain stayed where no draws were, as any row shows
    scouts: int = 0  # chains among these, the last ones, whose draws do not count

    def lingered(self, chain_share: Float64) -> Any:
        """Sweeps that a chain stayed where no chain's draws were, row by row; chain_share: of the draws in which it was true."""
        found = self._outside(chain_share).max(axis=1)
        if self.stayed is None:
            return found
        mean = chain_share.mean(axis=1, keepdims=True)
        apart = np.abs(self.share - mean) - np.sqrt(np.clip(mean * (1 - mean), 0, None) / self.looks)
        return np.maximum(found, (np.maximum(apart, 0.0) * self.stayed).max(axis=1))

    def missed(self, chain_share: Float64) -> Bool:
        """(n_rows,) where a scout was for most of burn-in, and no draws were."""
        if not self.scouts:
            return np.zeros(len(self.share), np.bool_)
        outside = self._outside(chain_share)[:, -self.scouts :]
        return np.asarray(outside.max(axis=1) > MOST_OF_BURN_IN * self.sweeps, np.bool_)

    def together(self, chain_share: Float64) -> Early:
        """The same looks where each row learns from all: a chain that one of them finds elsewhere was elsewhere for all."""
        return self._replace(stayed=self._outside(chain_share).max(axis=0, initial=0.0))

    def rows(self, rows: slice) -> Early:
        """The same of some rows."""
        return self._replace(share=self.share[rows])

    def _outside(self, chain_share: Float64) -> Any:
        """(n_rows, n_chains) sweeps beyond what draws and chance explain."""
        low, high = chain_share.min(axis=1, keepdims=True), chain_share.max(axis=1, keepdims=True)
        above = self.share - high - NOISE * np.sqrt(np.clip(high * (1 - high), 0, None) / self.looks)
        below = low - NOISE * np.sqrt(np.clip(low * (1 - low), 0, None) / self.looks) - self.share
        return self.sweeps * np.maximum(np.maximum(above, below), 0.0)


class EarlyLooks:
    """The looks at one batch of chains: for how many sweeps each atom, and each event, was true.

    The first ones come sweep by sweep, since most worlds that are left are left at once; later ones are spread evenly.
    """

    def __init__(self, atoms: Int32, events: Events, n_chains: int, burn_in: int, *, scouts: bool = False) -> None:
        self.atoms, self.events, self.n_chains, self.burn_in, self.scouts = atoms, events, n_chains, burn_in, scouts
        self.sweeps = 0  # that were looked at
        self.spacing = max(1, -(-burn_in // LOOKS))
        number = np.uint16 if burn_in < 1 << 16 else np.uint32
        self._atom_sweeps: Sweeps = np.zeros((len(atoms), n_chains), number)
        self._event_sweeps: Sweeps = np.zeros((events.n_events, n_chains), number)

    def next_look(self, sweeps: int) -> int:
        """The sweep of the next look, after so many sweeps."""
        if sweeps < self.spacing:
            return min(sweeps + 1 + sweeps // 4, self.spacing, self.burn_in)
        return min(sweeps - sweeps % self.spacing + self.spacing, self.burn_in)

    def see(self, world: Words) -> None:
        """Look at the worlds of the next look."""
        passed = self.next_look(self.sweeps) - self.sweeps
        _add(self._atom_sweeps, world[self.atoms], passed, self.n_chains)
        if self.events.n_events:
            from markovlogic.kernels.tally_sums import add_events

            planes = np.zeros((self.events.n_events, 8), np.uint64)
            add_events(planes, world, *self.events, np.uint64((1 << self.n_chains) - 1))
            _add(self._event_sweeps, planes[:, 0], passed, self.n_chains)
        self.sweeps += passed

    def saved(self) -> Iterator[Saved]:
        """All that a checkpoint needs."""
        yield Saved("atoms", self._atom_sweeps, self.sweeps)
        yield Saved("events", self._event_sweeps, self.sweeps)

    def restore(self, arrays: Restored, sweeps: int) -> None:
        """Continue after so many sweeps."""
        self.sweeps, before = 0, min(sweeps, self.burn_in)
        while self.sweeps < before and (following := self.next_look(self.sweeps)) <= before:
            self.sweeps = following
        for name, own in (("atoms", self._atom_sweeps), ("events", self._event_sweeps)):
            own[:] = arrays.like(name, own)
            require_within(own, 0, self.sweeps, name)

    def seen(self, *, events: bool = False) -> Sweeps:
        """(n_rows, n_chains) sweeps in which atoms, or events, were true."""
        return self._event_sweeps if events else self._atom_sweeps


def early_of(batches: Sequence[EarlyLooks], *, events: bool = False) -> Early | None:
    """What all batches saw; None where there was no burn-in."""
    if not batches or not batches[0].sweeps:
        return None
    sweeps = batches[0].sweeps
    share = np.concatenate([batch.seen(events=events) / max(batch.sweeps, 1) for batch in batches], axis=1)
    scouts = sum(batch.n_chains for batch in batches if batch.scouts)
    return Early(share, max(sweeps / batches[0].spacing, 1.0), sweeps, scouts=scouts)


def _add(sweeps: Sweeps, words: Words, passed: int, n_chains: int) -> None:
    """Add the sweeps that passed where a bit of a row's word is set."""
    by_byte = words.astype("<u8").reshape(-1, 1).view(np.uint8)
    sweeps += np.unpackbits(by_byte, axis=1, bitorder="little")[:, :n_chains] * sweeps.dtype.type(passed)
