"""What is known of an equivalence relation: constants that must be together are one node, and which nodes may be together."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from markovlogic.data.evidence import FALSE, TRUE, UNKNOWN
from markovlogic.errors import Fault, InputError
from markovlogic.language.equivalence import Equivalence
from markovlogic.language.syntax import show_constant
from markovlogic.networks.components import connected_parts
from markovlogic.problem import Problem
from markovlogic.system.arrays import Int8, Int32, Int64, Pickled, each_once, frozen, is_among

ALWAYS, NEVER = -1, -2  # in place of a row, for atoms that all worlds agree on


@dataclass(frozen=True, eq=False)
class Unlisted(Pickled):
    """Atoms of a relation that a problem takes to be false, although each may be true at one and the same weight."""

    weight: float  # that such an atom adds to a world's log-weight where it is true
    barred: Int64  # codes of atoms that are known to be false; sorted, in both orders
    templates: tuple[tuple[int, int], ...] = ()  # clauses that give the weight, each with the sign of the atom in it


@dataclass(frozen=True, eq=False)
class Classes:
    """The nodes of one relation, the pairs of them that may be together, and the row of each open atom.

    Rows are numbered from 0: one for each pair, then one for each node that may or may not be related to itself.
    """

    relation: Equivalence
    node_of: Int32  # (n_constants,)
    n_nodes: int
    pair: Int32  # (n_pairs, 2) nodes, the smaller one first; sorted
    own: Int32  # (n_own,) nodes that, alone, may or may not be related to themselves
    atom_row: Int64  # (n_open,) of the predicate's open atoms, or ALWAYS or NEVER
    barred: Int32  # (n_barred, 2) pairs of nodes that are never together, the smaller one first, where unlisted ones may be

    @property
    def n_rows(self) -> int:
        """Pairs and single nodes that are open."""
        return len(self.pair) + len(self.own)


def classes_of(problem: Problem, relation: Equivalence, decided: Int8, unlisted: Unlisted | None = None) -> Classes:
    """Join what must be together; a pair of nodes is open iff all pairs of their constants are, in both orders.

    decided: (n_open,) of the predicate's open atoms: FALSE or TRUE where hard rules decide them, else UNKNOWN. unlisted: where
    atoms that are not listed may be true; then a pair of nodes is open iff no pair of their constants is known to be false.
    """
    statuses = problem.statuses[relation.predicate]
    n = statuses.sizes[0]
    code = problem.atoms.codes(relation.predicate)
    one, other = np.divmod(code, n) if n else (code, code)
    true = np.concatenate([statuses.code[statuses.status == TRUE], code[decided == TRUE]])
    left, right = np.divmod(true, n) if n else (true, true)
    n_nodes, node_of = connected_parts(n, left.astype(np.int32), right.astype(np.int32))
    size = np.bincount(node_of, minlength=n_nodes)

    itself = statuses.lookup(np.arange(n, dtype=np.int64) * (n + 1))
    itself[one[(one == other) & (decided != UNKNOWN)]] = decided[(one == other) & (decided != UNKNOWN)]
    if relation.reflexive:
        _refuse(problem, relation, np.flatnonzero(itself == FALSE), None)
        itself[:] = TRUE
    else:
        itself[(size[node_of] > 1) & (itself == UNKNOWN)] = TRUE
        itself[left] = np.where(itself[left] == UNKNOWN, TRUE, itself[left])
        itself[right] = np.where(itself[right] == UNKNOWN, TRUE, itself[right])
    if unlisted is None:
        _refuse_false_pairs(problem, relation, node_of, size, itself, np.concatenate([true, code[decided == UNKNOWN]]))
    barred = _barred(problem, relation, node_of, np.concatenate([unlisted.barred, code[decided == FALSE]]) if unlisted else None)

    may = (decided == UNKNOWN) & (node_of[one] != node_of[other])
    may &= (itself[one] != FALSE) & (itself[other] != FALSE)
    low, high = np.minimum(node_of[one], node_of[other]), np.maximum(node_of[one], node_of[other])
    key = low.astype(np.int64) * n_nodes + high
    keys, place, count = np.unique(key[may], return_inverse=True, return_counts=True)
    low_of, high_of = np.divmod(keys, max(n_nodes, 1))
    if unlisted is None:
        whole = count == 2 * size[low_of] * size[high_of]
    else:
        whole = ~is_among(keys, barred[:, 0].astype(np.int64) * n_nodes + barred[:, 1])
    number = np.where(whole, np.cumsum(whole) - 1, NEVER)

    row = np.full(len(code), NEVER, np.int64)
    row[may] = number[place]
    row[node_of[one] == node_of[other]] = ALWAYS
    alone = np.flatnonzero(itself == UNKNOWN)
    single = np.full(n, -1, np.int64)
    single[alone] = np.arange(len(alone))
    diagonal = one == other
    row[diagonal] = np.where(itself[one[diagonal]] == TRUE, ALWAYS, NEVER)
    is_open = diagonal & (itself[one] == UNKNOWN)
    row[is_open] = whole.sum() + single[one[is_open]]
    pair = np.stack([low_of[whole], high_of[whole]], axis=1).astype(np.int32)
    return frozen(Classes(relation, node_of, n_nodes, pair, node_of[alone].astype(np.int32), row, barred))


def _barred(problem: Problem, relation: Equivalence, node_of: Int32, false: Int64 | None) -> Int32:
    """Pairs of nodes with a false atom between them; refuses one inside of a node. false: codes, None where not needed."""
    if false is None:
        return np.zeros((0, 2), np.int32)
    one, other = np.divmod(false, max(len(node_of), 1))
    inside = np.flatnonzero(node_of[one] == node_of[other])
    if len(inside):
        _refuse(problem, relation, one[inside[:1]], int(other[inside[0]]))
    low, high = np.minimum(node_of[one], node_of[other]), np.maximum(node_of[one], node_of[other])
    key = each_once(low.astype(np.int64) * (int(node_of.max(initial=0)) + 1) + high)
    return np.stack(np.divmod(key, int(node_of.max(initial=0)) + 1), axis=1).astype(np.int32)


def _refuse_false_pairs(
    problem: Problem, relation: Equivalence, node_of: Int32, size: Int64, itself: Int8, possible: Int64
) -> None:
    """Refuse what must be together and must not: within a node of s constants, s² ordered pairs have to be possible."""
    n = len(node_of)
    left, right = np.divmod(each_once(possible), n) if n else (possible, possible)
    inside = (node_of[left] == node_of[right]) & (left != right)
    there = np.bincount(node_of[left[inside]], minlength=len(size))
    wrong = there != size * (size - 1)
    for node in np.flatnonzero(wrong)[:1]:
        member = np.flatnonzero(node_of == node)
        pairs = (np.repeat(member, len(member)) * n + np.tile(member, len(member))).astype(np.int64)
        missing = np.setdiff1d(pairs[pairs % (n + 1) != 0], possible)[0]
        _refuse(problem, relation, np.array([missing // n]), int(missing % n))
    _refuse(problem, relation, np.flatnonzero((itself == FALSE) & (size[node_of] > 1)), None)


def _refuse(problem: Problem, relation: Equivalence, first: Int64, second: int | None) -> None:
    """Show of a pair that evidence and hard rules both demand and exclude."""
    if not len(first):
        return
    names = problem.domains[relation.type_name].names
    left = show_constant(names[int(first[0])])
    right = left if second is None else show_constant(names[second])
    rule = problem.model.rules[relation.rule]
    raise InputError(
        Fault(
            f"no world satisfies the hard rules and the evidence: {relation.predicate}({left},{right}) is false, "
            f"but {relation.predicate} is an equivalence relation, and other facts make it true",
            rule.place,
            rule.text,
            hint="correct the evidence, or give a rule a weight",
        )
    )
