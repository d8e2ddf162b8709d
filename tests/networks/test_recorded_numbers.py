"""Stages make the same of the same network as before."""

import pytest
from tests.networks import recorded_numbers
from tests.recorded import check


@pytest.mark.parametrize("name", recorded_numbers.NAMES)
def test_plans_searches_and_starts_are_the_recorded_ones(name: str) -> None:
    check(recorded_numbers, name)
