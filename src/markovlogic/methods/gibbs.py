"""Gibbs sampling: what `auto` takes where exact inference would take long and single-site moves reach every world."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from markovlogic.guarantee import Guarantee
from markovlogic.methods.base import Cost, Offer, Wish
from markovlogic.methods.rates import Rates
from markovlogic.methods.sampling import SamplingMethod
from markovlogic.networks.kinds import NetworkKind
from markovlogic.samplers.irreducible import Reach

if TYPE_CHECKING:
    from markovlogic.methods.case import Case


@dataclass(frozen=True)
class GibbsMethod(SamplingMethod):
    """One atom, or exclusive group, at a time."""

    def offer(self, case: Case, cost: Cost, wish: Wish) -> Offer:
        """Take everything but what hard rules confine."""
        if case.reach is Reach.ALL:
            return Offer(True, "")
        word = "do" if case.reach is Reach.PART else "may"
        return Offer(False, f"hard clauses {word} keep single-site moves from some worlds")


METHOD = GibbsMethod(
    name="gibbs",
    summary="Gibbs sampling, 64 chains in one pass over the network; averages conditionals",
    networks=(NetworkKind.GROUND,),
    promise=Guarantee.EXACT,
    home=("markovlogic.samplers.gibbs", "Gibbs"),
    chains=64,
    rates=Rates(row=45e-9, literal=3e-9),
)
