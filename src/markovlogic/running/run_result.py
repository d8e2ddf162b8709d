"""What a run gives."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from markovlogic.estimation.concerns import Course, doubts_of, has_converged, run_concerns, still_remarks
from markovlogic.estimation.diagnostics import Estimates, with_decided
from markovlogic.estimation.early import EarlyLooks
from markovlogic.estimation.estimator import Estimator
from markovlogic.estimation.orbit_estimates import batch_estimates, chosen_rows, orbit_estimates
from markovlogic.estimation.orbit_pools import PoolObserver
from markovlogic.estimation.summary import atom_estimates, event_estimates
from markovlogic.estimation.tallies import Tallies
from markovlogic.guarantee import Guarantee
from markovlogic.methods.sampling.base import LogZ
from markovlogic.running.batch import Batch
from markovlogic.running.warm import Ended


@dataclass(frozen=True, eq=False)
class RunResult:
    """Estimates of query atoms and events, with all that shows whether to believe them."""

    method: str
    estimator: Estimator  # as planned
    taken: Estimator  # what gave the numbers, where the plan left open whether samples or conditionals do
    query_atoms: npt.NDArray[np.int32]
    atoms: Estimates
    events: Estimates
    chains: int
    draws: int  # a chain, kept; fewer than planned when the run stopped early
    burn_in: int
    updates: int  # atom updates over all chains, burn-in included
    resumed_at: int | None  # draws done before, when a checkpoint was continued
    stopped: str  # "draws", "target", "time" or "interrupt"
    target_stderr: float | None
    guarantee: Guarantee
    counts: dict[str, int]  # the sampler's own counters
    seconds: float  # of sampling, those before a resumption included
    sampler_concerns: tuple[str, ...]
    kept: npt.NDArray[np.bool_] | None  # (chains, draws, query atoms) when draws were kept
    thin: int
    tallies: tuple[Tallies, ...]  # one a batch; of the query atoms, or of all their orbits where conditionals were pooled
    looks: tuple[EarlyLooks, ...] = ()  # one a batch, at burn-in, and that of scouts
    pooling: PoolObserver | None = None  # counts of the orbits, where they were pooled
    starts: tuple[str, ...] = ()  # how each chain started, by a word
    began_true: npt.NDArray[np.int64] | None = None  # (n_query_atoms,) chains in which the atom was true at the start
    ended: Ended | None = None  # the last worlds of the chains
    log_z: LogZ | str | None = None  # from the same chains, where the sampler knows it; a sentence that says why not

    @property
    def interrupted(self) -> bool:
        """Whether a signal ended the run."""
        return self.stopped == "interrupt"

    @property
    def course(self) -> Course:
        """How the run went, as far as it bears on trust."""
        return Course(
            self.stopped,
            self.chains,
            self.draws,
            self.taken.conditional,
            self.target_stderr,
            self.sampler_concerns,
            self.starts,
            self.began_true,
        )

    @property
    def converged(self) -> bool:
        """Whether chains agree, have moved and have stopped drifting."""
        return has_converged(self.atoms, self.events, self.course)

    @property
    def doubts(self) -> npt.NDArray[np.uint8]:
        """(n_query_atoms,) what is doubtful about each row, see `estimation.concerns.doubts_of`."""
        return doubts_of(self.atoms, self.course)

    def concerns(
        self, atom_name: Callable[[int], str] | None = None, event_name: Callable[[int], str] | None = None
    ) -> list[str]:
        """Reasons not to trust the numbers; `atom_name` and `event_name` name the n-th query atom and event."""
        return run_concerns(
            self.atoms,
            self.events,
            self.course,
            atom_name or (lambda row: f"atom {self.query_atoms[row]}"),
            event_name or (lambda row: f"event {row}"),
        )

    def remarks(self, atom_name: Callable[[int], str] | None = None) -> tuple[str, ...]:
        """What should be known of the numbers though it is no reason to distrust them."""
        if not self.draws:
            return ()
        return still_remarks(self.atoms, atom_name or (lambda row: f"atom {self.query_atoms[row]}"), "query atoms", self.course)


@dataclass(frozen=True, eq=False)
class Estimating:
    """From what the batches have gathered so far to estimates."""

    batches: Sequence[Batch]
    atoms: npt.NDArray[np.int32]  # query atoms
    decided: npt.NDArray[np.bool_]  # of the query atoms
    estimator: Estimator
    pooling: PoolObserver | None
    scouts: EarlyLooks | None = None  # burn-in of chains whose draws do not count

    @property
    def looks(self) -> list[EarlyLooks]:
        """At burn-in."""
        own = [batch.early for batch in self.batches if batch.early is not None]
        return own if self.scouts is None else [*own, self.scouts]

    def __call__(self) -> tuple[Estimates, Estimates, Estimator]:
        """Estimates of query atoms and of events, and the estimator that gave them."""
        tallies = [batch.tallies for batch in self.batches]
        looks = self.looks
        units = self.batches[0].sampler.units
        if units is not None:
            series = [batch.units for batch in self.batches if batch.units is not None]
            values = batch_estimates(series, np.ones(units.n_units), total=units.total)
            of_atoms = with_decided(chosen_rows(values, units.of_atom[self.atoms]), self.decided)
            return of_atoms, event_estimates(tallies), self.estimator
        if self.pooling is None:
            return atom_estimates(tallies, self.decided, looks=looks), event_estimates(tallies, looks), self.estimator
        return orbit_estimates(self.pooling.pools, self.pooling.batches, tallies, self.decided, self.estimator, looks)
