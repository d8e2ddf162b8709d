"""The Ising models of [004]'s backup slides over a range of couplings: approximate symmetries only, exact truth by elimination.

The approximate model is the one without the field. On a square its group is that of rotations and reflections, and with values
exchanged all at once (the flip) twice as large. A weak coupling mixes within a few sweeps, so that nothing can be gained; beyond
the critical one a single-site chain stays where most spins point one way. No permutation of sites changes how many point up.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

from markovlogic.methods.exact.solve import solve
from markovlogic.methods.sampling.symmetrised import Approximation
from markovlogic.system.progress import Progress
from markovlogic_papers.experiments.comparison import Interval, over_range, ratio_interval
from markovlogic_papers.experiments.drawing import Lines, beside, lines
from markovlogic_papers.experiments.follow import Truth
from markovlogic_papers.experiments.outcome import Outcome, Table, Verdict, Word
from markovlogic_papers.experiments.racing import BASE, COLUMNS, Lap, RaceScale, arrivals, errors_at, final_errors, lifted, race
from markovlogic_papers.experiments.stage import Stage, set_stage, with_rules

GROUPS = {  # of the model without the field
    "rotations and reflections": Approximation(signed=False),
    "those and the flip": Approximation(),
}
SPIN_COLUMNS = ("coupling", *COLUMNS)


@dataclass(frozen=True)
class SpinScale(RaceScale):
    """Couplings as log-odds of being equal; the square grid's critical one is 0.881."""

    couplings: tuple[float, ...] = (0.4, 0.8, 1.2, 1.6)


def run_spins(family: str, scale: SpinScale, seed: int, progress: Progress) -> Outcome:
    """Gibbs against lifted MH by the group of the field-free model, with and without the flip, and by exchanges."""
    plain = set_stage(family, scale.size, scale.evidence, scale.problem_seed + seed, progress=progress)
    laps: dict[float, list[Lap]] = {}
    measured: dict[str, Any] = {}
    for coupling in scale.couplings:
        stage = _coupled(plain, coupling)
        solved = solve(stage.network, progress=progress)
        truth = Truth.exact(solved.marginal, f"exact: elimination of width {solved.width}")
        laps[coupling] = race(stage, lifted(stage, scale, GROUPS, ranks=False), truth, scale, seed, progress)
        measured[str(coupling)] = _measured(laps[coupling], scale, truth, stage)
    table = Table(SPIN_COLUMNS, [(coupling, *lap.row()) for coupling, own in laps.items() for lap in own])
    return Outcome(table, {"couplings": measured}, _judged(laps, scale), asdict(scale))


def _coupled(stage: Stage, coupling: float) -> Stage:
    """The same fields with another coupling, which is the weight of the first rule."""
    model = stage.problem.model
    return with_rules(stage, (replace(model.rules[0], weight=coupling), *model.rules[1:]))


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
    """By coupling: agrees where moves by the group are clearly quicker, differs where they are clearly slower.

    Quicker: fewer seconds until R stays below the level; where Gibbs does not get there, a smaller error at equal seconds.
    Slower: every sampler that got there clearly took longer, or did not get there although Gibbs did. Exchanges of sites, which
    no slide names, stand beside it.
    """
    return over_range({f"{coupling:g}": _judged_at(own, scale) for coupling, own in laps.items()}, "coupling")


def _judged_at(laps: Sequence[Lap], scale: SpinScale) -> Verdict:
    reached = int(np.isfinite(arrivals(laps, BASE, scale.rhat, "draws")).sum())
    reasons = [f"{BASE} comes to stay below R {scale.rhat} in {reached} of {scale.repeats} runs"]
    shortest = min(max(lap.seconds for lap in laps if lap.sampler == name) for name in {lap.sampler for lap in laps})
    least_draws = min(max(lap.draws for lap in laps if lap.sampler == name) for name in {lap.sampler for lap in laps})
    quicker: list[bool] = []
    slower: list[bool] = []
    for name, accepted in {lap.sampler: lap.acceptance for lap in laps if lap.acceptance is not None}.items():
        better = False
        equal = ratio_interval(final_errors(laps, BASE, least_draws), final_errors(laps, name, least_draws))
        reasons.append(f"at equal draws the error of {BASE} is {equal} times that of {name}")
        if reached < scale.repeats:
            error = ratio_interval(errors_at(laps, BASE, shortest), errors_at(laps, name, shortest))
            reasons.append(f"at equal seconds the error of {BASE} is {error} times that of {name}")
            better = error.low > 1
        ratio, draws = (speedup(laps, name, scale, what) for what in ("seconds", "draws"))
        if ratio is None:
            reasons.append(f"{name} does not get there in every repetition ({accepted:.3g} accepted)")
            worse = reached == scale.repeats
        else:
            least = "at least " if reached < scale.repeats else ""
            times = f"{least}{ratio} times the seconds of {name}, {least}{draws} times the draws"
            reasons.append(f"{BASE} needs {times} ({accepted:.3g} accepted)")
            better, worse = better or ratio.low > 1, ratio.high < 1
        if name.startswith("group"):
            quicker.append(better)
            slower.append(worse)
    word: Word = "agrees" if any(quicker) else "differs" if slower and all(slower) else "unclear"
    return Verdict(word, tuple(reasons))


def spin_chart(title: str) -> Callable[[Table], Any]:
    """Error and R by time, a row a coupling."""

    def draw(table: Table) -> Any:
        charts = []
        for coupling in dict.fromkeys(table.column("coupling")):
            own = Table(table.columns, [row for row in table.rows if row[0] == coupling])
            for y, y_title in (("mse", "mean squared error"), ("rhat", "mean R over atoms")):
                panel = Lines(
                    title=f"coupling {coupling}",
                    x="seconds",
                    y=y,
                    by=("sampler",),
                    at="draws",
                    over="repeat",
                    x_title="processor seconds (all chains of a repetition)",
                    y_title=y_title,
                    band=False,
                )
                charts.append(lines(own, panel))
        return beside(charts, title=title)

    return draw
