"""The plan that the rules make: a graph of nodes, each of which can sum out its theory and draw from it, given the numbers."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from markovlogic.methods.lifted.proving.reduction import Reduction
from markovlogic.methods.lifted.proving.theory import Numbers, Theory
from markovlogic.methods.lifted.proving.world_draws import Copies, Pen
from markovlogic.system.arrays import Float64, Int64

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

    @property
    def is_quick(self) -> bool:
        """Whether a lane is solved more quickly than compared with others."""
        return False

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
        if len(numbers) > _FEW and not self.node.is_quick:
            first, lane = _distinct(numbers)
            found = self.node.evaluate(numbers.lanes(first))
            found = Outcome(found.log_z[lane], found.count[lane])
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


def _distinct(numbers: Numbers) -> tuple[Int64, Int64]:
    """One lane of each kind, and the kind of each lane; compared by hashes, which are checked."""
    table = np.concatenate([numbers.size.astype(np.float64), numbers.weight], axis=1)
    key = np.zeros(len(table), np.uint64)
    for column in table.T:
        key = (key ^ np.ascontiguousarray(column).view(np.uint64)) * np.uint64(0x9E3779B97F4A7C15)
        key ^= key >> np.uint64(29)
    _, first, lane = np.unique(key, return_index=True, return_inverse=True)
    if not (table == table[first[lane]]).all():
        _, first, lane = np.unique(table, axis=0, return_index=True, return_inverse=True)
    return first, lane.reshape(-1)


def gathered(count: Float64, origin: Sequence[int], relations: int) -> Float64:
    """Counts of a draft's relations, summed by the relation that each is a part of; −1 is none."""
    total = np.zeros((len(count), relations))
    for at, relation in enumerate(origin):
        if relation >= 0:
            total[:, relation] += count[:, at]
    return total
