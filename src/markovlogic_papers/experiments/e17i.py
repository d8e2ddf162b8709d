"""E17i: [003] Fig. 3(c), time to a KL divergence below 10⁻⁴ over the number of people, with transitivity."""

from __future__ import annotations

from markovlogic.system.progress import Progress
from markovlogic_papers.experiments import sizes
from markovlogic_papers.experiments.follow import ORBIT, SAMPLE
from markovlogic_papers.experiments.outcome import Experiment, Outcome


def run(scale: sizes.SizeScale, seed: int, progress: Progress) -> Outcome:
    """Both estimators of Gibbs against a gold run; no exact lifted method is known here."""
    found = sizes.arrivals(scale, True, seed, progress)
    return sizes.size_outcome(found, "seconds", sizes.compare_growth(found, "seconds"), scale, {})


TITLE = "E17i: time to KL < 0.0001, with transitivity"
EXPERIMENT = Experiment(
    id="E17i",
    title=TITLE,
    source="[003] Fig. 3(c)",
    claim="Also with transitivity the increase in runtime over the domain size is far less pronounced with the Rao-Blackwell "
    "estimator.",
    quick=sizes.QUICK,
    full=sizes.FULL,
    run=run,
    draw=sizes.chart(TITLE, "seconds", "seconds (all runs together)", (SAMPLE, ORBIT)),
)
