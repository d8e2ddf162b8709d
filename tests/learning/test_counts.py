"""Counts, pseudo-likelihood and likelihood gradients against the formulas themselves, world by world."""

from __future__ import annotations

import itertools
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.learning.made import Training, random_training, training
from tests.strategies import RandomProblem, problems

from markovlogic.errors import InputError
from markovlogic.language.load import parse
from markovlogic.learning.divergence import Likelihood
from markovlogic.learning.pseudolikelihood import design_of
from markovlogic.system.arrays import packed

STEP = 1e-5


def numeric_gradient(of: Training, weights: np.ndarray) -> np.ndarray:
    found = np.zeros_like(weights)
    for at in range(len(weights)):
        up, down = weights.copy(), weights.copy()
        up[at] += STEP
        down[at] -= STEP
        found[at] = (of.log_pseudolikelihood(up) - of.log_pseudolikelihood(down)) / (2 * STEP)
    return found


def check(of: Training, rng: np.random.Generator) -> None:
    weights = rng.normal(size=len(of.index))
    design = design_of([of.counting], [of.database.truth], len(of.index))
    value, gradient = design.value_and_gradient(weights)
    assert value == pytest.approx(of.log_pseudolikelihood(weights), abs=1e-9)
    np.testing.assert_allclose(gradient, numeric_gradient(of, weights), atol=1e-6 * max(1.0, np.abs(gradient).max(initial=0)))
    steps = STEP * np.eye(len(weights))
    bent = [design.value_and_gradient(weights + e)[1] - design.value_and_gradient(weights - e)[1] for e in steps]
    hessian = np.array(bent).reshape(steps.shape) / (2 * STEP)
    np.testing.assert_allclose(
        design.information(weights).toarray(), -hessian, atol=1e-5 * max(1.0, np.abs(hessian).max(initial=0))
    )
    truths = rng.random((3, len(of.names))) < 0.5
    for one, other in itertools.pairwise(truths):
        expected = of.counts(one) - of.counts(other)
        np.testing.assert_allclose(of.network.counts_in(one) - of.network.counts_in(other), expected, atol=1e-9)
    if len(of.names):
        words = packed(np.repeat(truths[:1], 64, axis=0))
        np.testing.assert_allclose(
            of.network.expected(np.bitwise_count(words[: len(of.network.must)]) / 64, words),
            of.network.counts_in(truths[0]),
            atol=1e-9,
        )
        np.testing.assert_allclose(of.network.counts_of_chains(words)[:, 5], of.network.counts_in(truths[0]), atol=1e-9)


