"""Hidden predicates, from the bottom up: what the evidence leaves of `H(x) ⇔ EXIST y (cube v cube …)`.

For each ground H: no cube left makes it false, a satisfied cube true; a single literal left stands for it from then on; else it
is a *node*, a disjunction of literals. A cube with two or more literals left is ¬(¬l₁ v ¬l₂ v …), the negation of its own node.
A positive literal of a node is replaced by the node's literals wherever it stands in a disjunction, so that only negated nodes
need atoms.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from markovlogic.data.evidence import FALSE, TRUE, UNKNOWN, Domain
from markovlogic.grounding.backends import Engine
from markovlogic.grounding.plan import Pattern, plan
from markovlogic.grounding.relations import Relation, table_name
from markovlogic.grounding.rows import Rows, canonical, concatenated, expanded, order_of
from markovlogic.grounding.surviving import joined, surviving
from markovlogic.language.templates import Cube, Definition, EqualityLiteral, Literal
from markovlogic.problem import Statuses
from markovlogic.system.arrays import Int8, Int32, Int64, each_once, offsets

INLINED_AT_MOST = 20_000_000  # literals; past that, shared disjunctions become atoms where that saves most of the space
INLINED_SAVING = 4


class Nodes:
    """Disjunctions found so far, each once; node k is the atom n_atoms + k, and its literals belong to smaller atoms."""

    def __init__(self, n_atoms: int) -> None:
        self.n_atoms = n_atoms
        self.rows = Rows(np.zeros(1, np.int64), np.empty(0, np.int32))
        self.rule: Int32 = np.empty(0, np.int32)

    def __len__(self) -> int:
        return len(self.rows)

    def add(self, rows: Rows, rule: int) -> Int64:
        """The node of each row; new ones are numbered in lexicographic order."""
        old = len(self)
        both = concatenated([self.rows, rows])
        order, same = order_of(both)
        if not len(order):
            return order
        group = np.cumsum(~same) - 1
        first = np.minimum.reduceat(order, np.flatnonzero(~same))  # an older node, if there is one
        is_new = first >= old
        number = np.where(is_new, old + np.cumsum(is_new) - 1, first)
        fresh = first[is_new]
        self.rows = both.take(np.concatenate([np.arange(old), fresh]))
        self.rule = np.concatenate([self.rule, np.full(len(fresh), rule, np.int32)])
        node = np.empty(len(both), np.int64)
        node[order] = number[group]
        return node[old:]

    def inlined(self, rows: Rows) -> tuple[Rows, npt.NDArray[np.bool_]]:
        """Rows with positive literals of nodes replaced by the nodes' literals, and which rows stayed: tautologies go."""
        inside = (rows.literal >= 2 * self.n_atoms) & (rows.literal & 1 == 1)
        node = (rows.literal[inside] >> 1) - self.n_atoms
        size = int(self.rows.length[node].sum())
        shared = int(self.rows.length[each_once(node)].sum()) + len(node)
        if not len(node) or (size > INLINED_AT_MOST and size > INLINED_SAVING * shared):
            return rows, np.ones(len(rows), np.bool_)
        return canonical(*expanded(rows, self.n_atoms, self.rows))

    def split(self, rows: Rows) -> Rows:
        """Hard rows without negated nodes: ¬(l₁ v l₂ …) v rest is the rows ¬l₁ v rest, ¬l₂ v rest, …

        Only for hard rows, since one soft weight cannot be spread over several clauses. Where the result would be too large,
        negated nodes stay.
        """
        while True:
            at = np.flatnonzero((rows.literal >= 2 * self.n_atoms) & (rows.literal & 1 == 0))
            row, first = np.unique(np.searchsorted(rows.start, at, side="right") - 1, return_index=True)
            at = at[first]
            node = (rows.literal[at] >> 1) - self.n_atoms
            times = np.ones(len(rows), np.int64)
            times[row] = self.rows.length[node]
            if not len(at) or int((times * rows.length).sum()) > INLINED_AT_MOST:
                return rows
            offset = at - rows.start[row]
            longer = rows.take(np.repeat(np.arange(len(rows)), times))
            first_copy = offsets(times)[row]
            inner = self.rows.take(node.astype(np.int64))
            copy = np.repeat(first_copy - inner.start[:-1], inner.length) + np.arange(len(inner.literal))
            longer.literal[longer.start[copy] + np.repeat(offset, inner.length)] = inner.literal ^ 1
            rows, _ = canonical(longer.start, longer.literal)
            rows, _ = self.inlined(rows)


