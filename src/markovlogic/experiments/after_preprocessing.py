"""[002] Fig. 1: inference after pre-processing against inference with all evidence, over compression ratios.

All evidence is solved twice, with other random numbers: what lies between the two runs is the noise floor, below which no
pre-processor can be told from another. For the most probable world the first is solved by integer programs: local search ends
anywhere between worlds that weigh nearly the same, and on ER in one with nothing true.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from markovlogic.arrays import Float64
from markovlogic.errors import ResourceError
from markovlogic.experiments.comparison import Interval, at_least, mean_interval
from markovlogic.experiments.drawing import Lines, beside, lines
from markovlogic.experiments.engines import Engine, Solved, best_world, by_blocks, solved
from markovlogic.experiments.outcome import Cell, Outcome, Table, Verdict
from markovlogic.experiments.preprocessing import (
    CORRECTED,
    FULL,
    GRECOND,
    LITERAL,
    NE,
    NIMFA_NAME,
    RANDOM,
    VG,
    Prepared,
    Task,
    TaskScale,
    prepared,
    task_of,
)
from markovlogic.progress import Progress

COLUMNS = ("benchmark", "setting", "preprocessor", "ratio", "rank", "kept", "run", "score", "pre_seconds", "seconds")
FLOOR = "noise floor"


@dataclass(frozen=True)
class Measure:
    """How values are compared with those under all evidence."""

    name: str
    score: Callable[[Float64, Float64], float]  # gold, estimate
    more_is_better: bool
    of_worlds: bool = False
    floor: str = "between two runs with all evidence"


def run_engine(
    panel: str, engine: Engine, measure: Measure, scale: TaskScale, context: tuple[int, Progress], *, blocks: bool = False
) -> Outcome:
    """All benchmarks, pre-processors and ratios with one engine; blocks: the corrected setting is the chain over blocks.

    What all are compared with is a long run of the engine with all evidence, and another one makes the noise floor; where the
    measure is about worlds, it is the best world, and the floor is what a long search makes of all evidence.
    """
    seed, progress = context
    rows: list[tuple[Cell, ...]] = []
    checks: dict[str, Any] = {}
    progress.stage(panel, len(scale.benchmarks) * scale.runs)
    done = 0
    for name in scale.benchmarks:
        for number in range(scale.runs):
            task = task_of(name, scale, seed + number)
            own, told = _scored(task, prepared(name, scale, seed + number), engine, measure, scale, seed + number, blocks=blocks)
            rows += [(name, *row[:5], number, *row[5:]) for row in own]
            checks[f"{name}, run {number}"] = told
            done += 1
            progress.advance(done, name)
    table = Table(COLUMNS, rows)
    measured = {"measure": measure.name, "means": _means(table), "tasks": checks}
    return Outcome(table, measured, verdict_of(table, measure), asdict(scale))


def _scored(
    task: Task, made: tuple[Prepared, ...], engine: Engine, measure: Measure, scale: TaskScale, seed: int, *, blocks: bool
) -> tuple[list[tuple[Any, ...]], dict[str, Any]]:
    """Rows (setting, pre-processor, ratio, rank, kept, score, seconds of pre-processing and of the engine)."""
    second = solved(task, None, engine, scale, seed + 2000, times=scale.gold)
    if measure.of_worlds:
        first, how = best_world(task, scale, seed + 1000)
    else:
        first, how = solved(task, None, engine, scale, seed + 1000, times=scale.gold), "a run of the same engine"
    gold = first.values
    rows: list[tuple[Any, ...]] = []
    rows.append((FLOOR, FULL, None, None, None, measure.score(gold, second.values), 0.0, second.seconds))
    refused: dict[str, str] = {}
    for one in made:
        found = solved(task, one.compression, engine, scale, seed)
        rows.append(_row(LITERAL, one, measure.score(gold, found.values), found))
        other = one.corrected(task)
        if other is not None:
            try:
                right = by_blocks(task, one, scale, seed) if blocks else solved(task, other, engine, scale, seed)
            except ResourceError as reason:
                refused[f"{one.preprocessor}, ratio {one.ratio}"] = str(reason)
                continue
            if right is not None:
                rows.append(_row(CORRECTED, one, measure.score(gold, right.values), right))
    told = {
        "data": task.world.source,
        "objects": task.world.objects(),
        "atoms": len(task.posed.problem.atoms),
        "gold": how,
        "mean_gold": float(gold.mean()),
        "undecided": float(np.mean((gold > 0.01) & (gold < 0.99))),
        "learned_in_seconds": task.learned_in,
        "corrected_does_not_fit": refused,
    }
    return rows, told


def _row(setting: str, one: Prepared, score: float, found: Solved) -> tuple[Any, ...]:
    return (setting, one.preprocessor, one.ratio, one.rank, one.kept, score, one.seconds, found.seconds)


def scores_by_run(
    table: Table, benchmark: str, preprocessor: str, setting: str, *, best: Callable[[list[float]], float], ratio: Cell = None
) -> list[float]:
    """The score of each run, averaged over ratios (or at one); where there are ranks, of the best of them."""
    found: dict[Cell, dict[Cell, list[float]]] = {}
    for r in table.records():
        same = (r["benchmark"], r["preprocessor"], r["setting"]) == (benchmark, preprocessor, setting)
        if same and (ratio is None or r["ratio"] in (ratio, None)):
            found.setdefault(r["run"], {}).setdefault(r["rank"], []).append(float(r["score"]))  # type: ignore[arg-type]
    return [
        best([float(np.mean(own)) for own in ranks.values()]) for _, ranks in sorted(found.items(), key=lambda kv: str(kv[0]))
    ]


def verdict_of(table: Table, measure: Measure) -> Verdict:
    """NE is better than every other pre-processor on every benchmark, in the papers' translation, averaged over ratios."""
    best: Callable[[list[float]], float] = max if measure.more_is_better else min
    ahead: dict[str, Interval] = {}
    notes = []
    for name in dict.fromkeys(str(r["benchmark"]) for r in table.records()):
        own = {
            other: np.array(scores_by_run(table, name, other, LITERAL, best=best))
            for other in (NE, VG, NIMFA_NAME, GRECOND, RANDOM, FULL)
        }
        floor = float(np.mean([float(r["score"]) for r in table.records() if r["benchmark"] == name and r["setting"] == FLOOR]))  # type: ignore[arg-type]
        for other in (VG, NIMFA_NAME, RANDOM):
            gain = own[NE] - own[other] if measure.more_is_better else own[other] - own[NE]
            ahead[f"{name}, NE against {other}"] = mean_interval(gain)
        right = {other: scores_by_run(table, name, other, CORRECTED, best=best) for other in (NE, VG)}
        notes.append(
            f"{name}: {measure.name} "
            + ", ".join(f"{other} {values.mean():.3f}" for other, values in own.items())
            + "; corrected "
            + ", ".join(f"{other} {np.mean(values):.3f}" for other, values in right.items())
            + f"; {measure.floor} {floor:.3f}"
        )
    judged = at_least(ahead, 0, "is ahead by")
    return Verdict(judged.word, (*judged.reasons, *notes))


