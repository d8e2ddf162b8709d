"""The same questions get the same answers as before, with the same errors, diagnostics and accounts."""

import pytest
from tests.methods import answers
from tests.recorded import check


@pytest.mark.parametrize("name", answers.NAMES)
def test_answers_are_the_recorded_ones(name: str) -> None:
    check(answers, name)
