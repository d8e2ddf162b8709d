"""Chains on the counting network tally what is requested, and nothing else; the estimates are those of tallies of all atoms."""

from __future__ import annotations

import numpy as np
import pytest
from tests.grounding.from_text import prepared

from markovlogic.estimation.estimator import Estimator
from markovlogic.methods.sampling.counting_gibbs import CountingGibbs, CountingGibbsSampler
from markovlogic.networks.counting.building import counting_network
from markovlogic.running.run import Task, run
from markovlogic.running.run_result import RunResult
from markovlogic.running.sampling import Sampling

PEOPLE = 30
MODEL = f"p = {{1,...,{PEOPLE}}}\nF(p, p)\nS(p)\nT(p)\n0.3 F(x, y) ^ S(x) => S(y)\n-0.2 F(x, y)\n0.4 S(x) ^ T(x)\n"


def sampled(query: slice) -> RunResult:
    problem, lowered = prepared(MODEL, open_=["F", "S", "T"])
    numbers = np.arange(len(problem.atoms), dtype=np.int32)[query]
    task = Task(CountingGibbs(), counting_network(problem, lowered), numbers, estimator=Estimator(conditional=True))
    return run(task, Sampling(draws=40, burn_in=5, seed=3).schedule(3), threads=1)


FRIENDS = PEOPLE * PEOPLE


@pytest.mark.parametrize("query", [slice(FRIENDS, FRIENDS + PEOPLE), slice(5, 9), slice(0, None), slice(3, None, 50)])
def test_tallies_are_of_what_is_requested(query: slice, monkeypatch: pytest.MonkeyPatch) -> None:
    found = sampled(query)
    requested = np.arange(FRIENDS + 2 * PEOPLE)[query]
    span = requested[-1] - requested[0] + 1
    for tallies in found.tallies:
        assert tallies.planes.shape == (span,) and tallies.conditionals is not None
        assert tallies.conditionals.shape == (span, 1)
    monkeypatch.setattr(CountingGibbsSampler, "tallying", lambda self, atoms: None)
    whole = sampled(query)
    assert whole.tallies[0].planes.shape == (FRIENDS + 2 * PEOPLE,)
    np.testing.assert_array_equal(found.atoms.mean, whole.atoms.mean)
    np.testing.assert_array_equal(found.atoms.stderr, whole.atoms.stderr)