@settings(max_examples=50, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
@given(problems(max_atoms=8, max_rules=3, hard=False), st.integers(0, 1000))
def test_value_gradient_and_information_are_those_of_the_formulas(tmp_path_factory, drawn: RandomProblem, seed: int) -> None:
    check(random_training(drawn, tmp_path_factory.mktemp("train"), seed), np.random.default_rng(seed))


PLUS = """p = {A, B, C}
w = {V, X}
k = {K1, K2}
S(p)
H(p, w)
L(p, p)
Kind(p, k!)
H(x, +a) => S(x)
H(x, +a) ^ S(x)
L(x, y) ^ Kind(x, +c) ^ Kind(y, +d)
(S(+x) v H(+x, y))
H(x, +a) v S(y)
*S(x) ^ Kind(x, +c)
(EXIST y (L(x, y) ^ S(y))) ^ Kind(x, +c)
S(x) <=> (EXIST y (L(x, y) ^ S(y)))
"""
FACTS = "S(A)\n!S(B)\nS(C)\nKind(A,K1)\nKind(B,K2)\nKind(C,K2)\nL(A,B)\nL(B,C)\nL(C,C)\nH(A,V)\nH(B,X)\nH(C,V)\nH(C,X)\n"


def test_a_weight_for_every_constant(tmp_path: Path) -> None:
    of = training(parse(PLUS), FACTS, ["S", "Kind"], tmp_path)
    names = {(rule, constants) for rule, constants in of.index.keys}
    assert {(0, ("V",)), (2, ("K1", "K2")), (3, ("A",)), (4, ("X",))} <= names
    check(of, np.random.default_rng(1))


def test_hard_rules_decide_atoms(tmp_path: Path) -> None:
    text = "p = {A, B, C}\nk = {K1, K2, K3}\nS(p)\nT(p)\nKind(p, k!)\nS(x) => T(x).\nS(x) => Kind(x, K1) v Kind(x, K2).\n"
    text += "T(x) => !Kind(x, K3).\n(S(x))\n(T(x))\nKind(x, +c)\nS(x) ^ Kind(x, K1)\n"
    facts = "S(A)\nT(A)\nKind(A,K1)\nT(B)\nKind(B,K2)\nKind(C,K3)\n"
    of = training(parse(text), facts, ["S", "T", "Kind"], tmp_path)
    rng = np.random.default_rng(2)
    weights = rng.normal(size=len(of.index))
    design = design_of([of.counting], [of.database.truth], len(of.index))
    value, gradient = design.value_and_gradient(weights)
    assert value == pytest.approx(of.log_pseudolikelihood(weights), abs=1e-9)
    np.testing.assert_allclose(gradient, numeric_gradient(of, weights), atol=1e-6)
    broken = training(parse(text), facts + "S(C)\n", ["S", "T", "Kind"], tmp_path)
    with pytest.raises(InputError, match="breaks a hard rule"):
        design_of([broken.counting], [broken.database.truth], len(broken.index))


SMALL = "p = {A, B, C}\nS(p)\nT(p)\nF(p, p)\nF(x, y) ^ S(x) => S(y)\n(S(x))\nS(x) ^ T(x)\nS(x) <=> T(x)\n"
SMALL_FACTS = "S(A)\nS(B)\nT(A)\nF(A,B)\nF(B,C)\nF(C,A)\n"
WEIGHTS = np.array([0.7, -0.4, 0.9, -0.6])


def exact_gradient(of: Training, weights: np.ndarray, clamped: np.ndarray | None = None) -> np.ndarray:
    """N(data) - E[N] by all worlds; with clamped, E[N | the rest] - E[N]."""
    n = len(of.names)
    worlds = (np.arange(2**n)[:, None] >> np.arange(n)) & 1 == 1
    counts = np.array([of.counts(world) for world in worlds])
    share = np.exp(counts @ weights)

    def mean(keep: np.ndarray) -> np.ndarray:
        return (share[keep, None] * counts[keep]).sum(axis=0) / share[keep].sum()

    everything = np.ones(len(worlds), bool)
    if clamped is None:
        return of.counts(of.database.truth) - mean(everything)
    agrees = (worlds[:, clamped] == of.database.truth[clamped]).all(axis=1)
    return mean(agrees) - mean(everything)


def estimated(of: Training, weights: np.ndarray, batches: int = 150) -> tuple[np.ndarray, np.ndarray]:
    """Mean and standard error over batches of sweeps; ten sweeps apart they are as good as independent here."""
    likelihood = Likelihood([of.network], seed=3)
    likelihood.gradient(weights, 100)
    found = np.array([likelihood.gradient(weights, 10) for _ in range(batches)])
    return found.mean(axis=0), found.std(axis=0, ddof=1) / np.sqrt(batches)


# z of four weights below 5: a false alarm once in 400,000 runs
def test_gradient_by_chains_is_that_of_the_likelihood(tmp_path: Path) -> None:
    of = training(parse(SMALL), SMALL_FACTS, ["S", "T"], tmp_path)
    assert [key[0] for key in of.index.keys] == [0, 1, 2, 3]
    mean, error = estimated(of, WEIGHTS)
    assert np.max(np.abs(mean - exact_gradient(of, WEIGHTS)) / error) < 5
    # the twin: a weight that is off by a fifth is seen
    mean, error = estimated(of, WEIGHTS + np.array([0.2, 0, 0, 0]))
    assert np.max(np.abs(mean - exact_gradient(of, WEIGHTS)) / error) > 5


def test_gradient_with_hidden_atoms(tmp_path: Path) -> None:
    of = training(parse(SMALL), SMALL_FACTS + "?T(B)\n?S(C)\n", ["S", "T"], tmp_path)
    assert of.database.hidden.sum() == 2
    mean, error = estimated(of, WEIGHTS)
    assert np.max(np.abs(mean - exact_gradient(of, WEIGHTS, ~of.database.hidden)) / error) < 5
