"""[001] Fig. 2(e) and (f): seconds of 100 iterations of one chain over the number of objects, lifted against blocked Gibbs."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from markovlogic.system.progress import Progress
from markovlogic_papers.experiments.comparison import below, slope_interval
from markovlogic_papers.experiments.contest import BG, LBG, Contender, blocked_ones, clusters_of, lifted_blocked
from markovlogic_papers.experiments.drawing import Lines, lines
from markovlogic_papers.experiments.outcome import Cell, Outcome, Table, Verdict
from markovlogic_papers.experiments.stage import Stage, set_stage

ITERATIONS = 100
COLUMNS = ("objects", "atoms", "clauses", "sampler", "iterations", "seconds", "setting_up")


@dataclass(frozen=True)
class IterationScale:
    """Which sizes are measured, and for how long."""

    sizes: tuple[int, ...]
    seconds: float = 20.0  # of each sampler and size: what is slower is measured over fewer iterations, and scaled
    ground_to: int = 200  # objects up to which the network is grounded
    evidence: float = 0.1
    from_size: int = 20  # growth is judged from here on: below it, constant costs dominate


@dataclass(frozen=True)
class Timing:
    """One sampler at one size."""

    objects: int
    atoms: int
    clauses: int | None
    sampler: str
    iterations: int  # that were measured
    seconds: float  # of a hundred
    setting_up: float  # building the sampler; grounding is not in it

    def row(self) -> tuple[Cell, ...]:
        """As a row of COLUMNS."""
        return tuple(getattr(self, name) for name in COLUMNS)


def run_iterations(family: str, variant: str, scale: IterationScale, seed: int, progress: Progress) -> Outcome:
    """One chain each; conditionals are not requested."""
    found: list[Timing] = []
    notes: dict[str, None] = {}
    clusters: dict[int, list[str]] = {}
    for size in scale.sizes:
        progress.stage(f"{size} objects")
        if size > scale.ground_to:
            notes[f"{size} objects: not grounded, left out"] = None
            continue
        stage = set_stage(family, size, scale.evidence, seed, variant=variant, progress=progress)
        clusters[size] = clusters_of(stage)
        blocked, refused = blocked_ones(stage)
        notes |= dict.fromkeys(f"{size} objects: {reason}" for reason in refused)
        found += [_timed(stage, one, size, scale) for one in (lifted_blocked(stage), *blocked)]
    growth = {name: _growth(found, name, scale.from_size) for name in (LBG, BG)}
    verdict = below(growth[LBG], growth[BG], f"seconds grow as objects to the power ({LBG} against {BG})")
    largest = max(one.objects for one in found)
    at_largest = {one.sampler: one.seconds for one in found if one.objects == largest}
    reasons = [f"{largest} objects: {seconds:.3g} s a hundred iterations of {name}" for name, seconds in at_largest.items()]
    few = [f"{one.sampler}, {one.objects} objects: scaled from {one.iterations}" for one in found if one.iterations < ITERATIONS]
    measured = {
        "clusters": clusters,
        "seconds": {name: {one.objects: one.seconds for one in found if one.sampler == name} for name in _names(found)},
        "growth_exponent": {name: interval.as_dict() for name, interval in growth.items()},
    }
    verdict = Verdict(verdict.word, (*verdict.reasons, *reasons, *few, *notes))
    return Outcome(Table(COLUMNS, [one.row() for one in found]), measured, verdict, asdict(scale))


def _timed(stage: Stage, contender: Contender, size: int, scale: IterationScale) -> Timing:
    begun = time.process_time()
    sampler = contender.settings.build(contender.network, 1)
    state = sampler.init(np.random.SeedSequence(0))
    sampler.step(state, 1, burn_in=True)  # compiles and loads what it needs
    built = time.process_time() - begun
    done, seconds = 0, 0.0
    for sweeps in (1, 9, 90):
        begun = time.process_time()
        sampler.step(state, sweeps, burn_in=True)
        done, seconds = done + sweeps, seconds + time.process_time() - begun
        if seconds * 10 > scale.seconds:
            break
    network = stage.network
    return Timing(size, network.n_atoms, network.n_clauses, contender.name, done, seconds * ITERATIONS / done, built)


def _names(found: Sequence[Timing]) -> list[str]:
    return list(dict.fromkeys(one.sampler for one in found))


def _growth(found: Sequence[Timing], sampler: str, from_size: int) -> Any:
    own = [one for one in found if one.sampler == sampler and one.objects >= from_size]
    return slope_interval([one.objects for one in own], [one.seconds for one in own])


def chart(title: str) -> Callable[[Table], Any]:
    """Seconds over objects, on two logarithmic scales."""

    def draw(table: Table) -> Any:
        return lines(
            table,
            Lines(
                title=title,
                x="objects",
                y="seconds",
                by=("sampler",),
                x_title="objects of each type",
                y_title="seconds of 100 iterations, one chain",
                over=None,
                points=True,
                x_ticks=sorted({float(str(n)) for n in table.column("objects")}),
            ),
        )

    return draw
