"""What is shown of the same results is what was shown before."""

import pytest
from tests.recorded import check
from tests.report import recorded_numbers


@pytest.mark.parametrize("name", recorded_numbers.NAMES)
def test_views_are_the_recorded_ones(name: str) -> None:
    check(recorded_numbers, name)
