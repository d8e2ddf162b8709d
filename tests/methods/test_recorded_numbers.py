"""The same problems are planned as before, at the same predicted costs."""

import pytest
from tests.methods import recorded_numbers
from tests.recorded import check


@pytest.mark.parametrize("name", recorded_numbers.NAMES)
def test_plans_and_costs_are_the_recorded_ones(name: str) -> None:
    check(recorded_numbers, name)
