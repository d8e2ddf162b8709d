"""E10: [002] Fig. 1(a) to (c), marginals by MC-SAT after pre-processing, against those with all evidence."""

from __future__ import annotations

from markovlogic.estimation.metrics import mean_absolute_error
from markovlogic.system.progress import Progress
from markovlogic_papers.experiments.after_preprocessing import Measure, chart_of, run_engine
from markovlogic_papers.experiments.engines import mcsat
from markovlogic_papers.experiments.outcome import Experiment, Outcome
from markovlogic_papers.experiments.preprocessing import PART, SMALL, TaskScale

MEASURE = Measure("average absolute error of marginals", mean_absolute_error, more_is_better=False)


def run(scale: TaskScale, seed: int, progress: Progress) -> Outcome:
    """All benchmarks, pre-processors and ratios."""
    return run_engine("E10", mcsat, MEASURE, scale, (seed, progress))


TITLE = "E10: MC-SAT after pre-processing"
EXPERIMENT = Experiment(
    id="E10",
    title=TITLE,
    source="[002] Fig. 1(a)-(c)",
    claim="Marginals by MC-SAT after embedding objects (NE) are closer to those with all evidence than after k-means (VG), "
    "binary matrix factorisation (BMF) and dropping evidence (Random), on all benchmarks.",
    quick=SMALL,
    full=PART,
    run=run,
    draw=chart_of(TITLE, MEASURE),
)
