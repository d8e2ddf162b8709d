"""Independent parts: clauses that share no relation are solved apart, and their log partition functions add."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from markovlogic.methods.lifted.proving.drawing import Copies, Pen
from markovlogic.methods.lifted.proving.nodes import Child, Node, Outcome, gathered
from markovlogic.methods.lifted.proving.reduction import Draft
from markovlogic.methods.lifted.proving.rules.base import Option, Rule, Sizes
from markovlogic.methods.lifted.proving.theory import Clause, Numbers, Theory


@dataclass(frozen=True, eq=False)
class PartsNode(Node):
    """One child for each part; the drafts keep all blocks, and `relations` says whose relations they hold."""

    parts: tuple[Child, ...]
    relations: tuple[tuple[int, ...], ...]

    def evaluate(self, numbers: Numbers) -> Outcome:
        """Sums of the parts."""
        log_z = np.zeros(len(numbers))
        count = np.zeros((len(numbers), len(self.theory.relations)))
        for child, relations in zip(self.parts, self.relations, strict=True):
            found = child.outcome(numbers.size, numbers.weight)
            log_z += found.log_z
            count += gathered(found.count, relations, count.shape[1])
        return Outcome(log_z, count)

    def draw(self, numbers: Numbers, copies: Copies, pen: Pen) -> None:
        """Each part for itself."""
        for child, relations in zip(self.parts, self.relations, strict=True):
            own = copies.with_blocks(copies.blocks, [copies.relations[r] for r in relations])
            child.draw(numbers.size, numbers.weight, own, pen)

    def children(self) -> tuple[Child, ...]:
        """The parts."""
        return self.parts


class Parts(Rule):
    """Applies where the clauses fall apart."""

    @property
    def name(self) -> str:
        """For people."""
        return "independent parts"

    def options(self, theory: Theory, sizes: Sizes) -> Iterator[Option]:
        """One, if there is more than one part."""
        groups = _components(theory)
        if len(groups) < 2:
            return
        drafts, relations = [], []
        for group in groups:
            own = tuple(sorted({literal.relation for at in group for literal in theory.clauses[at].literals}))
            number = {r: at for at, r in enumerate(own)}
            clauses = tuple([_renumbered(theory.clauses[at], number) for at in group])
            drafts.append(Draft(theory.fixed, tuple([theory.relations[r] for r in own]), clauses, tuple(group), theory.sure))
            relations.append(own)
        yield Option(
            tuple(drafts),
            (sizes,) * len(drafts),
            lambda children: PartsNode(theory, tuple(children), tuple(relations)),
        )


def _renumbered(clause: Clause, number: dict[int, int]) -> Clause:
    literals = [literal._replace(relation=number[literal.relation]) for literal in clause.literals]
    return Clause(tuple(literals), clause.blocks)


def _components(theory: Theory) -> list[list[int]]:
    """Clauses by connected component, over the relations that they share."""
    parent = list(range(len(theory.relations)))

    def root(r: int) -> int:
        while parent[r] != r:
            parent[r] = r = parent[parent[r]]
        return r

    for clause in theory.clauses:
        for literal in clause.literals[1:]:
            parent[root(literal.relation)] = root(clause.literals[0].relation)
    groups: dict[int, list[int]] = {}
    for at, clause in enumerate(theory.clauses):
        groups.setdefault(root(clause.literals[0].relation), []).append(at)
    return list(groups.values())
