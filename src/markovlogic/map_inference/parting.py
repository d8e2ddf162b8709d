"""One component of a network as a network of its own."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from markovlogic.networks.components import Components
from markovlogic.networks.ground import NO_RULES, GroundNetwork, atom_rows
from markovlogic.system.arrays import Int32, Int64, frozen, offsets


@dataclass(frozen=True, eq=False)
class Part:
    """A component, and where its atoms stand in the whole."""

    network: GroundNetwork  # without a constant
    atom: Int32  # (n_all of the part,)


class Parting:
    """A network on the way to its components, each cut out in time proportional to its own size."""

    def __init__(self, network: GroundNetwork, parts: Components) -> None:
        self._network, self._parts = network, parts
        self._local = np.empty(network.n_all, np.int32)
        self._local[parts.atom] = np.arange(network.n_all) - np.repeat(parts.start[:-1], np.diff(parts.start))
        owner = parts.component_of[network.group_atom[network.group_start[:-1]]] if network.n_groups else np.zeros(0, np.int32)
        self._group = np.argsort(owner, kind="stable")
        self._group_start = offsets(np.bincount(owner, minlength=parts.n_components))

    def part(self, number: int) -> Part:
        """Cut a component out; nothing outside of it shares a clause, a group or a definition with it."""
        network, parts, local = self._network, self._parts, self._local
        atom = parts.atom[parts.start[number] : parts.start[number + 1]]
        clause = parts.clause[parts.clause_start[number] : parts.clause_start[number + 1]].astype(np.int64)
        start, literal = _taken(network.clause_start, network.clause_literal, clause)
        literal = _renumbered(literal, local)
        groups = self._group[self._group_start[number] : self._group_start[number + 1]]
        group_start, group_atom = _taken(network.group_start, network.group_atom, groups)
        hidden = (atom[atom >= network.n_atoms] - network.n_atoms).astype(np.int64)
        definition_start, definition_literal = _taken(network.definition_start, network.definition_literal, hidden)
        atom_start, atom_clause = atom_rows(start, literal, len(atom))
        made = replace(
            network,
            n_atoms=len(atom) - len(hidden),
            clause_start=start,
            clause_literal=literal,
            clause_weight=network.clause_weight[clause],
            atom_bias=network.atom_bias[atom],
            atom_start=atom_start,
            atom_clause=atom_clause,
            group_start=group_start,
            group_atom=local[group_atom],
            definition_start=definition_start,
            definition_literal=_renumbered(definition_literal, local),
            definition_rule=network.definition_rule[hidden],
            log_constant=0.0,
            hard_rule=NO_RULES,
            unit_rule=NO_RULES,
        )
        return Part(frozen(made), atom)


def _taken(start: Int64, value: Int32, rows: Int64) -> tuple[Int64, Int32]:
    lengths = start[rows + 1] - start[rows]
    new = offsets(lengths)
    at = np.repeat(start[rows] - new[:-1], lengths) + np.arange(int(new[-1]))
    return new, value[at]


def _renumbered(literal: Int32, local: Int32) -> Int32:
    made: Int32 = (2 * local[literal >> 1] + (literal & 1)).astype(np.int32)
    return made
