"""Facts on their way from a source to `Evidence`: numbered constants, with the line or row that each fact stands in."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from markovlogic.data.arrow import numpy_numbers
from markovlogic.data.vocabulary import Column, Vocabulary, number_columns
from markovlogic.language.syntax import Predicate
from markovlogic.system.arrays import Float64, Int64


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
