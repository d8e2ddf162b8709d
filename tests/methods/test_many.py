"""Every method says the same as before of random problems in which features meet."""

import pytest
from tests.methods import many
from tests.recorded import check


@pytest.mark.parametrize("name", many.NAMES)
def test_answers_to_random_problems_are_the_recorded_ones(name: str) -> None:
    check(many, name)
