"""E17a: [003] Fig. 2(a), the asthma model with 10 % evidence."""

from __future__ import annotations

from markovlogic.experiments.estimators import CurveScale, chart, measure
from markovlogic.experiments.follow import Truth
from markovlogic.experiments.outcome import Experiment, Outcome
from markovlogic.experiments.stage import renaming_orbits, set_stage
from markovlogic.experiments.truths import asthma_truth
from markovlogic.progress import Progress
from markovlogic.samplers.gibbs import Gibbs
from markovlogic.samplers.mcsat import MCSAT


def run(scale: CurveScale, seed: int, progress: Progress) -> Outcome:
    """Gibbs and MC-SAT, both estimators; exact truth by a sum over counts where [003] had WFOMC."""
    stage = set_stage("asthma", scale.size, 0.1, seed, variant="hard", progress=progress)
    truth = Truth.exact(asthma_truth(stage), "exact: sum over counts")
    orbits = renaming_orbits(stage.problem)
    return measure(stage, orbits, truth, (Gibbs(scan="random"), MCSAT()), scale, seed, least_gain=10, progress=progress)


TITLE = "E17a: asthma, 10 % evidence"
EXPERIMENT = Experiment(
    id="E17a",
    title=TITLE,
    source="[003] Fig. 2(a)",
    claim="With 10 % evidence the Rao-Blackwell estimator improves the density estimates of Gibbs and MC-SAT by at least an "
    "order of magnitude.",
    quick=CurveScale(size=30, draws={"gibbs": 3000, "mcsat": 300}, seconds=10),
    full=CurveScale(size=100, draws={"gibbs": 30_000, "mcsat": 3000}),
    run=run,
    draw=chart(TITLE),
)
