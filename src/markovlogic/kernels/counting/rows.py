"""What is computed once a row: messages through the parts of terms that do not read the row which is being swept.

A message over a variable is a row of bits, or a vector of counts (`products`).
"""

import numpy as np

from markovlogic.kernels.counting.evaluate import count_loop, count_term, count_two, meets, passes_test
from markovlogic.kernels.counting.layout import (
    ARITY,
    BITS,
    COLUMNS,
    COUNT,
    HAS_HARD,
    INSTRUCTIONS,
    LIVE,
    LOOP_INNER,
    LOOP_MASKS,
    LOOP_ROWS,
    LOOP_SIZE,
    MASK,
    NEST,
    OPERAND_FLIP,
    OPERAND_LIST,
    OWN_COLUMNS,
    POINTS,
    ROW_GROUPS_OF,
    ROW_TERMS,
    SIZE,
    SIZES,
    SPECIAL,
    TERM_CHANNEL,
    TIMES,
    TOTAL,
    VECTORS,
    WIDTH,
)
from markovlogic.kernels.counting.operands import (
    LOW,
    ONE,
    count_entries,
    entries_begin,
    fill_row,
    has_bit,
    is_list,
    row_begin,
    value_of,
)
from markovlogic.kernels.counting.products import multiply
from markovlogic.kernels.internal import internal
from markovlogic.kernels.vectors import population


@internal
def _run_instructions(code, program, own, once, bits, slots, registers, stack):
    """Fill the registers that depend on the row, or those that do not. own: the predicate's row in its table."""
    for number in range(own[INSTRUCTIONS], own[INSTRUCTIONS + 1]):
        instruction = program.instruction[number]
        if instruction[8] != once:
            continue
        kind, out, source, other = instruction[0], instruction[1], instruction[2], instruction[3]
        size = instruction[6]
        if kind == BITS:
            row = registers.bits[out]
            fill_row(code, instruction[4], instruction[5], size, bits, slots, row)
            if source >= 0:  # a value that the variable differs from
                place = slots[source]
                row[place >> 6] &= ~(ONE << (np.uint64(place) & LOW))
        elif kind == MASK:
            row = registers.bits[other]
            for at in range(size):
                registers.vector[out, at] = registers.vector[source, at] if has_bit(row, 0, at) else 0
        elif kind == TIMES:
            for at in range(size):
                registers.vector[out, at] = registers.vector[source, at] * registers.vector[other, at]
        elif kind == SIZE:
            total = np.int64(0)
            for word in range((size + 63) >> 6):
                total += population(registers.bits[source, word])
            registers.number[out] = total
        elif kind == TOTAL:
            total = np.int64(0)
            for at in range(size):
                total += registers.vector[source, at]
            registers.number[out] = total
        elif kind == NEST:
            registers.number[out] = count_loop(code, source, bits, slots, stack)
        else:
            multiply(code, instruction, bits, slots, registers, stack.rows[0], kind != COUNT)


@internal
def _find_columns(code, program, own, bits, slots, registers, scratch):
    """The bits along the rows that do not depend on the row, eight of them a byte."""
    first, last, width = own[COLUMNS], own[COLUMNS + 1], own[WIDTH]
    for at in range(first, last):
        which, place = (at - first) >> 3, (at - first) & 7
        fill_row(code, program.column[at, 0], program.column[at, 1], width, bits, slots, scratch)
        codes = registers.code[which]
        for y in range(width):
            before = codes[y] if place > 0 else np.uint8(0)
            codes[y] = before | np.uint8(has_bit(scratch, 0, y)) << np.uint8(place)


@internal
def _add_group(code, program, at, columns, width, bits, slots, registers):
    """Add the terms of a group, which ask for the same bits along the row, to the row's sums."""
    first, last, begin, end = program.group[at, 0], program.group[at, 1], program.group[at, 2], program.group[at, 3]
    base = registers.base[program.group[at, 4]]
    plain = 0.0
    tables = (columns + 7) >> 3
    by_column = registers.share[0]
    for which in range(columns):
        by_column[which] = 0.0
    uses_columns = False
    for entry in range(begin, end):
        value = registers.coefficient[program.entry[entry, 0]]
        if value == 0.0:
            continue
        if program.entry[entry, 1] < 0:
            plain += value
        else:
            by_column[program.entry[entry, 1]] += value
            uses_columns = True
    if not uses_columns and plain == 0.0:
        return
    if uses_columns:
        for which in range(tables):
            table = registers.table[which]
            table[0] = plain if which == 0 else 0.0
            for place in range(8):
                step = by_column[8 * which + place] if 8 * which + place < columns else 0.0
                for low in range(1 << place):
                    table[(1 << place) + low] = table[low] + step
    if first == last:
        if not uses_columns:
            for y in range(width):
                base[y] += plain
            return
        for which in range(tables):
            table, own = registers.table[which], registers.code[which]
            for y in range(width):
                base[y] += table[own[y]]
        return
    masks = registers.plane[0]
    fill_row(code, first, last, width, bits, slots, masks)
    for word in range((width + 63) >> 6):
        mask = masks[word]
        if mask == np.uint64(0):
            continue
        for place in range(min(64, width - 64 * word)):
            y = 64 * word + place
            value = plain
            if uses_columns:
                value = 0.0
                for which in range(tables):
                    value += registers.table[which, registers.code[which, y]]
            base[y] += value if (mask >> np.uint64(place)) & ONE != np.uint64(0) else 0.0


