"""Every compressor makes the same groups of the same problem as before."""

import pytest
from tests.compression import recorded_numbers
from tests.recorded import check


@pytest.mark.parametrize("name", recorded_numbers.NAMES)
def test_groups_and_sizes_are_the_recorded_ones(name: str) -> None:
    check(recorded_numbers, name)
