"""Loopy belief propagation on the ground network."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from markovlogic.guarantee import Guarantee
from markovlogic.methods.base import Cost, InferOptions, Plan
from markovlogic.methods.messages.schedules import AtomBeliefs, Rounds, Schedule, ground_graph, propagate
from markovlogic.methods.propagation import Found, Messages, PropagationMethod, found_on_network, ground_cost
from markovlogic.networks.base import NetworkKind

if TYPE_CHECKING:
    from markovlogic.methods.analysis import Analysis


@dataclass(frozen=True)
class BP(Messages):
    """Settings of belief propagation.

    schedule: "flooding" updates all messages in each round. "residual" updates first what changed most. "auto" floods for a
        quarter of the iterations and then goes on by residuals, except on very large networks.
    """

    schedule: Schedule = "auto"

    @property
    def method(self) -> str:
        """The method's name on the command line."""
        return "bp"

    @property
    def rounds(self) -> Rounds:
        """With the schedule."""
        made = replace(super().rounds, schedule=self.schedule)
        made.check()
        return made


@dataclass(frozen=True)
class BeliefPropagation(PropagationMethod):
    """Messages on the ground network."""

    def defaults(self) -> BP:
        """The settings when the user gives only the name."""
        return BP()

    def cost(self, analysis: Analysis, options: InferOptions) -> Cost:
        """Some rounds over all literals."""
        return ground_cost(analysis, "messages along every literal, as many rounds as it takes")

    def plan(self, analysis: Analysis, options: InferOptions, reason: str) -> Plan:
        """Nothing is left to decide."""
        settings = self.settings(options)
        return Plan(self, NetworkKind.GROUND, reason, self.cost(analysis, options), settings=settings, notes=self.notes(options))

    def found(self, analysis: Analysis, plan: Plan, rounds: Rounds) -> Found:
        """Run the messages; where there are no loops, remark that they are exact."""
        network, progress = analysis.ground_network, analysis.progress
        with analysis.watch("sample"):
            graph = ground_graph(network)

            def given(literals: Sequence[int]) -> AtomBeliefs:
                return AtomBeliefs(propagate(graph.given(literals), rounds, progress), lambda atoms: atoms)

            found = found_on_network(analysis, network, given)
            if graph.is_forest() and not found.base.beliefs.n_cut:
                remark = "the factor graph has no loops, so belief propagation is exact once its messages have settled"
                found = replace(found, remarks=(remark,))
            return found


METHOD = BeliefPropagation(
    name="bp",
    summary="loopy belief propagation, in log-odds and damped",
    networks=(NetworkKind.GROUND,),
    promise=Guarantee.UNBOUNDED,
)
