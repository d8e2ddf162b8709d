"""Components sorted by shape: those of one shape have the same structure and differ in weights only, so they are solved together.

Relational data gives many small components that look alike (a page and its links, a person and his friends). Numbering the
atoms of each from 0 makes the likeness visible, and one run over arrays with a row for each component replaces a loop.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from markovlogic.networks.components import Components
from markovlogic.networks.ground import GroundNetwork
from markovlogic.system.arrays import Float64, Int8, Int32, Int64, Pickled, each_once, offsets

UNDECIDED = -1


@dataclass(frozen=True, eq=False)
class Shape(Pickled):
    """The common structure of `n_rows` components, with atoms numbered within a component, and the numbers of each.

    Open atoms come first, then hidden ones; soft clauses come first, then hard ones; rows are compressed as in GroundNetwork.
    """

    n_open: int
    n_hidden: int
    n_soft: int
    clause_start: Int64
    clause_literal: Int32
    group_start: Int64
    group_atom: Int32
    definition_start: Int64
    definition_literal: Int32
    fixed: Int8  # (n_open + n_hidden,) the value that an infinite bias gives an atom, else UNDECIDED
    component: Int64  # (n_rows,)
    atom: Int32  # (n_rows, n_open) numbers in the network
    bias: Float64  # (n_rows, n_open + n_hidden) 0 where fixed
    weight: Float64  # (n_rows, n_soft)

    @property
    def n_rows(self) -> int:
        """How many components have this shape."""
        return len(self.component)

    @property
    def n_all(self) -> int:
        """Open and hidden atoms of one component."""
        return self.n_open + self.n_hidden

    @property
    def n_clauses(self) -> int:
        """Clauses of one component."""
        return len(self.clause_start) - 1

    def clause(self, number: int) -> list[int]:
        """Literals of a clause."""
        return _row(self.clause_start, self.clause_literal, number)

    def group(self, number: int) -> list[int]:
        """Atoms of an exclusive group."""
        return _row(self.group_start, self.group_atom, number)

    def definition(self, number: int) -> list[int]:
        """Literals that define a hidden atom."""
        return _row(self.definition_start, self.definition_literal, number)

    def log2_worlds(self) -> float:
        """Base-2 logarithm of the number of worlds that groups and fixed atoms leave; -inf when a group has no value left."""
        fixed = self.fixed[: self.n_open]
        free = fixed == UNDECIDED
        if len(self.group_atom):
            free = free.copy()
            free[self.group_atom] = False
        bits = float(np.count_nonzero(free))
        if len(self.group_start) > 1:
            member = fixed[self.group_atom]
            sure = np.add.reduceat((member == 1).astype(np.int64), self.group_start[:-1])
            left = np.add.reduceat((member != 0).astype(np.int64), self.group_start[:-1])
            left = np.where(sure == 0, left, np.where(sure == 1, 1, 0))
            with np.errstate(divide="ignore"):
                bits += float(np.log2(left).sum())
        return bits


@dataclass(frozen=True, eq=False)
class _Family:
    """Rows of one kind (clauses, groups, definitions) in the order of their components."""

    start: Int64  # offsets of rows
    value: Int32
    row_start: Int64  # (n_components + 1,) offsets of each component's rows
    value_start: Int64  # (n_components + 1,) offsets of each component's values

    def lengths(self, component: Int64) -> Int64:
        """Row lengths of components that have equally many rows, one line each."""
        count = int(self.row_start[component[0] + 1] - self.row_start[component[0]])
        at = self.row_start[component][:, None] + np.arange(count)
        length: Int64 = self.start[at + 1] - self.start[at]
        return length

    def values(self, component: Int64) -> Int32:
        """Values of components that have equally many values, one line each."""
        count = int(self.value_start[component[0] + 1] - self.value_start[component[0]])
        value: Int32 = self.value[self.value_start[component][:, None] + np.arange(count)]
        return value


@dataclass(frozen=True, eq=False)
class SameSize(Pickled):
    """Components that have equally many atoms, clauses and literals, and differ in form; none has groups or hidden atoms."""

    component: Int64  # (n_rows,)
    atom: Int32  # (n_rows, n_open) numbers in the network
    bias: Float64  # (n_rows, n_open) infinite where an atom is fixed
    weight: Float64  # (n_rows, n_clauses) infinite where a clause is hard
    length: Int64  # (n_rows, n_clauses) of the clauses
    literal: Int32  # (n_rows, n_literals) numbered within a component


def shapes_of(network: GroundNetwork, parts: Components, which: Int64) -> Iterator[Shape]:
    """Sort the components in `which` by shape; every one of them is in exactly one of the shapes that come."""
    for shape in shapes_and_sizes(network, parts, which, most_atoms=0, many_forms=0):
        assert isinstance(shape, Shape)
        yield shape


def shapes_and_sizes(
    network: GroundNetwork, parts: Components, which: Int64, *, most_atoms: int, many_forms: int
) -> Iterator[Shape | SameSize]:
    """The same, where those of one size come together if they have so many forms or more, and no more than so many atoms."""
    if not len(which):
        return
    local = np.empty(network.n_all, np.int32)
    local[parts.atom] = np.arange(network.n_all) - np.repeat(parts.start[:-1], np.diff(parts.start))
    hidden_of = parts.component_of[network.n_atoms :]
    group_of = parts.component_of[network.group_atom[network.group_start[:-1]]]
    clauses = _family(network.clause_start, _local_literals(local, network.clause_literal), parts.clause, parts.clause_start)
    groups = _family(network.group_start, local[network.group_atom], *_order(group_of, parts.n_components))
    hidden_order, hidden_start = _order(hidden_of, parts.n_components)
    literal = _local_literals(local, network.definition_literal)
    definitions = _family(network.definition_start, literal, hidden_order, hidden_start)
    hard_before = np.concatenate([[0], np.cumsum(np.isinf(network.clause_weight[parts.clause]))])
    n_hard = hard_before[parts.clause_start[1:]] - hard_before[parts.clause_start[:-1]]

    sizes = [np.diff(parts.start), n_hard]
    for family in (clauses, groups, definitions):
        sizes += [np.diff(family.row_start), np.diff(family.value_start)]
    for same_size in _classes([size[which] for size in sizes]):
        member = which[same_size]
        n_all, n_clauses = (int(sizes[i][member[0]]) for i in (0, 2))
        n_hidden, n_soft = int(sizes[6][member[0]]), n_clauses - int(n_hard[member[0]])
        atom = parts.atom[parts.start[member][:, None] + np.arange(n_all)]
        clause = parts.clause[parts.clause_start[member][:, None] + np.arange(n_clauses)]
        bias = network.atom_bias[atom]
        fixed = np.where(np.isinf(bias), (bias > 0).astype(np.int8), np.int8(UNDECIDED)).astype(np.int8)
        bias = np.where(np.isinf(bias), 0.0, bias)
        pieces = [p for f in (clauses, groups, definitions) for p in (f.lengths(member), f.values(member))]
        forms = _equal_lines(np.concatenate([*(p.astype(np.int32) for p in pieces), fixed.astype(np.int32)], axis=1))
        if n_all <= most_atoms and not n_hidden and not sizes[4][member[0]] and len(member) >= many_forms:
            listed = list(forms)
            if len(listed) >= many_forms:
                weight, literal = network.clause_weight[clause], pieces[1].astype(np.int32)
                yield SameSize(member, atom, network.atom_bias[atom], weight, pieces[0].astype(np.int64), literal)
                continue
            forms = iter(listed)
        for same in forms:
            first = [p[same[0]] for p in pieces]
            yield Shape(
                n_open=n_all - n_hidden,
                n_hidden=n_hidden,
                n_soft=n_soft,
                clause_start=offsets(first[0]),
                clause_literal=first[1],
                group_start=offsets(first[2]),
                group_atom=first[3],
                definition_start=offsets(first[4]),
                definition_literal=first[5],
                fixed=fixed[same[0]],
                component=member[same],
                atom=atom[same, : n_all - n_hidden],
                bias=bias[same],
                weight=network.clause_weight[clause[same, :n_soft]],
            )


def _local_literals(local: Int32, literal: Int32) -> Int32:
    renumbered: Int32 = 2 * local[literal >> 1] + (literal & 1)
    return renumbered


def _order(part_of: Int32, count: int) -> tuple[Int64, Int64]:
    return np.argsort(part_of, kind="stable"), offsets(np.bincount(part_of, minlength=count))


def _family(start: Int64, value: Int32, order: npt.NDArray[np.integer], row_start: Int64) -> _Family:
    length = np.diff(start)[order]
    new_start = offsets(length)
    at = np.repeat(start[:-1][order] - new_start[:-1], length) + np.arange(len(value))
    return _Family(new_start, value[at], row_start, new_start[row_start])


def _classes(columns: list[Int64]) -> Iterator[Int64]:
    """Positions with equal values in all columns, class by class."""
    key, below = np.zeros(len(columns[0]), np.int64), 1
    for column in columns:
        n_values = int(column.max()) + 1
        if below * n_values >= 2**62:
            _, key = np.unique(key, return_inverse=True)
            below = int(key.max()) + 1
        key, below = key * n_values + column, below * n_values
    order = np.argsort(key, kind="stable")
    yield from np.split(order, np.nonzero(np.diff(key[order]))[0] + 1)


def _equal_lines(matrix: Int32) -> Iterator[Int64]:
    """Positions of equal lines, class by class."""
    if (matrix == matrix[0]).all():
        yield np.arange(len(matrix))
        return
    line = np.ascontiguousarray(matrix).view(np.dtype((np.void, matrix.shape[1] * matrix.itemsize))).ravel()
    _, key = np.unique(line, return_inverse=True)
    yield from _classes([key.astype(np.int64)])


def _row(start: Int64, value: Int32, number: int) -> list[int]:
    row: list[int] = value[start[number] : start[number + 1]].tolist()
    return row


@dataclass(frozen=True)
class Event:
    """A conjunction of literals, numbered within a component, in one component of a shape."""

    row: int
    literal: tuple[int, ...]


@dataclass(frozen=True, eq=False)
class ShapeAnswer:
    """The results of a method for all components of one shape."""

    log_z: Float64  # (n_rows,) without the network's constant; -inf where no world is possible, and the rest is nan there
    marginal: Float64  # (n_rows, n_open)
    event_probability: Float64  # (n_events,)


NEVER = -1


@dataclass(frozen=True, eq=False)
class Variable:
    """A choice between states, in each of which at most one of its atoms is true.

    States that an infinite bias forbids are left out; there is none left when the choice is impossible.
    """

    atom: tuple[int, ...]
    true_state: Int64  # for each of the atoms the state in which it is true, or NEVER
    n_states: int


_FREE = np.array([1])
_TRUE = np.array([0])
_FALSE = np.array([NEVER])


def variables_of(shape: Shape) -> list[Variable]:
    """All choices of a component: groups first, then the atoms outside groups, by number."""
    if len(each_once(shape.group_atom)) != len(shape.group_atom):
        raise ValueError("an atom stands in two exclusive groups")
    found = [_group_choice(shape, g) for g in range(len(shape.group_start) - 1)]
    alone = np.ones(shape.n_open, bool)
    alone[shape.group_atom] = False
    for a in np.nonzero(alone)[0].tolist():
        if shape.fixed[a] == UNDECIDED:
            found.append(Variable((a,), _FREE, 2))
        else:
            found.append(Variable((a,), _TRUE if shape.fixed[a] else _FALSE, 1))
    return found


def _group_choice(shape: Shape, number: int) -> Variable:
    atom = shape.group(number)
    fixed = shape.fixed[atom]
    sure = np.count_nonzero(fixed == 1)
    allowed = fixed != 0 if sure == 0 else (fixed == 1) & (sure == 1)
    true_state = np.where(allowed, np.cumsum(allowed) - 1, NEVER)
    return Variable(tuple(atom), true_state, int(np.count_nonzero(allowed)))


def normalised(true: Float64, false: Float64) -> Float64:
    """The share true / (true + false), exactly 0 or 1 where one of them is 0."""
    share: Float64 = true / (true + false)
    return share
