"""Numbers between NumPy and Arrow, against Arrow's own conversions."""

import numpy as np
import pyarrow as pa
import pytest

from markovlogic.data.arrow import arrow_numbers, arrow_texts, numpy_numbers


@pytest.mark.parametrize("kind", ["int8", "int32", "int64", "uint64", "float64"])
def test_there_and_back(kind):
    array = np.arange(20).astype(kind)[::3]
    column = arrow_numbers(array)
    assert column.equals(pa.array(array))
    for part in (column, column.slice(2, 3), column.slice(0, 0)):
        back = numpy_numbers(part)
        np.testing.assert_array_equal(back, part.to_numpy())
        assert back.dtype == array.dtype


def test_gaps_are_not_numbers():
    with pytest.raises(AssertionError):
        numpy_numbers(pa.array([1, None]))


def test_gaps_become_nulls():
    array = np.array([1.5, np.nan, 2.0, *np.arange(20.0), np.nan])
    assert arrow_numbers(array, np.isnan(array)).equals(pa.array(array, from_pandas=True))
    assert arrow_numbers(array[2:5], np.isnan(array[2:5])).null_count == 0


@pytest.mark.parametrize("large", [False, True])
@pytest.mark.parametrize("texts", [[], [""], ["Ann", "", "Zoë", "日本"]])
def test_texts(texts, large):
    assert arrow_texts(texts, large=large).equals(pa.array(texts, pa.large_string() if large else pa.string()))
