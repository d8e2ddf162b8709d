"""[001] Fig. 2(c) and (d): how fast chains come to agree, lifted blocked Gibbs against blocked Gibbs: log R over time."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

from markovlogic.system.progress import Progress
from markovlogic_papers.experiments.comparison import Interval, at_least, over_range, ratio_interval
from markovlogic_papers.experiments.contest import (
    BG,
    LBG,
    Chains,
    Contender,
    blocked_ones,
    clusters_of,
    lifted_blocked,
    looks,
)
from markovlogic_papers.experiments.drawing import Lines, beside, lines
from markovlogic_papers.experiments.outcome import Cell, Outcome, Table, Verdict, Word
from markovlogic_papers.experiments.racing import agreement
from markovlogic_papers.experiments.stage import Stage, set_stage, with_rules

GIBBS = "gibbs"
COLUMNS = ("weights", "sampler", "repeat", "draws", "seconds", "log_rhat", "apart")
SMALLEST = 1e-6  # log R of chains that agree is noise about 0, and charts have a logarithmic scale
FEWEST = 10  # draws, from which on R says something


@dataclass(frozen=True)
class MixingScale:
    """How big a panel is made."""

    size: int
    seconds: float  # of each sampler and repetition, after burn-in
    chains: int = 8
    repeats: int = 3
    burn_in: int = 100
    most_draws: int = 20_000
    evidence: float = 0.1
    level: float = 2e-4  # the mean log R that a sampler has to come below
    weights: tuple[str, ...] = ()  # by name, see WEIGHTS


@dataclass(frozen=True)
class Lap:
    """One look at one repetition of one sampler."""

    weights: str
    sampler: str
    repeat: int
    draws: int
    seconds: float  # of the processor, all chains, building and burn-in included
    log_rhat: float  # of the mean over atoms, see racing.Agreement
    apart: float

    def row(self) -> tuple[Cell, ...]:
        """As a row of COLUMNS."""
        return tuple(getattr(self, name) for name in COLUMNS)


ONE, MODES_OF_Y, MODES_OF_Z = "all 1", "two modes for each y", "two modes for each z"
GENERATED, STRONG = "as generated", "four times as generated"
AT_ONCE = 1.5  # autocorrelation time of single-site Gibbs up to which there is nothing to mix


def _weighed(stage: Stage, weights: str) -> Stage:
    """The problem under other weights.

    Two modes, in M3: given that all S(y,z) of a y are true its R(x,y) are free, which is worth n·ln 2; given that they are false,
    all R(x,y) are true. The second rule, with the weight −ln 2/n, makes the first mode pay n·n times as much, so that both have
    about the same probability, with n·n groundings between them: a chain that draws R and S apart hardly crosses. The same with
    the rules exchanged has two modes for each z, of S and T.
    """
    rules = stage.problem.model.rules
    n = len(next(iter(stage.problem.domains.values())))
    if weights == MODES_OF_Y:
        return with_rules(stage, (rules[0], replace(rules[1], weight=-math.log(2) / n)))
    if weights == MODES_OF_Z:
        return with_rules(stage, (replace(rules[0], weight=-math.log(2) / n), rules[1]))
    if weights == STRONG:
        return with_rules(stage, tuple(replace(rule, weight=4 * (rule.weight or 0.0)) for rule in rules))
    return stage


def run_mixing(family: str, variant: str, scale: MixingScale, seed: int, progress: Progress) -> Outcome:
    """Chains from starts far apart, burn-in as in the paper; single-site Gibbs beside them, not judged.

    Where single-site Gibbs mixes at once there is nothing that blocks could do better, and no verdict.
    """
    plain = set_stage(family, scale.size, scale.evidence, seed, variant=variant, progress=progress)
    every: list[Lap] = []
    measured: dict[str, Any] = {}
    verdicts: dict[str, Verdict] = {}
    for weights in scale.weights:
        laps, measured[weights], verdicts[weights] = _mixed(_weighed(plain, weights), weights, scale, seed, progress)
        every += laps
    return Outcome(Table(COLUMNS, [lap.row() for lap in every]), measured, over_range(verdicts, "weights"), asdict(scale))


def _mixed(
    stage: Stage, weights: str, scale: MixingScale, seed: int, progress: Progress
) -> tuple[list[Lap], dict[str, Any], Verdict]:
    from markovlogic.methods.sampling.gibbs import Gibbs

    blocked, notes = blocked_ones(stage)
    contenders = [lifted_blocked(stage), *blocked, Contender(GIBBS, Gibbs(), stage.network)]
    laps = [lap for contender in contenders for lap in _laps(contender, weights, scale, seed, progress)]
    names = list(dict.fromkeys(lap.sampler for lap in laps))
    times = {name: arrivals(laps, name, scale.level, "seconds") for name in names}
    draws = {name: arrivals(laps, name, scale.level, "draws") for name in names}
    ratio = {f"{BG} over {LBG}": _ratio(times[BG], times[LBG])}
    verdict = at_least(ratio, 1, f"seconds until mean log R stays below {scale.level}")
    both = np.isfinite([*draws[BG], *draws[LBG]]).all()
    in_draws = [f"in draws: {BG} needs {_ratio(draws[BG], draws[LBG])} times those of {LBG}"] if both else []
    late = [f"{name} did not come below it in every repetition" for name in names if not np.isfinite(times[name]).all()]
    ends = {name: [_end(laps, name, repeat) for repeat in range(1, scale.repeats + 1)] for name in names}
    # R² = 1 + (τ − 1)/n where a mean of n draws has τ times the variance of one of independent draws
    slow = {name: float(np.mean([1 + 2 * e.draws * e.log_rhat for e in last])) for name, last in ends.items()}
    apart = {name: float(np.mean([lap.apart for lap in last])) for name, last in ends.items()}
    measured = {
        "atoms": stage.network.n_atoms,
        "clauses": stage.network.n_clauses,
        "clusters": clusters_of(stage),
        "mean_seconds_to_level": {name: float(np.mean(values)) for name, values in times.items()},
        "mean_draws_to_level": {name: float(np.mean(values)) for name, values in draws.items()},
        "last_log_rhat": {name: float(np.mean([lap.log_rhat for lap in last])) for name, last in ends.items()},
        "frozen_apart": apart,
        "autocorrelation_time": slow,
    }
    word: Word = verdict.word
    if slow[GIBBS] < AT_ONCE and not apart[GIBBS]:
        word = "unclear"
        late = [f"nothing to mix: the autocorrelation time of single-site Gibbs is {slow[GIBBS]:.2f}", *late]
    rest = ", ".join(f"{name} {own:.3g} (frozen apart: {apart[name]:.1%})" for name, own in slow.items())
    return laps, measured, Verdict(word, (*verdict.reasons, *in_draws, *late, f"autocorrelation times: {rest}", *notes))


def _laps(contender: Contender, weights: str, scale: MixingScale, seed: int, progress: Progress) -> list[Lap]:
    Chains(contender, scale.chains, np.random.SeedSequence(0)).advance(1)  # compiles and loads what it needs
    progress.stage(contender.name, scale.repeats)
    found = []
    for repeat in range(1, scale.repeats + 1):
        chains = Chains(contender, scale.chains, np.random.SeedSequence([seed, repeat]))
        chains.advance(scale.burn_in, count=False)
        before = chains.seconds
        for until in looks(scale.most_draws):
            chains.advance(until - chains.draws)
            if until >= FEWEST:
                rhat, apart = agreement(chains.totals, chains.draws)
                found.append(Lap(weights, contender.name, repeat, until, chains.seconds, float(np.log(rhat)), apart))
            if chains.seconds - before >= scale.seconds and until >= FEWEST:
                break
        progress.advance(repeat)
    return found


def arrivals(laps: Sequence[Lap], sampler: str, level: float, what: str) -> list[float]:
    """Seconds or draws of each repetition from which on log R stays below a level; inf where it never does."""
    found = []
    for repeat in sorted({lap.repeat for lap in laps if lap.sampler == sampler}):
        own = [lap for lap in laps if (lap.sampler, lap.repeat) == (sampler, repeat)]
        above = [place for place, lap in enumerate(own) if not lap.log_rhat < level]
        after = own[above[-1] + 1 :] if above else own
        found.append(float(getattr(after[0], what)) if after else float("inf"))
    return found


def _ratio(over: Sequence[float], under: Sequence[float]) -> Interval:
    """Over/under by repetition; where one side never arrived, only on which side of 1 the ratio is, or nothing at all."""
    finite = [bool(np.isfinite(side).all()) for side in (over, under)]
    if all(finite):
        return ratio_interval(over, under)
    if finite[1] and not np.isfinite(over).any():
        return Interval(np.inf, 1.0, np.inf)
    if finite[0] and not np.isfinite(under).any():
        return Interval(0.0, 0.0, 1.0 - 1e-9)
    return Interval(float("nan"), 0.0, np.inf)


def _end(laps: Sequence[Lap], sampler: str, repeat: int) -> Lap:
    return [lap for lap in laps if (lap.sampler, lap.repeat) == (sampler, repeat)][-1]


def chart(title: str) -> Callable[[Table], Any]:
    """Log R by time and by iterations."""

    def draw(table: Table) -> Any:
        at = COLUMNS.index("log_rhat")
        shown = Table(table.columns, [(*row[:at], max(float(str(row[at])), SMALLEST), *row[at + 1 :]) for row in table.rows])
        kinds = list(dict.fromkeys(str(value) for value in shown.column("weights")))
        return beside(
            [
                lines(
                    Table(shown.columns, [row for row in shown.rows if row[0] == weights]),
                    Lines(
                        title=f"weights {weights}",
                        x=x,
                        y="log_rhat",
                        by=("sampler",),
                        at="draws",
                        over="repeat",
                        x_title=x_title,
                        y_title=f"log of the mean R over atoms, {SMALLEST:g} where below",
                    ),
                )
                for weights in kinds
                for x, x_title in (("seconds", "processor seconds (all chains of a repetition)"), ("draws", "draws a chain"))
            ],
            title=title,
        )

    return draw
