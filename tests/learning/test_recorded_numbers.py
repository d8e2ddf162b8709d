"""What was learned from the same data is what was learned before."""

import pytest
from tests.learning import recorded_numbers
from tests.recorded import check


@pytest.mark.parametrize("name", recorded_numbers.NAMES)
def test_weights_and_their_reports_are_the_recorded_ones(name: str) -> None:
    check(recorded_numbers, name)
