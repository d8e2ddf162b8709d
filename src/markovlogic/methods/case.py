"""A posed problem on its way to an answer: everything that planning finds out about it, found once and handed on."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from markovlogic.arrays import Int8
from markovlogic.data.names import atom_names
from markovlogic.deciding import Decided, decide
from markovlogic.errors import UnsupportedError
from markovlogic.grounding.engine import Engine
from markovlogic.grounding.ground import Grounding, database_for
from markovlogic.grounding.memory import default_limit
from markovlogic.measures import Stopwatch
from markovlogic.patience import LONG, SHORT_SECONDS, SURE, current
from markovlogic.posing import Posed
from markovlogic.progress import SILENT, Progress
from markovlogic.questions import Asked, asked, restated
from markovlogic.samplers.base import Target

if TYPE_CHECKING:
    from markovlogic.arrays import Bool
    from markovlogic.errors import Fault
    from markovlogic.exact.planning import ExactPlan
    from markovlogic.exact.planning import Method as ExactWay
    from markovlogic.grounding.predict import Sizes
    from markovlogic.language.equivalence import Found
    from markovlogic.lifted.answer import Refusal, Work
    from markovlogic.lifted.events import EventPlans
    from markovlogic.networks.components import Components
    from markovlogic.networks.ground import GroundNetwork
    from markovlogic.partition.network import PartitionNetwork
    from markovlogic.partition.parts import Parts
    from markovlogic.samplers.irreducible import Reach
    from markovlogic.symmetry.find import SymmetryDoor

SEARCHING_SHARE = 0.25  # of the time that is left, a search for symmetries may take so much
LARGEST_RELATION = 144  # open atoms of an equivalence relation: those of twelve constants
REFINING_SECONDS = 10.0  # grounding that a plan may wait for; a plan for more is made from predicted sizes alone


@dataclass(frozen=True)
class Resources:
    """What a run may use, and how it tells that it is alive."""

    memory_limit: int | None = None  # bytes; None: a share of what is free
    threads: int | None = None  # None: all cores
    progress: Progress = SILENT


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

    def __init__(self, whole: Posed, decided: Decided, resources: Resources, database: Engine, watch: Stopwatch) -> None:
        self.whole = whole  # as it was posed
        self.decided = decided  # what hard rules make of it
        self.posed = _with_known(whole, decided)  # what is solved
        self.resources, self.watch = resources, watch
        self.memory_limit = default_limit() if resources.memory_limit is None else resources.memory_limit
        self.network: GroundNetwork | None = None
        self.include_evidence = False  # facts known from evidence are reported too
        self._database = database
        self._way = Grounding(self.posed.problem, self.posed.lowered, database, self.memory_limit)
        self._exact_plans: dict[str, ExactPlan | str] = {}

    @cached_property
    def sizes(self) -> Sizes:
        """Sizes of the ground network, predicted."""
        with self.watch("ground"):
            self.resources.progress.stage("predict")
            return self._way.sizes

    @property
    def can_refine(self) -> bool:
        """Whether the network fits the memory limit, and soon enough that plans are made with it at hand."""
        return self.sizes.memory_bytes <= self.memory_limit and self.sizes.seconds <= REFINING_SECONDS

    def ground(self) -> GroundNetwork:
        """The ground network; refuses what would not fit the memory limit."""
        if self.network is None:
            current().allowance = LONG if self.sizes.seconds > SHORT_SECONDS else SURE
            with self.watch("ground"):
                self.network = self._way.network(self.resources.progress)
            current().allowance = SURE  # chains can give an answer from now on, if a late one
        return self.network

    @cached_property
    def asked(self) -> Asked:
        """The questions. One row an atom, so not before it is known that the problem fits the memory limit."""
        with self.watch("read"):
            return restated(self.asked_as_posed, self.whole.problem, self.posed.problem)

    @cached_property
    def asked_as_posed(self) -> Asked:
        """The questions in the numbers of the problem as it was posed."""
        return asked(self.whole.problem, include_evidence=self.include_evidence)

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

    @cached_property
    def as_posed(self) -> Case:
        """The case of the problem as it was posed. Methods that ground nothing may lift it where it is more symmetric so."""
        if self.whole is self.posed:
            return self
        nothing = Decided(self.whole.problem, 0, {}, complete=True)
        made = Case(self.whole, nothing, self.resources, self._database, self.watch)
        made.include_evidence = self.include_evidence
        if "asked_as_posed" in vars(self):  # they may be many: not before somebody needs them
            made.asked_as_posed = self.asked_as_posed
        return made

    @cached_property
    def lifting(self) -> Case:
        """The case that lifted inference takes: as posed, unless it is only quick, or only possible, with what is decided."""
        from markovlogic.lifted.answer import Refusal
        from markovlogic.lifted.engines import QUICK_SECONDS

        other = self.as_posed
        if other is self or (not isinstance(other.lifted, Refusal) and other.lifted.seconds < QUICK_SECONDS):
            return other
        if isinstance(self.lifted, Refusal):
            return other
        return self if isinstance(other.lifted, Refusal) or self.lifted.seconds < other.lifted.seconds else other

    @property
    def scale(self) -> Scale:
        """How large the network is, or is going to be at most."""
        network = self.network
        if network is not None:
            literals = network.n_literals + len(network.group_atom) + len(network.definition_literal)
            return Scale(network.n_atoms, network.n_all, network.n_clauses, literals, network.nbytes, predicted=False)
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
        """The components of the ground network."""
        from markovlogic.networks.components import components

        return components(self.ground())

    def exact_plan(self, way: ExactWay) -> ExactPlan | str:
        """How exact inference would go within the effort that planning may take; or why it would not."""
        from markovlogic.errors import ResourceError
        from markovlogic.exact.effort import ONE_SECOND
        from markovlogic.exact.planning import SAMPLE_INSTEAD, plan_exact

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
        from markovlogic.lifted.answer import Refusal
        from markovlogic.lifted.engines import plan_lifted

        self.resources.progress.stage("plan")
        try:
            told = self.posed.told_by_rules
        except UnsupportedError as refusal:
            return Refusal(refusal.faults[0].message)
        return plan_lifted(told.problem, told.lowered)

    @cached_property
    def lifted_draws(self) -> Work | Refusal:
        """The same where worlds are drawn too: the plan above, or another one where its solution gives no draws."""
        from markovlogic.lifted.answer import Refusal
        from markovlogic.lifted.engines import plan_lifted

        if isinstance(self.lifted, Refusal) or self.lifted.can_draw:
            return self.lifted
        told = self.posed.told_by_rules
        return plan_lifted(told.problem, told.lowered, drawing=True)

    @cached_property
    def lifted_events(self) -> EventPlans:
        """The same with a conjunction as evidence, for each cube of a formula of the query with more than one literal."""
        from markovlogic.lifted.events import EventPlans

        events = [literals.tolist() for literals in self.asked.cubes if len(literals) > 1]
        told = self.posed.told_by_rules
        return EventPlans(told.problem, told.lowered, events)

    @cached_property
    def reach(self) -> Reach:
        """Whether single-site moves reach every possible world, as far as it is known."""
        from markovlogic.samplers.irreducible import Reach, single_site_reach

        if self.network is not None:
            return single_site_reach(self.network)
        return Reach.UNKNOWN if self.posed.lowered.has_hard else Reach.ALL

    @cached_property
    def symmetry(self) -> SymmetryDoor:
        """The door to the problem's symmetries."""
        from markovlogic.symmetry.find import DEFAULT_BUDGET, SymmetryDoor

        left = current().left
        budget = DEFAULT_BUDGET if left is None else min(DEFAULT_BUDGET, max(left * SEARCHING_SHARE, 0.0))
        return SymmetryDoor(self.posed.problem, self.network, budget_seconds=budget)

    @cached_property
    def equivalences(self) -> Found:
        """Predicates with open atoms that hard rules make equivalence relations."""
        from markovlogic.language.equivalence import Found, equivalences

        problem = self.posed.problem
        found = equivalences(problem.model, self.posed.lowered)
        is_open = {name for name, statuses in problem.statuses.items() if statuses.n_open}
        relations = (relation for relation in found.relations if relation.predicate in is_open)
        return Found(tuple(relations), tuple(miss for miss in found.misses if miss.predicate in is_open))

    @property
    def has_large_relation(self) -> bool:
        """Whether an equivalence relation has so many open atoms that sums over all worlds, lifted or not, are hopeless."""
        statuses = self.posed.problem.statuses
        return any(statuses[relation.predicate].n_open > LARGEST_RELATION for relation in self.equivalences.relations)

    @cached_property
    def partition_sizes(self) -> Sizes:
        """Sizes of the ground network of all rules but those that make relations equivalence relations, predicted."""
        if not self.equivalences.relations:
            return self.sizes
        with self.watch("ground"):
            self.resources.progress.stage("predict")
            return self._way_to_partitions.sizes

    @cached_property
    def partitions(self) -> PartitionNetwork:
        """The network that partitions are weighed by; refuses what would not fit the memory limit."""
        from markovlogic.partition.network import partition_network

        problem, relations = self.posed.problem, self.equivalences.relations
        current().allowance = LONG if self.partition_sizes.seconds > SHORT_SECONDS else SURE
        with self.watch("ground"):
            way = self._way_to_partitions if relations else self._way
            ground = way.network(self.resources.progress) if relations or self.network is None else self.network
            made = partition_network(problem, ground, relations)
        current().allowance = SURE
        return made

    @cached_property
    def partition_parts(self) -> Parts:
        """Its independent parts."""
        from markovlogic.partition.parts import parts_of

        return parts_of(self.partitions)

    @cached_property
    def partition_parts_asked(self) -> Bool:
        """Parts in which something moves and single atoms are asked for."""
        parts, row_of = self.partition_parts, self.partitions.row_of
        wanted = np.zeros(parts.n_parts, np.bool_)
        wanted[parts.of_row[row_of[self.asked.numbers]]] = True
        for cube in self.asked.cubes:
            wanted[parts.of_row[row_of[cube >> 1]]] = False
        return wanted & parts.moves

    @cached_property
    def confining(self) -> Fault | None:
        """A hard rule that may keep chains over partitions from some worlds, in parts that are too large to be solved."""
        from markovlogic.partition.exact import small_parts
        from markovlogic.partition.parts import only
        from markovlogic.samplers.partition_reach import confining

        small = small_parts(self.partitions, self.partition_parts, self.partition_parts_asked)
        return confining(self.posed.problem, only(self.partitions, self.partition_parts, ~small))

    @cached_property
    def _way_to_partitions(self) -> Grounding:
        lowered = self.equivalences.without_axioms(self.posed.lowered)
        return Grounding(self.posed.problem, lowered, self._database, self.memory_limit)

    @property
    def target(self) -> Target:
        """What chains are to sample."""
        return Target(self.posed.problem, self.ground(), self.symmetry)


def _with_known(posed: Posed, decided: Decided) -> Posed:
    """The problem with what is decided known; the very one where that is nothing."""
    if decided.problem is posed.problem:
        return posed
    return replace(posed, problem=decided.problem, rules=posed.lowered)


@contextmanager
def case_of(
    posed: Posed, resources: Resources, watch: Stopwatch, *, include_evidence: bool = False, wanted: Asked | None = None
) -> Iterator[Case]:
    """A case whose way to the ground network is open while the block lasts.

    wanted: the questions, where they are not the posed problem's own; else include_evidence says what they cover.
    """
    limit = default_limit() if resources.memory_limit is None else resources.memory_limit
    with database_for(limit, resources.threads) as database:
        lowered = posed.lowered  # refuses rules without weights before anything else is done
        with watch("ground"):
            resources.progress.stage("decide")
            decided = decide(posed.problem, lowered, database)
        case = Case(posed, decided, resources, database, watch)
        case.include_evidence = include_evidence
        if wanted is not None:
            case.asked_as_posed = wanted
        yield case
