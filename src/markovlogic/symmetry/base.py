"""Values that the symmetry service hands to estimators, samplers and exact engines.

Words matter here: a group yields *orbits*; colour refinement yields an *equitable partition*, which may be coarser than the
orbits and is therefore never used where orbits are needed.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from markovlogic.system.arrays import Int32, Int64, Pickled, short_digest


@dataclass(frozen=True, eq=False)
class ConstantClasses(Pickled):
    """A partition of the constants of every type.

    `sound` says that every permutation inside the classes is an automorphism of model and evidence (twin classes); classes
    that only propose (low rank, k-means, colours with tolerance) and equitable partitions are not sound.
    """

    class_of: Mapping[str, Int32]  # type -> (n_constants,) ids 0..n_classes-1 without gaps, in order of first member
    sound: bool
    source: str  # "twins", "equitable", "bmf rank 5", …: shown to users

    def n_classes(self, type_name: str) -> int:
        """How many classes a type has."""
        classes = self.class_of[type_name]
        return int(classes.max()) + 1 if len(classes) else 0


@dataclass(frozen=True, eq=False)
class OrbitPartition(Pickled):
    """A partition of the open atoms into sets whose members have the same marginal."""

    orbit_of: Int32  # (n_atoms,) ids 0..n_orbits-1 without gaps, in order of the smallest member
    size: Int64  # (n_orbits,)
    source: str

    @property
    def n_orbits(self) -> int:
        """How many orbits there are."""
        return len(self.size)

    @property
    def words(self) -> str:
        """What distinguishes these orbits from others: a run must not go on with other ones."""
        return f"{self.source}, {self.n_orbits:,} orbits ({short_digest(self.orbit_of)})"


class AtomGroup(Protocol):
    """A group of permutations of the open atoms that leave the target invariant."""

    @property
    def n_atoms(self) -> int:
        """How many open atoms it acts on."""
        ...

    def memory(self, rng: np.random.Generator) -> Int32:
        """What elements drawn one after the other keep between them, begun and burnt in; empty where each is drawn afresh.

        Flat, so that a chain's state holds it as one array.
        """
        ...

    def next_literals(self, rng: np.random.Generator, memory: Int32) -> Int32:
        """The next element, as images of the literals `atom is true`, (n_atoms,): 2b + 1 where a's value becomes b's, 2b where
        b becomes its negation. Changes `memory`. Uniform, or nearly so where stated.
        """
        ...

    def check(self, memory: Int32) -> None:
        """A memory that was read back is one that this group's draws could have left; a ValueError where not."""
        ...

    def orbits(self) -> OrbitPartition:
        """The orbits of single atoms."""
        ...

    def literal_orbits(self) -> Int64:
        """(2·n_atoms,) the orbit of each literal 2·atom + sign; without exchanges of values no two signs share one."""
        orbits = self.orbits()
        label = np.empty(2 * len(orbits.orbit_of), np.int64)
        label[1::2] = orbits.orbit_of
        label[0::2] = orbits.orbit_of + orbits.n_orbits
        return label

    def literal_generators(self) -> list[Int32]:
        """Generators as images of literals, by which orbits of conjunctions are listed; empty where they are found otherwise."""
        return []
