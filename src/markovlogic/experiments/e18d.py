"""E18d: [004] backup slides, Ising model on a Chimera graph: lifted Metropolis-Hastings against Gibbs."""

from __future__ import annotations

from markovlogic.experiments.outcome import Experiment, Outcome
from markovlogic.experiments.racing import RaceScale, chart
from markovlogic.experiments.spins import run_spins
from markovlogic.progress import Progress


def run(scale: RaceScale, seed: int, progress: Progress) -> Outcome:
    """Spins on a Chimera graph."""
    return run_spins("chimera", scale, seed, progress)


TITLE = "E18d: Chimera graph with a field"
EXPERIMENT = Experiment(
    id="E18d",
    title=TITLE,
    source="[004] backup slides, panels (c) and (d)",
    claim="On a Chimera graph with an outer field lifted Metropolis-Hastings converges faster than Gibbs, by iterations and by "
    "time (the slides' curves are lost).",
    quick=RaceScale(size=2, draws=500, repeats=4, evidence=0.0, seconds=5),
    full=RaceScale(size=3, draws=5000, evidence=0.0),
    run=run,
    draw=chart(TITLE),
)
