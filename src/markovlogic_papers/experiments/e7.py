"""E7: [001] Fig. 2(d), log R over time on M4, 25 objects, 10 % evidence."""

from __future__ import annotations

from markovlogic.system.progress import Progress
from markovlogic_papers.experiments.mixing import MixingScale, chart, run_mixing
from markovlogic_papers.experiments.outcome import Experiment, Outcome


def run(scale: MixingScale, seed: int, progress: Progress) -> Outcome:
    """WebKB with classes, words and links all open, as many words as pages; five classes, a predicate each."""
    return run_mixing("webkb", "open", scale, seed, progress)


TITLE = "E7: M4, log R over time"
EXPERIMENT = Experiment(
    id="E7",
    title=TITLE,
    source="[001] Fig. 2(d)",
    claim="Lifted blocked Gibbs mixes much faster than blocked Gibbs: the Gelman-Rubin statistic comes down sooner.",
    quick=MixingScale(size=10, seconds=3, burn_in=20),
    full=MixingScale(size=25, seconds=40),
    run=run,
    draw=chart(TITLE),
)
