"""E18c: [004] backup slides, Ising grid with an outer field: lifted Metropolis-Hastings against Gibbs."""

from __future__ import annotations

from markovlogic.experiments.outcome import Experiment, Outcome
from markovlogic.experiments.racing import RaceScale, chart
from markovlogic.experiments.spins import run_spins
from markovlogic.progress import Progress


def run(scale: RaceScale, seed: int, progress: Progress) -> Outcome:
    """Spins on a square grid."""
    return run_spins("ising", scale, seed, progress)


TITLE = "E18c: Ising grid with a field"
EXPERIMENT = Experiment(
    id="E18c",
    title=TITLE,
    source="[004] backup slides, panels (a) and (b)",
    claim="On an Ising grid with an outer field lifted Metropolis-Hastings converges faster than Gibbs, by iterations and by "
    "time (the slides' curves are lost).",
    quick=RaceScale(size=8, draws=500, repeats=4, evidence=0.0, seconds=5),
    full=RaceScale(size=14, draws=5000, evidence=0.0),
    run=run,
    draw=chart(TITLE),
)
