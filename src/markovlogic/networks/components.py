"""Connected components of a ground network: parts that share no clause, exclusive group or definition are independent."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from markovlogic.networks.connected import connected_parts
from markovlogic.networks.ground import GroundNetwork
from markovlogic.system.arrays import Int32, Int64, frozen, offsets


@dataclass(frozen=True, eq=False)
class Components:
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
