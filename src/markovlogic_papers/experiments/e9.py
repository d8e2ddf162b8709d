"""E9: [001] Fig. 2(f), seconds of 100 iterations over the number of objects on M4, 10 % evidence."""

from __future__ import annotations

from markovlogic.system.progress import Progress
from markovlogic_papers.experiments.iterations import IterationScale, chart, run_iterations
from markovlogic_papers.experiments.outcome import Experiment, Outcome


def run(scale: IterationScale, seed: int, progress: Progress) -> Outcome:
    """WebKB with classes, words and links all open, as many words as pages; five classes, a predicate each."""
    return run_iterations("webkb", "open", scale, seed, progress)


TITLE = "E9: M4, seconds of 100 iterations"
EXPERIMENT = Experiment(
    id="E9",
    title=TITLE,
    source="[001] Fig. 2(f)",
    claim="Lifted blocked Gibbs scales better with the number of objects than blocked Gibbs.",
    quick=IterationScale(sizes=(5, 10, 15, 20, 25, 30), seconds=1, from_size=10),
    full=IterationScale(sizes=(5, 10, 20, 50, 100, 150, 200)),
    run=run,
    draw=chart(TITLE),
)
