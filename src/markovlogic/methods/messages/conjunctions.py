"""Probabilities of conjunctions: belief propagation has none of its own, so each literal is taken given those before it.

P(l₁ ^ l₂ ^ …) = P(l₁)·P(l₂ | l₁)·…, every factor by messages of its own on the graph where the earlier literals are known: exact
where the graph has no loops, as everything else.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from markovlogic.methods.messages.run import Beliefs, ImpossibleError
from markovlogic.system.arrays import Float64, Int64


@dataclass(frozen=True, eq=False)
class AtomBeliefs:
    """Beliefs, and the node of each open atom."""

    beliefs: Beliefs
    node: Callable[[Int64], Int64]  # of atoms, given by their numbers

    def probability(self, atoms: Int64) -> Float64:
        """P(true) of some atoms."""
        return self.beliefs.probability[self.node(atoms)]


def conjunction(literals: Int64, given: Callable[[Sequence[int]], AtomBeliefs]) -> tuple[float, bool]:
    """The probability that all literals are true, and whether all messages that it took converged.

    given: beliefs where some literals are known to be true.
    """
    product, converged = 1.0, True
    for at in range(len(literals)):
        try:
            found = given(literals[:at].tolist())
        except ImpossibleError:
            return 0.0, converged
        converged &= found.beliefs.converged
        true = float(found.probability(literals[at : at + 1] >> 1)[0])
        product *= true if literals[at] & 1 else 1.0 - true
        if not product:
            break
    return product, converged
