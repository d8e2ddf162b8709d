"""E5: [001] Fig. 2(b), KL divergence over time on M2, 50 objects, 10 % evidence."""

from __future__ import annotations

from markovlogic.system.progress import Progress
from markovlogic_papers.experiments.accuracy import LBG_BETTER, LBP, AccuracyScale, chart, run_family
from markovlogic_papers.experiments.contest import LBG
from markovlogic_papers.experiments.hub_sums import asthma_truth
from markovlogic_papers.experiments.outcome import Experiment, Outcome


def run(scale: AccuracyScale, seed: int, progress: Progress) -> Outcome:
    """M2: smoking, asthma and cancer; all weights 1, the paper gives none."""
    return run_family("asthma", asthma_truth, (*LBG_BETTER, (LBG, LBP)), scale, (seed, progress))


TITLE = "E5: M2, 10 % evidence"
EXPERIMENT = Experiment(
    id="E5",
    title=TITLE,
    source="[001] Fig. 2(b)",
    claim="With 10 % evidence lifted blocked Gibbs is the most exact at equal time, more so than lifted belief propagation, "
    "blocked Gibbs and MC-SAT.",
    quick=AccuracyScale(size=20, small=10, seconds=1.5, burn_in=20, gold_draws=600),
    full=AccuracyScale(size=50, small=18, seconds=30, gold_draws=20_000),
    run=run,
    draw=chart(TITLE),
)
