"""E17j: [003] Fig. 3(d), sample points to a KL divergence below 10⁻⁴, with transitivity and, beside it, without."""

from __future__ import annotations

from dataclasses import replace

from markovlogic.system.progress import Progress
from markovlogic_papers.experiments import sizes
from markovlogic_papers.experiments.comparison import within
from markovlogic_papers.experiments.follow import ORBIT, SAMPLE
from markovlogic_papers.experiments.outcome import Experiment, Outcome, Table, Verdict

ALMOST = 1.5  # what "almost identical" may mean: a factor between the two numbers of sample points


def run(scale: sizes.SizeScale, seed: int, progress: Progress) -> Outcome:
    """The orbit estimator's sample points with transitivity over those without it; judged over all sizes together."""
    pooled, each = sizes.with_over_without(scale, seed, progress)
    found = [*sizes.arrivals(scale, True, seed, progress), *sizes.arrivals(scale, False, seed, progress)]
    verdict = within({"all sizes": pooled}, 1 / ALMOST, ALMOST, "sample points with over without transitivity")
    details = [f"{n} people: {ratio}" for n, ratio in each.items()]
    verdict = Verdict(verdict.word, (*verdict.reasons, *details, *sizes.missed(found)))
    transitive = [a for a in found if a.model == "transitive"]
    more = {"with_over_without": {"all": pooled.as_dict()} | {str(n): ratio.as_dict() for n, ratio in each.items()}}
    outcome = sizes.size_outcome(transitive, "updates", verdict, scale, more)
    return replace(outcome, table=Table(sizes.COLUMNS, [a.row() for a in found]))


TITLE = "E17j: sample points to KL < 0.0001, with transitivity and without"
EXPERIMENT = Experiment(
    id="E17j",
    title=TITLE,
    source="[003] Fig. 3(d)",
    claim="For the Rao-Blackwell estimator the number of sample points is almost identical for the model with and without "
    "transitivity.",
    quick=sizes.QUICK,
    full=sizes.FULL,
    run=run,
    draw=sizes.chart(TITLE, "updates", "sample points (atom updates a run)", (SAMPLE, ORBIT)),
)
