"""The lifted factor graph from rules, evidence and classes of constants, without any grounding.

Its nodes are the open atoms up to exchanges of constants inside classes, and so are its factors; nothing is as long as the number
of constants. It is the quotient of the ground network by the orbits of these exchanges, an equitable partition, so that messages
on it are the ground network's own (compare `colours`).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from markovlogic.data.evidence import UNKNOWN
from markovlogic.errors import Fault, InputError
from markovlogic.grounding.predict import groundings_of
from markovlogic.language.syntax import Rule
from markovlogic.language.templates import LoweredModel
from markovlogic.methods.messages.orbits import Atoms, Constants, Kinds, Substituted, TooManyError
from markovlogic.methods.messages.schedules import FactorGraph, ground_graph
from markovlogic.networks.ground import GroundNetwork
from markovlogic.problem import Problem
from markovlogic.system import cancellation
from markovlogic.system.arrays import Float64, Int32, Int64, each_once, frozen, offsets


@dataclass(frozen=True, eq=False)
class Rows:
    """Rows of literals in which equal ones are one edge with a number."""

    start: Int64
    literal: Int32
    inner: Float64


def merged_rows(row: Int64, head: Int64, literal: Int64, number: Float64, n_rows: int) -> Rows:
    """Edges by row, equal literals of a row added up; those with head 0 come first in their row."""
    order = np.lexsort((literal, head, row))
    row, head, literal = row[order], head[order], literal[order]
    fresh = np.ones(len(row), bool)
    fresh[1:] = (row[1:] != row[:-1]) | (head[1:] != head[:-1]) | (literal[1:] != literal[:-1])
    first = np.flatnonzero(fresh)
    inner = np.add.reduceat(number[order], first) if len(first) else np.zeros(0)
    return Rows(offsets(np.bincount(row[first], minlength=n_rows)), literal[first].astype(np.int32), inner)


def quotient(network: GroundNetwork, atom_colour: Int32, clause_colour: Int32) -> FactorGraph:
    """The lifted graph whose nodes are the colours of atoms, hidden ones included; colours must be an equitable partition."""
    ground = ground_graph(network)
    # An atom is in one group at most and a hidden atom has one definition, so their colours follow from those of atoms.
    group_colour = np.zeros(0, np.int32)
    if network.n_groups:
        group_colour = np.minimum.reduceat(atom_colour[network.group_atom], network.group_start[:-1])
    chosen, copies = [], []
    first = 0
    for colour in (clause_colour, group_colour, atom_colour[network.n_atoms :]):
        _, one, count = np.unique(colour, return_index=True, return_counts=True)
        chosen.append(first + one)
        copies.append(count.astype(np.float64))
        first += len(colour)
    factor = np.concatenate(chosen)
    begin, length = ground.start[factor], ground.start[factor + 1] - ground.start[factor]
    row = np.repeat(np.arange(len(factor)), length)
    within = np.arange(len(row)) - np.repeat(offsets(length)[:-1], length)
    literal = ground.literal[begin[row] + within].astype(np.int64)
    literal = 2 * atom_colour[literal >> 1].astype(np.int64) + (literal & 1)
    is_definition = row >= len(chosen[0]) + len(chosen[1])
    edges = merged_rows(row, (is_definition & (within > 0)).astype(np.int64), literal, np.ones(len(row)), len(factor))
    _, one, members = np.unique(atom_colour, return_index=True, return_counts=True)
    return frozen(
        FactorGraph(
            bias=network.atom_bias[one],
            start=edges.start,
            literal=edges.literal,
            weight=network.clause_weight[chosen[0]],
            n_groups=len(chosen[1]),
            log_constant=network.log_constant,
            inner=edges.inner,
            copies=np.concatenate(copies),
            members=members.astype(np.float64),
        )
    )


MOST_WORK = 3_000_000  # forms of clauses and atoms that are looked at; beyond, grounding and its colours are quicker
MOST_ATOMS = 1 << 60  # ground atoms of all predicates: literals are 64-bit integers


@dataclass(frozen=True, eq=False)
class Lifted:
    """A lifted graph, and the way from open atoms to its nodes."""

    graph: FactorGraph
    _atoms: Atoms
    _problem: Problem

    def nodes(self, number: Int64) -> Int64:
        """The node of each open atom, given by its number in the problem."""
        found = np.zeros(len(number), np.int64)
        index = self._problem.atoms
        owner = np.searchsorted(index.start, number, side="right") - 1
        for at in each_once(owner):
            name, rows = index.predicates[at], np.flatnonzero(owner == at)
            code = self._problem.statuses[name].unrank(number[rows] - int(index.start[at]))
            found[rows] = self._atoms.nodes(name, self._atoms.values(name, code))
        return found


def work_of(problem: Problem, lowered: LoweredModel, class_of: Mapping[str, Int32]) -> int:
    """How many forms of clauses and atoms `lift` looks at, at most; raises TooManyError where rules cannot be lifted here."""
    if lowered.definitions:
        raise TooManyError("rules with quantified parts")
    if sum(statuses.n_ground for statuses in problem.statuses.values()) > MOST_ATOMS:
        raise TooManyError("ground atoms that 64 bits cannot number")
    constants = Constants(problem, class_of)
    work = 0
    for template in lowered.templates:
        n_terms = len({term for literal in template.literals for term in literal.args})
        work += constants.rows_at_most([t for _, t in template.variables]) * math.factorial(n_terms)
    for name, statuses in problem.statuses.items():
        work += constants.rows_at_most(problem.model.predicates[name].types) if statuses.n_open else 0
    return work


def lift(problem: Problem, lowered: LoweredModel, class_of: Mapping[str, Int32]) -> Lifted:
    """Lift a problem; class_of: for each type the class of each constant, such that exchanges inside classes change nothing.

    Raises TooManyError where there would be too many forms, and InputError where evidence breaks a hard rule.
    """
    needed = work_of(problem, lowered, class_of)
    if needed > MOST_WORK:
        raise TooManyError(f"up to {needed:,} forms of clauses and atoms")
    constants = Constants(problem, class_of)
    atoms = Atoms(problem, constants)
    groundings = groundings_of(problem.model, problem.domains)
    constant = [each * n for each, n in zip(lowered.constant_per_grounding, groundings, strict=True) if each]
    kinds: list[Kinds] = []
    for template in lowered.templates:
        cancellation.check()
        substituted = Substituted(template, problem, constants, atoms)
        left, weight = substituted.left(), substituted.weight
        if math.isinf(weight):
            if left.falsified:
                raise InputError([_violation(problem.model.rules[template.rule])])
        else:
            constant.append(weight * left.satisfied)
        kinds += left.kinds if weight else ()
    merged = _Merged(atoms, kinds, constant)
    return Lifted(_graph(problem, constants, atoms, merged), atoms, problem)


def _violation(rule: Rule) -> Fault:
    return Fault(
        f"the evidence makes this hard rule false: {rule.text}",
        rule.place,
        rule.text,
        hint="correct the evidence, or give the rule a weight",
    )


class _Merged:
    """Kinds of all templates together: equal ones merged, those of one literal as biases."""

    def __init__(self, atoms: Atoms, kinds: list[Kinds], constant: list[float]) -> None:
        self.bias = np.zeros(len(atoms.members))
        self._for = np.zeros((len(atoms.members), 2))  # weights of unit clauses, of the negative and the positive literal
        self.rows: list[Int64] = []  # keys of literals, by length
        self.weight: list[Float64] = []
        self.number: list[Float64] = []
        self.constant = constant
        for length in sorted({kind.key.shape[1] for kind in kinds}):
            self._add(atoms, [kind for kind in kinds if kind.key.shape[1] == length], length)
        self._biases(atoms)

    def _add(self, atoms: Atoms, kinds: list[Kinds], length: int) -> None:
        key, which = np.unique(np.concatenate([kind.key for kind in kinds]), axis=0, return_inverse=True)
        weight, number = np.concatenate([kind.weight for kind in kinds]), np.zeros(len(key))
        number[which.ravel()] = np.concatenate([kind.number for kind in kinds])
        hard = np.isinf(weight)
        is_hard = np.bincount(which.ravel(), hard, minlength=len(key)) > 0
        soft = np.bincount(which.ravel(), np.where(hard, 0.0, weight), minlength=len(key))
        self.constant.append(float(soft[is_hard].sum()))  # a soft clause equal to a hard one is true in every world
        each = np.where(is_hard, np.inf, soft / number)
        if length == 1:
            self._for[atoms.nodes_of_keys(key[:, 0] >> 1), key[:, 0] & 1] = each
            return
        self.rows.append(key)
        self.weight.append(each)
        self.number.append(number)

    def _biases(self, atoms: Atoms) -> None:
        no, yes = self._for.T
        if (np.isinf(no) & np.isinf(yes)).any():
            raise InputError("no world satisfies the hard rules and the evidence", hint="give one of the hard rules a weight")
        decided = np.isinf(no) | np.isinf(yes)
        self.constant.append(float((no * atoms.members)[~decided].sum()))  # w·1[not a] = w - w·1[a]
        self.bias = np.where(np.isinf(yes), np.inf, np.where(np.isinf(no), -np.inf, yes - no))


def _graph(problem: Problem, constants: Constants, atoms: Atoms, merged: _Merged) -> FactorGraph:
    row, literal, inner = [np.zeros(0, np.int64)], [np.zeros(0, np.int64)], [np.zeros(0)]
    n_clauses = 0
    for key in merged.rows:
        row.append(n_clauses + np.repeat(np.arange(len(key)), key.shape[1]))
        literal.append(2 * atoms.nodes_of_keys(key.ravel() >> 1) + (key.ravel() & 1))
        inner.append(np.ones(key.size))
        n_clauses += len(key)
    copies, n_factors = list(merged.number), n_clauses
    for name in atoms.predicates:
        for group in _groups(problem, constants, atoms, name):
            row.append(n_factors + group.row)
            literal.append(2 * group.node + 1)
            inner.append(group.inner)
            copies.append(group.number)
            n_factors += len(group.number)
    joined = np.concatenate(row)
    edges = merged_rows(joined, np.zeros(len(joined), np.int64), np.concatenate(literal), np.concatenate(inner), n_factors)
    return frozen(
        FactorGraph(
            bias=merged.bias,
            start=edges.start,
            literal=edges.literal,
            weight=np.concatenate([np.zeros(0), *merged.weight]),
            n_groups=n_factors - n_clauses,
            log_constant=math.fsum(merged.constant),
            inner=edges.inner,
            copies=np.concatenate([np.zeros(0), *copies]),
            members=atoms.members,
        )
    )


@dataclass(frozen=True, eq=False)
class _Groups:
    """Kinds of exclusive groups of one predicate, and the nodes in each."""

    row: Int64
    node: Int64
    inner: Float64
    number: Float64  # (n_groups,)


def _groups(problem: Problem, constants: Constants, atoms: Atoms, name: str) -> list[_Groups]:
    """Groups by the canonical tuples of the arguments that fix them; none where the predicate has no open ones."""
    predicate = problem.model.predicates[name]
    if not any(predicate.exclusive) or not problem.statuses[name].n_open:
        return []
    fixed = [at for at, marked in enumerate(predicate.exclusive) if not marked]
    places = [*fixed, *(at for at, marked in enumerate(predicate.exclusive) if marked)]
    value, count = constants.tuples([predicate.types[at] for at in places])
    args = value[:, np.argsort(places)]
    is_open = atoms.status(name, args) == UNKNOWN
    n_values = math.prod(len(problem.domains[predicate.types[at]]) for at in places[len(fixed) :])
    group = np.zeros(len(value), np.int64)
    if fixed:
        group = np.unique(value[:, : len(fixed)], axis=0, return_inverse=True)[1].ravel()
    number = np.bincount(group, count) / n_values  # groups of the kind: each has all values
    used, row = np.unique(group[is_open], return_inverse=True)
    inner = count[is_open] / number[group[is_open]]
    return [_Groups(row.ravel(), atoms.nodes(name, args[is_open]), inner, number[used])]
