"""Belief propagation in rounds: all factors send messages at once, from those of the round before. And the Bethe sum."""

import numpy as np

from markovlogic.kernels.internal import called, internal
from markovlogic.kernels.messages import (
    add_logs,
    cavity,
    damped,
    disjunction,
    disjunction_message,
    distance,
    gather,
    hear,
    log_some,
    refresh,
    softplus,
)


@called
def listen(graph, message, heard, side):
    """Add all messages to what atoms hear, which are the biases before."""
    for e in range(graph.literal.shape[0]):
        hear(heard, side, graph.literal[e], message[e], graph.outer[e & graph.mask])


@called
def flood(graph, damping, message, heard, side, room):
    """One round: new messages in place, from what was heard on one side; the other side holds biases, and hears them.

    Gives the largest change that an undamped round would make.
    """
    worst = 0.0
    for f in range(graph.start.shape[0] - 1):
        length = refresh(graph, f, heard, side, message, room)
        first = graph.start[f]
        for j in range(length):
            e = first + j
            worst = max(worst, distance(room.fresh[j], message[e]))
            message[e] = damped(room.fresh[j], message[e], damping)
            hear(heard, 1 - side, graph.literal[e], message[e], graph.outer[e & graph.mask])
    return worst


@internal
def log_group(graph, first, length, incoming):
    """Log of the probability that exactly one member is true, members independent with these log-odds."""
    certain, odds, none = 0.0, -np.inf, 0.0
    for j in range(length):
        inner = graph.inner[(first + j) & graph.mask]
        if incoming[j] == np.inf:
            certain += inner
        else:
            odds = add_logs(odds, incoming[j] + np.log(inner))
            none -= inner * softplus(incoming[j])
    if certain > 1.0:
        return -np.inf
    return none if certain == 1.0 else none + odds


@called
def bethe(graph, heard, side, message, sides, room):
    """Σ log Z of factors minus that of edges; and `sides` (n, 2), what the atoms' normalised messages say of false and true.

    log Z = Σ factors + Σ atoms - Σ edges (Yedidia, Freeman and Weiss 2005), at a fixed point of the messages.
    """
    found = 0.0
    n_clauses = graph.weight.shape[0]
    for f in range(graph.start.shape[0] - 1):
        length = gather(graph, f, heard, side, message, room)
        first = graph.start[f]
        if f >= n_clauses and f < graph.first_definition:
            own = log_group(graph, first, length, room.incoming)
        else:
            begin = 0 if f < n_clauses else 1
            log_none, largest = disjunction(graph, first, begin, length, np.inf, room)
            if f >= n_clauses:
                hidden = room.incoming[0]
                own = add_logs(-softplus(-hidden) + log_some(log_none, largest), -softplus(hidden) + log_none)
            elif graph.weight[f] == np.inf:
                own = log_some(log_none, largest)
            else:
                own = graph.weight[f] - disjunction_message(log_none, largest, graph.weight[f])
        edges = 0.0
        for j in range(length):
            e = first + j
            literal, value = graph.literal[e], message[e]
            other = cavity(heard, side, literal, value)
            yes, no = -softplus(-value), -softplus(value)
            edges += graph.inner[e & graph.mask] * add_logs(yes - softplus(-other), no - softplus(other))
            for_true, for_false = (yes, no) if literal & 1 else (no, yes)
            sides[literal >> 1, 0] += graph.outer[e & graph.mask] * for_false
            sides[literal >> 1, 1] += graph.outer[e & graph.mask] * for_true
        found += graph.copies[f & graph.mask] * (own - edges)
    return found
