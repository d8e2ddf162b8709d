"""Unit propagation: a relation with a hard unit clause has no choice."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from markovlogic.methods.lifted.proving.drawing import Copies, Pen, places
from markovlogic.methods.lifted.proving.nodes import Child, Node, Outcome
from markovlogic.methods.lifted.proving.rules.base import Option, Rule, Sizes, given
from markovlogic.methods.lifted.proving.theory import Numbers, Theory, arrangements


@dataclass(frozen=True, eq=False)
class ForcedNode(Node):
    """One child, without the relation, whose atoms all have one value."""

    child: Child
    relation: int
    value: bool

    def evaluate(self, numbers: Numbers) -> Outcome:
        """The child's."""
        found = self.child.outcome(numbers.size, numbers.weight)
        own = self.value * arrangements(self.theory.relations[self.relation], numbers.size)
        return Outcome(found.log_z, np.insert(found.count, self.relation, own, axis=1))

    def draw(self, numbers: Numbers, copies: Copies, pen: Pen) -> None:
        """The forced value, and the child's draws."""
        blocks = self.theory.relations[self.relation]
        n_atoms = places(blocks, [block.shape[1] for block in copies.blocks]).shape[1]
        pen.write(copies, self.relation, blocks, np.full((len(copies), n_atoms), self.value))
        rest = [binding for at, binding in enumerate(copies.relations) if at != self.relation]
        self.child.draw(numbers.size, numbers.weight, copies.with_blocks(copies.blocks, rest), pen)

    def children(self) -> tuple[Child, ...]:
        """The one."""
        return (self.child,)


class Forced(Rule):
    """Applies where a unit clause is hard in every lane; variables all differ, so that it covers all atoms of its relation."""

    @property
    def name(self) -> str:
        """For people."""
        return "unit propagation"

    def options(self, theory: Theory, sizes: Sizes) -> Iterator[Option]:
        """One for each such clause."""
        for at in sorted(theory.sure):
            if len(theory.clauses[at].literals) == 1:
                literal = theory.clauses[at].literals[0]
                yield _option(theory, sizes, literal.relation, literal.positive)


def _option(theory: Theory, sizes: Sizes, relation: int, value: bool) -> Option:
    draft = given(theory, relation, value)
    return Option((draft,), (sizes,), lambda children: ForcedNode(theory, children[0], relation, value))
