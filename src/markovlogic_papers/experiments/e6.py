"""E6: [001] Fig. 2(c), log R over time on M3, 25 objects, 10 % evidence."""

from __future__ import annotations

from markovlogic.system.progress import Progress
from markovlogic_papers.experiments.mixing import MixingScale, chart, run_mixing
from markovlogic_papers.experiments.outcome import Experiment, Outcome


def run(scale: MixingScale, seed: int, progress: Progress) -> Outcome:
    """R(x,y) v S(y,z), S(y,z) v T(z,u); weights 1, the paper gives none."""
    return run_mixing("m3", "", scale, seed, progress)


TITLE = "E6: M3, log R over time"
EXPERIMENT = Experiment(
    id="E6",
    title=TITLE,
    source="[001] Fig. 2(c)",
    claim="Lifted blocked Gibbs mixes much faster than blocked Gibbs: the Gelman-Rubin statistic comes down sooner.",
    quick=MixingScale(size=25, seconds=2, burn_in=20),
    full=MixingScale(size=25, seconds=40),
    run=run,
    draw=chart(TITLE),
)
