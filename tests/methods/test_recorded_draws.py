"""The same seed gives the same draws as before, whatever the code around the kernels looks like."""

import json

import pytest
from tests.methods.recorded import FILE, Case, cases, digest

KNOWN = json.loads(FILE.read_text())


@pytest.mark.parametrize("case", list(cases()), ids=lambda case: case.name)
def test_the_draws_are_the_recorded_ones(case: Case) -> None:
    assert digest(case) == KNOWN[case.name]
