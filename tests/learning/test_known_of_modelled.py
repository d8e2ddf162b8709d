"""`Known(P(x))` of a modelled predicate reads all facts but the one that is to be explained."""

from __future__ import annotations

import itertools

import numpy as np
import pyarrow as pa
import pytest
from scipy.optimize import minimize

import markovlogic as mln
from markovlogic.errors import UnsupportedError

N, SD = 7, 2.0
BODIES = {
    "Known(R(x, z)) ^ Known(R(z, y)) => R(x, y)": lambda r, x, y: sum((x, z) in r and (z, y) in r for z in range(N)),
    "Known(R(y, x)) => R(x, y)": lambda r, x, y: (y, x) in r,
    "Known(R(x, z)) ^ Known(R(w, z)) ^ Known(R(w, y)) => R(x, y)": lambda r, x, y: sum(
        (x, z) in r and (w, z) in r and (w, y) in r for z in range(N) for w in range(N)
    ),
    "(EXIST z (Known(R(x, z)) ^ Known(R(z, y)))) => R(x, y)": lambda r, x, y: any((x, z) in r and (z, y) in r for z in range(N)),
    "Known(R(x, z)) ^ z != y => R(x, y)": lambda r, x, y: sum((x, z) in r and z != y for z in range(N)),
    "!Known(R(y, x)) => R(x, y)": lambda r, x, y: (y, x) not in r,
}


@pytest.mark.parametrize("rules", [tuple(BODIES)[:2], tuple(BODIES)[2:3], tuple(BODIES)[3:5], tuple(BODIES)[5:]])
def test_weights_are_those_of_a_regression_without_the_atom_itself(rules: tuple[str, ...]) -> None:
    rng = np.random.default_rng(4)
    facts = {pair for pair in itertools.product(range(N), repeat=2) if rng.random() < 0.3}
    text = f"thing = {{{', '.join(f'C{x}' for x in range(N))}}}\nR(thing, thing)\n"
    model = mln.Model.parse(text + "0 R(x, y)\n" + "".join(f"0 {rule}\n" for rule in rules))
    table = pa.table({"a": [f"C{x}" for x, _ in sorted(facts)], "b": [f"C{y}" for _, y in sorted(facts)]})
    found = mln.learn(model, model.evidence(R=table), "R", method="pseudolikelihood", prior=f"l2:{SD}", progress=False)
    rows = list(itertools.product(range(N), repeat=2))
    design = np.array([[1.0, *(float(BODIES[rule](facts - {pair}, *pair)) for rule in rules)] for pair in rows])
    truth = np.array([pair in facts for pair in rows], float)

    def loss(weights: np.ndarray) -> float:
        eta = design @ weights
        return float((np.logaddexp(0, eta) - truth * eta).sum() + (weights**2).sum() / 2 / SD**2)

    wanted = minimize(loss, np.zeros(1 + len(rules)), tol=1e-12).x
    assert np.allclose([one.weight for one in found.weights], wanted, atol=1e-3)


def test_on_an_engine_it_is_refused() -> None:
    model = mln.Model.parse("thing = {A, B}\nR(thing, thing)\n1 Known(R(y, x)) => R(x, y)\n")
    evidence = {"R": pa.table({"a": ["A"], "b": ["B"]})}
    with pytest.raises(UnsupportedError, match="Known"):
        mln.learn(model, evidence, "R", engine="local", progress=False)