def ground_definition(
    definition: Definition,
    number: int,
    engine: Engine,
    relations: Mapping[str, Relation],
    domains: Mapping[str, Domain],
    nodes: Nodes,
) -> Relation:
    """The hidden predicate as a relation; nodes that it needs are added."""
    sizes = tuple(len(domains[type_name]) for _, type_name in definition.parameters)
    code, rows = _cubes_left(definition, engine, relations, domains, nodes, sizes)
    made = relation_of_cubes(rows, code, nodes, definition.rule)
    statuses = Statuses(definition.predicate, sizes, FALSE, made.code, made.status)
    types = tuple(type_name for _, type_name in definition.parameters)
    return Relation(table_name("hidden", number), statuses, types, made.literal)


class HiddenAtoms(NamedTuple):
    """What became of ground hidden atoms; those that are not listed are false."""

    code: Int64  # sorted
    status: Int8  # TRUE, or UNKNOWN where there is a literal
    literal: Int32  # -1 where the atom is true


def relation_of_cubes(rows: Rows, code: Int64, nodes: Nodes, rule: int) -> HiddenAtoms:
    """Hidden atoms of what is left of their cubes, the negated literals as rows; nodes that they need are added.

    code: (n_rows,) the atom that each row belongs to.
    """
    length = rows.length
    true_code = each_once(code[length == 0])
    matters = ~np.isin(code, true_code)
    single, several = matters & (length == 1), matters & (length > 1)
    node = nodes.add(rows.take(np.flatnonzero(several)), rule)
    disjunct = np.concatenate([rows.literal[rows.start[:-1][single]] ^ 1, 2 * (nodes.n_atoms + node).astype(np.int32)])
    code = np.concatenate([code[single], code[several]])
    open_code, member = np.unique(code, return_inverse=True)
    order = np.argsort(member, kind="stable")
    start = offsets(np.bincount(member, minlength=len(open_code)))
    rows, stays = canonical(start, disjunct[order])
    true_code = np.concatenate([true_code, open_code[~stays]])
    open_code = open_code[stays]
    rows, stays = nodes.inlined(rows)
    true_code = np.concatenate([true_code, open_code[~stays]])
    open_code = open_code[stays]
    several = rows.length > 1
    literal = np.empty(len(open_code), np.int32)
    literal[~several] = rows.literal[rows.start[:-1][~several]]
    node = nodes.add(rows.take(np.flatnonzero(several)), rule)
    literal[several] = 2 * (nodes.n_atoms + node) + 1
    code = np.concatenate([open_code, true_code])
    status = np.concatenate([np.full(len(open_code), UNKNOWN, np.int8), np.full(len(true_code), TRUE, np.int8)])
    literal = np.concatenate([literal, np.full(len(true_code), -1, np.int32)])
    order = np.argsort(code)
    return HiddenAtoms(code[order], status[order], literal[order])


def _cubes_left(
    definition: Definition,
    engine: Engine,
    relations: Mapping[str, Relation],
    domains: Mapping[str, Domain],
    nodes: Nodes,
    sizes: tuple[int, ...],
) -> tuple[Int64, Rows]:
    """For every cube that the evidence does not falsify, the ground H it belongs to, and the negated literals left of it."""
    codes: list[Int64] = []
    parts: list[Rows] = []
    for cube in definition.cubes:
        pattern = negated(cube, definition)
        batches = list(surviving(engine, pattern, plan(pattern, relations, domains)))
        if batches:
            batch = joined(batches)
            code = np.zeros(len(batch.rows), np.int64)
            for (name, _), size in zip(definition.parameters, sizes, strict=True):
                code = code * size + batch.kept[name]
            rows, stays = nodes.inlined(batch.rows)
            codes.append(code[stays])
            parts.append(rows)
    return np.concatenate(codes) if codes else np.empty(0, np.int64), concatenated(parts)


def negated(cube: Cube, definition: Definition) -> Pattern:
    """The clause that is false where the cube is true."""
    return Pattern(
        literals=tuple(Literal(x.predicate, x.args, not x.positive) for x in cube.literals),
        equalities=tuple(EqualityLiteral(x.left, x.right, not x.positive) for x in cube.equalities),
        variables=definition.parameters + definition.locals_,
        keep=tuple(name for name, _ in definition.parameters),
    )
