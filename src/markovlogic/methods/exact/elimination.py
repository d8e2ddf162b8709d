"""Variable elimination on a bucket tree, in two passes, for all components of a shape at once.

The forward pass eliminates the variables in order; a bucket's table is the sum of all log factors whose first variable it is,
and its message the log-sum-exp over that variable. What is kept is P(variable | rest of the bucket) = exp(table − message),
which is stable for weights of any size. The backward pass multiplies these conditionals from the last variable to the first,
P(bucket) = P(variable | rest)·P(rest), so that every single-atom marginal comes out of one run.
Source: Dechter, Bucket elimination: a unifying framework for reasoning (1999).
Departs: the backward pass holds probabilities, not messages; nothing is divided, so hard constraints leave exact zeros.
"""

from __future__ import annotations

import bisect
import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import chain

import numpy as np
import numpy.typing as npt

from markovlogic.methods.exact.enumeration import impossible
from markovlogic.methods.exact.factors import Factor, FactorModel, factor_model
from markovlogic.methods.exact.shapes import NEVER, Event, Shape, ShapeAnswer
from markovlogic.methods.exact.widths import CHUNK, EliminationPlan, Order
from markovlogic.system.arrays import Float64

_REPORT = 2**20  # entries between two signs of life


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
    rest: tuple[int, ...]  # the variables of the other axes


@dataclass(frozen=True, eq=False)
class Program:
    """What the two passes over the tables work from."""

    model: FactorModel
    buckets: list[Bucket]
    entries: float  # of all tables
    true: list[int]  # decided atoms that are true
    constant: list[Factor]  # factors without variables


def factor_program(shape: Shape, plan: EliminationPlan) -> Program:
    """The variables and factors of a shape in the order of a plan."""
    model = factor_model(shape, plan.longest)
    true = [atom for atom, value in model.decided.items() if value]
    constant = [factor for factor in model.factors if not factor.scope]
    return Program(model, _bucket_tree(model, plan.order), plan.entries, true, constant)


