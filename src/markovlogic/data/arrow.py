"""Numbers and texts to and from Arrow. Its own conversions import pandas where that is installed: longer than a small run."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from markovlogic.data.evidence import Domain, decode
from markovlogic.language.syntax import show_constant


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


def atom_names(predicate: str, code: npt.NDArray[np.int64], sizes: tuple[int, ...], domains: Sequence[Domain]) -> Any:
    """Text of each atom, as an Arrow string array (of 64-bit offsets where 32 would not do).

    sizes, domains: of each argument. Constants are quoted where they need to be, and there are no spaces.
    """
    import pyarrow.compute as pc

    if not sizes:
        return arrow_texts([predicate] * len(code))
    args = decode(code, sizes)
    # the predicate goes before the first argument's constants and the parenthesis behind the last one's, once each
    before = [f"{predicate}(", *[""] * (len(sizes) - 1)]
    behind = [*[""] * (len(sizes) - 1), ")"]
    texts = [
        [f"{before[position]}{show_constant(name)}{behind[position]}" for name in domain.names]
        for position, domain in enumerate(domains)
    ]
    longest = sum(1 + max((len(text.encode()) for text in column), default=0) for column in texts)
    large = longest * len(code) >= 2**31
    columns = [arrow_texts(column, large=large).take(arrow_numbers(args[:, position])) for position, column in enumerate(texts)]
    if len(columns) == 1:
        return columns[0]
    return pc.binary_join_element_wise(*columns, arrow_text(",", large=large))
