"""The cell method against enumeration of worlds, on random models."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from tests.lifted.liftable import all_marginals, always_closed, enumerated, liftable, prepared
from tests.strategies import RandomProblem, problems

from markovlogic.errors import InputError
from markovlogic.methods.lifted.answer import Refusal
from markovlogic.methods.lifted.cells import CellWork, plan_cells
from markovlogic.methods.lifted.cells.closed import ClosedSums, cheapest
from markovlogic.methods.lifted.cells.lattice import Sums

TOLERANCE = 1e-10
MANY = settings(
    max_examples=90, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much]
)


def compare(problem: RandomProblem) -> bool | None:
    """Log Z and all marginals; whether there was a plan, None where no world is possible."""
    try:
        made = prepared(problem.mln, problem.db, ",".join(problem.query))
        lowered = made.lowered
    except InputError:
        return None
    if len(made.problem.atoms) > 16:
        return None
    work = plan_cells(made.problem, lowered)
    if isinstance(work, Refusal):
        assert work.reason
        return False
    assert isinstance(work, CellWork)
    try:
        worlds = enumerated(made)
    except InputError:  # the evidence breaks a hard rule
        worlds = None
    if worlds is None or worlds.log_z == -math.inf:
        with pytest.raises(InputError, match="no world"):
            work.solve()
        return None
    solution = work.solve()
    assert solution.log_z == pytest.approx(worlds.log_z, rel=TOLERANCE, abs=TOLERANCE)
    n_atoms = len(made.problem.atoms)
    if n_atoms:
        np.testing.assert_allclose(all_marginals(made.problem, solution), worlds.marginal[:n_atoms], rtol=0, atol=TOLERANCE)
    return True


@pytest.mark.parametrize("way", [cheapest, Sums, always_closed], ids=["cheapest", "plain", "closed"])
def test_models_of_one_and_two_objects(monkeypatch: pytest.MonkeyPatch, way: Callable[..., Sums | ClosedSums]) -> None:
    monkeypatch.setattr("markovlogic.methods.lifted.cells.state.cheapest", way)
    seen = {True: 0, False: 0, None: 0}

    @MANY
    @given(liftable())
    def check(problem: RandomProblem) -> None:
        seen[compare(problem)] += 1

    check()
    assert seen[True] > 45, seen


def test_models_of_any_shape() -> None:
    seen = {True: 0, False: 0, None: 0}

    @MANY
    @given(problems(max_atoms=12))
    def check(problem: RandomProblem) -> None:
        seen[compare(problem)] += 1

    check()
    assert seen[True] > 45, seen
