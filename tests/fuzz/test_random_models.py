"""Numbers, quantifiers, constants, hard rules and soft evidence together, against all worlds; `make attack` runs many more."""

from __future__ import annotations

import random
import warnings
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tools.attack import Maker, faults_of

EXAMPLES = 12  # a family


@pytest.mark.parametrize("family", ["map", "numbers", "soft", "hard", "compress"])
@settings(max_examples=EXAMPLES, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
@given(seed=st.integers(0, 2**32 - 1), query=st.sampled_from(["P", "Q", "R"]))
def test_answers_agree_with_all_worlds(tmp_path: Path, family: str, seed: int, query: str) -> None:
    case = Maker(random.Random(seed), family).case(query)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = [fault for fault in faults_of(case, query, family, seed, tmp_path) if fault != "refused"]
    assert not found, f"{found}\n-q {query}\n{case.model_text}\n{case.evidence_text}"
