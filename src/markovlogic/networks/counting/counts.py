"""How many groundings of each formula are true in a world, and how that changes when an atom flips; nothing is grounded.

    counter = FormulaCounter.of(problem, lowered)
    counter.counts(world)           # (n_rules,) true groundings of every formula
    counter.changes(world, atoms)   # (len(atoms), n_rules) what each atom adds to them by being true rather than false

A world is an array of truth values of the problem's open atoms, in their order. Of a hard rule, the count is minus the number of
false groundings of its clauses: zero where it is obeyed. A rule of weight zero has no clauses, and its count is nan.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from markovlogic.language.templates import ClauseTemplate, LoweredModel
from markovlogic.networks.counting.assembling import HARD
from markovlogic.networks.counting.building import counting_network
from markovlogic.networks.counting.network import CountingNetwork
from markovlogic.problem.values import Problem
from markovlogic.system.arrays import Bool, Float64, Int64, Words


def false_sums(network: CountingNetwork, world: Bool) -> Float64:
    """(n_channels,) the weighed number of false groundings; of a plain network, in the first the log-weight that they cost."""
    return _false_sums(network, network.bits_of(world, network.room()))


def broken_hard(network: CountingNetwork, bits: Words) -> float:
    """How many groundings of hard clauses are false, given all relations."""
    return float(_false_sums(network, bits)[HARD])


def _false_sums(network: CountingNetwork, bits: Words) -> Float64:
    from markovlogic.kernels.counting.evaluate import sum_terms

    found = np.zeros(network.channels)
    slots = np.zeros(network.n_slots, np.int64)
    sum_terms(network.code, int(network.false[0]), int(network.false[1]), bits, slots, network.room().stack, found)
    return found


@dataclass(frozen=True, eq=False)
class FormulaCounter:
    """Counts of a problem's formulas; see the head of this module."""

    network: CountingNetwork  # whose channels are the rules
    most: Float64  # (n_rules,) the count where no clause is false

    @classmethod
    def of(cls, problem: Problem, lowered: LoweredModel) -> FormulaCounter:
        """Plan the counts."""
        rules = problem.model.rules

        def rated(template: ClauseTemplate) -> tuple[int, float]:
            weight = rules[template.rule].weight
            assert weight is not None
            return template.rule, 1.0 if math.isinf(template.weight) else template.weight / weight

        most = np.zeros(len(rules))
        for at, rule in enumerate(rules):
            if not rule.weight or math.isinf(rule.weight):
                most[at] = np.nan if rule.weight == 0 else 0.0
                continue
            groundings = math.prod(len(problem.domains[dict(rule.types)[name]]) for name in rule.free)
            clauses = sum(template.weight for template in lowered.templates if template.rule == at)
            most[at] = (clauses + lowered.constant_per_grounding[at]) / rule.weight * groundings
        return cls(counting_network(problem, lowered, rated, len(rules)), most)

    def counts(self, world: Bool) -> Float64:
        """(n_rules,) true groundings of each formula."""
        return self.most - false_sums(self.network, world)

    def changes(self, world: Bool, atoms: Sequence[int] | Int64) -> Float64:
        """(n_atoms requested, n_rules) the count with the atom true minus that with it false, the others as they are."""
        from markovlogic.kernels.counting.flips import changes_of

        network = self.network
        room = network.room()
        bits = network.bits_of(world, room)
        slots = np.zeros(network.n_slots, np.int64)
        places = np.array([network.place_of(int(atom)) for atom in atoms], np.int64).reshape(-1, 2)
        found = np.zeros((len(places), network.channels))
        changes_of(network.code, network.relations, network.definitions, places, bits, slots, room, found)
        return found
