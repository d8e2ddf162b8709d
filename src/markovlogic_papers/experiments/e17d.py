"""E17d: [003] Fig. 2(d), Friends & Smokers with transitivity and 10 % evidence."""

from __future__ import annotations

from markovlogic.system.progress import Progress
from markovlogic_papers.experiments.estimators import CurveScale, chart
from markovlogic_papers.experiments.friendship import run_transitive
from markovlogic_papers.experiments.outcome import Experiment, Outcome


def run(scale: CurveScale, seed: int, progress: Progress) -> Outcome:
    """For 10 % of the people it is known whether they smoke and who ten of their friends are."""
    return run_transitive(scale, 0.1, seed, progress)


TITLE = "E17d: Friends & Smokers with transitivity, 10 % evidence"
EXPERIMENT = Experiment(
    id="E17d",
    title=TITLE,
    source="[003] Fig. 2(d)",
    claim="With 10 % evidence the Rao-Blackwell estimator improves the density estimates of Gibbs and MC-SAT by at least an "
    "order of magnitude, with a transitivity rule as without.",
    quick=CurveScale(size=30, draws={"gibbs": 3000, "mcsat": 300}, seconds=8, gold_burn_in=500, gold_draws=10_000),
    full=CurveScale(size=100, draws={"gibbs": 10_000, "mcsat": 500}, problem_seed=1, gold_burn_in=500, gold_draws=10_000),
    run=run,
    draw=chart(TITLE),
)
