"""Nothing is left: no clause, so no relation either."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from markovlogic.methods.lifted.proving.drawing import Copies, Pen
from markovlogic.methods.lifted.proving.nodes import Node, Outcome
from markovlogic.methods.lifted.proving.rules.base import Option, Rule, Sizes
from markovlogic.methods.lifted.proving.theory import Numbers, Theory


@dataclass(frozen=True, eq=False)
class SettledNode(Node):
    """The sum over the one empty world."""

    @property
    def is_quick(self) -> bool:
        """A formula."""
        return True

    def evaluate(self, numbers: Numbers) -> Outcome:
        """Weight one."""
        return Outcome(np.zeros(len(numbers)), np.zeros((len(numbers), 0)))

    def draw(self, numbers: Numbers, copies: Copies, pen: Pen) -> None:
        """There is no atom."""


class Settled(Rule):
    """Applies to theories without clauses."""

    @property
    def name(self) -> str:
        """For people."""
        return "settled"

    def options(self, theory: Theory, sizes: Sizes) -> Iterator[Option]:
        """One, if no clause is left."""
        if not theory.clauses:
            yield Option((), (), lambda children: SettledNode(theory), work=0.0)
