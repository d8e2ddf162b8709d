"""A posed problem on its way to an answer: everything that planning finds out about it, found once and handed on."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from markovlogic.data.names import atom_names
from markovlogic.errors import ResourceError, UnsupportedError
from markovlogic.grounding.engine import Engine
from markovlogic.grounding.ground import Grounding, database_for
from markovlogic.grounding.memory import default_limit, show_bytes
from markovlogic.methods.reduced import Narrowed, Reduced, Reduction, narrowed, not_reduced, reached, reduced
from markovlogic.problem.prepare import PreparedProblem
from markovlogic.problem.query import most_rows
from markovlogic.results.answers import ANSWER_ROW_BYTES, ResolvedQuery, asked, restated
from markovlogic.system.arrays import Int8
from markovlogic.system.cancellation import LONG, SHORT_SECONDS, SURE, current
from markovlogic.system.measures import Stopwatch
from markovlogic.system.progress import SILENT, Progress

if TYPE_CHECKING:
    from markovlogic.errors import Fault
    from markovlogic.grounding.predict import Sizes
    from markovlogic.methods.exact.planning import ExactPlan
    from markovlogic.methods.exact.planning import Method as ExactWay
    from markovlogic.methods.lifted.answer import Refusal, Work
    from markovlogic.methods.lifted.events import EventPlans
    from markovlogic.methods.partition_case import PartitionCase
    from markovlogic.methods.rest import OfAll
    from markovlogic.methods.sampling.base import Target
    from markovlogic.methods.sampling.irreducible import Reach
    from markovlogic.networks.components import Components
    from markovlogic.networks.counting.building import CountingPlan
    from markovlogic.networks.counting.network import CountingNetwork
    from markovlogic.networks.counts import CountNetwork
    from markovlogic.networks.ground import GroundNetwork
    from markovlogic.problem import Problem
    from markovlogic.symmetry.find import SymmetryFinder

SEARCHING_SHARE = 0.25  # of the time that is left, a search for symmetries may take so much
MANY_ROWS = 1_000_000  # of an answer; so many are not listed before it is known that they fit
SMALL_REST = 20_000  # atoms and literals that the query does not reach: kept where all is solved exactly at little cost
QUICK_EXACT = 1.0  # seconds, predicted
MANY_RULES = 2000  # plans that go rule by rule take a second for them
FEW_GROUNDINGS = 100  # of a rule, on average: then grounding takes no longer than such a plan
REFINING_SECONDS = 10.0  # grounding that a plan may wait for; a plan for more is made from predicted sizes alone


@dataclass(frozen=True)
class Resources:
    """What a run may use, and how it tells that it is alive."""

    memory_limit: int | None = None  # bytes; None: a share of what is free
    threads: int | None = None  # None: all cores
    progress: Progress = SILENT

    @property
    def limit(self) -> int:
        """The memory limit in bytes."""
        return default_limit() if self.memory_limit is None else self.memory_limit


@dataclass(frozen=True)
class Scale:
    """How large a network is; predicted sizes are upper bounds."""

    atoms: int  # open ones
    rows: int  # open and hidden ones
    clauses: int
    literals: int  # of clauses, groups and definitions
    network_bytes: int
    predicted: bool


class Case:
    """What is known of a problem so far; nothing that takes long is done before it is asked for."""

    def __init__(
        self,
        reduced: Reduced,
        resources: Resources,
        database: Engine,
        watch: Stopwatch,
        *,
        include_evidence: bool = False,
        orbits: str = "auto",
        leaves_out: bool = False,
        blocks: CountNetwork | None = None,
        wanted: ResolvedQuery | None = None,
    ) -> None:
        self.reduced, self.whole, self.decided = reduced, reduced.whole, reduced.decided
        self.posed = reduced.posed  # what is solved; narrowed as soon as the network shows what the query reaches
        self.resources, self.watch = resources, watch
        self.memory_limit = resources.limit
        self.grounded: GroundNetwork | None = None  # all that was grounded
        self.network: GroundNetwork | None = None  # what methods work on
        self.narrowed: Narrowed | None = None
        self.blocks = blocks  # what a compression gave in the place of a problem
        self.orbits = orbits  # what chains and estimators use of the symmetries, see `symmetry.base.ORBITS`
        self.include_evidence = include_evidence  # facts known from evidence are reported too
        self.leaves_out = leaves_out  # whether components that the query does not reach may be left out
        self._wanted = wanted  # the questions, where they are not the posed problem's own
        self._database = database
        self.way = Grounding(self.posed.problem, self.posed.lowered, database, self.memory_limit)
        self._exact_plans: dict[str, ExactPlan | str] = {}

    @cached_property
    def sizes(self) -> Sizes:
        """Sizes of the ground network, predicted."""
        with self.watch("ground"):
            self.resources.progress.stage("predict")
            return self.way.sizes

    @property
    def can_refine(self) -> bool:
        """Whether the network fits the memory limit, and soon enough that plans are made with it at hand."""
        return self.sizes.memory_bytes <= self.memory_limit and self.sizes.seconds <= REFINING_SECONDS

    @cached_property
    def planning_outweighs(self) -> str | None:
        """Why nobody should plan to do without the ground network unasked: many rules, few groundings each, and they fit."""
        n_clauses = len(self.posed.lowered.templates)
        few = n_clauses > MANY_RULES and sum(self.sizes.rows) <= FEW_GROUNDINGS * n_clauses
        if not few or self.sizes.memory_bytes > self.memory_limit:
            return None
        return f"not planned: {n_clauses:,} clauses have few groundings each, and a plan without them takes longer than they do"

    def ground(self) -> GroundNetwork:
        """The ground network; refuses what would not fit the memory limit."""
        if self.network is None:
            current().allowance = LONG if self.sizes.seconds > SHORT_SECONDS else SURE
            with self.watch("ground"):
                self.grounded = self.network = self.way.network(self.resources.progress)
            current().allowance = SURE  # chains can give an answer from now on, if a late one
            if self.leaves_out:
                self._narrow(self.network)
        return self.network

    def _narrow(self, network: GroundNetwork) -> None:
        """Leave out components that the query does not reach, unless all of them together are solved exactly at little cost."""
        if len(self.asked.numbers) == network.n_atoms:
            return
        with self.watch("ground"):
            parts = self.grounded_parts
            stays = reached(self.asked, parts)
            keep = stays[parts.component_of]
            kept_clauses = keep[network.clause_literal[network.clause_start[:-1]] >> 1]
            left = np.count_nonzero(~keep) + np.diff(network.clause_start)[~kept_clauses].sum()
        if stays.all() or (left <= SMALL_REST and self._is_quick(self.exact_plan("exact"))):
            return
        with self.watch("ground"):
            self.narrowed = narrowed(self.posed, network, parts, stays)
            self.posed, self.network = self.narrowed.posed, self.narrowed.network
        self._exact_plans.clear()
        # of the whole network, where they were found already
        for name in ("asked", "parts", "symmetry", "reach", "counting_plan", "counting", "partition"):
            vars(self).pop(name, None)

    @staticmethod
    def _is_quick(plan: ExactPlan | str) -> bool:
        return not isinstance(plan, str) and plan.seconds <= QUICK_EXACT

    @cached_property
    def grounded_parts(self) -> Components:
        """The components of all that was grounded."""
        from markovlogic.networks.components import components

        assert self.grounded is not None
        return components(self.grounded)

    def of_all(self, log_z: float | None) -> OfAll:
        """Log Z of the whole model, given that of what was solved; and what there is to tell of what was left out."""
        from markovlogic.methods.rest import of_all

        return of_all(self, log_z)

    @cached_property
    def counting_plan(self) -> CountingPlan:
        """How groundings would be counted in place of being made; nothing of the size of a relation is made for it.

        Its atoms have the numbers of `not_narrowed`: components show in a ground network only.
        """
        from markovlogic.networks.counting.building import counting_plan

        posed = self.reduced.posed
        if posed.lowered.has_numbers:  # of which each that differs is told by a rule
            return counting_plan(posed.told_by_rules.problem, posed.told_by_rules.lowered)
        return counting_plan(posed.problem, posed.lowered)

    @cached_property
    def uncountable(self) -> Fault | None:
        """Why groundings cannot be counted, if they cannot."""
        try:
            _ = self.counting_plan
        except UnsupportedError as refusal:
            return refusal.faults[0]
        return None

    @cached_property
    def counting(self) -> CountingNetwork:
        """The counting network."""
        with self.watch("ground"):
            self.resources.progress.stage("lay out relations")
            return self.counting_plan.network()

    @cached_property
    def asked(self) -> ResolvedQuery:
        """The questions. One row an atom, so not before it is known that the problem fits the memory limit."""
        with self.watch("read"):
            return restated(self.asked_as_posed, self.whole.problem, self.posed.problem)

    @cached_property
    def asked_as_posed(self) -> ResolvedQuery:
        """The questions in the numbers of the problem as it was posed; refuses where their rows would not fit the limit."""
        if self._wanted is not None:
            return self._wanted
        needed = ANSWER_ROW_BYTES * self.rows
        if needed > self.memory_limit and self.rows > MANY_ROWS:  # fewer are listed, and the plan is refused with its figures
            raise ResourceError(
                f"the answer would have {self.rows:,} rows, which need about {show_bytes(needed)} of memory; the limit is"
                f" {show_bytes(self.memory_limit)}; ask for fewer atoms, or allow more with --memory-limit",
                needed=needed,
                limit=self.memory_limit,
            )
        return asked(self.whole.problem, include_evidence=self.include_evidence, possible=self._possible)

    @cached_property
    def rows(self) -> int:
        """Rows of the answer at most, without listing them; what hard rules decide is among them, unless that is very much."""
        return most_rows(self.whole.problem, self._possible)

    @cached_property
    def _possible(self) -> Problem | None:
        """The decided problem, where it lists far fewer rows than there are: what hard rules make false is not listed then."""
        every, decided = most_rows(self.whole.problem), self.decided.problem
        few = every > MANY_ROWS and not self.include_evidence and 2 * most_rows(self.whole.problem, decided) < every
        return decided if few else None

    def columns_of_worlds(self) -> tuple[list[str], Int8]:
        """Names of the query atoms that the evidence leaves open, by predicate and code; and what is known of each."""
        problem = self.whole.problem
        names: list[str] = []
        truths = [np.empty(0, np.int8)]
        for there, here in zip(self.asked_as_posed.atoms, self.asked.atoms, strict=True):
            own = tuple(problem.domains[type_name] for type_name in problem.model.predicates[there.predicate].types)
            names += atom_names(there.predicate, there.code[there.number >= 0], tuple(map(len, own)), own).to_pylist()
            truths.append(here.truth[there.number >= 0])
        return names, np.concatenate(truths)

    def _again(self, reduced: Reduced) -> Case:
        """A case with the same questions that nothing is grounded for."""
        return Case(
            reduced,
            self.resources,
            self._database,
            self.watch,
            include_evidence=self.include_evidence,
            orbits=self.orbits,
            wanted=vars(self).get("asked_as_posed", self._wanted),  # they may be many: not before somebody needs them
        )

    @cached_property
    def as_posed(self) -> Case:
        """The case of the problem as it was posed. Methods that ground nothing may lift it where it is more symmetric so."""
        return self._again(not_reduced(self.whole))

    @cached_property
    def not_narrowed(self) -> Case:
        """The case of the problem that is grounded, all of it."""
        return self.as_posed if self.reduced.posed is self.whole else self._again(self.reduced)

    @cached_property
    def lifting(self) -> Case:
        """The case that lifted inference takes: as posed, unless it is only quick, or only possible, when it is reduced."""
        from markovlogic.methods.lifted.answer import Refusal
        from markovlogic.methods.lifted.engines import QUICK_SECONDS

        whole, other = self.as_posed, self.not_narrowed
        if whole is other or (not isinstance(whole.lifted, Refusal) and whole.lifted.seconds < QUICK_SECONDS):
            return whole
        if isinstance(other.lifted, Refusal):
            return whole
        return other if isinstance(whole.lifted, Refusal) or other.lifted.seconds < whole.lifted.seconds else whole

    @property
    def scale(self) -> Scale:
        """How large the network is, or is going to be at most."""
        network = self.network
        if network is not None:
            literals = network.n_literals + len(network.group_atom) + len(network.definition_literal)
            return Scale(network.n_atoms, network.n_all, network.n_clauses, literals, network.nbytes, predicted=False)
        return self.predicted_scale

    @property
    def predicted_scale(self) -> Scale:
        """How large the ground network is going to be at most, whether it is there or not."""
        sizes = self.sizes
        grouped = sum(len(group.atom) for group in self.posed.problem.groups)
        literals = sizes.literals_at_most + grouped
        network_bytes = 24 * sizes.clauses_at_most + 8 * literals + 16 * sizes.atoms
        return Scale(sizes.atoms, sizes.atoms, sizes.clauses_at_most, literals, network_bytes, predicted=True)

    def peak_bytes(self, afterwards: int) -> int:
        """The most memory that a run takes: that of grounding, or of what comes after."""
        return max(self.sizes.memory_bytes, afterwards)

    @cached_property
    def parts(self) -> Components:
        """The components of the network that methods work on."""
        from markovlogic.networks.components import components

        return self.grounded_parts if self.ground() is self.grounded else components(self.ground())

    def exact_plan(self, way: ExactWay) -> ExactPlan | str:
        """How exact inference would go within the effort that planning may take; or why it would not."""
        from markovlogic.errors import ResourceError
        from markovlogic.methods.exact.effort import ONE_SECOND
        from markovlogic.methods.exact.planning import SAMPLE_INSTEAD, plan_exact

        if way not in self._exact_plans:
            self.resources.progress.stage("plan")
            try:
                found: ExactPlan | str = plan_exact(
                    self.ground(), self.parts, method=way, memory_limit=self.memory_limit, effort=ONE_SECOND
                )
            except ResourceError as refusal:
                found = str(refusal).removesuffix(SAMPLE_INSTEAD)
            self._exact_plans[way] = found
        return self._exact_plans[way]

    @cached_property
    def lifted(self) -> Work | Refusal:
        """How the problem would be solved with nothing grounded, or why not."""
        from markovlogic.methods.lifted.answer import Refusal
        from markovlogic.methods.lifted.engines import plan_lifted

        self.resources.progress.stage("plan")
        try:
            told = self.posed.told_by_rules
        except UnsupportedError as refusal:
            return Refusal(refusal.faults[0].message)
        return plan_lifted(told.problem, told.lowered)

    @cached_property
    def lifted_draws(self) -> Work | Refusal:
        """The same where worlds are drawn too: the plan above, or another one where its solution gives no draws."""
        from markovlogic.methods.lifted.answer import Refusal
        from markovlogic.methods.lifted.engines import plan_lifted

        if isinstance(self.lifted, Refusal) or self.lifted.can_draw:
            return self.lifted
        told = self.posed.told_by_rules
        return plan_lifted(told.problem, told.lowered, drawing=True)

    @cached_property
    def lifted_events(self) -> EventPlans:
        """The same with a conjunction as evidence, for each cube of a formula of the query with more than one literal."""
        from markovlogic.methods.lifted.events import EventPlans

        events = [literals.tolist() for literals in self.asked.cubes if len(literals) > 1]
        told = self.posed.told_by_rules
        return EventPlans(told.problem, told.lowered, events)

    @cached_property
    def reach(self) -> Reach:
        """Whether single-site moves reach every possible world, as far as it is known."""
        from markovlogic.methods.sampling.irreducible import Reach, single_site_reach

        if self.network is not None:
            return single_site_reach(self.network)
        return Reach.UNKNOWN if self.posed.lowered.has_hard else Reach.ALL

    @cached_property
    def symmetry(self) -> SymmetryFinder:
        """The door to the problem's symmetries."""
        from markovlogic.symmetry.find import DEFAULT_BUDGET, SymmetryFinder

        left = current().left
        budget = DEFAULT_BUDGET if left is None else min(DEFAULT_BUDGET, max(left * SEARCHING_SHARE, 0.0))
        return SymmetryFinder(self.posed.problem, self.network, budget_seconds=budget, orbits=self.orbits)

    @cached_property
    def partition(self) -> PartitionCase:
        """What there is to know of equivalence relations."""
        from markovlogic.methods.partition_case import PartitionCase

        return PartitionCase(self, self._database)

    @property
    def target(self) -> Target:
        """What chains are to sample."""
        from markovlogic.methods.sampling.base import Target

        return Target(self.posed.problem, self.ground(), self.symmetry)


@contextmanager
def case_of(
    posed: PreparedProblem,
    resources: Resources,
    watch: Stopwatch,
    *,
    include_evidence: bool = False,
    wanted: ResolvedQuery | None = None,
    reduction: Reduction = Reduction.BY_RULES,
    orbits: str = "auto",
    blocks: CountNetwork | None = None,
) -> Iterator[Case]:
    """A case whose way to the ground network is open while the block lasts.

    wanted: the questions, where they are not the posed problem's own; else include_evidence says what they cover.
    reduction: what may be known or left out before the problem is solved. orbits, blocks: see `Case`.
    """
    with database_for(resources.limit, resources.threads) as database:
        _ = posed.lowered  # refuses rules without weights before anything else is done
        with watch("ground"):
            resources.progress.stage("decide")
            found = reduced(posed, database, reduction, memory_limit=resources.memory_limit)
        yield Case(
            found,
            resources,
            database,
            watch,
            include_evidence=include_evidence,
            orbits=orbits,
            leaves_out=reduction is Reduction.BY_QUERY and bool(posed.problem.query),
            blocks=blocks,
            wanted=wanted,
        )
