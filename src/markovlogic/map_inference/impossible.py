"""What to tell where it is proved that hard rules leave no world: as few of the rules as are proved to contradict each other."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from markovlogic.map_inference.parting import Parting
from markovlogic.map_inference.program import maximize_program
from markovlogic.map_inference.restricting import restricted
from markovlogic.networks.components import components
from markovlogic.networks.conflicts import Conflict, NoWorldError, no_world, propagates
from markovlogic.networks.ground import NO_RULES, GroundNetwork
from markovlogic.networks.hard import HardPart, hard_part
from markovlogic.system.arrays import frozen


def proved_impossible(network: GroundNetwork) -> NoWorldError:
    """The error for a network that has no world; the rules that it names have none either."""
    part = hard_part(network)
    conflict = no_world(part).conflict
    if not conflict.is_proven:
        conflict = _proved(part, conflict)
    return NoWorldError(conflict)


def _proved(part: HardPart, conflict: Conflict) -> Conflict:
    """A search found no world for the rules that it names; an integer program knows whether there is one."""
    if is_impossible(part.of_rules(conflict.rules)):
        return replace(conflict, is_proven=True)
    return replace(conflict, rules=part.rules, is_proven=True, is_least=False)


def is_impossible(part: HardPart) -> bool:
    """Whether it is proved that no world obeys a hard part."""
    value = part.value.copy()
    if not propagates(part, value):
        return True
    rest = restricted(_network(part), value).network
    parts = components(rest)
    parting = Parting(rest, parts)
    for number in range(parts.n_components):
        found = maximize_program(parting.part(number).network, None)
        if found.world is None and found.is_optimal:
            return True
    return False


def _network(part: HardPart) -> GroundNetwork:
    """The hard part as a network without weights, in which hidden atoms are bound by its clauses."""
    none = np.zeros(0, np.int32)
    return frozen(
        GroundNetwork(
            n_atoms=len(part.value),
            clause_start=part.clause_start,
            clause_literal=part.clause_literal,
            clause_weight=np.full(part.n_clauses, np.inf),
            atom_bias=np.zeros(len(part.value)),
            atom_start=part.atom_start,
            atom_clause=part.atom_clause,
            group_start=part.group_start,
            group_atom=part.group_atom,
            definition_start=np.zeros(1, np.int64),
            definition_literal=none,
            definition_rule=none,
            log_constant=0.0,
            hard_rule=NO_RULES,
            unit_rule=NO_RULES,
        )
    )
