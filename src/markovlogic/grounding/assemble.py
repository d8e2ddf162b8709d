"""Rows of all templates to one network: identical clauses merged, unit clauses to biases, hidden atoms numbered.

The result depends on the set of rows only, not on the order in which they came: rows are sorted, and weights of identical ones
are added from the smallest to the largest.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from markovlogic.grounding.definitions import Nodes
from markovlogic.grounding.rows import Rows, concatenated, order_of
from markovlogic.grounding.surviving import Counts
from markovlogic.networks.ground import GroundNetwork, atom_rows
from markovlogic.problem import ExclusiveGroups
from markovlogic.system import cancellation
from markovlogic.system.arrays import Bool, Float64, Int32, Int64, each_once, frozen, offsets


@dataclass(frozen=True)
class Contradiction(Exception):
    """Two hard unit clauses that exclude each other: the atom, and the rules that want it true and false."""

    atom: int
    true_rule: int
    false_rule: int


class Assembler:
    """Collects rows; `network` closes the collection."""

    def __init__(self, nodes: Nodes) -> None:
        self._nodes = nodes
        self._rows: list[Rows] = []
        self._weights: list[Float64] = []
        self._hard: list[tuple[int, int, int]] = []  # the rule of hard rows, and where they begin and end
        self._n_rows = 0
        self._constants: list[float] = []
        self._soft = np.zeros(nodes.n_atoms)

    def constant(self, value: float) -> None:
        """Add to the logarithm of every world's weight."""
        self._constants.append(value)

    def soft(self, atom: Int64, log_odds: Float64) -> None:
        """Add to the logarithm of the weight of worlds where an atom is true; each atom once."""
        self._soft[atom] += log_odds

    def add(self, rows: Rows, weight: float, count: Counts | None, rule: int) -> None:
        """Add clauses, each with the weight times its count."""
        if count is not None and count.dtype.kind == "f" and not count.all():  # numbers that are zero here say nothing
            stays = np.flatnonzero(count)
            rows, count = rows.take(stays), count[stays]
        if not len(rows):
            return
        self._rows.append(rows)
        if count is None or math.isinf(weight):
            self._weights.append(np.full(len(rows), weight))
        else:
            self._weights.append((weight * count).astype(np.float64, copy=False))
        if math.isinf(weight):
            self._hard.append((rule, self._n_rows, self._n_rows + len(rows)))
        self._n_rows += len(rows)

    def add_weighted(self, rows: Rows, weight: Float64) -> None:
        """Add soft clauses, each with a weight of its own."""
        self._rows.append(rows)
        self._weights.append(weight)
        self._n_rows += len(rows)

    def network(self, groups: tuple[ExclusiveGroups, ...]) -> GroundNetwork:
        """The network of all that was added."""
        rows, weight, rule = self._merged()
        cancellation.check()
        length = rows.length
        unit = length == 1
        hard = np.isinf(weight)
        unit_rule, rule = rule[unit[hard]], rule[~unit[hard]]
        bias, unit_rule = self._biases(rows.literal[rows.start[:-1][unit]], weight[unit], unit_rule)
        clauses = np.flatnonzero(length > 1)
        if len(clauses) != len(rows):
            rows, weight = rows.take(clauses), weight[clauses]
        hard = np.isinf(weight)
        if hard.any():
            order = np.argsort(hard, kind="stable")
            rows, weight = rows.take(order), weight[order]
        cancellation.check()
        return self._numbered(rows, weight, bias, groups, (rule, unit_rule))

    def _merged(self) -> tuple[Rows, Float64, Int32]:
        """Every row once, its weight, and the rules of the hard rows among them."""
        rows = concatenated(self._rows)
        weight = np.concatenate(self._weights) if self._weights else np.empty(0)
        self._rows.clear()
        self._weights.clear()
        order, same = order_of(rows)
        weight = weight[order]
        rule = self._rules(order, same, weight)
        if not same.any():
            return rows.take(order), weight, rule
        self._sort_tied(weight, same)
        first = np.flatnonzero(~same)
        hard = np.isinf(weight)
        is_hard = np.logical_or.reduceat(hard, first)
        total = np.add.reduceat(np.where(hard, 0.0, weight), first)
        # a soft clause equal to a hard one is true in every world
        self._constants.append(float(total[is_hard].sum()))
        return rows.take(order[first]), np.where(is_hard, np.inf, total), rule

    def _rules(self, order: Int64, same: Bool, weight: Float64) -> Int32:
        """For each hard row, once, the first rule that it comes from."""
        hard = np.flatnonzero(np.isinf(weight))
        if not len(hard):
            return np.empty(0, np.int32)
        begin, number = np.array([begin for _, begin, _ in self._hard]), np.array([rule for rule, _, _ in self._hard], np.int32)
        rule = number[np.searchsorted(begin, order[hard], side="right") - 1]
        group = np.cumsum(~same)[hard]
        return np.minimum.reduceat(rule, np.flatnonzero(np.diff(group, prepend=-1)))

    @staticmethod
    def _sort_tied(weight: Float64, same: Bool) -> None:
        """Sort the weights of identical rows, so that their sum does not depend on the order in which they came."""
        tied = same.copy()
        tied[:-1] |= same[1:]
        at = np.flatnonzero(tied)
        group = np.cumsum(~same[at])
        weight[at] = weight[at][np.lexsort((weight[at], group))]

    def _biases(self, literal: Int32, weight: Float64, rule: Int32) -> tuple[Float64, Int32]:
        """Log-odds from merged unit clauses, at most one for each literal; and the rules of those that decide, by atom.

        rule: of the hard ones.
        """
        n_all = self._nodes.n_atoms + len(self._nodes)
        for_true, for_false = np.zeros(n_all), np.zeros(n_all)
        positive = literal & 1 == 1
        for_true[literal[positive] >> 1] = weight[positive]
        for_false[literal[~positive] >> 1] = weight[~positive]
        must, must_not = np.isinf(for_true), np.isinf(for_false)
        deciding = literal[np.isinf(weight)]
        if (must & must_not).any():
            atom = int(np.flatnonzero(must & must_not)[0])
            raise Contradiction(atom, *(int(rule[deciding == 2 * atom + sign][0]) for sign in (1, 0)))
        # w·1[not a] = w - w·1[a]; where a hard clause decides the atom, its soft unit clauses are false or already constants
        self._constants.append(float(for_false[~must & ~must_not].sum()))
        for_true[must_not] = 0.0
        for_false[must] = 0.0
        bias = for_true - for_false
        own = slice(0, self._nodes.n_atoms)
        self._constants.append(float(self._soft[must[own]].sum()))
        bias[own] += self._soft
        return bias, rule[np.argsort(deciding)]

    def _numbered(
        self, rows: Rows, weight: Float64, bias: Float64, groups: tuple[ExclusiveGroups, ...], rules: tuple[Int32, Int32]
    ) -> GroundNetwork:
        """Leave out hidden atoms that nothing uses, and number the others without gaps; order is not changed by that."""
        nodes, n_atoms = self._nodes, self._nodes.n_atoms
        used = _used(nodes, rows.literal, bias)
        number = np.concatenate([np.arange(n_atoms), n_atoms + np.cumsum(used) - 1]).astype(np.int32)
        literal = rows.literal
        definitions = nodes.rows.take(np.flatnonzero(used))
        if not used.all():
            literal = 2 * number[literal >> 1] + (literal & 1)
        definition_literal = 2 * number[definitions.literal >> 1] + (definitions.literal & 1)
        bias = np.concatenate([bias[:n_atoms], bias[n_atoms:][used]])
        atom_start, atom_clause = atom_rows(rows.start, literal, len(bias))
        group_sizes = np.concatenate([np.diff(g.start) for g in groups]) if groups else np.empty(0, np.int64)
        return frozen(
            GroundNetwork(
                n_atoms=n_atoms,
                clause_start=rows.start,
                clause_literal=literal,
                clause_weight=weight,
                atom_bias=bias,
                atom_start=atom_start,
                atom_clause=atom_clause,
                group_start=offsets(group_sizes),
                group_atom=np.concatenate([g.atom for g in groups]) if groups else np.empty(0, np.int32),
                definition_start=definitions.start,
                definition_literal=definition_literal,
                definition_rule=nodes.rule[used],
                log_constant=math.fsum(self._constants),
                hard_rule=rules[0],
                unit_rule=rules[1],
            )
        )


def _used(nodes: Nodes, literal: Int32, bias: Float64) -> Bool:
    """Which nodes occur in clauses or biases, or in the definition of one that does."""
    used = np.zeros(len(nodes), np.bool_)
    if not len(nodes):
        return used
    hidden = literal[literal >= 2 * nodes.n_atoms]
    used[(hidden >> 1) - nodes.n_atoms] = True
    used |= bias[nodes.n_atoms :] != 0
    frontier = np.flatnonzero(used)
    while len(frontier):
        inside = nodes.rows.take(frontier).literal
        child = each_once(inside[inside >= 2 * nodes.n_atoms] >> 1) - nodes.n_atoms
        frontier = child[~used[child]].astype(np.int64)
        used[frontier] = True
    return used
