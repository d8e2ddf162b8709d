"""Enumeration of all worlds of a component, on arrays.

The variables are split into a *low* and a *high* part; a world is a pair (high world, low world), and a tile of log weights has
one line a high world and one column a low world. A clause is false iff both of its parts are, so that all clauses together are
a product of two thin matrices: log weight = bias_high + bias_low + Σ w − (false_high·w) @ false_lowᵀ. Hidden atoms, and the
clauses that hold them, are evaluated on the tile. Sums are streamed tile by tile, relative to the largest log weight so far.

Where a component has few worlds, the worlds are the columns and the components of one shape the lines.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial

import numpy as np

from markovlogic.errors import ResourceError
from markovlogic.methods.exact.shapes import UNDECIDED, Event, Shape, ShapeAnswer, Variable, normalised, variables_of
from markovlogic.system.arrays import Bool, Float64

Columns = dict[int, Bool]

MOST_WORLDS = 2**25
FEW_WORLDS = 2**12  # up to here, all components of a shape are enumerated at once
_MOST_FEATURES = 2**22  # worlds times atoms and clauses that are tabulated for that
_MOST_COLUMNS = 2**28  # bytes that the columns of the two parts may take
TILE = 2**20  # log weights that are held at once


def refuse_too_many_worlds(shape: Shape, max_worlds: int) -> None:
    """Raise ResourceError where a component has too many worlds to list them, or parts of it too many to tabulate."""
    bits = shape.log2_worlds()
    if bits > math.log2(max_worlds) + 1e-9:
        raise ResourceError(
            f"enumeration of a component of {shape.n_open} atoms would list 2^{bits:.1f} worlds, and at most {max_worlds:,} "
            f"are allowed",
            needed=2.0**bits if bits < 1000 else math.inf,
            limit=max_worlds,
        )
    if bits > math.log2(FEW_WORLDS):
        _refuse_long_columns(shape, *_split(variables_of(shape)))


def enumerate_shape(
    shape: Shape,
    events: Sequence[Event] = (),
    *,
    advance: Callable[[float], None] = lambda share: None,
) -> ShapeAnswer:
    """Solve all components of a shape by listing their worlds; `advance` receives the share of the work that is done."""
    if shape.log2_worlds() == -math.inf:
        return impossible(shape, len(events))
    variables = variables_of(shape)
    worlds = math.prod(v.n_states for v in variables)
    if worlds <= FEW_WORLDS and worlds * (shape.n_all + shape.n_soft) <= _MOST_FEATURES:
        return _rows_at_once(shape, variables, events)
    log_z = np.empty(shape.n_rows)
    marginal = np.empty((shape.n_rows, shape.n_open))
    probability = np.empty(len(events))
    for row in range(shape.n_rows):
        report = partial(_report, advance, row, shape.n_rows)
        own = [i for i, event in enumerate(events) if event.row == row]
        log_z[row], marginal[row], probability[own] = _tiles(shape, row, variables, [events[i].literal for i in own], report)
    return ShapeAnswer(log_z, marginal, probability)


def _report(advance: Callable[[float], None], row: int, n_rows: int, share: float) -> None:
    """Report the advance of one component as that of the whole shape."""
    advance((row + share) / n_rows)


def impossible(shape: Shape, n_events: int) -> ShapeAnswer:
    """The answer where no world is possible."""
    nothing = np.full((shape.n_rows, shape.n_open), math.nan)
    return ShapeAnswer(np.full(shape.n_rows, -math.inf), nothing, np.full(n_events, math.nan))


def _columns(variables: Sequence[Variable]) -> tuple[int, Columns]:
    """All combinations of states, as one column of values for each atom; the first variable changes fastest."""
    count = math.prod(v.n_states for v in variables)
    index = np.arange(count)
    column: Columns = {}
    for variable in variables:
        state = index % variable.n_states
        index //= variable.n_states
        for atom, true_state in zip(variable.atom, variable.true_state.tolist(), strict=True):
            column[atom] = state == true_state
    return count, column


def _false(literals: Sequence[int], column: Columns, shape: tuple[int, ...]) -> Bool:
    """Where all of the literals are false; literals of atoms that have no column are passed over."""
    false = np.ones(shape, bool)
    for q in literals:
        value = column.get(q >> 1)
        if value is not None:
            false = false & (value ^ bool(q & 1))
    return false


def listed_worlds(shape: Shape, variables: Sequence[Variable]) -> tuple[Bool, Float64]:
    """All possible worlds of a component, (n_all, n_worlds), and what biases and weights are multiplied with in each.

    What is possible is the same for all components of a shape.
    """
    count, column = _columns(variables)
    for h in range(shape.n_hidden):
        column[shape.n_open + h] = ~_false(shape.definition(h), column, (count,))
    possible = np.ones(count, bool)
    for h in range(shape.n_open, shape.n_all):
        if shape.fixed[h] != UNDECIDED:
            possible &= column[h] == bool(shape.fixed[h])
    for c in range(shape.n_soft, shape.n_clauses):
        possible &= ~_false(shape.clause(c), column, (count,))
    world = np.array([column[a] for a in range(shape.n_all)], bool).reshape(shape.n_all, count)[:, possible]
    count = world.shape[1]
    column = dict(enumerate(world))
    true = np.array([~_false(shape.clause(c), column, (count,)) for c in range(shape.n_soft)], np.float64)
    return world, np.concatenate([world.astype(np.float64), true.reshape(shape.n_soft, count)])


def _rows_at_once(shape: Shape, variables: Sequence[Variable], events: Sequence[Event]) -> ShapeAnswer:
    """Components as lines, worlds as columns."""
    world, feature = listed_worlds(shape, variables)
    count = world.shape[1]
    if not count:
        return impossible(shape, len(events))
    column = dict(enumerate(world))
    opened = world[: shape.n_open].astype(np.float64).T
    by_row: dict[int, list[int]] = {}
    for i, event in enumerate(events):
        by_row.setdefault(event.row, []).append(i)
    log_z = np.empty(shape.n_rows)
    marginal = np.empty((shape.n_rows, shape.n_open))
    probability = np.empty(len(events))
    step = max(1, TILE // count)
    for begin in range(0, shape.n_rows, step):
        rows = slice(begin, begin + step)
        share = np.concatenate([shape.bias[rows], shape.weight[rows]], axis=1) @ feature
        top = share.max(axis=1, keepdims=True)
        share -= top
        np.exp(share, out=share)
        total = share.sum(axis=1)
        log_z[rows] = top[:, 0] + np.log(total)
        marginal[rows] = normalised(share @ opened, share @ (1.0 - opened))
        for row in by_row.keys() & set(range(begin, begin + step)) if by_row else ():
            for i in by_row[row]:
                holds = _false([q ^ 1 for q in events[i].literal], column, (count,))
                probability[i] = min(share[row - begin, holds].sum() / total[row - begin], 1.0)
    return ShapeAnswer(log_z, marginal, probability)


def _split(variables: Sequence[Variable]) -> tuple[list[Variable], list[Variable]]:
    """Cut so that both parts have few combinations: low at most about the square root of all, and never far from it."""
    aim = math.sqrt(math.prod(v.n_states for v in variables))
    low: list[Variable] = []
    size = 1
    for i, variable in enumerate(variables):
        if low and size * variable.n_states > 4 * aim:
            return low, list(variables[i:])
        low.append(variable)
        size *= variable.n_states
        if size >= aim:
            return low, list(variables[i + 1 :])
    return low, []


def _refuse_long_columns(shape: Shape, low: Sequence[Variable], high: Sequence[Variable]) -> None:
    """Refuse where a part has so many combinations (a group of very many values) that its columns do not fit."""
    parts = [(math.prod(v.n_states for v in part), sum(len(v.atom) for v in part)) for part in (low, high)]
    needed = sum(combinations * atoms for combinations, atoms in parts)
    if needed > _MOST_COLUMNS:
        raise ResourceError(
            f"enumeration of a component of {shape.n_open} atoms would take {needed / 2**20:,.0f} MiB of memory, "
            f"and {_MOST_COLUMNS / 2**20:,.0f} MiB are allowed",
            needed=needed,
            limit=_MOST_COLUMNS,
        )


def _violations(
    clauses: Sequence[tuple[list[int], float]], n_low: int, low_column: Columns, n_high: int, high_column: Columns
) -> tuple[Float64, Float64]:
    """Two matrices whose product, upper @ lower, is the weight of the false clauses for every pair of parts.

    Clauses with the same literals in the low part share a column, so that many clauses still make thin matrices.
    """
    number: dict[tuple[int, ...], int] = {}
    for literals, _ in clauses:
        number.setdefault(tuple(q for q in literals if q >> 1 in low_column), len(number))
    lower = np.array([_false(key, low_column, (n_low,)) for key in number], np.float64).reshape(len(number), n_low)
    upper = np.zeros((len(number), n_high))
    for literals, weight in clauses:
        key = tuple(q for q in literals if q >> 1 in low_column)
        upper[number[key]] += weight * _false(literals, high_column, (n_high,))
    return lower, np.ascontiguousarray(upper.T)


def _tiles(
    shape: Shape,
    row: int,
    variables: Sequence[Variable],
    events: Sequence[Sequence[int]],
    report: Callable[[float], None],
) -> tuple[float, Float64, Float64]:
    """Log Z, marginals and event probabilities of one component, tile by tile."""
    low, high = _split(variables)
    n_low, low_column = _columns(low)
    n_high, high_column = _columns(high)
    weight, bias = shape.weight[row], shape.bias[row]
    clauses = [shape.clause(c) for c in range(shape.n_clauses)]
    over_hidden = [c for c, literals in enumerate(clauses) if any(q >> 1 >= shape.n_open for q in literals)]
    plain = sorted(set(range(shape.n_clauses)) - set(over_hidden))
    soft = [(clauses[c], float(weight[c])) for c in plain if c < shape.n_soft]
    hard = [(clauses[c], 1.0) for c in plain if c >= shape.n_soft]
    soft_low, soft_high = _violations(soft, n_low, low_column, n_high, high_column)
    hard_low, hard_high = _violations(hard, n_low, low_column, n_high, high_column)
    low_bias = sum((bias[a] * v for a, v in low_column.items()), np.zeros(n_low)) + weight.sum()
    high_bias = sum((bias[a] * v for a, v in high_column.items()), np.zeros(n_high))
    negated = [[q ^ 1 for q in literals] for literals in events]
    event_low = np.array([_false(e, low_column, (n_low,)) for e in negated], np.float64).reshape(len(events), n_low).T
    event_high = np.array([_false(e, high_column, (n_high,)) for e in negated], np.float64).reshape(len(events), n_high)

    top = -math.inf
    by_low = np.zeros(n_low)
    by_high = np.zeros(n_high)
    by_event = np.zeros(len(events))
    step = max(1, TILE // n_low)
    if shape.n_hidden > 64:  # a byte for each hidden atom of each world of a tile
        step = max(1, step * 64 // shape.n_hidden)
    for begin in range(0, n_high, step):
        part = slice(begin, min(begin + step, n_high))
        tile = soft_high[part] @ soft_low
        np.subtract(low_bias, tile, out=tile)
        tile += high_bias[part, None]
        if hard:
            tile[hard_high[part] @ hard_low > 0.5] = -math.inf
        if shape.n_hidden:
            _add_hidden(tile, shape, row, over_hidden, low_column, {a: v[part] for a, v in high_column.items()})
        report(part.stop / n_high)
        peak = float(tile.max())
        if peak == -math.inf:
            continue
        if peak > top:
            shrink = math.exp(top - peak)
            by_low *= shrink
            by_high *= shrink
            by_event *= shrink
            top = peak
        tile -= top
        np.exp(tile, out=tile)
        by_low += tile.sum(axis=0)
        by_high[part] = tile.sum(axis=1)
        if events:
            by_event += np.einsum("he,eh->e", tile @ event_low, event_high[:, part])
    if top == -math.inf:
        return top, np.full(shape.n_open, math.nan), np.full(len(events), math.nan)
    total = float(by_high.sum())
    marginal = np.empty(shape.n_open)
    for column, share in ((low_column, by_low), (high_column, by_high)):
        for atom, value in column.items():
            marginal[atom] = normalised(share[value].sum(), share[~value].sum())
    return top + math.log(total), marginal, np.minimum(by_event / total, 1.0)


def _add_hidden(tile: Float64, shape: Shape, row: int, clauses: Sequence[int], low_column: Columns, high_column: Columns) -> None:
    """Add what hidden atoms and the clauses over them give to a tile; columns broadcast, so that small parts stay small."""
    value: Columns = {a: v[None, :] for a, v in low_column.items()}
    value.update((a, v[:, None]) for a, v in high_column.items())
    for h in range(shape.n_hidden):
        atom = shape.n_open + h
        value[atom] = ~_false(shape.definition(h), value, (1, 1))
        if shape.fixed[atom] != UNDECIDED:
            tile += np.where(value[atom] == bool(shape.fixed[atom]), 0.0, -math.inf)
        elif shape.bias[row, atom]:
            tile += shape.bias[row, atom] * value[atom]
    for c in clauses:
        false = _false(shape.clause(c), value, (1, 1))
        if c < shape.n_soft:
            tile -= shape.weight[row, c] * false
        else:
            tile += np.where(false, -math.inf, 0.0)
