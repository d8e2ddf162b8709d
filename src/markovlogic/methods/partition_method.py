"""Partitions: what `auto` takes where hard rules make a predicate an equivalence relation."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from markovlogic.errors import UnsupportedError
from markovlogic.estimation.estimator import NAMED
from markovlogic.guarantee import Guarantee
from markovlogic.methods.base import Cost, InferOptions, Offer, Plan
from markovlogic.methods.forecast import REFINING_SECONDS, Scale
from markovlogic.methods.partition.block_sums import surely_summed
from markovlogic.methods.partition.exact import small_parts, solve_parts
from markovlogic.methods.partition.parts import only
from markovlogic.methods.rates import Rates, Use
from markovlogic.methods.sampler_method import Intended, SamplingMethod
from markovlogic.methods.sampling.base import Settings
from markovlogic.methods.sampling.partition_reach import confining
from markovlogic.networks.base import NetworkKind
from markovlogic.system.measures import show_bytes

if TYPE_CHECKING:
    from markovlogic.estimation.estimator import Estimator
    from markovlogic.estimation.orbit_pools import OrbitPools
    from markovlogic.methods.analysis import Analysis
    from markovlogic.methods.partition.network import PartitionNetwork
    from markovlogic.results.answers import Answer
    from markovlogic.running.sampling import Schedule
    from markovlogic.system.arrays import Int32, Int64

MOST_TWINS = 3000  # nodes; among more, scores that are all alike are not looked for
# Chains where no predicate is an equivalence relation, so that atoms move one by one: a phase of weight 0.013 was missed in
# silence by 4 of 8 runs with 8 and with 16 chains, by none with 32 and 64.
CHAINS_OF_ATOMS = 32
SOLVING_SHARE = 0.25  # of the time that is left, small parts may take so much


@dataclass(frozen=True)
class PartitionMethod(SamplingMethod):
    """Chains over partitions; parts that are small enough are solved by a visit of all their worlds."""

    def network(self, analysis: Analysis) -> PartitionNetwork:
        """Rows for pairs."""
        return analysis.partition.network

    def skip_in_auto(self, analysis: Analysis, options: InferOptions) -> bool:
        """No offer where no rule mentions an equivalence relation."""
        return not analysis.partition.equivalences.relations and not analysis.partition.equivalences.misses

    def offer(self, analysis: Analysis, cost: Cost, options: InferOptions) -> Offer:
        """Take every equivalence relation, unless other hard rules may confine its blocks."""
        found = analysis.partition.equivalences
        if not found.relations:
            return Offer(False, "; ".join(miss.reason for miss in found.misses))
        names = " and ".join(relation.predicate for relation in found.relations)
        many = len(found.relations) > 1
        what = f"{names} {'are equivalence relations' if many else 'is an equivalence relation'} by hard rules"
        if options.sampling.estimator in NAMED and NAMED[options.sampling.estimator].conditional:
            return Offer(False, f"{what}, but partitions have no conditionals to average")
        if not cost.possible:
            return Offer(False, f"{what}, but {cost.reason}")
        return Offer(True, what)

    def _searching(self, analysis: Analysis) -> float:
        """Twins are found at once."""
        return 0.0

    def cost_on(self, network: NetworkKind, analysis: Analysis, options: InferOptions) -> Cost:
        """As any sampler's, with chains by what moves."""
        return super().cost_on(network, analysis, _with_chains(analysis, options))

    def _cost(self, analysis: Analysis, intended: Intended, search_seconds: float) -> Cost:
        """By rows, neighbours and literals."""
        from markovlogic.methods.sampling.partition import Partition

        schedule = intended.schedule
        sizes = analysis.partition.sizes
        if sizes.memory_bytes > analysis.memory_limit or sizes.seconds > REFINING_SECONDS:
            needs = f"grounding needs up to {show_bytes(sizes.memory_bytes)} and {sizes.seconds:,.0f} s"
            return Cost(None, sizes.memory_bytes, needs, possible=sizes.memory_bytes <= analysis.memory_limit)
        network = analysis.partition.network
        misses = "".join(f"; {miss.reason}" for miss in analysis.partition.equivalences.misses)
        if (fault := analysis.partition.confining) is not None:
            return Cost(None, None, f"{fault.message} ({fault.place}){misses}", possible=False)
        literals = network.rows.n_literals + len(network.near_node)
        scale = Scale(network.n_all, network.n_all, network.rows.n_clauses, literals, network.nbytes, predicted=False)
        use = Use(schedule, intended.estimator, len(analysis.query.numbers), len(analysis.query.open_events), intended.pools)
        reason = f"{schedule.chains} chains of {schedule.draws} draws over partitions of {network.n_nodes:,} nodes"
        if not network.relations:
            alone = "no hard rules make a predicate an equivalence relation, so atoms move one by one"
            reason = f"{schedule.chains} chains of {schedule.draws} draws: {alone}{misses}"
        memory = max(sizes.memory_bytes, self.rates.memory_bytes(scale, use))
        rungs = intended.settings.rungs if isinstance(intended.settings, Partition) else 1
        return Cost(search_seconds + rungs * self.rates.seconds(scale, use), memory, reason)

    def plan(self, analysis: Analysis, options: InferOptions, reason: str) -> Plan:
        """As any sampler's; refuses what chains may be confined by, where that is known."""
        if _is_soon(analysis) and (fault := analysis.partition.confining) is not None:
            raise UnsupportedError(fault)
        return super().plan(analysis, _with_chains(analysis, options), reason)

    def _estimator(
        self, analysis: Analysis, options: InferOptions, schedule: Schedule, settings: Settings
    ) -> tuple[Estimator, OrbitPools | None, tuple[str, ...]]:
        """Orbits are pooled where they were requested, or where no part is going to be solved otherwise."""
        if options.sampling.estimator == "auto" and _is_soon(analysis):
            own = analysis.partition
            small = small_parts(own.network, own.parts, own.parts_in_query)
            small |= surely_summed(own.network, own.parts, own.parts_in_query)
            if (_solves(schedule) and small.any()) or analysis.few is not None or analysis.partition.network.n_nodes > MOST_TWINS:
                options = replace(options, sampling=replace(options.sampling, estimator="sample"))
        return super()._estimator(analysis, options, schedule, settings)

    def answer(self, analysis: Analysis, plan: Plan) -> Answer:
        """Small parts exactly, then chains over the rest."""
        from markovlogic.results.answers import Answer, Values
        from markovlogic.results.marginals import Account

        assert plan.schedule is not None
        network, parts = analysis.partition.network, analysis.partition.parts
        solves = _solves(plan.schedule) and plan.pools is None
        with analysis.watch("sample"):
            analysis.progress.stage("solve")
            wanted = analysis.partition.parts_in_query if solves else np.zeros(parts.n_parts, np.bool_)
            solved = solve_parts(network, parts, wanted, deadline_share=_share_of_time(plan.schedule))
        if (fault := confining(analysis.prepared.problem, only(network, parts, ~solved.parts))) is not None:
            raise UnsupportedError(fault)
        rows = network.row_of[analysis.query.numbers]
        known = (solved.parts[parts.of_row[rows]] | network.decided(rows)) & solves
        values = Values.exact(solved.marginal[rows])
        rest = Rest(only(network, parts, ~solved.parts), analysis.query.numbers[~known])
        if not known.all() or analysis.query.open_events or not solves:
            answer = self.sampled(analysis, plan, rest)
        else:
            rest.network.start_worlds(1, np.random.SeedSequence(plan.schedule.seed), "satisfying")  # or there is no world
            log_z = solved.log_z if solved.parts[parts.moves].all() else None
            answer = Answer(Values.exact(np.zeros(0)), Values.exact(np.zeros(0)), Guarantee.EXACT, Account(log_z=log_z))
        remarks = answer.remarks
        if n_solved := int(np.count_nonzero(solved.parts)):
            remark = (
                f"{n_solved:,} of {int(np.count_nonzero(wanted)):,} parts are small: their probabilities are sums over all worlds"
            )
            remarks = (remark, *remarks)
        return replace(answer, atoms=values.with_rows(~known, answer.atoms), remarks=remarks)

    def sampled(self, analysis: Analysis, plan: Plan, rest: Rest) -> Answer:
        """Chains over the parts that are left."""
        from markovlogic.running.run import Task, run
        from markovlogic.running.worlds import WorldsSink

        assert isinstance(plan.settings, Settings) and plan.schedule is not None and plan.estimator is not None
        row_of, schedule = rest.network.row_of, plan.schedule
        events = [[2 * row_of[cube >> 1] + (cube & 1) for cube in event.cubes] for event in analysis.query.open_events]
        task = Task(
            plan.settings,
            rest.network,
            row_of[rest.numbers],
            events,
            plan.estimator,
            None if plan.pools is None else _pools_of_rows(plan.pools, row_of),
            analysis.prepared.fingerprint if schedule.checkpoint is not None else "",
        )
        sink = WorldsSink(schedule.worlds, *analysis.columns_of_worlds()) if schedule.worlds is not None else None
        with analysis.watch("sample"):
            found = run(task, schedule, worlds=sink, threads=analysis.workspace.threads, progress=analysis.progress)
        return self._answer(analysis, task, schedule, found, rest.numbers)


