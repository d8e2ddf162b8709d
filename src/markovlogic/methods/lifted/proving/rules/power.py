"""Power rule: Z(M) = Z(M[X/x])^n for a decomposer x, whose values give parts that share no atom.

Source: Venugopal & Gogate (2012), section 3. Departs: there it is enough that every *atom* holds one variable of the decomposer,
at a fixed position for each predicate; with `R(x) v S(y)` over two objects and weight 1 that gives 83.81, and Z is 493.09. Here
all atoms of a clause hold the same one. The rule as it is printed is kept as `Power(literal=True)`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np

from markovlogic.methods.lifted.proving.nodes import Child, Node, Outcome, gathered
from markovlogic.methods.lifted.proving.reduction import Draft
from markovlogic.methods.lifted.proving.rules.rule import Option, Rule, Sizes, given_truth, occurrences
from markovlogic.methods.lifted.proving.theory import LOOSE, Clause, Literal, Numbers, Theory, arrangements, times
from markovlogic.methods.lifted.proving.world_draws import Copies, Pen, chosen_branches
from markovlogic.system import cancellation
from markovlogic.system.arrays import Float64, Int64

Decomposer = tuple[int, ...]  # for each relation the position that it takes


@dataclass(frozen=True, eq=False)
class PowerNode(Node):
    """One child with one constant of the block; in every other place the block has one constant less."""

    child: Child
    position: Decomposer

    @property
    def block(self) -> int:
        """Whose constants are taken."""
        return self.theory.relations[0][self.position[0]]

    def _sizes(self, numbers: Numbers) -> Int64:
        size = numbers.size.copy()
        for block in _taken(self.theory, self.position):
            size[:, block] = np.maximum(size[:, block] - 1, 0)
        return size

    def evaluate(self, numbers: Numbers) -> Outcome:
        """As many times the child."""
        found = self.child.outcome(self._sizes(numbers), numbers.weight)
        copies = numbers.size[:, self.block].astype(np.float64)
        return Outcome(times(found.log_z, copies), found.count * copies[:, None])

    def draw(self, numbers: Numbers, copies: Copies, pen: Pen) -> None:
        """All constants of all copies at once: they have the same law, and are drawn apart."""
        block = copies.blocks[self.block]
        n = block.shape[1]
        rows = np.repeat(np.arange(len(copies)), n)
        own = block.reshape(-1)
        others = np.array([[j for j in range(n) if j != i] for i in range(n)], np.int64).reshape(n, max(n - 1, 0))
        many = copies.chosen(rows)
        blocks = list(many.blocks)
        blocks[self.block] = block[:, others].reshape(len(rows), others.shape[1])
        bindings = [binding.fixing(at, own) for binding, at in zip(many.relations, self.position, strict=True)]
        self.child.draw(self._sizes(numbers), numbers.weight, many.with_blocks(blocks, bindings), pen)

    def children(self) -> tuple[Child, ...]:
        """The one."""
        return (self.child,)


@dataclass(frozen=True, eq=False)
class LiteralPowerNode(PowerNode):
    """The rule as printed, for comparison: groundings that it loses are counted as true."""

    def evaluate(self, numbers: Numbers) -> Outcome:
        """As many times the child, whose clauses have fewer groundings than there are."""
        found = super().evaluate(numbers)
        copies = numbers.size[:, self.block]
        lost = np.zeros(len(numbers))
        for at, clause in enumerate(self.theory.clauses):
            taken = {literal.args[self.position[literal.relation]] for literal in clause.literals}
            rest = [block for v, block in enumerate(clause.blocks) if v not in taken]
            there = arrangements(clause.blocks, numbers.size)
            lost += numbers.weight[:, at] * (there - copies * arrangements(rest, self._sizes(numbers)))
        return Outcome(found.log_z - lost, found.count)


class Power(Rule):
    """Applies where a block gives a decomposer."""

    def __init__(self, literal: bool = False) -> None:
        self.literal = literal

    @property
    def name(self) -> str:
        """A text for the user."""
        return "power rule" + " as printed" * self.literal

    def options(self, theory: Theory, sizes: Sizes) -> Iterator[Option]:
        """One for each decomposer."""
        found = literal_decomposers(theory, sizes) if self.literal else decomposers(theory)
        for position in found:
            yield self._option(theory, sizes, position)

    def _option(self, theory: Theory, sizes: Sizes, position: Decomposer) -> Option:
        taken = _taken(theory, position)
        fixed = tuple([max(f - 1, 0) if b in taken and f != LOOSE else f for b, f in enumerate(theory.fixed)])
        relations = tuple([_without(blocks, at) for blocks, at in zip(theory.relations, position, strict=True)])
        clauses = []
        for clause in theory.clauses:
            literals = [Literal(r, _without(args, position[r]), sign) for r, args, sign in clause.literals]
            clauses.append(_substituted(clause, literals, position))
        draft = Draft(fixed, relations, tuple(clauses), tuple(range(len(clauses))), theory.sure)
        less = tuple([max(size - 1, 0) if b in taken else size for b, size in enumerate(sizes)])
        kind = LiteralPowerNode if self.literal else PowerNode
        return Option((draft,), (less,), lambda children: kind(theory, children[0], position))


def decomposers(theory: Theory) -> Iterator[Decomposer]:
    """Positions, one a relation, at which all literals of every clause hold the same variable."""
    first = theory.clauses[0]
    for variable in range(len(first.blocks)):
        position = _followed(theory, variable)
        if position is not None:
            yield position


def _followed(theory: Theory, variable: int) -> Decomposer | None:
    """What the choice of a variable in the first clause forces elsewhere; None where that fails. The theory is connected."""
    position: dict[int, int] = {}
    open_ = dict(enumerate(theory.clauses))
    chosen: tuple[int, int] | None = (0, variable)
    while chosen is not None:
        at, own = chosen
        for r, args, _ in open_.pop(at).literals:
            if own not in args or position.setdefault(r, args.index(own)) != args.index(own):
                return None
        chosen = next(
            ((at, args[position[r]]) for at, clause in open_.items() for r, args, _ in clause.literals if r in position), None
        )
    return tuple([position[r] for r in range(len(theory.relations))])


def literal_decomposers(theory: Theory, sizes: Sizes) -> Iterator[Decomposer]:
    """Positions, one a relation, over blocks of one size, such that no atom holds two of the chosen variables."""
    if not all(theory.relations):
        return
    for position in product(*(range(len(blocks)) for blocks in theory.relations)):
        if len({sizes[blocks[at]] for blocks, at in zip(theory.relations, position, strict=True)}) == 1 and all(
            len({args[position[r]] for r, args, _ in clause.literals}.intersection(args)) == 1
            for clause in theory.clauses
            for _, args, _ in clause.literals
        ):
            yield position


def _taken(theory: Theory, position: Decomposer) -> set[int]:
    """Blocks of the chosen positions: one, but for the rule as printed."""
    return {blocks[at] for blocks, at in zip(theory.relations, position, strict=True)}


def _without(items: tuple[int, ...], at: int) -> tuple[int, ...]:
    return items[:at] + items[at + 1 :]


def _substituted(clause: Clause, literals: Sequence[Literal], position: Decomposer) -> Clause:
    """The clause without the variables of the decomposer."""
    taken = {args[position[r]] for r, args, _ in clause.literals}
    number: dict[int, int] = {}
    for v in range(len(clause.blocks)):
        if v not in taken:
            number[v] = len(number)
    left = [Literal(r, tuple([number[v] for v in args]), sign) for r, args, sign in literals]
    return Clause(tuple(left), tuple([clause.blocks[v] for v in number]))


AT_ONCE = 1 << 14  # lanes of the child that are evaluated together
_TRIED = 4  # relations, those in most clauses first


@dataclass(frozen=True, eq=False)
class BinomialNode(Node):
    """One child, in which two more blocks follow those of the theory: constants of true atoms, and of false ones."""

    child: Child
    relation: int
    block: int
    origin: tuple[tuple[int, tuple[int, ...]], ...]  # relation before, and its blocks, for each relation of the draft

    def _terms(self, numbers: Numbers) -> tuple[Int64, Int64, Float64, Outcome]:
        """Lanes by number of true atoms: lane before, that number, log weight, and what the child found."""
        from scipy.special import gammaln

        n = numbers.size[:, self.block]
        lane = np.repeat(np.arange(len(n)), n + 1)
        i = np.arange(len(lane)) - np.repeat(np.cumsum(n + 1) - (n + 1), n + 1)
        size, m = numbers.size[lane], n[lane]
        size = np.concatenate([size, i[:, None], (m - i)[:, None]], axis=1)
        found = self.child.outcome(size, numbers.weight[lane])
        ways = gammaln(m + 1.0) - gammaln(i + 1.0) - gammaln(m - i + 1.0)
        return lane, i, ways + found.log_z, found

    def evaluate(self, numbers: Numbers) -> Outcome:
        """Sum over the number of true atoms, a bounded number of lanes at a time."""
        log_z = np.empty(len(numbers))
        count = np.empty((len(numbers), len(self.theory.relations)))
        ends = np.cumsum(numbers.size[:, self.block] + 1)
        begin = 0
        while begin < len(numbers):
            cancellation.check()
            before = ends[begin - 1] if begin else 0
            end = max(begin + 1, int(np.searchsorted(ends, before + AT_ONCE, side="right")))
            log_z[begin:end], count[begin:end] = self._some(numbers.lanes(slice(begin, end)))
            begin = end
        return Outcome(log_z, count)

    def _some(self, numbers: Numbers) -> tuple[Float64, Float64]:
        lane, i, term, found = self._terms(numbers)
        start = np.flatnonzero(i == 0)
        top = np.maximum.reduceat(term, start)
        safe = np.where(np.isneginf(top), 0.0, top)
        total = np.add.reduceat(np.exp(term - safe[lane]), start)
        with np.errstate(divide="ignore"):
            log_z = safe + np.log(total)
        share = np.exp(term - np.where(np.isneginf(log_z), 0.0, log_z)[lane])
        count = gathered(found.count, [r for r, _ in self.origin], len(self.theory.relations))
        count[:, self.relation] = i
        return log_z, np.add.reduceat(count * share[:, None], start, axis=0)

    def draw(self, numbers: Numbers, copies: Copies, pen: Pen) -> None:
        """How many copies have each number of true atoms, which ones, and in each a fresh set of constants."""
        _, _, term, _ = self._terms(numbers)
        taken = chosen_branches(term, len(copies), pen.random)
        order = pen.random.permutation(len(copies))
        end = np.cumsum(taken)
        for i in np.flatnonzero(taken).tolist():
            self._branch(numbers, copies.chosen(order[end[i] - taken[i] : end[i]]), i, pen)

    def _branch(self, numbers: Numbers, copies: Copies, i: int, pen: Pen) -> None:
        mixed = pen.random.permuted(copies.blocks[self.block], axis=1)
        n = mixed.shape[1]
        blocks = list(copies.blocks)
        blocks[self.block] = mixed
        truth = np.broadcast_to(np.arange(n) < i, (len(copies), n))
        pen.write(copies.with_blocks(blocks, copies.relations), self.relation, (self.block,), truth)
        split = copies.with_blocks([*blocks, mixed[:, :i], mixed[:, i:]], [copies.relations[r] for r, _ in self.origin])
        size = np.concatenate([numbers.size, [[i, n - i]]], axis=1)
        self.child.draw(size, numbers.weight, split, pen)

    def children(self) -> tuple[Child, ...]:
        """The one."""
        return (self.child,)


class Binomial(Rule):
    """Applies where a relation has one argument."""

    is_sure = False

    @property
    def name(self) -> str:
        """A text for the user."""
        return "binomial rule"

    def options(self, theory: Theory, sizes: Sizes) -> Iterator[Option]:
        """One for each such relation, those in most clauses first."""
        count = occurrences(theory)
        single = [r for r, blocks in enumerate(theory.relations) if len(blocks) == 1]
        for relation in sorted(single, key=lambda r: -count[r])[:_TRIED]:
            yield _option(theory, sizes, relation)


def _option(theory: Theory, sizes: Sizes, relation: int) -> Option:
    block = theory.relations[relation][0]
    true, false = len(theory.fixed), len(theory.fixed) + 1
    origin = [
        (r, blocks)
        for r, before in enumerate(theory.relations)
        if r != relation
        for blocks in _splits(before, block, (true, false))
    ]
    number = {key: at for at, key in enumerate(origin)}
    clauses, source = [], []
    for at, clause in enumerate(theory.clauses):
        for blocks in _splits(clause.blocks, block, (true, false)):
            left = _split(clause, blocks, relation, true)
            if left is not None:
                moved = [Literal(number[r, tuple([blocks[v] for v in args])], args, sign) for r, args, sign in left.literals]
                clauses.append(Clause(tuple(moved), blocks))
                source.append(at)
    draft = Draft(
        (*theory.fixed, LOOSE, LOOSE), tuple([blocks for _, blocks in origin]), tuple(clauses), tuple(source), theory.sure
    )
    n = sizes[block]
    return Option(
        (draft,),
        ((*sizes, n // 2, n - n // 2),),
        lambda children: BinomialNode(theory, children[0], relation, block, tuple(origin)),
        lanes=n + 1.0,
        numbers=max(AT_ONCE, n + 1.0) * 3.0 * (len(draft.fixed) + len(draft.clauses) + len(draft.relations)),
    )


def _split(clause: Clause, blocks: tuple[int, ...], relation: int, true: int) -> Clause | None:
    """The clause with its variables in these blocks, given that the relation is true on one of them and false on the other."""
    return given_truth(Clause(clause.literals, blocks), lambda q: blocks[q.args[0]] == true if q.relation == relation else None)


def _splits(blocks: Sequence[int], block: int, parts: tuple[int, int]) -> Iterator[tuple[int, ...]]:
    """Every way to put one of two parts in each place of a block."""
    return product(*(parts if b == block else (b,) for b in blocks))
