"""Messages of belief propagation: the closed forms of one factor, in time linear in its length, as log-odds.

A message is the log-odds that a *literal* is true, as the factor (or all other factors of the literal's atom) sees it. ±inf is
certainty, which only hard clauses, exclusive groups, definitions and decided atoms give, never rounding: so certain messages are
sound deductions, and two that contradict each other prove that no world is possible.

With F the probability that all other literals of a clause are false, a clause of weight w says m = -log((1 - F) + F·exp(-w));
a definition h <=> l v l' v … tells its literals the same with w = the log-odds of h, and h itself log(1 - F) - log F with F of
all literals; an exclusive group says m = -log Σ exp(a) over the other members. Products and sums over "all others" are prefixes
and suffixes, so nothing is subtracted and nothing cancels.

In a lifted graph `inner[e]` equal literals of a factor share the edge e.
"""

from typing import NamedTuple

import numpy as np

from markovlogic.kernels.internal import internal

PLAIN = 0.999  # where F times strength is below, 1 minus it keeps twelve digits
LARGEST = 1e6  # log-odds beyond which a finite message is cut: loops of hard clauses may drive messages on and on


class Graph(NamedTuple):
    """Factors in compressed rows: clauses, then exclusive groups, then definitions (whose first literal is the hidden atom).

    Where nothing is lifted `inner`, `outer` and `copies` have one element, 1, and `mask` is 0; else mask is -1, all bits.
    """

    start: np.ndarray  # (n_factors + 1,) int64
    literal: np.ndarray  # (n_edges,) int32, 2·atom + sign
    weight: np.ndarray  # (n_clauses,) float64, inf where hard
    strength: np.ndarray  # (n_clauses,) float64, 1 - exp(-weight)
    first_definition: int  # factors from this number on are definitions; those before, from n_clauses on, are groups
    inner: np.ndarray  # float64, equal literals of the factor that the edge stands for
    outer: np.ndarray  # float64, factors of this kind around each atom of the edge's colour, times `inner`
    copies: np.ndarray  # (n_factors,) float64, ground factors that the factor stands for
    mask: int


class Heard(NamedTuple):
    """What atoms hear, on two sides: of the round before, and of this round while it is made; one cache line holds both."""

    total: np.ndarray  # (n, 2) float64: sums of biases and finite messages
    sure: np.ndarray  # (n, 4) float64: certain messages for false and for true, of either side
    any_sure: np.ndarray  # (2,) bool: whether there are any


class Room(NamedTuple):
    """Scratch of one factor: as long as the longest row."""

    incoming: np.ndarray
    before: np.ndarray
    fresh: np.ndarray


@internal
def softplus(x):
    """The logarithm of 1 + exp(x)."""
    return max(x, 0.0) + np.log1p(np.exp(-abs(x)))


@internal
def add_logs(x, y):
    """The logarithm of exp(x) + exp(y)."""
    high, low = max(x, y), min(x, y)
    if low == -np.inf or high == np.inf:
        return high
    return high + np.log1p(np.exp(low - high))


@internal
def log_some(log_none, largest):
    """log(1 - exp(log_none)), log_none = log of the probability that no literal is true; `largest` of their log-odds.

    Where that probability rounds to 1, one minus it is the sum of exp(log-odds), which the largest tells well enough.
    """
    if log_none > -1e-290:
        return largest
    return np.log(-np.expm1(log_none))


@internal
def disjunction_message(log_none, largest, weight):
    """What a disjunction of this weight tells a literal whose fellows are all false with probability exp(log_none)."""
    if log_none == -np.inf:
        return 0.0
    if weight == np.inf:
        return -log_some(log_none, largest)
    if weight == -np.inf:
        return -np.inf
    if weight > 0.0:
        share = np.exp(log_none - weight) - np.expm1(log_none)
        if share > 1e-290:
            return -np.log(share)
    return -add_logs(log_none - weight, log_some(log_none, largest))


@internal
def cavity(heard, side, literal, own):
    """Log-odds of a literal by all messages to its atom but one, `own`."""
    atom = literal >> 1
    value = heard.total[atom, side]
    for_atom = own if literal & 1 else -own
    if not heard.any_sure[side]:
        value -= for_atom
        return value if literal & 1 else -value
    no, yes = heard.sure[atom, 2 * side], heard.sure[atom, 2 * side + 1]
    if for_atom == np.inf:
        yes -= 1.0
    elif for_atom == -np.inf:
        no -= 1.0
    else:
        value -= for_atom
    if yes > 0.0:
        value = np.inf
    elif no > 0.0:
        value = -np.inf
    return value if literal & 1 else -value


