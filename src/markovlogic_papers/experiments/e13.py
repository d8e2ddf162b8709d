"""E13: [002] Fig. 2(a), errors of R on the synthetic model after pre-processing, over the compression ratio; the truth is exact.

The compression ratio means objects kept for those that merge objects, facts kept for Random, and nothing for BMF, whose best rank
of each run is taken at every ratio as the paper does (papers.md 2.9). Literal: NE keeps what is known of one member of each
group, VG and random groups what most members say, and weights stay; the other way round stands beside it. Corrected: shares of
known atoms and counts of true ones.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from markovlogic.system.progress import Progress
from markovlogic_papers.experiments.best_ranks import best_ranks, named_best
from markovlogic_papers.experiments.comparison import Interval, at_least, mean_interval
from markovlogic_papers.experiments.drawing import Lines, beside, lines
from markovlogic_papers.experiments.outcome import Cell, Experiment, Outcome, Table, Verdict
from markovlogic_papers.experiments.synthetic_rules import (
    BMF,
    COINS,
    CORRECTED,
    DESATURATED,
    GROUPS,
    LITERAL,
    NE,
    NE_SVD,
    OTHER,
    RANDOM,
    SATURATED,
    TOPICS,
    VG,
    Synthetic,
    changers,
    drawn,
    error,
    groupings,
    summary_of,
    translated,
)

COLUMNS = ("rules", "evidence", "weights", "setting", "preprocessor", "ratio", "rank", "kept", "run", "absolute_error")


@dataclass(frozen=True)
class SyntheticScale:
    """Sizes; rules, ratios and ranks that are tried."""

    items: int = 50
    others: int = 100  # of y and of z
    rules: tuple[int, ...] = (10,)
    ratios: tuple[float, ...] = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8)
    ranks: tuple[int, ...] = (20, 30, 50, 100)
    evidence: tuple[str, ...] = (COINS, TOPICS)
    runs: int = 3
    epochs: int = 0  # of skip-gram; 0: until its loss has settled


def run(scale: SyntheticScale, seed: int, progress: Progress) -> Outcome:
    """All evidence, weights, pre-processors and ratios."""
    table, checks = measured_errors(scale, seed, progress, "E13")
    means = {
        ", ".join(map(str, key)): value
        for key, value in _means(best_of(table), ("evidence", "weights", "setting", "preprocessor", "ratio")).items()
    }
    return Outcome(table, {"absolute_error": means, "truth": checks}, _verdict(table), asdict(scale))


def measured_errors(scale: SyntheticScale, seed: int, progress: Progress, stage: str) -> tuple[Table, dict[str, Any]]:
    """A row for each measurement; and how saturated the exact marginals are."""
    rows: list[tuple[Cell, ...]] = []
    checks: dict[str, Any] = {}
    progress.stage(stage, len(scale.rules) * len(scale.evidence) * scale.runs)
    done = 0
    for m in scale.rules:
        for evidence in scale.evidence:
            for number in range(scale.runs):
                plain = drawn(m, (scale.items, scale.others, scale.others), evidence, seed + number)
                worlds = {SATURATED: plain, DESATURATED: plain.desaturated()}
                for name, world in worlds.items():
                    checks[f"{m} rules, {evidence}, {name}, run {number}"] = summary_of(world)
                rows += [(m, evidence, *own) for own in _of_worlds(worlds, scale, seed + number, number)]
                done += 1
                progress.advance(done)
    return Table(COLUMNS, rows), checks


def _of_worlds(worlds: dict[str, Synthetic], scale: SyntheticScale, seed: int, number: int) -> list[tuple[Cell, ...]]:
    """Groups are found once: they go by the evidence, which is the same in both worlds."""
    prepared = {name: world.prepared() for name, world in worlds.items()}
    rows: list[tuple[Cell, ...]] = []
    for ratio in scale.ratios:
        for name, grouping in groupings(ratio, seed, scale.epochs).items():
            partition = grouping.partition(prepared[SATURATED].problem)
            for weights, world in worlds.items():
                for setting, made in translated(grouping, prepared[weights], partition).items():
                    rows.append((weights, setting, name, ratio, None, partition.ratio, number, error(world, made)))
        for name, rank, changer in changers(ratio, scale.ranks if ratio == scale.ratios[0] else (), seed):
            for weights, world in worlds.items():
                value = error(world, changer.compress(prepared[weights], needs_problem=True))
                for at in scale.ratios if rank is not None else (ratio,):  # a rank has no ratio: it is drawn at all of them
                    rows.append((weights, LITERAL, name, at, rank, None, number, value))
    return rows


def best_of(table: Table) -> Table:
    """With the best rank of each run alone, where there are ranks."""
    return best_ranks(table, (*COLUMNS[:5], "run"), "absolute_error", min)


def _means(table: Table, by: tuple[str, ...]) -> dict[tuple[Cell, ...], float]:
    """Mean errors over runs."""
    found: dict[tuple[Cell, ...], list[float]] = {}
    for record in table.records():
        found.setdefault(tuple(record[name] for name in by), []).append(float(record["absolute_error"]))  # type: ignore[arg-type]
    return {key: float(np.mean(own)) for key, own in found.items()}


def by_run(table: Table, preprocessor: str, setting: str, **where: Cell) -> list[float]:
    """The error of each run, averaged over ratios."""
    found: dict[Cell, list[float]] = {}
    for record in table.records():
        if (record["preprocessor"], record["setting"]) == (preprocessor, setting) and all(
            record[name] == value for name, value in where.items()
        ):
            found.setdefault(record["run"], []).append(float(record["absolute_error"]))  # type: ignore[arg-type]
    return [float(np.mean(own)) for _, own in sorted(found.items(), key=lambda item: str(item[0]))]


def _verdict(every: Table) -> Verdict:
    """NE has smaller errors than VG, BMF and Random in the papers' translation, for each evidence and weights.

    Differences of errors and not their ratios: with saturated marginals errors are 0 in one run and not in the next.
    """
    table = best_of(every)
    more: dict[str, Interval] = {}
    notes = []
    for evidence in dict.fromkeys(table.column("evidence")):
        for weights in (SATURATED, DESATURATED):
            own = {name: by_run(table, name, LITERAL, evidence=evidence, weights=weights) for name in (NE, VG, BMF, RANDOM)}
            if max(max(values) for values in own.values()) < 1e-6:
                notes.append(f"{evidence}, {weights}: no pre-processor makes an error, all marginals are 0 or 1")
                continue
            for name in (VG, BMF, RANDOM):
                more[f"{evidence}, {weights}, {name} less NE"] = mean_interval(np.array(own[name]) - np.array(own[NE]))
            own |= {name: by_run(table, name, LITERAL, evidence=evidence, weights=weights) for name in (NE_SVD, GROUPS)}
            means = [", ".join(f"{name} {np.mean(values):.3f}" for name, values in own.items())]
            for setting in (OTHER, CORRECTED):
                by = {name: by_run(table, name, setting, evidence=evidence, weights=weights) for name in (NE, NE_SVD, VG, GROUPS)}
                means.append(f"{setting} " + ", ".join(f"{name} {np.mean(values):.3f}" for name, values in by.items()))
            notes.append(f"{evidence}, {weights}: mean error over ratios {'; '.join(means)}")
    judged = at_least(more, 0, "error averaged over ratios")
    return Verdict(judged.word, (*judged.reasons, *notes))


TITLE = "E13: pre-processing on R(x) v S_i(x,y) v T_i(x,z)"


def draw(every: Table) -> Any:
    """A row for each evidence and weights, a panel in it for each translation."""
    table, charts = named_best(best_of(every)), []
    settings = tuple(dict.fromkeys(table.column("setting")))
    for evidence in dict.fromkeys(table.column("evidence")):
        for weights in (SATURATED, DESATURATED):
            for setting in settings:
                rows = [r for r in table.records() if (r["evidence"], r["weights"], r["setting"]) == (evidence, weights, setting)]
                panel = Lines(
                    f"{setting}: {panel_title(evidence, weights)}",
                    "ratio",
                    "absolute_error",
                    ("preprocessor",),
                    "compression ratio: share of objects kept, of facts for Random",
                    "average absolute error of R",
                    log_x=False,
                    log_y=False,
                    band=False,  # of so many lines ranges would hide each other
                )
                charts.append(lines(Table(COLUMNS, [tuple(r.values()) for r in rows]), panel))
    return beside(charts, len(settings), title=TITLE)


def panel_title(evidence: Cell, weights: str) -> str:
    """What a panel is about, in words."""
    return f"evidence by {evidence}, {'weights in [-1, 1]' if weights == SATURATED else 'desaturated weights'}"


EXPERIMENT = Experiment(
    id="E13",
    title=TITLE,
    source="[002] Fig. 2(a)",
    claim="With a growing compression ratio marginals after embedding objects (NE) approach the truth much faster than after "
    "k-means (VG), and they are better than after binary matrix factorisation, whose error is about 0.1.",
    quick=SyntheticScale(items=20, others=24, rules=(4,), ratios=(0.1, 0.4, 0.8), ranks=(5, 10), runs=2, epochs=20),
    full=SyntheticScale(runs=5),
    run=run,
    draw=draw,
)
