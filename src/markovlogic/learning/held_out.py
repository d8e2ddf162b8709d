"""Weights judged by inference: how probable are atoms that were not learned from?

Couplings that were learned with all neighbours known may do harm where none is. So how far they may go from zero is chosen by
inference: in databases that are left out one at a time, where none of their modelled atoms is known; where there is one database
alone, of a part of its modelled atoms at a time. That couplings are not worth having is among the answers. The same parts decide
whether the conditional likelihood is worth going on to.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from markovlogic.learning.chains import WeightedNetwork, chains_of
from markovlogic.learning.databases import Database
from markovlogic.learning.divergence import Likelihood, climb
from markovlogic.learning.information import Preconditioner
from markovlogic.learning.optimise import Chosen, maximise
from markovlogic.learning.preparing import Prepared
from markovlogic.learning.priors import NO_COUPLINGS, Penalty, Prior, penalty_of
from markovlogic.learning.pseudolikelihood import Design
from markovlogic.system import cancellation
from markovlogic.system.arrays import Bool, Float64, Int64, each_once
from markovlogic.system.progress import SILENT, Progress

COUPLINGS = (NO_COUPLINGS, 0.03, 0.1, 0.3, 1.0, 3.0)  # scales that are tried
BURN_IN, SNAPSHOTS, BETWEEN = 40, 20, 3  # sweeps thrown away, worlds looked at, sweeps between them
WORSE = 0.01  # of the best value: from there on it only gets worse
PARTS = 5  # of the atoms of one database alone
MOST_CLIMBS = 3  # parts by which the conditional likelihood is judged


@dataclass(frozen=True, eq=False)
class Part:
    """What is learned from, and what is judged: atoms of some databases, all of a database where they are None.

    others: whether modelled atoms that are not judged are known when the judged ones are inferred, as in the same graph, or not,
    as in another one; both ways add up.
    """

    design: Design
    judged: Sequence[tuple[int, Bool | None]]  # number of the database, its atoms
    others: tuple[bool, ...] = (False,)

    def value(self, ready: Prepared, weights: Float64, seed: int) -> tuple[float, int]:
        """Σ log P of what is judged, and how many atoms were drawn for it."""
        total, updates = 0.0, 0
        for (at, held), known in itertools.product(self.judged, self.others):
            value, drawn = marginal_log_likelihood(ready.networks[at], weights, (seed, at), held, knows_others=known)
            total, updates = total + value, updates + drawn
        return total, updates

    def networks(self, ready: Prepared) -> list[WeightedNetwork]:
        """What chains of the conditional likelihood learn from: atoms that are judged are hidden."""
        judged = dict(self.judged)
        made = []
        for at, network in enumerate(ready.networks):
            held = judged.get(at)
            if held is not None:
                database = network.counting.database
                hiding = replace(network.counting, database=replace(database, hidden=database.hidden | held))
                made.append(replace(network, counting=hiding))
            elif at not in judged:
                made.append(network)
        return made


def parts_of_databases(ready: Prepared, design: Design) -> list[Part]:
    """One database left out at a time."""
    of_unit = design.database[np.searchsorted(design.unit, np.arange(design.n_units))]
    return [Part(design.units_of(of_unit != at), [(at, None)]) for at in range(len(ready.networks))]


def parts_of_atoms(ready: Prepared, n_parts: int, seed: int, others: tuple[bool, ...]) -> list[Part]:
    """A part of the atoms of every database left out at a time; an exclusive group is left out as a whole."""
    folds = [fold_of_atoms(one.database, n_parts, (seed, at)) for at, one in enumerate(ready.countings)]
    made = []
    for part in range(n_parts):
        held = [fold == part for fold in folds]
        design = ready.design([one.truth for one in ready.databases], held)
        made.append(Part(design, list(enumerate(held)), others))
    return made


def fold_of_atoms(database: Database, n_parts: int, seed: Sequence[int]) -> Int64:
    """(n_atoms,) the part of each modelled atom, which is that of its group; -1 where its truth is not known."""
    rng = np.random.default_rng(list(seed))
    unit = np.arange(len(database.truth), dtype=np.int64)
    for groups in database.problem.groups:
        unit[groups.atom] = np.repeat(groups.atom[groups.start[:-1]], np.diff(groups.start))
    known = each_once(unit[~database.hidden])
    part = np.full(len(unit), -1, np.int64)
    part[known] = rng.permutation(len(known)) % n_parts
    return part[unit]


def marginal_log_likelihood(
    network: WeightedNetwork,
    weights: Float64,
    seed: Sequence[int],
    held: Bool | None = None,
    *,
    knows_others: bool = True,
) -> tuple[float, int]:
    """Σ log P(the atom is as the data say | evidence), and how many atoms were drawn for it; of a group its true value alone.

    held: atoms that are judged; None: all of them. knows_others: the others are as the data say, else they are inferred too.
    """
    database = network.counting.database
    clamped = ~held & ~database.hidden if held is not None and knows_others else None
    chains = chains_of(network, np.random.SeedSequence(list(seed)), clamped)
    chains.sweep(weights, BURN_IN)
    n = len(database.truth)
    true = np.zeros(n)
    for _ in range(SNAPSHOTS):
        cancellation.check()
        true += np.bitwise_count(chains.sweep(weights, BETWEEN)[:n])
        if cancellation.current().over:
            break
    share = (true + 0.5) / (SNAPSHOTS * chains.n_chains + 1)
    log_share = np.log(np.where(database.truth, share, 1 - share))
    counts = ~database.hidden & ((network.counting.group < 0) | database.truth)
    if held is not None:
        counts &= held
    return float(log_share[counts].sum()), chains.updates


def all_together(networks: Sequence[WeightedNetwork], weights: Float64, seed: int) -> tuple[float, int]:
    """The same of several databases."""
    found = [marginal_log_likelihood(network, weights, (seed, at)) for at, network in enumerate(networks)]
    return sum(value for value, _ in found), sum(updates for _, updates in found)


def with_coupling_scale(ready: Prepared, parts: Sequence[Part], local: Chosen, how: str, seed: int, progress: Progress) -> Chosen:
    """The prior with the strength for couplings by which inference predicts left-out atoms best."""
    starts: list[Float64 | None] = [None] * len(parts)
    progress.stage("held-out inference", len(COUPLINGS) * len(parts))
    best: tuple[float, float] | None = None
    done = drawn = 0
    for scale in COUPLINGS:
        penalty = penalty_of(replace(local.prior, coupling=scale), ready.is_base, ready.is_coupling)
        total = 0.0
        for number, part in enumerate(parts):
            weights, _ = maximise(part.design, penalty, starts[number], tolerance=1e-6)
            starts[number] = weights
            value, updates = part.value(ready, weights, seed)
            total, drawn = total + value, drawn + updates
            if cancellation.current().over:
                cancellation.check()
                return Chosen(_cut_short(local.prior, best, scale), f"{how}, cut short by the time limit", local.start, drawn)
            done += 1
            progress.advance(done, f"couplings of scale {scale:g}" if scale else "no couplings")
        if best is None or total > best[0]:
            best = (total, scale)
        elif total < best[0] * (1 + WORSE):
            break
    assert best is not None
    made = Chosen(replace(local.prior, coupling=best[1]), how, local.start, drawn)
    return _compared(ready, parts, made, seed, progress) if made.prior.has_couplings else made


def _compared(ready: Prepared, parts: Sequence[Part], chosen: Chosen, seed: int, progress: Progress) -> Chosen:
    """Whether weights of the conditional likelihood predict what is left out better than those of the pseudo-likelihood."""
    parts = parts[:MOST_CLIMBS]
    penalty = penalty_of(chosen.prior, ready.is_base, ready.is_coupling)
    pseudo = conditional = 0.0
    drawn, n_judged = chosen.updates, 0
    progress.stage("held-out conditional likelihood", len(parts))
    for number, part in enumerate(parts):
        weights, _ = maximise(part.design, penalty, tolerance=1e-6)
        value, updates = part.value(ready, weights, seed)
        pseudo, drawn = pseudo + value, drawn + updates
        further, updates = _climbed(ready, part, weights, penalty, seed)
        value, more = part.value(ready, further, seed)
        conditional, drawn = conditional + value, drawn + updates + more
        if cancellation.current().over:
            return replace(chosen, updates=drawn)
        sizes = [int(ready.databases[at].truth.size if held is None else held.sum()) for at, held in part.judged]
        n_judged += len(part.others) * sum(sizes)
        progress.advance(number + 1)
    note = (
        f"log-likelihood a left-out atom: {pseudo / max(n_judged, 1):.4f} with weights of the pseudo-likelihood,"
        f" {conditional / max(n_judged, 1):.4f} with those of the conditional likelihood"
    )
    return replace(chosen, updates=drawn, goes_on=conditional > pseudo, notes=(note,))


def _climbed(ready: Prepared, part: Part, weights: Float64, penalty: Penalty, seed: int) -> tuple[Float64, int]:
    """Weights of the conditional likelihood of what a part learns from, and how many atoms were drawn for them."""
    information = part.design.information(weights)
    rough = 1 / np.sqrt(np.maximum(information.diagonal() + penalty.precision, 1e-12))
    likelihood = Likelihood(part.networks(ready), seed)
    found = climb(likelihood, weights, penalty, Preconditioner(information, penalty.precision), rough, SILENT, errors=False)
    return found.weights, found.updates


def _cut_short(prior: Prior, best: tuple[float, float] | None, untried: float) -> Prior:
    """The prior where time ended the search: couplings as all other weights, unless narrower ones were seen to do better."""
    if best is None or COUPLINGS.index(best[1]) + 1 == COUPLINGS.index(untried):
        return prior
    return replace(prior, coupling=best[1])
