"""[002] Fig. 1: inference after pre-processing against inference with all evidence, over compression ratios.

All evidence is solved twice, with other random numbers: what lies between the two runs is the noise floor, below which no
pre-processor can be reported from another. For the most probable world the first is solved by integer programs: local search ends
anywhere between worlds that weigh nearly the same, and on ER in one with nothing true.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from markovlogic.errors import ResourceError
from markovlogic.system.arrays import Float64
from markovlogic.system.progress import Progress
from markovlogic_papers.experiments.comparison import Interval, at_least, mean_interval
from markovlogic_papers.experiments.drawing import Lines, beside, lines
from markovlogic_papers.experiments.engines import Engine, Solved, best_world, by_blocks, seed_with_true_atoms, solved
from markovlogic_papers.experiments.outcome import Cell, Outcome, Table, Verdict
from markovlogic_papers.experiments.preprocessing import (
    CORRECTED,
    FULL,
    GRECOND,
    LITERAL,
    NE,
    NE_SVD,
    NIMFA_NAME,
    RANDOM,
    VG,
    Prepared,
    Task,
    TaskScale,
    prepared,
    task_of,
)

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
    refused: list[tuple[str, str]] = []
    why = ""
    progress.stage(panel, len(scale.benchmarks) * scale.runs)
    done = 0
    for name in scale.benchmarks:
        for number in range(scale.runs):
            chosen = seed_with_true_atoms(name, scale, seed, number) if measure.of_worlds else seed + number
            task = task_of(name, scale, chosen)
            own, record = _scored(task, prepared(name, scale, chosen), engine, measure, scale, chosen, blocks=blocks)
            rows += [(name, *row[:5], number, *row[5:]) for row in own]
            checks[f"{name}, run {number}"] = record
            refused += [(name, cell) for cell in record["corrected_does_not_fit"]]
            why = why or next(iter(record["corrected_does_not_fit"].values()), "")
            done += 1
            progress.advance(done, name)
    table = Table(COLUMNS, rows)
    measured = {"measure": measure.name, "means": _means(table), "tasks": checks}
    judged = verdict_of(table, measure)
    left_out = does_not_fit(refused, why)
    return Outcome(table, measured, Verdict(judged.word, (*judged.reasons, *left_out)), asdict(scale))


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
    record = {
        "data": task.world.source,
        "objects": task.world.objects(),
        "atoms": len(task.prepared.problem.atoms),
        "gold": how,
        "mean_gold": float(gold.mean()),
        "undecided": float(np.mean((gold > 0.01) & (gold < 0.99))),
        "learned_in_seconds": task.learned_in,
        "corrected_does_not_fit": refused,
    }
    return rows, record


def _row(setting: str, one: Prepared, score: float, found: Solved) -> tuple[Any, ...]:
    return (setting, one.preprocessor, one.ratio, one.rank, one.kept, score, one.seconds, found.seconds)


def does_not_fit(refused: Sequence[tuple[str, str]], why: str) -> tuple[str, ...]:
    """One sentence on the corrected cells that were refused, (benchmark, what) of each run; none where all fit."""
    if not refused:
        return ()
    times = Counter(refused)
    cells = "; ".join(f"{name}, {cell}, in {count} run{'s' * (count > 1)}" for (name, cell), count in times.items())
    return (f"corrected means leave out what does not fit ({cells}): {why.rstrip('.')}.",)


def _by_run(table: Table, benchmark: str, preprocessor: str, setting: str) -> list[float]:
    """The score of each run, averaged over ratios."""
    found: dict[Cell, list[float]] = {}
    for r in table.records():
        if (r["benchmark"], r["preprocessor"], r["setting"]) == (benchmark, preprocessor, setting):
            found.setdefault(r["run"], []).append(float(r["score"]))  # type: ignore[arg-type]
    return [float(np.mean(own)) for _, own in sorted(found.items(), key=lambda kv: str(kv[0]))]


def verdict_of(table: Table, measure: Measure) -> Verdict:
    """NE is better than every other pre-processor on every benchmark, in the papers' translation, averaged over ratios.

    NE is judged by skip-gram, as the paper has it; SVD of the same objective stands beside it.
    Factors of evidence have the rank at which they keep as many facts as Random does.
    """
    ahead: dict[str, Interval] = {}
    notes = []
    for name in dict.fromkeys(str(r["benchmark"]) for r in table.records()):
        own = {
            other: np.array(_by_run(table, name, other, LITERAL)) for other in (NE, NE_SVD, VG, NIMFA_NAME, GRECOND, RANDOM, FULL)
        }
        floor = float(np.mean([float(r["score"]) for r in table.records() if r["benchmark"] == name and r["setting"] == FLOOR]))  # type: ignore[arg-type]
        for other in (VG, NIMFA_NAME, RANDOM):
            gain = own[NE] - own[other] if measure.more_is_better else own[other] - own[NE]
            ahead[f"{name}, NE against {other}"] = mean_interval(gain)
        right = {other: _by_run(table, name, other, CORRECTED) for other in (NE, NE_SVD, VG)}
        notes.append(
            f"{name}: {measure.name} "
            + ", ".join(f"{other} {values.mean():.3f}" for other, values in own.items())
            + "; corrected "
            + ", ".join(f"{other} {f'{np.mean(values):.3f}' if values else 'none fits'}" for other, values in right.items())
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


def chart_of(title: str, measure: Measure) -> Callable[[Table], Any]:
    """A panel a benchmark, in the papers' translation."""

    def draw(table: Table) -> Any:
        charts = []
        at = {name: table.columns.index(name) for name in COLUMNS}
        for name in dict.fromkeys(table.column("benchmark")):
            own = [row for row in table.rows if row[at["benchmark"]] == name]
            floor = [float(row[at["score"]]) for row in own if row[at["setting"]] == FLOOR]  # type: ignore[arg-type]
            rows = [row for row in own if row[at["setting"]] == LITERAL and row[at["preprocessor"]] != FULL]
            panel = Lines(
                str(name),
                "ratio",
                "score",
                ("preprocessor",),
                "compression ratio: share of objects kept, of facts for Random and BMF",
                measure.name,
                log_x=False,
                log_y=False,
                target=float(np.mean(floor)),
                target_title=f"{FLOOR}: {measure.floor}",
                band=False,
            )
            charts.append(lines(Table(COLUMNS, rows), panel))
        return beside(charts, title=title)

    return draw