def eliminate_shape(
    shape: Shape,
    plan: EliminationPlan,
    events: Sequence[Event] = (),
    *,
    advance: Callable[[float], None] = lambda share: None,
) -> ShapeAnswer:
    """Solve all components of a shape; `advance` receives the share of the work that is done."""
    if shape.log2_worlds() == -math.inf:
        return impossible(shape, len(events))
    program = factor_program(shape, plan)
    if not program.model.possible:
        return impossible(shape, len(events))
    step = max(1, int(CHUNK // max(plan.entries, 1)))
    log_z = np.empty(shape.n_rows)
    marginal = np.empty((shape.n_rows, shape.n_open))
    work = shape.n_rows + len(events)
    for begin in range(0, shape.n_rows, step):
        rows = np.arange(begin, min(begin + step, shape.n_rows))
        report = _part(advance, begin / work, len(rows) / work)
        log_z[rows], conditionals = _forward(program, shape.bias[rows], shape.weight[rows], {}, True, report)
        marginal[rows] = _backward(program, shape, conditionals, len(rows))
    probability = np.empty(len(events))
    for begin in range(0, len(events), step):
        some = events[begin : begin + step]
        rows = np.array([event.row for event in some])
        clamp, sure = _clamps(program.model, some)
        report = _part(advance, (shape.n_rows + begin) / work, len(rows) / work)
        log_part, _ = _forward(program, shape.bias[rows], shape.weight[rows], clamp, False, report)
        with np.errstate(invalid="ignore"):  # -inf less -inf where no world is possible: nan is right
            probability[begin : begin + step] = np.where(sure, np.minimum(np.exp(log_part - log_z[rows]), 1.0), 0.0)
    return ShapeAnswer(log_z, marginal, probability)


@dataclass(frozen=True, eq=False)
class Expectations:
    """Log Z and how probable all atoms and soft clauses of a component are, for several weights of one structure."""

    log_z: Float64  # (n_rows,) -inf where no world is possible; the rest is nan there
    atom: Float64  # (n_rows, n_all) P(atom is true), hidden ones too
    clause: Float64  # (n_rows, n_soft) P(soft clause is true)


def expectations(
    shape: Shape, plan: EliminationPlan, bias: Float64, weight: Float64, literal: Sequence[int | None]
) -> Expectations:
    """As `eliminate_shape` for rows of biases (n_rows, n_all) and weights (n_rows, n_soft), with clauses and hidden atoms.

    literal: for each row one that must hold, or None. It must be of an open atom that is not decided.
    """
    program, n_rows = factor_program(shape, plan), len(bias)
    log_z = np.full(n_rows, -math.inf)
    atom = np.full((n_rows, shape.n_all), math.nan)
    clause = np.full((n_rows, shape.n_soft), math.nan)
    step = max(1, int(CHUNK // max(plan.entries, 1)))
    for begin in range(0, n_rows if program.model.possible else 0, step):
        rows = slice(begin, min(begin + step, n_rows))
        part = literal[rows]
        events = [Event(at, () if one is None else (one,)) for at, one in enumerate(part)]
        clamp, sure = _clamps(program.model, events)
        log_z[rows], conditionals = _forward(program, bias[rows], weight[rows], clamp, True, lambda share: None)
        log_z[rows] = np.where(sure, log_z[rows], -math.inf)
        held = np.zeros((shape.n_soft, len(part)))
        for factor in program.constant:
            if factor.weight is not None:
                held[factor.weight] = 1.0

        def count(bucket: Bucket, joint: Float64, held: Float64 = held) -> None:
            for factor, fitting in bucket.factors:
                if factor.weight is not None:
                    axes = tuple(range(joint.ndim - 1))
                    held[factor.weight] = np.sum(joint, axis=axes, where=factor.holds.reshape(*fitting, 1))

        atom[rows] = _backward(program, shape, conditionals, len(part), count)
        clause[rows] = held.T
    return Expectations(log_z, atom, clause)


def _part(advance: Callable[[float], None], before: float, share: float) -> Callable[[float], None]:
    """Report the advance of a part as the advance of the whole."""
    return lambda done: advance(before + done * share)


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
        own[at].sort(key=lambda fitted: fitted[0].holds.size)
        rest = scope[1:]
        parent = position[rest[0]] if rest else -1
        message_shape = _fitting(model, scopes[parent], rest) if rest else ()
        kept = set(rest)
        summed = tuple(i for i, u in enumerate(scopes[parent]) if u not in kept) if rest else ()
        shape = tuple(model.n_states[u] for u in scope)
        buckets.append(Bucket(scope[0], shape, own[at], parent, message_shape, summed, rest))
    return buckets


def _fitting(model: FactorModel, scope: tuple[int, ...], part: tuple[int, ...]) -> tuple[int, ...]:
    """The shape that lets a table over `part` be added to one over `scope`: both are sorted alike."""
    inside = set(part)
    return tuple(model.n_states[u] if u in inside else 1 for u in scope)


def _forward(
    program: Program,
    bias: Float64,
    weight: Float64,
    clamp: dict[int, Float64],
    keep: bool,
    report: Callable[[float], None],
) -> tuple[Float64, list[Float64]]:
    """Eliminate all variables: log Z of each row, and the conditional of each bucket if they are to be kept."""
    n_rows = len(bias)
    log_z = bias[:, program.true].sum(axis=1)
    for factor in program.constant:
        log_z = log_z + factor.table(weight)
    own = own_tables(program, bias)
    for v, table in clamp.items():
        own[v] = own[v] + table
    waiting: list[list[Float64]] = [[] for _ in program.buckets]
    conditionals: list[Float64] = []
    done, next_report = 0, _REPORT
    for at, bucket in enumerate(program.buckets):
        table = bucket_table(bucket, own, weight, waiting[at])
        waiting[at] = []
        message = _eliminate_first(table)
        if keep:
            conditionals.append(table)
        if bucket.parent < 0:
            log_z = log_z + message
        else:
            bisect.insort(waiting[bucket.parent], message.reshape(*bucket.message_shape, n_rows), key=np.size)
        done += table.size
        if done >= next_report:
            report(done / (n_rows * program.entries))
            next_report = done + _REPORT
    return log_z, conditionals


def own_tables(program: Program, bias: Float64) -> dict[int, Float64]:
    """What biases give to each state of each variable that has any, with a last axis for the rows."""
    own: dict[int, Float64] = {}
    for v, choice in program.model.open_choices:
        own[v] = np.zeros((choice.n_states, len(bias)))
        possible = choice.true_state != NEVER
        own[v][choice.true_state[possible]] = bias[:, np.array(choice.atom)[possible]].T
    for v, atom in program.model.hidden_states:
        own[v] = np.array([[0.0], [1.0]]) * bias[:, atom]
    return own


def bucket_table(bucket: Bucket, own: dict[int, Float64], weight: Float64, messages: Iterable[Float64]) -> Float64:
    """The sum of everything whose first variable is the bucket's: its own log values, factors and messages."""
    n_rows = len(weight)
    parts = (factor.table(weight).reshape(*fitting, -1) for factor, fitting in bucket.factors)
    first = []
    if bucket.variable in own:
        first.append(own[bucket.variable].reshape(-1, *[1] * (len(bucket.shape) - 1), n_rows))
    return _sum(chain(first, parts, messages), (*bucket.shape, n_rows))


def _sum(parts: Iterable[Float64], shape: tuple[int, ...]) -> Float64:
    """The sum of tables that broadcast to a shape; give small ones first, so that few additions run over the whole."""
    total = np.zeros([1] * len(shape))
    for part in parts:
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


def _backward(
    program: Program,
    shape: Shape,
    conditionals: list[Float64],
    n_rows: int,
    see: Callable[[Bucket, Float64], None] | None = None,
) -> Float64:
    """Marginals of all open atoms from the conditionals, which are used up.

    see: gets each bucket's joint probabilities; with it, hidden atoms have marginals too.
    """
    children: list[list[int]] = [[] for _ in program.buckets]
    for at, bucket in enumerate(program.buckets):
        if bucket.parent >= 0:
            children[bucket.parent].append(at)
    above: dict[int, Float64] = {}
    single: dict[int, Float64] = {}
    for at in range(len(program.buckets) - 1, -1, -1):
        bucket = program.buckets[at]
        joint = conditionals.pop()
        if bucket.parent >= 0:
            joint *= above.pop(at)
        if see is not None:
            see(bucket, joint)
        for child in children[at]:
            above[child] = _summed(joint, program.buckets[child].summed)
        single[bucket.variable] = joint.sum(axis=tuple(range(1, joint.ndim - 1)))
    n_atoms = shape.n_open if see is None else shape.n_all
    marginal = np.empty((n_rows, n_atoms))
    for atom, value in program.model.decided.items():
        if atom < n_atoms:
            marginal[:, atom] = value
    with np.errstate(invalid="ignore"):  # 0 / 0 where no world is possible: nan is right
        for v, choice in program.model.open_choices:
            share = single[v] / single[v].sum(axis=0)  # exactly 1 where all other states are impossible
            state = choice.true_state
            marginal[:, choice.atom] = np.where(state[:, None] == NEVER, 0.0, share[state]).T
        for v, atom in program.model.hidden_states if see is not None else ():
            marginal[:, atom] = single[v][1] / single[v].sum(axis=0)
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
