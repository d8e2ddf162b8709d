from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from markovlogic.estimation.concerns import Course, has_converged, run_concerns, still_remarks, worst_rhat, worst_stderr
from markovlogic.estimation.diagnostics import Estimates, undefined


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


def reported(atoms: Estimates, events: Estimates | None = None, **options: Any) -> list[str]:
    course = Course("draws", 64, 100, False, None, ())
    return run_concerns(atoms, events or undefined(0), replace(course, **options), lambda row: f"P({row})", lambda row: f"E{row}")


def test_nothing_to_say_about_good_runs() -> None:
    assert reported(made([1.0, 1.005, np.nan])) == []


def test_the_worst_atom_is_named_with_the_count() -> None:
    (sentence,) = reported(made([1.0, 1.2, 1.02, np.nan]))
    assert "2 of 4" in sentence and "P(1)" in sentence and "1.2" in sentence
    (sentence,) = reported(made([1.0, np.inf, 1.02]))
    assert "inf for P(1)" in sentence
    (sentence,) = reported(made([1.0] * 3), made([1.3]))
    assert "E0" in sentence and "formulas" in sentence


def test_few_independent_draws() -> None:
    (sentence,) = reported(made([1.0] * 3, ess=[np.nan, 399, 12], stderr=0.02))
    assert "2 of 3" in sentence and "lowest 12 for P(2)" in sentence


def test_limits_are_meant_exactly() -> None:
    """R-hat below 1.01 and an effective size of 400 are good enough; a target is met when it is reached."""
    assert reported(made([1.0], ess=[400.0])) == [] and len(reported(made([1.0], ess=[399.9], stderr=0.02))) == 1
    assert len(reported(made([1.01]))) == 1 and reported(made([1.0099])) == []
    assert reported(made([1.0], stderr=0.25), target_stderr=0.25) == []


def drifting(drift: list[float]) -> Estimates:
    return replace(made([1.0] * len(drift)), drift=np.array(drift))


def test_drift_is_judged_by_students_law_over_all_rows() -> None:
    from scipy import stats

    limit = float(stats.t.ppf(1 - 1e-3 / (2 * 4), 63))
    assert reported(drifting([np.nan, 0.0, limit - 0.01, -limit + 0.01])) == []
    (sentence,) = reported(drifting([limit + 0.01, 0.0, np.nan, -limit - 0.5]))
    assert "has not settled: for 2 of 4" in sentence and f"P(3) ({-limit - 0.5:+.1f} standard errors)" in sentence
    assert reported(drifting([50.0]), chains=1) == []
    assert reported(drifting([1000.0]), chains=2) != []


def test_convergence_is_the_absence_of_disagreement_drift_and_standstill() -> None:
    good, none = made([1.0, np.nan]), undefined(0)
    course = Course("draws", 64, 100, False, None, ())
    assert has_converged(good, none, course) and not has_converged(good, none, replace(course, draws=0))
    for bad in (made([1.0, 1.01]), drifting([0.0, 9.0]), made([np.nan], never=[True])):
        assert not has_converged(bad, none, course) and not has_converged(good, bad, course)
    few = made([1.0], ess=[3.0], stderr=1.0)  # errors are large: another question
    assert has_converged(few, none, course)
    rare = replace(made([np.nan], never=[True]), mean=np.array([1e-7]))
    assert has_converged(rare, none, replace(course, conditional=True))
    assert not has_converged(good, rare, replace(course, conditional=True))  # of conjunctions no conditionals are averaged


def test_phases_by_start_are_reported_where_they_differ() -> None:
    starts = ("empty", "empty", "full", "full")
    apart = replace(made([1.5]), chain_mean=np.array([[0.1, 0.3, 0.7, 0.9]]))
    (sentence,) = reported(apart, starts=starts)
    assert "(0.8 from starts 'full', 0.2 from starts 'empty')" in sentence
    near = replace(apart, chain_mean=np.array([[0.5, 0.5, 0.5, 0.69]]))
    just = replace(apart, chain_mean=np.array([[0.5, 0.5, 0.5, 0.75]]))
    assert "from starts" not in reported(near, starts=starts)[0] and "from starts" in reported(just, starts=starts)[0]
    for some in (("empty",) * 4, ("",) * 4, ("empty", "full"), ()):
        assert "from starts" not in reported(apart, starts=some)[0]


def test_a_move_is_to_be_expected_from_five_on() -> None:
    """Expected moves are the rarer value's probability times the draws whose conditionals were averaged."""
    for mean in (5 / 6400, 1 - 5 / 6400):
        at = replace(made([np.nan], ess=[np.nan], never=[True]), mean=np.array([mean]))
        assert reported(replace(at, mean=at.mean + (1e-6 if mean > 0.5 else -1e-6)), conditional=True) == []
        assert len(reported(replace(at, mean=at.mean + (-1e-6 if mean > 0.5 else 1e-6)), conditional=True)) == 1


