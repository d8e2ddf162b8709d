"""Read-only values, offsets, and worlds as words."""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import pytest

from markovlogic.system.arrays import all_but, each_once, frozen, offsets, packed, unpacked


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


@pytest.mark.parametrize("n_chains", [1, 5, 64])
def test_worlds_as_words_and_back(n_chains):
    worlds = np.random.default_rng(n_chains).random((n_chains, 70)) < 0.5
    words = packed(worlds)
    assert words.dtype == np.uint64 and all(int(words[a]) >> c & 1 == worlds[c, a] for a in (0, 33, 69) for c in range(n_chains))
    np.testing.assert_array_equal(unpacked(words, n_chains), worlds)


@pytest.mark.parametrize("values", [[], [3], [2, 2, 2], [5, -1, 5, 0, -1], [[4, 1], [1, 4]]])
def test_each_value_once(values):
    found = each_once(np.array(values, np.int32))
    assert found.dtype == np.int32 and found.tolist() == sorted(set(np.ravel(values)))


def test_all_but_some():
    assert all_but(6, np.array([4, 0, 4], np.int32)).tolist() == [1, 2, 3, 5]
    assert all_but(3, np.zeros(0, np.int64)).tolist() == [0, 1, 2] and not len(all_but(0, np.zeros(0, np.int64)))
