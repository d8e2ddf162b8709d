"""The orbital Markov chain: Gibbs sweeps, each followed by a random symmetry of the model."""

from markovlogic.guarantee import Guarantee
from markovlogic.methods.rates import Rates
from markovlogic.methods.sampler_method import SamplingMethod
from markovlogic.networks.base import NetworkKind

METHOD = SamplingMethod(
    name="orbital",
    summary="Gibbs with a random symmetry of model and evidence after each sweep",
    networks=(NetworkKind.GROUND,),
    promise=Guarantee.EXACT,
    home=("markovlogic.methods.sampling.orbital", "Orbital"),
    chains=64,  # lanes of one pass: 8 miss a phase in silence in 7 of 10 runs of tests/multimodal.py "triples, small", 64 in none
    rates=Rates(
        row=175e-9,  # most of it for a symmetry a sweep, as a permutation of all atoms
        literal=3e-9,
        search=1e-5,
        row_bytes=380,  # while the search has its graph
        literal_bytes=110,
        work_bytes=10,
        single_steps=True,
    ),
)
