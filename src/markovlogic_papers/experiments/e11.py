"""E11: [002] Fig. 1(d) to (f), the most probable world by MaxWalkSAT after pre-processing, against the one with all evidence."""

from __future__ import annotations

from markovlogic.estimation.metrics import f1_of_true_atoms
from markovlogic.system.progress import Progress
from markovlogic_papers.experiments.after_preprocessing import Measure, chart_of, run_engine
from markovlogic_papers.experiments.engines import maxwalksat
from markovlogic_papers.experiments.outcome import Experiment, Outcome
from markovlogic_papers.experiments.preprocessing import PART, SMALL, TaskScale

MEASURE = Measure("F1 of true atoms", f1_of_true_atoms, more_is_better=True, of_worlds=True, floor="by search with all evidence")


def run(scale: TaskScale, seed: int, progress: Progress) -> Outcome:
    """All benchmarks, pre-processors and ratios."""
    return run_engine("E11", maxwalksat, MEASURE, scale, (seed, progress))


TITLE = "E11: MaxWalkSAT after pre-processing"
EXPERIMENT = Experiment(
    id="E11",
    title=TITLE,
    source="[002] Fig. 1(d)-(f)",
    claim="Most probable worlds by MaxWalkSAT after embedding objects (NE) agree better with those with all evidence than "
    "after k-means (VG), binary matrix factorisation (BMF) and dropping evidence (Random), on all benchmarks.",
    quick=SMALL,
    full=PART,
    run=run,
    draw=chart_of(TITLE, MEASURE),
)
