"""Facts on their way from a source to `Evidence`: numbered constants, with the line or row that each fact stands in."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from markovlogic.data.vocabulary import Column, Vocabulary, number_columns
from markovlogic.language.syntax import Predicate

Int64 = npt.NDArray[np.int64]


class NamedBlock(NamedTuple):
    """Facts about one predicate whose constants are names still."""

    predicate: Predicate
    name_id: npt.NDArray[np.integer[Any]]  # (n, arity) into a shared array of names
    truth: npt.NDArray[np.int8]
    line: Int64  # (n,) ascending among the uses of one name_id


class Block(NamedTuple):
    """Facts about one predicate from one source."""

    predicate: str
    source: int  # which one
    args: npt.NDArray[np.int32]  # (n, arity) constant numbers
    truth: npt.NDArray[np.int8]
    line: npt.NDArray[np.uint32]  # line of a `.db` file, from 1, or row of a table, from 0


def number_blocks(vocabulary: Vocabulary, names: Any, named: Sequence[NamedBlock], source: int, first_line: int) -> list[Block]:
    """Blocks with constants numbered in the order in which they occur, line by line and from left to right."""
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
        blocks.append(Block(block.predicate.name, source, args, block.truth, (block.line + first_line).astype(np.uint32)))
    return blocks
