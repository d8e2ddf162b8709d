"""Terms at one atom: how many values of the free variables make a conjunction of bits true."""

import numpy as np

from markovlogic.kernels.internal import called, inlined, internal
from markovlogic.kernels.vectors import lowest_bit, population

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
    at = code.operand_begin[operand]
    for step in range(code.operand_slot.shape[1]):
        at += code.operand_step[operand, step] * slots[code.operand_slot[operand, step]]
    return at


@inlined
def has_bit(bits, begin, place):
    """Whether a bit of the row that begins there is set."""
    return (bits[begin + (place >> 6)] >> (np.uint64(place) & LOW)) & ONE != np.uint64(0)


@inlined
def tail_of(size):
    """The bits of a row's last word that count."""
    return FULL if size & 63 == 0 else (ONE << (np.uint64(size) & LOW)) - ONE


@internal
def passes_test(code, test, bits, slots):
    """Whether a factor without free variables holds."""
    operand = code.test_operand[test]
    found = has_bit(bits, row_begin(code, operand, slots), value_of(code.test_bit[test], slots))
    return found == (code.operand_flip[operand] == np.uint64(0))


@internal
def fill_row(code, first, last, size, bits, slots, out):
    """The conjunction of operands, as bits; without any, all ones."""
    words = (size + 63) >> 6
    out[:words] = FULL
    for operand in range(first, last):
        begin, flip = row_begin(code, operand, slots), code.operand_flip[operand]
        for word in range(words):
            out[word] &= bits[begin + word] ^ flip
    out[words - 1] &= tail_of(size)


@internal
def count_row(code, first, last, size, bits, slots):
    """How many bits of the conjunction of operands are set."""
    words = (size + 63) >> 6
    total = np.int64(0)
    if last == first:
        return size
    begin, flip = row_begin(code, first, slots), code.operand_flip[first]
    if last == first + 1:
        for word in range(words):
            total += population(bits[begin + word])
        return total if flip == np.uint64(0) else size - total
    other, other_flip = row_begin(code, first + 1, slots), code.operand_flip[first + 1]
    end = words - 1
    if last == first + 2:
        for word in range(end):
            total += population((bits[begin + word] ^ flip) & (bits[other + word] ^ other_flip))
        return total + population((bits[begin + end] ^ flip) & (bits[other + end] ^ other_flip) & tail_of(size))
    for word in range(words):
        both = (bits[begin + word] ^ flip) & (bits[other + word] ^ other_flip)
        for operand in range(first + 2, last):
            both &= bits[row_begin(code, operand, slots) + word] ^ code.operand_flip[operand]
        total += population(both & tail_of(size)) if word == end else population(both)
    return total


@internal
def _masked_row(code, loop, bits, slots, row):
    """The values that a loop's own factors and masks leave, as bits."""
    fill_row(code, code.loop_operand[loop, 0], code.loop_operand[loop, 1], code.loop_size[loop], bits, slots, row)
    for at in range(code.loop_mask[loop, 0], code.loop_mask[loop, 1]):
        place = value_of(code.mask[at], slots)
        row[place >> 6] &= ~(ONE << (np.uint64(place) & LOW))


@internal
def _count_innermost(code, loop, bits, slots, row):
    """The count of a loop without inner ones. row: to work in."""
    if code.loop_mask[loop, 0] == code.loop_mask[loop, 1]:
        return count_row(code, code.loop_operand[loop, 0], code.loop_operand[loop, 1], code.loop_size[loop], bits, slots)
    _masked_row(code, loop, bits, slots, row)
    total = np.int64(0)
    for word in range((code.loop_size[loop] + 63) >> 6):
        total += population(row[word])
    return total


