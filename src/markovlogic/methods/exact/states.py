"""The free choices of a world: an exclusive group is one variable of many states, any other open atom one of two."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from markovlogic.methods.exact.shapes import UNDECIDED, Shape
from markovlogic.system.arrays import Float64, Int64, each_once

NEVER = -1


@dataclass(frozen=True, eq=False)
class Variable:
    """A choice between states, in each of which at most one of its atoms is true.

    States that an infinite bias forbids are left out; there is none left when the choice is impossible.
    """

    atom: tuple[int, ...]
    true_state: Int64  # for each of the atoms the state in which it is true, or NEVER
    n_states: int


_FREE = np.array([1])
_TRUE = np.array([0])
_FALSE = np.array([NEVER])


def variables_of(shape: Shape) -> list[Variable]:
    """All choices of a component: groups first, then the atoms outside groups, by number."""
    if len(each_once(shape.group_atom)) != len(shape.group_atom):
        raise ValueError("an atom stands in two exclusive groups")
    found = [_group_choice(shape, g) for g in range(len(shape.group_start) - 1)]
    alone = np.ones(shape.n_open, bool)
    alone[shape.group_atom] = False
    for a in np.nonzero(alone)[0].tolist():
        if shape.fixed[a] == UNDECIDED:
            found.append(Variable((a,), _FREE, 2))
        else:
            found.append(Variable((a,), _TRUE if shape.fixed[a] else _FALSE, 1))
    return found


def _group_choice(shape: Shape, number: int) -> Variable:
    atom = shape.group(number)
    fixed = shape.fixed[atom]
    sure = np.count_nonzero(fixed == 1)
    allowed = fixed != 0 if sure == 0 else (fixed == 1) & (sure == 1)
    true_state = np.where(allowed, np.cumsum(allowed) - 1, NEVER)
    return Variable(tuple(atom), true_state, int(np.count_nonzero(allowed)))


def normalised(true: Float64, false: Float64) -> Float64:
    """The share true / (true + false), exactly 0 or 1 where one of them is 0."""
    share: Float64 = true / (true + false)
    return share
