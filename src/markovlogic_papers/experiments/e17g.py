"""E17g: [003] Fig. 3(a), time to a KL divergence below 10⁻⁴ over the number of people, Friends & Smokers without evidence."""

from __future__ import annotations

from markovlogic.system.progress import Progress
from markovlogic_papers.experiments import sizes
from markovlogic_papers.experiments.follow import ORBIT, SAMPLE
from markovlogic_papers.experiments.outcome import Experiment, Outcome, Verdict


def run(scale: sizes.SizeScale, seed: int, progress: Progress) -> Outcome:
    """Both estimators of Gibbs, and for comparison lifted inference, where [003] has WFOMC: for one marginal and for all.

    Beside it the sum over counts that is written for this model, which gives all marginals in one call.
    """
    found = sizes.arrivals(scale, False, seed, progress)
    lifted = {name: sizes.growth(found, name, "seconds") for name in (sizes.LIFTED_ONE, sizes.LIFTED_ALL)}
    told = [f"{name}: seconds grow as people to the power {power}, not judged" for name, power in lifted.items()]
    verdict = sizes.compare_growth(found, "seconds")
    more = {"lifted_growth_exponent": {name: power.as_dict() for name, power in lifted.items()}}
    return sizes.size_outcome(found, "seconds", Verdict(verdict.word, (*verdict.reasons, *told)), scale, more)


TITLE = "E17g: time to KL < 0.0001, Friends & Smokers"
EXPERIMENT = Experiment(
    id="E17g",
    title=TITLE,
    source="[003] Fig. 3(a)",
    claim="The increase in runtime over the domain size is far less pronounced with the Rao-Blackwell estimator; it scales "
    "comparably to exact lifted inference.",
    quick=sizes.QUICK,
    full=sizes.FULL,
    run=run,
    draw=sizes.chart(
        TITLE, "seconds", "seconds (all runs together)", (SAMPLE, ORBIT, sizes.EXACT, sizes.LIFTED_ALL, sizes.LIFTED_ONE)
    ),
)
