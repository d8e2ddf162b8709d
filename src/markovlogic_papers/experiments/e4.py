"""E4: [001] Fig. 2(a), KL divergence over time on M1, 50 objects, 10 % evidence."""

from __future__ import annotations

from markovlogic.system.progress import Progress
from markovlogic_papers.experiments.accuracy import LBG_BETTER, LBP, AccuracyScale, chart, run_family
from markovlogic_papers.experiments.contest import LBG
from markovlogic_papers.experiments.hub_sums import rst_truth
from markovlogic_papers.experiments.outcome import Experiment, Outcome


def run(scale: AccuracyScale, seed: int, progress: Progress) -> Outcome:
    """M1: R(x) v S(x,y), S(x,y) v T(y,z); all weights 1, the paper gives none."""
    return run_family("rst", rst_truth, (*LBG_BETTER, (LBP, LBG)), scale, (seed, progress))


TITLE = "E4: M1, 10 % evidence"
EXPERIMENT = Experiment(
    id="E4",
    title=TITLE,
    source="[001] Fig. 2(a)",
    claim="With 10 % evidence lifted blocked Gibbs is much more exact than blocked Gibbs and MC-SAT at equal time; lifted belief "
    "propagation is more exact still.",
    quick=AccuracyScale(size=20, small=10, seconds=1.5, burn_in=20, gold_draws=600),
    full=AccuracyScale(size=50, small=18, seconds=30),
    run=run,
    draw=chart(TITLE),
)
