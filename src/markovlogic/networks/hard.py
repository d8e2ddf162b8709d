"""The hard part of a network: everything that a possible world must obey, as clauses, groups and decided atoms."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from markovlogic.networks.ground import atom_rows, group_of, with_definitions
from markovlogic.system.arrays import Bool, Int32, Int64, each_once, frozen, offsets

if TYPE_CHECKING:
    from markovlogic.networks.ground import GroundNetwork

NO_RULE = -1  # of a definition, and of clauses whose rule is not known


@dataclass(frozen=True, eq=False)
class HardPart:
    """Everything that a possible world must obey.

    Definitions of hidden atoms are among the clauses where a hard clause speaks of a hidden atom; elsewhere hidden atoms follow
    from the others and need no clause.
    """

    clause_start: Int64
    clause_literal: Int32
    atom_start: Int64
    atom_clause: Int32
    group_start: Int64
    group_atom: Int32
    group_of: Int32  # (n_all,) -1 outside of groups
    value: npt.NDArray[np.int8]  # (n_all,) what hard unit clauses decide, -1 elsewhere
    has_hidden: bool
    clause_rule: Int32  # (n_clauses,) the rule that each clause comes from, or NO_RULE
    value_rule: Int32  # (n_decided,) the same of what decides atoms, in their order

    @property
    def n_clauses(self) -> int:
        """Ground hard clauses of two or more literals."""
        return len(self.clause_start) - 1

    @property
    def is_empty(self) -> bool:
        """Whether any world with one true atom a group, and decided atoms as decided, is possible."""
        return self.n_clauses == 0

    @property
    def clauses(self) -> tuple[Int64, Int32, Int64, Int32]:
        """The clauses as kernels take them."""
        return self.clause_start, self.clause_literal, self.atom_start, self.atom_clause

    @property
    def groups(self) -> tuple[Int64, Int32, Int32]:
        """The exclusive groups as kernels take them."""
        return self.group_start, self.group_atom, self.group_of

    @property
    def rules(self) -> Int32:
        """The rules that it comes from, as far as they are known."""
        known = np.concatenate([self.clause_rule, self.value_rule])
        return each_once(known[known != NO_RULE])

    def of_rules(self, rules: Int32) -> HardPart:
        """What some of the rules ask for; definitions and groups stay, and so does what is of no known rule."""
        stays = _among(self.clause_rule, rules)
        length = np.diff(self.clause_start)
        start = offsets(length[stays])
        literal = self.clause_literal[np.repeat(stays, length)]
        value = self.value.copy()
        value[np.flatnonzero(value >= 0)[~_among(self.value_rule, rules)]] = -1
        atom_start, atom_clause = atom_rows(start, literal, len(value))
        made = replace(
            self,
            clause_start=start,
            clause_literal=literal,
            atom_start=atom_start,
            atom_clause=atom_clause,
            value=value,
            clause_rule=self.clause_rule[stays],
            value_rule=self.value_rule[_among(self.value_rule, rules)],
        )
        return frozen(made)


def _among(rule: Int32, rules: Int32) -> Bool:
    among: Bool = np.isin(rule, rules) | (rule == NO_RULE)
    return among


def hard_part(network: GroundNetwork) -> HardPart:
    """Collect the hard part of a network."""
    first = int(network.clause_start[network.n_soft])
    start = network.clause_start[network.n_soft :] - first
    literal = network.clause_literal[first:]
    decided = np.isinf(network.atom_bias)
    value = np.where(decided, network.atom_bias > 0, -1).astype(np.int8)
    has_hidden = bool((literal >> 1 >= network.n_atoms).any() or decided[network.n_atoms :].any())
    if has_hidden:
        start, literal = with_definitions(network, start, literal)
    atom_start, atom_clause = atom_rows(start, literal, network.n_all)
    return frozen(
        HardPart(
            np.ascontiguousarray(start),
            literal,
            atom_start,
            atom_clause,
            network.group_start,
            network.group_atom,
            group_of(network),
            value,
            has_hidden,
            _padded(network.hard_rule, len(start) - 1),
            _padded(network.unit_rule, int(decided.sum())),
        )
    )


def _padded(rule: Int32, n: int) -> Int32:
    return np.concatenate([rule, np.full(n - len(rule), NO_RULE, np.int32)])
