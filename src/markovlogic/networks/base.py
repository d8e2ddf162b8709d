"""What every network is to those who need no clauses: atoms and a size; and where worlds are its states, conditionals and starts.

The fast kernels read arrays of their own network; these protocols are for tests, for slow samplers, for the run and for the
planner. What needs clauses says so in its type (`GroundNetwork`).
"""

from __future__ import annotations

import enum
from typing import Literal, Protocol

import numpy as np
import numpy.typing as npt


class NetworkKind(enum.StrEnum):
    """The form of a problem that a method reads; each equals its word as a string."""

    NONE = "none"  # the problem itself: nothing is grounded
    GROUND = "ground"  # clauses that the evidence leaves open, in compressed rows
    COUNTING = "counting"  # relations as bit tensors, and plans that count groundings
    COUNTS = "counts"  # of a compression: how many objects of each group are in each state
    BLOCKS = "blocks"  # of a compression: how many atoms of each block are true


COMPRESSED = (NetworkKind.COUNTS, NetworkKind.BLOCKS)  # what only a compression gives, see --compress-as


Bools = npt.NDArray[np.bool_]

StartKind = Literal["spread", "random", "false", "satisfying"]


class Network(Protocol):
    """Frozen arrays that show the probabilities of a problem's open atoms: all that a run needs to know of them.

    What its states are is its own affair: worlds (`WorldNetwork`), or counts (`networks.counts`).
    """

    @property
    def kind(self) -> NetworkKind:
        """Which of the networks it is."""
        ...

    @property
    def n_atoms(self) -> int:
        """Open atoms, in the problem's order."""
        ...

    @property
    def n_all(self) -> int:
        """Open and hidden atoms together; the latter come last."""
        ...

    @property
    def nbytes(self) -> int:
        """Bytes that its arrays take."""
        ...

    @property
    def n_clauses(self) -> int | None:
        """Ground clauses of two or more literals; None where nothing was grounded."""
        ...

    def decided(self, atoms: npt.NDArray[np.int32]) -> Bools:
        """Which of these atoms hard unit clauses fix."""
        ...

    def digest(self, *, floats: bool) -> str:
        """A digest of all arrays; without `floats`, of what does not depend on the order in which weights were summed."""
        ...


class WorldNetwork(Network, Protocol):
    """A network that weighs worlds of open atoms, and of hidden atoms that are functions of them."""

    def log_odds(self, atom: int, world: Bools) -> float:
        """Give log P(atom true | rest) − log P(atom false | rest) in float64, straight from the definition.

        ±inf where a hard clause decides, nan where both values break one. world: (n_all,); what it says of the atom itself and of
        hidden atoms does not matter. The atom is in no exclusive group (for those see `group_log_weights`).
        """
        ...

    def group_log_weights(self, group: int, world: Bools) -> npt.NDArray[np.float64]:
        """Log-weights of the values of an exclusive group given the rest, up to a constant; -inf where one is impossible."""
        ...

    def start_worlds(
        self, n_chains: int, seed: np.random.SeedSequence, kind: StartKind, first: int = 0
    ) -> npt.NDArray[np.uint64]:
        """Worlds of a batch to start from, chain-minor (n_all,); a chain's world depends on `seed` and on its place only.

        first: the number of the batch's first chain among all chains of a run, which start in different ways.
        """
        ...
