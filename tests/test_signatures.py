"""Defaults are part of what is promised: a result without options must not become another one unnoticed."""

import pytest
from tests import signatures
from tests.recorded import check


@pytest.mark.parametrize("name", signatures.NAMES)
def test_defaults_are_the_recorded_ones(name: str) -> None:
    check(signatures, name)
