"""E15: [002] Fig. 2(c), F1 of the most probable world after embedding objects, over the size of the embedding.

Literal and corrected are those of E11: the same groups with one atom for p(A,A) and p(A,B), or with diagonals apart. The noise
floor is what a long search makes of all evidence.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from markovlogic.errors import ResourceError
from markovlogic.estimation.metrics import f1_of_true_atoms
from markovlogic.system.progress import Progress
from markovlogic_papers.experiments.after_preprocessing import FLOOR, does_not_fit
from markovlogic_papers.experiments.comparison import Interval, mean_interval, together, within
from markovlogic_papers.experiments.drawing import Lines, beside, lines
from markovlogic_papers.experiments.engines import best_world, maxwalksat, seed_with_true_atoms, solved
from markovlogic_papers.experiments.outcome import Cell, Experiment, Outcome, Table, Verdict, Word
from markovlogic_papers.experiments.preprocessing import (
    CORRECTED,
    LITERAL,
    NE,
    NE_SVD,
    PART,
    TaskScale,
    grouping_of,
    merged,
    task_of,
)

COLUMNS = ("benchmark", "setting", "dimensions", "run", "f1", "pre_seconds")
BY_SVD = f"{LITERAL}, {NE_SVD}"  # beside skip-gram, the paper's embedding
STABLE = 0.1  # an F1 that moves by less is stable


@dataclass(frozen=True)
class EmbeddingScale(TaskScale):
    """Sizes of the embedding that are tried, at the first of the ratios."""

    dimensions: tuple[int, ...] = (5, 20, 50, 100, 300)


def run(scale: EmbeddingScale, seed: int, progress: Progress) -> Outcome:
    """All benchmarks and sizes; sizes above half of the objects of a part are cut to that."""
    rows: list[tuple[Cell, ...]] = []
    refused: list[tuple[str, str]] = []
    why = ""
    progress.stage("E15", len(scale.benchmarks) * scale.runs)
    done = 0
    for name in scale.benchmarks:
        for number in range(scale.runs):
            chosen = seed_with_true_atoms(name, scale, seed, number)
            task = task_of(name, scale, chosen)
            gold = best_world(task, scale, chosen + 1000)[0].values
            again = solved(task, None, maxwalksat, scale, seed + 2000, times=scale.gold).values
            rows.append((name, FLOOR, None, number, f1_of_true_atoms(gold, again), 0.0))
            for size in scale.dimensions:
                one, svd = (
                    merged(task, own, grouping_of(own, scale.ratios[0], seed + number, dim=size, epochs=scale.epochs))
                    for own in (NE, NE_SVD)
                )
                ways = ((LITERAL, one, one.compression), (CORRECTED, one, one.corrected(task)), (BY_SVD, svd, svd.compression))
                for setting, way, made in ways:
                    try:
                        found = solved(task, made, maxwalksat, scale, seed + number)
                    except ResourceError as reason:
                        if setting == LITERAL:
                            raise
                        refused.append((name, f"size {size}"))
                        why = why or str(reason)
                        continue
                    rows.append((name, setting, size, number, f1_of_true_atoms(gold, found.values), way.seconds))
            done += 1
            progress.advance(done, name)
    table = Table(COLUMNS, rows)
    f1 = {
        setting: {
            name: {str(size): mean_interval(own).as_dict() for size, own in by_size(table, name, setting).items()}
            for name in scale.benchmarks
        }
        for setting in (LITERAL, CORRECTED, BY_SVD)
    }
    floor = {name: float(np.mean(floor_of(table, name))) for name in scale.benchmarks}
    judged = _verdict(table)
    verdict = Verdict(judged.word, (*judged.reasons, *does_not_fit(refused, why)))
    return Outcome(table, {"f1": f1, "f1 by search with all evidence": floor}, verdict, asdict(scale))


def by_size(table: Table, name: str, setting: str) -> dict[int, list[float]]:
    """F1 of each run by size of the embedding."""
    found: dict[int, list[float]] = {}
    for r in table.records():
        if (r["benchmark"], r["setting"]) == (name, setting):
            found.setdefault(int(r["dimensions"]), []).append(float(r["f1"]))  # type: ignore[arg-type]
    return found


def floor_of(table: Table, name: str) -> list[float]:
    """F1 of each run by search with all evidence."""
    return [float(r["f1"]) for r in table.records() if (r["benchmark"], r["setting"]) == (name, FLOOR)]  # type: ignore[arg-type]


def moves(by: Mapping[int, list[float]]) -> dict[int, Interval]:
    """By size how far F1 is from that of the first size, run by run."""
    first, *rest = by
    return {size: mean_interval(np.array(by[size]) - np.array(by[first])) for size in rest}


def _verdict(table: Table) -> Verdict:
    """In the paper's translation WebKB and Protein stay within STABLE at all sizes, and ER moves by more at some."""
    names = list(dict.fromkeys(str(name) for name in table.column("benchmark")))
    judged = []
    for name in names:
        own = moves(by_size(table, name, LITERAL))
        if name == "er":
            steady = all(i.low >= -STABLE and i.high <= STABLE for i in own.values())
            moved = any(i.low > STABLE or i.high < -STABLE for i in own.values())
            word: Word = "agrees" if moved else "differs" if steady else "unclear"
            judged.append(Verdict(word, tuple(f"{name}: F1 at size {size} less the first one {i}" for size, i in own.items())))
        else:
            judged.append(
                within({f"{name}, size {size}": i for size, i in own.items()}, -STABLE, STABLE, "F1 less that of the first size")
            )
    verdict = together(judged)
    reasons = list(verdict.reasons)
    for name in names:
        for setting in (LITERAL, CORRECTED, BY_SVD):
            by = by_size(table, name, setting)
            means = ", ".join(f"{np.mean(values):.3f} at {size}" for size, values in by.items())
            reasons.append(f"{name}, {setting}: mean F1 {means}")
        reasons.append(f"{name}: {np.mean(floor_of(table, name)):.3f} by search with all evidence")
    return Verdict(verdict.word, tuple(reasons))


TITLE = "E15: F1 over the size of the embedding"


def draw(table: Table) -> Any:
    """F1 over the size, a panel a benchmark."""
    charts = []
    for name in dict.fromkeys(str(name) for name in table.column("benchmark")):
        rows = [row for row in table.rows if row[0] == name and row[1] != FLOOR]
        panel = Lines(
            name,
            "dimensions",
            "f1",
            ("setting", "setting"),  # dashes too: the two often have the same values
            "size of the embedding (cut to half of the objects)",
            "F1 of true atoms",
            log_y=False,
            points=True,
            x_ticks=sorted({float(str(row[2])) for row in rows}),
            target=float(np.mean(floor_of(table, name))),
            target_title=f"{FLOOR}: by search with all evidence",
        )
        charts.append(lines(Table(COLUMNS, rows), panel))
    return beside(charts, title=TITLE)


EXPERIMENT = Experiment(
    id="E15",
    title=TITLE,
    source="[002] Fig. 2(c)",
    claim="F1 of the most probable world is stable over sizes of the embedding on WebKB and Protein; on ER it depends on them.",
    quick=EmbeddingScale((24, 24, 10), (24, 24, 10), 2, (0.3,), 4, 40, 1, 1, made=0.05, epochs=20, dimensions=(2, 5, 10)),
    full=EmbeddingScale(PART.tested, PART.trained, 4, (0.3,), 8, 100, 3, 2, dimensions=(5, 20, 100)),
    run=run,
    draw=draw,
)
