from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from markovlogic.estimate.concerns import Course, run_concerns, still_remarks, worst_rhat, worst_stderr
from markovlogic.estimate.diagnostics import Estimates, undefined


def made(rhat: list[float], ess: list[float] | None = None, never: list[bool] | None = None, stderr: float = 0.001) -> Estimates:
    n = len(rhat)
    return Estimates(
        np.full(n, 0.2),
        np.full(n, stderr),
        np.array(rhat),
        np.array(ess or [1e4] * n),
        np.array(never or [False] * n),
        None,
        np.zeros(n),
    )


def told(atoms: Estimates, events: Estimates | None = None, **options: Any) -> list[str]:
    course = Course("draws", 64, 100, False, None, ())
    return run_concerns(atoms, events or undefined(0), replace(course, **options), lambda row: f"P({row})", lambda row: f"E{row}")


def test_nothing_to_say_about_good_runs() -> None:
    assert told(made([1.0, 1.005, np.nan])) == []


def test_the_worst_atom_is_named_with_the_count() -> None:
    (sentence,) = told(made([1.0, 1.2, 1.02, np.nan]))
    assert "2 of 4" in sentence and "P(1)" in sentence and "1.2" in sentence
    (sentence,) = told(made([1.0, np.inf, 1.02]))
    assert "inf for P(1)" in sentence
    (sentence,) = told(made([1.0] * 3), made([1.3]))
    assert "E0" in sentence and "conjunctions" in sentence


def test_few_independent_draws() -> None:
    (sentence,) = told(made([1.0] * 3, ess=[np.nan, 399, 12]))
    assert "2 of 3" in sentence and "lowest 12 for P(2)" in sentence


def test_still_atoms_have_their_share_told() -> None:
    (sentence,) = told(made([np.nan, 1.0], ess=[np.nan, 1e4], never=[True, False]))
    assert "1 of 2" in sentence and "50.0%" in sentence and "P(0)" in sentence
    assert told(made([np.nan, 1.0], never=[True, False]), conditional=True)  # the conditionals say 0.2: it should have moved


def test_chains_that_froze_in_different_states_are_told_once() -> None:
    (sentence,) = told(made([np.inf, 1.0], never=[True, False]))
    assert "inf for P(0), whose chains kept different values" in sentence


def test_still_atoms_that_hardly_could_have_moved_are_remarked_upon() -> None:
    rare = replace(made([np.nan, np.nan, 1.0], never=[True, True, False]), mean=np.array([1e-7, 0.99999, 0.2]))
    assert told(rare, conditional=True) == []
    (sentence,) = still_remarks(rare, lambda row: f"P({row})", "query atoms", conditional_draws=6400)
    assert "2 of 3 query atoms" in sentence and "1e-05 at most, for P(1)" in sentence
    assert still_remarks(made([1.0]), str, "query atoms", conditional_draws=6400) == ()
    stuck = made([np.nan], never=[True])  # 0.2: it should have moved, which is a concern and no remark
    assert still_remarks(stuck, str, "query atoms", conditional_draws=6400) == ()


def test_ends_of_runs() -> None:
    assert "interrupted after 7" in told(made([1.0]), stopped="interrupt", draws=7)[0]
    assert "target" in told(made([1.0]), target_stderr=1e-4)[0]
    assert "target" in told(made([1.0], stderr=np.nan), target_stderr=1e-4)[0]
    assert told(made([1.0]), target_stderr=1e-3) == []
    assert told(undefined(0), target_stderr=1e-3) == []
    assert "burn-in" in told(undefined(3), draws=0, stopped="time")[0]
    assert told(made([1.0]), sampler_concerns=["a word from the sampler"]) == ["a word from the sampler"]


def test_worst_numbers() -> None:
    assert worst_rhat(made([1.0, np.nan]), made([1.3])) == 1.3
    assert worst_rhat(made([np.nan])) is None and worst_stderr(undefined(0)) is None
    assert np.isnan(worst_stderr(made([1.0]), undefined(1)) or 0)
