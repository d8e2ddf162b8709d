"""E15: [002] Fig. 2(c), F1 of the most probable world after embedding objects, over the size of the embedding."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from markovlogic.estimate.metrics import f1_of_true_atoms
from markovlogic.experiments.comparison import mean_interval
from markovlogic.experiments.drawing import Lines, lines
from markovlogic.experiments.engines import best_world, maxwalksat, solved
from markovlogic.experiments.outcome import Cell, Experiment, Outcome, Table, Verdict, Word
from markovlogic.experiments.preprocessing import NE, TENTH_GROUND, TaskScale, merged, task_of
from markovlogic.progress import Progress

COLUMNS = ("benchmark", "dimensions", "run", "f1", "pre_seconds")
STABLE = 0.1  # a mean F1 that moves by less over all sizes is stable


@dataclass(frozen=True)
class EmbeddingScale(TaskScale):
    """Sizes of the embedding that are tried, at the first of the ratios."""

    dimensions: tuple[int, ...] = (5, 20, 50, 100, 300)


def run(scale: EmbeddingScale, seed: int, progress: Progress) -> Outcome:
    """All benchmarks and sizes; sizes above half of the objects of a part are cut to that."""
    rows: list[tuple[Cell, ...]] = []
    progress.stage("E15", len(scale.benchmarks) * scale.runs)
    floor: dict[str, list[float]] = {}
    done = 0
    for name in scale.benchmarks:
        for number in range(scale.runs):
            task = task_of(name, scale, seed + number)
            gold = best_world(task, scale, seed + 1000)[0].values
            again = solved(task, None, maxwalksat, scale, seed + 2000, times=scale.gold).values
            floor.setdefault(name, []).append(f1_of_true_atoms(gold, again))
            for size in scale.dimensions:
                one = merged(task, NE, scale.ratios[0], seed + number, dim=size)
                found = solved(task, one.compression, maxwalksat, scale, seed + number)
                rows.append((name, size, number, f1_of_true_atoms(gold, found.values), one.seconds))
            done += 1
            progress.advance(done, name)
    table = Table(COLUMNS, rows)
    means = {name: _means(table, name) for name in scale.benchmarks}
    told = {name: {str(size): mean_interval(own).as_dict() for size, own in by.items()} for name, by in means.items()}
    again_f1 = {name: float(np.mean(own)) for name, own in floor.items()}
    return Outcome(table, {"f1": told, "f1 by search with all evidence": again_f1}, _verdict(means), asdict(scale))


def _means(table: Table, name: str) -> dict[int, list[float]]:
    found: dict[int, list[float]] = {}
    for r in table.records():
        if r["benchmark"] == name:
            found.setdefault(int(r["dimensions"]), []).append(float(r["f1"]))  # type: ignore[arg-type]
    return found


def _verdict(means: dict[str, dict[int, list[float]]]) -> Verdict:
    """WebKB and Protein move by less than STABLE, ER by more than both; unclear where only one half holds."""
    spread = {}
    for name, by in means.items():
        own = [float(np.mean(values)) for values in by.values()]
        spread[name] = max(own) - min(own)
    calm = all(spread[name] < STABLE for name in ("webkb", "protein") if name in spread)
    moved = (
        "er" in spread and spread["er"] > max(value for name, value in spread.items() if name != "er") and spread["er"] >= STABLE
    )
    word: Word = "agrees" if calm and moved else "unclear" if calm or moved else "differs"
    reasons = [
        f"{name}: mean F1 moves by {spread[name]:.3f} over sizes: "
        + ", ".join(f"{np.mean(values):.3f} at {size}" for size, values in by.items())
        for name, by in means.items()
    ]
    return Verdict(word, tuple(reasons))


def draw(table: Table) -> Any:
    """F1 over the size, a line a benchmark."""
    panel = Lines("E15: size of the embedding", "dimensions", "f1", ("benchmark",), "dimensions", "F1 of true atoms", log_y=False)
    return lines(table, panel)


EXPERIMENT = Experiment(
    id="E15",
    title="E15: F1 over the size of the embedding",
    source="[002] Fig. 2(c)",
    claim="F1 of the most probable world is stable over sizes of the embedding on WebKB and Protein; on ER it depends on them.",
    quick=EmbeddingScale((24, 24, 10), (24, 24, 10), 2, (0.3,), (), 4, 40, 1, 1, made=0.05, dimensions=(2, 5, 10)),
    full=EmbeddingScale(TENTH_GROUND.tested, TENTH_GROUND.trained, 3, (0.3,), (), 8, 150, 3, 2),
    run=run,
    draw=draw,
)
