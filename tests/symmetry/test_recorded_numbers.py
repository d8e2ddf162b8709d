"""The same problems have the same symmetries as before, found with the same notes."""

import pytest
from tests.recorded import check
from tests.symmetry import recorded_numbers


@pytest.mark.parametrize("name", recorded_numbers.NAMES)
def test_classes_and_orbits_are_the_recorded_ones(name: str) -> None:
    check(recorded_numbers, name)
