"""E17h: [003] Fig. 3(b), sample points to a KL divergence below 10⁻⁴, Friends & Smokers without evidence."""

from __future__ import annotations

from markovlogic.system.progress import Progress
from markovlogic_papers.experiments import sizes
from markovlogic_papers.experiments.follow import ORBIT, SAMPLE
from markovlogic_papers.experiments.outcome import Experiment, Outcome


def run(scale: sizes.SizeScale, seed: int, progress: Progress) -> Outcome:
    """The runs of E17g, by sample points: [003]'s released code counts every update of an atom as one."""
    found = sizes.arrivals(scale, False, seed, progress)
    draws = {name: sizes.means(found, name, "draws") for name in (SAMPLE, ORBIT)}
    more = {"mean_draws": draws}
    return sizes.size_outcome(found, "updates", sizes.compare_growth(found, "updates"), scale, more)


TITLE = "E17h: sample points to KL < 0.0001, Friends & Smokers"
EXPERIMENT = Experiment(
    id="E17h",
    title=TITLE,
    source="[003] Fig. 3(b)",
    claim="The number of sample points needed grows far less with the domain size for the Rao-Blackwell estimator.",
    quick=sizes.QUICK,
    full=sizes.FULL,
    run=run,
    draw=sizes.chart(TITLE, "updates", "sample points (atom updates a run)", (SAMPLE, ORBIT)),
)