@internal
def hear(heard, side, literal, message, times):
    """Add a message, that many times, to what its atom hears."""
    for_atom = message if literal & 1 else -message
    if abs(for_atom) != np.inf:
        heard.total[literal >> 1, side] += times * for_atom
    else:
        heard.sure[literal >> 1, 2 * side + (for_atom > 0)] += times
        heard.any_sure[side] = True


@internal
def gather(graph, f, heard, side, message, room):
    """Put the log-odds of a factor's literals, without its own messages, into room.incoming; gives how many there are."""
    first = graph.start[f]
    length = graph.start[f + 1] - first
    for j in range(length):
        room.incoming[j] = cavity(heard, side, graph.literal[first + j], message[first + j])
    return length


@internal
def disjunction(graph, first, begin, length, weight, room):
    """Messages to the literals from `begin` on, into room.fresh; gives log P(all false) and the largest log-odds."""
    incoming, before, fresh = room
    log_none, largest, second = 0.0, -np.inf, -np.inf
    for j in range(begin, length):
        value, inner = incoming[j], graph.inner[(first + j) & graph.mask]
        before[j] = log_none
        fresh[j] = -softplus(value)
        log_none += inner * fresh[j]
        if value > largest:
            second = value if inner > 1.0 else largest
            largest = value
        elif value > second:
            second = value
    after = 0.0
    for j in range(length - 1, begin - 1, -1):
        own, inner = fresh[j], graph.inner[(first + j) & graph.mask]
        others = before[j] + after
        if inner > 1.0:
            others += (inner - 1.0) * own
        fellow = second if incoming[j] == largest else largest
        fresh[j] = disjunction_message(others, fellow, weight)
        after += inner * own
    return log_none, largest


@internal
def plain_disjunction(length, strength, room):
    """The same in probabilities, with two transcendental functions a literal; False where that would lose digits."""
    incoming, before, fresh = room
    product = 1.0
    for j in range(length):
        before[j] = product
        fresh[j] = 1.0 / (1.0 + np.exp(incoming[j]))
        product *= fresh[j]
    after = strength
    for j in range(length - 1, -1, -1):
        share = before[j] * after
        if share > PLAIN:
            return False
        after *= fresh[j]
        fresh[j] = -np.log1p(-share)
    return True


@internal
def exclusive(graph, first, length, room):
    """Messages of an exclusive group, into room.fresh."""
    incoming, before, fresh = room
    running = -np.inf
    for j in range(length):
        before[j] = running
        running = add_logs(running, incoming[j] + np.log(graph.inner[(first + j) & graph.mask]))
    after = -np.inf
    for j in range(length - 1, -1, -1):
        inner = graph.inner[(first + j) & graph.mask]
        others = add_logs(before[j], after)
        if inner > 1.0:
            others = add_logs(others, incoming[j] + np.log(inner - 1.0))
        fresh[j] = -others
        after = add_logs(after, incoming[j] + np.log(inner))


@internal
def refresh(graph, f, heard, side, message, room):
    """All messages of one factor from what it hears now, into room.fresh; gives its length."""
    length = gather(graph, f, heard, side, message, room)
    first = graph.start[f]
    if f < graph.weight.shape[0] and graph.mask == 0 and plain_disjunction(length, graph.strength[f], room):
        return length
    if f < graph.weight.shape[0]:
        disjunction(graph, first, 0, length, graph.weight[f], room)
    elif f < graph.first_definition:
        exclusive(graph, first, length, room)
    else:
        log_none, largest = disjunction(graph, first, 1, length, room.incoming[0], room)
        room.fresh[0] = np.inf if log_none == -np.inf else log_some(log_none, largest) - log_none
    for j in range(length):
        value = room.fresh[j]
        if abs(value) > LARGEST and abs(value) != np.inf:
            room.fresh[j] = LARGEST if value > 0 else -LARGEST
    return length


@internal
def distance(new, old):
    """How much a message changed, relative to it where it is large; inf where it became certain."""
    if new == old:
        return 0.0
    return abs(new - old) / max(1.0, abs(new)) if abs(new) != np.inf and abs(old) != np.inf else np.inf


@internal
def damped(new, old, damping):
    """A step from the old message towards the new one; certainty is taken at once."""
    if abs(new) == np.inf or abs(old) == np.inf:
        return new
    return new + damping * (old - new)
