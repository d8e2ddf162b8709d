"""[003] Fig. 3: time and sample points until the average KL divergence is below 10⁻⁴, over the number of people."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

from markovlogic.methods.sampling.gibbs import Gibbs
from markovlogic.system.progress import Progress
from markovlogic_papers.experiments.answers import answered, asking
from markovlogic_papers.experiments.comparison import Interval, ratio_interval, slope_interval
from markovlogic_papers.experiments.drawing import Lines, lines
from markovlogic_papers.experiments.follow import ORBIT, SAMPLE, Divergence, Look, Pursuit, Truth, follow, gold_run
from markovlogic_papers.experiments.outcome import Cell, Outcome, Table, Verdict
from markovlogic_papers.experiments.stage import Stage, renaming_orbits, set_stage
from markovlogic_papers.experiments.truths import smokers_truth

TARGET = 1e-4
EXACT = "exact"  # the sum over counts that is written for this model
LIFTED_ALL, LIFTED_ONE = "lifted, all marginals", "lifted, one marginal"  # where [003] has WFOMC
COLUMNS = ("model", "people", "atoms", "estimator", "run", "reached", "draws", "updates", "seconds")


@dataclass(frozen=True)
class SizeScale:
    """How far Fig. 3 is followed."""

    people: tuple[int, ...]
    runs: int = 10
    most_draws: int = 50_000
    seconds: float = 900.0  # of sampling, for each number of people
    per_decade: int = 24
    gold_burn_in: int = 500
    gold_draws: int = 6000
    kl: Divergence = "est||true"


@dataclass(frozen=True)
class Arrival:
    """When one run's estimate came below the target; what was not reached holds where the run was left."""

    model: str  # "plain" or "transitive"
    people: int
    atoms: int
    estimator: str
    run: int
    reached: bool
    draws: int
    updates: int
    seconds: float

    def row(self) -> tuple[Cell, ...]:
        """As a row of COLUMNS."""
        return tuple(getattr(self, name) for name in COLUMNS)


_MEASURED: dict[tuple[SizeScale, bool, int], tuple[Arrival, ...]] = {}


def arrivals(scale: SizeScale, transitive: bool, seed: int, progress: Progress) -> tuple[Arrival, ...]:
    """All runs of one model; kept while the program runs, since several panels show the same runs."""
    key = (scale, transitive, seed)
    if key not in _MEASURED:
        found: list[Arrival] = []
        for people in scale.people:
            stage = set_stage("transitivity" if transitive else "smokers", people, 0.0, seed, progress=progress)
            found += _of_size(scale, stage, people, transitive, seed, progress)
        _MEASURED[key] = tuple(found)
    return _MEASURED[key]


def _of_size(scale: SizeScale, stage: Stage, people: int, transitive: bool, seed: int, progress: Progress) -> list[Arrival]:
    model = "transitive" if transitive else "plain"
    n_atoms = stage.network.n_atoms
    renaming_orbits(stage.problem)  # the first call of a program loads what it needs
    orbits = renaming_orbits(stage.problem)
    found: list[Arrival] = []
    if transitive:
        truth = gold_run(Gibbs(), stage, orbits, burn_in=scale.gold_burn_in, draws=scale.gold_draws, seed=seed, progress=progress)
    else:
        smokers_truth(stage)  # loads what the sum needs, so that the time is its own
        begun = time.process_time()
        truth = Truth.exact(smokers_truth(stage), "exact: sum over counts")
        found.append(Arrival(model, people, n_atoms, EXACT, 1, True, 0, 0, time.process_time() - begun))
        found += [Arrival(model, people, n_atoms, name, 1, True, 0, 0, seconds) for name, seconds in _lifted(stage, truth)]
    looks, _ = follow(
        "gibbs",
        Gibbs(scan="random"),
        stage,
        {ORBIT: orbits},
        replace(truth, kl=scale.kl),
        Pursuit(scale.runs, scale.most_draws, seed, scale.per_decade, scale.seconds, _all_below),
        progress=progress,
    )
    for estimator in (SAMPLE, ORBIT):
        for run in range(1, scale.runs + 1):
            own = [look for look in looks if (look.estimator, look.run) == (estimator, run)]
            first = next((look for look in own if look.kl < TARGET), None)
            at = first or own[-1]
            found.append(Arrival(model, people, n_atoms, estimator, run, first is not None, at.draws, at.updates, at.seconds))
    return found


