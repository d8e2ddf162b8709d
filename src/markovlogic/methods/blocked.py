"""Blocked Gibbs: blocks of tied atoms are drawn jointly."""

from markovlogic.guarantee import Guarantee
from markovlogic.methods.rates import Rates
from markovlogic.methods.sampler_method import SamplingMethod
from markovlogic.networks.base import NetworkKind

METHOD = SamplingMethod(
    name="blocked",
    summary="Gibbs sampling of blocks of atoms, each drawn jointly by elimination of bounded width; "
    "for strong couplings, tree-like parts and hard rules that tie a few atoms",
    networks=(NetworkKind.GROUND,),
    promise=Guarantee.EXACT,
    home=("markovlogic.methods.sampling.blocked", "Blocked"),
    # A phase of weight 0.004 (twenty people, `2 !S(x)`, `0.006 S(x) ^ S(y) ^ S(z)`) was missed in silence by 6 of 10 runs with 8
    # chains, 5 with 16, 2 with 32 and none with 64. Eight chains are one batch, so this costs as many times more.
    chains=64,
    rates=Rates(
        row=450e-9,
        literal=18e-9,
        conditional=15e-9,
        prepare=2e-6,  # blocks are grown and their program is written
        row_bytes=700,
        literal_bytes=315,  # rows of the program, in two divisions, and the numbers they are made of
        batch_chains=8,
    ),
    confined_moves="moves of blocks",
)
