"""What is averaged over the draws: values or conditionals, of an atom itself or of all members of its orbit."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from markovlogic.errors import InputError
from markovlogic.estimation.orbit_pools import OrbitPools, orbit_pools
from markovlogic.estimation.tallies import Cubes
from markovlogic.symmetry.find import Symmetries
from markovlogic.system.arrays import Int32

CONDITIONAL_CELLS = 1 << 24  # "auto" collects conditionals up to so many open atoms times chains


@dataclass(frozen=True)
class Estimator:
    """Two questions, answered once: are conditionals averaged, and are they pooled over orbits?

    either: samples are pooled beside conditionals, and whichever average varies less is given (orbit means of conditionals can be
    worse than those of samples, papers.md 3.6).
    """

    pooled: bool = False
    conditional: bool = False
    either: bool = False

    @property
    def name(self) -> str:
        """As users write it."""
        return next(name for name, value in NAMED.items() if (value.pooled, value.conditional) == (self.pooled, self.conditional))


NAMED = {
    "sample": Estimator(),
    "conditional": Estimator(conditional=True),
    "orbit": Estimator(pooled=True),
    "orbit-conditional": Estimator(pooled=True, conditional=True),
}
WISHES = ("auto", *NAMED)


def resolved(wish: str, *, has_conditionals: bool, cells: int, has_pools: bool) -> Estimator:
    """The estimator that a wish comes to.

    cells: open atoms times chains. has_pools: whether symmetries that the query meets are at hand, to be averaged over.
    """
    if wish == "auto":
        gather = has_conditionals and cells <= CONDITIONAL_CELLS
        return Estimator(pooled=has_pools, conditional=gather, either=has_pools and gather)
    if wish not in NAMED:
        raise InputError(f"unknown estimator {wish!r}", hint=f"known are {', '.join(WISHES)}")
    found = NAMED[wish]
    if found.conditional and not has_conditionals:
        plain = Estimator(pooled=found.pooled).name
        raise InputError("this method has no conditionals to average", hint=f"take --estimator {plain}")
    if found.pooled and not has_pools:
        raise InputError(f"the estimator {wish} needs the orbits of the query (`pools`)")
    return found


AUTO_ATOMS = 1 << 24  # "auto" looks for orbits up to so many open atoms: a second or two
AUTO_POOL_CELLS = 1 << 22  # and pools them up to so many orbits times chains: a hundred megabytes


def wants_orbits(wish: str, n_atoms: int) -> bool:
    """Whether an estimator, as the user named it, has use for symmetries."""
    return n_atoms <= AUTO_ATOMS if wish == "auto" else wish in NAMED and NAMED[wish].pooled


def plan_pools(
    symmetries: Symmetries, wish: str, query_atoms: Int32, events: Sequence[Cubes], *, chains: int
) -> OrbitPools | None:
    """The pools for a run; None where "auto" finds no symmetry that the query meets, or too many small orbits."""
    if wish == "auto" and symmetries.kind == "twins" and symmetries.renamings.is_trivial:
        return None
    pools = orbit_pools(symmetries.group, query_atoms, events, renamings=symmetries.renamings)
    if wish == "auto" and (not pools.n_pools or pools.n_pools * chains > AUTO_POOL_CELLS):
        return None
    return pools


def remarks_on(pools: OrbitPools, estimator: Estimator, taken: Estimator, method: str, *, fixed_order: bool) -> tuple[str, ...]:
    """What the estimator does and does not promise; `taken` is the one that gave the numbers.

    That averages over *dependent* draws gain as well needs a kernel that commutes with the group ([003] Prop. 7, papers.md
    2.14); a sweep in one fixed order does not.
    """
    if not estimator.pooled:
        return ()
    name = estimator.name
    if not pools.n_pools:
        return (f"no symmetry moves what was asked for, so the estimator {name} had nothing to average over",)
    found = []
    if estimator.either and not taken.conditional:
        found.append("orbit means of samples vary less here than those of conditionals, and are what is given")
    if fixed_order:
        found.append(
            f"{name}: {method} visits atoms in one fixed order, which symmetries do not preserve; so the smaller "
            'error is guaranteed draw by draw, and for averages over draws only with a random order (Gibbs(scan="random"))'
        )
    return tuple(found)
