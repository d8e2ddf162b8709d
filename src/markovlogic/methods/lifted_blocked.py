"""Lifted blocked Gibbs: clusters of whole predicates, each drawn at once given the others; nothing is grounded."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from markovlogic.errors import UnsupportedError
from markovlogic.estimation.tallies import tally_bytes
from markovlogic.guarantee import Guarantee
from markovlogic.methods.base import Cost, InferOptions, MethodSettings, Plan
from markovlogic.methods.sampler_method import Intended, SamplingMethod
from markovlogic.networks.base import NetworkKind
from markovlogic.results.answers import ANSWER_ROW_BYTES

if TYPE_CHECKING:
    from markovlogic.methods.analysis import Analysis
    from markovlogic.methods.lifted.blocks.clusters import ClusterGraph
    from markovlogic.methods.lifted.blocks.tensor_network import TensorNetwork
    from markovlogic.results.answers import Answer

# Measured (benchmarks/test_lifted_blocked.py): seconds and bytes
_LOADING = 0.3
_CELL = 20e-9  # a cell of a cluster's arrays, chain and sweep: 10 without evidence, 20 to 100 with evidence about pairs
_CLUSTER = 3e-6  # a cluster that is drawn whole, chain and sweep
_COUNTED = 1e-4  # of Python, a cluster that is drawn atom by atom, chain and sweep
_LAID_OUT = 1e-7  # an atom of such a cluster: its bits, its draw and its probability, chain and sweep
_CELL_BYTES = 64  # a thread, and once for all


@dataclass(frozen=True)
class LiftedBlockedMethod(SamplingMethod):
    """Chains over tensors."""

    def network(self, analysis: Analysis) -> TensorNetwork:
        """One array a predicate."""
        from markovlogic.methods.lifted.blocks.tensor_network import TensorNetwork

        as_rules = analysis.prepared.written_as_rules
        return TensorNetwork.of(as_rules.problem, as_rules.lowered)

    def _graph(self, analysis: Analysis, settings: MethodSettings | None) -> ClusterGraph:
        from markovlogic.methods.sampling.lifted_blocked import LiftedBlocked

        assert isinstance(settings, LiftedBlocked)
        graphs = analysis.cluster_graphs
        if settings not in graphs:
            graphs[settings] = settings.graph(self.network(analysis))
        return graphs[settings]

    def _searching(self, analysis: Analysis) -> float:
        """Twins are found at once."""
        return 0.0

    def _cost(self, analysis: Analysis, intended: Intended, search_seconds: float) -> Cost:
        """By cells of the clusters' arrays."""
        from markovlogic.methods.sampling.lifted_blocked import CHAINS_A_BATCH
        from markovlogic.running.worker_pool import cores

        try:
            graph = self._graph(analysis, intended.settings)
        except UnsupportedError as refusal:
            return Cost(None, None, f"{refusal.faults[0].message} ({refusal.faults[0].place})", possible=False)
        problem, schedule = analysis.prepared.written_as_rules.problem, intended.schedule
        whole = [cluster for cluster in graph.clusters if not cluster.note]
        counted = [cluster for cluster in graph.clusters if cluster.note]
        cells = sum(cluster.cells for cluster in graph.clusters)
        chain = sum(cluster.cells * _CELL + _CLUSTER for cluster in whole)
        chain += sum(cluster.seconds + _COUNTED + cluster.cells * _LAID_OUT for cluster in counted)
        batches = -(-schedule.chains // CHAINS_A_BATCH)
        work = schedule.sweeps * schedule.chains * chain
        n_atoms, n_query = len(problem.atoms), len(analysis.query.numbers)
        memory = 24 * sum(s.n_ground for s in problem.statuses.values())
        memory += int((min(batches, cores()) + 1) * cells * _CELL_BYTES) + ANSWER_ROW_BYTES * n_query
        memory += tally_bytes(
            n_all=n_atoms,
            n_query=n_query,
            n_events=len(analysis.query.open_events),
            n_chains=schedule.chains,
            draws=schedule.draws,
            conditional=intended.estimator.conditional,
            n_batches=batches,
            dropping=schedule.is_limited and schedule.burn_in > 0,
        )
        together = [f"{{{', '.join(c.predicates)}}}" for c in graph.clusters]
        reason = f"{schedule.chains} chains of {schedule.draws} draws over {' '.join(together)}"
        return Cost(search_seconds + _LOADING + work / min(batches, cores()), memory, reason)

    def cost(self, analysis: Analysis, options: InferOptions) -> Cost:
        """As any sampler's; whole predicates are drawn, so components of a ground network do not matter."""
        if options.method is not self and (outweighs := analysis.forecast.outweighs) is not None:
            return Cost(None, None, f"{outweighs}; --method lifted-blocked plans it all the same", possible=False)
        return super().cost(analysis.ungrounded, options)

    def answer(self, analysis: Analysis, plan: Plan) -> Answer:
        """As any sampler's."""
        return super().answer(analysis.ungrounded, plan)

    def plan(self, analysis: Analysis, options: InferOptions, reason: str) -> Plan:
        """As any sampler's, with the cluster graph."""
        analysis = analysis.ungrounded
        made = super().plan(analysis, options, reason)
        return replace(made, details=tuple(self._graph(analysis, made.settings).lines())) if made.cost.possible else made


METHOD = LiftedBlockedMethod(
    name="lifted-blocked",
    summary="lifted blocked Gibbs: whole predicates drawn at once by theorem proving, nothing is grounded",
    networks=(NetworkKind.NONE,),
    promise=Guarantee.EXACT,
    home=("markovlogic.methods.sampling.lifted_blocked", "LiftedBlocked"),
    chains=16,
)
