"""From the tallies of all batches of a run to estimates."""

from __future__ import annotations

from collections.abc import Sequence

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
    if conditional is None:
        conditional = tallies[0].sums is not None
    return _estimates(tallies, [t.counts for t in tallies], decided, early_of(looks), conditional=conditional)


def event_estimates(tallies: Sequence[Tallies], looks: Sequence[EarlyLooks] = ()) -> Estimates:
    """Estimates of the events over all batches."""
    return _estimates(tallies, [t.event_counts for t in tallies], None, early_of(looks, events=True), conditional=False)


def _estimates(
    tallies: Sequence[Tallies], slots: Sequence[Slots], decided: Bool | None, early: Early | None, *, conditional: bool
) -> Estimates:
    for tally in tallies:
        tally.settle()
    kept = tallies[0].clock.kept()
    used, lengths = list(kept), list(kept.values())
    n_rows = slots[0].cells[0].shape[0]
    if not lengths:
        return undefined(n_rows)
    n_chains = sum(tally.n_chains for tally in tallies)
    keep = n_rows * n_chains <= CHAIN_MEAN_CELLS
    pieces = [range(at, at + 1) for at in range(len(lengths))]
    if n_chains >= MANY_CHAINS and len(lengths) > 2:  # slots are for the halves only
        half = middle(lengths)
        pieces = [range(half), range(half, len(lengths))]
    if early is not None and keep:
        total = np.concatenate([sum(own.cells[number].astype(np.float64) for number in used) for own in slots], axis=1)
        early = early.together(total / sum(lengths))
    sizes = np.array([sum(lengths[at] for at in piece) for piece in pieces], np.float64)
    parts = []
    for rows in blocks(n_rows, n_chains * max(len(pieces), 1)):
        counts = np.zeros((len(pieces), rows.stop - rows.start, n_chains))
        for at, piece in enumerate(pieces):
            first = 0
            for own in slots:
                last = first + own.cells[0].shape[1]
                for number in piece:
                    counts[at, :, first:last] += own.cells[used[number]][rows]
                first = last
        sums = None
        if conditional:
            by_batch = [tally.slot_sums(rows) for tally in tallies]
            sums = np.stack([np.concatenate(parts_of_chains, axis=1) for parts_of_chains in zip(*by_batch, strict=True)])
            if len(sums) > 1 and len(sums) != len(pieces):  # kept by slot, so that some could be dropped
                sums = sums.sum(axis=0, keepdims=True)
        slices = Slices(counts, sizes, sums, None if early is None else early.rows(rows))
        parts.append(estimate(slices, None if decided is None else decided[rows], keep_chains=keep))
    return joined(parts)
