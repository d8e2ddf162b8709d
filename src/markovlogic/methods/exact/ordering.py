"""Elimination orders: min-fill, kept up to date edge by edge, within a bound on the size of any table.

The next variable is the one whose elimination adds fewest edges (ties: the smallest table, then the lowest number), among those
whose table is within the bound; when none is, the graph is given up at once instead of being filled further.
Where that order is wide, a sweep along the graph (reverse Cuthill-McKee) is tried beside it: on long grids it is narrower.
Source: fill-in counts as in Koller & Friedman, Probabilistic Graphical Models (2009).
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from markovlogic.methods.exact.effort import Effort

# Steps of effort, measured: a variable, each of its neighbours, an edge that is filled in and what is looked at for it, a copy.
_STEP, _LINE, _EDGE, _LOOK, _COPY = 4.0, 1.0, 1.5, 0.05, 1.0
LEAST = 2 * _STEP  # steps of effort that min-fill takes for a variable at least
_UNIT = 1 << 20  # table sizes are compared as integers: log2(entries) in units of 2^-20 bits, so that ties are exact


@dataclass(frozen=True, eq=False)
class Order:
    """Variables in the order of their elimination, each with those that are left and joined with it then."""

    variable: list[int]
    neighbours: list[list[int]]  # by position in `variable`

    @property
    def width(self) -> int:
        """Largest number of neighbours: a bound on the treewidth."""
        return max((len(n) for n in self.neighbours), default=0)

    def entries(self, n_states: Sequence[int]) -> tuple[float, float]:
        """Entries of all tables together and of the largest one."""
        sizes = [
            n_states[v] * math.prod(n_states[u] for u in around) for v, around in zip(self.variable, self.neighbours, strict=True)
        ]
        return float(sum(sizes)), float(max(sizes, default=0))


@dataclass(frozen=True)
class TooWide:
    """No order was found within the bound: every next variable had at least `width` neighbours, and 2^bits table entries."""

    width: int
    bits: float


_WIDE = 10  # from here on a second order is tried


def good_order(
    neighbours: list[set[int]], n_states: Sequence[int], most_bits: float, effort: Effort | None = None
) -> Order | TooWide:
    """The better one of min-fill and a sweep; the sweep is tried only where min-fill is wide. `neighbours` stays as it is."""
    effort = effort or Effort()
    effort.spend(_COPY * len(neighbours))
    first = min_fill([set(near) for near in neighbours], n_states, most_bits, effort)
    if isinstance(first, Order) and first.width <= _WIDE:
        return first
    effort.spend(_COPY * len(neighbours))
    second = follow([set(near) for near in neighbours], n_states, most_bits, sweep(neighbours), effort)
    if isinstance(first, TooWide) or isinstance(second, TooWide):
        found = [order for order in (first, second) if isinstance(order, Order)]
        return found[0] if found else first
    return min(first, second, key=lambda order: order.entries(n_states))


def sweep(neighbours: list[set[int]]) -> list[int]:
    """Variables in reverse Cuthill-McKee order."""
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import reverse_cuthill_mckee

    n = len(neighbours)
    start = np.zeros(n + 1, np.int32)
    np.cumsum([len(near) for near in neighbours], out=start[1:])
    target = np.fromiter((u for near in neighbours for u in sorted(near)), np.int32, int(start[-1]))
    graph = csr_array((np.ones(len(target)), target, start), shape=(n, n))
    order: list[int] = reverse_cuthill_mckee(graph, symmetric_mode=True).tolist()
    return order


def follow(
    neighbours: list[set[int]], n_states: Sequence[int], most_bits: float, order: list[int], effort: Effort | None = None
) -> Order | TooWide:
    """The tables of a given order; uses up `neighbours`. Stops at the first table that is too large."""
    effort = effort or Effort()
    bits = [math.log2(s) for s in n_states]
    cliques: list[list[int]] = []
    for v in order:
        around = neighbours[v]
        effort.spend(_STEP + _LINE * len(around))
        if bits[v] + sum(bits[u] for u in around) > most_bits + 1e-6:
            return TooWide(len(around), bits[v] + sum(bits[u] for u in around))
        cliques.append(sorted(around))
        for u in around:
            near = neighbours[u]
            near |= around
            near -= {u, v}
        neighbours[v] = set()
    return Order(order, cliques)


def min_fill(
    neighbours: list[set[int]], n_states: Sequence[int], most_bits: float, effort: Effort | None = None
) -> Order | TooWide:
    """Order all variables of a graph; uses up `neighbours`. A table may have 2^most_bits entries.

    What a variable would fill in is counted once its table is within the bound: dense parts of a graph are never looked at.
    """
    effort = effort or Effort()
    n = len(neighbours)
    bits = [round(math.log2(s) * _UNIT) for s in n_states]
    bound = round(most_bits * _UNIT) + 64  # rounding adds at most half a unit for each variable of a table
    size = [bits[v] + sum(bits[u] for u in neighbours[v]) for v in range(n)]
    fill = [0] * n
    counted = [False] * n
    heap: list[tuple[int, int, int]] = []

    def push(v: int) -> None:
        if not counted[v]:
            effort.spend(_STEP + _LINE * len(neighbours[v]))
            fill[v] = _missing(neighbours, v)
            counted[v] = True
        heapq.heappush(heap, (fill[v], size[v], v))

    for v in range(n):
        if size[v] <= bound:
            push(v)
    gone = [False] * n
    order: list[int] = []
    cliques: list[list[int]] = []
    while len(order) < n:
        while heap:
            f, s, v = heapq.heappop(heap)
            if not gone[v] and f == fill[v] and s == size[v]:
                break
        else:
            left = [v for v in range(n) if not gone[v]]
            return TooWide(min(len(neighbours[v]) for v in left), min(size[v] for v in left) / _UNIT)
        gone[v] = True
        around = sorted(neighbours[v])
        effort.spend(_STEP + _LINE * len(around))
        order.append(v)
        cliques.append(around)
        changed = _join(neighbours, fill, size, bits, around, effort) if f else set()
        for u in around:
            fill[u] -= len(neighbours[u]) - len(around)
            size[u] -= bits[v]
            neighbours[u].discard(v)
        neighbours[v] = set()
        changed.update(around)
        changed.discard(v)
        for u in changed:
            if size[u] <= bound:
                push(u)
    return Order(order, cliques)


def _missing(neighbours: list[set[int]], v: int) -> int:
    """How many pairs of neighbours of v are not joined."""
    around = neighbours[v]
    present = sum(len(neighbours[u] & around) for u in around)
    return (len(around) * (len(around) - 1) - present) // 2


def _join(
    neighbours: list[set[int]], fill: list[int], size: list[int], bits: list[int], around: list[int], effort: Effort
) -> set[int]:
    """Join all pairs of `around`; fill counts and sizes follow. Returns whose counts changed."""
    changed: set[int] = set()
    for i, a in enumerate(around):
        near_a = neighbours[a]
        for b in around[i + 1 :]:
            if b in near_a:
                continue
            near_b = neighbours[b]
            common = near_a & near_b
            effort.spend(_EDGE + _LOOK * min(len(near_a), len(near_b)))
            for c in common:
                fill[c] -= 1
            changed |= common
            fill[a] += len(near_a) - len(common)
            fill[b] += len(near_b) - len(common)
            near_a.add(b)
            near_b.add(a)
            size[a] += bits[b]
            size[b] += bits[a]
    return changed
