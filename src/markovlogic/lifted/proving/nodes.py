"""The plan that the rules make: a graph of nodes, each of which can sum out its theory and draw from it, given the numbers."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from markovlogic.arrays import Float64, Int64
from markovlogic.lifted.proving.drawing import Copies, Pen
from markovlogic.lifted.proving.reduction import Reduction
from markovlogic.lifted.proving.theory import Numbers, Theory

_FEW = 4  # lanes that are not worth comparing with each other


@dataclass(frozen=True, eq=False)
class Outcome:
    """What a theory comes to, lane by lane."""

    log_z: Float64  # (lanes,)
    count: Float64  # (lanes, relations) expected number of true atoms; never nan, also where no world is possible


@dataclass(frozen=True, eq=False)
class Node(ABC):
    """How a theory is solved."""

    theory: Theory

    @abstractmethod
    def evaluate(self, numbers: Numbers) -> Outcome:
        """Sum over all worlds, and expected counts, in one pass."""

    @abstractmethod
    def draw(self, numbers: Numbers, copies: Copies, pen: Pen) -> None:
        """Draw all atoms of all copies; the numbers have one lane, which is that of every copy."""

    def children(self) -> Sequence[Child]:
        """The theories that are solved on the way."""
        return ()


@dataclass(frozen=True, eq=False)
class Child:
    """What a rule leaves of a theory: the draft in normal form, and how that is solved."""

    reduction: Reduction
    node: Node

    def outcome(self, size: Int64, weight: Float64) -> Outcome:
        """Of the draft: `size` of its blocks, `weight` of the clauses of the theory before; equal lanes are solved once."""
        numbers, constant = self.reduction.numbers(size, weight)
        if len(numbers) > _FEW:
            table = np.concatenate([numbers.size.astype(np.float64), numbers.weight], axis=1)
            if table.shape[1]:
                _, first, inverse = np.unique(table, axis=0, return_index=True, return_inverse=True)
            else:
                first, inverse = np.zeros(1, np.int64), np.zeros(len(table), np.int64)
            found = self.node.evaluate(numbers.lanes(first))
            inverse = inverse.reshape(-1)
            found = Outcome(found.log_z[inverse], found.count[inverse])
        else:
            found = self.node.evaluate(numbers)
        return Outcome(found.log_z + constant, self.reduction.counts(found.count, size))

    def draw(self, size: Int64, weight: Float64, copies: Copies, pen: Pen) -> None:
        """Draw the draft's atoms in all copies; size and weight have one lane."""
        if not len(copies):
            return
        reduction = self.reduction
        relations = reduction.draft.relations
        for free in reduction.free:
            pen.flip(copies, free, relations[free], 0.5)
        bindings = []
        for relation in reduction.relation:
            binding = copies.relations[relation]
            kept = reduction.kept_arguments(relation)
            for at in reversed(range(len(relations[relation]))):
                if at not in kept:
                    binding = binding.fixing(at, copies.blocks[relations[relation][at]][:, 0])
            bindings.append(binding)
        numbers, _ = reduction.numbers(size, weight)
        self.node.draw(numbers, copies.with_blocks([copies.blocks[b] for b in reduction.block], bindings), pen)


def gathered(count: Float64, origin: Sequence[int], relations: int) -> Float64:
    """Counts of a draft's relations, summed by the relation that each is a part of; −1 is none."""
    total = np.zeros((len(count), relations))
    for at, relation in enumerate(origin):
        if relation >= 0:
            total[:, relation] += count[:, at]
    return total
