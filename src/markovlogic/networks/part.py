"""A network of some of the components of another: those that a query reaches, or the rest."""

from __future__ import annotations

import numpy as np

from markovlogic.networks.ground import GroundNetwork, atom_rows
from markovlogic.system.arrays import Bool, Int32, Int64, frozen, offsets


def part_of(network: GroundNetwork, keep: Bool, *, log_constant: float) -> GroundNetwork:
    """The atoms that are kept, numbered without gaps in their order, and all that ties them.

    keep: (n_all,) the same for all atoms of a component, so that whatever holds a kept atom holds no other.
    """
    number = (np.cumsum(keep) - 1).astype(np.int32)

    def renamed(literal: Int32) -> Int32:
        return np.asarray(2 * number[literal >> 1] + (literal & 1), np.int32)

    stays = keep[network.clause_literal[network.clause_start[:-1]] >> 1]
    start, literal = _rows(network.clause_start, network.clause_literal, stays)
    literal = renamed(literal)
    n_atoms = int(np.count_nonzero(keep[: network.n_atoms]))
    group_stays = keep[network.group_atom[network.group_start[:-1]]]
    group_start, group_atom = _rows(network.group_start, network.group_atom, group_stays)
    defined = keep[network.n_atoms :]
    definition_start, definition_literal = _rows(network.definition_start, network.definition_literal, defined)
    bias = network.atom_bias[keep]
    atom_start, atom_clause = atom_rows(start, literal, len(bias))
    return frozen(
        GroundNetwork(
            n_atoms=n_atoms,
            clause_start=start,
            clause_literal=literal,
            clause_weight=network.clause_weight[stays],
            atom_bias=bias,
            atom_start=atom_start,
            atom_clause=atom_clause,
            group_start=group_start,
            group_atom=number[group_atom],
            definition_start=definition_start,
            definition_literal=renamed(definition_literal),
            definition_rule=network.definition_rule[defined],
            log_constant=log_constant,
            hard_rule=_of_those(network.hard_rule, np.isinf(network.clause_weight), stays),
            unit_rule=_of_those(network.unit_rule, np.isinf(network.atom_bias), keep),
        )
    )


def _rows(start: Int64, value: Int32, stays: Bool) -> tuple[Int64, Int32]:
    length = np.diff(start)
    return offsets(length[stays]), value[np.repeat(stays, length)]


def _of_those(rule: Int32, has_one: Bool, stays: Bool) -> Int32:
    """Rules of what stays, where rules are known of all that has one."""
    return rule[stays[has_one]] if len(rule) else rule
