"""The check of renamings says what the definition says, of right permutations and of wrong ones."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from tests.symmetry.made import prepared

from markovlogic.data.evidence import codes
from markovlogic.problem import Problem
from markovlogic.symmetry.renamings import StatusChecker

RULES = "a = {A0, A1, A2}\nb = {B0, B1, B2, B3}\nP(a)\nQ(a, b)\nR(b, b)\n1 P(x) ^ Q(x, y) ^ R(y, z)\n"


def made(seed: int) -> Problem:
    rng = np.random.default_rng(seed)
    facts = [f"{'!' * int(rng.integers(2))}P(A{x})" for x in range(3) if rng.random() < 0.3]
    facts += [f"Q(A{x},B{y})" for x in range(3) for y in range(4) if rng.random() < 0.2]
    facts += [f"{'!' * int(rng.integers(2))}R(B{x},B{y})" for x in range(4) for y in range(4) if rng.random() < 0.15]
    return prepared(RULES, "\n".join(facts) + "\n", open_=("P", "R"))


def preserves(problem: Problem, image: dict[str, list[int]]) -> bool:
    """By the definition: every ground atom has the status of its image."""
    for name, statuses in problem.statuses.items():
        types = problem.model.predicates[name].types
        for args in itertools.product(*(range(len(problem.domains[t])) for t in types)):
            to = [image[t][x] for t, x in zip(types, args, strict=True)]
            here, there = (int(statuses.lookup(codes(np.array([row]), statuses.sizes))[0]) for row in (list(args), to))
            if here != there:
                return False
    return True


@pytest.mark.parametrize("seed", range(12))
def test_every_permutation_of_both_types(seed: int) -> None:
    problem = made(seed)
    checker = StatusChecker(problem, {"a": 0, "b": 3})
    found = {True: 0, False: 0}
    for of_a in itertools.permutations(range(3)):
        for of_b in itertools.permutations(range(4)):
            image = np.array([*of_a, *(3 + y for y in of_b)], np.int32)
            moved = np.flatnonzero(image != np.arange(7)).astype(np.int32)
            expected = preserves(problem, {"a": list(of_a), "b": list(of_b)})
            assert checker.preserves(moved, image[moved]) == expected
            found[expected] += 1
    assert found[True] >= 1 and found[False] > 10
