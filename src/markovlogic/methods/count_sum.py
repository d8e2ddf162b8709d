"""Sums over all counts, where a compression gives a network of counts in the place of a problem and they are few.

What `exact` is on the networks of a compression; `acgibbs` holds what `gibbs` is there.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from markovlogic.guarantee import Guarantee
from markovlogic.methods.base import Cost, InferOptions, Method, Offer, Plan
from markovlogic.networks.base import COMPRESSED
from markovlogic.results.answers import ANSWER_ROW_BYTES

if TYPE_CHECKING:
    from markovlogic.methods.analysis import Analysis
    from markovlogic.results.answers import Answer


@dataclass(frozen=True)
class CountSumMethod(Method):
    """Means of all units, by components."""

    def cost(self, analysis: Analysis, options: InferOptions) -> Cost:
        """By the states of every component."""
        from markovlogic.methods.exact.counts import PIECE, sum_of

        assert analysis.counts is not None
        own = sum_of(analysis.counts).cost
        if not own.possible:
            return Cost(None, None, "counts have too many states to be summed over", possible=False)
        memory = analysis.counts.nbytes + 16 * PIECE + ANSWER_ROW_BYTES * analysis.questions.rows
        return Cost(own.seconds, memory, f"counts have {own.states:,} states")

    def offer(self, analysis: Analysis, cost: Cost, options: InferOptions) -> Offer:
        """Take what is cheap, unless draws themselves are wanted."""
        if options.sampling.needs_draws:
            return Offer(False, "draws were requested")
        if cost.seconds is None or cost.seconds > options.sampling.exact_seconds:
            return Offer(False, cost.reason if cost.seconds is None else f"a sum over counts would take {cost.seconds:,.0f} s")
        return Offer(True, f"the compression made counts, and a sum over them is cheap: {cost.reason}")

    def plan(self, analysis: Analysis, options: InferOptions, reason: str) -> Plan:
        """Nothing is left to decide. Notes list the sampling options that have no effect."""
        assert analysis.counts is not None
        unused = options.idle()
        notes = (f"counts were summed over, so {', '.join(unused)} had no effect",) if unused else ()
        return Plan(self, analysis.counts.kind, reason, self.cost(analysis, options), notes=notes)

    def answer(self, analysis: Analysis, plan: Plan) -> Answer:
        """Means of units, for the atoms that they stand for."""
        from markovlogic.methods.exact.counts import sum_of
        from markovlogic.results.answers import Answer, Values
        from markovlogic.results.marginals import Account

        assert analysis.counts is not None
        network = analysis.counts
        with analysis.watch("sample"):
            means = sum_of(network).means()
        values = Values.exact(means[network.of_atom[analysis.query.numbers]])
        return Answer(values, Values.exact(means[:0]), network.guarantee, Account())


METHOD = CountSumMethod(
    name="exact",
    summary="sums over all counts of a compressed problem",
    networks=COMPRESSED,
    promise=Guarantee.UNBOUNDED,
)
