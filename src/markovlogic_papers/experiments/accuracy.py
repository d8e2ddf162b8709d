"""[001] Fig. 2(a) and (b): the error of lifted blocked Gibbs, blocked Gibbs, MC-SAT and lifted belief propagation over time.

10 % of the ground atoms are evidence, in three readings (papers.md 2.7): atoms about one object only, where lifted inference
gives the truth; any atoms, with a long run as the truth; any atoms of fewer objects, where a sum over one predicate is exact.
The long run is one of lifted blocked Gibbs, with other draws: on M1 single-site and blocked Gibbs do not leave the phase that
they start in, so theirs would be no truth; the two exact readings show whether it can be trusted.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

from markovlogic.system.progress import Progress
from markovlogic_papers.experiments.answers import answered, lifted_truth
from markovlogic_papers.experiments.comparison import Interval, at_least, over_range, ratio_interval, together
from markovlogic_papers.experiments.contest import (
    BG,
    CONDITIONAL,
    LBG,
    SAME_CLUSTERS,
    SAMPLE,
    Chains,
    Contender,
    blocked_ones,
    clusters_of,
    gold_of,
    lifted_blocked,
    looks,
)
from markovlogic_papers.experiments.drawing import Lines, beside, lines
from markovlogic_papers.experiments.follow import KL_TITLE, Divergence, Errors, Truth
from markovlogic_papers.experiments.outcome import Cell, Outcome, Table, Verdict
from markovlogic_papers.experiments.stage import Stage, set_stage, with_rules

MCSAT, GIBBS, LBP, MESSAGES = "mcsat", "gibbs", "lifted-bp", "messages"
UNARY, LITERAL, SMALL = "unary atoms", "any atoms", "any atoms, few objects"
COLUMNS = (
    "weight",
    "evidence",
    "objects",
    "sampler",
    "estimator",
    "run",
    "draws",
    "seconds",
    *Errors._fields,
)


@dataclass(frozen=True)
class AccuracyScale:
    """How big a panel is made."""

    size: int
    small: int  # objects where literal evidence has an exact truth
    seconds: float  # of each sampler and reading, after burn-in; all runs together
    runs: int = 8
    burn_in: int = 100
    most_draws: int = 100_000
    evidence: float = 0.1
    gold_chains: int = 16
    gold_burn_in: int = 100
    gold_draws: int = 2000
    weights: tuple[float, ...] = (1.0,)  # of all rules; the literal reading with a long run is there for the last one alone
    kl: Divergence = "est||true"


@dataclass(frozen=True)
class Look:
    """What one estimator has of one run after some draws."""

    weight: float
    evidence: str
    objects: int
    sampler: str
    estimator: str
    run: int
    draws: int
    seconds: float  # of all runs together, building and burn-in included
    kl: float
    kl_estimate_truth: float
    kl_truth_estimate: float
    mse: float

    def row(self) -> tuple[Cell, ...]:
        """As a row of COLUMNS."""
        return tuple(getattr(self, name) for name in COLUMNS)


@dataclass(frozen=True, eq=False)
class Reading:
    """A problem under one reading of "10 % of the ground atoms are evidence", and its truth."""

    weight: float
    name: str
    stage: Stage
    truth: Truth


def run_family(
    family: str,
    small_truth: Callable[[Stage, float], Truth],
    better: Sequence[tuple[str, str]],
    scale: AccuracyScale,
    context: tuple[int, Progress],
) -> Outcome:
    """All weights and readings of a family; better: pairs (more exact, less exact) of samplers that the paper claims.

    The claim is judged at equal seconds, at each weight by itself: it agrees where it does at all of them, differs where at none.
    Errors at equal draws stand beside it, since seconds are those of this program.
    """
    seed, progress = context
    found: list[Look] = []
    notes: list[str] = []
    measured: dict[str, Any] = {}
    verdicts: dict[float, list[Verdict]] = {weight: [] for weight in scale.weights}
    by_draw: list[str] = []
    for prepared in _readings(family, small_truth, scale, seed, progress):
        reading = replace(prepared, truth=replace(prepared.truth, kl=scale.kl))
        own, own_notes = _contest(reading, scale, seed, progress)
        found += own
        title = f"weight {reading.weight:g}, {reading.name}"
        notes += [f"{title}: {note}" for note in own_notes]
        ratios, draws = (
            {f"{title}: {worse} over {good}": _ratio(own, good, worse, what) for good, worse in better}
            for what in ("seconds", "draws")
        )
        verdicts[reading.weight].append(at_least(ratios, 1, "error at equal seconds"))
        by_draw += [f"{name}: error at equal draws {ratio}" for name, ratio in draws.items()]
        measured[title] = {
            "objects": own[0].objects,
            "atoms": reading.stage.network.n_atoms,
            "clauses": reading.stage.network.n_clauses,
            "clusters": clusters_of(reading.stage),
            "truth": reading.truth.how,
            **reading.truth.checks,
            "kl_at_equal_seconds": {name: float(np.mean(_at_equal(own, name, "seconds"))) for name in _names(own)},
            "kl_at_equal_draws": {name: float(np.mean(_at_equal(own, name, "draws"))) for name in _names(own)},
            "final": {name: _final(own, name) for name in _names(own)},
            "error_ratios": {name: ratio.as_dict() for name, ratio in ratios.items()},
            "error_ratios_at_equal_draws": {name: ratio.as_dict() for name, ratio in draws.items()},
        }
    judged = over_range({f"{weight:g}": together(own) for weight, own in verdicts.items()}, "weight of the rules")
    verdict = Verdict(judged.word, (*judged.reasons, *by_draw, *notes))
    return Outcome(Table(COLUMNS, [look.row() for look in found]), measured, verdict, asdict(scale))


def _readings(
    family: str, small_truth: Callable[[Stage, float], Truth], scale: AccuracyScale, seed: int, progress: Progress
) -> Iterator[Reading]:
    unary = set_stage(family, scale.size, scale.evidence, seed, variant="unary", progress=progress)
    small = set_stage(family, scale.small, scale.evidence, seed, progress=progress)
    for weight in scale.weights:
        progress.stage(f"exact truth, weight {weight:g}")
        here = weighed(unary, weight)
        yield Reading(weight, UNARY, here, lifted_truth(here.prepared))
        here = weighed(small, weight)
        yield Reading(weight, SMALL, here, small_truth(here, weight))
    literal = weighed(set_stage(family, scale.size, scale.evidence, seed, progress=progress), scale.weights[-1])
    progress.stage("gold run")
    gold = gold_of(lifted_blocked(literal), scale.gold_chains, scale.gold_burn_in, scale.gold_draws, seed)
    yield Reading(scale.weights[-1], LITERAL, literal, gold)


def weighed(stage: Stage, weight: float) -> Stage:
    """The same problem with one weight for all rules."""
    return with_rules(stage, tuple(replace(rule, weight=weight) for rule in stage.problem.model.rules))


def _contest(reading: Reading, scale: AccuracyScale, seed: int, progress: Progress) -> tuple[list[Look], list[str]]:
    """All samplers and messages on one reading; and what could not run."""
    from markovlogic.methods.sampling.gibbs import Gibbs
    from markovlogic.methods.sampling.mcsat import MCSAT as Settings

    stage = reading.stage
    objects = len(next(iter(stage.problem.domains.values())))
    blocked, notes = blocked_ones(stage)
    contenders = [
        lifted_blocked(stage),
        *blocked,
        Contender(MCSAT, Settings(alternate=False, lazy=True), stage.network),
        Contender(GIBBS, Gibbs(), stage.network),
    ]
    found: list[Look] = []
    for contender in contenders:
        Chains(contender, scale.runs, np.random.SeedSequence(0)).advance(1)  # compiles and loads what it needs
        progress.stage(f"{reading.name}: {contender.name}", scale.most_draws)
        chains = Chains(contender, scale.runs, np.random.SeedSequence(seed))
        chains.advance(scale.burn_in, count=False)
        before = chains.seconds
        for until in looks(scale.most_draws):
            chains.advance(until - chains.draws)
            for estimator, values in chains.estimates().items():
                found += [
                    Look(
                        reading.weight,
                        reading.name,
                        objects,
                        contender.name,
                        estimator,
                        number + 1,
                        until,
                        chains.seconds,
                        *reading.truth.errors(values[:, number]),
                    )
                    for number in range(scale.runs)
                ]
            progress.advance(until)
            if chains.seconds - before >= scale.seconds:
                break
    answered(stage.prepared, LBP)  # loads what it needs
    messages = answered(stage.prepared, LBP)
    last = max(look.seconds for look in found)
    for draws, seconds in ((0, messages.seconds), (1, max(last, messages.seconds))):  # a level in the chart
        errors = reading.truth.errors(messages.probability)
        found.append(Look(reading.weight, reading.name, objects, LBP, MESSAGES, 1, draws, seconds, *errors))
    notes += [f"{LBP}: {remark}" for remark in messages.remarks if "lifted to" not in remark]
    return found, notes


# ---- what became of it


def _names(found: Sequence[Look]) -> list[str]:
    return list(dict.fromkeys(look.sampler for look in found))


def _judged(found: Sequence[Look], sampler: str) -> list[Look]:
    """The looks of the estimator that is judged: conditionals, as [001] has them, where there are any."""
    own = [look for look in found if look.sampler == sampler]
    for estimator in (CONDITIONAL, SAMPLE, MESSAGES):
        chosen = [look for look in own if look.estimator == estimator]
        if chosen:
            return chosen
    return []


def _at_equal(found: Sequence[Look], sampler: str, what: str) -> list[float]:
    """Error of each run at the seconds or draws after which the first of the samplers was left; else at its first look."""
    until = min(max(getattr(look, what) for look in found if look.sampler == name) for name in _names(found) if name != LBP)
    own = _judged(found, sampler)
    errors = []
    for run in sorted({look.run for look in own}):
        mine = sorted((look for look in own if look.run == run), key=lambda look: look.draws)
        errors.append(([look for look in mine if getattr(look, what) <= until] or mine[:1])[-1].kl)
    return errors


def _ratio(found: Sequence[Look], good: str, worse: str, what: str) -> Interval:
    """How many times larger the error of one is, by run; several samplers of blocked Gibbs: the more exact of them."""
    under = _at_equal(found, good, what)
    every = [name for name in ((BG, SAME_CLUSTERS) if worse == BG else (worse,)) if _judged(found, name)]
    over = min((_at_equal(found, name, what) for name in every), key=lambda errors: float(np.mean(errors)))
    longest = max(len(over), len(under))
    return ratio_interval(over * (longest // len(over)), under * (longest // len(under)))


def _final(found: Sequence[Look], sampler: str) -> dict[str, float]:
    own = _judged(found, sampler)
    last = max(look.draws for look in own)
    at_end = [look for look in own if look.draws == last]
    return {
        "draws": last,
        "seconds": max(look.seconds for look in own if look.sampler != LBP or look.draws == 0),
        "kl": float(np.mean([look.kl for look in at_end])),
    }


LBG_BETTER = ((LBG, BG), (LBG, MCSAT))


def chart(title: str) -> Callable[[Table], Any]:
    """Error of the judged estimator over time and over draws, a row a weight and reading."""

    def draw(table: Table) -> Any:
        names = table.columns
        panels = []
        for weight, name in dict.fromkeys(zip(table.column("weight"), table.column("evidence"), strict=True)):
            own = [row for row in table.rows if row[names.index("weight")] == weight and row[names.index("evidence")] == name]
            drawn = Table(names, own)
            averaged = {str(r["sampler"]) for r in drawn.records() if r["estimator"] == CONDITIONAL}
            rows = [
                row
                for row, r in zip(own, drawn.records(), strict=True)
                if r["estimator"] != SAMPLE or str(r["sampler"]) not in averaged
            ]
            for x, x_title in (("seconds", "processor seconds (all runs together)"), ("draws", "draws a chain")):
                shown = [row for row in rows if x == "seconds" or row[names.index("sampler")] != LBP]
                panels.append(
                    lines(
                        Table(names, shown),
                        Lines(
                            title=f"weight {weight:g}: {name}, {drawn.column('objects')[0]} objects",
                            x=x,
                            y="kl",
                            by=("sampler",),
                            at="draws",
                            x_title=x_title,
                            y_title=KL_TITLE,
                            band=False,
                        ),
                    )
                )
        return beside(panels, title=title)

    return draw
