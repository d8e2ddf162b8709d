"""The results of planning a prepared problem: values that depend only on what they were made from.

An `Analysis` is made of a problem that hard rules reduced, before anything is grounded. `grounded` gives another one that has the
network. What takes long and may not be needed is computed when it is first read, and kept.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from markovlogic.data.arrow import atom_names
from markovlogic.errors import ResourceError, UnsupportedError
from markovlogic.grounding.ground import database_for
from markovlogic.methods.forecast import Forecast, Questions, Scale
from markovlogic.methods.reduction import (
    Narrowed,
    OfAll,
    ReducedProblem,
    Reduction,
    narrowed,
    of_all,
    reached,
    reduce_problem,
    with_open,
    with_whole_formulas,
)
from markovlogic.methods.resources import Resources, Workspace
from markovlogic.problem.prepare import PreparedProblem
from markovlogic.results.queries import ResolvedQuery, of_atoms, projected
from markovlogic.system.arrays import Bool, Int8
from markovlogic.system.cancellation import current
from markovlogic.system.measures import Stopwatch
from markovlogic.system.progress import Progress

if TYPE_CHECKING:
    from markovlogic.grounding.backends import Engine
    from markovlogic.methods.base import MethodSettings
    from markovlogic.methods.exact.planning import ExactPlan, ExactShare
    from markovlogic.methods.exact.planning import Method as ExactAlgorithm
    from markovlogic.methods.lifted.answer import Refusal, Work
    from markovlogic.methods.lifted.blocks.clusters import ClusterGraph
    from markovlogic.methods.lifted.engines import EventPlans
    from markovlogic.methods.partition.listed import Listed
    from markovlogic.methods.partition_analysis import PartitionAnalysis
    from markovlogic.methods.sampling.base import Target
    from markovlogic.methods.sampling.irreducible import Reachability
    from markovlogic.networks.components import Components
    from markovlogic.networks.counts import CountNetwork
    from markovlogic.networks.ground import GroundNetwork
    from markovlogic.results.answers import Replacement
    from markovlogic.symmetry.find import SymmetryFinder

SEARCHING_SHARE = 0.25  # of the time that is left, a search for symmetries may take so much
SMALL_REST = 20_000  # atoms and literals that the query does not reach: kept where all is solved exactly at little cost
QUICK_EXACT = 1.0  # seconds, predicted


@dataclass(frozen=True, eq=False)
class Ground:
    """A ground network that an analysis works on."""

    whole: GroundNetwork  # all that was grounded
    ungrounded: Analysis  # what it was grounded for
    narrowed: Narrowed | None = None  # the part of it that the analysis is about, where it is not all


@dataclass(frozen=True, eq=False)
class Analysis:
    """A problem, and what is found out about it for the methods that may solve it."""

    reduced: ReducedProblem
    questions: Questions
    forecast: Forecast  # of the reduced problem
    orbits: str = "auto"  # what chains and estimators use of the symmetries, see `running.sampling.ORBITS`
    leaves_out: bool = False  # whether components that the query does not reach may be left out
    replacement: Replacement | None = None  # what a compression gave in place of a problem
    ground: Ground | None = None  # once it is grounded
    few: Listed | None = None  # where pairs of equivalence relations that no rule tells from others are not listed

    @property
    def prepared(self) -> PreparedProblem:
        """What is solved: what the network shows that the query reaches, as far as that is known."""
        return self.reduced.solved if self.narrowed is None else self.narrowed.prepared

    @property
    def narrowed(self) -> Narrowed | None:
        """The part of the ground network that this is about, where it is not all."""
        return None if self.ground is None else self.ground.narrowed

    @property
    def whole(self) -> PreparedProblem:
        """The problem as it was prepared."""
        return self.reduced.whole

    @property
    def network(self) -> GroundNetwork | None:
        """The ground network that methods work on; None before it is there."""
        if self.ground is None:
            return None
        return self.ground.whole if self.narrowed is None else self.narrowed.network

    @property
    def counts(self) -> CountNetwork | None:
        """The network of counts that a compression gave in place of a problem."""
        return None if self.replacement is None else self.replacement.made.blocks

    # ---- where it works

    @property
    def workspace(self) -> Workspace:
        """Limits, database and watch of the run."""
        return self.forecast.workspace

    @property
    def memory_limit(self) -> int:
        """In bytes."""
        return self.workspace.memory_limit

    @property
    def progress(self) -> Progress:
        """What shows how far the run is."""
        return self.workspace.progress

    @property
    def watch(self) -> Stopwatch:
        """What times the stages."""
        return self.workspace.watch

    # ---- the network

    @property
    def ungrounded(self) -> Analysis:
        """The analysis as it was before the network was there."""
        return self if self.ground is None else self.ground.ungrounded

    @cached_property
    def grounded(self) -> Analysis:
        """The same with the ground network of all that the query reaches; refuses what would not fit the memory limit."""
        if self.ground is not None:
            return self
        full = replace(self, ground=Ground(self.forecast.network(), self))
        return full._of_the_query() if self.leaves_out else full

    def _of_the_query(self) -> Analysis:
        """Leave out components that the query does not reach, unless all of them together are solved exactly at little cost."""
        network = self.ground_network
        if len(self.query.numbers) == network.n_atoms:
            return self
        with self.watch("ground"):
            stays = reached(self.query, self.parts)
            keep = stays[self.parts.component_of]
            kept_clauses = keep[network.clause_literal[network.clause_start[:-1]] >> 1]
            left = np.count_nonzero(~keep) + np.diff(network.clause_start)[~kept_clauses].sum()
        if stays.all() or (left <= SMALL_REST and self._is_quick):
            return self
        with self.watch("ground"):
            part = narrowed(self.prepared, network, self.parts, stays, log_constant=network.log_constant)
            return replace(self, ground=Ground(network, self.ungrounded, part))

    @property
    def _is_quick(self) -> bool:
        plan = self.exact_plan("exact")
        return not isinstance(plan, str) and plan.seconds <= QUICK_EXACT

    @property
    def ground_network(self) -> GroundNetwork:
        """The ground network that methods work on, of an analysis that has one."""
        assert self.network is not None
        return self.network

    @cached_property
    def parts(self) -> Components:
        """The components of that network."""
        from markovlogic.networks.components import components

        return components(self.ground_network)

    @property
    def scale(self) -> Scale:
        """How large the network is, or is going to be at most."""
        network = self.network
        if network is None:
            return self.forecast.scale
        literals = network.n_literals + len(network.group_atom) + len(network.definition_literal)
        return Scale(network.n_atoms, network.n_all, network.n_clauses, literals, network.nbytes, predicted=False)

    def peak_bytes(self, afterwards: int) -> int:
        """The most memory that a run takes: that of grounding, or of what comes after."""
        return max(self.forecast.sizes.memory_bytes, afterwards)

    def of_all(self, log_z: float | None) -> OfAll:
        """Log Z of the whole model, given that of what was solved; and remarks on what was left out."""
        grounded = None if self.ground is None else self.ground.whole
        return of_all(self.reduced.left_out, self.narrowed, grounded, log_z, self.memory_limit)

    # ---- the query

    @cached_property
    def query(self) -> ResolvedQuery:
        """The query, by the numbers of the atoms of the solved problem."""
        with self.watch("read"):
            resolved = self.questions.resolved
            if self.prepared.problem is self.whole.problem:
                return resolved
            from markovlogic.compression.base import projection

            return projected(resolved, projection(self.whole.problem, self.prepared.problem))

    def columns_of_worlds(self) -> tuple[list[str], Int8]:
        """Names of the query atoms that the evidence leaves open, by predicate and code; and what is known of each."""
        problem = self.whole.problem
        names: list[str] = []
        truths = [np.empty(0, np.int8)]
        for there, here in zip(self.questions.resolved.atoms, self.query.atoms, strict=True):
            own = tuple(problem.domains[type_name] for type_name in problem.model.predicates[there.predicate].types)
            names += atom_names(there.predicate, there.code[there.number >= 0], tuple(map(len, own)), own).to_pylist()
            truths.append(here.truth[there.number >= 0])
        return names, np.concatenate(truths)

    # ---- what methods plan by

    def exact_plan(self, algorithm: ExactAlgorithm) -> ExactPlan | str:
        """The plan of exact inference, made within a bounded effort; or the reason why there is none."""
        from markovlogic.methods.exact.interaction import ONE_SECOND
        from markovlogic.methods.exact.planning import SAMPLE_INSTEAD, plan_exact

        if algorithm not in self._exact_plans:
            self.progress.stage("plan")
            limit, network = self.memory_limit, self.ground_network
            try:
                found: ExactPlan | str = plan_exact(network, self.parts, method=algorithm, memory_limit=limit, effort=ONE_SECOND)
            except ResourceError as refusal:
                found = str(refusal).removesuffix(SAMPLE_INSTEAD)
            self._exact_plans[algorithm] = found
        return self._exact_plans[algorithm]

    def exact_share(self, seconds: float) -> ExactShare | None:
        """Components that are solved exactly within so many seconds all together, where that is not all of them."""
        from markovlogic.methods.exact.interaction import ONE_SECOND
        from markovlogic.methods.exact.planning import plan_share

        network, parts, limit = self.ground_network, self.parts, self.memory_limit
        may = np.ones(parts.n_components, np.bool_)
        while True:
            share = plan_share(network, parts, may, seconds=seconds, memory_limit=limit, effort=ONE_SECOND)
            if share is None:
                return None
            whole = with_whole_formulas(self.query, parts, share.components)
            if (whole == share.components).all():
                return share
            may = whole

    def part(self, stays: Bool) -> Analysis:
        """That of some of the components, as a problem of its own; stays: (n_components,)."""
        made = narrowed(self.prepared, self.ground_network, self.parts, stays, log_constant=0.0)
        reduced = ReducedProblem.of_all(made.prepared)
        query = of_atoms(self.query, made.keep[: self.ground_network.n_atoms])
        questions = Questions(reduced, include_evidence=False, memory_limit=self.memory_limit, given=query)
        return Analysis(reduced, questions, self.forecast, self.orbits, ground=Ground(made.network, self.ungrounded))

    def of_touched(self, inside: Bool, database: Engine) -> Analysis:
        """That of some open atoms, grounded without the rest; inside: (n_atoms,) the same for all atoms of a component."""
        prepared = replace(self.prepared, problem=with_open(self.prepared.problem, inside), rules=self.prepared.lowered)
        reduced = ReducedProblem.of_all(prepared)
        questions = Questions(reduced, include_evidence=False, memory_limit=self.memory_limit, given=of_atoms(self.query, inside))
        forecast = Forecast(prepared, replace(self.workspace, database=database), is_part=True)
        return Analysis(reduced, questions, forecast, self.orbits).grounded

    @cached_property
    def _exact_plans(self) -> dict[str, ExactPlan | str]:
        return {}

    @cached_property
    def cluster_graphs(self) -> dict[MethodSettings, ClusterGraph]:
        """What lifted blocked Gibbs found, by its settings: costs and plans each look at it, and it may take seconds to find."""
        return {}

    @cached_property
    def as_prepared(self) -> Analysis:
        """That of the problem as it was prepared. Methods that ground nothing may lift it where it is more symmetric so."""
        own = self.ungrounded
        if own.reduced.solved is self.whole:
            return own
        forecast = Forecast(self.whole, self.workspace)
        return Analysis(ReducedProblem.of_all(self.whole), self.questions, forecast, self.orbits)

    @cached_property
    def lifting(self) -> Analysis:
        """What lifted inference takes: as prepared, unless it is only quick, or only possible, when it is reduced."""
        from markovlogic.methods.lifted.answer import Refusal
        from markovlogic.methods.lifted.engines import QUICK_SECONDS

        if self.ground is not None:
            return self.ungrounded.lifting
        whole = self.as_prepared
        if whole is self or (not isinstance(whole.lifted, Refusal) and whole.lifted.seconds < QUICK_SECONDS):
            return whole
        if isinstance(self.lifted, Refusal):
            return whole
        return self if isinstance(whole.lifted, Refusal) or self.lifted.seconds < whole.lifted.seconds else whole

    @cached_property
    def lifted(self) -> Work | Refusal:
        """The plan that grounds nothing, or the reason why there is none."""
        from markovlogic.methods.lifted.answer import Refusal
        from markovlogic.methods.lifted.engines import plan_lifted

        self.progress.stage("plan")
        try:
            as_rules = self.prepared.written_as_rules
        except UnsupportedError as refusal:
            return Refusal(refusal.faults[0].message)
        return plan_lifted(as_rules.problem, as_rules.lowered)

    @cached_property
    def lifted_draws(self) -> Work | Refusal:
        """The same where worlds are drawn too: the plan above, or another one where its solution gives no draws."""
        from markovlogic.methods.lifted.answer import Refusal
        from markovlogic.methods.lifted.engines import plan_lifted

        if isinstance(self.lifted, Refusal) or self.lifted.can_draw:
            return self.lifted
        as_rules = self.prepared.written_as_rules
        return plan_lifted(as_rules.problem, as_rules.lowered, drawing=True)

    @cached_property
    def lifted_events(self) -> EventPlans:
        """The same with a conjunction as evidence, for each cube of a formula of the query with more than one literal."""
        from markovlogic.methods.lifted.engines import EventPlans

        events = [literals.tolist() for literals in self.query.cubes if len(literals) > 1]
        as_rules = self.prepared.written_as_rules
        return EventPlans(as_rules.problem, as_rules.lowered, events)

    @cached_property
    def reach(self) -> Reachability:
        """Whether single-site moves reach every possible world, as far as it is known."""
        from markovlogic.methods.sampling.irreducible import Reachability, single_site_reach

        if self.network is not None:
            return single_site_reach(self.network)
        return Reachability.UNKNOWN if self.prepared.lowered.has_hard else Reachability.ALL

    @cached_property
    def symmetry(self) -> SymmetryFinder:
        """What finds the problem's symmetries."""
        from markovlogic.symmetry.find import DEFAULT_BUDGET, SymmetryFinder

        left = current().left
        budget = DEFAULT_BUDGET if left is None else min(DEFAULT_BUDGET, max(left * SEARCHING_SHARE, 0.0))
        return SymmetryFinder(self.prepared.problem, self.network, budget_seconds=budget, orbits=self.orbits)

    @cached_property
    def partition(self) -> PartitionAnalysis:
        """What is found out about equivalence relations."""
        from markovlogic.methods.partition_analysis import PartitionAnalysis

        return PartitionAnalysis(self, few=self.few)

    @property
    def target(self) -> Target:
        """What chains are to sample."""
        from markovlogic.methods.sampling.base import Target

        return Target(self.prepared.problem, self.ground_network, self.symmetry)


@contextmanager
def analysis_of(
    prepared: PreparedProblem,
    resources: Resources,
    watch: Stopwatch,
    *,
    include_evidence: bool = False,
    reduction: Reduction = Reduction.BY_RULES,
    orbits: str = "auto",
    replacement: Replacement | None = None,
) -> Iterator[Analysis]:
    """What is known of a problem; the database that grounds it is open while the block lasts.

    include_evidence: what the query covers. reduction: what may be known or left out before the problem is solved. replacement:
    what gave the problem, where that is a compression. orbits: see `Analysis`.
    """
    limit = resources.limit
    with database_for(limit, resources.threads) as database:
        _ = prepared.lowered  # refuses rules without weights before anything else is done
        with watch("ground"):
            resources.progress.stage("decide")
            reduced = reduce_problem(prepared, database, reduction, memory_limit=resources.memory_limit)
        workspace = Workspace(database, limit, resources.threads, resources.progress, watch)
        given = None if replacement is None else replacement.distinct
        yield Analysis(
            reduced,
            Questions(reduced, include_evidence, limit, given),
            Forecast(reduced.solved, workspace),
            orbits,
            leaves_out=reduction is Reduction.BY_QUERY and bool(prepared.problem.query),
            replacement=replacement,
        )