@internal
def count_loop(code, loop, bits, slots, stack):
    """How many values of a loop's variables make its factors true.

    No recursion, which compiled kernels cannot be loaded with: a frame holds the loop, the word of its row that is looked at, the
    sum so far, the product of the inner loops so far, and the inner loop that is next. Values that are done are struck out.
    """
    rows, frames = stack.rows, stack.frames
    if code.loop_inner[loop, 0] == code.loop_inner[loop, 1]:
        return _count_innermost(code, loop, bits, slots, rows[0])
    depth = 0
    frames[0, 0], frames[0, 1], frames[0, 2] = loop, 0, 0
    _masked_row(code, loop, bits, slots, rows[0])
    while True:
        own = frames[depth, 0]
        word, words = frames[depth, 1], (code.loop_size[own] + 63) >> 6
        while word < words and rows[depth, word] == np.uint64(0):
            word += 1
        frames[depth, 1] = word
        if word == words:
            found = frames[depth, 2]
            depth -= 1
            if depth < 0:
                return found
            own = frames[depth, 0]
            frames[depth, 3] *= found
            frames[depth, 4] += 1
        else:
            left = rows[depth, word]
            slots[code.loop_slot[own]] = 64 * word + lowest_bit(left)
            rows[depth, word] = left & (left - ONE)
            frames[depth, 3], frames[depth, 4] = 1, code.loop_inner[own, 0]
        inside = False
        while frames[depth, 3] != 0 and frames[depth, 4] < code.loop_inner[own, 1]:
            inner = code.inner[frames[depth, 4]]
            if code.loop_inner[inner, 0] == code.loop_inner[inner, 1]:
                frames[depth, 3] *= _count_innermost(code, inner, bits, slots, rows[depth + 1])
                frames[depth, 4] += 1
            else:
                depth += 1
                frames[depth, 0], frames[depth, 1], frames[depth, 2] = inner, 0, 0
                _masked_row(code, inner, bits, slots, rows[depth])
                inside = True
                break
        if not inside:
            frames[depth, 2] += frames[depth, 3]


@internal
def meets(code, term, slots):
    """Whether the slots obey a term's conditions."""
    for at in range(code.term_condition[term, 0], code.term_condition[term, 1]):
        if slots[code.condition_slot[at]] != value_of(code.condition_argument[at], slots):
            return False
    return True


@internal
def count_term(code, term, bits, slots, stack):
    """The count of a term whose conditions are met."""
    for test in range(code.term_test[term, 0], code.term_test[term, 1]):
        if not passes_test(code, test, bits, slots):
            return np.int64(0)
    product = np.int64(1)
    for at in range(code.term_loop[term, 0], code.term_loop[term, 1]):
        product *= count_loop(code, code.root[at], bits, slots, stack)
        if product == 0:
            break
    return product


@internal
def add_terms(code, first, last, bits, slots, stack, out):
    """Add weight times count of each term to the sum of its channel. out: (n_channels,) float64."""
    for term in range(first, last):
        if meets(code, term, slots):
            out[code.term_channel[term]] += code.term_weight[term] * count_term(code, term, bits, slots, stack)


@called
def sum_terms(code, first, last, bits, slots, stack, out):
    """The same for Python."""
    add_terms(code, first, last, bits, slots, stack, out)


@internal
def write_bit(relations, predicate, slots, value, bits):
    """Set an atom, whose arguments stand in the first slots, in all views of its predicate."""
    arity = relations.arity[predicate]
    for at in range(relations.of[predicate], relations.of[predicate + 1]):
        view = relations.listed[at]
        begin, place = relations.begin[view], np.int64(0)
        fits = True
        if relations.bit[view] >= 0:
            place = slots[relations.bit[view]]
        for position in range(arity):
            begin += relations.stride[view, position] * slots[position]
            if relations.along[view, position] == 1 and slots[position] != place:
                fits = False
        if fits:
            mark = ONE << (np.uint64(place) & LOW)
            if value:
                bits[begin + (place >> 6)] |= mark
            else:
                bits[begin + (place >> 6)] &= ~mark


@internal
def decode(relations, predicate, number, slots):
    """Put an atom's arguments, by its code, into the first slots."""
    rest = number
    for position in range(relations.arity[predicate] - 1, -1, -1):
        size = relations.size[predicate, position]
        slots[position] = rest % size
        rest //= size


@called
def write_atoms(relations, predicate, codes, bits, slots):
    """Make atoms true, by their codes, in all views of their predicate."""
    for number in codes:
        decode(relations, predicate, number, slots)
        write_bit(relations, predicate, slots, True, bits)
