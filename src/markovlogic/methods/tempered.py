"""Tempered chains: replica exchange, for models with modes that other chains do not cross."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from markovlogic.guarantee import Guarantee
from markovlogic.methods.rates import Rates
from markovlogic.methods.sampler_method import SamplingMethod
from markovlogic.methods.sampling.irreducible import Reachability
from markovlogic.networks.base import NetworkKind

if TYPE_CHECKING:
    from markovlogic.methods.analysis import Analysis


@dataclass(frozen=True)
class TemperedMethod(SamplingMethod):
    """Ladders of temperatures."""

    def can_replace_stuck_chains(self, analysis: Analysis) -> bool:
        """Where single-site moves reach every world: heat does not melt hard rules."""
        return analysis.network is not None and analysis.reach is Reachability.ALL


METHOD = TemperedMethod(
    name="tempered",
    summary="replica exchange: ladders of temperatures in the 64 lanes, so that chains cross between modes; estimates log Z too",
    networks=(NetworkKind.GROUND,),
    promise=Guarantee.EXACT,
    home=("markovlogic.methods.sampling.tempered", "Tempered"),
    # Ladders of 16 rungs, two batches: each crosses between phases by itself, and eight are enough for errors from their spread.
    chains=8,
    rates=Rates(row=60e-9, literal=6e-9, row_bytes=230, literal_bytes=40, batch_chains=4, single_steps=True),
)
