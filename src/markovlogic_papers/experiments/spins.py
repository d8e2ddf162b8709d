"""The Ising models of [004]'s backup slides over a range of couplings: approximate symmetries only, exact truth by elimination.

A weak coupling mixes within a few sweeps, so that nothing can be gained; beyond the critical one a single-site chain stays where
most spins point one way. No exchange of sites changes how many point up. The global flip does: a symmetry of values, broken by
the outer field alone.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

from markovlogic.methods.exact.solve import solve
from markovlogic.methods.sampling.lifted_mh import LiftedMH
from markovlogic.system.progress import Progress
from markovlogic_papers.experiments.comparison import Interval, ratio_interval
from markovlogic_papers.experiments.drawing import Lines, beside, lines
from markovlogic_papers.experiments.follow import Truth
from markovlogic_papers.experiments.outcome import Outcome, Table, Verdict, Word
from markovlogic_papers.experiments.racing import BASE, COLUMNS, Contender, Lap, RaceScale, arrivals, errors_at, lifted, race
from markovlogic_papers.experiments.stage import Stage, set_stage, with_rules

FLIP = "lifted-mh flip"
SPIN_COLUMNS = ("coupling", *COLUMNS)


@dataclass(frozen=True)
class SpinScale(RaceScale):
    """Couplings as log-odds of being equal; the square grid's critical one is 0.881."""

    couplings: tuple[float, ...] = (0.4, 0.8, 1.0, 1.2)


def run_spins(family: str, scale: SpinScale, seed: int, progress: Progress) -> Outcome:
    """Gibbs against lifted MH, with and without the flip, on spins in an uneven field, for each coupling."""
    plain = set_stage(family, scale.size, scale.evidence, scale.problem_seed + seed, progress=progress)
    laps: dict[float, list[Lap]] = {}
    measured: dict[str, Any] = {}
    for coupling in scale.couplings:
        stage = _coupled(plain, coupling)
        solved = solve(stage.network, progress=progress)
        truth = Truth.exact(solved.marginal, f"exact: elimination of width {solved.width}")
        laps[coupling] = race(stage, _contenders(stage, scale), truth, scale, seed, progress)
        measured[str(coupling)] = _measured(laps[coupling], scale, truth, stage)
    table = Table(SPIN_COLUMNS, [(coupling, *lap.row()) for coupling, own in laps.items() for lap in own])
    return Outcome(table, {"couplings": measured}, _judged(laps, scale), asdict(scale))


def _coupled(stage: Stage, coupling: float) -> Stage:
    """The same fields with another coupling, which is the weight of the first rule."""
    model = stage.problem.model
    return with_rules(stage, (replace(model.rules[0], weight=coupling), *model.rules[1:]))


def _contenders(stage: Stage, scale: SpinScale) -> dict[str, Contender]:
    found = lifted(stage, scale, ranks=False)
    found[FLIP] = Contender(LiftedMH(source="unary", flip=True).bind(stage.target))
    return found


def speedup(laps: Sequence[Lap], sampler: str, scale: RaceScale, what: str) -> Interval | None:
    """How many times longer the base chain needs until R stays below the level; at least so many where it does not get there.

    None where the sampler itself does not get there in every repetition.
    """
    base, own = arrivals(laps, BASE, scale.rhat, what), arrivals(laps, sampler, scale.rhat, what)
    if not np.isfinite(own).all():
        return None
    most = {lap.repeat: float(getattr(lap, what)) for lap in laps if lap.sampler == BASE}  # the last look counts
    return ratio_interval([most[n + 1] if np.isinf(value) else value for n, value in enumerate(base)], own)


