"""Cuts a piece of a `.db` file into facts with array operations; what it does not understand it leaves for a closer look.

A line is *regular* when it is blank, or a fact `Name(Arg, …)`, perhaps with a leading `!` or `?`, where every name is a run of
letters, digits, `_` and `-`, or stands in double quotes without a backslash. The bytes are mapped to a few kinds; an *event* is
a byte that is neither a space nor the continuation of a name; a line is regular exactly when each step from one event to the
next is one of those in `STEPS` and the only opening parenthesis follows the first name. Everything here is one pass of
vectorised operations over the piece.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from markovlogic.data.arrow import numpy_numbers
from markovlogic.data.evidence import FALSE, TRUE, UNKNOWN
from markovlogic.system.arrays import Bool, Int64

SPACE, NEWLINE, TOKEN, OPEN, COMMA, CLOSE, SIGN, OTHER = range(8)
STEPS = (
    (NEWLINE, NEWLINE),
    (NEWLINE, SIGN),
    (NEWLINE, TOKEN),
    (SIGN, TOKEN),
    (TOKEN, OPEN),
    (OPEN, TOKEN),
    (TOKEN, COMMA),
    (COMMA, TOKEN),
    (TOKEN, CLOSE),
    (CLOSE, NEWLINE),
)


def _kinds() -> bytes:
    kinds = bytearray([OTHER]) * 256
    for byte in range(128):
        character = chr(byte)
        if character.isalnum() or character in "_-":
            kinds[byte] = TOKEN
    for character, kind in ((" ", SPACE), ("\t", SPACE), ("\r", SPACE), ("\n", NEWLINE), ("(", OPEN), (",", COMMA), (")", CLOSE)):
        kinds[ord(character)] = kind
    kinds[ord("!")] = kinds[ord("?")] = SIGN
    return bytes(kinds)


KIND_OF_BYTE = _kinds()
NO_TOKEN = bytes(byte for byte in range(256) if KIND_OF_BYTE[byte] != TOKEN)
IS_WRONG_STEP = np.ones(64, bool)
for _before, _after in STEPS:
    IS_WRONG_STEP[8 * _before + _after] = False
TRUTH_OF_SIGN = np.full(256, TRUE, np.int8)
TRUTH_OF_SIGN[ord("!")] = FALSE
TRUTH_OF_SIGN[ord("?")] = UNKNOWN


class Scan(NamedTuple):
    """The lines of one piece: regular facts in columns, and the numbers of the lines that are not regular."""

    names: Any  # Arrow string array of names, without quotes
    is_bare: Bool  # (n_names,) written without quotes
    is_constant: Bool  # (n_names,) well written as a constant
    name_id: npt.NDArray[np.int32]  # (n_tokens,) into `names`, in the order of the text
    line: Int64  # (n_facts,) line of each regular fact, from 0
    first_token: Int64  # (n_facts,) token that is its predicate; the arguments follow
    arity: Int64  # (n_facts,)
    truth: npt.NDArray[np.int8]  # (n_facts,)
    irregular: Int64  # lines for a closer look, ascending
    line_start: Int64  # (n_lines + 1,) byte offsets


def scan(piece: bytes) -> Scan:
    """Cut a piece of text that ends with a newline."""
    import pyarrow as pa

    kind_at = np.frombuffer(piece.translate(KIND_OF_BYTE), np.uint8)
    has_quotes = b'"' in piece
    if has_quotes:
        kind_at = _with_quoted_names(piece, kind_at)
    in_token = kind_at == TOKEN
    goes_on = in_token[1:] & in_token[:-1]
    is_event = kind_at != SPACE
    is_event[1:] &= ~goes_on
    position = np.flatnonzero(is_event)
    kind = kind_at[position]

    # which lines are regular
    line_end = np.flatnonzero(kind == NEWLINE)  # as events
    step = np.full(len(kind), 8 * NEWLINE, np.uint8)
    step[1:] = kind[:-1] * 8
    step += kind
    is_regular = np.ones(len(line_end), bool)
    is_regular[np.searchsorted(line_end, np.flatnonzero(IS_WRONG_STEP[step]))] = False
    first = np.zeros(len(line_end), np.int64)
    first[1:] = line_end[:-1] + 1
    line = np.flatnonzero(is_regular & (kind[first] != NEWLINE))
    first = first[line]
    is_signed = kind[first] == SIGN
    opening = first + is_signed + 1
    opens_well = kind[opening] == OPEN
    is_regular[line[~opens_well]] = False
    openings = np.flatnonzero(kind == OPEN)
    if len(openings) != np.count_nonzero(opens_well):
        is_regular[np.searchsorted(line_end, np.setdiff1d(openings, opening[opens_well], assume_unique=True))] = False
    keep = is_regular[line]
    line, first, is_signed = line[keep], first[keep], is_signed[keep]

    # the names, their letters put together without gaps; a name begins and ends where `in_token` changes
    change = np.flatnonzero(in_token[1:] != in_token[:-1]) + 1
    if in_token[0]:
        change = np.concatenate([[0], change])
    offsets = np.zeros(len(change) // 2 + 1, np.int32)
    np.cumsum((change[1::2] - change[::2]).astype(np.int32), out=offsets[1:])
    letters = np.frombuffer(piece, np.uint8)[in_token] if has_quotes else piece.translate(None, NO_TOKEN)
    tokens = pa.StringArray.from_buffers(len(offsets) - 1, pa.py_buffer(offsets), pa.py_buffer(letters)).dictionary_encode()
    # a regular fact of arity k makes 2k + 3 events, its line end included, and its sign one more
    arity = (line_end[line] - first - is_signed - 2) // 2
    if is_regular.all():
        first_token = np.cumsum(arity + 1) - (arity + 1)
    else:
        first_token = np.cumsum(kind == TOKEN, dtype=np.int32)[first + is_signed].astype(np.int64) - 1
    line_start = np.zeros(len(line_end) + 1, np.int64)
    line_start[1:] = position[line_end] + 1
    names, is_bare, is_constant = _names(tokens.dictionary, has_quotes)
    return Scan(
        names=names,
        is_bare=is_bare,
        is_constant=is_constant,
        name_id=numpy_numbers(tokens.indices),
        line=line,
        first_token=first_token,
        arity=arity,
        truth=TRUTH_OF_SIGN[np.frombuffer(piece, np.uint8)[position[first]]],
        irregular=np.flatnonzero(~is_regular),
        line_start=line_start,
    )


def _with_quoted_names(piece: bytes, kind_at: npt.NDArray[np.uint8]) -> npt.NDArray[np.uint8]:
    """Kinds with quoted names, quotes included, as tokens; a line with an odd quote, a backslash or bad letters is irregular."""
    byte = np.frombuffer(piece, np.uint8)
    is_newline = kind_at == NEWLINE
    line_end = np.flatnonzero(is_newline)
    length = np.diff(line_end, prepend=-1)
    is_quote = byte == ord('"')
    quotes = np.cumsum(is_quote, dtype=np.int32)
    quotes_before = np.concatenate([[0], quotes[line_end[:-1]]]).astype(np.int32)
    is_odd = (quotes[line_end] - quotes_before) % 2 == 1
    is_odd[np.searchsorted(line_end, np.flatnonzero(byte == ord("\\")))] = True
    if not piece.isascii() and not _is_utf8(piece):
        is_odd[np.searchsorted(line_end, np.flatnonzero(byte >= 128))] = True
    is_inside = (quotes - np.repeat(quotes_before, length)) % 2 == 1
    kinds = np.where(is_inside | is_quote, TOKEN, kind_at).astype(np.uint8)
    kinds[np.repeat(is_odd, length)] = OTHER
    kinds[is_newline] = NEWLINE
    return kinds


def _is_utf8(piece: bytes) -> bool:
    try:
        piece.decode()
    except UnicodeDecodeError:
        return False
    return True


def _names(dictionary: Any, has_quotes: bool) -> tuple[Any, Bool, Bool]:
    """Names without their quotes, which of them were written bare, and which are well written as constants."""
    import pyarrow as pa

    if not len(dictionary):
        return dictionary, np.zeros(0, bool), np.zeros(0, bool)
    _, offsets, letters = dictionary.buffers()
    first = np.frombuffer(letters, np.uint8)[np.frombuffer(offsets, np.int32)[: len(dictionary)]]
    # the scan has seen to the other letters
    is_constant = ((first >= ord("A")) & (first <= ord("Z"))) | ((first >= ord("0")) & (first <= ord("9")))
    is_bare = np.ones(len(dictionary), bool)
    if has_quotes:
        written = dictionary.to_pylist()
        for at, text in enumerate(written):
            if '"' in text:
                is_bare[at] = False
                is_constant[at] = text[0] == text[-1] == '"' and text.count('"') == 2
                written[at] = text[1:-1]
        dictionary = pa.array(written, pa.string())
    return dictionary, is_bare, is_constant
