"""Flips of single atoms, with all that hidden atoms do then.

A hidden atom is true where the count of its definition is not zero. When an atom flips, the counts of the hidden atoms that it
bears on change; those whose truth changes flip in turn, one after the other, until nothing is left to do. Each is weighed in
the world that the flips before it left, so the weights add up to that of the whole change, in whatever order they are made.
"""

import numpy as np

from markovlogic.kernels.counting.evaluate import add_terms, count_term, decode, meets, write_bit
from markovlogic.kernels.counting.layout import (
    ARITY,
    HIDDEN,
    HIT_BASE,
    HIT_HIDDEN,
    HIT_SOURCES,
    HIT_TERM,
    HITS,
    LOOPED,
    SIZES,
    TERMS,
    VIEW_BEGIN,
    VIEW_BIT,
    VIEW_STRIDES,
    VIEWS,
    WHOLE,
)
from markovlogic.kernels.counting.operands import has_bit, value_of
from markovlogic.kernels.internal import called, internal


@internal
def is_true(relations, predicate, slots, bits):
    """Whether the atom whose arguments stand in the first slots is true."""
    own = relations.predicate[predicate]
    view = relations.views[relations.listed[own[VIEWS]]]
    begin, place = view[VIEW_BEGIN], np.int64(0)
    if view[VIEW_BIT] >= 0:
        place = slots[view[VIEW_BIT]]
    for position in range(own[ARITY]):
        begin += view[VIEW_STRIDES + position] * slots[position]
    return has_bit(bits, begin, place)


@internal
def _add_hit(code, relations, definitions, hit, change, bits, slots, room):
    """Add a hit's count to those of all hidden atoms that it bears on, and queue those whose truth may have changed."""
    own = definitions.hit[hit]
    term = own[HIT_TERM]
    if not meets(code, term, slots):
        return
    hidden, base = own[HIT_HIDDEN], own[HIT_BASE]
    sizes = relations.predicate[hidden, SIZES:]
    first, last = own[HIT_SOURCES], own[HIT_SOURCES + 1]
    n = last - first
    total = np.int64(1)  # assignments of the parameters that may be anything
    for at in range(n):
        if definitions.source[first + at] == LOOPED:
            total *= sizes[at]
    for assignment in range(total):
        rest = assignment
        number = np.int64(0)
        for at in range(n):
            source = definitions.source[first + at]
            if source == LOOPED:
                slots[base + at] = rest % sizes[at]
                rest //= sizes[at]
            else:
                slots[base + at] = value_of(source, slots)
            number = number * sizes[at] + slots[base + at]
        found = count_term(code, term, bits, slots, room.stack)
        if found != 0:
            number += relations.predicate[hidden, HIDDEN]
            room.tally[number] += change * np.int64(code.weight[term]) * found
            if room.queue[number, 2] == 0:
                room.queue[number, 2] = 1
                length = room.queue[-1, 0]
                room.queue[length, 0], room.queue[length, 1] = number, hidden
                room.queue[-1, 0] = length + 1


@internal
def _flip_one(code, relations, definitions, predicate, becomes, bits, slots, room, out):
    """Flip one atom; adds the change in every channel to `out`."""
    write_bit(relations, predicate, slots, np.bool_(False), bits)
    own, sums = relations.predicate[predicate], room.sums[0]
    sums[:] = 0.0
    add_terms(code, own[TERMS], own[TERMS + 1], bits, slots, room.stack, sums)
    change = np.int64(1) if becomes else np.int64(-1)
    for channel in range(out.shape[0]):
        out[channel] += change * sums[channel]
    for hit in range(own[HITS], own[HITS + 1]):
        _add_hit(code, relations, definitions, hit, change, bits, slots, room)
    if becomes:
        write_bit(relations, predicate, slots, np.bool_(True), bits)


@internal
def flip(code, relations, definitions, predicate, becomes, bits, slots, room, out):
    """Flip an atom, whose arguments stand in the first slots, and all hidden atoms that follow; the slots stay as they are.

    out: (n_channels,) gets what changes in each channel.
    """
    arity = relations.predicate[predicate, ARITY]
    for position in range(arity):
        room.args[position] = slots[position]
    _flip_one(code, relations, definitions, predicate, becomes, bits, slots, room, out)
    while room.queue[-1, 0] > 0:
        length = room.queue[-1, 0] - 1
        room.queue[-1, 0] = length
        number, hidden = room.queue[length, 0], room.queue[length, 1]
        room.queue[number, 2] = 0
        decode(relations, hidden, number - relations.predicate[hidden, HIDDEN], slots)
        truth = room.tally[number] != 0
        if is_true(relations, hidden, slots, bits) != truth:
            _flip_one(code, relations, definitions, hidden, truth, bits, slots, room, out)
    for position in range(arity):
        slots[position] = room.args[position]


@called
def count_hidden(code, relations, predicate, bits, slots, room):
    """Count a hidden predicate's definition anew for each of its atoms, and set their bits; all bits are zero before."""
    own = relations.predicate[predicate]
    total = np.int64(1)
    for position in range(own[ARITY]):
        total *= own[SIZES + position]
    for number in range(total):
        decode(relations, predicate, number, slots)
        found = np.int64(0)
        for term in range(own[WHOLE], own[WHOLE + 1]):
            if meets(code, term, slots):
                found += np.int64(code.weight[term]) * count_term(code, term, bits, slots, room.stack)
        room.tally[own[HIDDEN] + number] = found
        if found != 0:
            write_bit(relations, predicate, slots, np.bool_(True), bits)


@called
def changes_of(code, relations, definitions, places, bits, slots, room, out):
    """What each atom adds to every channel by being true rather than false. places: (n, 2) predicate and code of each."""
    for at in range(places.shape[0]):
        predicate = places[at, 0]
        decode(relations, predicate, places[at, 1], slots)
        before = is_true(relations, predicate, slots, bits)
        flip(code, relations, definitions, predicate, not before, bits, slots, room, out[at])
        if before:
            for channel in range(out.shape[1]):
                out[at, channel] = -out[at, channel]
        flip(code, relations, definitions, predicate, before, bits, slots, room, room.sums[1])
