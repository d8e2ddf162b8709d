"""From the tallies of all batches of a run to estimates."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from markovlogic.estimation.diagnostics import Estimates, Slices, blocks, estimate, joined, middle, undefined
from markovlogic.estimation.early import Early, EarlyLooks, early_of
from markovlogic.estimation.slots import MANY_CHAINS
from markovlogic.estimation.tallies import Slots, Tallies
from markovlogic.system.arrays import Bool

CHAIN_MEAN_CELLS = 1 << 22  # up to so many numbers, the means of single chains are kept


def atom_estimates(
    tallies: Sequence[Tallies],
    decided: Bool | None = None,
    *,
    conditional: bool | None = None,
    looks: Sequence[EarlyLooks] = (),
) -> Estimates:
    """Estimates of the tallied atoms over all batches: from conditionals where they were collected, else from counts.

    `conditional` says which of the two, where both are there. looks: of the same atoms and chains, at burn-in.
    """
    return gathered(tallies, conditional=conditional, looks=looks).estimates(decided)


def event_estimates(tallies: Sequence[Tallies], looks: Sequence[EarlyLooks] = ()) -> Estimates:
    """Estimates of the events over all batches."""
    return gathered(tallies, looks=looks, events=True).estimates(None)


def gathered(
    tallies: Sequence[Tallies], *, conditional: bool | None = None, looks: Sequence[EarlyLooks] = (), events: bool = False
) -> Gathered:
    """What batches have counted of their atoms, or of their events."""
    for tally in tallies:
        tally.settle()
    slots = [tally.event_counts if events else tally.counts for tally in tallies]
    if conditional is None:
        conditional = tallies[0].sums is not None
    return Gathered(tallies, slots, tallies[0].clock.kept(), conditional and not events, early_of(looks, events=events))


@dataclass(frozen=True, eq=False)
class Gathered:
    """Counts of all chains of some batches."""

    tallies: Sequence[Tallies]
    slots: Sequence[Slots]
    kept: dict[int, int]  # slots that count, and the draws in each
    conditional: bool
    early: Early | None

    @property
    def n_rows(self) -> int:
        """Atoms or events."""
        return int(self.slots[0].cells[0].shape[0])

    @property
    def n_chains(self) -> int:
        """Chains of all batches."""
        return sum(tally.n_chains for tally in self.tallies)

    def estimates(self, decided: Bool | None) -> Estimates:
        """Estimates of all rows."""
        if not self.kept:
            return undefined(self.n_rows)
        keep = self.n_rows * self.n_chains <= CHAIN_MEAN_CELLS
        early = self.early
        if early is not None and keep:
            by_batch = [sum(own.cells[number].astype(np.float64) for number in self.kept) for own in self.slots]
            total = np.concatenate(by_batch, axis=1)
            early = early.together(total / sum(self.kept.values()))
        pieces = pieces_of(list(self.kept.values()), self.n_chains)
        parts = []
        for rows in blocks(self.n_rows, self.n_chains * max(len(pieces), 1)):
            slices = self.slices(rows, pieces)
            slices = replace(slices, early=None if early is None else early.rows(rows))
            parts.append(estimate(slices, None if decided is None else decided[rows], keep_chains=keep))
        return joined(parts)

    def slices(self, rows: slice, pieces: Sequence[range]) -> Slices:
        """What is known of some rows. pieces: slots that are added together."""
        used, lengths = list(self.kept), list(self.kept.values())
        counts = np.zeros((len(pieces), rows.stop - rows.start, self.n_chains))
        for at, piece in enumerate(pieces):
            first = 0
            for own in self.slots:
                last = first + own.cells[0].shape[1]
                for number in piece:
                    counts[at, :, first:last] += own.cells[used[number]][rows]
                first = last
        sums = None
        if self.conditional:
            by_batch = [tally.slot_sums(rows) for tally in self.tallies]
            sums = np.stack([np.concatenate(parts_of_chains, axis=1) for parts_of_chains in zip(*by_batch, strict=True)])
            if len(sums) > 1 and len(sums) != len(pieces):  # kept by slot, so that some could be dropped
                sums = sums.sum(axis=0, keepdims=True)
        sizes = np.array([sum(lengths[at] for at in piece) for piece in pieces], np.float64)
        return Slices(counts, sizes, sums, None if self.early is None else self.early.rows(rows))


def pieces_of(lengths: Sequence[int], n_chains: int) -> list[range]:
    """Which slots are looked at together: with many chains they are for the halves only."""
    if n_chains >= MANY_CHAINS and len(lengths) > 2:
        half = middle(lengths)
        return [range(half), range(half, len(lengths))]
    return [range(at, at + 1) for at in range(len(lengths))]
