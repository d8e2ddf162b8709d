"""Numbers between NumPy and Arrow on the same memory. Arrow's own conversions import pandas: longer than a small run."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt


def numpy_numbers(column: Any) -> npt.NDArray[Any]:
    """An Arrow array of numbers without gaps as a read-only NumPy array."""
    kind = np.dtype(column.type.to_pandas_dtype())
    assert column.null_count == 0 and kind.kind in "iuf"
    return np.frombuffer(column.buffers()[1], kind, len(column), column.offset * kind.itemsize)


def arrow_numbers(array: npt.NDArray[Any]) -> Any:
    """A one-dimensional NumPy array of numbers as an Arrow array."""
    import pyarrow as pa

    kind = pa.from_numpy_dtype(array.dtype)
    return pa.Array.from_buffers(kind, len(array), [None, pa.py_buffer(np.ascontiguousarray(array))])
