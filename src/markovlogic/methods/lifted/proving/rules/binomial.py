"""Generalised binomial rule: of a relation with one argument only the number of true atoms matters.

Z = Σᵢ C(n,i) Z(M | i atoms true): the block is split into the i constants of true atoms and the n − i others, in every clause and
every other relation. Since arguments from one block always differ, self-joins need no exception: a clause with R(x) and R(y),
x ≠ y, splits into the four kinds of ordered pairs, of which i(i−1) are true twice.
Source: Venugopal & Gogate (2012), section 3; the factor 2^p(i) for don't-care atoms comes with the normal form of what is left.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np

from markovlogic.methods.lifted.proving.drawing import Copies, Pen, chosen_branches
from markovlogic.methods.lifted.proving.nodes import Child, Node, Outcome, gathered
from markovlogic.methods.lifted.proving.reduction import Draft
from markovlogic.methods.lifted.proving.rules.base import Option, Rule, Sizes, given_truth, occurrences
from markovlogic.methods.lifted.proving.theory import LOOSE, Clause, Literal, Numbers, Theory
from markovlogic.system import cancellation
from markovlogic.system.arrays import Float64, Int64

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
        """For people."""
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
