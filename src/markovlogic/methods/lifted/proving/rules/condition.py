"""Conditioning: an atom without arguments is false or true."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from markovlogic.methods.lifted.proving.drawing import Copies, Pen, chosen_branches
from markovlogic.methods.lifted.proving.nodes import Child, Node, Outcome
from markovlogic.methods.lifted.proving.rules.base import Option, Rule, Sizes, given, occurrences
from markovlogic.methods.lifted.proving.theory import Numbers, Theory
from markovlogic.system.arrays import Float64

_TRIED = 3  # atoms, those in most clauses first


@dataclass(frozen=True, eq=False)
class ConditionNode(Node):
    """Two children, for false and true; their drafts keep the relation, of which no clause is left."""

    branches: tuple[Child, Child]
    relation: int

    def evaluate(self, numbers: Numbers) -> Outcome:
        """Both, weighted."""
        found = [child.outcome(numbers.size, numbers.weight) for child in self.branches]
        log_z = np.logaddexp(found[0].log_z, found[1].log_z)
        safe = np.where(np.isneginf(log_z), 0.0, log_z)
        share = [np.exp(one.log_z - safe) for one in found]
        count = sum(
            (self._put(one.count, value) * p[:, None] for value, (one, p) in enumerate(zip(found, share, strict=True))),
            np.zeros((len(numbers), len(self.theory.relations))),
        )
        return Outcome(log_z, count)

    def _put(self, count: Float64, value: int) -> Float64:
        return np.insert(count, self.relation, float(value), axis=1)

    def draw(self, numbers: Numbers, copies: Copies, pen: Pen) -> None:
        """How many copies take each branch, and then which ones."""
        log_z = np.array([child.outcome(numbers.size, numbers.weight).log_z[0] for child in self.branches])
        n_false = int(chosen_branches(log_z, len(copies), pen.random)[0])
        order = pen.random.permutation(len(copies))
        for value, (child, rows) in enumerate(zip(self.branches, (order[:n_false], order[n_false:]), strict=True)):
            if len(rows):
                some = copies.chosen(rows)
                pen.write(some, self.relation, (), np.full((len(rows), 1), bool(value)))
                rest = [binding for at, binding in enumerate(some.relations) if at != self.relation]
                child.draw(numbers.size, numbers.weight, some.with_blocks(some.blocks, rest), pen)

    def children(self) -> tuple[Child, ...]:
        """Both."""
        return self.branches


class Condition(Rule):
    """Applies where a relation has no arguments."""

    is_sure = False

    @property
    def name(self) -> str:
        """For people."""
        return "conditioning"

    def options(self, theory: Theory, sizes: Sizes) -> Iterator[Option]:
        """One for each such relation, those in most clauses first."""
        count = occurrences(theory)
        if not any(theory.relations):
            return  # elimination has had its say
        single = [r for r, blocks in enumerate(theory.relations) if not blocks]
        for relation in sorted(single, key=lambda r: -count[r])[:_TRIED]:
            yield _option(theory, sizes, relation)


def _option(theory: Theory, sizes: Sizes, relation: int) -> Option:
    return Option(
        (given(theory, relation, False), given(theory, relation, True)),
        (sizes, sizes),
        lambda children: ConditionNode(theory, (children[0], children[1]), relation),
    )
