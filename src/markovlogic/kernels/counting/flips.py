"""Flips of single atoms, with all that hidden atoms do then.

A hidden atom is true where the count of its definition is not zero. When an atom flips, the counts of the hidden atoms that it
bears on change; those whose truth changes flip in turn, one after the other, until nothing is left to do. Each is weighed in
the world that the flips before it left, so the weights add up to that of the whole change, in whatever order they are made.
"""

import numpy as np

from markovlogic.kernels.counting.evaluate import add_terms, count_term, decode, has_bit, meets, value_of, write_bit
from markovlogic.kernels.counting.layout import LOOPED
from markovlogic.kernels.internal import called, internal


@internal
def is_true(relations, predicate, slots, bits):
    """Whether the atom whose arguments stand in the first slots is true."""
    view = relations.listed[relations.of[predicate]]
    begin, place = relations.begin[view], np.int64(0)
    if relations.bit[view] >= 0:
        place = slots[relations.bit[view]]
    for position in range(relations.arity[predicate]):
        begin += relations.stride[view, position] * slots[position]
    return has_bit(bits, begin, place)


@internal
def _add_hit(code, relations, definitions, hit, change, bits, slots, room):
    """Add a hit's count to those of all hidden atoms that it bears on, and queue those whose truth may have changed."""
    term = definitions.hit_term[hit]
    if not meets(code, term, slots):
        return
    hidden, base = definitions.hit_hidden[hit], definitions.base[hit]
    first, last = definitions.hit_parameter[hit, 0], definitions.hit_parameter[hit, 1]
    n = last - first
    total = np.int64(1)  # assignments of the parameters that may be anything
    for at in range(n):
        if definitions.source[first + at] == LOOPED:
            total *= relations.size[hidden, at]
    for assignment in range(total):
        rest = assignment
        number = definitions.first[hidden]
        own = np.int64(0)
        for at in range(n):
            source = definitions.source[first + at]
            if source == LOOPED:
                slots[base + at] = rest % relations.size[hidden, at]
                rest //= relations.size[hidden, at]
            else:
                slots[base + at] = value_of(source, slots)
            own = own * relations.size[hidden, at] + slots[base + at]
        found = count_term(code, term, bits, slots, room.stack)
        if found != 0:
            number += own
            room.tally[number] += change * np.int64(code.term_weight[term]) * found
            if room.queued[number] == 0:
                room.queued[number] = 1
                room.queue[room.length[0]] = number
                room.owner[room.length[0]] = hidden
                room.length[0] += 1


@internal
def _flip_one(code, relations, definitions, targets, predicate, becomes, bits, slots, room, out):
    """Flip one atom; adds the change in every channel to `out`."""
    write_bit(relations, predicate, slots, False, bits)
    room.sums[:] = 0.0
    add_terms(code, targets[predicate, 0], targets[predicate, 1], bits, slots, room.stack, room.sums)
    change = np.int64(1) if becomes else np.int64(-1)
    for channel in range(out.shape[0]):
        out[channel] += change * room.sums[channel]
    for hit in range(definitions.hit_of[predicate], definitions.hit_of[predicate + 1]):
        _add_hit(code, relations, definitions, hit, change, bits, slots, room)
    if becomes:
        write_bit(relations, predicate, slots, True, bits)


@internal
def flip(code, relations, definitions, targets, predicate, becomes, bits, slots, room, out):
    """Flip an atom, whose arguments stand in the first slots, and all hidden atoms that follow; the slots stay as they are.

    out: (n_channels,) gets what changes in each channel. targets: (n_predicates, 2) terms of each predicate.
    """
    arity = relations.arity[predicate]
    for position in range(arity):
        room.args[position] = slots[position]
    _flip_one(code, relations, definitions, targets, predicate, becomes, bits, slots, room, out)
    while room.length[0] > 0:
        room.length[0] -= 1
        number, hidden = room.queue[room.length[0]], room.owner[room.length[0]]
        room.queued[number] = 0
        decode(relations, hidden, number - definitions.first[hidden], slots)
        truth = room.tally[number] != 0
        if is_true(relations, hidden, slots, bits) != truth:
            _flip_one(code, relations, definitions, targets, hidden, truth, bits, slots, room, out)
    for position in range(arity):
        slots[position] = room.args[position]


@called
def flip_once(code, relations, definitions, targets, predicate, becomes, bits, slots, room, out):
    """The same for Python."""
    flip(code, relations, definitions, targets, predicate, becomes, bits, slots, room, out)


@called
def count_hidden(code, relations, definitions, predicate, bits, slots, room):
    """Count a hidden predicate's definition anew for each of its atoms, and set their bits; all bits are zero before."""
    total = np.int64(1)
    for position in range(relations.arity[predicate]):
        total *= relations.size[predicate, position]
    first, last = definitions.whole[predicate, 0], definitions.whole[predicate, 1]
    for number in range(total):
        decode(relations, predicate, number, slots)
        found = np.int64(0)
        for term in range(first, last):
            if meets(code, term, slots):
                found += np.int64(code.term_weight[term]) * count_term(code, term, bits, slots, room.stack)
        room.tally[definitions.first[predicate] + number] = found
        if found != 0:
            write_bit(relations, predicate, slots, True, bits)


@called
def changes_of(code, relations, definitions, targets, places, bits, slots, room, out):
    """What each atom adds to every channel by being true rather than false. places: (n, 2) predicate and code of each."""
    for at in range(places.shape[0]):
        predicate = places[at, 0]
        decode(relations, predicate, places[at, 1], slots)
        before = is_true(relations, predicate, slots, bits)
        flip(code, relations, definitions, targets, predicate, not before, bits, slots, room, out[at])
        if before:
            for channel in range(out.shape[1]):
                out[at, channel] = -out[at, channel]
        room.spare[:] = 0.0
        flip(code, relations, definitions, targets, predicate, before, bits, slots, room, room.spare)
