"""Orbit means over partitions: records that nothing tells apart, held against sums over all partitions by the sizes of blocks."""

from __future__ import annotations

from math import comb, exp

import numpy as np
import pytest

import markovlogic as mln

N, WEIGHT = 16, -0.4  # more records than are summed over all of their partitions
RULES = "r = {{{}}}\nSame(r, r)\nSame(x, x).\nSame(x, y) => Same(y, x).\nSame(x, y) ^ Same(y, z) => Same(x, z).\n{} Same(x, y)\n"
LARGEST_Z = 6.0  # of one number: a false alarm in one of 10^8 runs, were intervals normal


def chance_of_a_pair(n: int, weight: float) -> float:
    """Σ over the size of the first record's block; a block of k records has k² true atoms."""
    block = [exp(weight * k * k) for k in range(n + 1)]
    total = [1.0]
    for m in range(1, n + 1):
        total.append(sum(comb(m - 1, k - 1) * block[k] * total[m - k] for k in range(1, m + 1)))
    return sum(comb(n - 2, k - 2) * block[k] * total[n - k] for k in range(2, n + 1)) / total[n]


def reported(weight: float, estimator: str) -> mln.Marginals:
    model = mln.Model.parse(RULES.format(", ".join(f"R{i}" for i in range(N)), weight))
    return mln.infer(model, None, "Same", method="partition", estimator=estimator, chains=8, draws=300, seed=2)


def z_of(result: mln.Marginals, truth: float) -> float:
    off = np.array([result[f"Same(R{i},R{j})"].stderr > 0 for i in range(3) for j in range(3) if i != j])
    assert off.all()
    one = result["Same(R0,R1)"]
    return abs(float(one) - truth) / one.stderr


def test_twins_are_pooled() -> None:
    truth = chance_of_a_pair(N, WEIGHT)
    pooled, single = reported(WEIGHT, "auto"), reported(WEIGHT, "sample")
    assert pooled.run.estimator == "orbit" and single.run.estimator == "sample"
    assert len({float(pooled[f"Same(R{i},R{j})"]) for i in range(5) for j in range(i)}) == 1  # one number for all pairs
    assert pooled["Same(R0,R1)"].stderr < 0.5 * single["Same(R0,R1)"].stderr
    assert z_of(pooled, truth) < LARGEST_Z


def test_the_check_notices_another_weight() -> None:
    assert z_of(reported(WEIGHT - 0.06, "auto"), chance_of_a_pair(N, WEIGHT)) > LARGEST_Z


def test_the_oracle_on_three_records() -> None:
    model = mln.Model.parse(RULES.format("A, B, C", WEIGHT))
    exact = mln.infer(model, None, "Same", method="exact")
    assert float(exact["Same(A,B)"]) == pytest.approx(chance_of_a_pair(3, WEIGHT), abs=1e-12)
