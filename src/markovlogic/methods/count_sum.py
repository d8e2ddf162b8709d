"""Sums over all counts, where a compression gives a network of counts in the place of a problem and they are few.

What `exact` is on the networks of a compression; `acgibbs` holds what `gibbs` is there.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from markovlogic.guarantee import Guarantee
from markovlogic.methods.base import Cost, InferOptions, Method, Offer, Plan
from markovlogic.networks.kinds import COMPRESSED
from markovlogic.results.answers import ANSWER_ROW_BYTES

if TYPE_CHECKING:
    from markovlogic.methods.case import Case
    from markovlogic.results.answers import Answer


@dataclass(frozen=True)
class CountSumMethod(Method):
    """Means of all units, by components."""

    def cost(self, case: Case, wish: InferOptions) -> Cost:
        """By the states of every component."""
        from markovlogic.methods.exact.counts import PIECE, sum_of

        assert case.blocks is not None
        own = sum_of(case.blocks).cost
        if not own.possible:
            return Cost(None, None, "counts have too many states to be summed over", possible=False)
        memory = case.blocks.nbytes + 16 * PIECE + ANSWER_ROW_BYTES * case.rows
        return Cost(own.seconds, memory, f"counts have {own.states:,} states")

    def offer(self, case: Case, cost: Cost, wish: InferOptions) -> Offer:
        """Take what is cheap, unless draws themselves are wanted."""
        if wish.sampling.needs_draws:
            return Offer(False, "draws are asked for")
        if cost.seconds is None or cost.seconds > wish.sampling.exact_seconds:
            return Offer(False, cost.reason if cost.seconds is None else f"a sum over counts would take {cost.seconds:,.0f} s")
        return Offer(True, f"a compression gave counts, and a sum over them is cheap: {cost.reason}")

    def plan(self, case: Case, wish: InferOptions, reason: str) -> Plan:
        """Nothing is left to decide; tell a user who spoke about sampling that none is needed."""
        assert case.blocks is not None
        said = wish.idle()
        notes = (f"counts were summed over, so {', '.join(said)} had nothing to do",) if said else ()
        return Plan(self, case.blocks.kind, reason, self.cost(case, wish), notes=notes)

    def answer(self, case: Case, plan: Plan) -> Answer:
        """Means of units, for the atoms that they stand for."""
        from markovlogic.methods.exact.counts import sum_of
        from markovlogic.results.answers import Answer, Values
        from markovlogic.results.marginals import Account

        assert case.blocks is not None
        network = case.blocks
        with case.watch("sample"):
            means = sum_of(network).means()
        values = Values.exact(means[network.of_atom[case.asked.numbers]])
        return Answer(values, Values.exact(means[:0]), network.guarantee, Account())


METHOD = CountSumMethod(
    name="exact",
    summary="sums over all counts of a compressed problem",
    networks=COMPRESSED,
    promise=Guarantee.UNBOUNDED,
)
