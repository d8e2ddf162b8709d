"""Whether a run pools orbits: which symmetries are looked for, and what a user should know about the gain."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy.typing as npt

from markovlogic.estimate.orbit_pools import Int32, OrbitPools, orbit_pools
from markovlogic.problem import Problem
from markovlogic.symmetry.groups import RenamingGroup
from markovlogic.symmetry.twins import twin_classes

AUTO_ATOMS = 1 << 24  # "auto" looks for orbits up to so many open atoms: a second or two
AUTO_POOL_CELLS = 1 << 25  # and pools them up to so many orbits times chains


def wants_orbits(estimator: str, n_atoms: int) -> bool:
    """Whether an estimator, as the user named it, has use for symmetries."""
    return estimator.startswith("orbit") or (estimator == "auto" and n_atoms <= AUTO_ATOMS)


def renaming_group(problem: Problem) -> RenamingGroup:
    """All renamings inside twin classes: found quickly, sound by construction."""
    return RenamingGroup(problem, twin_classes(problem))


def plan_pools(
    group: RenamingGroup,
    estimator: str,
    query_atoms: Int32,
    events: Sequence[npt.NDArray[Any]],
    *,
    chains: int,
) -> OrbitPools | None:
    """The pools for a run; None where "auto" finds no symmetry that the query meets, or too many small orbits."""
    if estimator == "auto" and group.is_trivial:
        return None
    pools = orbit_pools(group, query_atoms, events)
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
