"""Blocked Gibbs: blocks of tied atoms are drawn jointly."""

from markovlogic.guarantee import Guarantee
from markovlogic.methods.rates import Rates
from markovlogic.methods.sampling import SamplingMethod
from markovlogic.networks.kinds import NetworkKind

METHOD = SamplingMethod(
    name="blocked",
    summary="Gibbs sampling of blocks of atoms, each drawn jointly by elimination of bounded width; "
    "for strong couplings, tree-like parts and hard rules that tie a few atoms",
    networks=(NetworkKind.GROUND,),
    promise=Guarantee.EXACT,
    home=("markovlogic.samplers.blocked", "Blocked"),
    chains=8,
    rates=Rates(atom=1e-8, literal=1e-8, batch_chains=8),
    confined_moves="moves of blocks",
)
