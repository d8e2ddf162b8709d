"""One door to all kinds of symmetry: twins at once, a search where it is asked for, and what came of it."""

from __future__ import annotations

from dataclasses import dataclass

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
    classes: ConstantClasses
    group: AtomGroup
    orbits: OrbitPartition
    notes: tuple[str, ...]


def find_symmetries(
    problem: Problem,
    network: GroundNetwork | None = None,
    *,
    kind: str = "twins",
    signed: bool = False,
    budget_seconds: float = DEFAULT_BUDGET,
) -> Symmetries:
    """Find symmetries of a problem that leave its target as it is.

    kind: `twins`, products of exchanges of two constants, in linear time; `refined`, all renamings of constants that preserve the
    evidence, by refinement and search; `automorphisms`, all permutations of the ground network's atoms, by search (needs
    `network`), and exchanges of their values too if `signed`; `auto`, the last where a network is given, else the second, and
    twins where a search would be long or shows nothing more. A search that does not end within the budget gives what it found,
    or the twins if these have fewer orbits.
    """
    if kind not in KINDS:
        raise ValueError(f"unknown kind of symmetry {kind}; there are {', '.join(KINDS)}")
    if (kind == "automorphisms" or signed) and network is None:
        raise ValueError("automorphisms of a network need the network")
    classes = twin_classes(problem)
    twins = RenamingGroup(problem, classes)
    plain = Symmetries("twins", classes, twins, twins.orbits(), ())
    if kind == "twins" or (plain.orbits.n_orbits <= 1 and not signed):
        return plain
    if kind == "auto" and len(problem.atoms) > FEW_ATOMS:
        note = f"only twins were looked for: {len(problem.atoms):,} open atoms are many for a search"
        return Symmetries("twins", classes, twins, plain.orbits, (note,))
    notes: tuple[str, ...]
    if kind == "refined" or network is None:
        from markovlogic.symmetry.renamings import evidence_automorphisms

        renamings = evidence_automorphisms(problem, classes, budget_seconds=budget_seconds)
        orbits, name, notes = renamings.orbits(), "refined", renamings.notes
        group: AtomGroup = renamings
    else:
        from markovlogic.symmetry.automorphisms import network_automorphisms

        permutations = network_automorphisms(network, signed=signed, budget_seconds=budget_seconds)
        orbits, name, notes = permutations.orbits(), "automorphisms", permutations.notes
        group = permutations
    if notes and orbits.n_orbits > plain.orbits.n_orbits:
        return Symmetries("twins", classes, twins, plain.orbits, (*notes, "twins are used instead"))
    if kind == "auto" and not signed and orbits.n_orbits == plain.orbits.n_orbits:
        return Symmetries("twins", classes, twins, plain.orbits, notes)  # sampled uniformly, and nothing to keep
    return Symmetries(name, classes, group, orbits, notes)
