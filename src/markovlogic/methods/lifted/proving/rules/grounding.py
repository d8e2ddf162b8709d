"""Partial grounding: a block of few constants is taken apart, constant by constant."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import permutations

import numpy as np

from markovlogic.methods.lifted.proving.drawing import Copies, Pen
from markovlogic.methods.lifted.proving.nodes import Child, Node, Outcome, gathered
from markovlogic.methods.lifted.proving.reduction import Draft
from markovlogic.methods.lifted.proving.rules.base import Option, Rule, Sizes
from markovlogic.methods.lifted.proving.theory import Clause, Literal, Numbers, Theory

MOST_CLAUSES = 3000  # that a theory may have afterwards


@dataclass(frozen=True, eq=False)
class GroundingNode(Node):
    """One child, in which each relation stands once for every choice of constants from the block."""

    child: Child
    block: int
    origin: tuple[tuple[int, tuple[int, ...]], ...]  # relation before, and the constants' places, for each of the draft

    def evaluate(self, numbers: Numbers) -> Outcome:
        """The child's, with counts put together again."""
        found = self.child.outcome(numbers.size, numbers.weight)
        return Outcome(found.log_z, gathered(found.count, [r for r, _ in self.origin], len(self.theory.relations)))

    def draw(self, numbers: Numbers, copies: Copies, pen: Pen) -> None:
        """As the child does."""
        block = copies.blocks[self.block]
        bindings = []
        for r, chosen in self.origin:
            binding, left = copies.relations[r], list(chosen)
            for at in reversed(range(len(self.theory.relations[r]))):
                if self.theory.relations[r][at] == self.block:
                    binding = binding.fixing(at, block[:, left.pop()])
            bindings.append(binding)
        self.child.draw(numbers.size, numbers.weight, copies.with_blocks(copies.blocks, bindings), pen)

    def children(self) -> tuple[Child, ...]:
        """The one."""
        return (self.child,)


class Grounding(Rule):
    """Applies where a block is small and of known size; the last resort."""

    is_sure = False

    @property
    def name(self) -> str:
        """For people."""
        return "partial grounding"

    def options(self, theory: Theory, sizes: Sizes) -> Iterator[Option]:
        """One for each small block, the smallest first."""
        small = [block for block, size in enumerate(theory.fixed) if size >= 0]
        for block in sorted(small, key=lambda b: theory.fixed[b]):
            n = theory.fixed[block]
            if sum(float(n) ** clause.blocks.count(block) for clause in theory.clauses) <= MOST_CLAUSES:
                yield _option(theory, sizes, block)


def _option(theory: Theory, sizes: Sizes, block: int) -> Option:
    n = theory.fixed[block]
    origin = [(r, chosen) for r, blocks in enumerate(theory.relations) for chosen in permutations(range(n), blocks.count(block))]
    number = {key: at for at, key in enumerate(origin)}
    clauses, source = [], []
    for at, clause in enumerate(theory.clauses):
        own = [v for v, b in enumerate(clause.blocks) if b == block]
        rest = [v for v, b in enumerate(clause.blocks) if b != block]
        for chosen in permutations(range(n), len(own)):
            value = dict(zip(own, chosen, strict=True))
            renamed = {v: i for i, v in enumerate(rest)}
            literals = [_ground(literal, value, renamed, number) for literal in clause.literals]
            clauses.append(Clause(tuple(literals), tuple([clause.blocks[v] for v in rest])))
            source.append(at)
    relations = tuple([tuple([b for b in theory.relations[r] if b != block]) for r, _ in origin])
    draft = Draft(theory.fixed, relations, tuple(clauses), tuple(source), theory.sure)
    return Option(
        (draft,),
        (sizes,),
        lambda children: GroundingNode(theory, children[0], block, tuple(origin)),
        work=float(np.sqrt(len(clauses))),
    )


def _ground(
    literal: Literal, value: dict[int, int], renamed: dict[int, int], number: dict[tuple[int, tuple[int, ...]], int]
) -> Literal:
    chosen: Sequence[int] = [value[v] for v in literal.args if v in value]
    left = tuple([renamed[v] for v in literal.args if v in renamed])
    return Literal(number[literal.relation, tuple(chosen)], left, literal.positive)
