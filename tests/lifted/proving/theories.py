"""The obviously right meaning of a theory: every world, every grounding; and random theories.

Shares only the values of `theory` with what it judges.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence

import numpy as np

from markovlogic.methods.lifted.proving.nodes import Node, Outcome
from markovlogic.methods.lifted.proving.theory import LOOSE, Clause, Literal, Numbers, Theory

MOST_ATOMS = 16


def choices(blocks: Sequence[int], sizes: Sequence[int]) -> Iterator[tuple[int, ...]]:
    """Constants for places in blocks; constants of one block differ."""
    for chosen in itertools.product(*(range(sizes[b]) for b in blocks)):
        if len(set(zip(blocks, chosen, strict=True))) == len(chosen):
            yield chosen


def atoms_of(theory: Theory, sizes: Sequence[int]) -> list[tuple[int, tuple[int, ...]]]:
    return [(r, chosen) for r, blocks in enumerate(theory.relations) for chosen in choices(blocks, sizes)]


def brute_force(theory: Theory, sizes: Sequence[int], weights: Sequence[float]) -> tuple[float, list[float]]:
    """Log partition function, and the expected number of true atoms of each relation (zeros where no world is possible)."""
    atoms = atoms_of(theory, sizes)
    assert len(atoms) <= MOST_ATOMS
    number = {atom: at for at, atom in enumerate(atoms)}
    index = np.arange(2 ** len(atoms))
    truth = [(index >> at) & 1 == 1 for at in range(len(atoms))]
    cost = np.zeros(len(index))
    for clause, weight in zip(theory.clauses, weights, strict=True):
        for chosen in choices(clause.blocks, sizes):
            false = np.ones(len(index), bool)
            for r, args, sign in clause.literals:
                false &= truth[number[r, tuple(chosen[v] for v in args)]] != sign
            cost[false] += weight
    top = cost.min()
    if math.isinf(top):
        return -math.inf, [0.0] * len(theory.relations)
    share = np.exp(top - cost)
    count = [0.0] * len(theory.relations)
    for (r, _), column in zip(atoms, truth, strict=True):
        count[r] += math.fsum(share[column]) / math.fsum(share)
    return math.log(math.fsum(share)) - top, count


class BruteNode(Node):
    """Solves what a rule leaves by enumeration, so that one rule is judged alone."""

    def evaluate(self, numbers: Numbers) -> Outcome:
        found = [brute_force(self.theory, s.tolist(), w.tolist()) for s, w in zip(numbers.size, numbers.weight, strict=True)]
        return Outcome(
            np.array([log_z for log_z, _ in found]),
            np.array([count for _, count in found]).reshape(len(found), len(self.theory.relations)),
        )

    def draw(self, numbers: Numbers, copies: object, pen: object) -> None:
        raise AssertionError("one rule is judged by its sums; nothing is drawn from it")


def random_theory(rng: np.random.Generator, arities: Sequence[int], n_blocks: int, n_clauses: int, fixed: bool = False) -> Theory:
    """Relations of these arities over random blocks, and random clauses of one to three literals."""
    relations = [tuple(rng.integers(n_blocks, size=arity).tolist()) for arity in arities]
    clauses = []
    for _ in range(n_clauses):
        blocks: list[int] = []
        literals = []
        for _ in range(rng.integers(1, 4)):
            r = int(rng.integers(len(relations)))
            args: list[int] = []
            for block in relations[r]:
                old = [v for v, b in enumerate(blocks) if b == block and v not in args]
                if old and rng.random() < 0.6:
                    args.append(int(rng.choice(old)))
                else:
                    args.append(len(blocks))
                    blocks.append(block)
            literals.append(Literal(r, tuple(args), bool(rng.integers(2))))
        clauses.append(Clause(tuple(literals), tuple(blocks)))
    sizes = tuple(rng.integers(0, 4, size=n_blocks).tolist()) if fixed else (LOOSE,) * n_blocks
    sure = frozenset(np.flatnonzero(rng.random(n_clauses) < 0.15).tolist())
    return Theory(sizes, tuple(relations), tuple(clauses), sure)


def random_numbers(rng: np.random.Generator, theory: Theory, lanes: int, hard: float = 0.1) -> Numbers:
    """Sizes up to 3, such that atoms can be enumerated; some weights are infinite, some zero."""
    size = np.empty((lanes, len(theory.fixed)), np.int64)
    for lane in size:
        while True:
            drawn = rng.integers(0, 4, size=len(lane))
            lane[:] = np.where(np.array(theory.fixed, int) == LOOSE, drawn, theory.fixed)
            if len(atoms_of(theory, lane.tolist())) <= 12:
                break
    weight = rng.exponential(1.0, (lanes, len(theory.clauses)))
    weight[rng.random(weight.shape) < hard] = math.inf
    weight[rng.random(weight.shape) < 0.05] = 0.0
    weight[:, sorted(theory.sure)] = math.inf
    return Numbers(size, weight)