@internal
def begin_row(code, program, own, row, fresh, bits, slots, registers, stack):
    """Put the row's arguments into slots and compute what its atoms share: their sums without live terms, `registers.base`.

    fresh: 1 where what does not depend on the row has to be computed as well, else 0. Gives how many live terms there are, -1
    where each atom is counted in full. All is done in one function: each more takes its time to compile.
    """
    rest = row
    for position in range(own[ARITY] - 2, -1, -1):
        size = own[SIZES + position]
        slots[position] = rest % size
        rest //= size
    if fresh or own[OWN_COLUMNS]:
        _find_columns(code, program, own, bits, slots, registers, stack.rows[0])
    for once in range(fresh, -1, -1):
        if once == 0 and own[SPECIAL] >= 0 and program.item[own[SPECIAL] + row]:
            return -1
        _run_instructions(code, program, own, once, bits, slots, registers, stack)
    width = own[WIDTH]
    for term in range(own[ROW_TERMS], own[ROW_TERMS + 1]):
        value = program.weight[term]
        for at in range(program.term[term, 5], program.term[term, 6]):
            if slots[code.condition[at, 0]] != value_of(code.condition[at, 1], slots):
                value = 0.0
        if value != 0.0:
            for test in range(program.term[term, 1], program.term[term, 2]):
                if not passes_test(code, test, bits, slots):
                    value = 0.0
                    break
        if value != 0.0:
            for at in range(program.term[term, 3], program.term[term, 4]):
                value *= registers.number[program.item[at]]
        registers.coefficient[term] = value
    for channel in range(1 + own[HAS_HARD]):
        registers.base[channel, :width] = 0.0
    columns = own[COLUMNS + 1] - own[COLUMNS]
    for at in range(own[ROW_GROUPS_OF], own[ROW_GROUPS_OF + 1]):
        _add_group(code, program, at, columns, width, bits, slots, registers)
    for at in range(own[VECTORS], own[VECTORS + 1]):
        term = program.vector[at, 0]
        value = registers.coefficient[term]
        if value != 0.0:
            base, vector = registers.base[program.term[term, 0]], registers.vector[program.vector[at, 1]]
            for y in range(width):
                base[y] += value * vector[y]
    n = 0
    for at in range(own[LIVE], own[LIVE + 1]):
        if registers.coefficient[program.live[at, 0]] != 0.0:
            _activate(code, program, at, own[ARITY] - 1, slots, registers.active[n])
            n += 1
    return n


@internal
def _activate(code, program, at, last, slots, active):
    """Note a live term of the row. If it is one popcount of one or two rows, or of a list and a row, note where they lie."""
    live = program.live[at]
    active[0], active[1] = at, 0
    if live[1] != live[2] or live[3] != live[4] or live[6] - live[5] != 1:
        return
    loop = code.loop[program.item[live[5]]]
    first, n = loop[LOOP_ROWS], loop[LOOP_ROWS + 1] - loop[LOOP_ROWS]
    if loop[LOOP_INNER] != loop[LOOP_INNER + 1] or loop[LOOP_MASKS] != loop[LOOP_MASKS + 1] or n < 1 or n > 2:
        return
    second = first + n - 1
    if code.operand[first, OPERAND_FLIP] != 0 or is_list(code, second) or code.operand[first, OPERAND_LIST] > 0:
        return
    slots[last] = 0
    active[2], active[4] = entries_begin(code, first, slots), row_begin(code, second, slots)
    slots[last] = 1
    active[3] = entries_begin(code, first, slots) - active[2]
    active[5] = row_begin(code, second, slots) - active[4]
    active[6] = code.operand[second, OPERAND_FLIP]
    active[1] = -1 if is_list(code, first) else (loop[LOOP_SIZE] + 63) >> 6


@internal
def add_live(code, program, n_active, bits, slots, y, registers, stack, out):
    """Add the live terms of the row at the atom whose last argument is y; its own bit is not set."""
    for which in range(n_active):
        active = registers.active[which]
        at = active[0]
        term = program.live[at, 0]
        value = registers.coefficient[term]
        if active[1] > 0:
            found = count_two(bits, active[2] + y * active[3], active[4] + y * active[5], np.uint64(active[6]), active[1])
            out[program.term[term, 0]] += value * found
            continue
        if active[1] < 0:
            entries = active[2] + y * active[3]
            low, high = code.lists[entries], code.lists[entries + 1]
            found = count_entries(code, low, high, bits, active[4] + y * active[5], np.uint64(active[6]))
            out[program.term[term, 0]] += value * found
            continue
        holds = True
        for test in range(program.live[at, 1], program.live[at, 2]):
            if not passes_test(code, test, bits, slots):
                holds = False
                break
        if not holds:
            continue
        for place in range(program.live[at, 3], program.live[at, 4]):
            value *= registers.vector[program.item[place], y]
        if value == 0.0:
            continue
        for place in range(program.live[at, 5], program.live[at, 6]):
            value *= count_loop(code, program.item[place], bits, slots, stack)
            if value == 0.0:
                break
        out[program.term[term, 0]] += value


@internal
def add_points(code, program, own, y, bits, slots, stack, out):
    """Add the terms that count for this value of the last argument only."""
    begin = own[POINTS]
    if begin >= 0:
        for at in range(program.item[begin + y], program.item[begin + y + 1]):
            term = program.item[at]
            if meets(code, term, slots):
                out[code.term[term, TERM_CHANNEL]] += code.weight[term] * count_term(code, term, bits, slots, stack)
