"""Terms at one atom: how many values of the free variables make a conjunction of bits true."""

import numpy as np

from markovlogic.kernels.counting.layout import (
    ARITY,
    LOOP_INNER,
    LOOP_MASKS,
    LOOP_ROWS,
    LOOP_SIZE,
    LOOP_SLOT,
    SIZES,
    TERM_CHANNEL,
    TERM_CONDITIONS,
    TERM_ROOTS,
    TERM_TESTS,
    TEST_BIT,
    TEST_OPERAND,
    VIEW_BEGIN,
    VIEW_BIT,
    VIEW_STRIDES,
    VIEWS,
)
from markovlogic.kernels.counting.operands import (
    LOW,
    ONE,
    count_entries,
    fill_row,
    flip_of,
    holds,
    is_list,
    list_bounds,
    row_begin,
    starts_with_list,
    tail_of,
    value_of,
)
from markovlogic.kernels.internal import called, internal
from markovlogic.kernels.vectors import lowest_bit, population


@internal
def passes_test(code, test, bits, slots):
    """Whether a factor without free variables holds."""
    return holds(code, code.test[test, TEST_OPERAND], value_of(code.test[test, TEST_BIT], slots), bits, slots)


@internal
def _count_one(bits, begin, words):
    total = np.int64(0)
    row = bits[begin : begin + words]
    for word in range(words):
        total += population(row[word])
    return total


@internal
def count_two(bits, begin, other, flip, words):
    """Bits of a row that another one has, or that it has not."""
    total = np.int64(0)
    row, second = bits[begin : begin + words], bits[other : other + words]
    for word in range(words):
        total += population(row[word] & (second[word] ^ flip))
    return total


@internal
def count_row(code, first, last, size, bits, slots):
    """How many bits of the conjunction of operands, no lists, are set; positive ones stand first."""
    words = (size + 63) >> 6
    if last == first:
        return size
    begin, flip = row_begin(code, first, slots), flip_of(code, first)
    if last == first + 1:
        total = _count_one(bits, begin, words)
        return total if flip == np.uint64(0) else size - total
    other, other_flip = row_begin(code, first + 1, slots), flip_of(code, first + 1)
    if last == first + 2:
        if flip == np.uint64(0):
            return count_two(bits, begin, other, other_flip, words)
        both = count_two(bits, begin, other, np.uint64(0), words)  # none of both: all, less each, and more what both have
        return size - _count_one(bits, begin, words) - _count_one(bits, other, words) + both
    total = np.int64(0)
    for word in range(words):
        both = (bits[begin + word] ^ flip) & (bits[other + word] ^ other_flip)
        for operand in range(first + 2, last):
            both &= bits[row_begin(code, operand, slots) + word] ^ flip_of(code, operand)
        total += population(both & tail_of(size)) if word == words - 1 else population(both)
    return total


@internal
def _masked_row(code, loop, bits, slots, row):
    """The values that a loop's own factors and masks leave, as bits."""
    fill_row(code, code.loop[loop, LOOP_ROWS], code.loop[loop, LOOP_ROWS + 1], code.loop[loop, LOOP_SIZE], bits, slots, row)
    for at in range(code.loop[loop, LOOP_MASKS], code.loop[loop, LOOP_MASKS + 1]):
        place = value_of(code.item[at], slots)
        row[place >> 6] &= ~(ONE << (np.uint64(place) & LOW))


@internal
def _fits(code, loop, place, bits, slots):
    """Whether a place of a loop's first operand is in the others as well, and is no masked one."""
    for operand in range(code.loop[loop, LOOP_ROWS] + 1, code.loop[loop, LOOP_ROWS + 1]):
        if not holds(code, operand, place, bits, slots):
            return False
    for at in range(code.loop[loop, LOOP_MASKS], code.loop[loop, LOOP_MASKS + 1]):
        if value_of(code.item[at], slots) == place:
            return False
    return True


@internal
def _count_entries(code, loop, bits, slots):
    """The count of a loop without inner ones whose first operand is a list: its entries are gone through."""
    first, last = code.loop[loop, LOOP_ROWS], code.loop[loop, LOOP_ROWS + 1]
    low, high = list_bounds(code, first, slots)
    if last == first + 2 and not is_list(code, first + 1) and code.loop[loop, LOOP_MASKS] == code.loop[loop, LOOP_MASKS + 1]:
        return count_entries(code, low, high, bits, row_begin(code, first + 1, slots), flip_of(code, first + 1))
    total = np.int64(0)
    for at in range(low, high):
        total += np.int64(_fits(code, loop, code.lists[at], bits, slots))
    return total


@internal
def _count_innermost(code, loop, bits, slots, row):
    """The count of a loop without inner ones. row: to work in."""
    first, last = code.loop[loop, LOOP_ROWS], code.loop[loop, LOOP_ROWS + 1]
    if starts_with_list(code, first, last):
        return _count_entries(code, loop, bits, slots)
    if code.loop[loop, LOOP_MASKS] == code.loop[loop, LOOP_MASKS + 1] and not (first < last and is_list(code, first)):
        return count_row(code, first, last, code.loop[loop, LOOP_SIZE], bits, slots)
    _masked_row(code, loop, bits, slots, row)
    total = np.int64(0)
    for word in range((code.loop[loop, LOOP_SIZE] + 63) >> 6):
        total += population(row[word])
    return total


