"""E18c: [004] backup slides, Ising grid with an outer field: lifted Metropolis-Hastings against Gibbs."""

from __future__ import annotations

from markovlogic.system.progress import Progress
from markovlogic_papers.experiments.outcome import Experiment, Outcome
from markovlogic_papers.experiments.spins import SpinScale, run_spins, spin_chart


def run(scale: SpinScale, seed: int, progress: Progress) -> Outcome:
    """Spins on a square grid."""
    return run_spins("ising", scale, seed, progress)


TITLE = "E18c: Ising grid with a field"
EXPERIMENT = Experiment(
    id="E18c",
    title=TITLE,
    source="[004] backup slides, panels (a) and (b)",
    claim="On an Ising grid with an outer field lifted Metropolis-Hastings converges faster than Gibbs, by iterations and by "
    "time (the slides' curves are lost).",
    quick=SpinScale(size=8, draws=300, repeats=3, evidence=0.0, seconds=2, couplings=(0.4, 1.2)),
    full=SpinScale(size=12, draws=2000, repeats=4, evidence=0.0, seconds=10),
    run=run,
    draw=spin_chart(TITLE),
)
