"""From groups of objects to a network of blocks: rows are clauses over groups, with what the evidence says of each block.

Two variables of one type are told apart only where an atom or an equality holds both: p(A, A) is in another block than p(A, B).
Everywhere else the product of shares counts equal objects as it counts others, which is what a clause means.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from math import isinf, prod
from typing import Any, Literal

import numpy as np

from markovlogic.arrays import Bool, Float64, Int32, Int64, frozen, offsets
from markovlogic.compressing.partition import Partition
from markovlogic.compressing.shares import Blocks, Numbering, Pattern
from markovlogic.errors import Fault, ResourceError, UnsupportedError
from markovlogic.guarantee import Guarantee
from markovlogic.kernels.blocks import DEGREE
from markovlogic.language.syntax import Constant, Term, Variable
from markovlogic.language.templates import ClauseTemplate
from markovlogic.networks.blocks import BlockNetwork
from markovlogic.networks.ground import signed_atom_rows
from markovlogic.patience import check
from markovlogic.posing import Posed
from markovlogic.problem import Problem
from markovlogic.problem.query import queried_predicates

MOST_CELLS = 30_000_000  # of a clause's array over groups

Weights = Literal["literal", "uniform", "field", "count"]
Translation = Literal["majority", "clamp", "split"]


@dataclass(frozen=True)
class Reading:
    """How weights and evidence are carried over to blocks (ALGORITHMS.md 2.5, 2.6, 3.15)."""

    weights: Weights
    evidence: Translation
    split: bool  # diagonals


@dataclass(frozen=True, eq=False)
class BlockStates:
    """What each numbered block is: its share of known true atoms, and what is left to be drawn."""

    base: Float64
    step: Float64
    most: Int64
    size: Int64
    reported: Bool  # some atom of it is open

    @staticmethod
    def of(numbering: Numbering, reading: Reading) -> BlockStates:
        """By votes, or by shares."""
        size = numbering.joined([array.size for array in numbering.arrays])
        false, true, unknown = (numbering.joined([array.count[s] for array in numbering.arrays]) for s in range(3))
        some = np.maximum(size, 1)
        if reading.evidence == "split":
            base, left = true / some, unknown / some
        else:
            yes = true > false + unknown if reading.evidence == "majority" else true > false
            no = false > true + unknown if reading.evidence == "majority" else false > true
            base, left = yes.astype(np.float64), (~yes & ~no).astype(np.float64)
        if reading.weights == "count":
            most = np.where(left > 0, np.where(reading.evidence == "split", unknown, size), 0)
            step = np.where(most > 0, 1.0 / some, 0.0)
        else:
            most = (left > 0).astype(np.int64)
            step = left
        return BlockStates(base, step, most.astype(np.int64), size, unknown > 0)


def block_network(posed: Posed, partition: Partition, reading: Reading) -> BlockNetwork:
    """The network; refuses hard rules, exclusive groups and quantifiers, with the rule's place."""
    problem, lowered = posed.problem, posed.lowered
    _refuse(posed)
    mentioned = {literal.predicate for template in lowered.templates for literal in template.literals}
    asked = set(queried_predicates(problem.query))
    blocks = Blocks(problem, partition, split=reading.split)
    numbering = Numbering(blocks, tuple(name for name in problem.statuses if name in mentioned | asked))
    states = BlockStates.of(numbering, reading)
    rows = _Rows(problem, partition, numbering, states, reading)
    for template in lowered.templates:
        check()
        rows.add(template)
    start, literal, weight = rows.merged()
    shown = states.reported | (np.bincount(literal >> 1, minlength=len(states.size)) > 0)
    number = np.full(len(shown), -1, np.int64)
    number[shown] = np.arange(np.count_nonzero(shown))
    literal = (2 * number[literal >> 1] + (literal & 1)).astype(np.int32)
    of_atom = np.zeros(len(problem.atoms), np.int32)
    for name in numbering.predicates:
        own = problem.atoms.range_of(name)
        if len(own):
            of_atom[own.start : own.stop] = number[numbering.of_atoms(name, problem.atoms.codes(name))]
    forms = _forms(start, literal, weight, int(shown.sum()))
    known = numbering.joined([array.true + array.false for array in numbering.arrays])[shown]
    true = numbering.joined([array.true for array in numbering.arrays])[shown]
    size = np.maximum(states.size[shown], 1)
    scale = 1.0 / size if reading.weights == "field" else np.ones(len(size))
    kept = Guarantee.EXACT if not partition.merges or rows.exact else Guarantee.UNBOUNDED
    return frozen(
        BlockNetwork(
            n_atoms=len(problem.atoms),
            of_atom=of_atom,
            base=states.base[shown],
            step=states.step[shown],
            most=states.most[shown],
            scale=scale,
            alone=reading.weights == "field",
            row_start=start,
            row_literal=literal,
            row_weight=weight,
            **forms,
            evidence=known / size,
            known_true=np.where(known > 0, true / np.maximum(known, 1), 0.5),
            guarantee=kept,
        )
    )


