"""Independent parts: clauses that share no relation are solved apart, and their log partition functions add."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import permutations

import numpy as np

from markovlogic.methods.lifted.proving.nodes import Child, Node, Outcome, gathered
from markovlogic.methods.lifted.proving.reduction import Draft
from markovlogic.methods.lifted.proving.rules.rule import Option, Rule, Sizes
from markovlogic.methods.lifted.proving.theory import Clause, Literal, Numbers, Theory, times
from markovlogic.methods.lifted.proving.world_draws import Copies, Pen


@dataclass(frozen=True, eq=False)
class PartsNode(Node):
    """One child for each part; the drafts keep all blocks, and `relations` lists the relations that each of them holds."""

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
        """A text for the user."""
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
        """A text for the user."""
        return "power rule over pairs"

    def options(self, theory: Theory, sizes: Sizes) -> Iterator[Option]:
        """One for each such block."""
        for block in range(len(theory.fixed)):
            if all(blocks.count(block) == 2 for blocks in theory.relations) and all(
                clause.blocks.count(block) == 2 for clause in theory.clauses
            ):
                yield _pairs_option(theory, sizes, block)


def _pairs_option(theory: Theory, sizes: Sizes, block: int) -> Option:
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
        """A text for the user."""
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
