"""Conditioning: an atom without arguments is false or true."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from markovlogic.methods.lifted.proving.nodes import Child, Node, Outcome
from markovlogic.methods.lifted.proving.rules.rule import Option, Rule, Sizes, given, occurrences
from markovlogic.methods.lifted.proving.theory import Numbers, Theory, arrangements, times
from markovlogic.methods.lifted.proving.world_draws import Copies, Pen, chosen_branches, places
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
        """A text for the user."""
        return "conditioning"

    def options(self, theory: Theory, sizes: Sizes) -> Iterator[Option]:
        """One for each such relation, those in most clauses first."""
        count = occurrences(theory)
        if not any(theory.relations):
            return  # elimination has been tried
        single = [r for r, blocks in enumerate(theory.relations) if not blocks]
        for relation in sorted(single, key=lambda r: -count[r])[:_TRIED]:
            yield _condition_option(theory, sizes, relation)


def _condition_option(theory: Theory, sizes: Sizes, relation: int) -> Option:
    return Option(
        (given(theory, relation, False), given(theory, relation, True)),
        (sizes, sizes),
        lambda children: ConditionNode(theory, (children[0], children[1]), relation),
    )


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
        """A text for the user."""
        return "unit propagation"

    def options(self, theory: Theory, sizes: Sizes) -> Iterator[Option]:
        """One for each such clause."""
        for at in sorted(theory.sure):
            if len(theory.clauses[at].literals) == 1:
                literal = theory.clauses[at].literals[0]
                yield _forced_option(theory, sizes, literal.relation, literal.positive)


def _forced_option(theory: Theory, sizes: Sizes, relation: int, value: bool) -> Option:
    draft = given(theory, relation, value)
    return Option((draft,), (sizes,), lambda children: ForcedNode(theory, children[0], relation, value))


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
        """A text for the user."""
        return "settled"

    def options(self, theory: Theory, sizes: Sizes) -> Iterator[Option]:
        """One, if no clause is left."""
        if not theory.clauses:
            yield Option((), (), lambda children: SettledNode(theory), work=0.0)


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
        """A text for the user."""
        return "independent atoms"

    def options(self, theory: Theory, sizes: Sizes) -> Iterator[Option]:
        """One."""
        if len(theory.relations) == 1 and all(len(clause.literals) == 1 for clause in theory.clauses):
            yield Option((), (), lambda children: UnitsNode(theory))
