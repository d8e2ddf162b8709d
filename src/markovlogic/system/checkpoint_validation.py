"""What is read back from a file is checked here, before anything is computed from it.

A checkpoint may be torn or changed by hand, and kernels trust their arrays: one that is too short would be read past its end,
an index out of range would be followed. So every holder of saved arrays takes them through `Restored`, saying for each what it
must be. Whatever is not so is a ValueError, which the reader of the file turns into a message about the file.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]

LONGEST = 1e11  # seconds: no run has taken thousands of years


class Restored:
    """Arrays by name, each handed out once, and only if it is what its holder expects."""

    def __init__(self, arrays: Mapping[str, Array], prefix: str = "") -> None:
        self._left = dict(arrays)
        self._prefix = prefix

    def under(self, name: str) -> Restored:
        """Those whose names begin with this one and a dot; they share what is left with these."""
        part = Restored({}, f"{self._prefix}{name}.")
        part._left = self._left
        return part

    def take(
        self, name: str, dtype: npt.DTypeLike, shape: Sequence[int], *, low: float | None = None, high: float | None = None
    ) -> Array:
        """The array of this name; type and shape as given, every value a number within [low, high] where these are given."""
        full = self._prefix + name
        array = self._left.pop(full, None)
        if array is None:
            raise ValueError(f"array {full} is missing")
        wanted = np.dtype(dtype)
        if array.dtype != wanted or array.shape != tuple(shape):
            raise ValueError(f"array {full} is {array.dtype} {array.shape}, expected {wanted} {tuple(shape)}")
        if array.size and low is not None and not array.min() >= low:  # not: a nan is within no bounds
            raise ValueError(f"array {full} holds {array.min()}, expected {low} or more")
        if array.size and high is not None and not array.max() <= high:
            raise ValueError(f"array {full} holds {array.max()}, expected {high} or less")
        return array

    def shape(self, name: str) -> tuple[int, ...]:
        """That of the array of this name."""
        array = self._left.get(self._prefix + name)
        if array is None:
            raise ValueError(f"array {self._prefix}{name} is missing")
        return array.shape

    def like(self, name: str, other: Array) -> Array:
        """The array of this name, which has the type and the shape of another."""
        return self.take(name, other.dtype, other.shape)

    def numbers(self, name: str, count: int) -> list[int]:
        """So many whole numbers, none of them negative."""
        return [int(value) for value in self.take(name, np.int64, (count,), low=0)]

    def require_none_left(self) -> None:
        """Every array was requested by somebody: one too many is one that another was expected in place of."""
        if self._left:
            raise ValueError(f"array {min(self._left)} is not expected")


def whole_number(facts: Mapping[str, Any], name: str) -> int:
    """A number of a manifest that counts something."""
    value = facts[name]
    if type(value) is not int or value < 0:
        raise ValueError(f"{name} is {value!r}, expected a whole number")
    return value


def duration(facts: Mapping[str, Any], name: str) -> float:
    """Seconds that a manifest shows."""
    value = facts[name]
    if type(value) not in (int, float) or not 0 <= value <= LONGEST:
        raise ValueError(f"{name} is {value!r}, expected a number of seconds")
    return float(value)


def require_lanes(words: npt.NDArray[np.uint64], n_chains: int, name: str) -> None:
    """Bits of chains that do not exist are zero."""
    if n_chains < 64 and (words >> np.uint64(n_chains)).any():
        raise ValueError(f"{name} has chains beyond the {n_chains} of its batch")


def require_counters(planes: npt.NDArray[np.uint64], most: int, n_chains: int, name: str) -> None:
    """Vertical counters (`kernels.counters`) of existing chains alone, none above `most`: compared bit by bit, highest first."""
    require_lanes(planes, n_chains, name)
    above = np.zeros(len(planes), np.uint64)
    same = np.full(len(planes), (1 << 64) - 1, np.uint64)
    for plane in reversed(range(planes.shape[1])):
        bits = planes[:, plane]
        if most >> plane & 1:
            same &= bits
        else:
            above |= same & bits
            same &= ~bits
    if above.any():
        raise ValueError(f"{name} has counted more than the {most} draws that it holds")


def require_within(values: Array, low: int, high: int | Array, name: str) -> None:
    """Every value is within [low, high]."""
    if ((values < low) | (values > high)).any():
        raise ValueError(f"{name}: a value is out of its range")


def require_permutations(rows: Array, name: str) -> None:
    """Every row of the last axis holds the numbers from 0 on, each once."""
    if (np.sort(rows, axis=-1) != np.arange(rows.shape[-1])).any():
        raise ValueError(f"{name}: a row is not a permutation")


def require_generators(states: npt.NDArray[np.uint64]) -> None:
    """No state of a generator (last axis) is all zero: it would give zeros for ever."""
    if not states.any(axis=-1).all():
        raise ValueError("a generator of random numbers is all zero")
