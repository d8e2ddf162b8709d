"""Contributions against the integral over all worlds: numbers, soft evidence, quantifiers, hard rules, exclusive arguments."""

from __future__ import annotations

import random
from pathlib import Path

import numpy as np
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tools.attack import FAMILIES, REFUSED, Attack, faults_of
from tools.random_models import Judged, Maker

import markovlogic as mln

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
