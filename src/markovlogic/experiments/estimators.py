"""[003] Fig. 2: the error of the standard and of the symmetry-aware estimator over time, on the same draws of each sampler."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from markovlogic.experiments.comparison import Interval, at_least, ratio_interval
from markovlogic.experiments.drawing import lines
from markovlogic.experiments.follow import COLUMNS, ORBIT, SAMPLE, Look, Truth, follow
from markovlogic.experiments.outcome import Outcome, Table
from markovlogic.experiments.stage import Orbits, Stage
from markovlogic.progress import Progress
from markovlogic.samplers.base import Settings

TENTH = 10  # gains of early looks, before a tenth of the draws, are left out of the median


@dataclass(frozen=True)
class CurveScale:
    """How big a panel of Fig. 2 is made."""

    size: int
    draws: Mapping[str, int]  # by sampler
    runs: int = 10
    seconds: float = 600.0  # of sampling, by sampler
    gold_burn_in: int = 0
    gold_draws: int = 0


def measure(
    stage: Stage,
    orbits: Orbits,
    truth: Truth,
    samplers: Sequence[Settings],
    scale: CurveScale,
    seed: int,
    *,
    least_gain: float,
    progress: Progress,
    more: Mapping[str, Any] | None = None,
) -> Outcome:
    """Follow every sampler, and judge whether the orbit estimator's error is smaller by `least_gain` at the end."""
    looks: list[Look] = []
    counters: dict[str, Any] = {}
    for settings in samplers:
        found, counts = follow(
            settings,
            stage,
            orbits,
            truth,
            runs=scale.runs,
            draws=scale.draws[settings.method],
            seconds=scale.seconds,
            seed=seed,
            progress=progress,
        )
        looks += found
        if counts:
            counters[settings.method] = counts
    gains = {settings.method: final_gain(looks, settings.method) for settings in samplers}
    measured: dict[str, Any] = {
        "atoms": stage.network.n_atoms,
        "clauses": stage.network.n_clauses,
        "orbits": len(orbits.size),
        "largest_orbit": int(orbits.size.max()),
        "orbit_seconds": orbits.seconds,
        "truth": truth.how,
        **truth.checks,
        "gain_at_end": {name: gain.as_dict() for name, gain in gains.items()},
        "median_gain": {settings.method: median_gain(looks, settings.method) for settings in samplers},
        "final_kl_estimate_truth": {settings.method: final_errors(looks, settings.method) for settings in samplers},
        "sampler_counters": counters,
        **(more or {}),
    }
    verdict = at_least(gains, least_gain, "error of the standard estimator over that of the orbit estimator")
    return Outcome(Table(COLUMNS, [look.row() for look in looks]), measured, verdict, asdict(scale))


def final_gain(looks: Sequence[Look], sampler: str) -> Interval:
    """How many times larger the standard estimator's KL is than the orbit estimator's after all draws, paired by run."""
    last = max(look.draws for look in looks if look.sampler == sampler)
    return ratio_interval(_errors(looks, sampler, SAMPLE, last), _errors(looks, sampler, ORBIT, last))


def median_gain(looks: Sequence[Look], sampler: str) -> float:
    """The median over the later looks of the same ratio."""
    last = max(look.draws for look in looks if look.sampler == sampler)
    late = sorted({look.draws for look in looks if look.sampler == sampler and look.draws * TENTH >= last})
    each = [ratio_interval(_errors(looks, sampler, SAMPLE, at), _errors(looks, sampler, ORBIT, at)).estimate for at in late]
    return float(np.median(each))


def final_errors(looks: Sequence[Look], sampler: str) -> dict[str, float]:
    """Mean KL over the runs after all draws, by estimator."""
    last = max(look.draws for look in looks if look.sampler == sampler)
    return {name: float(np.mean(_errors(looks, sampler, name, last))) for name in (SAMPLE, ORBIT)}


def _errors(looks: Sequence[Look], sampler: str, estimator: str, draws: int) -> list[float]:
    chosen = (look for look in looks if (look.sampler, look.estimator, look.draws) == (sampler, estimator, draws))
    return [look.kl_estimate_truth for look in sorted(chosen, key=lambda look: look.run)]


def chart(title: str) -> Callable[[Table], Any]:
    """Error over time, one line an estimator and sampler."""

    def draw(table: Table) -> Any:
        return lines(
            table,
            title=title,
            x="seconds",
            y="kl_estimate_truth",
            by=("estimator", "sampler"),
            at="draws",
            x_title="seconds (all runs together)",
            y_title="average KL(estimate ‖ truth)",
        )

    return draw
