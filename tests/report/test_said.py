"""What is shown of the same results is what was shown before."""

import pytest
from tests.recorded import check
from tests.report import said


@pytest.mark.parametrize("name", said.NAMES)
def test_views_are_the_recorded_ones(name: str) -> None:
    check(said, name)
