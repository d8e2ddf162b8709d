"""The part of a ground network that one atom depends on, with the rule of every clause."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from markovlogic.grounding.backends import Engine
from markovlogic.grounding.ground import Grounding
from markovlogic.language.templates import LoweredModel
from markovlogic.methods.reduction import with_open
from markovlogic.networks.components import components, part_of
from markovlogic.networks.ground import GroundNetwork, atom_rows
from markovlogic.problem import Problem
from markovlogic.problem.soft import soft_log_odds
from markovlogic.system.arrays import Bool, Float64, Int32, frozen, offsets

SOFT_EVIDENCE = -1


@dataclass(frozen=True, eq=False)
class LocalNetwork:
    """The component of an atom. Clauses of different rules stand apart, even where they are equal.

    Weights of soft clauses and finite biases are those of the model; `at` scales them.
    """

    problem: Problem  # all atoms outside of the component are known there
    network: GroundNetwork
    clause_rule: Int32  # (n_soft,) the rule of each soft clause
    rules: tuple[int, ...]  # those with groundings here, of the rows of `bias`; SOFT_EVIDENCE for soft evidence
    bias: Float64  # (n_rules, n_all) finite log-odds that each rule's unit clauses give
    target: int  # the atom

    def at(self, share: float, truth: bool | None = None) -> GroundNetwork:
        """The network with all soft weights multiplied by a share, and the atom clamped."""
        network = self.network
        weight, bias = network.clause_weight.copy(), network.atom_bias.copy()
        for own in (weight, bias):
            own[np.isfinite(own)] *= share
        if truth is not None:
            bias[self.target] = math.inf if truth else -math.inf
        return frozen(replace(network, clause_weight=weight, atom_bias=bias))

    def hard_alone(self) -> LocalNetwork:
        """The same atoms under hard rules and exclusive groups only."""
        network = self.at(0.0)
        start = network.clause_start[network.n_soft :]
        literal = network.clause_literal[start[0] :]
        atom_start, atom_clause = atom_rows(start - start[0], literal, network.n_all)
        network = replace(
            network, clause_start=start - start[0], clause_literal=literal, clause_weight=network.clause_weight[network.n_soft :],
            atom_start=atom_start, atom_clause=atom_clause,
        )  # fmt: skip
        return replace(self, network=frozen(network), clause_rule=self.clause_rule[:0], bias=np.zeros_like(self.bias))

    def bias_without(self, rule: int) -> Float64:
        """Log-odds of atoms where a rule has no weight."""
        rest = self.bias[[one != rule for one in self.rules]].sum(axis=0)
        return np.where(np.isfinite(self.network.atom_bias), rest, self.network.atom_bias)


def local_network(
    problem: Problem, lowered: LoweredModel, target: int, database: Engine, memory_limit: int, *, whole: bool = False
) -> LocalNetwork:
    """Ground the problem, find the component of an open atom, and keep that of each rule's own network; whole: keep all."""
    grounding = Grounding(problem, lowered, database, memory_limit)
    network = grounding.network()
    parts = components(network)
    keep = (parts.component_of[: network.n_atoms] == parts.component_of[target]) | whole
    rows: dict[int, int] = {one.rule: 0 for one in lowered.definitions}
    for template, n_rows in zip(lowered.templates, grounding.sizes.rows, strict=True):
        rows[template.rule] = rows.get(template.rule, 0) + n_rows
    plain = replace(problem, soft={})
    made = []
    for rule in sorted(rule for rule, n_rows in rows.items() if n_rows):
        own = Grounding(plain, lowered.of_rule(rule), database, memory_limit).network()
        own = part_of(own, _with_hidden(own, keep), log_constant=0.0)
        if own.n_clauses or own.atom_bias.any():
            made.append((rule, own))
    soft = soft_log_odds(problem)
    mine = keep[soft.atom]
    number = np.cumsum(keep) - 1
    return _joined(with_open(problem, keep), made, number[soft.atom[mine]], soft.log_odds[mine], int(number[target]))


def _with_hidden(network: GroundNetwork, keep: Bool) -> Bool:
    """Open atoms that are kept, and the hidden atoms that they define."""
    found = np.append(keep, np.zeros(network.n_hidden, bool))
    for hidden in range(network.n_hidden):
        literal = network.definition_literal[network.definition_start[hidden] : network.definition_start[hidden + 1]]
        found[network.n_atoms + hidden] = bool(len(literal)) and bool(found[literal[0] >> 1])
    return found


