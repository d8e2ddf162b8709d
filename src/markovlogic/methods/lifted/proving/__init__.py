"""Probabilistic theorem proving: an ordered list of lifting rules, applied to a problem shattered by its evidence.

The rules are applied to *structures* (`theory`): sizes of blocks and weights stay symbols, so that a plan of a thousand people is
as long as one of ten. The plan (`nodes`) is then evaluated on arrays, one lane for each combination of sizes and weights.
Source: Gogate & Domingos, Probabilistic theorem proving (2011); Venugopal & Gogate, On lifting the Gibbs sampling algorithm
(2012), section 3.
"""

from markovlogic.methods.lifted.proving.prove import plan_proof

__all__ = ["plan_proof"]