def _means(table: Table) -> Mapping[str, float]:
    """Mean scores by benchmark, setting, pre-processor, ratio and rank."""
    found: dict[str, list[float]] = {}
    for r in table.records():
        key = ", ".join(str(r[name]) for name in ("benchmark", "setting", "preprocessor", "ratio", "rank") if r[name] is not None)
        found.setdefault(key, []).append(float(r["score"]))  # type: ignore[arg-type]
    return {key: float(np.mean(own)) for key, own in found.items()}


def chart_of(title: str, y_title: str) -> Callable[[Table], Any]:
    """A panel a benchmark; pre-processors without a ratio are drawn at all of them, with their best rank left to the table."""

    def draw(table: Table) -> Any:
        charts = []
        ratios = sorted({float(r) for r in table.column("ratio") if r is not None})
        at = {name: table.columns.index(name) for name in COLUMNS}
        for name in dict.fromkeys(table.column("benchmark")):
            own = [row for row in table.rows if row[at["benchmark"]] == name]
            floor = [float(row[at["score"]]) for row in own if row[at["setting"]] == FLOOR]  # type: ignore[arg-type]
            rows = []
            for row in own:
                if row[at["setting"]] == FLOOR or row[at["preprocessor"]] == FULL:
                    continue
                for ratio in ratios if row[at["ratio"]] is None else (row[at["ratio"]],):
                    rows.append((*row[: at["ratio"]], ratio, *row[at["ratio"] + 1 :]))
            panel = Lines(
                f"{title}, {name}",
                "ratio",
                "score",
                ("preprocessor", "setting"),
                "compression ratio",
                y_title,
                log_x=False,
                log_y=False,
                target=float(np.mean(floor)),
            )
            charts.append(lines(Table(COLUMNS, rows), panel))
        return beside(charts)

    return draw
