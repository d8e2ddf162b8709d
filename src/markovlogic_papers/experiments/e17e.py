"""E17e: [003] Fig. 2(e), the soft 2-colouring grid."""

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
    """Gibbs only, as in the paper. Exchanging the two colours is a symmetry, so every marginal is 1/2."""
    stage = set_stage("grid", scale.size, 0.0, seed, progress=progress)
    truth = Truth.exact(np.full(stage.network.n_atoms, 0.5), "exact: 1/2, since the colours can be exchanged")
    more = {"with_exchange_of_colours": "the estimate is 1/2 from any draw: error 0"}
    samplers: dict[str, Settings] = {"gibbs": Gibbs(scan="random")}
    return measure(
        Setting(stage, grid_orbits(stage, progress), truth), samplers, scale, seed, least_gain=1, progress=progress, more=more
    )


TITLE = "E17e: soft 2-colouring of a grid"
EXPERIMENT = Experiment(
    id="E17e",
    title=TITLE,
    source="[003] Fig. 2(e)",
    claim="The Rao-Blackwell estimator is clearly better also with the few symmetries of a square grid (at most eight sites an "
    "orbit).",
    quick=CurveScale(size=30, draws={"gibbs": 5000}, seconds=10),
    full=CurveScale(size=100, draws={"gibbs": 50_000}),
    run=run,
    draw=chart(TITLE),
)
