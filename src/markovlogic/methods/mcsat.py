"""MC-SAT: what `auto` takes where hard rules may keep single-site moves from some worlds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from markovlogic.guarantee import Guarantee
from markovlogic.methods.base import Cost, InferOptions, Offer
from markovlogic.methods.rates import Rates
from markovlogic.methods.sampler_method import SamplingMethod
from markovlogic.networks.base import NetworkKind

if TYPE_CHECKING:
    from markovlogic.methods.analysis import Analysis


@dataclass(frozen=True)
class MCSATMethod(SamplingMethod):
    """Worlds that satisfy a random set of the clauses that hold now."""

    def offer(self, analysis: Analysis, cost: Cost, options: InferOptions) -> Offer:
        """Take what is left."""
        return Offer(True, "")


METHOD = MCSATMethod(
    name="mcsat",
    summary="MC-SAT slice sampling, for models with hard rules; `unbounded` as soon as a step needed SampleSAT",
    networks=(NetworkKind.GROUND,),
    promise=Guarantee.EXACT,
    home=("markovlogic.methods.sampling.mcsat", "MCSAT"),
    chains=32,  # of 16, two runs in five miss a phase of "triples, small" in tests/multimodal.py in silence; of 32, none
    rates=Rates(row=110e-9, literal=30e-9, prepare=5e-7, literal_bytes=25, work_bytes=22, batch_chains=2),
    confined_moves="",
)
