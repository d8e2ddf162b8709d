"""The reported errors are honest: over 200 random small models, 95% intervals cover the true marginals 92% to 98% of the time.

The seeds are fixed. About 1000 atoms are judged; independent ones would give a binomial error of 0.7%, so that right errors are
refused with a probability far below 1e-3, and errors a fifth too small (true coverage 88%) are not let through.
"""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
from tests.running.made import all_atoms, marginals, random_network, run

from markovlogic.methods.sampling.gibbs import Gibbs


@cache
def errors(chains: int, draws: int, estimator: str, scale: float) -> tuple[np.ndarray, np.ndarray]:
    """Deviations from the truth and reported standard errors of all atoms of 200 models."""
    deviation, stderr = [], []
    for seed in range(200):
        rng = np.random.default_rng(seed)
        n_atoms = int(rng.integers(2, 9))
        network = random_network(seed, n_atoms, int(rng.integers(1, 2 * n_atoms)), scale)
        found = run(
            Gibbs(), network, query_atoms=all_atoms(network), chains=chains, draws=draws, seed=seed, estimator=estimator
        ).atoms
        deviation.append(found.mean - marginals(network))
        stderr.append(found.stderr)
    return np.concatenate(deviation), np.concatenate(stderr)


@pytest.mark.parametrize("estimator", ["sample", "conditional"])
@pytest.mark.parametrize(("chains", "draws", "scale"), [(64, 200, 1.0), (64, 200, 2.5), (8, 400, 1.0), (1, 1600, 1.0)])
def test_intervals_cover_the_truth(chains: int, draws: int, scale: float, estimator: str) -> None:
    deviation, stderr = errors(chains, draws, estimator, scale)
    covered = float((np.abs(deviation) <= 1.96 * stderr).mean())
    assert 0.92 <= covered <= 0.98, covered


def test_errors_a_fifth_too_small_are_caught() -> None:
    deviation, stderr = errors(64, 200, "sample", 1.0)
    assert (np.abs(deviation) <= 1.96 * 0.8 * stderr).mean() < 0.92


def test_errors_a_fourth_too_large_are_caught() -> None:
    deviation, stderr = errors(64, 200, "sample", 1.0)
    assert (np.abs(deviation) <= 1.96 * 1.25 * stderr).mean() > 0.98
