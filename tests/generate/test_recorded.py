"""The same seed gives the same problem as before."""

import json

import pytest
from tests.generate.recorded import ALL_VARIANTS, FILE, case_name, digest

KNOWN = json.loads(FILE.read_text())


@pytest.mark.parametrize(("name", "variant"), ALL_VARIANTS)
def test_the_problems_are_the_recorded_ones(name: str, variant: str) -> None:
    assert digest(name, variant) == KNOWN[case_name(name, variant)]
