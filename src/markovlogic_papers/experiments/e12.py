"""E12: [002] Fig. 1(g) to (i), marginals by Gibbs sampling that counts after pre-processing, against those with all evidence."""

from __future__ import annotations

from markovlogic.estimation.metrics import mean_absolute_error
from markovlogic.system.progress import Progress
from markovlogic_papers.experiments.after_preprocessing import Measure, chart_of, run_engine
from markovlogic_papers.experiments.engines import counting
from markovlogic_papers.experiments.outcome import Experiment, Outcome
from markovlogic_papers.experiments.preprocessing import PART, SMALL, TaskScale

MEASURE = Measure("average absolute error of marginals", mean_absolute_error, more_is_better=False)


def run(scale: TaskScale, seed: int, progress: Progress) -> Outcome:
    """All benchmarks, pre-processors and ratios."""
    return run_engine("E12", counting, MEASURE, scale, (seed, progress), blocks=True)


TITLE = "E12: Gibbs sampling that counts, after pre-processing"
EXPERIMENT = Experiment(
    id="E12",
    title=TITLE,
    source="[002] Fig. 1(g)-(i)",
    claim="Marginals by Gibbs sampling with counts after embedding objects (NE) are closer to those with all evidence than "
    "after k-means (VG), binary matrix factorisation (BMF) and dropping evidence (Random), on all benchmarks.",
    quick=SMALL,
    full=PART,
    run=run,
    draw=chart_of(TITLE, MEASURE),
)
