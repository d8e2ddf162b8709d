"""Read-only values and offsets."""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import pytest

from markovlogic.arrays import frozen, offsets


class Pair(NamedTuple):
    inner: "Pair | None"
    array: np.ndarray


@dataclass(frozen=True)
class Held:
    array: np.ndarray
    number: int


def test_every_array_of_a_value_is_set_read_only():
    pair = Pair(Pair(None, np.zeros(2)), np.zeros(3))
    held = Held(np.zeros(2), 1)
    assert frozen(pair) is pair
    assert frozen(held) is held
    alone = frozen(np.zeros(1))
    for array in (pair.array, pair.inner.array, held.array, alone):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 1


@pytest.mark.parametrize("lengths", [[], [3], [0, 2, 0, 5]])
def test_offsets_are_where_rows_begin(lengths):
    assert offsets(lengths).tolist() == [sum(lengths[:n]) for n in range(len(lengths) + 1)]
    assert offsets(np.array(lengths, np.int32)).dtype == np.int64