def _refuse(posed: Posed) -> None:
    """What blocks have no place for."""
    problem, lowered = posed.problem, posed.lowered
    hint = "take weights=literal, which every rule allows"
    for rule in (problem.model.rules[d.rule] for d in lowered.definitions):
        raise UnsupportedError(Fault(f"blocks have no place for a quantifier inside: {rule.text}", rule.place, hint=hint))
    for template in lowered.templates:
        if isinf(template.weight):
            rule = problem.model.rules[template.rule]
            raise UnsupportedError(Fault(f"blocks have no place for a hard rule: {rule.text}", rule.place, hint=hint))
    for group in problem.groups:
        own = problem.model.predicates[group.predicate]
        raise UnsupportedError(Fault(f"blocks have no place for the exclusive arguments of {own.name}", own.place, hint=hint))


def _forms(start: Int64, literal: Int32, weight: Float64, n_blocks: int) -> dict[str, Any]:
    """Rows as kernels read them: short ones as a bilinear form in shares, for the others the blocks that they hold."""
    length, first = np.diff(start), literal[start[:-1]]
    sign = np.where(first & 1, -1.0, 1.0)  # falsity is 1 − share for a positive literal, share for a negative one
    linear = np.zeros(n_blocks)
    single = length == 1
    np.add.at(linear, first[single] >> 1, sign[single] * weight[single])
    two = np.flatnonzero(length == 2)
    one, other = literal[start[two]], literal[start[two] + 1]
    two, one, other = (part[one >> 1 != other >> 1] for part in (two, one, other))
    parts = []
    for own, beside in ((one, other), (other, one)):
        turn = np.where(own & 1, -1.0, 1.0) * weight[two]
        np.add.at(linear, own >> 1, np.where(beside & 1, turn, 0.0))
        parts.append((own >> 1, beside >> 1, np.where(beside & 1, -turn, turn)))
    block, near, value = (np.concatenate([part[i] for part in parts]) for i in range(3))
    code, place = np.unique(block.astype(np.int64) * n_blocks + near, return_inverse=True)
    total = np.bincount(place.reshape(-1), value, minlength=len(code))
    block, near = np.divmod(code, max(n_blocks, 1))
    longer = np.ones(len(length), np.bool_)
    longer[single] = False
    longer[two] = False
    block_start, block_row = _rows_of_blocks(start, literal, n_blocks, longer)
    return {
        "linear": linear,
        "near_start": offsets(np.bincount(block, minlength=n_blocks)),
        "near_block": near.astype(np.int32),
        "near_weight": total,
        "block_start": block_start,
        "block_row": block_row,
    }


def _rows_of_blocks(start: Int64, literal: Int32, n_blocks: int, kept: Bool) -> tuple[Int64, Int32]:
    """For each block the rows that hold it, each once."""
    first, row, _ = signed_atom_rows(start, literal, n_blocks)
    block = np.repeat(np.arange(n_blocks), np.diff(first))
    again = ~kept[row]
    again[1:] |= (row[1:] == row[:-1]) & (block[1:] == block[:-1])
    return offsets(np.bincount(block[~again], minlength=n_blocks)), row[~again]


@dataclass(frozen=True)
class _Axis:
    """A class of terms of a clause that stand for one object: its type, and its group where a rule names it."""

    type_name: str
    group: int | None


