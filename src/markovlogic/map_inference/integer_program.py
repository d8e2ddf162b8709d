"""The heaviest world of a factor graph as an integer program, its clauses added as they are violated (HiGHS).

A variable in {0, 1} for each node, a broken share y ≥ 0 for each soft clause that was ever violated, and the row
y + Σ literals ≥ 1 for it (without y where the clause is hard); exclusive groups and definitions of hidden atoms are there from
the beginning. First the linear program is solved, clauses that its solution violates are added and it is solved again (dual
simplex, from where it stood), until none is; then the integer program in the same way (RockIt: Noessner, Niepert,
Stuckenschmidt 2013). What a program with fewer clauses gives is a bound already, so that there is one at any time.

On a lifted graph, a variable stands for all atoms of a node, and a row for all clauses of a kind. The linear program is convex
and its symmetries average its solutions, so its value is that of the whole network (Mladenov, Ahmadi, Kersting 2012); the
integer program gives the best world that treats atoms of a node alike, which need not be the best of all.

Bounds of linear programs are worked out from the dual values in a way that holds whatever the solver's tolerances are (Neumaier,
Shcherbina 2004): every variable lies in [0, 1], so any multipliers y ≥ 0 give  y·b + Σ min(0, c − yA)  as a bound. Those of
integer programs are the solver's, less its tolerance.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np

from markovlogic.map_inference.roof import GraphWeights, roof
from markovlogic.map_inference.search import search
from markovlogic.map_inference.settings import SearchSettings
from markovlogic.methods.messages.schedules import FactorGraph, ground_graph
from markovlogic.networks.ground import GroundNetwork, network_of
from markovlogic.system.arrays import Bool, Float64, Int64, all_but, offsets
from markovlogic.system.cancellation import Deadline, current
from markovlogic.system.measures import without_collection
from markovlogic.system.progress import Progress

VIOLATED = 1e-6  # by how much a clause has to be violated in order to be added
PROVED = 1e-6  # of the largest weight: differences that the solver does not distinguish
LAST_ROUNDS = 1000  # of solving, as a guard
LOOK_SECONDS = 0.05

BoundListener = Callable[[float, float], None]


def ignore_bound(bound: float, weight: float) -> None:
    """Report no bounds."""


@dataclass(frozen=True, eq=False)
class ProgramResult:
    """What the program says of a graph."""

    world: Bool | None  # (n_nodes,) the best world that it found, None where it found none
    weight: float  # of that world
    bound: float  # no world weighs more; -inf where none is possible
    is_optimal: bool  # the world is the best, or it is proved that there is none


def maximize_program(network: GroundNetwork, start: Bool | None, *, on_bound: BoundListener = ignore_bound) -> ProgramResult:
    """Solve the program of a network, or go as far as time and deadline last.

    start: (n_all,) a world that is known. on_bound: is called with every better bound, and the weight of the best world so far.
    """
    return Program(ground_graph(network), start, on_bound).solve()


@dataclass(frozen=True, eq=False)
class _Added:
    """Rows that were added together."""

    lower: Float64
    row: Int64  # of each entry, among these
    column: Int64
    value: Float64
    is_equal: bool


class Program:
    """The program of a graph, growing."""

    def __init__(self, graph: FactorGraph, start: Bool | None = None, on_bound: BoundListener = ignore_bound) -> None:
        import highspy

        self._graph = own = GraphWeights(graph)
        self._on_bound = on_bound
        self._best, self._weight = start, -math.inf if start is None else own.log_weight(start)
        self._unit = float(max(own.weight.max(initial=0.0), np.abs(own.gain).max(initial=0.0), 1e-300))
        self._ceiling = own.ceiling  # weight = ceiling - unit · objective
        self.bound = own.most_conceivable
        self._added = np.zeros(own.clauses.n_rows, np.bool_)
        self._highs = highs = highspy.Highs()
        for name, value in (("output_flag", False), ("threads", 1), ("mip_rel_gap", 0.0), ("mip_abs_gap", 1e-9)):
            highs.setOptionValue(name, value)
        highs.HandleUserInterrupt = True
        self._infinity = highspy.kHighsInf
        self._cost: list[Float64] = []  # of columns
        self._rows: list[_Added] = []
        sure = np.where(own.decided, own.is_true, 0.0), np.where(own.decided, own.is_true, 1.0)
        self._add_columns(-own.gain / self._unit, *sure)
        self._add_groups()
        self._add_definitions()

    def _add_columns(self, cost: Float64, lower: Float64, upper: Float64) -> None:
        n, nothing = len(cost), np.zeros(0, np.int32)
        self._cost.append(cost)
        _require(self._highs.addCols(n, cost, lower, upper, 0, np.zeros(n, np.int32), nothing, np.zeros(0)))

    def _add_rows(self, lower: Float64, start: Int64, index: Int64, value: Float64, *, is_equal: bool = False) -> None:
        """Rows Σ value·column ≥ lower, or = where they are equations; a column may stand in a row more than once."""
        if not len(lower):
            return
        upper = lower if is_equal else np.full(len(lower), self._infinity)
        row = np.repeat(np.arange(len(lower)), np.diff(start))
        n_columns = self._highs.getNumCol()
        entry, same = np.unique(row * n_columns + index, return_inverse=True)
        if len(entry) != len(index):  # the solver refuses all rows where one has a column twice
            value = np.bincount(same, weights=value, minlength=len(entry)).astype(np.float64)
            row, index = np.divmod(entry, n_columns)
            start = offsets(np.bincount(row, minlength=len(lower)))
        self._rows.append(_Added(lower, row, index, value, is_equal))
        made = self._highs.addRows(
            len(lower), lower, upper, len(index), start[:-1].astype(np.int32), index.astype(np.int32), value
        )
        _require(made)

    def _add_groups(self) -> None:
        groups = self._graph.groups
        self._add_rows(np.ones(groups.n_rows), groups.start, (groups.literal >> 1).astype(np.int64), groups.inner, is_equal=True)

    def _add_definitions(self) -> None:
        """Of h ⇔ l₁ v l₂ …: h ≤ Σ l, and h ≥ l for each."""
        rows, head = self._graph.definitions, self._graph.head
        if not len(head):
            return
        node, positive = (rows.literal >> 1).astype(np.int64), (rows.literal & 1).astype(bool)
        sign = np.where(positive, 1.0, -1.0)
        index = np.insert(node, rows.start[:-1], head)
        value = np.insert(sign * rows.inner, rows.start[:-1], -1.0)
        negative = np.bincount(rows.row[~positive], weights=rows.inner[~positive], minlength=len(head))
        self._add_rows(-negative.astype(np.float64), offsets(np.diff(rows.start) + 1), index, value)
        pairs = np.stack([head[rows.row], node], axis=1).ravel()
        values = np.stack([np.ones(len(node)), -sign], axis=1).ravel()
        self._add_rows(np.where(positive, 0.0, 1.0), 2 * np.arange(len(node) + 1), pairs, values)

    def solve(self) -> ProgramResult:
        """Linear programs, then integer ones."""
        if not self.solve_linear() or not (self.is_proved or _must_stop() or self._integer()):
            return ProgramResult(None, -math.inf, -math.inf, True)
        return self.result()

    def solve_lifted(self) -> ProgramResult:
        """The bound of the linear program, which holds for all worlds, and the best world that treats atoms of a node alike."""
        if not self.solve_linear():
            return ProgramResult(None, -math.inf, -math.inf, True)
        bound = self.bound
        if not self.is_proved and not _must_stop():
            self._integer()  # where no world is alike in that way, there may be others
        self.bound = bound
        return self.result()

    def result(self) -> ProgramResult:
        """What is known by now."""
        if self.is_proved:
            self.bound = self._weight
        return ProgramResult(self._best, self._weight, self.bound, self.is_proved)

    @property
    def is_proved(self) -> bool:
        """Whether the best world that was found is the best of all."""
        return self._best is not None and self.bound - self._weight <= PROVED * self._unit

    def solve_linear(self) -> bool:
        """Solve linear programs until no clause is violated; False where there is no solution."""
        for _ in range(LAST_ROUNDS):
            status = self._run()
            if status == "infeasible":
                return False
            if status != "optimal":
                return True
            self._lower_bound(self._ceiling - self._unit * self._safe_dual_bound())
            x = np.array(self._highs.getSolution().col_value)
            self._consider(x)
            if self.is_proved or _must_stop() or not self._add_violated(x):
                return True
        return True

    def _integer(self) -> bool:
        """The same with integers; False where there is no solution."""
        import highspy

        own = self._graph
        whole = all_but(own.n_nodes, own.head).astype(np.int32)
        kind = np.full(len(whole), int(highspy.HighsVarType.kInteger), np.uint8)
        self._highs.changeColsIntegrality(len(whole), whole, kind)
        for _ in range(LAST_ROUNDS):
            if self._best is not None:
                index = np.arange(own.n_nodes, dtype=np.int32)
                self._highs.setSolution(len(index), index, self._best.astype(np.float64))
            status = self._run()
            if status == "infeasible":
                return False
            info = self._highs.getInfo()
            if math.isfinite(info.mip_dual_bound):
                self._lower_bound(self._ceiling - self._unit * (info.mip_dual_bound - PROVED / 2))
            solution = self._highs.getSolution()
            if not solution.value_valid:
                return True
            x = np.array(solution.col_value)
            self._consider(x)
            if self.is_proved or _must_stop() or not self._add_violated(x) or status != "optimal":
                return True
        return True

    def _run(self) -> str:
        own = current()
        left = own.left
        # the solver's clock goes on from one run to the next
        self._highs.setOptionValue("time_limit", self._infinity if left is None else self._highs.getRunTime() + max(left, 0.01))
        with _stopping(own, self._highs):
            self._highs.run()
        return _STATUS.get(self._highs.getModelStatus().name, "stopped")

    def _lower_bound(self, bound: float) -> None:
        if bound < self.bound:
            self.bound = bound
            self._on_bound(max(bound, self._weight), self._weight)

    def _safe_dual_bound(self) -> float:
        """A bound on the objective from the dual values, whatever their errors; every column is within [0, 1]."""
        dual = np.array(self._highs.getSolution().row_dual, np.float64)
        reduced, total, first = np.concatenate(self._cost), 0.0, 0
        for block in self._rows:
            own = dual[first : first + len(block.lower)]
            first += len(own)
            own = own if block.is_equal else np.maximum(own, 0.0)
            reduced -= np.bincount(block.column, weights=block.value * own[block.row], minlength=len(reduced))
            total += float((own * block.lower).sum())
        decided, is_true = self._graph.decided, self._graph.is_true
        sure = float(reduced[: len(decided)][is_true].sum())
        reduced[: len(decided)][decided] = 0.0
        return total + sure + float(np.minimum(reduced, 0.0).sum())

    def _consider(self, x: Float64) -> None:
        """Round a solution to a world, and keep it where it is better than what is known."""
        own = self._graph
        world = x[: own.n_nodes] > 0.5
        groups = own.groups
        if groups.n_rows:
            node = groups.literal >> 1
            world[node] = False
            order = np.lexsort((-x[node], groups.row))
            world[node[order[groups.start[:-1]]]] = True
        world = own.completed(world)
        if own.is_possible(world):
            weight = own.log_weight(world)
            if weight > self._weight:
                self._best, self._weight = world, weight

    def _add_violated(self, x: Float64) -> bool:
        """Add the clauses that a solution violates; whether there were any."""
        own = self._graph
        clauses = own.clauses
        if not clauses.n_rows:
            return False
        node, positive = clauses.literal >> 1, (clauses.literal & 1).astype(bool)
        true = np.where(positive, x[node], 1.0 - x[node]) * clauses.inner
        rows = np.flatnonzero((1.0 - np.add.reduceat(true, clauses.start[:-1]) > VIOLATED) & ~self._added)
        if not len(rows):
            return False
        self._added[rows] = True
        is_soft = ~own.is_hard[rows]
        cost = own.weight[rows[is_soft]] / self._unit
        column = self._highs.getNumCol() + np.arange(len(cost))
        self._add_columns(cost, np.zeros(len(cost)), np.ones(len(cost)))
        lengths = np.diff(clauses.start)[rows]
        start = offsets(lengths)
        at = np.repeat(clauses.start[:-1][rows] - start[:-1], lengths) + np.arange(int(start[-1]))
        row, inner = np.repeat(np.arange(len(rows)), lengths), clauses.inner[at]
        lower = 1.0 - np.bincount(row, weights=np.where(positive[at], 0.0, inner), minlength=len(rows)).astype(np.float64)
        index = np.insert(node[at].astype(np.int64), start[:-1][is_soft], column)
        values = np.insert(np.where(positive[at], inner, -inner), start[:-1][is_soft], 1.0)
        self._add_rows(lower, offsets(lengths + is_soft), index, values)
        return True


_STATUS = {
    "kOptimal": "optimal",
    "kModelEmpty": "optimal",
    "kInfeasible": "infeasible",
    "kUnboundedOrInfeasible": "infeasible",
}


def _require(status: Any) -> None:
    """What the solver refuses to take is a mistake of ours, and dual values would stand for other rows than we think."""
    assert status.name != "kError"


def _must_stop() -> bool:
    own = current()
    return own.cancelled or (own.left is not None and own.left <= 0)


@contextmanager
def _stopping(own: Deadline, highs: Any) -> Iterator[None]:
    """While a program runs, somebody who needs an end gets it, and so does the clock: the solver looks at its own seldom."""
    done = threading.Event()

    def watch() -> None:
        while not done.wait(LOOK_SECONDS):
            if own.cancelled or (own.left is not None and own.left <= 0):
                highs.cancelSolve()

    watcher = threading.Thread(target=watch, daemon=True, name="program")
    watcher.start()
    try:
        yield
    finally:
        done.set()
        watcher.join()


KERNELS = (
    "maxwalksat:max_walk",
    "flow:augment",
    "flow:reached",
    "flow:strong_components",
    "hidden:compute_hidden",
    "hidden:collect_reach",
)


def compile_kernels(progress: Progress) -> None:
    """Compile what was not yet; the time does not count."""
    from markovlogic.kernels import are_cold

    if not are_cold(KERNELS):
        return
    progress.stage("compile kernels (once on this machine, some 5 to 15 s)")
    with current().paused(), without_collection():
        # two atoms that the flow leaves undecided; an atom, a group and a hidden atom that depend on each other
        roof(network_of(2, [(1.0, [0, 2]), (1.0, [1, 3]), (1.0, [0, 3]), (1.0, [1, 2])]))
        small = network_of(4, [(1.0, [0, 8]), (2.0, [1, 3])], bias={2: 0.5}, groups=[[1, 2]], definitions=[[1, 3, 6]])
        search(small, [np.array([0, 1, 0, 0, 1], np.uint8)], SearchSettings(tries=1, flips=2))