@dataclass(frozen=True, eq=False)
class Rest:
    """What is left to chains: parts of the network, and the open atoms that are requested there."""

    network: PartitionNetwork
    numbers: Int64


def _with_chains(analysis: Analysis, options: InferOptions) -> InferOptions:
    """The options, with more chains where there are no blocks and the user gave no number of chains."""
    if options.sampling.chains is not None or analysis.partition.equivalences.relations:
        return options
    return replace(options, sampling=replace(options.sampling, chains=CHAINS_OF_ATOMS))


def _is_soon(analysis: Analysis) -> bool:
    """Whether the network is small enough for a plan to wait for it."""
    sizes = analysis.partition.sizes
    return sizes.memory_bytes <= analysis.memory_limit and sizes.seconds <= REFINING_SECONDS


def _solves(schedule: Schedule) -> bool:
    """Whether probabilities are all that is wanted: who needs draws gets draws of everything."""
    return not schedule.keep_draws and schedule.worlds is None


def _share_of_time(schedule: Schedule) -> float | None:
    """What of the time that is left may go to small parts; a run that may be resumed must not depend on the clock."""
    return SOLVING_SHARE if schedule.checkpoint is None else None


def _pools_of_rows(pools: OrbitPools, row_of: Int32) -> OrbitPools:
    """The same orbits in terms of rows; conjunctions are counted by themselves."""
    member = (2 * row_of[pools.member >> 1] + (pools.member & 1)).astype(np.int32)
    alone = (None,) * len(pools.event_count)
    return replace(pools, query_atoms=row_of[pools.query_atoms], member=member, event_count=alone)


METHOD = PartitionMethod(
    name="partition",
    summary="Gibbs sampling over partitions, for predicates that hard rules make equivalence relations; small parts exactly",
    networks=(NetworkKind.NONE,),
    promise=Guarantee.EXACT,
    home=("markovlogic.methods.sampling.partition", "Partition"),
    chains=8,
    rates=Rates(row=60e-9, literal=20e-9, row_bytes=700, literal_bytes=90, work_bytes=8, batch_chains=4),
    confined_moves="",
)