def _lifted(stage: Stage, truth: Truth) -> list[tuple[str, float]]:
    """Seconds of lifted inference for all marginals, which have to be the truth, and for that of one person's smoking."""
    one = asking(stage.prepared, "Smokes(P0)")
    answered(one, "lifted")  # loads what it needs
    every = answered(stage.prepared, "lifted")
    wrong = float(np.abs(every.probability - truth.probability).max())
    if wrong > 1e-9:
        raise ValueError(f"lifted inference is {wrong:.1e} away from the sum over counts")
    return [(LIFTED_ALL, every.seconds), (LIFTED_ONE, answered(one, "lifted").seconds)]


def _all_below(fresh: list[Look]) -> bool:
    """Whether the standard estimates of all runs are below the target now; the orbit estimates are earlier."""
    return all(look.kl < TARGET for look in fresh)


# ---- what the panels make of them


def growth(found: Sequence[Arrival], estimator: str, what: str) -> Interval:
    """Exponent of seconds or updates over the number of people."""
    own = [a for a in found if a.estimator == estimator and a.reached]
    return slope_interval([a.people for a in own], [getattr(a, what) for a in own])


def means(found: Sequence[Arrival], estimator: str, what: str) -> dict[int, float]:
    """Mean over the runs that reached the target, by number of people."""
    sizes = sorted({a.people for a in found})
    own = {n: [getattr(a, what) for a in found if (a.people, a.estimator) == (n, estimator) and a.reached] for n in sizes}
    return {n: float(np.mean(values)) for n, values in own.items() if values}


def missed(found: Sequence[Arrival]) -> list[str]:
    """What did not reach the target, for the reasons of a verdict."""
    late = sorted({(a.people, a.estimator) for a in found if not a.reached})
    return [f"{estimator} with {people} people: not all runs reached the target" for people, estimator in late]


def compare_growth(found: Sequence[Arrival], what: str) -> Verdict:
    """Whether the orbit estimator's cost grows more slowly with the number of people than the standard one's."""
    slow, fast = growth(found, ORBIT, what), growth(found, SAMPLE, what)
    word = "agrees" if slow.high < fast.low else "differs" if slow.low > fast.high else "unclear"
    reason = f"{what} grow as people to the power {slow} with the orbit estimator, {fast} with the standard one"
    return Verdict(word, (reason, *missed(found)))  # type: ignore[arg-type]


def size_outcome(found: Sequence[Arrival], what: str, verdict: Verdict, scale: SizeScale, more: dict[str, Any]) -> Outcome:
    """The panel of one model."""
    estimators = [name for name in (SAMPLE, ORBIT, EXACT, LIFTED_ALL, LIFTED_ONE) if any(a.estimator == name for a in found)]
    measured = {
        "target": TARGET,
        f"mean_{what}": {name: means(found, name, what) for name in estimators},
        "growth_exponent": {name: growth(found, name, what).as_dict() for name in (SAMPLE, ORBIT)},
        **more,
    }
    return Outcome(Table(COLUMNS, [a.row() for a in found]), measured, verdict, asdict(scale))


def with_over_without(scale: SizeScale, seed: int, progress: Progress) -> tuple[Interval, dict[int, Interval]]:
    """Sample points of the orbit estimator with transitivity over those without: all sizes together, and one by one."""
    both = [arrivals(scale, transitive, seed, progress) for transitive in (True, False)]
    pairs = {}
    for people in scale.people:
        pairs[people] = [
            [a.draws for a in sorted(side, key=lambda a: a.run) if (a.people, a.estimator) == (people, ORBIT)] for side in both
        ]
    pooled = ratio_interval(*(np.concatenate([pair[side] for pair in pairs.values()]) for side in (0, 1)))
    return pooled, {people: ratio_interval(*pair) for people, pair in pairs.items()}


def chart(title: str, what: str, y_title: str, shown: Sequence[str]) -> Callable[[Table], Any]:
    """Cost over the number of people, on two logarithmic scales."""

    def draw(table: Table) -> Any:
        keep = [row for row in table.rows if row[COLUMNS.index("estimator")] in shown and row[COLUMNS.index("reached")]]
        return lines(
            Table(table.columns, keep),
            Lines(
                title=title,
                x="people",
                y=what,
                by=("estimator", "model"),
                x_title="people",
                y_title=y_title,
                points=True,
                x_ticks=sorted({float(str(n)) for n in table.column("people")}),
            ),
        )

    return draw


QUICK = SizeScale(people=(10, 15, 20, 30), seconds=8, gold_draws=10_000)
FULL = SizeScale(people=(10, 20, 30, 50, 70, 100))
