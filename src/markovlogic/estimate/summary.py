"""From the tallies of all batches of a run to estimates."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from markovlogic.estimate.diagnostics import Estimates, Slices, blocks, estimate, joined
from markovlogic.estimate.tallies import Slots, Tallies

Float64 = npt.NDArray[np.float64]
Bool = npt.NDArray[np.bool_]

CHAIN_MEAN_CELLS = 1 << 22  # up to so many numbers, the means of single chains are kept


def atom_estimates(tallies: Sequence[Tallies], decided: Bool | None = None) -> Estimates:
    """Estimates of the query atoms over all batches: from conditionals where they were collected, else from counts."""
    return _estimates(tallies, [t.counts for t in tallies], decided, conditional=tallies[0].sums is not None)


def event_estimates(tallies: Sequence[Tallies]) -> Estimates:
    """Estimates of the events over all batches."""
    return _estimates(tallies, [t.event_counts for t in tallies], None, conditional=False)


def _estimates(tallies: Sequence[Tallies], slots: Sequence[Slots], decided: Bool | None, *, conditional: bool) -> Estimates:
    for tally in tallies:
        tally.settle()
    lengths = tallies[0].clock.lengths()
    n_rows = slots[0].cells[0].shape[0]
    n_chains = sum(tally.n_chains for tally in tallies)
    keep = n_rows * n_chains <= CHAIN_MEAN_CELLS
    parts = []
    for rows in blocks(n_rows, n_chains * max(len(lengths), 1)):
        counts = [np.concatenate([s.cells[at][rows] for s in slots], axis=1) for at in range(len(lengths))]
        sums = None
        if conditional:
            by_batch = [tally.slot_sums(rows) for tally in tallies]
            sums = np.stack([np.concatenate(pieces, axis=1) for pieces in zip(*by_batch, strict=True)])
        shape = (len(lengths), rows.stop - rows.start, n_chains)
        block = Slices(np.array(counts, np.float64).reshape(shape), np.array(lengths, np.float64), sums)
        parts.append(estimate(block, None if decided is None else decided[rows], keep_chains=keep))
    return joined(parts)
