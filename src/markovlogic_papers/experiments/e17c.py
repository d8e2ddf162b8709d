"""E17c: [003] Fig. 2(c), Friends & Smokers with transitivity and without evidence."""

from __future__ import annotations

from markovlogic.system.progress import Progress
from markovlogic_papers.experiments.estimators import CurveScale, chart
from markovlogic_papers.experiments.friendship import run_transitive
from markovlogic_papers.experiments.outcome import Experiment, Outcome


def run(scale: CurveScale, seed: int, progress: Progress) -> Outcome:
    """No evidence: all people are interchangeable."""
    return run_transitive(scale, 0.0, seed, progress)


TITLE = "E17c: Friends & Smokers with transitivity, no evidence"
EXPERIMENT = Experiment(
    id="E17c",
    title=TITLE,
    source="[003] Fig. 2(c)",
    claim="Without evidence the Rao-Blackwell estimator improves the density estimates by at least one and up to four orders of "
    "magnitude, with a transitivity rule as without.",
    quick=CurveScale(size=20, draws={"gibbs": 3000, "mcsat": 500}, seconds=8, gold_burn_in=500, gold_draws=20_000),
    full=CurveScale(size=100, draws={"gibbs": 10_000, "mcsat": 500}, problem_seed=1, gold_burn_in=500, gold_draws=6000),
    run=run,
    draw=chart(TITLE),
)
