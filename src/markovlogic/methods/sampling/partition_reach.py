"""Whether moves over partitions reach every possible world.

Pair constraints alone never confine them: any node may leave its block. Of the other hard clauses the following shows enough. A
relation can be *dissolved*, one node after the other, while everything else stays, if each hard clause that needs one of its
pairs also holds because some pair of a relation dissolved before is apart. When all relations are dissolved, the worlds of the
remaining atoms have to be connected by single-site moves. Then every world leads to the dissolved ones, and moves are reversible.
"""

from __future__ import annotations

import numpy as np

from markovlogic.errors import Fault
from markovlogic.methods.partition.network import PartitionNetwork
from markovlogic.methods.sampling.irreducible import Reachability, single_site_reach
from markovlogic.problem import Problem
from markovlogic.system.arrays import Bool


def confining(problem: Problem, network: PartitionNetwork) -> Fault | None:
    """A hard rule that may keep moves from some worlds; None where they are shown to reach all of them."""
    rows = network.rows
    first = int(rows.clause_start[rows.n_soft])
    literal = rows.clause_literal[first:]
    owner = np.repeat(np.arange(rows.n_clauses - rows.n_soft), np.diff(rows.clause_start[rows.n_soft :]))
    relation = network.relation_row[literal >> 1]
    left = _undissolved(literal, owner, relation, rows.n_clauses - rows.n_soft, len(network.relations))
    if left.any():
        return _fault(problem, network, int(np.flatnonzero(left)[0]))
    if single_site_reach(network.apart) is Reachability.ALL:
        return None
    without = np.ones(rows.n_clauses - rows.n_soft, np.bool_)
    without[owner[relation >= 0]] = False
    return _fault(problem, network, int(np.flatnonzero(without)[0]) if without.any() else None)


def _undissolved(literal: np.ndarray, owner: np.ndarray, relation: np.ndarray, n_clauses: int, n_relations: int) -> Bool:
    """Hard clauses that request pairs of relations which cannot be dissolved."""
    asks = (relation >= 0) & (literal & 1 == 1)
    left = set(range(n_relations))
    holds = np.zeros(n_clauses, np.bool_)  # by pairs that are apart
    while True:
        ready = {each for each in left if not (asks & (relation == each) & ~holds[owner]).any()}
        if not ready:
            break
        left -= ready
        holds[owner[np.isin(relation, list(ready)) & (literal & 1 == 0)]] = True
    found = np.zeros(n_clauses, np.bool_)
    found[owner[asks & np.isin(relation, list(left)) & ~holds[owner]]] = True
    return found


def _fault(problem: Problem, network: PartitionNetwork, clause: int | None) -> Fault:
    """Name the rule of a hard clause, or of any where it is not known which one confines."""
    hard_rule = network.rows.hard_rule
    rule = int(hard_rule[clause]) if clause is not None and clause < len(hard_rule) else -1
    hard = [number for number, each in enumerate(problem.model.rules) if each.is_hard]
    found = problem.model.rules[rule if rule >= 0 else hard[0]]
    return Fault(
        "partition: this hard rule may keep its moves from some worlds",
        found.place,
        found.text,
        hint="give it a weight, or take --method mcsat",
    )
