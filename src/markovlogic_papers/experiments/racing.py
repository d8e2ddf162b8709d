"""[004]: a base chain against chains that also exchange nearly interchangeable constants, by iterations and by time.

Several repetitions of several chains each, from starts of their own; after each look the Gelman-Rubin R over the chains and the
error of the chains' estimates against the truth.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from markovlogic.errors import ResourceError
from markovlogic.methods.sampling.base import Settings
from markovlogic.methods.sampling.symmetrised import Approximation, approximate_symmetries
from markovlogic.system.arrays import Float64
from markovlogic.system.progress import Progress
from markovlogic_papers.experiments.comparison import Interval, ratio_interval
from markovlogic_papers.experiments.drawing import Lines, beside, lines
from markovlogic_papers.experiments.follow import KL_TITLE, Counted, Divergence, Errors, Truth, checkpoints, compile_kernels
from markovlogic_papers.experiments.outcome import Cell, Outcome, Table, Verdict, Word
from markovlogic_papers.experiments.stage import Stage

BASE = "gibbs"
SEARCH_SECONDS = 300.0  # for symmetries of an approximate model, on the clock: processes of their own search
COLUMNS = ("sampler", "repeat", "draws", "seconds", "rhat", "apart", *Errors._fields, "acceptance")


@dataclass(frozen=True)
class RaceScale:
    """How big a race is made."""

    size: int
    draws: int
    chains: int = 16
    repeats: int = 5
    burn_in: int = 20  # draws in which lifted MH may tune itself; the base chain makes them too
    seconds: float = 300.0  # of sampling, for each sampler and repetition
    rhat: float = 1.01  # the mean R over atoms that a sampler has to come below
    ranks: tuple[int, ...] = (1, 5, 20)
    evidence: float = 0.1
    problem_seed: int = 0
    gold_burn_in: int = 1000
    gold_draws: int = 20_000
    kl: Divergence = "est||true"


@dataclass(frozen=True)
class Lap:
    """One look at one repetition of one sampler."""

    sampler: str
    repeat: int
    draws: int
    seconds: float  # of the processor, all chains, finding the classes and burn-in included
    rhat: float  # mean over atoms, see Agreement
    apart: float
    kl: float  # this and the other errors: mean over chains
    kl_estimate_truth: float
    kl_truth_estimate: float
    mse: float
    acceptance: float | None

    def row(self) -> tuple[Cell, ...]:
        """As a row of COLUMNS."""
        return tuple(getattr(self, name) for name in COLUMNS)


@dataclass(frozen=True, eq=False)
class Contender:
    """A sampler and the seconds that preparing it took."""

    settings: Settings
    seconds: float = 0.0


class Agreement(NamedTuple):
    """How far chains are from agreeing."""

    rhat: float  # mean of the Gelman-Rubin R over the atoms that moved or that chains disagree on
    apart: float  # share of all atoms that no chain moved, and that are true in some chains and false in others


def agreement(totals: Any, draws: int) -> Agreement:
    """R = √(((n−1)/n·W + B/n)/W) from counts: a draw is 0 or 1, so a chain's variance is n/(n−1)·m(1−m) with its mean m.

    R of an atom that is frozen at different values is infinite. It counts with the least R that a run so long can show: as if
    one draw of one chain had been another one. Atoms that never moved anywhere and agree say nothing and are left out.
    """
    if draws < 2:
        return Agreement(float("nan"), float("nan"))
    means = totals / draws
    within = (means * (1 - means)).mean(axis=1) * draws / (draws - 1)
    between = means.var(axis=1, ddof=1)
    apart = (within <= 0) & (between > 0)
    within = np.where(apart, 1 / (draws * means.shape[1]), within)
    counted = within > 0
    if not counted.any():
        return Agreement(float("nan"), 0.0)
    each = np.sqrt((draws - 1) / draws + between[counted] / within[counted])
    return Agreement(float(each.mean()), float(apart.mean()))


def race(
    stage: Stage, contenders: Mapping[str, Contender], truth: Truth, scale: RaceScale, seed: int, progress: Progress
) -> list[Lap]:
    """All repetitions of all contenders, each with the same number of draws or the same time at most."""
    laps: list[Lap] = []
    truth = replace(truth, kl=scale.kl)
    for name, contender in contenders.items():
        compile_kernels(contender.settings, stage.network, scale.chains)
        progress.stage(name, scale.repeats * scale.draws)
        for repeat in range(1, scale.repeats + 1):
            run = Counted(contender.settings, stage.network, scale.chains, np.random.SeedSequence([seed, repeat]), start="own")
            run.advance(scale.burn_in, count=False)
            for until in checkpoints(scale.draws):
                run.advance(until - run.draws)
                laps.append(_lap(name, repeat, run, contender.seconds, truth))
                progress.advance((repeat - 1) * scale.draws + until)
                if run.seconds > scale.seconds:
                    break
    return laps


def _lap(name: str, repeat: int, run: Counted, before: float, truth: Truth) -> Lap:
    means: Float64 = run.means
    errors = Errors(*np.mean([truth.errors(column) for column in means.T], axis=0).tolist())
    proposed = run.counts.get("proposed", 0)
    acceptance = run.counts.get("accepted", 0) / proposed if proposed else None
    return Lap(
        name,
        repeat,
        run.draws,
        before + run.seconds,
        *agreement(run.totals, run.draws),
        *errors,
        acceptance,
    )


# ---- what became of it


def arrivals(laps: Sequence[Lap], sampler: str, level: float, what: str) -> list[float]:
    """Seconds or draws of each repetition from which on R stays below a level; inf where it never does.

    Once below is not enough: R of two or three draws is below any level by chance.
    """
    found = []
    for repeat in sorted({lap.repeat for lap in laps if lap.sampler == sampler}):
        own = [lap for lap in laps if (lap.sampler, lap.repeat) == (sampler, repeat)]
        above = [place for place, lap in enumerate(own) if not lap.rhat < level]
        after = own[above[-1] + 1 :] if above else own
        found.append(float(getattr(after[0], what)) if after else float("inf"))
    return found


def final_errors(laps: Sequence[Lap], sampler: str, draws: int) -> list[float]:
    """Error of each repetition after so many draws."""
    own = [lap for lap in laps if (lap.sampler, lap.draws) == (sampler, draws)]
    return [lap.kl for lap in sorted(own, key=lambda lap: lap.repeat)]


def errors_at(laps: Sequence[Lap], sampler: str, seconds: float) -> list[float]:
    """Error of each repetition at the last look within so many seconds; the first look if none is."""
    found = []
    for repeat in sorted({lap.repeat for lap in laps if lap.sampler == sampler}):
        own = [lap for lap in laps if (lap.sampler, lap.repeat) == (sampler, repeat)]
        found.append(([lap for lap in own if lap.seconds <= seconds] or own[:1])[-1].kl)
    return found


def speedups(laps: Sequence[Lap], scale: RaceScale, what: str) -> dict[str, Interval]:
    """Seconds or draws until R is below the level, base chain over each other sampler: above 1 the other is quicker."""
    base = arrivals(laps, BASE, scale.rhat, what)
    found = {}
    for name in dict.fromkeys(lap.sampler for lap in laps if lap.sampler != BASE):
        other = arrivals(laps, name, scale.rhat, what)
        if np.isfinite(base).all() and np.isfinite(other).all():
            found[name] = ratio_interval(base, other)
    return found


def judge(laps: Sequence[Lap], scale: RaceScale) -> Verdict:
    """Agrees when some sampler needs clearly fewer seconds than the base chain, differs when all clearly need more."""
    accepted = {lap.sampler: lap.acceptance for lap in laps if lap.acceptance is not None}
    by_time, by_draws = (
        {name: ratio for name, ratio in speedups(laps, scale, what).items() if name in accepted} for what in ("seconds", "draws")
    )
    word: Word = "unclear"
    if any(ratio.low > 1 for ratio in by_time.values()):
        word = "agrees"
    elif by_time and all(ratio.high < 1 for ratio in by_time.values()):
        word = "differs"
    reasons = [
        f"{BASE} needs {r} times the seconds of {name} until the mean R stays below {scale.rhat}" for name, r in by_time.items()
    ]
    reasons += [f"in draws: {BASE} needs {r} times those of {name}" for name, r in by_draws.items()]
    missing = [
        n for n in dict.fromkeys(lap.sampler for lap in laps) if not np.isfinite(arrivals(laps, n, scale.rhat, "draws")).all()
    ]
    reasons += [f"{name} did not come below it in every repetition" for name in missing]
    reasons += [f"{name} accepted {share:.3g} of its proposals" for name, share in accepted.items()]
    idle = [name for name in dict.fromkeys(lap.sampler for lap in laps) if name != BASE and name not in accepted]
    reasons += [f"{name} had nothing to exchange (every constant is alone in its class) and is its base chain" for name in idle]
    return Verdict(word, tuple(reasons))


def _last_apart(laps: Sequence[Lap], sampler: str) -> float:
    """Share of atoms frozen apart at the last look, mean over repetitions."""
    return float(np.mean([lap.apart for lap in {lap.repeat: lap for lap in laps if lap.sampler == sampler}.values()]))


def race_outcome(laps: Sequence[Lap], truth: Truth, stage: Stage, scale: RaceScale, more: Mapping[str, Any]) -> Outcome:
    """Table, numbers and verdict of a race."""
    samplers = list(dict.fromkeys(lap.sampler for lap in laps))
    shortest = min(max(lap.seconds for lap in laps if lap.sampler == name) for name in samplers)
    least = min(max(lap.draws for lap in laps if lap.sampler == name) for name in samplers)
    measured = {
        "atoms": stage.network.n_atoms,
        "clauses": stage.network.n_clauses,
        "truth": truth.how,
        **truth.checks,
        "mean_seconds_to_rhat": {name: float(np.mean(arrivals(laps, name, scale.rhat, "seconds"))) for name in samplers},
        "mean_draws_to_rhat": {name: float(np.mean(arrivals(laps, name, scale.rhat, "draws"))) for name in samplers},
        "speedup_in_seconds": {name: ratio.as_dict() for name, ratio in speedups(laps, scale, "seconds").items()},
        "speedup_in_draws": {name: ratio.as_dict() for name, ratio in speedups(laps, scale, "draws").items()},
        "kl_at_equal_draws": {name: float(np.mean(final_errors(laps, name, least))) for name in samplers},
        "kl_at_equal_seconds": {name: float(np.mean(errors_at(laps, name, shortest))) for name in samplers},
        "apart_at_the_end": {name: _last_apart(laps, name) for name in samplers},
        "acceptance": {lap.sampler: lap.acceptance for lap in laps if lap.acceptance is not None},
        **more,
    }
    return Outcome(Table(COLUMNS, [lap.row() for lap in laps]), measured, judge(laps, scale), asdict(scale))


def lifted(stage: Stage, scale: RaceScale, groups: Mapping[str, Approximation], *, ranks: bool) -> dict[str, Contender]:
    """The base chain; lifted MH by symmetries of approximate models; and by exchanges inside classes, from unary evidence and
    colours; with `ranks`, k-means and low rank too.

    groups: by name, what the approximate model leaves out. A search that does not end would make a contender of the base chain.
    """
    from markovlogic.compression.evidence_factors import BMF
    from markovlogic.methods.sampling.gibbs import Gibbs
    from markovlogic.methods.sampling.lifted_mh import LiftedMH

    found = {BASE: Contender(Gibbs())}
    for name, approximation in groups.items():
        begun = time.process_time()
        proposer = approximate_symmetries(stage.problem, stage.network, approximation, budget_seconds=SEARCH_SECONDS)
        if proposer.notes:
            raise ResourceError(f"{name}: {'; '.join(proposer.notes)}")
        bound = LiftedMH(propose="group", group=proposer.group).bind(stage.target)
        found[f"group: {name}"] = Contender(bound, time.process_time() - begun)
    sources: dict[str, str | BMF] = {name: name for name in ("unary", "colours")}
    if ranks:
        sources["kmeans"] = "kmeans"
        sources |= {f"rank {rank}": BMF(rank) for rank in scale.ranks}
    for name, source in sources.items():
        begun = time.process_time()
        settings = LiftedMH(source=source).bind(stage.target)
        found[f"exchanges: {name}"] = Contender(settings, time.process_time() - begun)
    return found


def chart(title: str) -> Callable[[Table], Any]:
    """Error and R by iterations and by time."""

    def draw(table: Table) -> Any:
        charts = []
        for y, y_title in (("kl", KL_TITLE), ("rhat", "mean R over atoms")):
            for x, x_title in (("draws", "draws a chain"), ("seconds", "processor seconds (all chains of a repetition)")):
                charts.append(
                    lines(
                        table,
                        Lines(
                            title=f"{title}, by {'iterations' if x == 'draws' else 'time'}",
                            x=x,
                            y=y,
                            by=("sampler",),
                            at="draws",
                            over="repeat",
                            x_title=x_title,
                            y_title=y_title,
                            log_y=y != "rhat",
                        ),
                    )
                )
        return beside(charts)

    return draw
