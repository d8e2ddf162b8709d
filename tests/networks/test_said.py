"""Stages make the same of the same network as before."""

import pytest
from tests.networks import said
from tests.recorded import check


@pytest.mark.parametrize("name", said.NAMES)
def test_plans_searches_and_starts_are_the_recorded_ones(name: str) -> None:
    check(said, name)
