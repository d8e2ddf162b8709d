"""Operands: rows of bits, or sorted lists of places, of a relation; see `layout`."""

import numpy as np

from markovlogic.kernels.counting.layout import (
    OPERAND_BEGIN,
    OPERAND_FLIP,
    OPERAND_LIST,
    OPERAND_ROW,
    OPERAND_STEPS,
)
from markovlogic.kernels.internal import inlined, internal

ONE = np.uint64(1)
FULL = np.uint64(0xFFFFFFFFFFFFFFFF)
LOW = np.uint64(63)


@inlined
def value_of(argument, slots):
    """The value of a slot or constant."""
    return slots[argument] if argument >= 0 else -1 - argument


@inlined
def row_begin(code, operand, slots):
    """The first word of an operand's row."""
    at = code.operand[operand, OPERAND_BEGIN]
    for step in range(OPERAND_STEPS, code.operand.shape[1], 2):
        at += code.operand[operand, step + 1] * slots[code.operand[operand, step]]
    return at


@inlined
def flip_of(code, operand):
    """All ones where an operand is negated, else zero."""
    return np.uint64(code.operand[operand, OPERAND_FLIP])


@inlined
def has_bit(bits, begin, place):
    """Whether a bit of the row that begins there is set."""
    return (bits[begin + (place >> 6)] >> (np.uint64(place) & LOW)) & ONE != np.uint64(0)


@inlined
def tail_of(size):
    """The bits of a row's last word that count."""
    return FULL if size & 63 == 0 else (ONE << (np.uint64(size) & LOW)) - ONE


@inlined
def is_list(code, operand):
    """Whether an operand is a list."""
    return code.operand[operand, OPERAND_LIST] >= 0


@internal
def _first_at_least(items, low, high, value):
    """The first of sorted items, between two places, that is not below a value."""
    while low < high:
        middle = (low + high) >> 1
        if items[middle] < value:
            low = middle + 1
        else:
            high = middle
    return low


@inlined
def entries_begin(code, operand, slots):
    """Of a list all of whose rows have a place, that of the row; of bits, the first word of the row."""
    return row_begin(code, operand, slots) + code.operand[operand, OPERAND_ROW]


@internal
def list_bounds(code, operand, slots):
    """From, to: where the entries of an operand that is a list stand."""
    begin, n = code.operand[operand, OPERAND_BEGIN], code.operand[operand, OPERAND_LIST]
    row = entries_begin(code, operand, slots) - begin
    if n > 0:  # rows with entries, in order, right before
        at = _first_at_least(code.lists, begin - n, begin, row)
        if at == begin or code.lists[at] != row:
            return np.int64(0), np.int64(0)
        row = at - (begin - n)
    return code.lists[begin + row], code.lists[begin + row + 1]


@internal
def holds(code, operand, place, bits, slots):
    """Whether an operand's row has a place; whether it has not, where it is negated."""
    if is_list(code, operand):
        low, high = list_bounds(code, operand, slots)
        at = _first_at_least(code.lists, low, high, place)
        found = at < high and code.lists[at] == place
    else:
        found = has_bit(bits, row_begin(code, operand, slots), place)
    return found == (code.operand[operand, OPERAND_FLIP] == 0)


@internal
def fill_row(code, first, last, size, bits, slots, out):
    """The conjunction of operands, as bits; without any, all ones."""
    words = (size + 63) >> 6
    for word in range(words):
        out[word] = FULL
    for operand in range(first, last):
        flip = flip_of(code, operand)
        if is_list(code, operand):
            at, end = list_bounds(code, operand, slots)
            for word in range(words):
                found = np.uint64(0)
                while at < end and code.lists[at] >> 6 == word:
                    found |= ONE << (np.uint64(code.lists[at]) & LOW)
                    at += 1
                out[word] &= found ^ flip
            continue
        begin = row_begin(code, operand, slots)
        row = bits[begin : begin + words]
        for word in range(words):
            out[word] &= row[word] ^ flip
    out[words - 1] &= tail_of(size)


@internal
def count_entries(code, low, high, bits, begin, flip):
    """How many of some entries are in a row of bits, or are not where `flip` is all ones."""
    total = np.int64(0)
    for at in range(low, high):
        place = code.lists[at]
        total += np.int64(((bits[begin + (place >> 6)] ^ flip) >> (np.uint64(place) & LOW)) & ONE)
    return total


@internal
def starts_with_list(code, first, last):
    """Whether the first of some operands is a list whose entries are the only places that can be in all of them."""
    return first < last and is_list(code, first) and code.operand[first, OPERAND_FLIP] == 0
