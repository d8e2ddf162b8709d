"""One door to all kinds of symmetry: twins at once, a search where it is requested, and what came of it.

Estimators, samplers, `mln symmetries` and experiments come through here, so that what is found is found once and means one thing.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from markovlogic.networks.ground import GroundNetwork
from markovlogic.problem import Problem
from markovlogic.symmetry.base import AtomGroup, ConstantClasses, OrbitPartition
from markovlogic.symmetry.groups import RenamingGroup
from markovlogic.symmetry.twins import twin_classes

KINDS = ("twins", "refined", "automorphisms", "auto")
DEFAULT_BUDGET = 10.0  # seconds for a search
FEW_ATOMS = 200_000  # open atoms up to which `auto` searches


@dataclass(frozen=True, eq=False)
class Symmetries:
    """What was found: sound classes of constants (twins), a group of permutations of the open atoms, and its orbits."""

    kind: str  # of the group: "twins", "refined" or "automorphisms"
    group: AtomGroup  # for atoms, and for moves
    renamings: RenamingGroup  # inside twin classes: orbits of conjunctions under them can be counted without being listed
    orbits: OrbitPartition
    notes: tuple[str, ...] = ()  # on the search

    @property
    def classes(self) -> ConstantClasses:
        """Interchangeable constants."""
        return self.renamings.classes

    @property
    def moves_something(self) -> bool:
        """Whether any open atom has a counterpart."""
        return bool((self.orbits.size > 1).any())


class SymmetryFinder:
    """The symmetries of one problem, each kind looked for when it is first needed, and kept.

    orbits: one of `running.sampling.ORBITS`, what chains and estimators use; "auto" leaves it to them.
    """

    def __init__(
        self,
        problem: Problem,
        network: GroundNetwork | None = None,
        *,
        budget_seconds: float = DEFAULT_BUDGET,
        orbits: str = "auto",
    ) -> None:
        self._problem, self._network, self._budget, self._orbits = problem, network, budget_seconds, orbits

    @cached_property
    def classes(self) -> ConstantClasses:
        """Constants that may change places two by two, in linear time; no orbit is listed."""
        return twin_classes(self._problem)

    @cached_property
    def twins(self) -> Symmetries:
        """All renamings inside twin classes: found quickly, and sound by construction."""
        renamings = RenamingGroup(self._problem, self.classes)
        return Symmetries("twins", renamings, renamings, renamings.orbits())

    @cached_property
    def for_moves(self) -> Symmetries:
        """What a chain moves by: the kind that was requested, else all that a search finds."""
        if self._orbits == "twin":
            return self.twins
        return self.found("refined") if self._orbits == "refined" else self._most

    def for_averages(self, *, searching: bool) -> Symmetries:
        """What an estimator averages over: what was requested; else all that a search finds, or without one the twins."""
        return self.for_moves if searching or self._orbits != "auto" else self.twins

    @cached_property
    def _most(self) -> Symmetries:
        """All that a search of some seconds finds in the network, exchanges of values included; or the twins, if that is no more.

        Evidence distinguishes constants, and most twins with them; yet atoms that evidence leaves in like surroundings can change
        places all the same.
        """
        from markovlogic.symmetry.automorphisms import fewest_orbits, network_automorphisms

        twins, network = self.twins, self._network
        if network is None or network.n_atoms > FEW_ATOMS:
            many = f"{len(self._problem.atoms):,} open atoms are many for a search"
            nothing = "nothing was grounded that could be searched, and orbits=refined finds all renamings"
            note = f"only twins were looked for: {nothing if network is None else many}"
            return Symmetries("twins", twins.group, twins.renamings, twins.orbits, (note,))
        trivial = twins.renamings.is_trivial
        if not trivial and twins.orbits.n_orbits <= fewest_orbits(network, signed=True):
            return twins  # no symmetry can join more
        found = network_automorphisms(network, signed=True, budget_seconds=self._budget)
        if not trivial and found.orbits().n_orbits >= twins.orbits.n_orbits:
            return twins  # sampled uniformly, and nothing to keep
        return Symmetries("automorphisms", found, twins.renamings, found.orbits(), found.notes)

    def found(self, kind: str) -> Symmetries:
        """Symmetries of one kind, as `mln symmetries` shows them: permutations, no exchanges of values.

        `twins`, products of exchanges of two constants, in linear time; `refined`, all renamings of constants that preserve the
        evidence, by refinement and search; `automorphisms`, all permutations of the ground network's atoms, by search (needs the
        network); `auto`, the last where there is a network, else the second, and twins where a search would be long or shows
        nothing more. A search that does not end within the budget gives what it found, or the twins if these have fewer orbits.
        """
        if kind not in KINDS:
            raise ValueError(f"unknown kind of symmetry {kind}; there are {', '.join(KINDS)}")
        if kind == "automorphisms" and self._network is None:
            raise ValueError("automorphisms of a network need the network")
        twins = self.twins
        if kind == "twins" or twins.orbits.n_orbits <= 1:
            return twins
        if kind == "auto" and len(self._problem.atoms) > FEW_ATOMS:
            note = f"only twins were looked for: {len(self._problem.atoms):,} open atoms are many for a search"
            return Symmetries("twins", twins.group, twins.renamings, twins.orbits, (note,))
        searched = self._refined() if kind == "refined" or self._network is None else self._automorphisms(self._network)
        if searched.notes and searched.orbits.n_orbits > twins.orbits.n_orbits:
            notes = (*searched.notes, "twins are used instead")
            return Symmetries("twins", twins.group, twins.renamings, twins.orbits, notes)
        if kind == "auto" and searched.orbits.n_orbits == twins.orbits.n_orbits:
            return Symmetries("twins", twins.group, twins.renamings, twins.orbits, searched.notes)
        return searched

    def _refined(self) -> Symmetries:
        from markovlogic.symmetry.renamings import evidence_automorphisms

        found = evidence_automorphisms(self._problem, self.classes, budget_seconds=self._budget)
        return Symmetries("refined", found, self.twins.renamings, found.orbits(), found.notes)

    def _automorphisms(self, network: GroundNetwork) -> Symmetries:
        from markovlogic.symmetry.automorphisms import network_automorphisms

        found = network_automorphisms(network, signed=False, budget_seconds=self._budget)
        return Symmetries("automorphisms", found, self.twins.renamings, found.orbits(), found.notes)
