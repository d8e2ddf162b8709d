"""Exact inference on the ground network: every component by enumeration or elimination, whichever suits it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from markovlogic.guarantee import Guarantee
from markovlogic.methods.base import Cost, InferOptions, Method, Offer, Plan
from markovlogic.networks.base import COMPRESSED, NetworkKind
from markovlogic.results.answers import ANSWER_ROW_BYTES
from markovlogic.system.cancellation import LONG, SHORT_SECONDS, SURE, current

if TYPE_CHECKING:
    from markovlogic.methods.analysis import Analysis
    from markovlogic.results.answers import Answer

NO_DRAWS = "nothing was drawn and there is no sampling error"  # also true of a compressed problem


@dataclass(frozen=True)
class ExactMethod(Method):
    """Sums over all worlds; `algorithm` names one algorithm, or leaves the choice to each component."""

    algorithm: Literal["exact", "enumerate", "eliminate"] = "exact"

    def cost(self, analysis: Analysis, options: InferOptions) -> Cost:
        """By the plan that solving would follow."""
        if analysis.network is None:
            return Cost(None, None, "the network is too large for a plan of exact inference", possible=False)
        plan = analysis.exact_plan(self.algorithm)
        if isinstance(plan, str):
            return Cost(None, None, plan, possible=False)
        afterwards = analysis.network.nbytes + plan.memory_bytes + ANSWER_ROW_BYTES * analysis.questions.rows
        return Cost(plan.seconds, analysis.peak_bytes(afterwards), plan.reason)

    def skip_in_auto(self, analysis: Analysis, options: InferOptions) -> bool:
        """Equivalence relations over more than a few constants are not even grounded: transitivity ties all pairs together."""
        return analysis.partition.has_large_relation

    def offer(self, analysis: Analysis, cost: Cost, options: InferOptions) -> Offer | None:
        """Take what is cheap, unless draws themselves are wanted."""
        if options.sampling.needs_draws:
            return Offer(False, "draws were requested")
        if not cost.possible:
            return Offer(False, f"exact inference is not possible: {cost.reason}")
        if cost.seconds is not None and cost.seconds > options.sampling.exact_seconds:
            return Offer(False, f"exact inference would take about {cost.seconds:,.0f} s")
        return Offer(True, f"exact inference is cheap: {cost.reason}")

    def plan(self, analysis: Analysis, options: InferOptions, reason: str) -> Plan:
        """Nothing is left to decide. Notes list the sampling options that have no effect."""
        unused = options.idle()
        notes = (f"{NO_DRAWS}, so {', '.join(unused)} had no effect",) if unused else ()
        return Plan(self, NetworkKind.GROUND, reason, self.cost(analysis, options), notes=notes)

    def answer(self, analysis: Analysis, plan: Plan) -> Answer:
        """Log Z and all marginals."""
        from markovlogic.methods.exact.planning import ExactPlan, plan_exact
        from markovlogic.methods.exact.solve import solve
        from markovlogic.results.answers import Answer, Values
        from markovlogic.results.marginals import Account

        network, progress = analysis.ground_network, analysis.progress
        with analysis.watch("sample"):
            work, deadline = analysis.exact_plan(self.algorithm), current()
            deadline.allowance = LONG  # there is no half of an exact answer
            if not isinstance(work, ExactPlan):  # chosen by name: planned without a bound on the effort
                work = plan_exact(
                    network, analysis.parts, method=self.algorithm, memory_limit=analysis.memory_limit, progress=progress
                )
            if work.seconds <= SHORT_SECONDS:
                deadline.allowance = SURE
            found = solve(network, plan=work, events=analysis.query.cubes, progress=progress)
            whole = analysis.of_all(found.log_z)
        return Answer(
            Values.exact(found.marginal[analysis.query.numbers]),
            Values.exact(analysis.query.summed(found.event_probability)),
            Guarantee.EXACT,
            Account(log_z=whole.log_z),
            remarks=whole.remarks,
            log_z_of=found.component_log_z,
        )


METHOD = ExactMethod(
    name="exact",
    summary="for each connected component of the ground network, the cheaper of the two below",
    networks=(NetworkKind.GROUND, *COMPRESSED),
    promise=Guarantee.EXACT,
)
