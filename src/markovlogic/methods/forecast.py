"""What is known of a problem before anything is grounded: its query, predicted sizes, and how groundings would be counted."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from markovlogic.errors import ResourceError, UnsupportedError
from markovlogic.grounding.ground import Grounding
from markovlogic.methods.base import Cost
from markovlogic.methods.reduction import ReducedProblem
from markovlogic.methods.resources import Workspace
from markovlogic.problem.prepare import PreparedProblem
from markovlogic.problem.query import most_rows
from markovlogic.results.answers import ANSWER_ROW_BYTES
from markovlogic.results.queries import ResolvedQuery, resolved_query
from markovlogic.system.cancellation import LONG, SHORT_SECONDS, SURE, current
from markovlogic.system.measures import show_bytes

if TYPE_CHECKING:
    from markovlogic.errors import Fault
    from markovlogic.grounding.predict import Sizes
    from markovlogic.networks.counting.building import CountingPlan
    from markovlogic.networks.counting.network import CountingNetwork
    from markovlogic.networks.ground import GroundNetwork
    from markovlogic.problem import Problem

MANY_ROWS = 1_000_000  # of an answer; so many are not listed before it is known that they fit
MANY_RULES = 2000  # plans that go rule by rule take a second for them
FEW_GROUNDINGS = 100  # of a rule, on average: then grounding takes no longer than such a plan
REFINING_SECONDS = 10.0  # grounding that a plan may wait for; a plan for more is made from predicted sizes alone


@dataclass(frozen=True)
class Scale:
    """How large a network is; predicted sizes are upper bounds."""

    atoms: int  # open ones
    rows: int  # open and hidden ones
    clauses: int
    literals: int  # of clauses, groups and definitions
    network_bytes: int
    predicted: bool


@dataclass(frozen=True, eq=False)
class Questions:
    """The queries of a problem, by the numbers of its atoms."""

    reduced: ReducedProblem
    include_evidence: bool
    memory_limit: int
    given: ResolvedQuery | None = None  # where they are not the problem's own
    lists_few: bool = False  # whether the decided problem takes pairs for false that are not, and that are not to be listed

    @cached_property
    def rows(self) -> int:
        """Rows of the answer at most, without listing them; what hard rules decide is among them, unless that is very much."""
        return most_rows(self.reduced.whole.problem, self._possible)

    @cached_property
    def _possible(self) -> Problem | None:
        """The decided problem, where it lists far fewer rows than there are: what hard rules make false is not listed then."""
        whole, decided = self.reduced.whole.problem, self.reduced.decided.problem
        every = most_rows(whole)
        few = every > MANY_ROWS and not self.include_evidence and 2 * most_rows(whole, decided) < every
        return decided if few or self.lists_few else None

    @cached_property
    def resolved(self) -> ResolvedQuery:
        """One row an atom; refuses where the rows would not fit the memory limit."""
        if self.given is not None:
            return self.given
        needed = ANSWER_ROW_BYTES * self.rows
        if needed > self.memory_limit and self.rows > MANY_ROWS:  # fewer are listed, and the plan is refused with its figures
            raise ResourceError(
                f"the answer would have {self.rows:,} rows, which need about {show_bytes(needed)} of memory; the limit is"
                f" {show_bytes(self.memory_limit)}; ask for fewer atoms, or allow more with --memory-limit",
                needed=needed,
                limit=self.memory_limit,
            )
        return resolved_query(self.reduced.whole.problem, include_evidence=self.include_evidence, possible=self._possible)


@dataclass(frozen=True, eq=False)
class Forecast:
    """What is known of a problem's networks before there is one."""

    prepared: PreparedProblem
    workspace: Workspace
    is_part: bool = False  # whether open atoms of other components count as false in the problem

    @cached_property
    def grounding(self) -> Grounding:
        """The plan of grounding."""
        own = self.workspace
        return Grounding(self.prepared.problem, self.prepared.lowered, own.database, own.memory_limit, is_part=self.is_part)

    @cached_property
    def sizes(self) -> Sizes:
        """Sizes of the ground network, predicted."""
        with self.workspace.watch("ground"):
            self.workspace.progress.stage("predict")
            return self.grounding.sizes

    @property
    def fits(self) -> bool:
        """Whether grounding fits the memory limit."""
        return self.sizes.memory_bytes <= self.workspace.memory_limit

    @property
    def can_refine(self) -> bool:
        """Whether the network fits the memory limit, and soon enough that plans are made with it at hand."""
        return self.fits and self.sizes.seconds <= REFINING_SECONDS

    @property
    def needs(self) -> str:
        """What grounding takes, as a text for the user."""
        return f"grounding needs up to {show_bytes(self.sizes.memory_bytes)} and {self.sizes.seconds:,.0f} s"

    @property
    def unknown_cost(self) -> Cost:
        """Of a method on a ground network that is too large for a plan to wait for."""
        return Cost(None, self.sizes.memory_bytes, self.needs, possible=self.fits)

    @cached_property
    def outweighs(self) -> str | None:
        """A reason to use the ground network in `auto`: many rules with few groundings each, and they fit."""
        n_clauses = len(self.prepared.lowered.templates)
        few = n_clauses > MANY_RULES and sum(self.sizes.rows) <= FEW_GROUNDINGS * n_clauses
        if not few or not self.fits:
            return None
        return f"not planned: {n_clauses:,} clauses have few groundings each, and a plan without them takes longer than they do"

    @cached_property
    def scale(self) -> Scale:
        """How large the ground network is going to be at most, whether it is there or not."""
        sizes = self.sizes
        grouped = sum(len(group.atom) for group in self.prepared.problem.groups)
        literals = sizes.literals_at_most + grouped
        network_bytes = 24 * sizes.clauses_at_most + 8 * literals + 16 * sizes.atoms
        return Scale(sizes.atoms, sizes.atoms, sizes.clauses_at_most, literals, network_bytes, predicted=True)

    @cached_property
    def counting_plan(self) -> CountingPlan:
        """How groundings would be counted in place of being made; nothing of the size of a relation is made for it."""
        from markovlogic.networks.counting.building import counting_plan

        if self.prepared.lowered.has_numbers:  # each that differs is written as a rule
            return counting_plan(self.prepared.written_as_rules.problem, self.prepared.written_as_rules.lowered)
        return counting_plan(self.prepared.problem, self.prepared.lowered)

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
        with self.workspace.watch("ground"):
            self.workspace.progress.stage("lay out relations")
            return self.counting_plan.network()

    def network(self) -> GroundNetwork:
        """The ground network; refuses what would not fit the memory limit."""
        current().allowance = LONG if self.sizes.seconds > SHORT_SECONDS else SURE
        with self.workspace.watch("ground"):
            made = self.grounding.network(self.workspace.progress)
        current().allowance = SURE  # chains can give an answer from now on, if a late one
        return made
