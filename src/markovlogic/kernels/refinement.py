"""Colour refinement: the coarsest equitable partition of a coloured graph, by partition refinement in O(edges · log vertices)."""

import numpy as np

from markovlogic.kernels.internal import allocating, called

FREE, TOUCHED, ALONE = 0, 1, 2  # states of a vertex while one class splits the others
FEW = 24  # vertices that are sorted by insertion


@allocating
def refine(start, neighbour, mark, order, class_of):
    """Split classes until every two vertices of a class see the same marks in every class; gives the number of classes.

    start, neighbour, mark: (n + 1,) int64, (m,) int32, (m,) uint64; row s lists the vertices that see s, each with the mark of
    that edge. What a vertex sees in a class is the sum of its marks, so marks must be such that equal sums mean equal counts
    (random 64-bit numbers, one for each kind of edge).
    order, class_of: (n,) int32, the partition, changed in place: vertices class by class, and the class of each vertex.

    A class that splits leaves its largest part out of the queue (Hopcroft 1971; Paige and Tarjan 1987; for counts Cardon and
    Crochemore 1982): what is seen in the largest part follows from what is seen in the others and in the whole. Everything is
    done in an order that only the structure decides, never the names of vertices, so that two isomorphic structures get the same
    numbers for corresponding classes.
    """
    n = order.shape[0]
    position = np.empty(n, np.int32)
    state = np.zeros(n, np.uint8)
    class_start = np.zeros(n, np.int32)
    class_end = np.zeros(n, np.int32)
    queue = np.empty(n, np.int32)  # a ring of classes to split by
    queue_length = n_classes = 0
    for at in range(n):
        position[order[at]] = at
        c = class_of[order[at]]
        if at == 0 or c != class_of[order[at - 1]]:
            class_start[c] = at
            queue[queue_length] = c
            queue_length += 1
            n_classes += 1
        class_end[c] = at + 1
    for c in range(n_classes):
        if class_end[c] - class_start[c] == 1:
            state[order[class_start[c]]] = ALONE
    seen = np.zeros(n, np.uint64)
    touched = np.empty(n, np.int32)
    n_touched_of = np.zeros(n, np.int32)
    touched_class = np.empty(n, np.int32)
    head = 0
    while queue_length > 0 and n_classes < n:
        splitter = queue[head]
        head += 1
        if head == n:
            head = 0
        queue_length -= 1
        n_touched = 0
        for at in range(class_start[splitter], class_end[splitter]):
            s = order[at]
            for e in range(start[s], start[s + 1]):
                v = neighbour[e]
                if state[v] == FREE:
                    state[v] = TOUCHED
                    touched[n_touched] = v
                    n_touched += 1
                    seen[v] = mark[e]
                elif state[v] == TOUCHED:
                    seen[v] += mark[e]
        n_touched_classes = 0
        for i in range(n_touched):
            v = touched[i]
            state[v] = FREE
            c = class_of[v]
            if n_touched_of[c] == 0:
                touched_class[n_touched_classes] = c
                n_touched_classes += 1
            # the touched ones of a class are gathered at its beginning
            to = class_start[c] + n_touched_of[c]
            other = order[to]
            at = position[v]
            order[to], order[at] = v, other
            position[v], position[other] = to, at
            n_touched_of[c] += 1
        if n_touched_classes > 1:
            touched_class[:n_touched_classes].sort()
        for i in range(n_touched_classes):
            c = touched_class[i]
            begin, end, middle = class_start[c], class_end[c], class_start[c] + n_touched_of[c]
            n_touched_of[c] = 0
            same = True
            for at in range(begin + 1, middle):
                if seen[order[at]] != seen[order[begin]]:
                    same = False
                    break
            if same and middle == end:
                continue
            if not same:
                _sort_by(seen, order, position, begin, middle)
            # the parts are runs of equal values, and those that were not touched
            largest, largest_begin = 0, begin
            at = begin
            while at < end:
                stop = _run_end(order, seen, at, middle, end)
                if stop - at > largest:
                    largest, largest_begin = stop - at, at
                at = stop
            at = begin
            while at < end:
                stop = _run_end(order, seen, at, middle, end)
                if stop - at == 1:
                    state[order[at]] = ALONE
                if at != largest_begin:
                    class_start[n_classes], class_end[n_classes] = at, stop
                    for k in range(at, stop):
                        class_of[order[k]] = n_classes
                    tail = head + queue_length
                    queue[tail - n if tail >= n else tail] = n_classes
                    queue_length += 1
                    n_classes += 1
                at = stop
            class_start[c], class_end[c] = largest_begin, largest_begin + largest
    return n_classes


@allocating
def _sort_by(value, order, position, begin, end):
    """Sort order[begin:end] by the values of its members."""
    if end - begin <= FEW:
        for i in range(begin + 1, end):
            v = order[i]
            j = i
            while j > begin and value[order[j - 1]] > value[v]:
                order[j] = order[j - 1]
                j -= 1
            order[j] = v
    else:
        members = order[begin:end].copy()
        keys = np.empty(end - begin, np.uint64)
        for k in range(end - begin):
            keys[k] = value[members[k]]
        by_key = np.argsort(keys)
        for k in range(end - begin):
            order[begin + k] = members[by_key[k]]
    for k in range(begin, end):
        position[order[k]] = k


@called
def _run_end(order, seen, at, middle, end):
    """Where the run of equal values that begins at `at` ends; the untouched ones are one run."""
    if at >= middle:
        return end
    stop = at + 1
    while stop < middle and seen[order[stop]] == seen[order[at]]:
        stop += 1
    return stop


@allocating
def incoming(source, target, kind, marks, n):
    """Edges gathered by source, in linear time: offsets, targets and marks, as `refine` takes them."""
    start = np.zeros(n + 1, np.int64)
    for e in range(source.shape[0]):
        start[source[e] + 1] += 1
    for v in range(n):
        start[v + 1] += start[v]
    free = start[:n].copy()
    neighbour = np.empty(source.shape[0], np.int32)
    mark = np.empty(source.shape[0], np.uint64)
    for e in range(source.shape[0]):
        at = free[source[e]]
        free[source[e]] += 1
        neighbour[at] = target[e]
        mark[at] = marks[kind[e]]
    return start, neighbour, mark
