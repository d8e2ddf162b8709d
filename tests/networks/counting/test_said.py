"""Plans of counts are as before, programs included."""

import pytest
from tests.networks.counting import said
from tests.recorded import check


@pytest.mark.parametrize("name", said.NAMES)
def test_counting_plans_are_the_recorded_ones(name: str) -> None:
    check(said, name)
