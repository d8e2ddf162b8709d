"""Pairs of an equivalence relation that rules and evidence show from all others; the others weigh alike and are not listed.

A soft rule such as `-3 Same(x, y)`, or `3 !Cand(x, y) => !Same(x, y)` with evidence for Cand, gives each pair a weight but for
some. Where all rules about a relation are like that, or mention few pairs only, its pairs fall into *listed* ones and the rest.
The problem with all others false grounds into a network of the listed ones; an unlisted atom that is true in place of false adds
one and the same weight to a world.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import isinf

import numpy as np

from markovlogic.data.evidence import FALSE, TRUE, UNKNOWN
from markovlogic.grounding.backends import Engine
from markovlogic.grounding.plan import Pattern, plan
from markovlogic.grounding.predict import problem_relations, rows_bound
from markovlogic.grounding.relations import Relation
from markovlogic.grounding.surviving import surviving
from markovlogic.language.equivalence import Equivalence
from markovlogic.language.syntax import Constant, Variable
from markovlogic.language.templates import ClauseTemplate, EqualityLiteral, Literal, LoweredModel
from markovlogic.methods.partition.apart import without
from markovlogic.methods.partition.classes import Unlisted
from markovlogic.methods.partition.network import PartitionNetwork
from markovlogic.networks.components import connected_parts
from markovlogic.problem import Problem, Statuses, with_statuses
from markovlogic.system import cancellation
from markovlogic.system.arrays import Int32, Int64, each_once, frozen, is_among

LIKELY = -1.0  # log-odds of pairs that connect records whose pairs are all listed
LARGEST_COMPLETED = 64  # constants that are connected so
MOST_LISTED = 50_000_000  # rows of one rule that are gone through to list pairs


@dataclass(frozen=True, eq=False)
class Listed:
    """The problem with unlisted atoms false, and by predicate what they would weigh."""

    problem: Problem
    unlisted: Mapping[str, Unlisted]


def listed(
    problem: Problem, lowered: LoweredModel, relations: Sequence[Equivalence], database: Engine, *, either_sign: bool = False
) -> Listed | None:
    """List the pairs that differ from others; None where that saves little, or cannot be done.

    lowered: without the rules that make relations equivalence relations. either_sign: also where a rule speaks for all pairs.
    """
    statuses, unlisted = dict(problem.statuses), {}
    for relation in relations:
        own = problem.statuses[relation.predicate]
        if own.default != UNKNOWN or not relation.reflexive:
            continue
        found = _Reading(problem, lowered, relation.predicate, database, either_sign).found()
        if found is None:
            continue
        weight, code, of_all = found
        n = own.sizes[0]
        one, other = np.divmod(code, n)
        code = each_once(np.concatenate([code, other * n + one]))
        false = own.code[own.status == FALSE]
        one, other = np.divmod(false, n)
        false = each_once(np.concatenate([false, other * n + one]))
        code = code[(own.lookup(code) == UNKNOWN) & ~is_among(code, false)]
        if 2 * len(code) > own.n_open:
            continue
        true = own.code[own.status == TRUE]
        every = np.concatenate([true, code])
        order = np.argsort(every, kind="stable")
        status = np.repeat(np.array([TRUE, UNKNOWN], np.int8), [len(true), len(code)])
        statuses[relation.predicate] = frozen(Statuses(relation.predicate, own.sizes, FALSE, every[order], status[order]))
        unlisted[relation.predicate] = frozen(Unlisted(weight, false, of_all))
    return Listed(with_statuses(problem, statuses), unlisted) if unlisted else None


def completed(found: Listed, network: PartitionNetwork, likely: float = LIKELY, largest: int = LARGEST_COMPLETED) -> Listed:
    """List also what stands between records that likely pairs connect, so that listed pairs alone give their clusters."""
    part = connected_by(network, likely)
    statuses = dict(found.problem.statuses)
    for each, first in zip(network.relations, network.first_node.tolist(), strict=False):
        name = each.relation.predicate
        if name not in found.unlisted:
            continue
        own, n = statuses[name], len(each.node_of)
        part_of = part[first + each.node_of]
        code = _all_pairs(part_of, n, largest)
        code = code[(own.lookup(code) == FALSE) & ~is_among(code, found.unlisted[name].barred)]
        every = np.concatenate([own.code, code])
        order = np.argsort(every, kind="stable")
        status = np.concatenate([own.status, np.full(len(code), UNKNOWN, np.int8)])
        statuses[name] = frozen(Statuses(name, own.sizes, FALSE, every[order], status[order]))
    return Listed(with_statuses(found.problem, statuses), found.unlisted)


def connected_by(network: PartitionNetwork, likely: float) -> Int32:
    """(n_nodes,) parts that pairs with larger log-odds connect, or pairs that a clause mentions."""
    low, high, row = network.pairs
    ties = (network.rows.atom_bias[row] > likely) | network.mentioned[row]
    return connected_parts(network.n_nodes, low[ties], high[ties])[1]


def apart_at_best(network: PartitionNetwork) -> PartitionNetwork | None:
    """The network of the heaviest worlds: no pair that only takes weight is together there unless others bring more.

    None where some part that other pairs connect has pairs without a row.
    """
    part = connected_by(network, 0.0)
    low, high, row = network.pairs
    inside = part[low] == part[high]
    count = np.bincount(part[low[inside]], minlength=network.n_nodes)
    source = np.repeat(np.arange(network.n_nodes), np.diff(network.barred_start))
    barred = (part[source] == part[network.barred_node]) & (source < network.barred_node)
    count += np.bincount(part[source[barred]], minlength=network.n_nodes)
    size = np.bincount(part, minlength=network.n_nodes)
    if ((count != size * (size - 1) // 2) & np.isin(np.arange(len(size)), part[network.far > -np.inf])).any():
        return None
    nowhere = np.full(network.n_nodes, -np.inf)
    return replace(without(network, row[~inside & (network.far[low] > -np.inf)]), far=nowhere)


def _all_pairs(part_of: Int32, n: int, largest: int) -> Int64:
    """Codes of all pairs of different constants within parts that are not large."""
    order = np.argsort(part_of, kind="stable")
    size = np.bincount(part_of)
    start = np.cumsum(size) - size
    codes = [np.empty(0, np.int64)]
    for each in (np.flatnonzero(np.bincount(size, minlength=largest + 1)[2 : largest + 1]) + 2).tolist():
        first = start[size == each]
        if len(first):
            member = order[first[:, None] + np.arange(each)]
            one, other = np.nonzero(~np.eye(each, dtype=bool))
            codes.append((member[:, one] * n + member[:, other]).ravel())
    return each_once(np.concatenate(codes))


@dataclass(frozen=True, eq=False)
class _Reading:
    """The rules about the pairs of one relation."""

    problem: Problem
    lowered: LoweredModel
    name: str
    database: Engine
    either_sign: bool

    def found(self) -> tuple[float, Int64, tuple[tuple[int, int], ...]] | None:
        """The weight of an unlisted atom that is true, the codes of those listed, and the clauses that give the weight.

        None where there is no such; the weight is at most 0 unless either sign is wanted.
        """
        if any(self._inside(cube.literals) for definition in self.lowered.definitions for cube in definition.cubes):
            return None
        parts, of_all = [np.empty(0, np.int64)], []
        if self.name in self.problem.soft:
            parts.append(self.problem.soft[self.name].code)
        relations = problem_relations(self.problem)
        try:
            for number, template in enumerate(self.lowered.templates):
                if not self._inside(template.literals):
                    continue
                if self._is_of_all(template):
                    of_all.append((number, 1 if self._own(template).positive else -1))
                    joins = self._satisfied(template)
                else:
                    own_literals = [literal for literal in template.literals if literal.predicate == self.name]
                    # the relation's own literals are left out: that lists more pairs, if anything
                    others = tuple(literal for literal in template.literals if literal.predicate != self.name)
                    joins = [
                        (Pattern(others, template.equalities, template.variables, _variables(literal)), literal)
                        for literal in own_literals
                    ]
                for pattern, literal in joins:
                    made = self._codes(pattern, literal, relations)
                    if made is None:
                        return None
                    parts.append(made)
        finally:
            self.database.drop([relation.table for relation in relations.values()])
        weight = float(sum(sign * self.lowered.templates[number].weight for number, sign in of_all))
        return weight, each_once(np.concatenate(parts)), tuple(of_all)

    def _inside(self, literals: Sequence[Literal]) -> bool:
        return any(literal.predicate == self.name for literal in literals)

    def _is_of_all(self, template: ClauseTemplate) -> bool:
        """Whether a soft clause is the same literal for all pairs but those that closed predicates show."""
        own = [literal for literal in template.literals if literal.predicate == self.name]
        if (
            len(own) != 1
            or (own[0].positive and not self.either_sign)
            or isinf(template.weight)
            or template.number is not None
            or template.idle
        ):
            return False
        names = _variables(own[0])
        if len(names) != 2 or {name for name, _ in template.variables} != set(names):
            return False
        others = [literal for literal in template.literals if literal.predicate != self.name]
        return all(equality.positive for equality in template.equalities) and all(map(self._is_false_by_default, others))

    def _own(self, template: ClauseTemplate) -> Literal:
        return next(literal for literal in template.literals if literal.predicate == self.name)

    def _is_false_by_default(self, literal: Literal) -> bool:
        statuses = self.problem.statuses.get(literal.predicate)
        return statuses is not None and not statuses.n_open and statuses.default == FALSE and literal.positive

    def _satisfied(self, template: ClauseTemplate) -> list[tuple[Pattern, Literal]]:
        """Joins whose pairs satisfy such a clause whether they are together or not."""
        own = self._own(template)
        keep = _variables(own)
        joins = []
        for literal in template.literals:
            if literal.predicate != self.name:
                turned = Literal(literal.predicate, literal.args, not literal.positive)
                joins.append((Pattern((turned,), (), template.variables, keep), own))
        for equality in template.equalities:
            unequal = EqualityLiteral(equality.left, equality.right, positive=False)
            joins.append((Pattern((), (unequal,), template.variables, keep), own))
        return joins

    def _codes(self, pattern: Pattern, literal: Literal, relations: Mapping[str, Relation]) -> Int64 | None:
        """Codes of the literal's atoms in all substitutions that satisfy no literal; None where these are very many."""
        if any(each.predicate not in relations for each in pattern.literals):  # a quantified part
            return None
        made = plan(pattern, relations, self.problem.domains)
        if made.nothing_left:
            return np.empty(0, np.int64)
        n_ground = self.problem.statuses[self.name].n_ground
        if rows_bound(made) > min(MOST_LISTED, n_ground):
            return None
        parts, types = [np.empty(0, np.int64)], self.problem.model.predicates[self.name].types
        for batch in surviving(self.database, pattern, made):
            cancellation.check()
            code = np.zeros(len(batch.rows), np.int64)
            for term, type_name in zip(literal.args, types, strict=True):
                code *= len(self.problem.domains[type_name])
                fixed = isinstance(term, Constant)
                code += self.problem.domains[type_name].number(term.name) if fixed else batch.kept[term.name]
            parts.append(code)
        return np.concatenate(parts)


def _variables(literal: Literal) -> tuple[str, ...]:
    return tuple(dict.fromkeys(term.name for term in literal.args if isinstance(term, Variable)))
