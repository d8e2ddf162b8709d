"""The same seed makes the same steps as before."""

import json

import pytest
from tests.sampling.recorded import FILE, WAYS, digests

KNOWN = json.loads(FILE.read_text())


@pytest.mark.parametrize("way", WAYS)
def test_steps_are_the_recorded_ones(way: str) -> None:
    assert digests(way) == KNOWN[way]
