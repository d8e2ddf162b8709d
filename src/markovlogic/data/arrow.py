"""Numbers and texts to and from Arrow. Its own conversions import pandas where that is installed: longer than a small run."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from markovlogic.data.evidence import Domain, decode
from markovlogic.language.syntax import show_constants


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

    whole, length = utf8(texts)
    start = np.zeros(len(texts) + 1, np.int64 if large else np.int32)
    np.cumsum(length, out=start[1:])
    kind = pa.large_string() if large else pa.string()
    return pa.Array.from_buffers(kind, len(texts), [None, pa.py_buffer(start), pa.py_buffer(whole)])


def utf8(texts: Sequence[str]) -> tuple[bytes, npt.NDArray[np.int64]]:
    """Strings as bytes, one after the other, and the number of bytes of each."""
    whole = "".join(texts)
    if whole.isascii():
        return whole.encode(), np.fromiter(map(len, texts), np.int64, len(texts))
    encoded = [text.encode() for text in texts]
    return b"".join(encoded), np.fromiter(map(len, encoded), np.int64, len(encoded))


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
        [f"{before[position]}{name}{behind[position]}" for name in show_constants(domain.names)]
        for position, domain in enumerate(domains)
    ]
    longest = sum(1 + int(utf8(column)[1].max(initial=0)) for column in texts)
    large = longest * len(code) >= 2**31
    columns = [arrow_texts(column, large=large).take(arrow_numbers(args[:, position])) for position, column in enumerate(texts)]
    if len(columns) == 1:
        return columns[0]
    return pc.binary_join_element_wise(*columns, arrow_text(",", large=large))
