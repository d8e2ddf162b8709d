"""Numbers, quantifiers, constants, hard rules, exclusive arguments and soft evidence together, against all worlds.

`make attack` runs many more.
"""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tools.attack import FAMILIES, REFUSED, Attack, faults_of
from tools.random_models import Case, Features, Judged, Maker, Rule

import markovlogic as mln

EXAMPLES = 8  # a family


@pytest.mark.parametrize("family", sorted(FAMILIES.keys() - {"samplers"}))
@settings(max_examples=EXAMPLES, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
@given(seed=st.integers(0, 2**32 - 1))
def test_answers_agree_with_all_worlds(tmp_path: Path, family: str, seed: int) -> None:
    case = Maker(random.Random(seed), FAMILIES[family].features).case()
    found = [fault for fault in faults_of(case, family, seed, tmp_path) if fault != REFUSED]
    assert not found, f"{found}\n-q {','.join(case.asked)}\n{case.model_text}\n{case.evidence_text}"


def test_models_combine_all_features() -> None:
    """Among few cases of any family with all features, each of them turns up together with each other."""
    cases = [Maker(random.Random(seed), Features(0.5, 0.5, 0.5, 0.5)).case() for seed in range(60)]
    marks = {
        "number": lambda case: any(rule.factor for rule in case.rules),
        "soft": lambda case: bool(case.soft),
        "hard": lambda case: any(rule.is_hard for rule in case.rules),
        "quantifier": lambda case: "EXIST" in case.model_text or "FORALL" in case.model_text,
        "exclusive": lambda case: "!)" in case.model_text,
        "formula in the query": lambda case: case.event is not None,
    }
    for one, has_one in marks.items():
        for other, has_other in marks.items():
            assert any(has_one(case) and has_other(case) for case in cases), (one, other)


def test_a_wrong_answer_is_seen(tmp_path: Path) -> None:
    case = Case({"thing": ["A", "B"], "kind": ["K1"]}, ["P"], [Rule(1.0, ("=>", ("atom", "P", ("x",)), ("atom", "F", ())))])
    attack = Attack(case, 0, tmp_path)
    right = attack.infer(method="enumerate")
    assert not attack.marginals(right)
    case.rules[0].weight = 1.001
    attack.judged = Judged(case)
    assert attack.marginals(right).startswith("P(")
    assert "log weight is" in attack.world(mln.maximize(attack.model, attack.evidence, "P"))
