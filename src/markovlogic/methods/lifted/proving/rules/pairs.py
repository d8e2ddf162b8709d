"""Power rule over unordered pairs: where every atom holds both variables x ≠ y of a block, pairs of constants share no atom.

The power rule proper asks for one position a predicate, and `F(x,y) => F(y,x)` has none: yet Z is that of one pair, to the power
n(n−1)/2. Within a pair each relation has two parts, one for each order of the two constants.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from markovlogic.methods.lifted.proving.drawing import Copies, Pen
from markovlogic.methods.lifted.proving.nodes import Child, Node, Outcome, gathered
from markovlogic.methods.lifted.proving.reduction import Draft
from markovlogic.methods.lifted.proving.rules.base import Option, Rule, Sizes
from markovlogic.methods.lifted.proving.theory import Clause, Literal, Numbers, Theory, times


@dataclass(frozen=True, eq=False)
class PairsNode(Node):
    """One child for a pair; relation r is 2r where the lesser constant comes first, else 2r + 1."""

    child: Child
    block: int
    positions: tuple[tuple[int, int], ...]  # of the block, by relation

    def evaluate(self, numbers: Numbers) -> Outcome:
        """As many times the child as there are pairs."""
        found = self.child.outcome(numbers.size, numbers.weight)
        n = numbers.size[:, self.block].astype(np.float64)
        pairs = n * (n - 1) / 2
        origin = [at // 2 for at in range(2 * len(self.theory.relations))]
        count = gathered(found.count, origin, len(self.theory.relations))
        return Outcome(times(found.log_z, pairs), count * pairs[:, None])

    def draw(self, numbers: Numbers, copies: Copies, pen: Pen) -> None:
        """All pairs of all copies at once."""
        block = copies.blocks[self.block]
        first, second = np.triu_indices(block.shape[1], 1)
        many = copies.chosen(np.repeat(np.arange(len(copies)), len(first)))
        one, other = block[:, first].reshape(-1), block[:, second].reshape(-1)
        bindings = []
        for binding, (before, after) in zip(many.relations, self.positions, strict=True):
            for x, y in ((one, other), (other, one)):
                bindings.append(binding.fixing(after, y).fixing(before, x))
        self.child.draw(numbers.size, numbers.weight, many.with_blocks(many.blocks, bindings), pen)

    def children(self) -> tuple[Child, ...]:
        """The one."""
        return (self.child,)


class Pairs(Rule):
    """Applies where every atom holds two arguments of a block, and every clause two variables of it."""

    @property
    def name(self) -> str:
        """For people."""
        return "power rule over pairs"

    def options(self, theory: Theory, sizes: Sizes) -> Iterator[Option]:
        """One for each such block."""
        for block in range(len(theory.fixed)):
            if all(blocks.count(block) == 2 for blocks in theory.relations) and all(
                clause.blocks.count(block) == 2 for clause in theory.clauses
            ):
                yield _option(theory, sizes, block)


def _option(theory: Theory, sizes: Sizes, block: int) -> Option:
    positions = []
    relations: list[tuple[int, ...]] = []
    for blocks in theory.relations:
        before = blocks.index(block)
        after = blocks.index(block, before + 1)
        positions.append((before, after))
        relations += [tuple([b for b in blocks if b != block])] * 2
    clauses, source = [], []
    for at, clause in enumerate(theory.clauses):
        lesser = clause.blocks.index(block)
        greater = clause.blocks.index(block, lesser + 1)
        number = {v: i for i, v in enumerate([v for v in range(len(clause.blocks)) if v not in (lesser, greater)])}
        for first in (lesser, greater):  # which of the two variables is the first constant of the pair
            literals = []
            for r, args, sign in clause.literals:
                swapped = args[positions[r][0]] != first
                literals.append(Literal(2 * r + swapped, tuple([number[v] for v in args if v in number]), sign))
            clauses.append(Clause(tuple(literals), tuple([clause.blocks[v] for v in number])))
            source.append(at)
    draft = Draft(theory.fixed, tuple(relations), tuple(clauses), tuple(source), theory.sure)
    return Option((draft,), (sizes,), lambda children: PairsNode(theory, children[0], block, tuple(positions)))
