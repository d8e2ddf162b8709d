"""What is averaged over the draws: values or conditionals, of an atom itself or of all members of its orbit."""

from __future__ import annotations

from dataclasses import dataclass

from markovlogic.errors import InputError

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
CHOICES = ("auto", *NAMED)


def resolved(wanted: str, *, has_conditionals: bool, cells: int, has_pools: bool) -> Estimator:
    """The estimator that an option comes to.

    cells: open atoms times chains. has_pools: whether symmetries that the query meets are at hand, to be averaged over.
    """
    if wanted == "auto":
        gather = has_conditionals and cells <= CONDITIONAL_CELLS
        return Estimator(pooled=has_pools, conditional=gather, either=has_pools and gather)
    if wanted not in NAMED:
        raise InputError(f"unknown estimator {wanted!r}", hint=f"known are {', '.join(CHOICES)}")
    found = NAMED[wanted]
    if found.conditional and not has_conditionals:
        plain = Estimator(pooled=found.pooled).name
        raise InputError("this method has no conditionals to average", hint=f"take --estimator {plain}")
    if found.pooled and not has_pools:
        raise InputError(f"the estimator {wanted} needs the orbits of the query (`pools`)")
    return found