@internal
def _begin_loop(code, loop, bits, slots, row, frame):
    """Begin to go through the values of a loop's variable: the entries of a list, or the bits of a row."""
    frame[0], frame[1], frame[2], frame[5] = loop, 0, 0, -1
    if starts_with_list(code, code.loop[loop, LOOP_ROWS], code.loop[loop, LOOP_ROWS + 1]):
        frame[1], frame[5] = list_bounds(code, code.loop[loop, LOOP_ROWS], slots)
    else:
        _masked_row(code, loop, bits, slots, row)


@internal
def _next_value(code, bits, slots, row, frame):
    """The next value of a loop's variable, -1 after the last; bits that are done are struck out."""
    loop = frame[0]
    if frame[5] >= 0:
        while frame[1] < frame[5]:
            place = code.lists[frame[1]]
            frame[1] += 1
            if _fits(code, loop, place, bits, slots):
                return place
        return np.int64(-1)
    word, words = frame[1], (code.loop[loop, LOOP_SIZE] + 63) >> 6
    while word < words and row[word] == np.uint64(0):
        word += 1
    frame[1] = word
    if word == words:
        return np.int64(-1)
    left = row[word]
    row[word] = left & (left - ONE)
    return 64 * word + lowest_bit(left)


@internal
def count_loop(code, loop, bits, slots, stack):
    """How many values of a loop's variables make its factors true.

    No recursion, which compiled kernels cannot be loaded with: a frame holds the loop, the word of its row or the entry of its
    list that is next, the sum so far, the product of the inner loops so far, the inner loop that is next, and the list's end.
    """
    rows, frames = stack.rows, stack.frames
    if code.loop[loop, LOOP_INNER] == code.loop[loop, LOOP_INNER + 1]:
        return _count_innermost(code, loop, bits, slots, rows[0])
    depth = 0
    _begin_loop(code, loop, bits, slots, rows[0], frames[0])
    while True:
        own = frames[depth, 0]
        value = _next_value(code, bits, slots, rows[depth], frames[depth])
        if value < 0:
            found = frames[depth, 2]
            depth -= 1
            if depth < 0:
                return found
            own = frames[depth, 0]
            frames[depth, 3] *= found
            frames[depth, 4] += 1
        else:
            slots[code.loop[own, LOOP_SLOT]] = value
            frames[depth, 3], frames[depth, 4] = 1, code.loop[own, LOOP_INNER]
        inside = False
        while frames[depth, 3] != 0 and frames[depth, 4] < code.loop[own, LOOP_INNER + 1]:
            inner = code.item[frames[depth, 4]]
            if code.loop[inner, LOOP_INNER] == code.loop[inner, LOOP_INNER + 1]:
                frames[depth, 3] *= _count_innermost(code, inner, bits, slots, rows[depth + 1])
                frames[depth, 4] += 1
            else:
                depth += 1
                _begin_loop(code, inner, bits, slots, rows[depth], frames[depth])
                inside = True
                break
        if not inside:
            frames[depth, 2] += frames[depth, 3]


@internal
def meets(code, term, slots):
    """Whether the slots obey a term's conditions."""
    for at in range(code.term[term, TERM_CONDITIONS], code.term[term, TERM_CONDITIONS + 1]):
        if slots[code.condition[at, 0]] != value_of(code.condition[at, 1], slots):
            return False
    return True


@internal
def count_term(code, term, bits, slots, stack):
    """The count of a term whose conditions are met."""
    for test in range(code.term[term, TERM_TESTS], code.term[term, TERM_TESTS + 1]):
        if not passes_test(code, test, bits, slots):
            return np.int64(0)
    product = np.int64(1)
    for at in range(code.term[term, TERM_ROOTS], code.term[term, TERM_ROOTS + 1]):
        product *= count_loop(code, code.item[at], bits, slots, stack)
        if product == 0:
            break
    return product


@internal
def add_terms(code, first, last, bits, slots, stack, out):
    """Add weight times count of each term to the sum of its channel. out: (n_channels,) float64."""
    for term in range(first, last):
        if meets(code, term, slots):
            out[code.term[term, TERM_CHANNEL]] += code.weight[term] * count_term(code, term, bits, slots, stack)


@called
def sum_terms(code, first, last, bits, slots, stack, out):
    """The same for Python."""
    add_terms(code, first, last, bits, slots, stack, out)


@internal
def write_bit(relations, predicate, slots, value, bits):
    """Set an atom, whose arguments stand in the first slots, in all views of its predicate."""
    own = relations.predicate[predicate]
    arity = own[ARITY]
    widest = (relations.views.shape[1] - VIEW_STRIDES) >> 1
    for at in range(own[VIEWS], own[VIEWS + 1]):
        view = relations.views[relations.listed[at]]
        begin, place = view[VIEW_BEGIN], np.int64(0)
        fits = True
        if view[VIEW_BIT] >= 0:
            place = slots[view[VIEW_BIT]]
        for position in range(arity):
            begin += view[VIEW_STRIDES + position] * slots[position]
            if view[VIEW_STRIDES + widest + position] == 1 and slots[position] != place:
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
    for position in range(relations.predicate[predicate, ARITY] - 1, -1, -1):
        size = relations.predicate[predicate, SIZES + position]
        slots[position] = rest % size
        rest //= size


@called
def write_atoms(relations, predicate, codes, bits, slots):
    """Make atoms true, by their codes, in all views of their predicate."""
    for number in codes:
        decode(relations, predicate, number, slots)
        write_bit(relations, predicate, slots, np.bool_(True), bits)
