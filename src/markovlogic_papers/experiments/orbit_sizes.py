"""[003] Fig. 3: how fast both estimators come below a KL divergence of 10⁻⁴, over the number of people (E17g to E17j)."""

from __future__ import annotations

from dataclasses import replace

from markovlogic.system.progress import Progress
from markovlogic_papers.experiments import sizes
from markovlogic_papers.experiments.comparison import within
from markovlogic_papers.experiments.follow import ORBIT, SAMPLE
from markovlogic_papers.experiments.outcome import Outcome, Table, Verdict, by_id, panel


def run_e17g(scale: sizes.SizeScale, seed: int, progress: Progress) -> Outcome:
    """Both estimators of Gibbs, and for comparison lifted inference, where [003] has WFOMC: for one marginal and for all.

    Beside it the sum over counts that is written for this model, which gives all marginals in one call.
    """
    found = sizes.arrivals(scale, False, seed, progress)
    lifted = {name: sizes.growth(found, name, "seconds") for name in (sizes.LIFTED_ONE, sizes.LIFTED_ALL)}
    growths = [f"{name}: seconds grow as people to the power {power}, not judged" for name, power in lifted.items()]
    verdict = sizes.compare_growth(found, "seconds")
    more = {"lifted_growth_exponent": {name: power.as_dict() for name, power in lifted.items()}}
    return sizes.size_outcome(found, "seconds", Verdict(verdict.word, (*verdict.reasons, *growths)), scale, more)


def run_e17h(scale: sizes.SizeScale, seed: int, progress: Progress) -> Outcome:
    """The runs of E17g, by sample points: [003]'s released code counts every update of an atom as one."""
    found = sizes.arrivals(scale, False, seed, progress)
    draws = {name: sizes.means(found, name, "draws") for name in (SAMPLE, ORBIT)}
    more = {"mean_draws": draws}
    return sizes.size_outcome(found, "updates", sizes.compare_growth(found, "updates"), scale, more)


def run_e17i(scale: sizes.SizeScale, seed: int, progress: Progress) -> Outcome:
    """Both estimators of Gibbs against a gold run; no exact lifted method is known here."""
    found = sizes.arrivals(scale, True, seed, progress)
    return sizes.size_outcome(found, "seconds", sizes.compare_growth(found, "seconds"), scale, {})


ALMOST = 1.5  # what "almost identical" may mean: a factor between the two numbers of sample points


def run_e17j(scale: sizes.SizeScale, seed: int, progress: Progress) -> Outcome:
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


EXPERIMENTS = by_id(
    panel(
        id="E17g",
        title="E17g: time to KL < 0.0001, Friends & Smokers",
        source="[003] Fig. 3(a)",
        claim="The increase in runtime over the domain size is far less pronounced with the Rao-Blackwell estimator; it scales "
        "comparably to exact lifted inference.",
        quick=sizes.QUICK,
        full=sizes.FULL,
        run=run_e17g,
        chart=lambda title: sizes.chart(
            title, "seconds", "seconds (all runs together)", (SAMPLE, ORBIT, sizes.EXACT, sizes.LIFTED_ALL, sizes.LIFTED_ONE)
        ),
    ),
    panel(
        id="E17h",
        title="E17h: sample points to KL < 0.0001, Friends & Smokers",
        source="[003] Fig. 3(b)",
        claim="The number of sample points needed grows far less with the domain size for the Rao-Blackwell estimator.",
        quick=sizes.QUICK,
        full=sizes.FULL,
        run=run_e17h,
        chart=lambda title: sizes.chart(title, "updates", "sample points (atom updates a run)", (SAMPLE, ORBIT)),
    ),
    panel(
        id="E17i",
        title="E17i: time to KL < 0.0001, with transitivity",
        source="[003] Fig. 3(c)",
        claim="Also with transitivity the increase in runtime over the domain size is far less pronounced with the Rao-Blackwell "
        "estimator.",
        quick=sizes.QUICK,
        full=sizes.FULL,
        run=run_e17i,
        chart=lambda title: sizes.chart(title, "seconds", "seconds (all runs together)", (SAMPLE, ORBIT)),
    ),
    panel(
        id="E17j",
        title="E17j: sample points to KL < 0.0001, with transitivity and without",
        source="[003] Fig. 3(d)",
        claim="For the Rao-Blackwell estimator the number of sample points is almost identical for the model with and without "
        "transitivity.",
        quick=sizes.QUICK,
        full=sizes.FULL,
        run=run_e17j,
        chart=lambda title: sizes.chart(title, "updates", "sample points (atom updates a run)", (SAMPLE, ORBIT)),
    ),
)
