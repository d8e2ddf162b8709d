"""What the values of exclusive groups add to counts, each compared with no value at all."""

from markovlogic.kernels.counting.evaluate import decode
from markovlogic.kernels.counting.flips import flip, is_true
from markovlogic.kernels.internal import called


@called
def changes_of_groups(code, relations, definitions, start, places, bits, slots, room, out):
    """For each value of each group, what it adds to every channel where no other value of its group is true.

    start: (n_groups + 1,) offsets of values; places: (n, 2) predicate and code of each; the bits are in the end as they were.
    """
    for group in range(start.shape[0] - 1):
        true = start[group + 1]
        for at in range(start[group], start[group + 1]):
            decode(relations, places[at, 0], places[at, 1], slots)
            if is_true(relations, places[at, 0], slots, bits):
                flip(code, relations, definitions, places[at, 0], False, bits, slots, room, room.sums[1])
                true = at
        for at in range(start[group], start[group + 1]):
            decode(relations, places[at, 0], places[at, 1], slots)
            flip(code, relations, definitions, places[at, 0], True, bits, slots, room, out[at])
            flip(code, relations, definitions, places[at, 0], False, bits, slots, room, room.sums[1])
        if true < start[group + 1]:
            decode(relations, places[true, 0], places[true, 1], slots)
            flip(code, relations, definitions, places[true, 0], True, bits, slots, room, room.sums[1])
