"""Whether a run pools orbits: which symmetries are looked for, and what a user should know about the gain."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy.typing as npt

from markovlogic.arrays import Int32
from markovlogic.estimate.orbit_pools import OrbitPools, orbit_pools
from markovlogic.networks.ground import GroundNetwork
from markovlogic.problem import Problem
from markovlogic.symmetry.automorphisms import fewest_orbits, network_automorphisms
from markovlogic.symmetry.base import AtomGroup
from markovlogic.symmetry.groups import RenamingGroup
from markovlogic.symmetry.twins import twin_classes

AUTO_ATOMS = 1 << 24  # "auto" looks for orbits up to so many open atoms: a second or two
SEARCHED_ATOMS = 200_000  # beyond so many, symmetries other than twins are not searched for
SEARCH_SECONDS = 10.0
AUTO_POOL_CELLS = 1 << 22  # and pools them up to so many orbits times chains: a hundred megabytes


def wants_orbits(estimator: str, n_atoms: int) -> bool:
    """Whether an estimator, as the user named it, has use for symmetries."""
    return estimator.startswith("orbit") or (estimator == "auto" and n_atoms <= AUTO_ATOMS)


def has_twins(problem: Problem) -> bool:
    """Whether "auto" would find open atoms that interchangeable constants make alike."""
    if len(problem.atoms) > AUTO_ATOMS:
        return False
    group = RenamingGroup(problem, twin_classes(problem))
    return not group.is_trivial and bool((group.orbits().size > 1).any())


class Symmetries(NamedTuple):
    """What was found of a problem's symmetries."""

    group: AtomGroup  # for atoms, and for moves
    renamings: RenamingGroup  # for conjunctions, whose orbits under renamings can be counted without being listed
    notes: tuple[str, ...] = ()  # on the search


def symmetry_group(problem: Problem, network: GroundNetwork, *, search: bool) -> Symmetries:
    """All renamings inside twin classes, found quickly and sound by construction; or all that a search finds, if that is more.

    search: look for the other symmetries of the network, exchanges of values included, for a few seconds. Evidence tells
    constants apart, and most twins with them; yet atoms that evidence leaves in like surroundings can change places all the same.
    """
    renamings = RenamingGroup(problem, twin_classes(problem))
    if not search or network.n_atoms > SEARCHED_ATOMS:
        return Symmetries(renamings, renamings)
    if not renamings.is_trivial and renamings.orbits().n_orbits <= fewest_orbits(network, signed=True):
        return Symmetries(renamings, renamings)  # no symmetry can join more
    found = network_automorphisms(network, signed=True, budget_seconds=SEARCH_SECONDS)
    if not renamings.is_trivial and found.orbits().n_orbits >= renamings.orbits().n_orbits:
        return Symmetries(renamings, renamings)
    return Symmetries(found, renamings, found.notes)


def plan_pools(
    symmetries: Symmetries,
    estimator: str,
    query_atoms: Int32,
    events: Sequence[npt.NDArray[Any]],
    *,
    chains: int,
) -> OrbitPools | None:
    """The pools for a run; None where "auto" finds no symmetry that the query meets, or too many small orbits."""
    group = symmetries.group
    if estimator == "auto" and isinstance(group, RenamingGroup) and group.is_trivial:
        return None
    pools = orbit_pools(group, query_atoms, events, renamings=symmetries.renamings)
    if estimator == "auto" and (not pools.n_pools or pools.n_pools * chains > AUTO_POOL_CELLS):
        return None
    return pools


def remarks_on(pools: OrbitPools, settings: Any, estimator: str) -> tuple[str, ...]:
    """What the estimator does and does not promise.

    That averages over *dependent* draws gain as well needs a kernel that commutes with the group ([003] Prop. 7, ALGORITHMS.md
    2.14); a sweep in one fixed order does not.
    """
    if not estimator.startswith("orbit"):
        return ()
    if not pools.n_pools:
        return (f"no symmetry moves what was asked for, so the estimator {estimator} had nothing to average over",)
    base = getattr(settings, "base", settings)
    if getattr(base, "scan", "") == "systematic" and settings.method != "orbital":
        return (
            f"{estimator}: {settings.method} visits atoms in one fixed order, which symmetries do not preserve; so the smaller "
            'error is guaranteed draw by draw, and for averages over draws only with a random order (Gibbs(scan="random"))',
        )
    return ()
