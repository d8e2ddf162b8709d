"""E17a: [003] Fig. 2(a), the asthma model with 10 % evidence."""

from __future__ import annotations

from markovlogic.errors import ResourceError
from markovlogic.methods.sampling.base import Settings
from markovlogic.methods.sampling.gibbs import Gibbs
from markovlogic.methods.sampling.mcsat import MCSAT
from markovlogic.problem.prepare import PreparedProblem
from markovlogic.system.progress import Progress
from markovlogic_papers.experiments.answers import answered, asking
from markovlogic_papers.experiments.estimators import CurveScale, Setting, both_orbits, chart, measure
from markovlogic_papers.experiments.follow import Truth
from markovlogic_papers.experiments.outcome import Experiment, Outcome
from markovlogic_papers.experiments.stage import set_stage
from markovlogic_papers.experiments.truths import asthma_truth


def run(scale: CurveScale, seed: int, progress: Progress) -> Outcome:
    """Gibbs and MC-SAT, both estimators; exact truth by a sum over counts where [003] had WFOMC, and lifted inference beside it.

    Hard rules tie all atoms together, so that MC-SAT draws by SampleSAT, as Alchemy's does; `mcsat-sweep` keeps the target.
    """
    stage = set_stage("asthma", scale.size, 0.1, scale.problem_seed + seed, variant="hard", progress=progress)
    truth = Truth.exact(asthma_truth(stage), "exact: sum over counts")
    samplers: dict[str, Settings] = {
        "gibbs": Gibbs(scan="random"),
        "mcsat": MCSAT(alternate=False),
        "mcsat-sweep": MCSAT(alternate=False, large="sweep"),
    }
    return measure(
        Setting(stage, both_orbits(stage, scale, progress), truth),
        samplers,
        scale,
        seed,
        least_gain=10,
        progress=progress,
        beyond=("mcsat-sweep",),
        more={"lifted": {"all_marginals": _lifted(stage.posed), "one_marginal": _lifted(asking(stage.posed, "Asthma(P0)"))}},
    )


def _lifted(posed: PreparedProblem) -> float | str:
    """Seconds of lifted inference, where [003] has WFOMC; or why it has no plan: known friends tell most people apart."""
    try:
        answered(posed, "lifted")  # loads what it needs
        return answered(posed, "lifted").seconds
    except ResourceError as refusal:
        return str(refusal)


TITLE = "E17a: asthma, 10 % evidence"
EXPERIMENT = Experiment(
    id="E17a",
    title=TITLE,
    source="[003] Fig. 2(a)",
    claim="With 10 % evidence the Rao-Blackwell estimator improves the density estimates of Gibbs and MC-SAT by at least an "
    "order of magnitude.",
    quick=CurveScale(size=50, draws={"gibbs": 3000, "mcsat": 200, "mcsat-sweep": 500}, seconds=6),
    full=CurveScale(size=100, draws={"gibbs": 30_000, "mcsat": 1000, "mcsat-sweep": 3000}, problem_seed=1),
    run=run,
    draw=chart(TITLE),
)
