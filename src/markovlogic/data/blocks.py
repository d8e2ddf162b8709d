"""Facts on their way from a source to `Evidence`: numbered constants, with the line or row that each fact stands in."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from markovlogic.arrays import Int64
from markovlogic.data.arrow import numpy_numbers
from markovlogic.data.vocabulary import Column, Vocabulary, number_columns
from markovlogic.language.syntax import Predicate


class NamedBlock(NamedTuple):
    """Facts about one predicate whose constants are names still."""

    predicate: Predicate
    name_id: npt.NDArray[np.integer[Any]]  # (n, arity) into a shared array of names
    truth: npt.NDArray[np.int8]
    line: Int64  # (n,) ascending among the uses of one name_id


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
    return NamedBlock(blocks[0].predicate, *(np.concatenate(columns) for columns in list(zip(*blocks, strict=True))[1:]))


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
        blocks.append(Block(block.predicate.name, source, args, block.truth, block.line.astype(np.uint32)))
    return blocks
