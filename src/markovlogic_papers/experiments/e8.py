"""E8: [001] Fig. 2(e), seconds of 100 iterations over the number of objects on M3, 10 % evidence."""

from __future__ import annotations

from markovlogic.system.progress import Progress
from markovlogic_papers.experiments.iterations import IterationScale, chart, run_iterations
from markovlogic_papers.experiments.outcome import Experiment, Outcome


def run(scale: IterationScale, seed: int, progress: Progress) -> Outcome:
    """R(x,y) v S(y,z), S(y,z) v T(z,u); weights 1, the paper gives none."""
    return run_iterations("m3", "", scale, seed, progress)


TITLE = "E8: M3, seconds of 100 iterations"
EXPERIMENT = Experiment(
    id="E8",
    title=TITLE,
    source="[001] Fig. 2(e)",
    claim="Lifted blocked Gibbs scales better with the number of objects than blocked Gibbs.",
    quick=IterationScale(sizes=(5, 10, 20, 30, 40, 50, 60), seconds=2),
    full=IterationScale(sizes=(5, 10, 20, 50, 100, 150, 200)),
    run=run,
    draw=chart(TITLE),
)
