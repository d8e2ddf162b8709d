"""A predicate as a literal of a hard clause sees it: falsified where that is known, satisfied everywhere else.

With such relations, joins that find the substitutions which satisfy no literal (`grounding.plan`) find those in which every
literal is *known* to be false.
"""

from __future__ import annotations

import numpy as np

from markovlogic.data.evidence import FALSE, TRUE
from markovlogic.grounding.relations import Relation
from markovlogic.problem import Statuses
from markovlogic.system.arrays import Int64


def falsifying(positive: bool) -> int:
    """The truth value of an atom that falsifies its literal."""
    return FALSE if positive else TRUE


def falsified(table: str, statuses: Statuses, types: tuple[str, ...], *, positive: bool) -> Relation:
    """The relation that literals of one sign read."""
    value = falsifying(positive)
    if statuses.default == value:
        return _two_valued(table, statuses, types, default=value, code=statuses.code)
    return _two_valued(table, statuses, types, default=1 - value, code=statuses.code[statuses.status == value])


def falsified_at(table: str, statuses: Statuses, types: tuple[str, ...], code: Int64, *, positive: bool) -> Relation:
    """The same where only some atoms count as known, those with the codes given."""
    return _two_valued(table, statuses, types, default=1 - falsifying(positive), code=code)


def _two_valued(table: str, statuses: Statuses, types: tuple[str, ...], *, default: int, code: Int64) -> Relation:
    made = Statuses(statuses.predicate, statuses.sizes, default, code, np.full(len(code), 1 - default, np.int8))
    return Relation(table, made, types, np.full(len(code), -1, np.int32))


def is_ever_falsified(statuses: Statuses, *, positive: bool) -> bool:
    """Whether any atom is known to falsify a literal of this sign."""
    value = falsifying(positive)
    if statuses.default == value:
        return len(statuses.code) < statuses.n_ground
    return bool((statuses.status == value).any())
