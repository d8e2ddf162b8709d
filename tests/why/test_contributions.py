"""Contributions against the integral over all worlds: numbers, soft evidence, quantifiers, hard rules, exclusive arguments."""

from __future__ import annotations

import random
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tools.attack import FAMILIES, REFUSED, Attack, faults_of
from tools.random_models import Judged, Maker

import markovlogic as mln
from markovlogic.reasons import sampled

FALSE_ALARM_Z = 6.0  # of some hundred normal numbers: 10^-7


@settings(max_examples=60, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
@given(seed=st.integers(0, 2**32 - 1))
def test_contributions_are_the_integral_over_all_worlds(tmp_path: Path, seed: int) -> None:
    case = Maker(random.Random(seed), FAMILIES["why"].features).case()
    found = [fault for fault in faults_of(case, "why", seed, tmp_path) if fault != REFUSED]
    assert not found, f"{found}\n-q {','.join(case.asked)}\n{case.model_text}\n{case.evidence_text}"


def test_a_wrong_contribution_is_seen(tmp_path: Path) -> None:
    for seed in range(200):
        case = Maker(random.Random(seed), FAMILIES["why"].features).case()
        attack = Attack(case, seed, tmp_path)
        soft = [rule for rule in case.rules if not rule.is_hard]
        if attack.judged.exists and soft and any(attack.explained()) is False:
            soft[0].weight += 0.01
            attack.judged = Judged(case)
            attack.rng = random.Random(seed)
            if any("rule" in fault or "logit" in fault or "sum" in fault for fault in attack.explained()):
                return
    raise AssertionError("no planted error was seen")


MODEL = "thing = {A, B, C}\nP(thing)\nR(thing, thing)\n0.7 P(x)\n1.1 P(x) ^ R(x, y) => P(y)\n-0.4 EXIST y (R(x, y) ^ P(y))\n"


def test_sampled_contributions_are_within_their_errors_and_a_planted_error_is_not() -> None:
    model = mln.Model.parse(MODEL)
    exact = mln.why(model, None, "P(A)", query="R")
    right = {one.place: one for one in exact.contributions}
    wrong = mln.why(mln.Model.parse(MODEL.replace("1.1", "1.3")), None, "P(A)", query="R")
    z, planted = [], []
    for seed in range(3):
        found = mln.why(model, None, "P(A)", query="R", method="gibbs", seed=seed, draws=300)
        for one in found.contributions:
            z.append((one.log_odds - right[one.place].log_odds) / one.stderr)
            z.append((one.without - right[one.place].without) / one.without_stderr)
            other = next(w for w in wrong.contributions if w.place == one.place)
            planted.append((one.log_odds - other.log_odds) / one.stderr)
    assert np.abs(z).max() < FALSE_ALARM_Z < np.abs(planted).max()


def test_the_base_is_exact_where_hard_rules_tie_few_atoms() -> None:
    domain = ", ".join(f"T{at}" for at in range(30))
    rules = "0.2 P(x) ^ R(x, y) => P(y)\nP(T0) v P(T1).\n0.1 P(x)\n"
    model = mln.Model.parse(f"thing = {{{domain}}}\nP(thing)\nR(thing, thing)\n{rules}")
    pairs = random.Random(0).sample([(f"T{a}", f"T{b}") for a in range(30) for b in range(a)], 200)
    facts = {"a": [a for a, _ in pairs], "b": [b for _, b in pairs]}
    found = mln.why(model, model.evidence(R=facts), "P(T0)", draws=10)
    assert any("chains estimate" in note for note in found.notes)
    assert abs(found.base - np.log(2)) < 1e-12 and found.base_stderr == 0


MODES = "thing = {A, B, C, D, E, F}\nP(thing)\nQ\n1.2 P(x) ^ P(y)\n1.2 !P(x) ^ !P(y)\n-0.3 P(x)\n0.4 Q ^ P(x)\n-0.2 Q\n"


@pytest.mark.filterwarnings("ignore")
def test_chains_cross_between_modes_along_the_path(monkeypatch: pytest.MonkeyPatch) -> None:
    model = mln.Model.parse(MODES)
    right = {one.place: one.log_odds for one in mln.why(model, None, "Q", query="P").contributions}

    def errors() -> list[float]:
        found = mln.why(model, None, "Q", query="P", method="gibbs", seed=1, draws=100)
        return [abs(one.log_odds - right[one.place]) / max(one.stderr, 1e-9) for one in found.contributions]

    assert max(errors()) < FALSE_ALARM_Z
    monkeypatch.setattr("markovlogic.reasons.sampled._Ladder._exchange", lambda *_: None)
    assert max(errors()) > FALSE_ALARM_Z  # chains that stay in their mode are wrong by far


def test_errors_of_two_rules_that_make_up_for_each_other_are_seen(tmp_path: Path) -> None:
    """The sum was right to 1e-9 while each of two rules was off by 5e-8."""
    case = Maker(random.Random("771120 why 3070"), FAMILIES["why"].features).case()
    assert list(faults_of(case, "why", 3070, tmp_path)) == []


def test_a_time_limit_makes_fewer_draws_that_are_within_their_errors() -> None:
    model = mln.Model.parse(MODEL)
    right = {one.place: one for one in mln.why(model, None, "P(A)", query="R").contributions}
    found = mln.why(model, None, "P(A)", query="R", method="gibbs", seed=1, draws=1_000_000, time_limit=1.5)
    assert any("draws, so that errors are larger" in note for note in found.notes)
    z = [(one.log_odds - right[one.place].log_odds) / one.stderr for one in found.contributions]
    z += [
        (one.without - right[one.place].without) / one.without_stderr for one in found.contributions if one.without == one.without
    ]
    assert np.abs(z).max() < FALSE_ALARM_Z


class _Clock:
    """A deadline and a clock of its own: a sweep takes a second."""

    def __init__(self, left: float | None) -> None:
        self.left, self.now = left, 0.0

    def sweep(self) -> None:
        self.now += 1.0
        self.left = None if self.left is None else self.left - 1.0


@pytest.mark.parametrize(
    ("left", "share", "wanted"),
    [(None, 0.5, (100, 200)), (1e6, 0.5, (100, 200)), (300.0, 0.5, (50, 100)), (0.5, 1.0, (10, 20)), (-3.0, 1.0, (10, 20))],
)
def test_lengths_fit_a_share_of_the_time(
    monkeypatch: pytest.MonkeyPatch, left: float | None, share: float, wanted: tuple[int, int]
) -> None:
    clock = _Clock(left)
    monkeypatch.setattr(sampled.cancellation, "current", lambda: clock)
    monkeypatch.setattr(sampled.time, "monotonic", lambda: clock.now)
    assert sampled.lengths(share, 200, clock.sweep) == wanted
