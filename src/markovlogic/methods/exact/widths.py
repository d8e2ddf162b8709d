"""Orders of elimination within bounds, and sure signs that there is none.

A graph whose k-core is not empty has no order of width below k, and no graph has that it can be contracted to. So dense
components are refused by looking at arrays, before any graph is built of Python objects; the rest is ordered within an effort.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from markovlogic.errors import ResourceError
from markovlogic.methods.exact.interaction import Effort, contracted_pairs, core, minor_of_rows, rows_of, split_graph
from markovlogic.methods.exact.shapes import Shape
from markovlogic.networks.components import Components
from markovlogic.networks.ground import GroundNetwork
from markovlogic.system.arrays import Int64

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


MOST_WIDTH = 20
CHUNK = 2**22  # table entries over all components that are solved together
MOST_VARIABLES = 500_000
DEFAULT_MEMORY = 2 * 2**30
_ROW_LENGTHS = (5, 3)  # longer rows are split: tried one after the other
_CENTRES = (0, 2)  # variables of a row that take in its links, tried one after the other
_FIRST_LOOKS = (2**13, 2**16, 2**18, 2**20)  # clauses of a network that are looked at before it is sorted into components
_MADE = 0.3  # steps of effort for a variable or an edge that becomes Python objects


@dataclass(frozen=True, eq=False)
class EliminationPlan:
    """How a shape is eliminated, and what that takes for one component."""

    longest: int  # rows of more tests are split
    order: Order
    width: int
    entries: float  # of all tables
    largest: float  # of the largest table
    factor_entries: float  # of all factors that are not split: large where groups of many values meet


def plan_elimination(shape: Shape, *, max_width: int, memory_limit: float | None, effort: Effort) -> EliminationPlan:
    """Find an order within the bounds, or refuse with the width found and the bound."""
    _refuse_very_large(shape.n_all)
    rows = rows_of(shape)
    n_variables = rows.n_choices + rows.n_hidden
    longest_row = max(np.diff(shape.clause_start).max(initial=0), np.diff(shape.definition_start).max(initial=-1) + 1)
    for centre in _CENTRES if longest_row > 3 else _CENTRES[:1]:
        if n_variables > max_width + 1 and len(core(n_variables, *contracted_pairs(rows, centre), max_width + 1, effort)):
            raise _surely_wide(shape.n_open, max_width)
    narrowest: TooWide | None = None
    for attempt, longest in enumerate(_ROW_LENGTHS):
        if attempt and longest_row <= longest:
            break
        graph = split_graph(rows, longest)
        effort.spend(_MADE * (len(graph.n_states) + len(graph.source)))
        n_states = graph.n_states.tolist()
        order = good_order(graph.neighbours(), n_states, max_width + 1, effort)
        if isinstance(order, Order):
            sizes = (*order.entries(n_states), rows.entries(longest))
            return _within_memory(shape, EliminationPlan(longest, order, order.width, *sizes), memory_limit)
        narrowest = min(narrowest or order, order, key=lambda found: found.bits)
    assert narrowest is not None
    raise _too_wide(shape.n_open, narrowest.width, narrowest.bits, max_width, "the best order found")


def _within_memory(shape: Shape, plan: EliminationPlan, memory_limit: float | None) -> EliminationPlan:
    limit = DEFAULT_MEMORY if memory_limit is None else memory_limit
    needed = 8.0 * (plan.entries + 4 * plan.largest) + plan.factor_entries
    if needed > limit:
        raise ResourceError(
            f"elimination of a component of {shape.n_open} atoms has width {plan.width}, but its tables and factors would take "
            f"{needed / 2**20:,.0f} MiB of memory, and {limit / 2**20:,.0f} MiB are allowed",
            needed=needed,
            limit=limit,
        )
    return plan


def refuse_dense(network: GroundNetwork, parts: Components, *, max_width: int, max_worlds: int, effort: Effort) -> None:
    """Refuse where clauses over open atoms alone show that a component is too wide, and it has too many worlds to list.

    Looks at some of the clauses first, then at more of them: what is dense is mostly dense everywhere.
    """
    free = np.isfinite(network.atom_bias)
    free[network.n_atoms :] = False
    variable = np.arange(network.n_all)
    without_world = np.zeros(0, np.int64)
    if network.n_groups:
        size, member = np.diff(network.group_start), network.group_atom
        first = member[network.group_start[:-1]]
        group = np.repeat(np.arange(network.n_groups), size)
        sure, never = (np.bincount(group[network.atom_bias[member] == bias], minlength=len(size)) for bias in (np.inf, -np.inf))
        free[member] = ((sure + never == 0) & (size > 1))[group]
        variable[member] = first[group]
        without_world = parts.component_of[first[(sure > 1) | (never == size)]]
    choice = np.zeros(network.n_all, bool)
    choice[variable[free]] = True  # two worlds or more for each
    n_choices = np.bincount(parts.component_of[choice], minlength=parts.n_components)
    many = n_choices > max(max_width, math.log2(max_worlds))
    many[without_world] = False  # a better answer than a refusal
    free &= many[parts.component_of]
    if not free.any():
        return
    _refuse_very_large(np.diff(parts.start)[many].max())
    for looks in _FIRST_LOOKS:
        size, row_variable = _free_rows(network, variable, free, looks)
        for centre in _CENTRES if size.max(initial=0) > 3 else _CENTRES[:1]:
            found = core(network.n_all, *minor_of_rows(size, row_variable, centre), max_width + 1, effort)
            if len(found):
                number = parts.component_of[found[0]]
                atoms = parts.atom[parts.start[number] : parts.start[number + 1]]
                raise _surely_wide(int(np.count_nonzero(atoms < network.n_atoms)), max_width)
        if looks >= network.n_clauses:
            break
    effort.foresee(LEAST * int(n_choices[many].max()))


def _free_rows(network: GroundNetwork, variable: Int64, free: np.ndarray, looks: int) -> tuple[Int64, Int64]:
    """Sizes and variables of some clauses none of whose literals is decided, and that hold no two atoms of a group."""
    begin = max(0, (network.n_clauses - looks) // 2)
    start = network.clause_start[begin : begin + looks + 1]
    atom = network.clause_literal[start[0] : start[-1]] >> 1
    row = np.repeat(np.arange(len(start) - 1), np.diff(start))
    bad = np.zeros(len(start) - 1, bool)
    bad[row[~free[atom]]] = True
    if network.n_groups:
        key = np.sort(row * network.n_all + variable[atom])
        bad[key[1:][key[1:] == key[:-1]] // network.n_all] = True
    return np.diff(start)[~bad], variable[atom[~bad[row]]]


def _refuse_very_large(n_all: int) -> None:
    if n_all > MOST_VARIABLES:
        raise ResourceError(
            f"elimination is not tried on a component of {n_all:,} atoms (bound {MOST_VARIABLES:,})",
            needed=n_all,
            limit=MOST_VARIABLES,
        )


def _surely_wide(n_open: int, max_width: int) -> ResourceError:
    return _too_wide(n_open, max_width + 1, max_width + 2, max_width, "every order")


def _too_wide(n_open: int, width: int, bits: float, max_width: int, where: str) -> ResourceError:
    return ResourceError(
        f"elimination of a component of {n_open} atoms has width {width} or more (tables of 2^{bits:.0f} entries) in {where}, "
        f"and the bound is {max_width} (tables of 2^{max_width + 1} entries)",
        needed=width,
        limit=max_width,
    )
