"""Which variables of a component share a factor: the graph that elimination works on, made with arrays.

A row (clause or definition) is seen as the variables that it ties once decided literals are dropped. It is the same translation
as in `factors`, variable for variable, without the tables: a test holds the two against each other.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from markovlogic.errors import ResourceError
from markovlogic.methods.exact.shapes import NEVER, UNDECIDED, Shape
from markovlogic.system.arrays import Int8, Int64, each_once

ONE_SECOND = 800_000  # steps: one is a microsecond or a little more of Python on one core of a small machine


class EffortSpentError(ResourceError):
    """Planning would go on for longer than it may."""


class Effort:
    """How much work planning may do, and how much it did. Work in arrays that is linear in the network is not counted."""

    def __init__(self, steps: float | None = None) -> None:
        self.allowed = math.inf if steps is None else steps
        self.spent = 0.0

    def spend(self, steps: float) -> None:
        """Count steps; raises once they are more than allowed."""
        self.spent += steps
        self.foresee(0.0)

    def foresee(self, steps: float) -> None:
        """Raise where more steps are sure to be needed than are left."""
        if self.spent + steps > self.allowed:
            raise EffortSpentError(
                "components too large to be ordered within the effort that planning may take",
                needed=self.spent + steps,
                limit=self.allowed,
            )


_SLOW = 0.9  # share of the edges that is left by a round from which on only what changes is looked at
_ROUND = 30.0  # steps of effort of such a round


def core(n: int, source: Int64, target: Int64, k: int, effort: Effort | None = None) -> Int64:
    """The vertices of the k-core. Edges may be repeated: that is settled for those that are left when counting them all."""
    source, target = _thinned(n, *_without_loops(source, target), k)
    source, target = distinct(n, source, target)
    before = -1
    while len(source) != before:
        before = len(source)
        source, target = _thinned(n, source, target, k)
        if len(source) > _SLOW * before:
            return _peeled(n, source, target, k, effort or Effort())
    return np.zeros(0, np.int64) if k > 0 else np.arange(n)


def distinct(n: int, source: Int64, target: Int64) -> tuple[Int64, Int64]:
    """Each edge once, the smaller vertex first, sorted; without loops."""
    source, target = _without_loops(source, target)
    key = np.sort(np.minimum(source, target).astype(np.int64) * n + np.maximum(source, target))
    first = np.ones(len(key), bool)
    np.not_equal(key[1:], key[:-1], out=first[1:])
    return np.divmod(key[first], max(n, 1))


def _without_loops(source: Int64, target: Int64) -> tuple[Int64, Int64]:
    apart = source != target
    return source[apart], target[apart]


def _thinned(n: int, source: Int64, target: Int64, k: int) -> tuple[Int64, Int64]:
    """Edges between vertices of degree k or more."""
    high = np.bincount(source, minlength=n) + np.bincount(target, minlength=n) >= k
    inside = high[source] & high[target]
    return source[inside], target[inside]


def _peeled(n: int, source: Int64, target: Int64, k: int, effort: Effort) -> Int64:
    """The core of a graph that shrinks slowly: each round looks at the neighbours of those that leave, and at nothing else."""
    both = np.concatenate([source, target])
    degree = np.bincount(both, minlength=n)
    left = np.ones(n, bool)
    leaving = np.nonzero(degree < k)[0]
    left[leaving] = False
    leaving = leaving[degree[leaving] > 0]
    if not len(leaving):
        return np.nonzero(left)[0]
    other = np.concatenate([target, source])[np.argsort(both, kind="stable")]
    start, length = np.cumsum(degree) - degree, degree.copy()
    while len(leaving):
        effort.spend(_ROUND)
        count = length[leaving]
        at = np.repeat(start[leaving] - (np.cumsum(count) - count), count) + np.arange(count.sum())
        near, lost = np.unique(other[at], return_counts=True)
        degree[near] -= lost
        leaving = near[left[near] & (degree[near] < k)]
        left[leaving] = False
    return np.nonzero(left)[0]


Bool = npt.NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Rows:
    """The rows that tie undecided variables: first one for each hidden atom, then one for each clause, both in order.

    Variables: the open choices from 0, then one for each hidden atom (also for those that turn out to be decided).
    """

    n_states: Int64  # (n_choices,) of the open choices; hidden atoms have two
    start: Int64  # (n_hidden + n_clauses + 1,)
    variable: Int64  # those of each row, as they first occur; none where the row is decided
    binds: Bool  # (n_hidden,) whether the row also ties the hidden atom itself: it is not decided
    unties: Bool  # (n_hidden,) the hidden atom is false by bias: each of its literals is false by itself

    @property
    def n_choices(self) -> int:
        """How many variables choose among open atoms."""
        return len(self.n_states)

    @property
    def n_hidden(self) -> int:
        """How many rows are definitions."""
        return len(self.binds)

    def entries(self, longest: int) -> float:
        """Entries of the factors of all rows that need no splitting."""
        size = np.diff(self.start)
        bits = np.zeros(len(self.variable) + 1)
        np.cumsum(np.log2(np.append(self.n_states, np.full(self.n_hidden, 2)))[self.variable], out=bits[1:])
        return float(np.exp2((bits[self.start[1:]] - bits[self.start[:-1]])[size <= longest]).sum())


@dataclass(frozen=True, eq=False)
class Graph:
    """Variables, and every pair of them that shares a factor once."""

    n_states: Int64  # (n_variables,)
    source: Int64  # less than target
    target: Int64

    def neighbours(self) -> list[set[int]]:
        """For each variable those joined with it."""
        both = np.concatenate([self.source, self.target])
        other = np.concatenate([self.target, self.source])[np.argsort(both, kind="stable")].tolist()
        ends = [0, *np.cumsum(np.bincount(both, minlength=len(self.n_states))).tolist()]
        return [set(other[begin:end]) for begin, end in pairwise(ends)]


def rows_of(shape: Shape) -> Rows:
    """Drop what is decided; infinite biases, exclusive groups and definitions decide atoms."""
    choices = _Choices(shape)
    n_hidden = shape.n_hidden
    owner = np.repeat(np.arange(n_hidden), np.diff(shape.definition_start))
    value = choices.value
    while n_hidden:  # a hidden atom that is decided may decide others
        tests = choices.tests(owner, shape.definition_literal, n_hidden)
        found = np.where(tests.true, 1, np.where(tests.count == 0, 0, UNDECIDED))
        news = (found != UNDECIDED) & (value[shape.n_open :] != found)
        if not news.any():
            break
        value[shape.n_open :][news] = found[news]
    sizes = np.concatenate([np.diff(shape.definition_start), np.diff(shape.clause_start)])
    owner = np.repeat(np.arange(len(sizes)), sizes)
    tests = choices.tests(owner, np.concatenate([shape.definition_literal, shape.clause_literal]), len(sizes))
    opened = ~tests.true[:n_hidden] & (tests.count[:n_hidden] > 0)
    fixed = shape.fixed[shape.n_open :]
    start = np.zeros(len(sizes) + 1, np.int64)
    np.cumsum(tests.count, out=start[1:])
    return Rows(choices.n_states, start, tests.variable, opened & (fixed == UNDECIDED), opened & (fixed == 0))


@dataclass(frozen=True, eq=False)
class _Tests:
    """What is left of rows: the variables of each, and which rows are true whatever they are."""

    true: Bool  # (n_rows,)
    count: Int64  # (n_rows,) 0 where the row is true
    variable: Int64


class _Choices:
    """The variables of a component, and the state of its variable in which each atom is true."""

    def __init__(self, shape: Shape) -> None:
        n_open, n_groups = shape.n_open, len(shape.group_start) - 1
        self.value: Int8 = shape.fixed.copy()  # decided atoms
        self.state = np.ones(shape.n_all, np.int64)  # of its variable, in which an atom is true
        self.variable = np.full(shape.n_all, -1)
        alone = np.ones(n_open, bool)
        alone[shape.group_atom] = False
        n_states = np.zeros(0, np.int64)
        if n_groups:
            group = np.repeat(np.arange(n_groups), np.diff(shape.group_start))
            fixed = shape.fixed[shape.group_atom]
            sure = np.bincount(group[fixed == 1], minlength=n_groups)[group]
            allowed = np.where(sure == 0, fixed != 0, (fixed == 1) & (sure == 1))
            before = np.cumsum(allowed) - allowed
            state = np.where(allowed, before - before[shape.group_start[:-1]][group], NEVER)
            n_states = np.bincount(group[allowed], minlength=n_groups)
            number = np.where(n_states > 1, np.cumsum(n_states > 1) - 1, -1)
            self.state[shape.group_atom] = state
            self.variable[shape.group_atom] = number[group]
            self.value[shape.group_atom] = np.where(number[group] >= 0, UNDECIDED, allowed)
            n_states = n_states[n_states > 1]
        free = np.nonzero(alone & (shape.fixed[:n_open] == UNDECIDED))[0]
        self.variable[free] = len(n_states) + np.arange(len(free))
        self.n_states = np.concatenate([n_states, np.full(len(free), 2)])
        self.variable[n_open:] = len(self.n_states) + np.arange(shape.n_hidden)
        self._all_states = np.concatenate([self.n_states, np.full(shape.n_hidden, 2)])

    def tests(self, owner: Int64, literal: npt.NDArray[np.integer], n_rows: int) -> _Tests:
        """Rows of literals (sorted by row) as variables; a row of which nothing is left is false."""
        atom, sign = literal >> 1, literal & 1
        known = self.value[atom]
        state = np.where(known == UNDECIDED, self.state[atom], 0)
        true = np.zeros(n_rows, bool)
        true[owner[(known == sign) | ((known == UNDECIDED) & (state == NEVER) & (sign == 0))]] = True
        left = np.nonzero((known == UNDECIDED) & ~true[owner])[0]
        owner, state, sign = owner[left], state[left], sign[left]
        variable = self.variable[atom[left]]
        key = owner * len(self._all_states) + variable
        order = np.argsort(key, kind="stable")
        first = np.ones(len(order), bool)
        first[1:] = key[order[1:]] != key[order[:-1]]
        segment = np.cumsum(first) - 1
        head = order[first]
        matters = np.ones(len(head), bool)
        if len(head) < len(order) or (state == NEVER).any():
            all_true, matters = self._joint(segment, state[order], sign[order], variable[head])
            true[owner[head[all_true]]] = True
        head = np.sort(head[matters & ~true[owner[head]]])  # as they first occur
        return _Tests(true, np.bincount(owner[head], minlength=n_rows), variable[head])

    def _joint(self, segment: Int64, state: Int64, sign: Int64, variable: Int64) -> tuple[Bool, Bool]:
        """For literals of one variable in one row: whether one of them is true in every state, and whether in any."""
        n_segments = len(variable)
        seen = np.unique(np.stack([segment, state, sign], axis=1)[state != NEVER], axis=0)
        positive = np.bincount(seen[seen[:, 2] == 1, 0], minlength=n_segments)
        negative = np.bincount(seen[seen[:, 2] == 0, 0], minlength=n_segments)
        both = np.zeros(n_segments, bool)
        same = (seen[1:, :2] == seen[:-1, :2]).all(axis=1)
        both[seen[1:, 0][same]] = True
        return both | (negative > 1) | (positive == self._all_states[variable]), (positive > 0) | (negative > 0)


def split_graph(rows: Rows, longest: int) -> Graph:
    """The graph once rows of more than `longest` tests are split by chain variables, numbered as `factor_model` numbers them."""
    n_hidden = rows.n_hidden
    count = np.diff(rows.start)
    count[:n_hidden][rows.unties] = 0
    most = np.full(len(count), max(longest, 2))
    most[:n_hidden][rows.binds] = max(longest - 1, 2)
    links = np.maximum(count - most, 0)
    own = np.zeros(len(count), np.int64)
    own[:n_hidden] = rows.binds
    added = own + links
    row_first = rows.n_choices + np.cumsum(added) - added  # the hidden atom, then the links of a row
    number = np.concatenate([np.arange(rows.n_choices), row_first[:n_hidden]])
    n_variables = rows.n_choices + int(added.sum())
    n_states = np.concatenate([rows.n_states, np.full(int(added.sum()), 2)])
    variable = number[rows.variable]
    pairs: list[Int64] = []

    row = np.repeat(np.arange(len(links)), links)  # link i of a row ties what is carried to it, test i + 1 and the link
    i = np.arange(len(row)) - np.repeat(np.cumsum(links) - links, links)
    link = row_first[row] + own[row] + i
    test = variable[rows.start[row] + i + 1]
    carried = np.where(i == 0, variable[rows.start[row]], link - 1) if len(row) else link
    pairs += [np.stack(pair, axis=1) for pair in ((carried, test), (carried, link), (test, link))]

    rest = np.minimum(count, most)  # what ends in one factor: the last link or the first test, the last tests, the hidden atom
    size = rest + own
    for k in each_once(size[(size > 1) & (rest > 0)]).tolist():
        chosen = np.nonzero((size == k) & (rest > 0))[0]
        for bound in (False, True):
            row = chosen[own[chosen] == bound]
            if not len(row):
                continue
            tests = k - int(bound)
            scope = variable[(rows.start[row] + count[row] - tests)[:, None] + np.arange(tests)]
            scope[:, 0] = np.where(links[row] > 0, row_first[row] + own[row] + links[row] - 1, scope[:, 0])
            if bound:
                scope = np.concatenate([scope, row_first[row][:, None]], axis=1)
            pairs += [scope[:, [a, b]] for a in range(k) for b in range(a)]
    return Graph(n_states, *distinct(n_variables, *np.concatenate(pairs).T))


def contracted_pairs(rows: Rows, centre: int) -> tuple[Int64, Int64]:
    """Pairs of a graph that is a minor of the split graph, whatever the length at which rows are split.

    Rows of up to three variables are never split. Of a longer one all links are merged into one of its variables, which is then
    joined with all others; the last two stand in one factor in any case.
    """
    n_hidden = rows.n_hidden
    count = np.diff(rows.start)
    count[:n_hidden][rows.unties] = 0
    row = np.repeat(np.arange(len(count)), count)
    at = np.repeat(rows.start[:-1], count) + np.arange(len(row)) - np.repeat(np.cumsum(count) - count, count)
    bound = np.nonzero(rows.binds)[0]
    row = np.concatenate([row, bound])
    variable = np.concatenate([rows.variable[at], rows.n_choices + bound])
    order = np.argsort(row, kind="stable")
    row, variable = row[order], variable[order]
    size = np.bincount(row, minlength=len(count))
    return minor_of_rows(size[size > 0], variable, centre)


def minor_of_rows(size: Int64, variable: Int64, centre: int) -> tuple[Int64, Int64]:
    """The same for rows without gaps: each variable is joined with the centre of its row, and the last two with one another.

    Pairs may be repeated, and some are pairs of a variable with itself.
    """
    if not len(size):
        return np.zeros(0, np.int64), np.zeros(0, np.int64)
    start = np.cumsum(size) - size
    hub = variable[np.repeat(start + np.where(size > 3, np.minimum(centre, size - 1), 0), size)]
    last = (start + size - 1)[size > 1]
    return np.concatenate([hub, variable[last - 1]]), np.concatenate([variable, variable[last]])
