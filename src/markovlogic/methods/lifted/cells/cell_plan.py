"""Whether the cell method can take a problem, what it would cost, and how it is solved."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from markovlogic.errors import InputError, ResourceError
from markovlogic.language.templates import LoweredModel
from markovlogic.methods.lifted.answer import MOST_ROUNDING, Refusal
from markovlogic.methods.lifted.cells.cell_factors import Factors, JoinsThree, factors_of
from markovlogic.methods.lifted.cells.cell_layout import Layout, layout_of, object_classes
from markovlogic.methods.lifted.cells.clauses import FlatModel, TooLarge, flat_model
from markovlogic.methods.lifted.cells.closed import SECONDS_A_STATE, SLOWER_IN_DECIMALS, sum_cost, tables_cost
from markovlogic.methods.lifted.cells.numbers import Decimals, Logarithms, Numbers
from markovlogic.methods.lifted.cells.solution import CellSolution
from markovlogic.methods.lifted.cells.state import states_of
from markovlogic.problem import Problem
from markovlogic.problem.query import queried_predicates
from markovlogic.system.arrays import each_once

MOST_VALUES = 64  # of an exclusive argument
MOST_WRITTEN_OUT = 8  # constants of a type that is written out because three objects would meet otherwise
MOST_SECONDS = 600.0
MOST_VECTORS = 50_000_000
MOST_STATES_SEEN = 4  # of the 0-ary atoms, from which the cost of all is taken
WRONG_ROUNDING = 1e-7  # beyond which floats are no answer, however long decimals take
OTHER_SCALE = 1.37  # of logarithms, by which sums are rounded in another way
ATOMS_COMPARED = 24  # of each queried predicate
SPARE_ROUNDING = 8.0  # so many times what was seen may happen
SHORT_SECONDS = 5.0
FIRST_DIGITS = 40
SPARE_DIGITS = 20
MOST_DIGITS = 4000


@dataclass(frozen=True, eq=False)
class CellWork:
    """A plan of the cell method."""

    layout: Layout
    signed: bool  # Skolem predicates make terms of either sign
    seconds: float
    memory_bytes: int
    reason: str

    @property
    def can_draw(self) -> bool:
        """Terms of either sign are no probabilities."""
        return not self.signed

    def solve(self) -> CellSolution:
        """Sum; in decimals, with as many digits as cancellation needs, where terms have signs."""
        size = self._solved(Logarithms())
        if size.numbers.log(size.total) == -math.inf:
            raise _no_world()
        if not self.signed:
            size.rounding = self._rounding(size)
            slowly = self.seconds * SLOWER_IN_DECIMALS
            exact = size.rounding > MOST_ROUNDING and slowly < SHORT_SECONDS
            if size.rounding > WRONG_ROUNDING and slowly > MOST_SECONDS:
                raise ResourceError(
                    f"no lifted inference: weights are so large that floats round marginals by {size.rounding:.1g}, and a sum in"
                    f" decimals would take about {slowly:,.0f} s (use smaller weights, or hard rules)"
                )
            return self._solved(Decimals(FIRST_DIGITS)) if exact or size.rounding > WRONG_ROUNDING else size
        largest = size.numbers.log(size.total) + size.numbers.log(size.unit)  # of what cancels: the sum without signs
        digits = FIRST_DIGITS
        while digits <= MOST_DIGITS:
            found = self._solved(Decimals(digits))
            with found.numbers.active():
                log_total = found.numbers.log(found.total) + found.numbers.log(found.unit)
            lost = (largest - log_total) / math.log(10) if log_total > -math.inf else math.inf
            if lost + SPARE_DIGITS <= digits:
                return found
            digits = 4 * digits if math.isnan(lost) or lost > digits else math.ceil(lost) + SPARE_DIGITS + 5
        raise _no_world()

    def _rounding(self, found: CellSolution) -> float:
        """About how far marginals are off: by how much they differ where the same sums are rounded in another way.

        No bound shows: logarithms of 10^8 that all terms share cost nothing, and where two terms are differences of such, they
        cost every digit.
        """
        if not _may_round(self.layout):
            return 0.0
        problem = self.layout.objects.problem
        other, rng, worst = self._solved(Logarithms(OTHER_SCALE)), np.random.default_rng(0), 0.0
        for name in queried_predicates(problem.query):
            statuses = problem.statuses[name]
            if statuses.n_open:
                code = statuses.unrank(each_once(rng.integers(statuses.n_open, size=ATOMS_COMPARED)))
                worst = max(worst, float(np.abs(found.marginal(name, code) - other.marginal(name, code)).max()))
        return SPARE_ROUNDING * worst

    def _solved(self, numbers: Numbers) -> CellSolution:
        with numbers.active():
            solution = CellSolution(self.layout, numbers, tuple(states_of(self.layout, numbers)))
            _ = solution.total
        return solution


def plan_cells(problem: Problem, lowered: LoweredModel) -> CellWork | Refusal:
    """Plan, without grounding anything; or refuse, naming the formula, variables or evidence that prevent it."""
    try:
        flat, factors = written_out(problem, lowered)
        layout = layout_of(object_classes(problem, flat, factors.keys), factors)
        return _work(layout, signed=bool(flat.skolem))
    except TooLarge as reason:
        return Refusal(str(reason))
    except JoinsThree as found:
        return Refusal(found.describe(problem.model.rules))


def written_out(problem: Problem, lowered: LoweredModel) -> tuple[FlatModel, Factors]:
    """Write out types until no clause ties three objects together: those of exclusive arguments, then small ones."""
    small = set(_exclusive_types(problem, lowered))
    while True:
        flat = flat_model(problem, lowered, frozenset(small))
        try:
            factors = factors_of(problem, flat)
            wide = [flat.open_types(key) for key in sorted(factors.keys) if len(key.open_positions) > 2]
            if not wide:
                return flat, factors
            of = _smallest(problem, wide[0])
            if of is None:
                return flat, factors  # refused by the layout, with the predicate's name
        except JoinsThree as found:
            of = _smallest(problem, found.clause.types)
            if of is None:
                raise
        small.add(of)


def _smallest(problem: Problem, types: Sequence[str]) -> str | None:
    """The type with the fewest constants, if they are few enough."""
    sizes = sorted((len(problem.domains[of]), of) for of in set(types))
    return sizes[0][1] if sizes and sizes[0][0] <= MOST_WRITTEN_OUT else None


def _exclusive_types(problem: Problem, lowered: LoweredModel) -> list[str]:
    """Types of exclusive arguments of the predicates that rules mention; refuses large ones."""
    mentioned = {literal.predicate for template in lowered.templates for literal in template.literals}
    mentioned |= {x.predicate for definition in lowered.definitions for cube in definition.cubes for x in cube.literals}
    found = []
    for name in sorted(mentioned & set(problem.model.predicates)):
        predicate = problem.model.predicates[name]
        for of, marked in zip(predicate.types, predicate.exclusive, strict=True):
            if marked and len(problem.domains[of]) > MOST_VALUES:
                raise TooLarge(f"the exclusive argument {of} of {name} has {len(problem.domains[of]):,} values")
            found += [of] if marked else []
    return found


def _work(layout: Layout, *, signed: bool) -> CellWork:
    states = list(itertools.islice(states_of(layout, Logarithms()), MOST_STATES_SEEN))
    tables_seconds = max((tables_cost(state.tables) for state in states), default=0.0)
    free = sum(not key.open_positions for key in layout.factors.keys)
    n_states = 2**free if len(states) == MOST_STATES_SEEN else len(states)
    pairs = _queries_pairs(layout)
    costs = [[sum_cost(sums, pairs=pairs) for sums in state.sums] for state in states]
    vectors = max((cost.vectors for each in costs for cost in each), default=1.0)
    slower = SLOWER_IN_DECIMALS if signed else 2.0 if _may_round(layout) else 1.0
    sums_seconds = sum(cost.seconds for each in costs for cost in each) * slower / max(1, len(states))
    seconds = n_states * ((tables_seconds + SECONDS_A_STATE) * (3 if signed else 1) + sums_seconds)
    memory = n_states * max((sum(cost.memory_bytes for cost in each) for each in costs), default=0.0) * (10 if signed else 1)
    if vectors > MOST_VECTORS or seconds > MOST_SECONDS:
        raise TooLarge(
            f"the sum over counts of {_counted(layout)} has {vectors:,.0f} terms and would take about {seconds:,.0f} s"
        )
    reason = f"sums over counts of {_counted(layout)}: {vectors:,.0f} count vectors" if layout.objects.classes else "sums"
    if n_states > 1:
        reason += f" for each of up to {n_states:,} assignments of the atoms that are about no object of a large type"
    if signed:
        reason += ", in decimals because existentials make terms of either sign"
    return CellWork(layout, signed, seconds, int(memory), reason)


def _may_round(layout: Layout) -> bool:
    """Whether logarithms may be so large that floats lose digits that matter: weights times groundings, and numbers of atoms."""
    problem, flat = layout.objects.problem, layout.objects.flat
    weights = (abs(clause.weight) * _groundings(problem, clause.types) for clause in flat.clauses if clause.weight < math.inf)
    atoms = sum(_groundings(problem, flat.open_types(key)) for key in layout.factors.keys)
    return float(np.finfo(np.float64).eps) * (sum(weights) + atoms) > MOST_ROUNDING


def _groundings(problem: Problem, types: Sequence[str]) -> float:
    return math.prod(float(len(problem.domains[of])) for of in types)


def _queries_pairs(layout: Layout) -> bool:
    """Whether the query needs atoms of two objects."""
    wide = {key.predicate for key in layout.links}
    queried = set(queried_predicates(layout.objects.problem.query))
    return bool(wide & queried)


def _counted(layout: Layout) -> str:
    types: Mapping[str, int] = {of: sum(c.type_name == of for c in layout.objects.classes) for of in layout.objects.class_of}
    shown = [f"{of} ({count} class{'es' if count != 1 else ''})" for of, count in types.items()]
    return ", ".join(shown)


def _no_world() -> InputError:
    return InputError(
        "no world satisfies the hard formulas together with the evidence",
        hint="a formula that ends with a full stop, or an exclusive argument, contradicts another one or a fact",
    )
