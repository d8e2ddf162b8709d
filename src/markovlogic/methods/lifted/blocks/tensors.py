"""Messages from the rest of the world to a cluster: for each term, the loss where all of the cluster's own atoms are false.

[001] Theorem 2 sends each atom of the sender as a sum over the variables that it does not share with the receiver. That is right
only while such a variable is in no other atom outside of the receiver (papers.md 2.2, 3.3): atoms that share one are
contracted together. `literal=True` is the theorem as it stands.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from markovlogic.data.evidence import FALSE, TRUE
from markovlogic.methods.lifted.blocks.remainder import Support
from markovlogic.methods.lifted.blocks.tensor_program import InnerTerm
from markovlogic.methods.lifted.blocks.tensor_terms import Factor, FalseTerm, Indicator
from markovlogic.problem import Problem

Array = npt.NDArray[np.float64]

MOST_LOOKED_AT = 1 << 24  # ground atoms of a relation

CHAIN = 0  # the axis of chains; every other one is larger, and inner ones are larger than outer ones


@dataclass(frozen=True, eq=False)
class Tensor:
    """An array that is constant along all axes but these, which are in increasing order."""

    axes: tuple[int, ...]
    array: Array

    def along(self, axes: tuple[int, ...]) -> Array:
        """The array with an axis for each of these (all of its own among them), of length one where it is constant."""
        shape = dict(zip(self.axes, self.array.shape, strict=True))
        return self.array.reshape([shape.get(axis, 1) for axis in axes])


def summed_product(arrays: Sequence[Array], places: Sequence[list[int]], kept: list[int]) -> Array:
    """The product of several arrays whose axes have numbers, summed along all axes but some."""
    operands: list[Any] = [item for pair in zip(arrays, places, strict=True) for item in pair]
    made: Array = np.einsum(*operands, kept, optimize="greedy" if len(arrays) > 1 else False)
    return made


class Operand(NamedTuple):
    """An array with a variable for each axis, after that of chains where it has one."""

    array: Array
    variables: Sequence[str]
    has_chains: bool = False


def coefficient_of(weight: float, operands: Sequence[Operand], axis_of: Mapping[str, int]) -> Tensor:
    """The weight times the operands' product, summed over all variables but those that have an axis."""
    if not operands:
        return Tensor((), np.full((), weight))
    number = {name: i + 1 for i, name in enumerate(dict.fromkeys(v for operand in operands for v in operand.variables))}
    kept = sorted((axis, number[name]) for name, axis in axis_of.items() if name in number)
    chains = [CHAIN] if any(operand.has_chains for operand in operands) else []
    places = [[CHAIN] * operand.has_chains + [number[name] for name in operand.variables] for operand in operands]
    array = summed_product([operand.array for operand in operands], places, chains + [place for _, place in kept])
    return Tensor((*chains, *(axis for axis, _ in kept)), array * weight)


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
        """Variables of the cluster's atoms that something outside distinguishes."""
        own = dict.fromkeys(name for factor in self.inside for name in factor.variables)
        seen = {name for factor in self.outside for name in factor.variables}
        for indicator in self.term.indicators:
            seen.add(indicator.variable)
            if isinstance(indicator.other, str):
                seen.add(indicator.other)
        return tuple(name for name in own if name in seen)

    def depends_on(self, changing: Collection[str]) -> bool:
        """Whether it changes while chains run."""
        return any(factor.predicate in changing for factor in self.outside)

    def sent(self) -> list[tuple[str, tuple[int, ...], bool]]:
        """For the space function: the sender's predicate, the places that stay and the sign, of every atom outside."""
        found = []
        for factor in self.outside:
            alone = self.alone(factor)
            kept = tuple(i for i, name in enumerate(factor.variables) if name not in alone)
            found.append((factor.predicate, kept, factor.positive))
        return found

    @property
    def is_right(self) -> bool:
        """Whether the message is exact: the literal reading sums variables too early where atoms share one."""
        return not self.literal or all(self._unseen(factor) == self._summed(factor) for factor in self.outside)

    def alone(self, factor: Factor) -> set[str]:
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

    def may_cost(self, problem: Problem, variables: Sequence[str]) -> Bools | None:
        """Where, along some of the receiver's variables, evidence leaves it open that all atoms outside are false.

        None where relations are too large to look at.
        """
        operands = []
        for factor in self.outside:
            statuses = problem.statuses[factor.predicate]
            if statuses.n_ground > MOST_LOOKED_AT:
                return None
            status = statuses.lookup(np.arange(statuses.n_ground, dtype=np.int64)).reshape(statuses.sizes)
            possible = status != (TRUE if factor.positive else FALSE)
            alone = self._summed(factor)
            at = tuple(i for i, name in enumerate(factor.variables) if name in alone)
            left = [name for name in factor.variables if name not in alone]
            operands.append(Operand(possible.any(axis=at).astype(np.float64), left))
        operands += [indicated(indicator, self.term.sizes) for indicator in self.term.indicators]
        found = coefficient_of(1.0, operands, {name: i + 1 for i, name in enumerate(variables)})
        axes = tuple(range(1, len(variables) + 1))
        return np.broadcast_to(found.along(axes) > 0, [self.term.sizes[name] for name in variables])

    def coefficient(self, values: Mapping[str, Bools], changing: Collection[str], axis_of: Mapping[str, int]) -> Tensor:
        """The coefficient along the axes of the cluster's program; values of changing predicates have chains first."""
        operands = []
        for factor in self.outside:
            has_chains, alone = factor.predicate in changing, self.alone(factor)
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


def support_of(messages: Sequence[Message], problem: Problem) -> Support:
    """Where the terms of these messages can cost something, as the compiler of programs wants to know."""
    return lambda number, variables: messages[number].may_cost(problem, variables)


def messages_to(cluster: Collection[str], terms: tuple[FalseTerm, ...], *, literal: bool = False) -> tuple[Message, ...]:
    """Of every term that has an atom in the cluster."""
    made = []
    for term in terms:
        inside = tuple(factor for factor in term.factors if factor.predicate in cluster)
        if inside:
            outside = tuple(factor for factor in term.factors if factor.predicate not in cluster)
            made.append(Message(term, inside, outside, literal))
    return tuple(made)
