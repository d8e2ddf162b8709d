"""What is to be learned from what, made ready: databases, counts of rules in them, networks for chains."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from markovlogic.data.evidence import Evidence
from markovlogic.language import syntax
from markovlogic.learning.chains import WeightedNetwork, weighted_network
from markovlogic.learning.counted import Wanted
from markovlogic.learning.counts import CountingRows, count_rows
from markovlogic.learning.databases import Database, database_of
from markovlogic.learning.features import FeatureIndex, LearningRules, prepare
from markovlogic.learning.pseudolikelihood import Design, design_of
from markovlogic.methods.resources import Resources
from markovlogic.system.arrays import Bool
from markovlogic.system.cancellation import SURE, current
from markovlogic.system.measures import Stopwatch


@dataclass(frozen=True, eq=False)
class Task:
    """What is to be learned from what."""

    model: syntax.Model
    evidence: Sequence[Evidence]
    targets: tuple[str, ...]
    keep_weights: bool
    hold_out: int | None = None  # parts of the query facts, by which couplings are chosen


@dataclass(frozen=True, eq=False)
class Prepared:
    """Counts of all databases, and observations for the pseudo-likelihood."""

    rules: LearningRules
    databases: Sequence[Database]
    countings: Sequence[CountingRows]
    index: FeatureIndex
    networks: Sequence[WeightedNetwork]

    @property
    def hides(self) -> bool:
        """Whether nothing is known of some atoms."""
        return any(database.hidden.any() for database in self.databases)

    @property
    def coupled(self) -> bool:
        """Whether rules tie modelled atoms together, so that the pseudo-likelihood is not the likelihood itself."""
        counted = [one.counted for one in self.countings if one.counted is not None]
        return any(network.is_coupled for network in self.networks) or any(one.coupled for one in counted)

    @property
    def counts(self) -> bool:
        """Whether groundings of some rules were counted: then there are no clauses for chains."""
        return any(one.counted is not None for one in self.countings)

    @property
    def partitions(self) -> bool:
        """Whether hard rules make modelled predicates equivalence relations."""
        return any(one.partitions is not None for one in self.countings)

    @property
    def is_base(self) -> Bool:
        """(n_features,) weights of rules that are a single literal: how often it is true at all."""
        base = {rule.number for rule in self.rules.rules if _is_literal(rule.rule.formula)}
        return np.array([number in base for number, _ in self.index.keys], bool)

    @cached_property
    def is_coupling(self) -> Bool:
        """(n_features,) weights of rules that tie modelled atoms together."""
        found = np.zeros(len(self.index), bool)
        for network in self.networks:
            found |= network.is_coupling
        for counted in (one.counted for one in self.countings if one.counted is not None):
            found[counted.feature[counted.couples & (counted.feature >= 0)]] = True
        return found

    def design(self, worlds: Sequence[Bool], held: Sequence[Bool] | None = None) -> Design:
        """Observations at these worlds; hidden atoms are none, nor are those held out."""
        left_out = [one.hidden for one in self.databases]
        if held is not None:
            left_out = [one | two for one, two in zip(left_out, held, strict=True)]
        return design_of(self.countings, worlds, len(self.index), left_out=left_out)


def _is_literal(formula: syntax.Formula) -> bool:
    return isinstance(formula, syntax.Atom) or (isinstance(formula, syntax.Not) and isinstance(formula.body, syntax.Atom))


def prepared(task: Task, wanted_by: Callable[[Sequence[Database]], Wanted], resources: Resources, watch: Stopwatch) -> Prepared:
    """Ground or count all rules in all databases. wanted_by: what will be done with the counts of these databases."""
    with watch("ground"):
        rules = prepare(task.model, keep_weights=task.keep_weights, targets=task.targets)
        index = FeatureIndex()
        names = [_name(one, at) for at, one in enumerate(task.evidence)]
        databases = [database_of(task.model, one, task.targets, name) for one, name in zip(task.evidence, names, strict=True)]
        wanted = wanted_by(databases)
        countings = [count_rows(rules, one, index, wanted=wanted, resources=resources) for one in databases]
        networks = [weighted_network(one, len(index)) for one in countings]
    current().allowance = SURE  # from here on weights can always be reported
    return Prepared(rules, [one.database for one in countings], countings, index, networks)


def _name(evidence: Evidence, at: int) -> str:
    return "+".join(evidence.sources) if evidence.sources else f"database {at + 1}"
