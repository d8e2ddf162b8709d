"""Models that can be lifted have the same answers as before, at the same predicted work."""

import pytest
from tests.lifted import recorded_numbers
from tests.recorded import check


@pytest.mark.parametrize("name", recorded_numbers.NAMES)
def test_answers_and_predicted_work_are_the_recorded_ones(name: str) -> None:
    check(recorded_numbers, name)
