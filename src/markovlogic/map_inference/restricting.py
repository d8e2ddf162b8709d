"""A network without its decided atoms: clauses that they make true are gone, literals that they make false too."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from markovlogic.networks.conflicts import no_world, propagates
from markovlogic.networks.ground import GroundNetwork, atom_rows
from markovlogic.networks.hard_part import hard_part
from markovlogic.system.arrays import Bool, Int8, Int32, Int64, frozen, offsets

UNDECIDED = -1


@dataclass(frozen=True, eq=False)
class Restriction:
    """What is left of a network, and the way back."""

    network: GroundNetwork  # no atom of it has an infinite bias
    atom: Int32  # (n_all of the rest,) the number of each of its atoms before
    value: Int8  # (n_all before,) what is decided, UNDECIDED elsewhere

    def expanded(self, world: Bool) -> Bool:
        """A world of the whole network, (n_all,), from one of the rest."""
        full: Bool = self.value == 1
        full[self.atom] = world
        return full


def decided_by_hard_rules(network: GroundNetwork) -> Int8:
    """Unit propagation over hard clauses, exclusive groups and definitions; raises NoWorldError where they contradict."""
    value = np.where(np.isinf(network.atom_bias), network.atom_bias > 0, UNDECIDED).astype(np.int8)
    part = hard_part(network)
    if part.is_empty and not network.n_groups:
        return value
    if not propagates(part, value):
        raise no_world(part)
    return value


def restricted(network: GroundNetwork, value: Int8) -> Restriction:
    """Leave out what is decided. value: (n_all,) the result of propagation, or that and more.

    Hidden atoms that are decided leave their definition behind as a hard clause; those that their own literals decide are found
    here.
    """
    value = value.copy()
    clauses = [_Rows(network.clause_start, network.clause_literal)]
    value, definitions = _decided_hidden(network, value)
    stays = np.flatnonzero(value == UNDECIDED).astype(np.int32)
    number = np.full(network.n_all, -1, np.int32)
    number[stays] = np.arange(len(stays), dtype=np.int32)
    rest, kept, true = clauses[0].without(value)
    n_soft = network.n_soft
    soft_kept = kept < n_soft
    weight = network.clause_weight
    constant = network.log_constant + float(weight[:n_soft][true[:n_soft]].sum())
    finite = np.isfinite(network.atom_bias)
    constant += float(network.atom_bias[finite & (value == 1)].sum())
    bias = np.where(finite, network.atom_bias, 0.0)[stays]
    # what is left of one literal is a bias; hard ones were propagated
    sizes = np.diff(rest.start)
    single = soft_kept & (sizes == 1)
    literal = rest.literal[rest.start[:-1][single]]
    own = weight[kept[single]]
    np.add.at(bias, number[literal >> 1], np.where(literal & 1, own, -own))
    constant += float(own[(literal & 1) == 0].sum())
    longer = sizes > 1
    extra = definitions.as_clauses
    rows = rest.taken(np.flatnonzero(longer)).joined(extra)
    new_weight = np.concatenate([weight[kept[longer]], np.full(extra.n_rows, np.inf)])
    clause_literal = _renumbered(rows.literal, number)
    atom_start, atom_clause = atom_rows(rows.start, clause_literal, len(stays))
    group_start, group_atom = _groups_left(network, value)
    left = definitions.left
    made = replace(
        network,
        n_atoms=int(np.count_nonzero(stays < network.n_atoms)),
        clause_start=rows.start,
        clause_literal=clause_literal,
        clause_weight=new_weight,
        atom_bias=bias,
        atom_start=atom_start,
        atom_clause=atom_clause,
        group_start=group_start,
        group_atom=number[group_atom],
        definition_start=left.start,
        definition_literal=_renumbered(left.literal, number),
        definition_rule=network.definition_rule[definitions.kept],
        log_constant=constant,
        hard_rule=np.zeros(0, np.int32),
        unit_rule=np.zeros(0, np.int32),
    )
    return Restriction(frozen(made), frozen(stays), frozen(value))


@dataclass(frozen=True, eq=False)
class _Rows:
    """Rows of literals."""

    start: Int64
    literal: Int32

    @property
    def n_rows(self) -> int:
        return len(self.start) - 1

    def without(self, value: Int8) -> tuple[_Rows, Int64, Bool]:
        """The rows that nothing decided makes true, without their false literals; which they are; and which are true."""
        known = value[self.literal >> 1]
        row = np.repeat(np.arange(self.n_rows), np.diff(self.start))
        true = np.zeros(self.n_rows, np.bool_)
        true[row[(known != UNDECIDED) & (known == (self.literal & 1))]] = True
        stays = (known == UNDECIDED) & ~true[row]
        kept = np.flatnonzero(~true)
        lengths = np.bincount(row[stays], minlength=self.n_rows)[kept]
        return _Rows(offsets(lengths), self.literal[stays]), kept, true

    def taken(self, rows: Int64) -> _Rows:
        stays = np.zeros(self.n_rows, np.bool_)
        stays[rows] = True
        lengths = np.diff(self.start)
        return _Rows(offsets(lengths[rows]), self.literal[np.repeat(stays, lengths)])

    def joined(self, other: _Rows) -> _Rows:
        return _Rows(
            np.concatenate([self.start, self.start[-1] + other.start[1:]]), np.concatenate([self.literal, other.literal])
        )


@dataclass(frozen=True, eq=False)
class _Definitions:
    left: _Rows  # of hidden atoms that are not decided
    kept: Int64  # their rows before
    as_clauses: _Rows  # decided to be true, but not yet by a literal of theirs


def _decided_hidden(network: GroundNetwork, value: Int8) -> tuple[Int8, _Definitions]:
    """Hidden atoms that are decided by their definitions, and what is left of the definitions."""
    rows = _Rows(network.definition_start, network.definition_literal)
    while True:
        left, kept, true = rows.without(value)
        empty = np.zeros(rows.n_rows, np.bool_)
        empty[kept[np.diff(left.start) == 0]] = True
        own = value[network.n_atoms :]
        news = (own == UNDECIDED) & (true | empty)
        if not news.any():
            break
        value[network.n_atoms :][news] = true[news]
    undecided = value[network.n_atoms :] == UNDECIDED
    wanted = np.zeros(rows.n_rows, np.bool_)
    wanted[kept] = value[network.n_atoms :][kept] == 1  # definitions of false ones are decided literal by literal
    of_kept = np.flatnonzero(undecided[kept])
    as_clauses = left.taken(np.flatnonzero(wanted[kept]))
    return value, _Definitions(left.taken(of_kept), kept[of_kept], as_clauses)


def _groups_left(network: GroundNetwork, value: Int8) -> tuple[Int64, Int32]:
    """Groups without a true value, and their values that are not ruled out."""
    if not network.n_groups:
        return network.group_start, network.group_atom
    group = np.repeat(np.arange(network.n_groups), np.diff(network.group_start))
    own = value[network.group_atom]
    settled = np.zeros(network.n_groups, np.bool_)
    settled[group[own == 1]] = True
    stays = (own == UNDECIDED) & ~settled[group]
    lengths = np.bincount(group[stays], minlength=network.n_groups)[~settled]
    return offsets(lengths), network.group_atom[stays]


def _renumbered(literal: Int32, number: Int32) -> Int32:
    made: Int32 = (2 * number[literal >> 1] + (literal & 1)).astype(np.int32)
    return made
