"""The heaviest world of a component as an integer program, its clauses added as they are violated (HiGHS).

A variable in {0, 1} for each open atom, a broken share y ≥ 0 for each soft clause that was ever violated, and the row
y + Σ literals ≥ 1 for it (without y where the clause is hard); exclusive groups and definitions of hidden atoms are there from
the beginning. First the linear program is solved, clauses that its solution violates are added and it is solved again (dual
simplex, from where it stood), until none is; then the integer program in the same way (RockIt: Noessner, Niepert,
Stuckenschmidt 2013). What a program with fewer clauses gives is a bound already, so that there is one at any time.

Bounds of linear programs are worked out from the dual values in a way that holds whatever the solver's tolerances are (Neumaier,
Shcherbina 2004): every variable lies in [0, 1], so any multipliers y ≥ 0 give  y·b + Σ min(0, c − yA)  as a bound. Those of
integer programs are the solver's, less its tolerance.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from markovlogic.arrays import Bool, Float64, Int64, offsets
from markovlogic.maximizing.weighing import is_possible, log_weight, most_conceivable, with_hidden
from markovlogic.networks.ground import GroundNetwork
from markovlogic.patience import Patience, current

VIOLATED = 1e-6  # by how much a clause has to be violated in order to be added
PROVED = 1e-6  # of the largest weight: differences that the solver does not tell apart
LAST_ROUNDS = 1000  # of solving, as a guard

Told = Callable[[float, float], None]


def untold(bound: float, weight: float) -> None:
    """Tell nobody."""


@dataclass(frozen=True, eq=False)
class ProgramResult:
    """What the program says of a component."""

    world: Bool | None  # (n_all,) the best world that it found, None where it found none
    bound: float  # no world weighs more; -inf where none is possible
    is_optimal: bool


def maximize_program(network: GroundNetwork, start: Bool | None, *, told: Told = untold) -> ProgramResult:
    """Solve the program of a network without decided atoms, or go as far as time and patience last.

    start: (n_all,) a world that is known. told: hears of every better bound, and the weight of the best world so far.
    """
    return _Program(network, start, told).solve()


@dataclass(frozen=True, eq=False)
class _Rows:
    """Rows that were added together."""

    lower: Float64
    row: Int64  # of each entry, among these
    column: Int64
    value: Float64
    is_equal: bool


class _Program:
    def __init__(self, network: GroundNetwork, start: Bool | None, told: Told) -> None:
        import highspy

        self._network, self._told = network, told
        self._best = start
        self._weight = -math.inf if start is None else log_weight(network, start)
        soft = network.clause_weight[: network.n_soft]
        self._unit = float(max(soft.max(initial=0.0), np.abs(network.atom_bias).max(initial=0.0), 1e-300))
        self._ceiling = math.fsum([network.log_constant, float(soft.sum())])  # weight = ceiling - unit · objective
        self.bound = most_conceivable(network)
        self._column = np.full(network.n_clauses, -1, np.int64)  # of a soft clause that was added
        self._added = np.zeros(network.n_clauses, np.bool_)
        self._highs = highs = highspy.Highs()
        for name, value in (("output_flag", False), ("threads", 1), ("mip_rel_gap", 0.0), ("mip_abs_gap", 1e-9)):
            highs.setOptionValue(name, value)
        highs.HandleUserInterrupt = True
        self._infinity = highspy.kHighsInf
        self._cost: list[Float64] = []  # of columns
        self._rows: list[_Rows] = []
        self._add_columns(-network.atom_bias / self._unit)
        self._add_groups()
        self._add_definitions()

    def _add_columns(self, cost: Float64) -> None:
        n, nothing = len(cost), np.zeros(0, np.int32)
        self._cost.append(cost)
        self._highs.addCols(n, cost, np.zeros(n), np.ones(n), 0, np.zeros(n, np.int32), nothing, np.zeros(0))

    def _add_rows(self, lower: Float64, start: Int64, index: Int64, value: Float64, *, is_equal: bool = False) -> None:
        """Rows Σ value·column ≥ lower, or = where they are equations."""
        if len(lower):
            upper = lower if is_equal else np.full(len(lower), self._infinity)
            self._rows.append(_Rows(lower, np.repeat(np.arange(len(lower)), np.diff(start)), index, value, is_equal))
            self._highs.addRows(len(lower), lower, upper, len(index), start[:-1].astype(np.int32), index.astype(np.int32), value)

    def _add_groups(self) -> None:
        network = self._network
        one, index = np.ones(network.n_groups), network.group_atom.astype(np.int64)
        self._add_rows(one, network.group_start, index, np.ones(len(index)), is_equal=True)

    def _add_definitions(self) -> None:
        """Of h ⇔ l₁ v l₂ …: h ≤ Σ l, and h ≥ l for each."""
        network = self._network
        if not network.n_hidden:
            return
        hidden = network.n_atoms + np.arange(network.n_hidden)
        literal, sizes = network.definition_literal.astype(np.int64), np.diff(network.definition_start)
        owner = np.repeat(hidden, sizes)
        positive = (literal & 1).astype(bool)
        sign = np.where(positive, 1.0, -1.0)
        index = np.insert(literal >> 1, network.definition_start[:-1], hidden)
        value = np.insert(sign, network.definition_start[:-1], -1.0)
        negative = np.bincount(owner[~positive] - network.n_atoms, minlength=network.n_hidden)
        self._add_rows(-negative.astype(np.float64), offsets(sizes + 1), index, value)
        pairs = np.stack([owner, literal >> 1], axis=1).ravel()
        values = np.stack([np.ones(len(literal)), -sign], axis=1).ravel()
        lower = np.where(positive, 0.0, 1.0)
        self._add_rows(lower, 2 * np.arange(len(literal) + 1), pairs, values)

    def solve(self) -> ProgramResult:
        """Linear programs, then integer ones."""
        if not self._linear():
            return ProgramResult(None, -math.inf, True)
        possible = True
        if not self._is_proved and not self._must_stop:
            possible = self._integer()
        if not possible:
            return ProgramResult(None, -math.inf, True)
        if self._is_proved:
            self.bound = self._weight
        return ProgramResult(self._best, self.bound, self._is_proved)

    @property
    def _is_proved(self) -> bool:
        return self._best is not None and self.bound - self._weight <= PROVED * self._unit

    @property
    def _must_stop(self) -> bool:
        own = current()
        return own.asked or (own.left is not None and own.left <= 0)

    def _linear(self) -> bool:
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
            if self._is_proved or self._must_stop or not self._add_violated(x):
                return True
        return True

    def _integer(self) -> bool:
        """The same with integers; False where there is no solution."""
        import highspy

        n = self._network.n_atoms
        kind = np.full(n, int(highspy.HighsVarType.kInteger), np.uint8)
        self._highs.changeColsIntegrality(n, np.arange(n, dtype=np.int32), kind)
        for _ in range(LAST_ROUNDS):
            if self._best is not None:
                index = np.arange(self._network.n_all, dtype=np.int32)
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
            if self._is_proved or self._must_stop or not self._add_violated(x) or status != "optimal":
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
            self._told(max(bound, self._weight), self._weight)

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
        return total + float(np.minimum(reduced, 0.0).sum())

    def _consider(self, x: Float64) -> None:
        """Round a solution to a world, and keep it where it is better than what is known."""
        network = self._network
        world = x[: network.n_all] > 0.5
        if network.n_groups:
            world[network.group_atom] = False
            group = np.repeat(np.arange(network.n_groups), np.diff(network.group_start))
            order = np.lexsort((-x[network.group_atom], group))
            world[network.group_atom[order[network.group_start[:-1]]]] = True
        world = with_hidden(network, world[: network.n_atoms])
        if is_possible(network, world):
            weight = log_weight(network, world)
            if weight > self._weight:
                self._best, self._weight = world, weight

    def _add_violated(self, x: Float64) -> bool:
        """Add the clauses that a solution violates; whether there were any."""
        network = self._network
        if not network.n_clauses:
            return False
        literal = network.clause_literal
        value = np.where(literal & 1, x[literal >> 1], 1.0 - x[literal >> 1])
        short = 1.0 - np.add.reduceat(value, network.clause_start[:-1])
        rows = np.flatnonzero((short > VIOLATED) & ~self._added)
        if not len(rows):
            return False
        self._added[rows] = True
        soft = rows[rows < network.n_soft]
        first = self._highs.getNumCol()
        self._column[soft] = first + np.arange(len(soft))
        self._add_columns(network.clause_weight[soft] / self._unit)
        lengths = np.diff(network.clause_start)[rows]
        start = offsets(lengths)
        at = np.repeat(network.clause_start[:-1][rows] - start[:-1], lengths) + np.arange(int(start[-1]))
        own = literal[at].astype(np.int64)
        positive = (own & 1).astype(bool)
        row = np.repeat(np.arange(len(rows)), lengths)
        lower = 1.0 - np.bincount(row[~positive], minlength=len(rows)).astype(np.float64)
        is_soft = rows < network.n_soft
        index = np.insert(own >> 1, start[:-1][is_soft], self._column[soft])
        values = np.insert(np.where(positive, 1.0, -1.0), start[:-1][is_soft], 1.0)
        self._add_rows(lower, offsets(lengths + is_soft), index, values)
        return True


_STATUS = {"kOptimal": "optimal", "kModelEmpty": "optimal", "kInfeasible": "infeasible", "kUnboundedOrInfeasible": "infeasible"}


def _stopping(patience: Patience, highs: Any) -> Any:
    """While a program runs, somebody who asks for an end gets it."""
    return patience.ending(highs.cancelSolve)
