"""E17f: [003] Fig. 2(f), the hard 2-colouring grid."""

from __future__ import annotations

import numpy as np

from markovlogic.methods.sampling.base import Settings
from markovlogic.methods.sampling.gibbs import Gibbs
from markovlogic.system.progress import Progress
from markovlogic_papers.experiments.colouring import grid_orbits
from markovlogic_papers.experiments.estimators import CurveScale, Setting, chart, measure
from markovlogic_papers.experiments.follow import Truth
from markovlogic_papers.experiments.outcome import Experiment, Outcome
from markovlogic_papers.experiments.stage import set_stage


def run(scale: CurveScale, seed: int, progress: Progress) -> Outcome:
    """Gibbs from a proper colouring: there are two, and changing one site at a time never leads from one to the other.

    The standard estimator therefore stays at 0 or 1. With an even side every orbit holds as many sites of either colour, so
    the orbit estimator says 1/2, which is exact, from one draw (papers.md 2.14).
    """
    stage = set_stage("grid", scale.size, 0.0, seed, variant="hard", progress=progress)
    truth = Truth.exact(np.full(stage.network.n_atoms, 0.5), "exact: 1/2, since the colours can be exchanged")
    more = {"chain": "frozen: the standard estimator never moves from 0 and 1"}
    samplers: dict[str, Settings] = {"gibbs": Gibbs(scan="random")}
    return measure(
        Setting(stage, grid_orbits(stage, progress), truth), samplers, scale, seed, least_gain=1, progress=progress, more=more
    )


TITLE = "E17f: hard 2-colouring of a grid"
EXPERIMENT = Experiment(
    id="E17f",
    title=TITLE,
    source="[003] Fig. 2(f)",
    claim="The Rao-Blackwell estimator is clearly better also where neighbours must differ.",
    quick=CurveScale(size=20, draws={"gibbs": 300}, seconds=10),
    full=CurveScale(size=100, draws={"gibbs": 1000}),
    run=run,
    draw=chart(TITLE),
)