def _joined(
    problem: Problem, made: Sequence[tuple[int, GroundNetwork]], soft_atom: np.ndarray, soft: Float64, target: int
) -> LocalNetwork:
    """One network of the networks of all rules; each keeps its own hidden atoms."""
    n_atoms = len(problem.atoms)
    n_all = n_atoms + sum(own.n_hidden for _, own in made)
    lengths, literals, weights, rules = [], [], [], []
    definition_lengths, definition_literals, definition_rules = [], [], []
    infinite = np.zeros(n_all)
    bias = np.zeros((len(made) + bool(len(soft_atom)), n_all))
    unit_rule = np.full(n_all, -1, np.int32)
    hidden = n_atoms
    for row, (rule, own) in enumerate(made):
        place = np.concatenate([np.arange(n_atoms), hidden + np.arange(own.n_hidden)])
        lengths.append(np.diff(own.clause_start))
        literals.append(_moved(own.clause_literal, place))
        weights.append(own.clause_weight)
        rules.append(np.full(own.n_clauses, rule, np.int32))
        definition_lengths.append(np.diff(own.definition_start))
        definition_literals.append(_moved(own.definition_literal, place))
        definition_rules.append(own.definition_rule)
        finite = np.isfinite(own.atom_bias)
        bias[row, place[finite]] = own.atom_bias[finite]
        infinite[place[~finite]] = own.atom_bias[~finite]
        unit_rule[place[~finite]] = rule
        hidden += own.n_hidden
    if len(soft_atom):
        bias[-1, soft_atom] = soft
    names = [rule for rule, _ in made] + ([SOFT_EVIDENCE] if len(soft_atom) else [])
    length, weight, rule_of = (_end_to_end(parts) for parts in (lengths, weights, rules))
    literal = _end_to_end(literals)
    order = np.argsort(np.isinf(weight), kind="stable")
    start, literal = _reordered(offsets(length), literal, order)
    weight, rule_of = weight[order].astype(np.float64), rule_of[order].astype(np.int32)
    n_soft = int(np.isfinite(weight).sum())
    groups = problem.groups
    group_start = offsets(np.concatenate([np.zeros(0, np.int64), *(np.diff(own.start) for own in groups)]).astype(np.int64))
    group_atom = np.concatenate([np.zeros(0, np.int32), *(own.atom for own in groups)]).astype(np.int32)
    total = np.where(infinite != 0, infinite, bias.sum(axis=0))
    atom_start, atom_clause = atom_rows(start, literal, n_all)
    network = GroundNetwork(
        n_atoms=n_atoms,
        clause_start=start,
        clause_literal=literal,
        clause_weight=weight,
        atom_bias=total,
        atom_start=atom_start,
        atom_clause=atom_clause,
        group_start=group_start,
        group_atom=group_atom,
        definition_start=offsets(_end_to_end(definition_lengths)),
        definition_literal=_end_to_end(definition_literals).astype(np.int32),
        definition_rule=_end_to_end(definition_rules).astype(np.int32),
        log_constant=0.0,
        hard_rule=rule_of[n_soft:],
        unit_rule=unit_rule[infinite != 0],
    )
    bias[:, infinite != 0] = 0.0
    return LocalNetwork(problem, frozen(network), frozen(rule_of[:n_soft]), tuple(names), frozen(bias), target)


def _moved(literal: Int32, place: np.ndarray) -> Int32:
    moved: Int32 = (2 * place[literal >> 1] + (literal & 1)).astype(np.int32)
    return moved


def _end_to_end(parts: Sequence[np.ndarray]) -> np.ndarray:
    return np.concatenate([np.zeros(0, np.int64), *parts]) if not parts else np.concatenate(parts)


def _reordered(start: np.ndarray, value: np.ndarray, order: np.ndarray) -> tuple[np.ndarray, Int32]:
    """Rows in another order."""
    length = np.diff(start)[order]
    new_start = offsets(length)
    at = np.repeat(start[:-1][order] - new_start[:-1], length) + np.arange(len(value))
    return new_start, value[at].astype(np.int32)
