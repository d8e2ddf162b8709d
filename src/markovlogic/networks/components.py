"""Connected components of ground networks: finding them, and cutting a network into its parts."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from markovlogic.networks.ground import NO_RULES, GroundNetwork, atom_rows
from markovlogic.system.arrays import Bool, Int32, Int64, Pickled, frozen, offsets

Vertices = npt.NDArray[np.integer]


def connected_parts(n: int, source: Vertices, target: Vertices) -> tuple[int, Int32]:
    """How many parts a graph of n vertices has, and the part of each vertex; parts are numbered by their smallest vertex."""
    smallest = _smallest(n, source.astype(np.int32, copy=False), target.astype(np.int32, copy=False))
    is_root = smallest == np.arange(n, dtype=np.int32)
    number = np.cumsum(is_root, dtype=np.int32) - np.int32(1)
    return int(np.count_nonzero(is_root)), number[smallest]


def _smallest(n: int, one: Int32, other: Int32) -> Int32:
    """For each vertex the smallest vertex of its part."""
    root = np.arange(n, dtype=np.int32)
    high = np.maximum(one, other)
    np.minimum.at(root, high, np.minimum(one, other))
    moving = np.flatnonzero(root != np.arange(n, dtype=np.int32))
    while len(moving):
        before = root[moving]
        root[moving] = root[before]
        moving = moving[root[moving] != before]
    one, other = root[one], root[other]
    apart = one != other
    if not apart.any():
        return root
    vertex = np.flatnonzero(root == np.arange(n, dtype=np.int32)).astype(np.int32)
    number = np.empty(n, np.int32)
    number[vertex] = np.arange(len(vertex), dtype=np.int32)
    deeper = _smallest(len(vertex), number[one[apart]], number[other[apart]])
    joined: Int32 = vertex[deeper[number[root]]]
    return joined


@dataclass(frozen=True, eq=False)
class Components(Pickled):
    """The atoms and clauses of each component; components are numbered by their smallest atom."""

    n_components: int
    component_of: Int32  # (n_all,)
    start: Int64  # (n_components + 1,) offsets into atom
    atom: Int32  # (n_all,) atoms of each component, increasing; so its hidden ones come last
    clause_start: Int64  # (n_components + 1,) offsets into clause
    clause: Int32  # (n_clauses,) clauses of each component, increasing; so its hard ones come last

    @property
    def largest(self) -> int:
        """Atoms of the largest component, 0 when there is none."""
        return int(np.diff(self.start).max(initial=0))


def components(network: GroundNetwork) -> Components:
    """Split a network into components; atoms that an infinite bias decides connect like all others.

    A row of k atoms (clause, group, definition) adds k - 1 edges between neighbours in the row, which connects it as well as
    all pairs would. Hidden atoms belong to the component of what defines them.
    """
    n_all = network.n_all
    owner = np.arange(network.n_atoms, n_all, dtype=np.int32)
    defined = np.repeat(owner, np.diff(network.definition_start))
    clause_from, clause_to = _neighbours_in_rows(network.clause_start, network.clause_literal >> 1)
    group_from, group_to = _neighbours_in_rows(network.group_start, network.group_atom)
    source = np.concatenate([clause_from, group_from, defined])
    target = np.concatenate([clause_to, group_to, network.definition_literal >> 1])
    count, component_of = connected_parts(n_all, source, target)
    start, atom = _members(component_of, count)
    first = network.clause_literal[network.clause_start[:-1]] >> 1
    clause_start, clause = _members(component_of[first], count)
    return frozen(Components(count, component_of, start, atom, clause_start, clause))


def _neighbours_in_rows(start: Int64, value: Int32) -> tuple[Int32, Int32]:
    """Pairs of values that stand side by side in one row."""
    if len(value) < 2:
        return np.zeros(0, np.int32), np.zeros(0, np.int32)
    inside = np.ones(len(value) - 1, bool)
    ends = start[1:-1]
    inside[ends[(ends > 0) & (ends < len(value))] - 1] = False
    return value[:-1][inside], value[1:][inside]


def _members(part_of: Int32, count: int) -> tuple[Int64, Int32]:
    """Offsets and members of each part, increasing."""
    start = offsets(np.bincount(part_of, minlength=count))
    return start, np.argsort(part_of, kind="stable").astype(np.int32)


def part_of(network: GroundNetwork, keep: Bool, *, log_constant: float) -> GroundNetwork:
    """The atoms that are kept, numbered without gaps in their order, and all that ties them.

    keep: (n_all,) the same for all atoms of a component, so that whatever holds a kept atom holds no other.
    """
    stays = keep[network.clause_literal[network.clause_start[:-1]] >> 1]
    groups = np.flatnonzero(keep[network.group_atom[network.group_start[:-1]]])
    number = (np.cumsum(keep) - 1).astype(np.int32)
    cut = _cut(network, np.flatnonzero(keep), np.flatnonzero(stays), groups, number)
    hard_rule = _of_those(network.hard_rule, np.isinf(network.clause_weight), stays)
    unit_rule = _of_those(network.unit_rule, np.isinf(network.atom_bias), keep)
    return frozen(replace(cut, log_constant=log_constant, hard_rule=hard_rule, unit_rule=unit_rule))


@dataclass(frozen=True, eq=False)
class Part:
    """A component, and where its atoms stand in the whole."""

    network: GroundNetwork  # without a constant
    atom: Int32  # (n_all of the part,)


def split(network: GroundNetwork, parts: Components, numbers: Iterable[int] | None = None) -> Iterator[Part]:
    """Components as networks of their own, all or those of these numbers, each made in time proportional to its size.

    Nothing outside of a component shares a clause, a group or a definition with it.
    """
    local = np.empty(network.n_all, np.int32)
    local[parts.atom] = np.arange(network.n_all) - np.repeat(parts.start[:-1], np.diff(parts.start))
    group_start, group = _members(parts.component_of[network.group_atom[network.group_start[:-1]]], parts.n_components)
    for number in range(parts.n_components) if numbers is None else numbers:
        atom = parts.atom[parts.start[number] : parts.start[number + 1]]
        clause = parts.clause[parts.clause_start[number] : parts.clause_start[number + 1]].astype(np.int64)
        groups = group[group_start[number] : group_start[number + 1]].astype(np.int64)
        yield Part(_cut(network, atom, clause, groups, local), atom)


def _cut(network: GroundNetwork, atom: Vertices, clause: Int64, group: Int64, number: Int32) -> GroundNetwork:
    """Some atoms with the clauses and groups that hold them, without a constant and without the rules that clauses come from.

    number: what each of the atoms is called there.
    """

    def renumbered(literal: Int32) -> Int32:
        return np.asarray(2 * number[literal >> 1] + (literal & 1), np.int32)

    clause_start, literal = _taken(network.clause_start, network.clause_literal, clause)
    clause_literal = renumbered(literal)
    group_start, group_atom = _taken(network.group_start, network.group_atom, group)
    hidden = (atom[atom >= network.n_atoms] - network.n_atoms).astype(np.int64)
    definition_start, definition_literal = _taken(network.definition_start, network.definition_literal, hidden)
    atom_start, atom_clause = atom_rows(clause_start, clause_literal, len(atom))
    return frozen(
        GroundNetwork(
            n_atoms=len(atom) - len(hidden),
            clause_start=clause_start,
            clause_literal=clause_literal,
            clause_weight=network.clause_weight[clause],
            atom_bias=network.atom_bias[atom],
            atom_start=atom_start,
            atom_clause=atom_clause,
            group_start=group_start,
            group_atom=number[group_atom],
            definition_start=definition_start,
            definition_literal=renumbered(definition_literal),
            definition_rule=network.definition_rule[hidden],
            log_constant=0.0,
            hard_rule=NO_RULES,
            unit_rule=NO_RULES,
        )
    )


def _taken(start: Int64, value: Int32, rows: Int64) -> tuple[Int64, Int32]:
    lengths = start[rows + 1] - start[rows]
    new = offsets(lengths)
    at = np.repeat(start[rows] - new[:-1], lengths) + np.arange(int(new[-1]))
    return new, value[at]


def _of_those(rule: Int32, has_one: Bool, stays: Bool) -> Int32:
    """Rules of what stays, where rules are known of all that has one."""
    return rule[stays[has_one]] if len(rule) else rule
