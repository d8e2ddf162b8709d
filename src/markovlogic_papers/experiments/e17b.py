"""E17b: [003] Fig. 2(b), Friends & Smokers with 10 % evidence."""

from __future__ import annotations

from markovlogic.methods.sampling.base import Settings
from markovlogic.methods.sampling.gibbs import Gibbs
from markovlogic.methods.sampling.mcsat import MCSAT
from markovlogic.system.progress import Progress
from markovlogic_papers.experiments.estimators import CurveScale, Setting, both_orbits, chart, measure
from markovlogic_papers.experiments.follow import Truth
from markovlogic_papers.experiments.outcome import Experiment, Outcome
from markovlogic_papers.experiments.stage import set_stage
from markovlogic_papers.experiments.truths import smokers_truth


def run(scale: CurveScale, seed: int, progress: Progress) -> Outcome:
    """Gibbs and MC-SAT, both estimators; exact truth by a sum over counts where [003] had a run of five days."""
    stage = set_stage("smokers", scale.size, 0.1, scale.problem_seed + seed, progress=progress)
    truth = Truth.exact(smokers_truth(stage), "exact: sum over counts")
    samplers: dict[str, Settings] = {"gibbs": Gibbs(scan="random"), "mcsat": MCSAT(alternate=False)}
    return measure(
        Setting(stage, both_orbits(stage, scale, progress), truth), samplers, scale, seed, least_gain=10, progress=progress
    )


TITLE = "E17b: Friends & Smokers, 10 % evidence"
EXPERIMENT = Experiment(
    id="E17b",
    title=TITLE,
    source="[003] Fig. 2(b)",
    claim="With 10 % evidence the Rao-Blackwell estimator improves the density estimates of Gibbs and MC-SAT by at least an "
    "order of magnitude.",
    quick=CurveScale(size=50, draws={"gibbs": 3000, "mcsat": 3000}, seconds=6),
    full=CurveScale(size=100, draws={"gibbs": 30_000, "mcsat": 10_000}, problem_seed=1, search_seconds=120),
    run=run,
    draw=chart(TITLE),
)
