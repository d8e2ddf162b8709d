"""Belief propagation by residuals: the factor whose inputs have changed most is updated next.

What a factor's messages may change by is bounded by what its inputs changed by since it last spoke (Sutton and McCallum 2007,
section 3.1; Elidan, McGraw and Koller 2006 look ahead instead, which costs a factor's whole neighbourhood each time). The bounds
stand in a binary heap, largest first; `place[f]` is where factor f stands.
"""

import numpy as np

from markovlogic.kernels.internal import called, internal
from markovlogic.kernels.messages import damped, distance, hear, refresh


@internal
def rise(heap, place, bound, at):
    """Move the factor at a place up until its parent is no smaller."""
    f = heap[at]
    while at > 0:
        parent = (at - 1) >> 1
        if bound[heap[parent]] >= bound[f]:
            break
        heap[at] = heap[parent]
        place[heap[at]] = at
        at = parent
    heap[at] = f
    place[f] = at


@internal
def sink(heap, place, bound, at):
    """Move the factor at a place down until no child is larger."""
    n, f = heap.shape[0], heap[at]
    while True:
        child = 2 * at + 1
        if child >= n:
            break
        if child + 1 < n and bound[heap[child + 1]] > bound[heap[child]]:
            child += 1
        if bound[heap[child]] <= bound[f]:
            break
        heap[at] = heap[child]
        place[heap[at]] = at
        at = child
    heap[at] = f
    place[f] = at


@called
def true_bounds(graph, heard, message, bound, room):
    """What every factor's messages would change by, now; the largest of it is given back."""
    worst = 0.0
    for f in range(bound.shape[0]):
        length = refresh(graph, f, heard, 0, message, room)
        first, own = graph.start[f], 0.0
        for j in range(length):
            own = max(own, distance(room.fresh[j], message[first + j]))
        bound[f] = own
        worst = max(worst, own)
    return worst


@called
def order(heap, place, bound):
    """Make a heap of all factors."""
    for f in range(heap.shape[0]):
        heap[f] = place[f] = f
    for at in range((heap.shape[0] >> 1) - 1, -1, -1):
        sink(heap, place, bound, at)


@called
def speak(graph, around, queue, settings, heard, message, room):
    """Let factors speak, the most changed first, until no bound is above the tolerance or the steps are over; gives steps made.

    around: rows of each atom's factors (start, factor). queue: (heap, place, bound). settings: (damping, tolerance, steps).
    """
    heap, place, bound = queue
    damping, tolerance, steps = settings
    for step in range(int(steps)):
        f = heap[0]
        if bound[f] <= tolerance:
            return step
        length = refresh(graph, f, heard, 0, message, room)
        first, left = graph.start[f], 0.0
        for j in range(length):
            e = first + j
            old, new = message[e], damped(room.fresh[j], message[e], damping)
            left = max(left, distance(room.fresh[j], new))
            change = distance(new, old)
            if change == 0.0:
                continue
            literal = graph.literal[e]
            message[e] = new
            if abs(old) != np.inf:  # certainty is never taken back
                hear(heard, 0, literal, -old, 1.0)
                hear(heard, 0, literal, new, 1.0)
            for at in range(around[0][literal >> 1], around[0][(literal >> 1) + 1]):
                g = around[1][at]
                if g != f:
                    bound[g] += change
                    rise(heap, place, bound, place[g])
        bound[f] = left
        sink(heap, place, bound, place[f])
    return int(steps)
