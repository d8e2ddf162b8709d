"""What chains did in burn-in bounds what they may have left behind: errors are wide enough for modes that no draw saw."""

from __future__ import annotations

import numpy as np
import pytest
from tests.rare_modes import silently_off

import markovlogic as mln
from markovlogic.estimation.diagnostics import Slices, estimate
from markovlogic.estimation.early import Early

PHASES = """thing = {A, B, C, D, E, G}
P(thing)
Q
0.814 P(x) ^ P(y) ^ x != y
-4.058 P(x)
-0.87 P(x) => Q
"""


@pytest.mark.parametrize("seed", [4, 5, 10])
def test_few_chains_that_left_a_phase_do_not_forget_it(seed: int) -> None:
    """Nothing true has 0.012 of the weight; eight chains leave it in burn-in, and none comes back: it was 11 to 56 errors."""
    model = mln.Model.parse(PHASES)
    truth = mln.infer(model, None, "P", method="lifted")["P(A)"]
    found = mln.infer(model, None, "P", method="gibbs", network="counting", chains=8, draws=400, seed=seed)["P(A)"]
    assert abs(found - truth) < 6 * found.stderr < 0.2


@pytest.mark.parametrize("seed", [76, 177, 197, 435])
def test_slow_random_models_are_right_or_reported_in_short_runs(seed: int) -> None:
    assert not silently_off(seed, chains=64, draws=300)


def looks(share: float, n_chains: int = 8) -> Early:
    """One row; the last chain was true in this share of burn-in, the others never."""
    shares = np.zeros((1, n_chains))
    shares[0, -1] = share
    return Early(shares, 32.0, 100)


def test_the_error_grows_with_the_time_that_a_chain_stayed_elsewhere() -> None:
    counts = np.zeros((2, 1, 8))
    lengths = np.array([200.0, 200.0])
    stderr = [estimate(Slices(counts, lengths, None, early)).stderr[0] for early in (None, looks(0.0), looks(0.2), looks(0.9))]
    assert stderr[0] == stderr[1] < stderr[2] < stderr[3]
    # some chain stayed for 90 sweeps, and none came back in 3200 draws: a weight of 90 / 3200 may have been missed
    assert stderr[3] == pytest.approx(2**0.5 * 90 / 3200, rel=0.5)


def test_what_draws_show_too_is_no_surprise() -> None:
    """A row that is true in a third of all draws, and of burn-in but for chance, keeps its error."""
    rng = np.random.default_rng(5)
    draws, early = rng.binomial(200, 1 / 3, (2, 50, 64)).astype(float), rng.binomial(32, 1 / 3, (50, 64)) / 32
    lengths = np.array([200.0, 200.0])
    plain = estimate(Slices(draws, lengths)).stderr
    found = estimate(Slices(draws, lengths, None, Early(early, 32.0, 100))).stderr
    np.testing.assert_allclose(found, plain, rtol=0.01)


def test_rows_that_look_alike_in_both_modes_learn_from_those_that_do_not() -> None:
    """The second row is 0.5 in the draws; a chain that the first row finds elsewhere had it at 1."""
    share = np.array([[0.0] * 7 + [0.9], [0.5] * 7 + [1.0]])
    draws = np.array([[0.0] * 8, [0.5] * 8])
    early = Early(share, 32.0, 100)
    alone, together = early.lingered(draws), early.together(draws).lingered(draws)
    assert together[0] == alone[0] > 85 and together[1] > alone[1] + 10
