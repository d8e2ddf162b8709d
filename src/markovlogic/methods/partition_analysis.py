"""What is found out about equivalence relations: which there are, their network and its parts; each once, when requested."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from markovlogic.grounding.ground import Grounding
from markovlogic.problem.values import WantedAtoms
from markovlogic.system.cancellation import LONG, SHORT_SECONDS, SURE, current

if TYPE_CHECKING:
    from markovlogic.errors import Fault
    from markovlogic.grounding.predict import Sizes
    from markovlogic.language.equivalence import Found
    from markovlogic.methods.analysis import Analysis
    from markovlogic.methods.partition.listed import Listed
    from markovlogic.methods.partition.network import PartitionNetwork
    from markovlogic.methods.partition.parts import Parts
    from markovlogic.problem import Problem
    from markovlogic.system.arrays import Bool

LARGEST_AT_BEST = 1500  # constants whose pairs are all listed for a heaviest world
LARGEST_RELATION = 144  # open atoms of an equivalence relation: those of twelve constants


def with_few_listed(analysis: Analysis) -> Analysis:
    """The same; where whole equivalence relations with very many atoms are queried, with those alone that differ from others."""
    from markovlogic.methods.forecast import MANY_ROWS, Forecast

    questions, names = analysis.questions, {relation.predicate for relation in analysis.partition.equivalences.relations}
    wanted = [item.wanted for item in analysis.whole.problem.query]
    whole = all(isinstance(each, WantedAtoms) and (each.is_whole or each.predicate not in names) for each in wanted)
    if not names or not whole or questions.rows <= MANY_ROWS or questions.include_evidence:
        return analysis
    few = PartitionAnalysis(analysis, lists=True).listed
    if few is None:
        return analysis
    old = analysis.reduced
    solved, decided = replace(old.solved, problem=few.problem), replace(old.decided, problem=few.problem)
    reduced = replace(old, solved=solved, decided=decided)
    forecast = Forecast(solved, analysis.workspace)
    return replace(
        analysis, reduced=reduced, questions=replace(questions, reduced=reduced, lists_few=True), forecast=forecast, few=few
    )


@dataclass(frozen=True, eq=False)
class PartitionAnalysis:
    """A problem as partitions see it."""

    analysis: Analysis
    lists: bool = False  # whether atoms of equivalence relations that weigh alike are left unlisted, for who does not name them
    few: Listed | None = None  # what is listed, where that was found out before
    best: bool = False  # whether only heaviest worlds are wanted, where no unlisted pair is together

    @cached_property
    def listed(self) -> Listed | None:
        """The problem with few pairs listed, where that is wanted and saves much."""
        from markovlogic.methods.partition.listed import completed, listed
        from markovlogic.methods.partition.network import partition_network

        prepared, relations = self.analysis.prepared, self.equivalences.relations
        if self.few is not None or not self.lists or not relations:
            return self.few
        own = self.analysis.workspace
        with self.analysis.watch("ground"):
            lowered = self.equivalences.without_axioms(prepared.lowered)
            found = listed(prepared.problem, lowered, relations, own.database)
            if found is None:
                return None
            network = Grounding(found.problem, lowered, own.database, own.memory_limit).network(own.progress)
            few = partition_network(found.problem, network, relations, found.unlisted)
            return completed(found, few, 0.0, LARGEST_AT_BEST) if self.best else completed(found, few)

    @property
    def problem(self) -> Problem:
        """What is grounded."""
        return self.analysis.prepared.problem if self.listed is None else self.listed.problem

    @cached_property
    def equivalences(self) -> Found:
        """Predicates with open atoms that hard rules make equivalence relations."""
        from markovlogic.language.equivalence import Found, equivalences

        problem = self.analysis.prepared.problem
        found = equivalences(problem.model, self.analysis.prepared.lowered)
        is_open = {name for name, statuses in problem.statuses.items() if statuses.n_open}
        relations = (relation for relation in found.relations if relation.predicate in is_open)
        return Found(tuple(relations), tuple(miss for miss in found.misses if miss.predicate in is_open))

    @property
    def has_large_relation(self) -> bool:
        """Whether an equivalence relation has so many open atoms that sums over all worlds, lifted or not, are hopeless."""
        statuses = self.analysis.prepared.problem.statuses
        return any(statuses[relation.predicate].n_open > LARGEST_RELATION for relation in self.equivalences.relations)

    @cached_property
    def sizes(self) -> Sizes:
        """Sizes of the ground network of all rules but those that make relations equivalence relations, predicted."""
        if not self.equivalences.relations:
            return self.analysis.forecast.sizes
        with self.analysis.watch("ground"):
            self.analysis.progress.stage("predict")
            return self._grounding.sizes

    @cached_property
    def network(self) -> PartitionNetwork:
        """The network that partitions are weighed by; refuses what would not fit the memory limit."""
        from markovlogic.methods.partition.network import partition_network

        problem, relations = self.problem, self.equivalences.relations
        current().allowance = LONG if self.sizes.seconds > SHORT_SECONDS else SURE
        with self.analysis.watch("ground"):
            grounding = self._grounding if relations else self.analysis.forecast.grounding
            at_hand = None if relations else self.analysis.network
            ground = grounding.network(self.analysis.progress) if at_hand is None else at_hand
            made = partition_network(problem, ground, relations, None if self.listed is None else self.listed.unlisted)
        current().allowance = SURE
        return made

    @cached_property
    def parts(self) -> Parts:
        """Its independent parts."""
        from markovlogic.methods.partition.parts import parts_of

        return parts_of(self.network)

    @cached_property
    def parts_in_query(self) -> Bool:
        """Parts in which something moves and single atoms are requested."""
        parts, row_of = self.parts, self.network.row_of
        wanted = np.zeros(parts.n_parts, np.bool_)
        wanted[parts.of_row[row_of[self.analysis.query.numbers]]] = True
        for cube in self.analysis.query.cubes:
            wanted[parts.of_row[row_of[cube >> 1]]] = False
        return wanted & parts.moves

    @cached_property
    def confining(self) -> Fault | None:
        """A hard rule that may keep chains over partitions from some worlds, in parts that are too large to be solved."""
        from markovlogic.methods.partition.exact import small_parts
        from markovlogic.methods.partition.parts import only
        from markovlogic.methods.sampling.partition_reach import confining

        small = small_parts(self.network, self.parts, self.parts_in_query)
        return confining(self.analysis.prepared.problem, only(self.network, self.parts, ~small))

    @cached_property
    def _grounding(self) -> Grounding:
        lowered = self.equivalences.without_axioms(self.analysis.prepared.lowered)
        return Grounding(self.problem, lowered, self.analysis.workspace.database, self.analysis.memory_limit)
