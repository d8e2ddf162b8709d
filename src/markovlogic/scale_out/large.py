"""Components that are too large for one task to sample: stored once, sampled by groups of chains, and merged.

A task runs one batch of the chains of one run. What the batches count goes to files by ranges of atoms, so that no task holds the
counts of all chains and atoms; the merged answer has the bits of that run in one process.
"""

from __future__ import annotations

import math
import pickle
import uuid
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import reduce
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from markovlogic.system.arrays import Int64

if TYPE_CHECKING:
    from markovlogic.estimation.concerns import Course
    from markovlogic.estimation.diagnostics import Slices
    from markovlogic.guarantee import Guarantee
    from markovlogic.running.run import Task
    from markovlogic.running.run_result import RunResult
    from markovlogic.running.sampling import Sampling, Schedule
    from markovlogic.scale_out.answers import Answers

LARGE = 500_000  # atoms and clauses of a component from which on tasks share its chains
CHAINS = 256  # of such a component, where the user gives no number; as many draws in all as 64 chains make
ROWS = 50_000  # atoms whose counts are merged at once
COUNTED = "path string, part int"
Given = TypeVar("Given")
Made = TypeVar("Made")


@dataclass(frozen=True, eq=False)
class LargeComponent:
    """A component on its way, as it is stored."""

    task: Task
    schedule: Schedule
    name: str  # of the method
    atoms: Int64  # codes
    events: tuple[int, ...]  # numbers of the formulas that the task has

    @property
    def n_ranges(self) -> int:
        """Pieces in which counts are merged."""
        return max(1, -(-len(self.atoms) // ROWS))

    def rows(self, number: int) -> slice:
        """Atoms of one range."""
        return slice(number * ROWS, min((number + 1) * ROWS, len(self.atoms)))


def schedule_of(sampling: Sampling, default_chains: int) -> Schedule:
    """Four batches of chains where the user leaves their number open."""
    if sampling.chains is not None:
        return sampling.schedule(default_chains)
    usual = sampling.schedule(default_chains)
    draws = usual.draws if sampling.draws is not None else max(1, usual.draws * default_chains // CHAINS)
    return replace(sampling.schedule(CHAINS), draws=draws)


@dataclass(frozen=True)
class CountChains:
    """Run batches of chains and store what they counted."""

    def __call__(self, table: Any) -> Any:
        """Rows of path and batch to the files that were written."""
        return aside(self._count, table)

    def _count(self, table: Any) -> Any:
        import pyarrow as pa

        from markovlogic.running.run import run

        for path, batch in zip(table["path"].to_pylist(), table["part"].to_pylist(), strict=True):
            stored: LargeComponent = load(path)
            found = run(stored.task, stored.schedule, threads=1, only=batch)
            for number, part in enumerate(_counted(stored, found)):
                store(f"{path}.{batch}.{number}", part)
        return pa.table({"path": table["path"].combine_chunks(), "part": table["part"].combine_chunks()})


@dataclass(frozen=True, eq=False)
class Counted:
    """What one batch knows of one range of atoms; of the formulas too in the first one."""

    atoms: Slices
    events: Slices | None
    course: Course
    guarantee: Guarantee


def _counted(stored: LargeComponent, found: RunResult) -> list[Counted]:
    from markovlogic.estimation.summary import gathered, pieces_of

    made = []
    of_atoms = gathered(found.tallies, looks=found.looks)
    pieces = pieces_of(list(of_atoms.kept.values()), stored.schedule.chains)
    for number in range(stored.n_ranges):
        rows = stored.rows(number)
        events = None
        if number == 0 and stored.events:
            of_events = gathered(found.tallies, looks=found.looks, events=True)
            events = of_events.slices(slice(0, of_events.n_rows), pieces)
        began = None if found.began_true is None else found.began_true[rows]
        course = replace(found.course, began_true=began)
        made.append(Counted(of_atoms.slices(rows, pieces), events, course, found.guarantee))
    return made


@dataclass(frozen=True)
class MergeChains:
    """Merge what all batches counted of ranges of atoms."""

    concerns: int  # shown, of one range

    def __call__(self, table: Any) -> Any:
        """Rows of path and range to rows of answers."""
        return aside(self._merge, table)

    def _merge(self, table: Any) -> Any:
        from markovlogic.scale_out.answers import Answers

        made = Answers()
        for path, number in zip(table["path"].to_pylist(), table["part"].to_pylist(), strict=True):
            stored: LargeComponent = load(path)
            parts: list[Counted] = [load(f"{path}.{batch}.{number}") for batch in range(n_batches(stored))]
            _merged(stored, number, parts, self.concerns, made)
        made.solved(table.num_rows)
        return made.table()


def _merged(stored: LargeComponent, number: int, parts: list[Counted], most_concerns: int, made: Answers) -> None:
    """Estimates as one run over all chains would give them."""
    from markovlogic.estimation.concerns import has_converged, run_concerns
    from markovlogic.estimation.diagnostics import Estimates, undefined

    rows = stored.rows(number)
    codes = stored.atoms[rows]
    decided = stored.task.network.decided(stored.task.query_atoms[rows])
    values = _estimates([part.atoms for part in parts], decided)
    events: Estimates = undefined(0)
    if parts[0].events is not None:
        events = _estimates([part.events for part in parts if part.events is not None], None)
    course = parts[0].course
    began = [part.course.began_true for part in parts if part.course.began_true is not None]
    course = replace(
        course,
        began_true=np.sum(began, axis=0) if began else None,
        sampler_concerns=tuple(dict.fromkeys(text for part in parts for text in part.course.sampler_concerns)),
        starts=tuple(word for part in parts for word in part.course.starts),
    )
    guarantee = reduce(lambda one, other: one | other, (part.guarantee for part in parts))
    made.atoms(codes, values)
    finite = values.rhat[np.isfinite(values.rhat)]
    made.component(
        codes[:1],
        f"{stored.name}, {guarantee.value}",
        converged=has_converged(values, events, course),
        rhat=finite.max() if len(finite) else math.nan,
        atoms=len(codes),
    )

    def name(row: int) -> str:
        return f"atom({codes[row]})"

    made.concerns(
        codes[:1], run_concerns(values, events, course, name, lambda row: f"formula({stored.events[row]})")[:most_concerns]
    )
    if parts[0].events is not None:
        made.events(stored.events, events)


def _estimates(parts: list[Slices], decided: Any) -> Any:
    from markovlogic.estimation.diagnostics import blocks, chains_together, estimate, joined
    from markovlogic.estimation.summary import CHAIN_MEAN_CELLS

    whole = chains_together(parts)
    n_slots, n_rows, n_chains = whole.counts.shape
    keep = n_rows * n_chains <= CHAIN_MEAN_CELLS
    if whole.early is not None and keep:
        whole = replace(whole, early=whole.early.together(whole.counts.sum(axis=0) / whole.lengths.sum()))
    found = []
    for rows in blocks(n_rows, n_chains * n_slots):
        own = replace(
            whole,
            counts=whole.counts[:, rows],
            sums=None if whole.sums is None else whole.sums[:, rows],
            early=None if whole.early is None else whole.early.rows(rows),
        )
        found.append(estimate(own, None if decided is None else decided[rows], keep_chains=keep))
    return joined(found)


def n_batches(stored: LargeComponent) -> int:
    """Tasks that sample it."""
    from markovlogic.running.run import number_of_batches

    return number_of_batches(stored.task.settings, stored.schedule.chains)


def aside(call: Callable[[Given], Made], given: Given) -> Made:
    """Call in a thread of its own: engines call from threads that Python did not start."""
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(call, given).result()


def store(path: str, value: Any) -> None:
    """Write a value where all executors read; whole or not at all, and the same again where a task is repeated."""
    files, own = _files(path)
    half = f"{own}.{uuid.uuid4().hex}"
    with files.open_output_stream(half) as file:
        pickle.dump(value, file, protocol=5)
    files.move(half, own)


def load(path: str) -> Any:
    """Read what `store` wrote."""
    files, own = _files(path)
    with files.open_input_file(own) as file:
        return pickle.load(file)


def _files(path: str) -> tuple[Any, str]:
    from pyarrow import fs

    return fs.FileSystem.from_uri(path) if "://" in path else (fs.LocalFileSystem(), path)
