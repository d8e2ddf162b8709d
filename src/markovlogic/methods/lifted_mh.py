"""Lifted Metropolis-Hastings: Gibbs sweeps mixed with exchanges of nearly interchangeable constants."""

from markovlogic.guarantee import Guarantee
from markovlogic.methods.rates import Rates
from markovlogic.methods.sampling import SamplingMethod
from markovlogic.networks.kinds import NetworkKind

METHOD = SamplingMethod(
    name="lifted-mh",
    summary="lifted Metropolis-Hastings: approximate symmetries propose, the true model accepts or rejects",
    networks=(NetworkKind.GROUND,),
    promise=Guarantee.CORRECTED,
    home=("markovlogic.samplers.lifted_mh", "LiftedMH"),
    chains=8,
    rates=Rates(atom=5e-9, literal=5e-9),
    proposes=True,
)
