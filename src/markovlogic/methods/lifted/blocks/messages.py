"""What the rest of the world says to a cluster: for each term, how much the cluster loses where its own atoms are all false.

[001] Theorem 2 sends each atom of the sender as a sum over the variables that it does not share with the receiver. That is right
only while such a variable is in no other atom outside of the receiver (papers.md 2.2, 3.3): atoms that share one are
contracted together. `literal=True` is the theorem as it stands.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from math import prod

import numpy as np
import numpy.typing as npt

from markovlogic.methods.lifted.blocks.program import InnerTerm
from markovlogic.methods.lifted.blocks.tensors import Operand, Tensor, coefficient_of
from markovlogic.methods.lifted.blocks.terms import Factor, FalseTerm, Indicator

Bools = npt.NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Message:
    """One term's coefficient in a cluster, as a contraction of what is outside."""

    term: FalseTerm
    inside: tuple[Factor, ...]
    outside: tuple[Factor, ...]
    literal: bool = False

    def inner(self, number: int) -> InnerTerm:
        """What the compiler sees."""
        return InnerTerm(number, self.inside, frozenset(self.varies), self.term.sizes)

    @property
    def varies(self) -> tuple[str, ...]:
        """Variables of the cluster's atoms that something outside tells apart."""
        own = dict.fromkeys(name for factor in self.inside for name in factor.variables)
        seen = {name for factor in self.outside for name in factor.variables}
        for indicator in self.term.indicators:
            seen.add(indicator.variable)
            if isinstance(indicator.other, str):
                seen.add(indicator.other)
        return tuple(name for name in own if name in seen)

    def speaks(self, changing: Collection[str]) -> bool:
        """Whether it changes while chains run."""
        return any(factor.predicate in changing for factor in self.outside)

    def sent(self) -> list[tuple[str, tuple[int, ...], bool]]:
        """For the space function: the sender's predicate, the places that stay and the sign, of every atom outside."""
        found = []
        for factor in self.outside:
            alone = self._alone(factor)
            kept = tuple(i for i, name in enumerate(factor.variables) if name not in alone)
            found.append((factor.predicate, kept, factor.positive))
        return found

    @property
    def is_right(self) -> bool:
        """Whether it says what the rest of the world does: the literal reading sums variables too early where atoms share one."""
        return not self.literal or all(self._unseen(factor) == self._summed(factor) for factor in self.outside)

    def _alone(self, factor: Factor) -> set[str]:
        """Variables of an atom outside that are summed before anything is multiplied."""
        return self._unseen(factor) if self.literal else self._summed(factor)

    def _unseen(self, factor: Factor) -> set[str]:
        """Variables that the receiver does not have."""
        return set(factor.variables) - {name for own in self.inside for name in own.variables}

    def _summed(self, factor: Factor) -> set[str]:
        """Variables that nothing else has, so that they can be summed first."""
        others = {name for other in self.outside if other is not factor for name in other.variables}
        for indicator in self.term.indicators:
            others.add(indicator.variable)
            if isinstance(indicator.other, str):
                others.add(indicator.other)
        return self._unseen(factor) - others

    def coefficient(self, values: Mapping[str, Bools], changing: Collection[str], axis_of: Mapping[str, int]) -> Tensor:
        """The coefficient along the axes of the cluster's program; values of changing predicates have chains first."""
        operands = []
        for factor in self.outside:
            has_chains, alone = factor.predicate in changing, self._alone(factor)
            at = tuple(has_chains + i for i, name in enumerate(factor.variables) if name in alone)
            left = [name for name in factor.variables if name not in alone]
            operands.append(Operand(falsity(values[factor.predicate], factor.positive, at), left, has_chains))
        operands += [indicated(indicator, self.term.sizes) for indicator in self.term.indicators]
        return coefficient_of(self.term.weight, operands, axis_of)


def falsity(value: Bools, positive: bool, at: tuple[int, ...]) -> npt.NDArray[np.float64]:
    """Where a literal is false, as numbers; summed over some axes, so that the sum is one of bits."""
    if not at:
        return (~value if positive else value).astype(np.float64)
    count: npt.NDArray[np.float64] = value.sum(axis=at, dtype=np.float64)
    n = prod(value.shape[i] for i in at)
    return n - count if positive else count


def indicated(indicator: Indicator, sizes: Mapping[str, int]) -> Operand:
    """An indicator as numbers."""
    size = sizes[indicator.variable]
    if isinstance(indicator.other, str):
        return Operand(np.eye(size), (indicator.variable, indicator.other))
    there = np.zeros(size)
    there[indicator.other] = 1.0
    return Operand(there, (indicator.variable,))


def messages_to(cluster: Collection[str], terms: tuple[FalseTerm, ...], *, literal: bool = False) -> tuple[Message, ...]:
    """Of every term that has an atom in the cluster."""
    made = []
    for term in terms:
        inside = tuple(factor for factor in term.factors if factor.predicate in cluster)
        if inside:
            outside = tuple(factor for factor in term.factors if factor.predicate not in cluster)
            made.append(Message(term, inside, outside, literal))
    return tuple(made)
