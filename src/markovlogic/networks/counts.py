"""Networks whose states are counts: how many atoms of a block are true, how many objects of a class are in a cell.

Nothing is grounded, and atoms have no values of their own: each open atom's probability is the mean of a *unit* (a block, a
class in a cell), which follows from the counts. Such a network is what a compression gives in the place of a problem.
"""

from __future__ import annotations

import hashlib
from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np

from markovlogic.guarantee import Guarantee
from markovlogic.networks.kinds import NetworkKind
from markovlogic.system.arrays import Bool, Float64, Int32, Int64


@dataclass(frozen=True, eq=False)
class CountNetwork(ABC):
    """What all of them have; arrays are read-only. Atoms are those of the posed problem."""

    n_atoms: int
    of_atom: Int32  # (n_atoms,) the unit whose mean stands for each open atom
    guarantee: Guarantee  # about the change of the target

    @property
    @abstractmethod
    def n_counts(self) -> int:
        """How many counts a state has."""

    @property
    @abstractmethod
    def n_units(self) -> int:
        """How many means are reported."""

    @abstractmethod
    def log_weights(self, counts: Int64) -> Float64:
        """Of states (n_states, n_counts), without the ways to choose the members that a count leaves open."""

    @abstractmethod
    def decided(self, atoms: Int32) -> Bool:
        """Which of these atoms have one value in every state."""

    def log_weight(self, count: Int64) -> float:
        """Of one state."""
        return float(self.log_weights(np.asarray(count)[None, :])[0])

    @property
    @abstractmethod
    def kind(self) -> NetworkKind:
        """Counts of objects, or blocks of atoms."""

    @property
    def n_all(self) -> int:
        """There are no hidden atoms."""
        return self.n_atoms

    @property
    def n_clauses(self) -> int | None:
        """Nothing is grounded."""
        return None

    @property
    def nbytes(self) -> int:
        """Bytes that the arrays take."""
        return sum(value.nbytes for value in vars(self).values() if isinstance(value, np.ndarray))

    def digest(self, *, floats: bool) -> str:
        """A digest of all arrays; without `floats`, of what does not depend on the order in which weights were summed."""
        digest = hashlib.blake2b(digest_size=16)
        for name, value in sorted(vars(self).items()):
            if isinstance(value, np.ndarray) and (floats or value.dtype.kind != "f"):
                digest.update(f"{name} {value.dtype} {value.shape}".encode())
                digest.update(np.ascontiguousarray(value).reshape(-1).view(np.uint8).data)
        return digest.hexdigest()
