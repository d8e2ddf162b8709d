"""Plans of counts are as before, programs included."""

import pytest
from tests.networks.counting import recorded_numbers
from tests.recorded import check


@pytest.mark.parametrize("name", recorded_numbers.NAMES)
def test_counting_plans_are_the_recorded_ones(name: str) -> None:
    check(recorded_numbers, name)
