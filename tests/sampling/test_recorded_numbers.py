"""Chains that are made of others go the same way as before, and choose the same in burn-in."""

import pytest
from tests.recorded import check
from tests.sampling import recorded_numbers


@pytest.mark.parametrize("name", recorded_numbers.NAMES)
def test_composed_chains_are_the_recorded_ones(name: str) -> None:
    check(recorded_numbers, name)
