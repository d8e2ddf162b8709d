"""E17g: [003] Fig. 3(a), time to a KL divergence below 10⁻⁴ over the number of people, Friends & Smokers without evidence."""

from __future__ import annotations

from markovlogic.experiments import sizes
from markovlogic.experiments.follow import ORBIT, SAMPLE
from markovlogic.experiments.outcome import Experiment, Outcome
from markovlogic.progress import Progress


def run(scale: sizes.SizeScale, seed: int, progress: Progress) -> Outcome:
    """Both estimators of Gibbs, and for comparison the exact sum over counts, which gives all marginals in one call."""
    found = sizes.arrivals(scale, False, seed, progress)
    return sizes.size_outcome(found, "seconds", sizes.compare_growth(found, "seconds"), scale, {})


TITLE = "E17g: time to KL < 0.0001, Friends & Smokers"
EXPERIMENT = Experiment(
    id="E17g",
    title=TITLE,
    source="[003] Fig. 3(a)",
    claim="The increase in runtime over the domain size is far less pronounced with the Rao-Blackwell estimator; it scales "
    "comparably to exact lifted inference.",
    quick=sizes.QUICK,
    full=sizes.FULL,
    run=run,
    draw=sizes.chart(TITLE, "seconds", "seconds (all runs together)", (SAMPLE, ORBIT, sizes.EXACT)),
)