def _measured(laps: Sequence[Lap], scale: RaceScale, truth: Truth, stage: Stage) -> dict[str, Any]:
    samplers = list(dict.fromkeys(lap.sampler for lap in laps))
    shortest = min(max(lap.seconds for lap in laps if lap.sampler == name) for name in samplers)
    return {
        "atoms": stage.network.n_atoms,
        "truth": truth.how,
        "mean_marginal": float(truth.probability.mean()),
        "base_reached_the_level": int(np.isfinite(arrivals(laps, BASE, scale.rhat, "draws")).sum()),
        "speedup_in_seconds": _speedups(laps, scale, "seconds"),
        "speedup_in_draws": _speedups(laps, scale, "draws"),
        "kl_at_equal_seconds": {name: float(np.mean(errors_at(laps, name, shortest))) for name in samplers},
        "acceptance": {lap.sampler: lap.acceptance for lap in laps if lap.acceptance is not None},
    }


def _speedups(laps: Sequence[Lap], scale: RaceScale, what: str) -> dict[str, Any]:
    found = {}
    for name in dict.fromkeys(lap.sampler for lap in laps if lap.sampler != BASE):
        ratio = speedup(laps, name, scale, what)
        found[name] = None if ratio is None else ratio.as_dict()
    return found


def _judged(laps: dict[float, list[Lap]], scale: SpinScale) -> Verdict:
    """Agrees when exchanges alone are clearly quicker at some coupling, unclear when only the flip is, else differs.

    Quicker: fewer seconds until R stays below the level; where Gibbs does not get there, a smaller error at equal seconds. It
    differs only where at every coupling every sampler that got there clearly took longer, or did not get there.
    """
    reasons, quicker, slower = [], set(), []
    for coupling, own in laps.items():
        reached = int(np.isfinite(arrivals(own, BASE, scale.rhat, "draws")).sum())
        reasons.append(f"coupling {coupling:g}: {BASE} comes to stay below R {scale.rhat} in {reached} of {scale.repeats} runs")
        shortest = min(max(lap.seconds for lap in own if lap.sampler == name) for name in {lap.sampler for lap in own})
        moving = {lap.sampler: lap.acceptance for lap in own if lap.acceptance is not None}
        for name, accepted in moving.items():
            if reached < scale.repeats:
                error = ratio_interval(errors_at(own, BASE, shortest), errors_at(own, name, shortest))
                reasons.append(f"coupling {coupling:g}: at equal seconds the error of {BASE} is {error} times that of {name}")
                quicker |= {name} if error.low > 1 else set()
            ratio, draws = (speedup(own, name, scale, what) for what in ("seconds", "draws"))
            if ratio is None:
                reasons.append(f"coupling {coupling:g}: {name} does not get there in every repetition ({accepted:.3g} accepted)")
                slower.append(reached == scale.repeats)
                continue
            least = "at least " if reached < scale.repeats else ""
            reasons.append(
                f"coupling {coupling:g}: {BASE} needs {least}{ratio} times the seconds of {name}, {least}{draws} times the draws"
                f" ({accepted:.3g} accepted)"
            )
            slower.append(ratio.high < 1)
            if ratio.low > 1:
                quicker.add(name)
    word: Word = "unclear"
    if any(name != FLIP for name in quicker):
        word = "agrees"
    elif not quicker and slower and all(slower):
        word = "differs"
    return Verdict(word, tuple(reasons))


def spin_chart(title: str) -> Callable[[Table], Any]:
    """R by draws and by time, a row a coupling."""

    def draw(table: Table) -> Any:
        charts = []
        for coupling in dict.fromkeys(table.column("coupling")):
            own = Table(table.columns, [row for row in table.rows if row[0] == coupling])
            for x, x_title in (("draws", "draws a chain"), ("seconds", "seconds (all chains of a repetition)")):
                panel = Lines(
                    title=f"{title}, coupling {coupling}",
                    x=x,
                    y="rhat",
                    by=("sampler",),
                    at="draws",
                    over="repeat",
                    x_title=x_title,
                    y_title="mean R over atoms",
                )
                charts.append(lines(own, panel))
        return beside(charts)

    return draw
