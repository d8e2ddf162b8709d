"""Numbers between NumPy and Arrow, against Arrow's own conversions."""

import numpy as np
import pyarrow as pa
import pytest

from markovlogic.data.arrow_numbers import arrow_numbers, numpy_numbers


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
