"""E18d: [004] backup slides, Ising model on a Chimera graph: lifted Metropolis-Hastings against Gibbs."""

from __future__ import annotations

from markovlogic.system.progress import Progress
from markovlogic_papers.experiments.outcome import Experiment, Outcome
from markovlogic_papers.experiments.spins import SpinScale, run_spins, spin_chart


def run(scale: SpinScale, seed: int, progress: Progress) -> Outcome:
    """Spins on a Chimera graph."""
    return run_spins("chimera", scale, seed, progress)


TITLE = "E18d: Chimera graph with a field"
EXPERIMENT = Experiment(
    id="E18d",
    title=TITLE,
    source="[004] backup slides, panels (c) and (d)",
    claim="On a Chimera graph with an outer field lifted Metropolis-Hastings converges faster than Gibbs, by iterations and by "
    "time (the slides' curves are lost).",
    quick=SpinScale(size=2, draws=300, repeats=3, evidence=0.0, seconds=2, couplings=(0.4, 1.2)),
    full=SpinScale(size=3, draws=2000, repeats=4, evidence=0.0, seconds=10),
    run=run,
    draw=spin_chart(TITLE),
)
