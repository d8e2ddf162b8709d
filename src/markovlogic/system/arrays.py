"""Flat arrays, which all stages exchange: their types, read-only values, offsets of rows in one array, and worlds as words."""

import hashlib
from collections.abc import Sequence
from dataclasses import fields, is_dataclass
from typing import Any, TypeVar, cast

import numpy as np
import numpy.typing as npt

Bool = npt.NDArray[np.bool_]
Int8 = npt.NDArray[np.int8]
Int32 = npt.NDArray[np.int32]
Int64 = npt.NDArray[np.int64]
UInt64 = npt.NDArray[np.uint64]
Float64 = npt.NDArray[np.float64]
Words = npt.NDArray[np.uint64]  # 64 truth values each; where they are of chains, bit c is chain c

Value = TypeVar("Value")
Scalar = TypeVar("Scalar", bound=np.generic)


def frozen(value: Value) -> Value:
    """The same value, an array, or a named tuple or data class of them, with every array set read-only.

    What stages hand on is never changed; and a writable array is another type to Numba, for which it would compile again.
    """
    if isinstance(value, np.ndarray):
        value.flags.writeable = False
    elif isinstance(value, tuple):
        for part in value:
            frozen(part)
    elif is_dataclass(value):
        for part in vars(value).values():
            if isinstance(part, np.ndarray):
                part.flags.writeable = False
    return value


class Pickled:
    """A frozen data class that comes back from pickling with its fields alone, and with their arrays read-only as before.

    NumPy's arrays come back writable. What a value keeps for later (`cached_property`) stays behind, and is found again.
    """

    def __getstate__(self) -> dict[str, Any]:
        return {own.name: getattr(self, own.name) for own in fields(cast(Any, self))}

    def __setstate__(self, state: dict[str, Any]) -> None:
        _set_read_only(state)
        vars(self).update(state)


def _set_read_only(value: Any) -> None:
    if isinstance(value, np.ndarray):
        value.flags.writeable = False
    elif isinstance(value, dict):
        for part in value.values():
            _set_read_only(part)
    elif isinstance(value, tuple | list):
        for part in value:
            _set_read_only(part)


def offsets(lengths: Sequence[int] | npt.NDArray[np.integer[Any]]) -> Int64:
    """Where each of consecutive rows of these lengths begins, and the length of all: (n + 1,)."""
    start = np.zeros(len(lengths) + 1, np.int64)
    np.cumsum(lengths, out=start[1:])
    return start


def each_once(values: npt.NDArray[Scalar]) -> npt.NDArray[Scalar]:
    """The values of an array, each once, sorted.

    NumPy's own `unique` goes by hashes, which takes a hundred times as long for a million different integers.
    """
    every = np.sort(values, axis=None)
    return every[np.concatenate([[True], every[1:] != every[:-1]])] if len(every) else every


def is_among(values: Int64, ordered: Int64) -> Bool:
    """Which values are among sorted ones; NumPy's own `isin` goes by hashes too."""
    if not len(ordered):
        return np.zeros(len(values), np.bool_)
    found: Bool = ordered[np.minimum(np.searchsorted(ordered, values), len(ordered) - 1)] == values
    return found


def all_but(n: int, some: npt.NDArray[np.integer[Any]]) -> Int64:
    """The numbers below n that are not among these, sorted."""
    left = np.ones(n, np.bool_)
    left[some] = False
    return np.flatnonzero(left)


def short_digest(*arrays: npt.NDArray[Any]) -> str:
    """Eight letters that distinguish arrays of the same kinds from others."""
    digest = hashlib.blake2b(digest_size=4)
    for array in arrays:
        digest.update(f"{array.dtype}{array.shape}".encode())
        digest.update(np.ascontiguousarray(array).view(np.uint8).data if array.size else b"")
    return digest.hexdigest()


def packed(worlds: Bool) -> Words:
    """Worlds of up to 64 chains, (n_chains, n_atoms), as one word an atom."""
    wide = np.zeros((worlds.shape[1], 64), np.bool_)
    wide[:, : len(worlds)] = worlds.T
    return np.packbits(wide, axis=1, bitorder="little").view(np.dtype("<u8")).reshape(-1).astype(np.uint64)


def unpacked(words: Words, n_chains: int) -> Bool:
    """The worlds of so many chains, (n_chains, n_atoms): the inverse of `packed`."""
    octets = words.astype(np.dtype("<u8"), copy=False).view(np.uint8).reshape(-1, 8)
    used = np.ascontiguousarray(octets[:, : -(-n_chains // 8)])  # the others would take eight times their room
    bits = np.unpackbits(used, axis=1, bitorder="little")
    return np.ascontiguousarray(bits[:, :n_chains].T).view(np.bool_)
