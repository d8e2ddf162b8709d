"""Maximum flow (Dinic 1970) on integer capacities, what is reachable afterwards, and strong components of what is left.

Arcs out of a vertex stand side by side; `back[arc]` is the arc of the opposite direction.
"""

import numpy as np

from markovlogic.kernels.internal import allocating, called, internal


@internal
def _levels(start, head, room, source, sink, level, queue):
    """Distances from the source along arcs with room; whether the sink is reached."""
    for vertex in range(level.shape[0]):
        level[vertex] = -1
    level[source] = 0
    queue[0] = source
    first, last = 0, 1
    while first < last:
        vertex = queue[first]
        first += 1
        for arc in range(start[vertex], start[vertex + 1]):
            if room[arc] > 0 and level[head[arc]] < 0:
                level[head[arc]] = level[vertex] + 1
                queue[last] = head[arc]
                last += 1
        if level[sink] >= 0:
            break
    return level[sink] >= 0


@called
def augment(start, head, back, room, ends, level, queue, current, path, most_steps):
    """Send more flow along shortest paths, changing `room`, for about so many steps; gives what was sent, and whether it is all.

    ends: source and sink. level, queue, current: one entry a vertex; path: one for each, of arcs.
    """
    source, sink = ends
    sent, steps = np.int64(0), np.int64(0)
    while steps < most_steps:
        if not _levels(start, head, room, source, sink, level, queue):
            return sent, True
        for vertex in range(current.shape[0]):
            current[vertex] = start[vertex]
        depth, vertex = 0, source
        while True:
            steps += 1
            if vertex == sink:
                least = room[path[0]]
                for at in range(1, depth):
                    least = min(least, room[path[at]])
                cut = depth
                for at in range(depth - 1, -1, -1):
                    arc = path[at]
                    room[arc] -= least
                    room[back[arc]] += least
                    if room[arc] == 0:
                        cut = at
                sent += least
                depth = cut
                vertex = head[back[path[cut]]]
                continue
            arc = current[vertex]
            if arc == start[vertex + 1]:
                if vertex == source:
                    break
                level[vertex] = -2  # nothing more goes through it
                depth -= 1
                vertex = head[back[path[depth]]]
                current[vertex] += 1
            elif room[arc] > 0 and level[head[arc]] == level[vertex] + 1:
                path[depth] = arc
                depth += 1
                vertex = head[arc]
            else:
                current[vertex] += 1
    return sent, False


@called
def reached(start, head, room, source, seen, queue):
    """Mark in `seen` (zeros) what the source reaches along arcs with room."""
    seen[source] = 1
    queue[0] = source
    first, last = 0, 1
    while first < last:
        vertex = queue[first]
        first += 1
        for arc in range(start[vertex], start[vertex + 1]):
            if room[arc] > 0 and seen[head[arc]] == 0:
                seen[head[arc]] = 1
                queue[last] = head[arc]
                last += 1


@allocating
def strong_components(start, head, room, left_out, component):
    """Number the strong components (Tarjan 1972) of the vertices that are not left out, successors before predecessors."""
    n = component.shape[0]
    index = np.full(n, -1, np.int64)
    low = np.zeros(n, np.int64)
    at_arc = np.zeros(n, np.int64)
    stack, call = np.zeros(n, np.int64), np.zeros(n, np.int64)
    on_stack = np.zeros(n, np.uint8)
    n_seen, depth, n_found = 0, 0, 0
    for root in range(n):
        if left_out[root] or index[root] >= 0:
            continue
        calls = 0
        call[0] = root
        calls = 1
        index[root], low[root], at_arc[root] = n_seen, n_seen, start[root]
        n_seen += 1
        stack[depth] = root
        on_stack[root] = 1
        depth += 1
        while calls > 0:
            vertex = call[calls - 1]
            if at_arc[vertex] < start[vertex + 1]:
                arc = at_arc[vertex]
                at_arc[vertex] += 1
                other = head[arc]
                if room[arc] <= 0 or left_out[other]:
                    continue
                if index[other] < 0:
                    index[other], low[other], at_arc[other] = n_seen, n_seen, start[other]
                    n_seen += 1
                    stack[depth] = other
                    on_stack[other] = 1
                    depth += 1
                    call[calls] = other
                    calls += 1
                elif on_stack[other]:
                    low[vertex] = min(low[vertex], index[other])
            else:
                calls -= 1
                if calls > 0:
                    low[call[calls - 1]] = min(low[call[calls - 1]], low[vertex])
                if low[vertex] == index[vertex]:
                    while True:
                        depth -= 1
                        other = stack[depth]
                        on_stack[other] = 0
                        component[other] = n_found
                        if other == vertex:
                            break
                    n_found += 1
    return n_found
