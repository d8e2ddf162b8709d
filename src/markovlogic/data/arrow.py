"""Numbers and texts to and from Arrow. Its own conversions import pandas where that is installed: longer than a small run."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt


def numpy_numbers(column: Any) -> npt.NDArray[Any]:
    """An Arrow array of numbers without gaps as a read-only NumPy array on the same memory."""
    kind = np.dtype(column.type.to_pandas_dtype())
    assert column.null_count == 0 and kind.kind in "iuf"
    return np.frombuffer(column.buffers()[1], kind, len(column), column.offset * kind.itemsize)


def arrow_numbers(array: npt.NDArray[Any], gaps: npt.NDArray[np.bool_] | None = None) -> Any:
    """A one-dimensional NumPy array of numbers as an Arrow array on the same memory, with nulls at the gaps."""
    import pyarrow as pa

    valid = None if gaps is None or not gaps.any() else pa.py_buffer(np.packbits(~gaps, bitorder="little"))
    kind = pa.from_numpy_dtype(array.dtype)
    return pa.Array.from_buffers(kind, len(array), [valid, pa.py_buffer(np.ascontiguousarray(array))])


def arrow_texts(texts: Sequence[str], *, large: bool = False) -> Any:
    """Strings as an Arrow array, of 64-bit offsets where `large`."""
    import pyarrow as pa

    encoded = [text.encode() for text in texts]
    start = np.zeros(len(encoded) + 1, np.int64 if large else np.int32)
    np.cumsum([len(text) for text in encoded], out=start[1:])
    kind = pa.large_string() if large else pa.string()
    return pa.Array.from_buffers(kind, len(encoded), [None, pa.py_buffer(start), pa.py_buffer(b"".join(encoded))])


def arrow_text(text: str, *, large: bool = False) -> Any:
    """One string as an Arrow scalar."""
    return arrow_texts([text], large=large)[0]