def test_conditionals_of_fewer_than_four_chains_excuse_no_atom_that_stood_still() -> None:
    """One or two chains that are confined to a part of the worlds were sure of p = 0 where it was 1, in silence."""
    rare = replace(made([np.nan], never=[True]), mean=np.array([1e-9]))
    for chains, excused in ((1, False), (3, False), (4, True)):
        course = Course("draws", chains, 100, True, None, ())
        assert (course.conditional_draws is not None) == has_converged(rare, undefined(0), course) == excused


def test_still_atoms_have_their_share_reported() -> None:
    (sentence,) = reported(made([np.nan, 1.0], ess=[np.nan, 1e4], never=[True, False]))
    assert "1 of 2" in sentence and "50.0%" in sentence and "P(0)" in sentence
    assert reported(made([np.nan, 1.0], never=[True, False]), conditional=True)  # the conditionals say 0.2: it should have moved


def test_chains_that_froze_in_different_states_are_reported_once() -> None:
    (sentence,) = reported(made([np.inf, 1.0], never=[True, False]))
    assert "inf for P(0), whose chains, or scouts, kept different values" in sentence


def test_still_atoms_that_hardly_could_have_moved_are_remarked_upon() -> None:
    rare = replace(made([np.nan, np.nan, 1.0], never=[True, True, False]), mean=np.array([1e-7, 0.99999, 0.2]))
    assert reported(rare, conditional=True) == []
    (sentence,) = still_remarks(rare, lambda row: f"P({row})", "query atoms", Course("draws", 64, 100, True, None, ()))
    assert "2 of 3 query atoms" in sentence and "1e-05 at most, for P(1)" in sentence
    assert still_remarks(made([1.0]), str, "query atoms", Course("draws", 64, 100, True, None, ())) == ()
    stuck = made([np.nan], never=[True])  # 0.2: it should have moved, which is a concern and no remark
    assert still_remarks(stuck, str, "query atoms", Course("draws", 64, 100, True, None, ())) == ()


def test_ends_of_runs() -> None:
    assert "interrupted after 7" in reported(made([1.0]), stopped="interrupt", draws=7)[0]
    assert "target" in reported(made([1.0]), target_stderr=1e-4)[0]
    assert "target" in reported(made([1.0], stderr=np.nan), target_stderr=1e-4)[0]
    assert reported(made([1.0]), target_stderr=1e-3) == []
    assert reported(undefined(0), target_stderr=1e-3) == []
    assert "burn-in" in reported(undefined(3), draws=0, stopped="time")[0]
    assert reported(made([1.0]), sampler_concerns=["a word from the sampler"]) == ["a word from the sampler"]


def test_worst_numbers() -> None:
    assert worst_rhat(made([1.0, np.nan]), made([1.3])) == 1.3
    assert worst_rhat(made([np.nan])) is None and worst_stderr(undefined(0)) is None
    assert np.isnan(worst_stderr(made([1.0]), undefined(1)) or 0)


def test_few_draws_of_atoms_that_are_nearly_decided_are_no_concern() -> None:
    """Nobody makes more draws for a standard error of 0.001; few chains do not know their standard error."""
    atoms = made([1.001] * 2, ess=[90.0, 1e4], stderr=0.001)
    assert reported(atoms) == []
    assert len(reported(atoms, chains=4)) == 1
    assert len(reported(replace(atoms, stderr=np.array([np.nan, 0.001])))) == 1


def test_atoms_that_chains_came_to_from_both_values() -> None:
    """They were moved by several chains before the first draw; the twin: where all chains began alike nobody knows."""
    atoms = replace(made([np.nan] * 3, never=[True] * 3), mean=np.array([0.0, 1.0, 1.0]))
    course = Course("draws", 64, 100, False, None, (), began_true=np.array([40, 40, 64]))
    (sentence,) = run_concerns(atoms, undefined(0), course, lambda row: f"P({row})", lambda row: f"E{row}")
    assert "1 of 3" in sentence and "P(2)" in sentence and "another method" in sentence
    assert not has_converged(atoms, undefined(0), course)
    both = replace(course, began_true=np.array([40, 40, 60]))
    assert run_concerns(atoms, undefined(0), both, str, str) == [] and has_converged(atoms, undefined(0), both)
    (remark,) = still_remarks(atoms, lambda row: f"P({row})", "query atoms", both)
    assert "3 of 3" in remark and "nearly certain" in remark
    assert len(reported(atoms)) == 1  # nothing is known of the starts
