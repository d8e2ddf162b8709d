"""Clauses of one literal over a predicate that is false but for exceptions: known atoms are counted, never gone through.

`0.5 Same(x,y)` where rules that block pairs have left a few of millions: the open ones are listed, the true ones counted, and
all others falsify the literal. With constants, repeated variables or an inequality only some of the atoms are instances.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

import numpy as np

from markovlogic.data.evidence import FALSE, TRUE, UNKNOWN, decode
from markovlogic.grounding.plan import Access, Argument, Plan
from markovlogic.grounding.rows import Rows
from markovlogic.system.arrays import Bool, Int32


@dataclass(frozen=True, eq=False)
class Unit:
    """What is left of such a clause: open literals, a row each; and how many substitutions falsify it."""

    rows: Rows
    n_falsified: int


def unit_access(found: Plan, keep: tuple[str, ...]) -> Access | None:
    """The one literal of a plan that can be read like this; None where it is no such plan. keep: of the pattern."""
    if found.nothing_left or found.fixed or keep or len(found.parts) != 1:
        return None
    part = found.parts[0]
    if part.joins or part.free or len(part.filters) != 1 or len(part.unequal) > 1:
        return None
    access = part.filters[0]
    inside = all(isinstance(side, int) or side in access.variables for pair in part.unequal for side in pair)
    return access if inside and access.positive and access.relation.statuses.default == FALSE else None


def unit_of(found: Plan, access: Access) -> Unit:
    """Open instances of the literal, and the number of falsified ones; the plan's factor comes on top."""
    statuses = access.relation.statuses
    args = decode(statuses.code, statuses.sizes)
    column: dict[str, Int32] = {}
    fits: Bool = np.ones(len(args), np.bool_)
    for position, argument in enumerate(access.args):
        own = args[:, position]
        fits &= own == (argument if isinstance(argument, int) else column.setdefault(argument, own))
    size = {name: statuses.sizes[access.args.index(name)] for name in access.variables}
    n = prod(size.values())
    for left, right in found.parts[0].unequal:
        fits &= _value(left, column) != _value(right, column)
        name = left if isinstance(left, str) else right
        assert isinstance(name, str)
        n -= n // size[name]
    literal = access.relation.literal[fits & (statuses.status == UNKNOWN)]
    n_true = int(np.count_nonzero(fits & (statuses.status == TRUE)))
    return Unit(Rows(np.arange(len(literal) + 1, dtype=np.int64), literal), n - n_true - len(literal))


def _value(side: Argument, column: dict[str, Int32]) -> Int32 | int:
    return side if isinstance(side, int) else column[side]
