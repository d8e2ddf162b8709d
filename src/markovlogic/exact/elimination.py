"""Variable elimination on a bucket tree, in two passes, for all components of a shape at once.

The forward pass eliminates the variables in order; a bucket's table is the sum of all log factors whose first variable it is,
and its message the log-sum-exp over that variable. What is kept is P(variable | rest of the bucket) = exp(table − message),
which is stable for weights of any size. The backward pass multiplies these conditionals from the last variable to the first,
P(bucket) = P(variable | rest)·P(rest), so that every single-atom marginal comes out of one run.
Source: Dechter, Bucket elimination: a unifying framework for reasoning (1999).
Departs: the backward pass holds probabilities, not messages; nothing is divided, so hard constraints leave exact zeros.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from markovlogic.arrays import Float64
from markovlogic.errors import ResourceError
from markovlogic.exact.enumeration import impossible
from markovlogic.exact.factors import Factor, FactorModel, factor_model
from markovlogic.exact.ordering import Order, TooWide, core, good_order
from markovlogic.exact.shapes import UNDECIDED, Event, Shape, ShapeAnswer
from markovlogic.exact.states import NEVER

MOST_WIDTH = 20
MOST_VARIABLES = 500_000
_DEFAULT_MEMORY = 2 * 2**30
_ROW_LENGTHS = (5, 3)  # longer rows are split: tried one after the other
_CHUNK = 2**22  # table entries over all components that are solved together
_REPORT = 2**20  # entries between two signs of life
_LARGE = 1000  # from here on, a component is first tested for being sure to be too wide


@dataclass(frozen=True, eq=False)
class Bucket:
    """One variable's elimination: the axes of its table are the variables in the order of elimination, its own first.

    The last axis of all tables holds the components. So the first axis is reduced over long contiguous lines, and a message
    has the axes of its receiver in the same order.
    """

    variable: int
    shape: tuple[int, ...]
    factors: list[tuple[Factor, tuple[int, ...]]]  # with the shape that makes the factor's table fit
    parent: int  # position of the bucket that receives the message; -1: none
    message_shape: tuple[int, ...]  # makes the message fit the parent's table
    summed: tuple[int, ...]  # axes of the parent's table that the message does not have


@dataclass(frozen=True, eq=False)
class Plan:
    """How a shape is eliminated, and what that takes for one component."""

    model: FactorModel
    buckets: list[Bucket]
    width: int
    entries: float  # of all tables
    largest: float  # of the largest table
    base: tuple[list[int], list[Factor]]  # decided atoms that are true, and factors without variables


def plan_elimination(shape: Shape, *, max_width: int = MOST_WIDTH, memory_limit: float | None = None) -> Plan:
    """Find an order within the bounds, or refuse with the width found and the bound."""
    _refuse_surely_wide(shape, max_width)
    rows = np.concatenate([np.diff(shape.clause_start), np.diff(shape.definition_start) + 1])
    narrowest: TooWide | None = None
    for attempt, longest in enumerate(_ROW_LENGTHS):
        if attempt and rows.max(initial=0) <= longest:
            break
        model = factor_model(shape, longest)
        order = good_order(model.graph(), model.n_states, max_width + 1)
        if isinstance(order, Order):
            break
        narrowest = min(narrowest or order, order, key=lambda found: found.bits)
    if not isinstance(order, Order):
        assert narrowest is not None
        raise _too_wide(shape, narrowest.width, narrowest.bits, max_width)
    entries, largest = order.entries(model.n_states)
    limit = _DEFAULT_MEMORY if memory_limit is None else memory_limit
    needed = 8.0 * (entries + 4 * largest)
    if needed > limit:
        raise ResourceError(
            f"elimination of a component of {shape.n_open} atoms has width {order.width} (bound {max_width}), but its tables "
            f"would take {needed / 2**20:,.0f} MiB of memory, and {limit / 2**20:,.0f} MiB are allowed",
            needed=needed,
            limit=limit,
        )
    true = [atom for atom, value in model.decided.items() if value]
    constant = [f for f in model.factors if not f.scope]
    return Plan(model, _bucket_tree(model, order), order.width, entries, largest, (true, constant))


def eliminate_shape(
    shape: Shape,
    events: Sequence[Event] = (),
    *,
    plan: Plan | None = None,
    max_width: int = MOST_WIDTH,
    memory_limit: float | None = None,
    advance: Callable[[float], None] = lambda share: None,
) -> ShapeAnswer:
    """Solve all components of a shape; `advance` hears which share of the work is done."""
    if shape.log2_worlds() == -math.inf:
        return impossible(shape, len(events))
    plan = plan or plan_elimination(shape, max_width=max_width, memory_limit=memory_limit)
    if not plan.model.possible:
        return impossible(shape, len(events))
    step = max(1, int(_CHUNK // max(plan.entries, 1)))
    log_z = np.empty(shape.n_rows)
    marginal = np.empty((shape.n_rows, shape.n_open))
    work = shape.n_rows + len(events)
    for begin in range(0, shape.n_rows, step):
        rows = np.arange(begin, min(begin + step, shape.n_rows))
        report = _part(advance, begin / work, len(rows) / work)
        log_z[rows], conditionals = _forward(plan, shape.bias[rows], shape.weight[rows], {}, True, report)
        marginal[rows] = _backward(plan, shape, conditionals, len(rows))
    probability = np.empty(len(events))
    for begin in range(0, len(events), step):
        asked = events[begin : begin + step]
        rows = np.array([event.row for event in asked])
        clamp, sure = _clamps(plan.model, asked)
        report = _part(advance, (shape.n_rows + begin) / work, len(rows) / work)
        log_part, _ = _forward(plan, shape.bias[rows], shape.weight[rows], clamp, False, report)
        with np.errstate(invalid="ignore"):  # -inf less -inf where no world is possible: nan is right
            probability[begin : begin + step] = np.where(sure, np.minimum(np.exp(log_part - log_z[rows]), 1.0), 0.0)
    return ShapeAnswer(log_z, marginal, probability)


def _part(advance: Callable[[float], None], before: float, share: float) -> Callable[[float], None]:
    """Report the advance of a part as the advance of the whole."""
    return lambda done: advance(before + done * share)


def _refuse_surely_wide(shape: Shape, max_width: int) -> None:
    """Refuse large dense components before anything is built: a (k+1)-core of short clauses alone shows width k+1 or more."""
    if shape.n_all <= _LARGE:
        return
    if shape.n_all > MOST_VARIABLES:
        raise ResourceError(
            f"elimination is not tried on a component of {shape.n_all:,} atoms (bound {MOST_VARIABLES:,})",
            needed=shape.n_all,
            limit=MOST_VARIABLES,
        )
    variable = np.arange(shape.n_all)
    variable[shape.group_atom] = np.repeat(shape.group_atom[shape.group_start[:-1]], np.diff(shape.group_start))
    pairs = []
    for length in (2, 3):
        start = shape.clause_start[:-1][np.diff(shape.clause_start) == length]
        row = shape.clause_literal[start[:, None] + np.arange(length)] >> 1
        row = row[(shape.fixed[row] == UNDECIDED).all(axis=1)]
        for i in range(length):
            for j in range(i):
                pairs.append(np.sort(variable[row[:, [i, j]]], axis=1))
    edge = np.unique(np.concatenate(pairs), axis=0)
    edge = edge[edge[:, 0] != edge[:, 1]]
    if core(shape.n_all, edge[:, 0], edge[:, 1], max_width + 1):
        raise _too_wide(shape, max_width + 1, max_width + 2, max_width)


def _too_wide(shape: Shape, width: int, bits: float, max_width: int) -> ResourceError:
    return ResourceError(
        f"elimination of a component of {shape.n_open} atoms has width {width} or more (tables of 2^{bits:.0f} entries) in the "
        f"best order found, and the bound is {max_width} (tables of 2^{max_width + 1} entries)",
        needed=width,
        limit=max_width,
    )


def _bucket_tree(model: FactorModel, order: Order) -> list[Bucket]:
    """Buckets in the order of elimination, with every broadcast worked out."""
    position = [0] * len(model.n_states)
    for at, v in enumerate(order.variable):
        position[v] = at
    scopes = [(v, *sorted(around, key=position.__getitem__)) for v, around in zip(order.variable, order.neighbours, strict=True)]
    own: list[list[tuple[Factor, tuple[int, ...]]]] = [[] for _ in scopes]
    for factor in model.factors:
        if factor.scope:
            axes = sorted(range(len(factor.scope)), key=lambda i: position[factor.scope[i]])
            scope = tuple(factor.scope[i] for i in axes)
            at = position[scope[0]]
            fitted = Factor(scope, factor.holds.transpose(axes), factor.weight)
            own[at].append((fitted, _fitting(model, scopes[at], scope)))
    buckets = []
    for at, scope in enumerate(scopes):
        rest = scope[1:]
        parent = position[rest[0]] if rest else -1
        message_shape = _fitting(model, scopes[parent], rest) if rest else ()
        kept = set(rest)
        summed = tuple(i for i, u in enumerate(scopes[parent]) if u not in kept) if rest else ()
        shape = tuple(model.n_states[u] for u in scope)
        buckets.append(Bucket(scope[0], shape, own[at], parent, message_shape, summed))
    return buckets


def _fitting(model: FactorModel, scope: tuple[int, ...], part: tuple[int, ...]) -> tuple[int, ...]:
    """The shape that lets a table over `part` be added to one over `scope`: both are sorted alike."""
    inside = set(part)
    return tuple(model.n_states[u] if u in inside else 1 for u in scope)


def _forward(
    plan: Plan,
    bias: Float64,
    weight: Float64,
    clamp: dict[int, Float64],
    keep: bool,
    report: Callable[[float], None],
) -> tuple[Float64, list[Float64]]:
    """Eliminate all variables: log Z of each row, and the conditional of each bucket if they are to be kept."""
    n_rows = len(bias)
    true, constant = plan.base
    log_z = bias[:, true].sum(axis=1)
    for factor in constant:
        log_z = log_z + factor.table(weight)
    own: dict[int, Float64] = {}
    for v, choice in plan.model.open_choices:
        own[v] = np.zeros((choice.n_states, n_rows))
        possible = choice.true_state != NEVER
        own[v][choice.true_state[possible]] = bias[:, np.array(choice.atom)[possible]].T
    for v, atom in plan.model.hidden_states:
        own[v] = np.array([[0.0], [1.0]]) * bias[:, atom]
    for v, table in clamp.items():
        own[v] = own[v] + table
    waiting: list[list[Float64]] = [[] for _ in plan.buckets]
    conditionals: list[Float64] = []
    done, next_report = 0, _REPORT
    for at, bucket in enumerate(plan.buckets):
        parts = [factor.table(weight).reshape(*fitting, -1) for factor, fitting in bucket.factors]
        if bucket.variable in own:
            parts.append(own[bucket.variable].reshape(-1, *[1] * (len(bucket.shape) - 1), n_rows))
        table = _sum([*parts, *waiting[at]], (*bucket.shape, n_rows))
        waiting[at] = []
        message = _eliminate_first(table)
        if keep:
            conditionals.append(table)
        if bucket.parent < 0:
            log_z = log_z + message
        else:
            waiting[bucket.parent].append(message.reshape(*bucket.message_shape, n_rows))
        done += table.size
        if done >= next_report:
            report(done / (n_rows * plan.entries))
            next_report = done + _REPORT
    return log_z, conditionals


def _sum(parts: list[Float64], shape: tuple[int, ...]) -> Float64:
    """The sum of tables that broadcast to a shape; small ones first, so that few additions run over the whole."""
    total = np.zeros([1] * len(shape))
    for part in sorted(parts, key=np.size):
        if total.shape == shape:
            total += part
        else:
            total = total + part
    return total if total.shape == shape else np.broadcast_to(total, shape).copy()


def _eliminate_first(table: Float64) -> Float64:
    """Log-sum-exp over the first axis; the table becomes the conditional of that axis given the others (0 where impossible)."""
    top = table.max(axis=0)
    top[np.isneginf(top)] = 0.0
    table -= top
    np.exp(table, out=table)
    total = table.sum(axis=0)
    table /= np.where(total > 0.0, total, 1.0)
    with np.errstate(divide="ignore"):
        message: Float64 = np.log(total)
    message += top
    return message


def _backward(plan: Plan, shape: Shape, conditionals: list[Float64], n_rows: int) -> Float64:
    """Marginals of all open atoms from the conditionals, which are used up."""
    children: list[list[int]] = [[] for _ in plan.buckets]
    for at, bucket in enumerate(plan.buckets):
        if bucket.parent >= 0:
            children[bucket.parent].append(at)
    above: dict[int, Float64] = {}
    single: dict[int, Float64] = {}
    for at in range(len(plan.buckets) - 1, -1, -1):
        bucket = plan.buckets[at]
        joint = conditionals.pop()
        if bucket.parent >= 0:
            joint *= above.pop(at)
        for child in children[at]:
            above[child] = _summed(joint, plan.buckets[child].summed)
        single[bucket.variable] = joint.sum(axis=tuple(range(1, joint.ndim - 1)))
    marginal = np.empty((n_rows, shape.n_open))
    for atom, value in plan.model.decided.items():
        if atom < shape.n_open:
            marginal[:, atom] = value
    with np.errstate(invalid="ignore"):  # 0 / 0 where no world is possible: nan is right
        for v, choice in plan.model.open_choices:
            share = single[v] / single[v].sum(axis=0)  # exactly 1 where all other states are impossible
            state = choice.true_state
            marginal[:, choice.atom] = np.where(state[:, None] == NEVER, 0.0, share[state]).T
    return marginal


def _summed(table: Float64, axes: tuple[int, ...]) -> Float64:
    """Sum over axes, one by one: adding slices is many times faster than numpy's reduction over a short inner axis."""
    for axis in sorted(axes, reverse=True):
        flat = table.reshape(math.prod(table.shape[:axis]), table.shape[axis], -1)
        total = flat[:, 0] + flat[:, 1] if flat.shape[1] > 1 else flat[:, 0]
        for state in range(2, flat.shape[1]):
            total += flat[:, state]
        table = total.reshape(*table.shape[:axis], *table.shape[axis + 1 :])
    return table


def _clamps(model: FactorModel, events: Sequence[Event]) -> tuple[dict[int, Float64], npt.NDArray[np.bool_]]:
    """Log 0/1 tables that keep to each event's literals, by variable; and whether the decided literals of each hold."""
    clamp: dict[int, Float64] = {}
    sure = np.ones(len(events), bool)
    for i, event in enumerate(events):
        for literal in event.literal:
            test = model.test(literal)
            if isinstance(test, bool):
                sure[i] &= test
                continue
            variable, true = test
            table = clamp.setdefault(variable, np.zeros((model.n_states[variable], len(events))))
            table[~true, i] = -math.inf
    return clamp, sure
