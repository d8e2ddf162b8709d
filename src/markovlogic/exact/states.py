"""The free choices of a world: an exclusive group is one variable of many states, any other open atom one of two."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from markovlogic.exact.shapes import UNDECIDED, Shape
from markovlogic.networks.ground import Float64


@dataclass(frozen=True, eq=False)
class Variable:
    """A choice: in state s, atom[i] is true iff value[s, i]. States that an infinite bias forbids are left out."""

    atom: tuple[int, ...]
    value: npt.NDArray[np.bool_]  # (n_states, n_atoms of it); no state at all when the choice is impossible

    @property
    def n_states(self) -> int:
        """How many states are left."""
        return len(self.value)


_BOTH = np.array([[False], [True]])


def variables_of(shape: Shape) -> list[Variable]:
    """All choices of a component: groups first, then the atoms outside groups, by number."""
    grouped = np.zeros(shape.n_open, bool)
    if len(np.unique(shape.group_atom)) != len(shape.group_atom):
        raise ValueError("an atom stands in two exclusive groups")
    grouped[shape.group_atom] = True
    found = []
    for g in range(len(shape.group_start) - 1):
        atom = shape.group(g)
        value = np.eye(len(atom), dtype=bool)
        fixed = shape.fixed[atom]
        allowed = ~((value & (fixed == 0)) | (~value & (fixed == 1))).any(axis=1)
        found.append(Variable(tuple(atom), value[allowed]))
    for a in np.nonzero(~grouped)[0].tolist():
        fixed_value = int(shape.fixed[a])
        found.append(Variable((a,), _BOTH if fixed_value == UNDECIDED else _BOTH[fixed_value : fixed_value + 1]))
    return found


def normalised(true: Float64, false: Float64) -> Float64:
    """The share true / (true + false), exactly 0 or 1 where one of them is 0."""
    share: Float64 = true / (true + false)
    return share
