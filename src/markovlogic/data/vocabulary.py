"""Constants of each type while they are being met: a growing numbering, in order of first occurrence."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from markovlogic.data.arrow import arrow_numbers, numpy_numbers
from markovlogic.data.evidence import Domain
from markovlogic.errors import MOST_SHOWN, Fault, InputError, capped
from markovlogic.language.syntax import Model, Predicate
from markovlogic.system.arrays import Float64, Int32, Int64


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


MOST_COUNTED = 10_000


class FaultLog:
    """Faults in the order they were found; past a hundred they are only counted."""

    def __init__(self) -> None:
        self.shown: list[Fault] = []
        self.count = 0
        self.stopped_early = False

    def add(self, fault: Fault) -> None:
        """Note one more thing that is wrong."""
        self.count += 1
        if len(self.shown) < MOST_SHOWN:
            self.shown.append(fault)

    def extend(self, error: InputError) -> None:
        """Note all that an error carries."""
        for fault in error.faults:
            self.add(fault)

    @property
    def is_full(self) -> bool:
        """Whether reading on would inform the user nothing new."""
        return self.count >= MOST_COUNTED

    def stop(self) -> None:
        """Say that the rest of the input was not looked at."""
        self.stopped_early = True

    def raise_if_any(self) -> None:
        """End here with one error that holds all faults, if there are any."""
        if not self.count:
            return
        raise InputError(capped(self.shown, self.count, at_least=self.stopped_early))


class SoftColumn(NamedTuple):
    """What soft facts say, where a block has any."""

    value: Float64  # (n,) log-odds; in an exclusive group log p or a weight; anything where the truth is not SOFT
    is_share: bool  # the values are logarithms of probabilities, of which unlisted values of a group share the rest


class NamedBlock(NamedTuple):
    """Facts about one predicate whose constants are names still."""

    predicate: Predicate
    name_id: npt.NDArray[np.integer[Any]]  # (n, arity) into a shared array of names
    truth: npt.NDArray[np.int8]
    line: Int64  # (n,) ascending among the uses of one name_id
    soft: SoftColumn | None = None


class Piece(NamedTuple):
    """Facts of a part of the input, and the Arrow string array that their `name_id` index."""

    names: Any
    blocks: list[NamedBlock]


class Block(NamedTuple):
    """Facts about one predicate from one source."""

    predicate: str
    source: int  # which one
    args: npt.NDArray[np.int32]  # (n, arity) constant numbers
    truth: npt.NDArray[np.int8]
    line: npt.NDArray[np.uint32]  # line of a `.db` file, from 1, or row of a table, from 0
    soft: SoftColumn | None = None


def join_pieces(pieces: Sequence[Piece]) -> Piece:
    """One piece instead of many: names of all, each once, and blocks of one predicate put together."""
    import pyarrow as pa

    if len(pieces) == 1:
        return pieces[0]
    # a name that many pieces have is looked up here, in Arrow, and only once in the vocabulary
    encoded = pa.concat_arrays([piece.names for piece in pieces]).dictionary_encode()
    joint_id = numpy_numbers(encoded.indices)
    # two blocks of one predicate in the same piece interleave their lines, so they stay apart
    parts: dict[tuple[str, int], list[NamedBlock]] = {}
    start = 0
    for piece in pieces:
        seen: Counter[str] = Counter()
        for block in piece.blocks:
            name = block.predicate.name
            parts.setdefault((name, seen[name]), []).append(block._replace(name_id=joint_id[start + block.name_id]))
            seen[name] += 1
        start += len(piece.names)
    return Piece(encoded.dictionary, [_joined(blocks) for blocks in parts.values()])


def _joined(blocks: Sequence[NamedBlock]) -> NamedBlock:
    return NamedBlock(
        blocks[0].predicate,
        np.concatenate([block.name_id for block in blocks]),
        np.concatenate([block.truth for block in blocks]),
        np.concatenate([block.line for block in blocks]),
        _joined_soft(blocks),
    )


def _joined_soft(blocks: Sequence[NamedBlock]) -> SoftColumn | None:
    kept = [block.soft for block in blocks if block.soft is not None]
    if not kept:
        return None
    parts = [np.zeros(len(block.line)) if block.soft is None else block.soft.value for block in blocks]
    return SoftColumn(np.concatenate(parts), kept[0].is_share)


def number_blocks(vocabulary: Vocabulary, piece: Piece, source: int) -> list[Block]:
    """Blocks with constants numbered in the order in which they occur, line by line and from left to right."""
    names, named = piece
    width = 1 + max((block.predicate.arity for block in named), default=0)
    columns = [
        Column(type_name, block.name_id[:, position], block.line * width + position)
        for block in named
        for position, type_name in enumerate(block.predicate.types)
    ]
    numbers = iter(number_columns(vocabulary, names, columns))
    blocks = []
    for block in named:
        args = np.empty((len(block.line), block.predicate.arity), np.int32)
        for position in range(block.predicate.arity):
            args[:, position] = next(numbers)
        blocks.append(Block(block.predicate.name, source, args, block.truth, block.line.astype(np.uint32), block.soft))
    return blocks