class _Rows:
    """Rows of all clauses so far."""

    def __init__(
        self, problem: Problem, partition: Partition, numbering: Numbering, states: BlockStates, reading: Reading
    ) -> None:
        self._problem, self._partition, self._numbering, self._states, self._reading = (
            problem,
            partition,
            numbering,
            states,
            reading,
        )
        self._made: dict[int, list[tuple[Int64, Float64]]] = {}
        types = [problem.model.predicates[name].types for name in numbering.predicates]
        diagonal = any(len(set(own)) < len(own) for own in types)
        self.exact = reading.weights == "count" and reading.evidence == "split" and (reading.split or not diagonal)
        flat = numbering.joined([array.size - array.count.max(axis=0) for array in numbering.arrays]) == 0
        self._varied = {
            (array.predicate, array.pattern): not bool(_constant(flat, states, numbering, at))
            for at, array in enumerate(numbering.arrays)
        }

    def add(self, template: ClauseTemplate) -> None:
        """Rows of a clause: one for each pattern of equal terms, and assignment of groups to what is left."""
        types = dict(template.variables)
        terms: list[Term] = [Variable(name) for name in types]
        of: dict[Term, str] = {Variable(name): own for name, own in template.variables}
        atoms = [(x.predicate, tuple(_plain(t) for t in x.args), x.positive) for x in template.literals]
        for predicate, args, _ in atoms:
            for term, own in zip(args, self._problem.model.predicates[predicate].types, strict=True):
                of.setdefault(term, own)
        equalities = [(_plain(e.left), _plain(e.right), e.positive) for e in template.equalities]
        for left, right, _ in equalities:
            own = of.get(left) or of[right]
            of.setdefault(left, own)
            of.setdefault(right, own)
        terms = list(of)
        idle = prod(self._domain(own) for _, own in template.idle)
        for place in self._patterns(terms, of, [args for _, args, _ in atoms], equalities):
            axes = self._axes(terms, of, place)
            if axes is not None and not any((place[left] == place[right]) == positive for left, right, positive in equalities):
                self._add(template.weight * idle, atoms, place, axes, self._edges(terms, of, atoms, equalities, place))

    def _domain(self, of: str) -> int:
        """What a variable that a clause does not mention multiplies it by."""
        if self._reading.weights == "literal":
            return self._partition.n_groups(of)
        return len(self._problem.domains[of])

    def _patterns(
        self,
        terms: Sequence[Term],
        of: Mapping[Term, str],
        atoms: Sequence[tuple[Term, ...]],
        equalities: Sequence[tuple[Term, Term, bool]],
    ) -> Iterator[dict[Term, int]]:
        """Which terms stand for one object: every way, among those that something holds together."""
        together = [*atoms, *((left, right) for left, right, _ in equalities)]
        edges = [
            (one, other)
            for one, other in combinations(terms, 2)
            if of[one] == of[other] and any(one in own and other in own for own in together)
        ]
        if not self._reading.split:
            edges = [(left, right) for left, right, _ in equalities]
        seen = set()
        for chosen in range(1 << len(edges)):
            label = {term: at for at, term in enumerate(terms)}
            for at, (one, other) in enumerate(edges):
                if chosen >> at & 1:
                    old, new = label[other], label[one]
                    label = {term: new if value == old else value for term, value in label.items()}
            order = {value: at for at, value in enumerate(dict.fromkeys(label.values()))}
            place = {term: order[value] for term, value in label.items()}
            name = tuple(place.values())
            if name not in seen:
                seen.add(name)
                yield place

    def _edges(
        self,
        terms: Sequence[Term],
        of: Mapping[Term, str],
        atoms: Sequence[tuple[str, tuple[Term, ...], bool]],
        equalities: Sequence[tuple[Term, Term, bool]],
        place: Mapping[Term, int],
    ) -> set[tuple[int, int]]:
        """Pairs of axes that stand for different objects."""
        together = [(left, right) for left, right, _ in equalities]
        if self._reading.split:
            together += [pair for _, args, _ in atoms for pair in combinations(args, 2)]
        pairs = {(place[a], place[b]) for a, b in together if of[a] == of[b] and place[a] != place[b]}
        return {(min(pair), max(pair)) for pair in pairs}

    def _axes(self, terms: Sequence[Term], of: Mapping[Term, str], place: Mapping[Term, int]) -> list[_Axis] | None:
        """The distinct objects of a pattern; None where it makes two constants one."""
        found: dict[int, _Axis] = {}
        for term in terms:
            group = None
            if isinstance(term, Constant):
                number = self._problem.domains[of[term]].number(term.name)
                group = int(self._partition.class_of[of[term]][number])
            before = found.get(place[term])
            if before is not None and before.group is not None and group is not None:
                return None
            kept = group if before is None or group is not None else before.group
            found[place[term]] = _Axis(of[term], kept)
        return [found[at] for at in range(len(found))]

    def _add(
        self,
        weight: float,
        atoms: Sequence[tuple[str, tuple[Term, ...], bool]],
        place: Mapping[Term, int],
        axes: Sequence[_Axis],
        edges: set[tuple[int, int]],
    ) -> None:
        ranges = [
            np.arange(self._partition.n_groups(axis.type_name)) if axis.group is None else np.array([axis.group]) for axis in axes
        ]
        shape = tuple(map(len, ranges)) or (1,)
        if prod(shape) > MOST_CELLS:
            raise ResourceError(
                f"a rule over groups has {prod(shape):,} instances; at most {MOST_CELLS:,} fit. Fewer groups would do.",
                needed=prod(shape),
                limit=MOST_CELLS,
            )
        grid = np.ix_(*ranges) if ranges else ()
        mass = self._substitutions(axes, grid, edges)
        mass = weight * ((mass > 0).astype(np.float64) if self._reading.weights == "literal" else mass)
        literals: list[Int64] = []
        use: dict[int, int] = {}
        for predicate, args, positive in atoms:
            own = [place[term] for term in args]
            order = list(dict.fromkeys(own))
            pattern: Pattern = tuple(order.index(at) for at in own) if self._reading.split else tuple(range(len(own)))
            index = tuple(grid[at] for at in (order if self._reading.split else own))
            number = self._numbering.numbers(predicate, pattern)[index] if own else self._numbering.numbers(predicate, pattern)
            share = self._states.base[number]
            is_open = self._states.most[number] > 0
            mass = np.asarray(mass * np.where(is_open, 1.0, 1.0 - share if positive else share), np.float64)
            literals.append(np.broadcast_to(np.where(is_open, 2 * number + positive, -1), shape))
            if self._varied[predicate, pattern]:
                for at in set(own):
                    use[at] = use.get(at, 0) + 1
        merged = [axis.group is None and self._partition.n_groups(axis.type_name) < self._domain_size(axis) for axis in axes]
        self.exact &= all(count < 2 or not merged[at] for at, count in use.items())
        mass = np.broadcast_to(mass, shape)
        kept = np.nonzero(mass)
        rows = np.stack([own[kept] for own in literals], axis=1) if literals else np.zeros((len(kept[0]), 0), np.int64)
        apart = any(merged[one] and merged[other] for one, other in edges)
        self._keep(-np.sort(-rows, axis=1), mass[kept], apart=apart)

    def _domain_size(self, axis: _Axis) -> int:
        return len(self._problem.domains[axis.type_name])

    def _substitutions(self, axes: Sequence[_Axis], grid: Sequence[Int64], edges: set[tuple[int, int]]) -> Float64:
        """How many tuples of objects a tuple of groups stands for, those of an edge being different."""
        made = np.ones((1,) * len(axes))
        for at, axis in enumerate(axes):
            own = self._partition.sizes(axis.type_name)[grid[at]].astype(np.float64)
            for before in range(at):
                if (before, at) in edges:
                    own = own - (grid[before] == grid[at])
            made = made * np.maximum(own, 0)
        return made

    def _keep(self, rows: Int64, mass: Float64, *, apart: bool) -> None:
        """Rows by the number of their open literals, equal ones added up; `apart`: they hold merged objects that must differ."""
        length = (rows >= 0).sum(axis=1)
        for n in np.unique(length[length > 0]).tolist():
            if n > DEGREE - 1:
                raise ResourceError(f"a rule holds {n} open literals; blocks take at most {DEGREE - 1}")
            own = length == n
            self._made.setdefault(n, []).append(_added(rows[own, :n], mass[own]))
            if self.exact and n > 1:
                same = (np.diff(rows[own, :n] >> 1, axis=1) == 0) & (self._states.size[rows[own, 1:n] >> 1] > 1)
                self.exact = not same.any() or (not apart and self._unary(rows[own, :n], same))

    def _unary(self, rows: Int64, same: Bool) -> bool:
        """Whether blocks that occur twice in a row are of one argument: independent objects are squares of shares then."""
        twice = np.unique((rows[:, 1:] >> 1)[same])
        at = np.searchsorted(self._numbering.start, twice, side="right") - 1
        return all(len(self._numbering.arrays[i].types) <= 1 for i in np.unique(at))

    def merged(self) -> tuple[Int64, Int32, Float64]:
        """All rows: offsets, literals and weights."""
        lengths, literals, weights = [np.zeros(0, np.int64)], [np.zeros(0, np.int64)], [np.zeros(0)]
        for n, parts in sorted(self._made.items()):
            rows, mass = _added(np.concatenate([p[0] for p in parts]), np.concatenate([p[1] for p in parts]))
            lengths.append(np.full(len(rows), n))
            literals.append(rows.reshape(-1))
            weights.append(mass)
        return offsets(np.concatenate(lengths)), np.concatenate(literals).astype(np.int32), np.concatenate(weights)


def _added(rows: Int64, mass: Float64) -> tuple[Int64, Float64]:
    """Equal rows once, their weights added up."""
    if not len(rows):
        return rows, mass
    order = np.lexsort(rows.T[::-1])
    rows, mass = rows[order], mass[order]
    first = np.concatenate([[True], np.any(rows[1:] != rows[:-1], axis=1)])
    return rows[first], np.add.reduceat(mass, np.flatnonzero(first))


def _constant(flat: Bool, states: BlockStates, numbering: Numbering, at: int) -> bool:
    """Whether all blocks of an array are known, and inside each of them all atoms agree."""
    own = slice(int(numbering.start[at]), int(numbering.start[at + 1]))
    return bool(flat[own].all() and not states.reported[own].any())


def _plain(term: Term) -> Term:
    return Variable(term.name) if isinstance(term, Variable) else Constant(term.name)
