"""Constants of each type while they are being met: a growing numbering, in order of first occurrence."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from markovlogic.data.arrow import arrow_numbers
from markovlogic.data.domains import Domain
from markovlogic.language.syntax import Model
from markovlogic.system.arrays import Int32, Int64


class Column(NamedTuple):
    """One argument position of many facts: which name stands there, and where in the input (for their order)."""

    type_name: str
    name_id: npt.NDArray[np.integer[Any]]  # (n,) into a shared array of names
    key: Int64  # (n,) the place in the input; ascending among the uses of one name_id


class Vocabulary:
    """Names to numbers for each type, starting with the constants of declarations and formulas."""

    def __init__(self, model: Model, *, closed_types: bool = False) -> None:
        types = {type_name for predicate in model.predicates.values() for type_name in predicate.types}
        ordered = [*model.constants, *sorted(types - set(model.constants))]
        self.number_of: dict[str, dict[str, int]] = {
            name: {constant: number for number, constant in enumerate(model.constants.get(name, ()))} for name in ordered
        }
        self._given_as: dict[str, set[bool]] = {name: set() for name in ordered}  # by type: whether tables had integers
        self.closed = model.declared_types if closed_types else frozenset[str]()

    def numbers(self, type_name: str, names: Sequence[str]) -> Int32:
        """Number of each name, new names numbered as they come."""
        number_of = self.number_of[type_name]
        numbers = list(map(number_of.get, names))  # several times as fast as a loop, and most names are known
        if None in numbers:
            # len(number_of) is evaluated before setdefault stores, so a new name gets the next free number
            numbers = [number_of.setdefault(name, len(number_of)) for name in names]
        return np.array(numbers, np.int32)

    def domains(self) -> dict[str, Domain]:
        """The domains as they are now."""
        return {
            type_name: Domain(type_name, tuple(number_of), self._given_as[type_name] == {True} and all(map(_is_int64, number_of)))
            for type_name, number_of in self.number_of.items()
        }

    def met(self, type_name: str, *, integers: bool) -> None:
        """A table has a column of this type's constants."""
        self._given_as[type_name].add(integers)


def _is_int64(name: str) -> bool:
    """Whether a constant is an integer as one is written."""
    digits = name.removeprefix("-")
    return digits.isascii() and digits.isdigit() and len(digits) <= 18 and (digits == "0" or digits[0] != "0") and name != "-0"


def number_columns(vocabulary: Vocabulary, names: Any, columns: Sequence[Column]) -> list[Int32]:
    """Constant numbers of every column; new constants of a type are numbered by the smallest key where they stand.

    names: Arrow string array that all columns' `name_id` index (a name may be in it more than once).
    """
    numbers: list[Int32] = [np.empty(0, np.int32)] * len(columns)
    for type_name in dict.fromkeys(column.type_name for column in columns):
        of_type = [at for at, column in enumerate(columns) if column.type_name == type_name]
        first = [_first_uses(columns[at], len(names)) for at in of_type]
        name_id = np.concatenate([ids for ids, _ in first])
        name_id = name_id[np.argsort(np.concatenate([keys for _, keys in first]), kind="stable")]
        if len(of_type) > 1:
            name_id = name_id[np.sort(np.unique(name_id, return_index=True)[1])]
        number_of_id = np.full(len(names), -1, np.int32)
        number_of_id[name_id] = vocabulary.numbers(type_name, names.take(arrow_numbers(name_id)).to_pylist())
        for at in of_type:
            numbers[at] = number_of_id[columns[at].name_id]
    return numbers


def _first_uses(column: Column, n_names: int) -> tuple[Int64, Int64]:
    """Distinct names of a column, each with the key of its first use."""
    if len(column.name_id) * 8 < n_names:
        ids, row = np.unique(column.name_id, return_index=True)
        return ids.astype(np.int64), column.key[row]
    first_row = np.full(n_names, -1, np.int64)
    # of several values assigned to one place the last one stays: backwards, that is the first use
    first_row[column.name_id[::-1]] = np.arange(len(column.name_id) - 1, -1, -1)
    ids = np.flatnonzero(first_row >= 0)
    return ids, column.key[first_row[ids]]
