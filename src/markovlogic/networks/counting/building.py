"""From a problem and its lowered rules to a counting network."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from markovlogic.errors import Fault, UnsupportedError
from markovlogic.kernels.counting.layout import (
    ARITY,
    FLIPS,
    GROUPS,
    HIDDEN,
    HITS,
    LOOPED,
    MODE,
    ROW_GROUPS,
    ROWS,
    SIZES,
    TERMS,
    VIEWS,
    WHOLE,
    Definitions,
    Relations,
)
from markovlogic.language.templates import LoweredModel
from markovlogic.networks.counting.assembling import (
    Assembler,
    Hit,
    Rated,
    false_terms,
    hits,
    numbers,
    rated_as_weight,
    table,
    target_terms,
    universe_of,
    whole_terms,
)
from markovlogic.networks.counting.listing import Views, list_words, lists_of
from markovlogic.networks.counting.network import (
    CHANNELS,
    CountingNetwork,
    Shape,
    evidence_bits,
    groups_of,
    open_atoms,
    sites_of,
    soft_of,
)
from markovlogic.networks.counting.programs import RowPlanner, Tables, Work, flips_work
from markovlogic.networks.counting.terms import Universe
from markovlogic.problem.values import Problem
from markovlogic.system.arrays import frozen

SECONDS_A_WORD = 0.4e-9  # of one core; `benchmarks/test_counting.py` shows how far it is off
MOST_ALIKE = 12  # atoms of one predicate in a clause: each set of them may be one atom
TAKE_GROUND = "take a method on the ground network"


@dataclass(frozen=True, eq=False)
class CountingPlan:
    """All counts of a problem, planned; nothing of the size of a relation is made before `network` is requested."""

    problem: Problem
    lowered: LoweredModel
    predicates: tuple[str, ...]
    assembler: Assembler
    tables: Tables
    columns: tuple[dict[int, int], ...]
    works: tuple[Work, ...]
    definitions: Definitions
    n_hidden: int  # atoms
    false: tuple[int, int]
    channels: int

    @property
    def words(self) -> float:
        """What a sweep takes, in words that are read."""
        total = 0.0
        for name, work in zip(self.predicates, self.works, strict=True):
            statuses = self.problem.statuses.get(name)
            if statuses is not None and statuses.n_open:
                rows = statuses.n_ground // max(statuses.sizes[-1] if statuses.sizes else 1, 1)
                total += work.once + rows * work.row + statuses.n_open * work.atom
        return total

    @property
    def sweep_seconds(self) -> float:
        """Seconds that a sweep takes on one core, about."""
        return self.words * SECONDS_A_WORD

    @property
    def chain_bytes(self) -> int:
        """Bytes of one chain's relations and of what it works in."""
        registers = 8 * 64 * self._widest * (self.tables.most_registers[1] + 4)
        return 8 * self.assembler.views.begins()[-1] + 32 * self.n_hidden + registers

    @property
    def network_bytes(self) -> int:
        """Bytes of the network, while it is built: masks of truth values, then bits; and lists of facts."""
        views, facts = self.assembler.views, self.assembler.universe.lists
        grounds = [statuses.n_ground for statuses in self.problem.statuses.values() if statuses.n_open]
        lists = [list_words(view, facts[view.predicate]) for view in views.found if view.is_list]
        # lists are put together from parts, the largest of which was sorted before
        listing = 16 * sum(lists) + 40 * max((facts[view.predicate] for view in views.found if view.is_list), default=0)
        return 8 * views.begins()[-1] + sum(grounds) // 4 + 2 * max(grounds, default=0) + listing

    @property
    def _widest(self) -> int:
        return max((-(-size // 64) for size in self.assembler.universe.sizes.values()), default=1) or 1

    def network(self) -> CountingNetwork:
        """Lay out the relations, and the programs as arrays."""
        problem, assembler = self.problem, self.assembler
        universe, views = assembler.universe, assembler.views
        columns = [dict(own) for own in self.columns]
        is_open = open_atoms(problem, self.predicates, views, columns)
        relations = _relations(universe, self.predicates, views, columns)
        registers = self.tables.most_registers
        shape = Shape(
            self.n_hidden,
            assembler.deepest,
            self._widest,
            max(assembler.most_slots, *map(len, universe.predicates.values()), 1),
            (registers[0], registers[1], registers[2]),
            self.tables.most_columns,
        )
        made = CountingNetwork(
            problem,
            self.lowered,
            self.predicates,
            assembler.code(lists_of(problem, views.found)),
            relations,
            self.definitions,
            self.tables.program(),
            numbers(self.false),
            self.channels,
            is_open,
            evidence_bits(problem, self.predicates, relations, views.begins()[-1], shape.slots, universe.lists),
            groups_of(problem),
            sites_of(problem, self.predicates, relations, is_open),
            soft_of(problem),
            self.sweep_seconds,
            shape,
        )
        return frozen(made)


def counting_network(
    problem: Problem, lowered: LoweredModel, rated: Rated = rated_as_weight, channels: int = CHANNELS
) -> CountingNetwork:
    """Plan all counts of a problem, and lay out its relations; takes the memory of its atoms' bits.

    rated: to which of the channels of a sum each clause belongs, and with which weight.
    """
    return counting_plan(problem, lowered, rated, channels).network()


def _refuse_what_is_not_counted(problem: Problem, lowered: LoweredModel) -> None:
    """Numbers that multiply weights; and clauses in which many atoms could be one: there is a term for each set of them."""
    rules = problem.model.rules
    used = [rules[number] for number in sorted({template.rule for template in lowered.templates})]
    faults = [
        Fault(f"a weight that a number multiplies is not counted: {rule.text}", rule.place, hint=TAKE_GROUND)
        for rule in used
        if rule.factor is not None
    ]
    parts = [(template.rule, template.literals, template.equalities) for template in lowered.templates]
    parts += [(one.rule, cube.literals, cube.equalities) for one in lowered.definitions for cube in one.cubes]
    for rule, literals, equalities in parts:
        most = max((*Counter(literal.predicate for literal in literals).values(), len(equalities)), default=0)
        if most > MOST_ALIKE:
            message = f"{most} atoms of one predicate, or equalities, in one formula can be alike in too many ways to be counted"
            faults.append(Fault(message, rules[rule].place, hint=TAKE_GROUND))
    if faults:
        raise UnsupportedError(faults)


def counting_plan(
    problem: Problem, lowered: LoweredModel, rated: Rated = rated_as_weight, channels: int = CHANNELS
) -> CountingPlan:
    """Plan all counts of a problem; takes milliseconds, whatever the number of its atoms."""
    _refuse_what_is_not_counted(problem, lowered)
    universe = universe_of(problem, lowered)
    views = Views(universe)
    assembler = Assembler(universe, views)
    predicates = (*problem.model.predicates, *(d.predicate for d in lowered.definitions))
    planner = RowPlanner(assembler)
    followed = _followed(lowered)
    columns: list[dict[int, int]] = []
    works, own_hits = [], []
    for name in predicates:
        has_atoms = name not in problem.statuses or problem.statuses[name].n_open > 0
        begin = assembler.n_terms
        terms = target_terms(lowered, universe, name, rated) if has_atoms else {}
        if has_atoms:
            views.main(name)
            for channel, own in terms.items():
                assembler.terms(own, channel, universe.predicates[name])
        targets = begin, assembler.n_terms
        mode = _mode(problem, name, followed)
        in_rows = has_atoms and name in problem.statuses and mode in (ROWS, ROW_GROUPS) and channels == CHANNELS
        plan = planner.plan(name, terms, begin, in_rows=in_rows)
        own_hits.append(hits(lowered, universe, name))
        works.append(plan.work if mode in (ROWS, ROW_GROUPS) else flips_work(terms, own_hits[-1], universe))
        columns.append({MODE: mode, TERMS: targets[0], TERMS + 1: targets[1], **plan.columns})
    begin = assembler.n_terms
    for channel, own in false_terms(lowered, universe, rated).items():
        assembler.terms(own, channel, ())
    false = begin, assembler.n_terms
    definitions, n_hidden = _definitions(lowered, assembler, predicates, own_hits, columns)
    return CountingPlan(
        problem,
        lowered,
        predicates,
        assembler,
        planner.tables,
        tuple(columns),
        tuple(works),
        definitions,
        n_hidden,
        false,
        channels,
    )


def _followed(lowered: LoweredModel) -> set[str]:
    """Predicates that hidden atoms depend on."""
    return {literal.predicate for d in lowered.definitions for cube in d.cubes for literal in cube.literals}


def _mode(problem: Problem, name: str, followed: set[str]) -> int:
    """How a predicate is swept."""
    if name not in problem.statuses:
        return FLIPS
    exclusive = problem.model.predicates[name].exclusive
    if any(exclusive):
        return ROW_GROUPS if name not in followed and exclusive[-1] and sum(exclusive) == 1 else GROUPS
    return FLIPS if name in followed or not exclusive else ROWS


def _relations(universe: Universe, predicates: Sequence[str], views: Views, columns: Sequence[Mapping[int, int]]) -> Relations:
    """Views and the table of predicates."""
    widest = max((len(universe.predicates[name]) for name in predicates), default=0) or 1
    made = np.zeros((len(predicates), SIZES + widest), np.int64)
    listed: list[int] = []
    for at, name in enumerate(predicates):
        kinds = universe.predicates[name]
        made[at, VIEWS] = len(listed)
        listed += views.listed(name)
        made[at, VIEWS + 1], made[at, ARITY] = len(listed), len(kinds)
        made[at, SIZES : SIZES + len(kinds)] = [universe.sizes[kind] for kind in kinds]
        for column, value in columns[at].items():
            made[at, column] = value
    return frozen(Relations(views.table(widest), numbers(listed), made))


def _definitions(
    lowered: LoweredModel,
    assembler: Assembler,
    predicates: Sequence[str],
    by_predicate: Sequence[Sequence[Hit]],
    columns: Sequence[dict[int, int]],
) -> tuple[Definitions, int]:
    """What flips do to hidden atoms, and how these are counted anew; and how many hidden atoms there are."""
    universe = assembler.universe
    number_of = {name: at for at, name in enumerate(predicates)}
    found: list[tuple[int, ...]] = []
    sources: list[int] = []
    for at, name in enumerate(predicates):
        own = universe.predicates[name]
        begin = len(found)
        for hit in by_predicate[at]:
            kinds = universe.predicates[hit.hidden]
            term = assembler.term(hit.term, hit.sign, 0, (*own, *kinds))
            first = len(sources)
            sources += [
                LOOPED if source is None else assembler.argument(source, kind)
                for source, kind in zip(hit.sources, kinds, strict=True)
            ]
            found.append((term, number_of[hit.hidden], len(own), first, len(sources)))
        columns[at].update({HITS: begin, HITS + 1: len(found), HIDDEN: -1})
    n_hidden = 0
    for definition in lowered.definitions:
        kinds = universe.predicates[definition.predicate]
        whole = assembler.terms(whole_terms(definition, universe), 0, kinds)
        columns[number_of[definition.predicate]].update({HIDDEN: n_hidden, WHOLE: whole[0], WHOLE + 1: whole[1]})
        n_hidden += math.prod(universe.sizes[kind] for kind in kinds)
    return frozen(Definitions(table(found, 5), numbers(sources))), n_hidden
