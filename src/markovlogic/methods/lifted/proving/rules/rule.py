"""What a rule is: given a theory, ways to solve it by solving smaller ones."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from markovlogic.methods.lifted.proving.nodes import Child, Node
from markovlogic.methods.lifted.proving.reduction import Draft
from markovlogic.methods.lifted.proving.theory import Clause, Literal, Theory

Sizes = tuple[int, ...]  # of the blocks, as they are when costs are predicted


@dataclass(frozen=True)
class Option:
    """One way to apply a rule.

    A lane of the theory becomes `lanes` lanes of each draft; `work` is what the node itself does for a lane, and `numbers` how
    many it holds at once.
    """

    drafts: tuple[Draft, ...]
    sizes: tuple[Sizes, ...]  # by draft
    build: Callable[[Sequence[Child]], Node]
    lanes: float = 1.0
    work: float = 1.0
    numbers: float = 0.0


class Rule(ABC):
    """A rule of the list; `is_sure` where its first option leads on whenever anything does, so that nothing else is tried."""

    is_sure = True

    @property
    @abstractmethod
    def name(self) -> str:
        """A text for the user."""

    @abstractmethod
    def options(self, theory: Theory, sizes: Sizes) -> Iterator[Option]:
        """All ways to apply it, the most promising first; none where it does not apply."""


def given_truth(clause: Clause, truth: Callable[[Literal], bool | None]) -> Clause | None:
    """The clause without the literals whose atoms are false or true as reported; None where it is true."""
    left = []
    for literal in clause.literals:
        value = truth(literal)
        if value is None:
            left.append(literal)
        elif value == literal.positive:
            return None
    return Clause(tuple(left), clause.blocks)


def given(theory: Theory, relation: int, value: bool) -> Draft:
    """What is left where all atoms of a relation have this value; the relations after it move up."""
    clauses, source = [], []
    for at, clause in enumerate(theory.clauses):
        left = given_truth(clause, lambda literal: value if literal.relation == relation else None)
        if left is not None:
            moved = [Literal(r - (r > relation), args, sign) for r, args, sign in left.literals]
            clauses.append(left._replace(literals=tuple(moved)))
            source.append(at)
    rest = tuple([blocks for at, blocks in enumerate(theory.relations) if at != relation])
    return Draft(theory.fixed, rest, tuple(clauses), tuple(source), theory.sure)


def occurrences(theory: Theory) -> list[int]:
    """How many clauses mention each relation."""
    found = [0] * len(theory.relations)
    for clause in theory.clauses:
        for relation in {literal.relation for literal in clause.literals}:
            found[relation] += 1
    return found
