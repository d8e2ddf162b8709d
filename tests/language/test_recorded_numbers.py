"""Texts with mistakes are faulted at the same places as before, and others read to the same."""

import pytest
from tests.language import recorded_numbers
from tests.recorded import check


@pytest.mark.parametrize("name", recorded_numbers.NAMES)
def test_places_and_readings_are_the_recorded_ones(name: str) -> None:
    check(recorded_numbers, name)
