"""Couplings are chosen by inference in left-out databases: kept where they help, set to zero where they do harm."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from tests.learning.made import training

import markovlogic as mln
from markovlogic.language.load import parse
from markovlogic.learning.held_out import marginal_log_likelihood
from markovlogic.learning.priors import NO_COUPLINGS, Prior, penalty_of, prior_choice

RULES = "S(p)\nE(p)\nL(p, p)\n(S(x))\nE(x) ^ S(x)\nL(x, y) ^ S(x) ^ S(y)\n"


def database(seed: int, *, helps: bool) -> dict[str, pa.Table]:
    """Pairs of linked people. Evidence is weak; whether one is S is that of the other (helps), or drawn alone."""
    rng = np.random.default_rng(seed)
    names = [f"P{i}" for i in range(80)]
    s = np.repeat(rng.random(40) < 0.5, 2) if helps else rng.random(80) < 0.5
    e = rng.random(80) < np.where(s, 0.7, 0.3)
    links = [(names[i], names[i + 1]) for i in range(0, 80, 2)]
    return {
        "S": pa.table({"x": names, "truth": s.tolist()}),
        "E": pa.table({"x": names, "truth": e.tolist()}),
        "L": pa.table({"x": [a for a, _ in links], "y": [b for _, b in links]}),
    }


def learned(helps: bool) -> mln.Learned:
    return mln.learn(mln.Model.parse(RULES), [database(seed, helps=helps) for seed in (1, 2, 3)], "S")


def test_couplings_that_help_are_learned() -> None:
    found = learned(True)
    assert found.method == "cd" and found.weights[2].weight > 1.0
    assert any("chosen by inference in 3 databases left out" in note for note in found.notes)
    assert "for couplings" in found.prior and found.stats["updates"] > 0


def test_couplings_that_do_not_earn_their_place_are_small() -> None:
    found = learned(False)
    assert abs(found.weights[2].weight) < 0.3


def test_the_marginal_likelihood_is_that_of_all_worlds(tmp_path: Path) -> None:
    facts = "S(A)\n!S(B)\nS(C)\nE(A)\nE(B)\nL(A,B)\nL(B,C)\n"
    of = training(parse(RULES), facts, ["S"], tmp_path)
    weights = np.array([0.3, -0.8, 1.1])
    worlds = [np.array([(w >> i) & 1 for i in range(3)], bool) for w in range(8)]
    mass = np.exp([float(weights @ of.counts(world)) for world in worlds])
    p = np.array(worlds).T @ mass / mass.sum()
    expected = float(np.log(np.where(of.database.truth, p, 1 - p)).sum())
    found = np.array([marginal_log_likelihood(of.network, weights, (seed,))[0] for seed in range(12)])
    # 12 runs of 1280 dependent draws: six standard errors of their mean, of which one run in 10^8 is farther away
    assert found.mean() == pytest.approx(expected, abs=6 * max(found.std() / math.sqrt(12), 0.003))
    # the twin: without the coupling it is another number
    other = np.array([marginal_log_likelihood(of.network, weights * [1, 1, 0], (seed,))[0] for seed in range(12)])
    assert abs(other.mean() - expected) > 6 * max(found.std() / math.sqrt(12), 0.003)


def test_a_prior_of_couplings() -> None:
    prior = Prior("l2", 2.0, 10.0, NO_COUPLINGS)
    made = penalty_of(prior, np.array([True, False, False]), np.array([False, False, True]))
    np.testing.assert_allclose(made.precision, [0.01, 0.25, 0])
    assert made.held.tolist() == [False, False, True]
    assert not prior.has_couplings and "no couplings" in str(prior)
    some = penalty_of(Prior("l2", 2.0, 10.0, 0.5), np.array([True, False, False]), np.array([False, False, True]))
    np.testing.assert_allclose(some.precision, [0.01, 0.25, 4])
    assert not some.held.any()


@pytest.mark.parametrize("base", [False, True])
def test_no_couplings_are_a_weight_of_zero(tmp_path: Path, base: bool) -> None:
    """The data pull hard at the coupling, each database another way: a narrow prior alone would not hold it."""
    (tmp_path / "m.mln").write_text("P(t)\n1 P(x) ^ P(y)\n" + "(P(x))\n" * base)
    files = []
    for name, n, n_true in (("A", 100, 95), ("B", 60, 3)):
        files.append(tmp_path / f"{name}.db")
        files[-1].write_text("".join(f"{'' if at < n_true else '!'}P({name}{at})\n" for at in range(n)))
    found = mln.learn(tmp_path / "m.mln", [str(file) for file in files], "P")
    assert any("did not earn their place: weight 0" in note for note in found.notes) and "no couplings" in found.prior
    assert found.weights[0].weight == 0 and math.isnan(found.weights[0].stderr)
    assert "standard error" not in found.text().split("P(x) ^ P(y)")[1].splitlines()[0]
    if base:  # what is left is learned without it: 98 of 160 atoms are true
        assert found.weights[1].weight == pytest.approx(math.log(98 / 62), abs=0.01) and found.weights[1].stderr > 0


def test_a_prior_of_couplings_from_python_is_kept() -> None:
    databases = [database(seed, helps=True) for seed in (1, 2)]
    strong, none = (
        mln.learn(mln.Model.parse(RULES), databases, "S", method="pseudolikelihood", prior=Prior("l2", 2.0, None, coupling))
        for coupling in (0.05, NO_COUPLINGS)
    )
    plain = mln.learn(mln.Model.parse(RULES), databases, "S", method="pseudolikelihood", prior=2.0)
    assert "0.05 for couplings" in strong.prior and 0 < strong.weights[2].weight < plain.weights[2].weight / 5
    assert none.weights[2].weight == 0 and any("were given none by the prior: weight 0" in note for note in none.notes)
    assert prior_choice(Prior("none", coupling=NO_COUPLINGS)).fixed == Prior("none", coupling=NO_COUPLINGS)
