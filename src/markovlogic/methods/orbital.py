"""The orbital Markov chain: Gibbs sweeps, each followed by a random symmetry of the model."""

from markovlogic.guarantee import Guarantee
from markovlogic.methods.rates import Rates
from markovlogic.methods.sampling import SamplingMethod
from markovlogic.networks.kinds import NetworkKind

METHOD = SamplingMethod(
    name="orbital",
    summary="Gibbs with a random symmetry of model and evidence after each sweep",
    networks=(NetworkKind.GROUND,),
    promise=Guarantee.EXACT,
    home=("markovlogic.samplers.orbital", "Orbital"),
    chains=8,
    rates=Rates(atom=2e-9, literal=2e-9, single_steps=True),
)
