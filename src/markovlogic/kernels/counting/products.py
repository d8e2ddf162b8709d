"""Messages through relations: vectors of counts, each a product of bits or counts with a relation.

A vector is multiplied with a relation by its bit planes, Σ_j 2^j · popcount(plane_j & row); along lists, entry by entry.
"""

import numpy as np

from markovlogic.kernels.counting.layout import OPERAND_LIST
from markovlogic.kernels.counting.operands import (
    entries_begin,
    fill_row,
    flip_of,
    has_bit,
    holds,
    is_list,
    list_bounds,
    row_begin,
    starts_with_list,
)
from markovlogic.kernels.internal import internal
from markovlogic.kernels.vectors import population


@internal
def _planes(vector, size, plane):
    """Bit planes of a vector of counts; gives how many there are."""
    every = np.int64(0)
    for at in range(size):
        every |= vector[at]
    n = 0
    while every >> n:
        n += 1
    for word in range((size + 63) >> 6):
        end = min(64, size - 64 * word)
        for which in range(n):
            bits = np.uint64(0)
            for at in range(end):
                bits |= np.uint64((vector[64 * word + at] >> which) & 1) << np.uint64(at)
            plane[which, word] = bits
    return n


@internal
def _count_rows(bits, begin, stride, flip, size, words, message, out):
    """out[v] = popcount of the message and row v of a relation."""
    for at in range(size):
        row = bits[begin + at * stride : begin + at * stride + words]
        total = np.int64(0)
        for word in range(words):
            total += population(message[word] & (row[word] ^ flip))
        out[at] = total


@internal
def _weigh_rows(bits, begin, stride, flip, size, words, plane, n, out):
    """out[v] = sum of a vector, given by its planes, over the bits of row v of a relation."""
    for at in range(size):
        row = bits[begin + at * stride : begin + at * stride + words]
        total = np.int64(0)
        for which in range(n):
            count = np.int64(0)
            own = plane[which]
            for word in range(words):
                count += population(own[word] & (row[word] ^ flip))
            total += count << which
        out[at] = total


@internal
def _count_both(one, other, words):
    """Bits that two rows share."""
    total = np.int64(0)
    for word in range(words):
        total += population(one[word] & other[word])
    return total


@internal
def _follow_lists(code, instruction, bits, slots, registers, weighs):
    """A message through relations of which the first is a list: along its entries."""
    source, first, last, slot = instruction[2], instruction[4], instruction[5], instruction[7] & 0xFFFF
    result, lists = registers.vector[instruction[1]], code.lists
    every_row = code.operand[first, OPERAND_LIST] == 0  # has a place: then they follow each other at equal steps
    slots[slot] = 0
    begin = entries_begin(code, first, slots)
    slots[slot] = 1
    stride = entries_begin(code, first, slots) - begin
    for at in range(instruction[6]):
        slots[slot] = at
        if every_row:
            low, high = lists[begin + at * stride], lists[begin + at * stride + 1]
        else:
            low, high = list_bounds(code, first, slots)
        total = np.int64(0)
        for entry in range(low, high):
            place = lists[entry]
            value = registers.vector[source, place] if weighs else np.int64(has_bit(registers.bits[source], 0, place))
            for operand in range(first + 1, last):
                if value != 0 and not holds(code, operand, place, bits, slots):
                    value = 0
            total += value
        result[at] = total


@internal
def multiply(code, instruction, bits, slots, registers, row, weighs):
    """A message through one or more relations between two variables. row: to work in."""
    out, source, first, last, size = instruction[1], instruction[2], instruction[4], instruction[5], instruction[6]
    if starts_with_list(code, first, last):
        _follow_lists(code, instruction, bits, slots, registers, weighs)
        return
    packed = instruction[7]
    slot, length = packed & 0xFFFF, packed >> 16
    words = (length + 63) >> 6
    n = _planes(registers.vector[source], length, registers.plane) if weighs else 0
    result = registers.vector[out]
    if last == first + 1 and not is_list(code, first):
        slots[slot] = 0
        begin = row_begin(code, first, slots)
        slots[slot] = 1
        stride = row_begin(code, first, slots) - begin
        if weighs:
            _weigh_rows(bits, begin, stride, flip_of(code, first), size, words, registers.plane, n, result)
        else:
            _count_rows(bits, begin, stride, flip_of(code, first), size, words, registers.bits[source], result)
        return
    for at in range(size):
        slots[slot] = at
        total = np.int64(0)
        fill_row(code, first, last, length, bits, slots, row)
        if weighs:
            for which in range(n):
                total += _count_both(row, registers.plane[which], words) << which
        else:
            total = _count_both(row, registers.bits[source], words)
        result[at] = total
