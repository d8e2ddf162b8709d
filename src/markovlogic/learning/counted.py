"""Rules whose groundings are counted, never listed: what each atom adds to their counts, from the counting network.

The pseudo-likelihood needs no clause, only how the count of each rule changes with each atom (`pseudolikelihood`). The counting
network gets that from relations as bits: transitivity over n constants takes n² atoms of n/64 words each, not n³ clauses.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

import numpy as np

from markovlogic.errors import UnsupportedError
from markovlogic.grounding.predict import Sizes
from markovlogic.language.templates import ClauseTemplate
from markovlogic.learning.databases import Database
from markovlogic.learning.features import FeatureIndex, LearningRules, parted
from markovlogic.networks.counting.assembling import Rated
from markovlogic.networks.counting.building import SECONDS_A_WORD, CountingPlan, counting_plan
from markovlogic.networks.counting.counts import false_sums
from markovlogic.networks.counting.network import CountingNetwork
from markovlogic.system.arrays import Bool, Float64, Int64, all_but

LEAST_CHANNELS = 3  # with two, the network would plan sweeps, which nobody makes here


@dataclass(frozen=True, eq=False)
class CountedRules:
    """Rules of one database: a channel of the network each, and one for all hard ones."""

    network: CountingNetwork
    feature: Int64  # (n_soft,) the weight of each channel; -1 where it is kept
    scale: Float64  # (n_soft,) the kept weight, else one
    hard: int  # channel of hard rules
    numbers: frozenset[int]  # soft rules that some open atom may bear on
    couples: Bool  # (n_soft,) whether the rule may tie two modelled atoms together
    coupled: bool  # whether any does, a hard one too

    def table(self, world: Bool) -> Float64:
        """(n_atoms, n_channels) what each atom adds by being true rather than false; a group's value, compared with none."""
        from markovlogic.kernels.counting.flips import changes_of
        from markovlogic.kernels.counting.groups import changes_of_groups

        network = self.network
        room = network.room()
        bits = network.bits_of(world, room)
        slots = np.zeros(network.n_slots, np.int64)
        places = _places(network)
        grouped = network.groups.atom
        single = all_but(network.n_atoms, grouped)
        made = np.zeros((network.n_atoms, network.channels))
        found = np.zeros((len(single), network.channels))
        changes_of(network.code, network.relations, network.definitions, places[single], bits, slots, room, found)
        made[single] = found
        found = np.zeros((len(grouped), network.channels))
        start, own = network.groups.start, places[grouped]
        changes_of_groups(network.code, network.relations, network.definitions, start, own, bits, slots, room, found)
        made[grouped] = found
        return made

    def is_broken(self, world: Bool) -> bool:
        """Whether a grounding of a hard rule is false."""
        return bool(false_sums(self.network, world)[self.hard] > 0)


def _places(network: CountingNetwork) -> Int64:
    """(n_atoms, 2) predicate and code of every open atom."""
    atoms = network.problem.atoms
    parts = [np.zeros((0, 2), np.int64)]
    for name in atoms.predicates:
        code = atoms.codes(name)
        parts.append(np.stack([np.full(len(code), network.predicates.index(name), np.int64), code], axis=1))
    return np.concatenate(parts)


def plan_of(rules: LearningRules, database: Database) -> CountingPlan:
    """How the rules would be counted. Raises UnsupportedError where one of them cannot be."""
    channel = {rule.number: (at, float(rule.sign)) for at, rule in enumerate(rules.rules)}
    hard = (len(rules.rules), 1.0)

    def rated(template: ClauseTemplate) -> tuple[int, float]:
        return channel.get(template.rule, hard)

    own: Rated = rated
    return counting_plan(database.problem, rules.lowered, own, max(len(rules.rules) + 1, LEAST_CHANNELS))


def counted_rules(rules: LearningRules, database: Database, index: FeatureIndex) -> CountedRules:
    """Lay out the relations that the rules mention; takes the memory of their bits."""
    statuses = database.problem.statuses
    opened = {name for name, own in statuses.items() if own.n_open}
    hidden = {definition.predicate for definition in rules.lowered.definitions}
    by_rule: dict[int, int] = {}  # most literals of a clause that may be open; a hidden one stands for several
    for template in rules.lowered.templates:
        n_open = sum(2 if literal.predicate in hidden else literal.predicate in opened for literal in template.literals)
        by_rule[template.rule] = max(by_rule.get(template.rule, 0), n_open)
    kept = [rule.kept for rule in rules.rules]
    return CountedRules(
        plan_of(rules, database).network(),
        np.array([-1 if rule.kept is not None else index.number(rule.number) for rule in rules.rules], np.int64),
        np.array([1.0 if weight is None else weight for weight in kept]),
        len(rules.rules),
        frozenset(rule.number for rule in rules.rules if by_rule.get(rule.number)),
        np.array([by_rule.get(rule.number, 0) > 1 for rule in rules.rules], bool),
        any(n_open > 1 for n_open in by_rule.values()),
    )


FEW_ROWS = 100_000  # that are grounded without a second thought
SECONDS_A_ROW = 1.0e-6  # to ground a clause and to find out which of its literals it hinges on


class Wanted(Enum):
    """What will be done with the counts."""

    CLAUSES = "clauses"  # chains run on them: all rules are grounded
    CLAUSES_IF_THEY_FIT = "clauses if they fit"  # chains would run, but weights can be reported without
    CHANGES = "changes"  # changes of counts are enough, from wherever they come at the least cost


def counted_numbers(rules: LearningRules, database: Database, sizes: Sizes, wanted: Wanted, *, fits: bool) -> frozenset[int]:
    """Numbers of the rules to be counted. fits: whether all of them could be grounded."""
    if wanted is Wanted.CLAUSES or (wanted is Wanted.CLAUSES_IF_THEY_FIT and fits):
        return frozenset()
    rows: dict[int, int] = {}
    for template, n_rows in zip(rules.lowered.templates, sizes.rows, strict=True):
        rows[template.rule] = rows.get(template.rule, 0) + n_rows
    by_constant = {rule.number for rule in rules.rules if rule.plus}  # a channel for each constant would be too many
    many = [number for number, n_rows in rows.items() if n_rows > FEW_ROWS and number not in by_constant]
    return frozenset(number for number in many if _is_counted(rules, number, database, rows[number] if fits else None))


def _is_counted(rules: LearningRules, number: int, database: Database, rows: int | None) -> bool:
    """Whether a rule can be counted, and sooner than so many rows are grounded; None: they are too many."""
    try:
        plan = plan_of(parted(rules, {number})[0], database)
    except UnsupportedError:
        return False
    return rows is None or plan.words * SECONDS_A_WORD < rows * SECONDS_A_ROW
