"""Closed form: one relation with unit clauses only, so that its atoms are independent coins."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from markovlogic.methods.lifted.proving.drawing import Copies, Pen
from markovlogic.methods.lifted.proving.nodes import Node, Outcome
from markovlogic.methods.lifted.proving.rules.base import Option, Rule, Sizes
from markovlogic.methods.lifted.proving.theory import Numbers, Theory, arrangements, times
from markovlogic.system.arrays import Float64


@dataclass(frozen=True, eq=False)
class UnitsNode(Node):
    """Every atom is true with the same probability."""

    @property
    def is_quick(self) -> bool:
        """A formula."""
        return True

    def _costs(self, numbers: Numbers) -> tuple[Float64, Float64]:
        """Log weights of a false and a true atom."""
        cost = np.zeros((2, len(numbers)))
        for at, clause in enumerate(self.theory.clauses):
            cost[int(not clause.literals[0].positive)] -= numbers.weight[:, at]
        return cost[0], cost[1]

    def evaluate(self, numbers: Numbers) -> Outcome:
        """(e^false + e^true)^atoms."""
        if_false, if_true = self._costs(numbers)
        log_one = np.logaddexp(if_false, if_true)
        atoms = arrangements(self.theory.relations[0], numbers.size)
        with np.errstate(invalid="ignore"):
            share = np.where(np.isneginf(log_one), 0.0, np.exp(if_true - log_one))
        return Outcome(times(log_one, atoms), (atoms * share)[:, None])

    def draw(self, numbers: Numbers, copies: Copies, pen: Pen) -> None:
        """Coins."""
        if_false, if_true = self._costs(numbers)
        if np.isneginf(if_true[0]):  # also where both are impossible, and there is no atom then
            chance = 0.0
        else:
            chance = float(np.exp(if_true[0] - np.logaddexp(if_false[0], if_true[0])))
        pen.flip(copies, 0, self.theory.relations[0], chance)


class Units(Rule):
    """Applies where a part has one relation and no clause with two literals."""

    @property
    def name(self) -> str:
        """For people."""
        return "independent atoms"

    def options(self, theory: Theory, sizes: Sizes) -> Iterator[Option]:
        """One."""
        if len(theory.relations) == 1 and all(len(clause.literals) == 1 for clause in theory.clauses):
            yield Option((), (), lambda children: UnitsNode(theory))
