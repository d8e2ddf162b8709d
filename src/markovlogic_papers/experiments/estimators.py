"""[003] Fig. 2: the error of the standard and of the symmetry-aware estimator over time, on the same draws of each sampler."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

from markovlogic.methods.sampling.base import Settings
from markovlogic.system.progress import Progress
from markovlogic_papers.experiments.comparison import Interval, at_least, ratio_interval
from markovlogic_papers.experiments.drawing import Lines, lines
from markovlogic_papers.experiments.follow import (
    COLUMNS,
    KL_TITLE,
    NETWORK_ORBIT,
    ORBIT,
    SAMPLE,
    Divergence,
    Look,
    Pursuit,
    Truth,
    follow,
)
from markovlogic_papers.experiments.outcome import Outcome, Table, Verdict
from markovlogic_papers.experiments.stage import Orbits, Stage, network_orbits, renaming_orbits

TENTH = 10  # gains of early looks, before a tenth of the draws, are left out of the median


@dataclass(frozen=True)
class CurveScale:
    """How big a panel of Fig. 2 is made."""

    size: int
    draws: Mapping[str, int]  # by sampler
    problem_seed: int = 0  # added to the seed of the chains
    runs: int = 10
    seconds: float = 600.0  # of sampling, by sampler
    gold_burn_in: int = 0
    gold_draws: int = 0
    search_seconds: float = 30.0  # for automorphisms of the ground network
    kl: Divergence = "est||true"


@dataclass(frozen=True, eq=False)
class Setting:
    """What samplers are measured on: a problem, its orbits by estimator, and its truth."""

    stage: Stage
    orbits: Mapping[str, Orbits]
    truth: Truth


def measure(
    setting: Setting,
    samplers: Mapping[str, Settings],
    scale: CurveScale,
    seed: int,
    *,
    least_gain: float,
    progress: Progress,
    beyond: Sequence[str] = (),
    more: Mapping[str, Any] | None = None,
) -> Outcome:
    """Follow every sampler, and judge whether the orbit estimator's error is smaller by `least_gain` at the end.

    The verdict is about the estimator ORBIT and the samplers that are not `beyond` the paper; the rest is reported beside it.
    """
    stage, orbits, truth = setting.stage, setting.orbits, replace(setting.truth, kl=scale.kl)
    looks: list[Look] = []
    counters: dict[str, Any] = {}
    for name, settings in samplers.items():
        found, counts = follow(
            name,
            settings,
            stage,
            orbits,
            truth,
            Pursuit(scale.runs, scale.draws[name], seed, seconds=scale.seconds),
            progress=progress,
        )
        looks += found
        if counts:
            counters[name] = counts
    gains = {name: final_gain(looks, name) for name in samplers if name not in beyond}
    measured: dict[str, Any] = {
        "atoms": stage.network.n_atoms,
        "clauses": stage.network.n_clauses,
        "orbits": {
            name: {"found_by": own.how, "number": len(own.size), "largest": int(own.size.max()), "seconds": own.seconds}
            for name, own in orbits.items()
        },
        "truth": truth.how,
        **truth.checks,
        "gain_at_end": {e: {name: final_gain(looks, name, e).as_dict() for name in samplers} for e in orbits},
        "median_gain": {e: {name: median_gain(looks, name, e) for name in samplers} for e in orbits},
        "final_kl": {name: final_errors(looks, name) for name in samplers},
        "sampler_counters": counters,
        **(more or {}),
    }
    verdict = at_least(gains, least_gain, "error of the standard estimator over that of the orbit estimator")
    beside = [
        f"{name}, not judged: {final_gain(looks, name, e)} with {own.how}"
        for e, own in orbits.items()
        for name in samplers
        if e != ORBIT or name in beyond
    ]
    beside += [
        f"{name}: {counts['parts_searched']} parts were drawn by SampleSAT, which is not uniform: its bias is in both estimates"
        for name, counts in counters.items()
        if counts.get("parts_searched")
    ]
    verdict = Verdict(verdict.word, (*verdict.reasons, *beside))
    return Outcome(Table(COLUMNS, [look.row() for look in looks]), measured, verdict, asdict(scale))


def both_orbits(stage: Stage, scale: CurveScale, progress: Progress) -> dict[str, Orbits]:
    """Orbits under renamings, as in [003], and under all symmetries of the ground network where their search ends in time."""
    progress.stage("symmetry")
    found = {ORBIT: renaming_orbits(stage.problem)}
    searched = network_orbits(stage, budget_seconds=scale.search_seconds) if scale.search_seconds > 0 else None
    return found if searched is None else found | {NETWORK_ORBIT: searched}


def final_gain(looks: Sequence[Look], sampler: str, estimator: str = ORBIT) -> Interval:
    """How many times larger the standard estimator's KL is than the orbit estimator's after all draws, paired by run."""
    last = max(look.draws for look in looks if look.sampler == sampler)
    return ratio_interval(_errors(looks, sampler, SAMPLE, last), _errors(looks, sampler, estimator, last))


def median_gain(looks: Sequence[Look], sampler: str, estimator: str = ORBIT) -> float:
    """The median over the later looks of the same ratio."""
    last = max(look.draws for look in looks if look.sampler == sampler)
    late = sorted({look.draws for look in looks if look.sampler == sampler and look.draws * TENTH >= last})
    each = [ratio_interval(_errors(looks, sampler, SAMPLE, at), _errors(looks, sampler, estimator, at)).estimate for at in late]
    return float(np.median(each))


def final_errors(looks: Sequence[Look], sampler: str) -> dict[str, float]:
    """Mean KL over the runs after all draws, by estimator."""
    last = max(look.draws for look in looks if look.sampler == sampler)
    names = dict.fromkeys(look.estimator for look in looks if look.sampler == sampler)
    return {name: float(np.mean(_errors(looks, sampler, name, last))) for name in names}


def _errors(looks: Sequence[Look], sampler: str, estimator: str, draws: int) -> list[float]:
    chosen = (look for look in looks if (look.sampler, look.estimator, look.draws) == (sampler, estimator, draws))
    return [look.kl for look in sorted(chosen, key=lambda look: look.run)]


def chart(title: str) -> Callable[[Table], Any]:
    """Error over time, one line an estimator and sampler."""

    def draw(table: Table) -> Any:
        return lines(
            table,
            Lines(
                title=title,
                x="seconds",
                y="kl",
                by=("estimator", "sampler"),
                at="draws",
                x_title="seconds (all runs together)",
                y_title=KL_TITLE,
            ),
        )

    return draw
