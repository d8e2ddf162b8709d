"""[004] backup slides: lifted Metropolis-Hastings against Gibbs on spins (E18c, E18d)."""

from __future__ import annotations

from markovlogic_papers.experiments.outcome import by_id, panel
from markovlogic_papers.experiments.spins import SpinScale, run_spins, spin_chart

EXPERIMENTS = by_id(
    # Spins on a square grid.
    panel(
        id="E18c",
        title="E18c: Ising grid with a field",
        source="[004] backup slides, panels (a) and (b)",
        claim="On an Ising grid with an outer field lifted Metropolis-Hastings converges faster than Gibbs, by iterations and "
        "by time (the slides' curves are lost).",
        quick=SpinScale(size=8, draws=300, repeats=3, evidence=0.0, seconds=2, couplings=(0.4, 1.6)),
        full=SpinScale(size=12, draws=40_000, repeats=5, evidence=0.0, seconds=5),
        run=lambda scale, seed, progress: run_spins("ising", scale, seed, progress),
        chart=spin_chart,
    ),
    # Spins on a Chimera graph.
    panel(
        id="E18d",
        title="E18d: Chimera graph with a field",
        source="[004] backup slides, panels (c) and (d)",
        claim="On a Chimera graph with an outer field lifted Metropolis-Hastings converges faster than Gibbs, by iterations and "
        "by time (the slides' curves are lost).",
        quick=SpinScale(size=2, draws=300, repeats=3, evidence=0.0, seconds=2, couplings=(0.4, 1.6)),
        full=SpinScale(size=3, draws=40_000, repeats=5, evidence=0.0, seconds=5),
        run=lambda scale, seed, progress: run_spins("chimera", scale, seed, progress),
        chart=spin_chart,
    ),
)
