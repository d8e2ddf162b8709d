"""Clusters written as code for `kernels.tensor_code`: messages, node terms upwards, then draws and expectations downwards.

A walk over a cluster's program writes one instruction for each array operation, on arrays with numbered axes whose places in
memory are known. Upwards every node gives a log sum over its own atoms, an array along constants (of `Each`) and outer branches
(of `Count`). Downwards branches are drawn from the node terms, and the terms give every atom's probability given the rest of the
world: expectations, not drawn bits (papers.md 3.2). A set of true atoms of drawn size is uniform. Chains run one after the other,
so arrays have no axis of chains.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import reduce
from math import prod
from typing import NamedTuple

import numpy as np

from markovlogic.kernels import tensor_code as op
from markovlogic.kernels.tensor_code import TensorCode
from markovlogic.methods.lifted.blocks.clusters import Cluster
from markovlogic.methods.lifted.blocks.tensor_network import TensorNetwork
from markovlogic.methods.lifted.blocks.tensor_program import Count, Each, IndependentAtoms, Node, Parts, Program, Rest, Spent
from markovlogic.methods.lifted.blocks.tensors import Message, Tensor, falsity, indicated
from markovlogic.system.arrays import Float64, frozen


class Place(NamedTuple):
    """An array in memory that is constant along all axes but these."""

    axes: tuple[int, ...]
    sizes: tuple[int, ...]
    steps: tuple[int, ...]  # how far apart neighbours along an axis are
    begin: int

    def step(self, axis: int) -> int:
        """How far apart neighbours along an axis are."""
        return self.steps[self.axes.index(axis)] if axis in self.axes else 0

    @property
    def extent(self) -> dict[int, int]:
        """The size of each axis."""
        return dict(zip(self.axes, self.sizes, strict=True))

    def moved(self, by: int) -> Place:
        """The same array further on in memory."""
        return self._replace(begin=self.begin + by)


def extents(*places: Place) -> dict[int, int]:
    """The sizes of all axes along which any of them varies, in order."""
    return dict(sorted({axis: size for place in places for axis, size in place.extent.items()}.items()))


@dataclass
class CodeWriter:
    """Instructions so far, and what memory holds."""

    network: TensorNetwork
    code: list[int] = field(default_factory=list)
    parts: list[Float64] = field(default_factory=list)
    end: int = 0
    expecting: bool = False  # whether what is written serves expectations alone
    terms: dict[int | str, Place] = field(default_factory=dict)  # what each node has to choose from

    def __post_init__(self) -> None:
        network = self.network
        self._begin: dict[str, int] = {}
        values = network.values(np.zeros((1, network.n_atoms), np.bool_))
        free = []
        for name in network.changing:
            unknown = network.known[name].unknown
            self._begin[name] = self.end
            self.constant(Tensor((), values[name].astype(np.float64)))
            free.append(np.ones(values[name].size) if unknown is None else unknown)
        self.n_ground = self.end
        self.room({0: self.n_ground})
        for own in free:
            self.constant(Tensor((), own))
        self.one = self.constant(Tensor((), np.ones(())))

    # ---- memory

    def room(self, extent: Mapping[int, int]) -> Place:
        """A new array."""
        sizes = tuple(extent.values())
        self.parts.append(np.zeros(prod(sizes)))
        begin, self.end = self.end, self.end + prod(sizes)
        return Place(tuple(extent), sizes, _steps(sizes), begin)

    def constant(self, tensor: Tensor) -> Place:
        """An array that never changes."""
        array = np.asarray(tensor.array, np.float64)
        self.parts.append(array.reshape(-1))
        begin, self.end = self.end, self.end + array.size
        return Place(tensor.axes, array.shape[: len(tensor.axes)], _steps(array.shape)[: len(tensor.axes)], begin)

    def number(self, value: float) -> Place:
        """A constant number."""
        return self.one if value == 1.0 else self.constant(Tensor((), np.full((), value)))

    def atoms(self, predicate: str, axes: Sequence[int]) -> Place:
        """The values of a predicate's atoms, with an axis for each argument."""
        sizes = self.network.problem.statuses[predicate].sizes
        return Place(tuple(axes), sizes, _steps(sizes), self._begin[predicate])

    # ---- instructions

    def emit(self, what: int, extent: Mapping[int, int], out: Place, *places: Place, last: int | None = None, extra: int = 0,
             tail: Sequence[int] = ()) -> None:  # fmt: skip
        """A loop over these axes; last: the innermost one, where that matters."""
        a, b = (*places, self.one, self.one)[:2]
        order = sorted((axis for axis in extent if axis != last), key=lambda axis: _nearness(axis, extent, out, a, b))
        order += [] if last is None else [last]
        words = [len(order) or 1, out.begin, a.begin, b.begin, extra]
        for axis in order:
            words += [extent[axis], out.step(axis), a.step(axis), b.step(axis)]
        words += [] if order else [1, 0, 0, 0]
        self._append(what, [*words, *tail])

    def _append(self, what: int, words: Sequence[int]) -> None:
        self.code += [what, 3 + len(words), int(self.expecting), *words]

    def apply(self, what: int, *places: Place) -> Place:
        """A new array, from one or two, entry by entry."""
        out = self.room(extents(*places))
        self.emit(what, out.extent, out, *places)
        return out

    def total(self, places: Sequence[Place]) -> Place:
        """All of them added; nothing is zero."""
        return reduce(lambda one, other: self.apply(op.ADD, one, other), places) if places else self.number(0.0)

    def product(self, places: Sequence[Place]) -> Place:
        """All of them multiplied."""
        left = [place for place in places if place is not self.one]
        return reduce(lambda one, other: self.apply(op.MULTIPLY, one, other), left) if left else self.one

    def contracted(self, one: Place, other: Place, axes: Sequence[int], sizes: Mapping[int, int]) -> Place:
        """The sum of their product along some axes, those included along which both are constant."""
        times = prod(sizes[axis] for axis in axes if axis not in one.axes and axis not in other.axes)
        one, other = self._summed(one, other, axes), self._summed(other, one, axes)
        every = extents(one, other)
        if times != 1:
            other = self.product([other, self.number(times)])
        if not any(axis in axes for axis in every):
            return self.product([one, other])
        out = self.room({axis: size for axis, size in every.items() if axis not in axes})
        self.emit(op.SET, out.extent, out, self.number(0.0))
        self.emit(op.ADD_PRODUCT, every, out, one, other)
        return out

    def _summed(self, one: Place, other: Place, axes: Sequence[int]) -> Place:
        """Its sum along the axes that the other does not have, unless the other is a number."""
        alone = [axis for axis in one.axes if axis in axes and axis not in other.axes]
        return self.contracted(one, self.one, alone, {}) if alone and other.axes else one

    def sum_over(self, place: Place, axes: Sequence[int], sizes: Mapping[int, int]) -> Place:
        """The sum along some axes, those included along which it is constant."""
        return self.contracted(place, self.one, axes, sizes) if axes else place

    def chosen(self, place: Place, drawn: Mapping[int, Place]) -> Place:
        """The array at drawn places of some axes."""
        for axis in reversed(place.axes):  # places of an inner axis depend on constants alone
            where = drawn.get(axis)
            if where is not None:
                extent = extents(place, where)
                del extent[axis]
                out = self.room(extent)
                self.emit(op.PICK, extent, out, place, where, extra=place.step(axis))
                place = out
        return place

    # ---- messages

    def loss(self, message: Message, axis_of: Mapping[str, int]) -> Place:
        """Minus the message's coefficient along the axes of a cluster's program."""
        network = self.network
        if not message.depends_on(network.changing):
            found = message.coefficient(network.still, (), axis_of)
            return self.constant(Tensor(found.axes, -found.array))
        term = message.term
        number = {name: axis_of.get(name, -1 - i) for i, name in enumerate(term.sizes)}  # variables that are summed: below zero
        sizes = {number[name]: size for name, size in term.sizes.items()}
        operands = []
        for factor in message.outside:
            alone = message.alone(factor)
            left = [name for name in factor.variables if name not in alone]
            if factor.predicate in network.changing:
                atoms = self.atoms(factor.predicate, [number[name] for name in factor.variables])
                operands.append(self._falsity(atoms, factor.positive, [number[name] for name in alone], sizes))
            else:
                at = tuple(i for i, name in enumerate(factor.variables) if name in alone)
                still = falsity(network.still[factor.predicate], factor.positive, at)
                operands.append(self.constant(_sorted([number[name] for name in left], still)))
        for indicator in term.indicators:
            made = indicated(indicator, term.sizes)
            operands.append(self.constant(_sorted([number[name] for name in made.variables], made.array)))
        operands.append(self.number(-term.weight))
        return self._joined(operands, set(axis_of.values()), sizes)

    def _falsity(self, atoms: Place, positive: bool, alone: Sequence[int], sizes: Mapping[int, int]) -> Place:
        """Where a literal is false, or how often along some axes."""
        counted = self.sum_over(atoms, alone, sizes)
        return self.apply(op.SUBTRACT, self.number(prod(sizes[axis] for axis in alone)), counted) if positive else counted

    def _joined(self, operands: list[Place], kept: set[int], sizes: Mapping[int, int]) -> Place:
        """The product of all, summed along all axes but these, in NumPy's greedy order."""
        name = {axis: i for i, axis in enumerate(sizes)}
        shapes = [np.broadcast_to(0.0, place.sizes) for place in operands]
        words = [item for place, own in zip(operands, shapes, strict=True) for item in (own, [name[a] for a in place.axes])]
        seen = [name[axis] for axis in sizes if axis in kept and any(axis in place.axes for place in operands)]
        path = np.einsum_path(*words, seen, optimize="greedy")[0][1:]
        for step in path:
            own = [operands[i] for i in step]
            operands = [place for i, place in enumerate(operands) if i not in step]
            own.sort(key=lambda place: prod(place.sizes))
            joint = own.pop(0)
            while own:
                following = own.pop(0)
                wanted = kept.union(*(place.axes for place in (*operands, *own)))
                joint = self.contracted(joint, following, [a for a in extents(joint, following) if a not in wanted], sizes)
            operands.append(joint)
        (found,) = operands
        return self.sum_over(found, [axis for axis in found.axes if axis not in kept], sizes)

    # ---- what is made

    def finished(self, drawn: Sequence[str]) -> TensorCode:
        """The code, for a network whose predicates with these names are drawn."""
        network = self.network
        home = []
        for name in network.changing:
            where = self._begin[name] + np.arange(network.problem.statuses[name].n_ground, dtype=np.float64)
            home.append(network.of_open(name, where[None])[0].astype(np.int64))
        atoms = [np.asarray(network.problem.atoms.range_of(name), np.int64) for name in network.changing if name in drawn]
        none = np.zeros(0, np.int64)
        return frozen(
            TensorCode(
                np.array(self.code, np.int64),
                np.concatenate(self.parts),
                np.concatenate([none, *home]),
                np.concatenate([none, *atoms]),
                self.n_ground,
            )
        )


def code_of(network: TensorNetwork, clusters: Sequence[Cluster]) -> TensorCode:
    """The code that draws clusters one after the other."""
    writer = CodeWriter(network)
    for cluster in clusters:
        assert cluster.program is not None
        ClusterWriter(writer, cluster.messages, cluster.program).write()
    return writer.finished([name for cluster in clusters for name in cluster.predicates])


def _steps(sizes: Sequence[int]) -> tuple[int, ...]:
    """Of an array in C order."""
    return tuple(prod(sizes[i + 1 :]) for i in range(len(sizes)))


def _sorted(axes: Sequence[int], array: Float64) -> Tensor:
    order = np.argsort(axes)
    return Tensor(tuple(axes[i] for i in order), array.transpose(order))


def _nearness(axis: int, extent: Mapping[int, int], *places: Place) -> tuple[int, int]:
    """The innermost axis had better be one whose neighbours are near, and long."""
    return -max(place.step(axis) for place in places), extent[axis]


class _Path(NamedTuple):
    """The way down to a node: constants that it is repeated for, branches drawn so far, and their probabilities."""

    axes: tuple[int, ...]
    drawn: dict[int, Place]
    weight: Place


class ClusterWriter:
    """Writes the code of one cluster."""

    def __init__(self, writer: CodeWriter, messages: Sequence[Message], program: Program) -> None:
        self.writer, self.messages, self.program, self.sizes = writer, messages, program, program.sizes
        self._loss_of = [writer.loss(message, program.axis_of[i]) for i, message in enumerate(messages)]
        self._rests: dict[int, _WrittenRest] = {}
        self._counted: dict[int, tuple[Place, Tensor]] = {}

    def write(self) -> None:
        """Node terms, then draws and expectations."""
        self._up(self.program.root, needed=False)
        self._down(self.program.root, _Path((), {}, self.writer.one))

    def _loss(self, spent: Spent) -> Place:
        """A term's loss, times how many atoms of each counted predicate make its literal false."""
        factors = []
        for multiplier in spent.multipliers:
            n = self.sizes[multiplier.axis] - 1.0
            number = np.arange(n + 1)
            factors.append(self.writer.constant(Tensor((multiplier.axis,), n - number if multiplier.positive else number)))
        return self.writer.product([self._loss_of[spent.number], *factors])

    # ---- upwards

    def _up(self, node: Node, *, needed: bool) -> Place:
        """The log of the sum over all assignments; `needed`: whether something chooses by it."""
        writer = self.writer
        match node:
            case Parts(children=children):
                found = [self._up(child, needed=needed) for child in children]
                return writer.total(found) if needed else writer.one
            case Each(axis=axis, child=child):
                inner = self._up(child, needed=needed)
                return writer.sum_over(inner, (axis,), self.sizes) if needed else writer.one
            case Count(axis=axis, child=child):
                inner = self._up(child, needed=True)
                term = writer.total([self._ways(node), inner, *(self._loss(spent) for spent in node.spent)])
                writer.terms[axis] = term
                left = {a: n for a, n in term.extent.items() if a != axis}
                return self._along(op.LOG_SUM, term, axis, left) if needed else term
            case IndependentAtoms():
                return self._independent_up(node, needed=needed)
            case Rest():
                return self._rest_up(node)

    def _along(self, what: int, term: Place, axis: int, extent: Mapping[int, int]) -> Place:
        out = self.writer.room(extent)
        self.writer.emit(what, term.extent, out, term, last=axis)
        return out

    def _ways(self, node: Count) -> Place:
        """Ln of the number of ways to have i true atoms: the unknown ones that are true beside those known to be."""
        from scipy.special import gammaln

        known = self.writer.network.known[node.predicate]
        counted = tuple(i for i, place in enumerate(node.places) if place is None)
        n = self.sizes[node.axis] - 1
        kept = [place for place in node.places if place is not None]
        if known.true is None or known.unknown is None:
            true, unknown = Tensor((), np.zeros(())), Tensor((), np.full((), float(n)))
        else:
            true, unknown = _sorted(kept, known.true.sum(axis=counted)), _sorted(kept, known.unknown.sum(axis=counted))
        axes = (*true.axes, node.axis)
        more, m = np.arange(n + 1.0) - true.along(axes), unknown.along(axes)
        inside = np.clip(more, 0, m)
        ways = gammaln(m + 1) - gammaln(inside + 1) - gammaln(m - inside + 1)
        self._counted[node.axis] = self.writer.constant(true), unknown
        return self.writer.constant(Tensor(axes, np.where((more >= 0) & (more <= m), ways, -np.inf)))

    def _independent_up(self, node: IndependentAtoms, *, needed: bool) -> Place:
        """Σ over atoms of the log weight: of false, and ln(1 + odds) where unknown, or the log-odds where known to be true."""
        writer, known = self.writer, self.writer.network.known[node.predicate]
        false = writer.total([self._loss(term.spent) for term in node.terms if term.positive])
        true = writer.total([self._loss(term.spent) for term in node.terms if not term.positive])
        odds = writer.apply(op.SUBTRACT, true, false)
        writer.terms[node.predicate] = odds
        if not needed:
            return odds
        both = writer.apply(op.SOFTPLUS, odds)
        summed = [writer.sum_over(false, node.own, self.sizes)]
        if known.true is None or known.unknown is None:
            summed.append(writer.sum_over(both, node.own, self.sizes))
        else:
            for mask, share in ((known.unknown, both), (known.true, odds)):
                summed.append(writer.contracted(writer.constant(_sorted(node.places, mask)), share, node.own, self.sizes))
        return writer.total(summed)

    def _rest_up(self, node: Rest) -> Place:
        """Eliminate the atoms for every constant and branch that makes a difference."""
        made = _WrittenRest(self, node, [self._loss(term.spent) for term in node.terms])
        self._rests[node.axis] = made
        self.writer.terms[node.axis] = made.table
        made.append(op.ELIMINATE)
        return made.log_sum

    # ---- downwards

    def _down(self, node: Node, path: _Path) -> None:
        match node:
            case Parts(children=children):
                for child in children:
                    self._down(child, path)
            case Each(axis=axis, child=child):
                self._down(child, path._replace(axes=(*path.axes, axis)))
            case Count(child=child):
                self._down(child, self._count_down(node, path))
            case IndependentAtoms():
                self._independent_down(node, path)
            case Rest():
                self._rest_down(node, path)

    def _expected(self, path: _Path, chance: Place) -> Place:
        """The mean over the branches on the way."""
        if not path.drawn:
            return self.writer.product([path.weight, chance])
        return self.writer.contracted(path.weight, chance, sorted(path.drawn), self.sizes)

    def _chance(self, node: Count, joint: Place, path: _Path) -> None:
        """The probability of the counted atoms: how many are expected beside those known to be true, over how many are open."""
        writer, axis = self.writer, node.axis
        true, unknown = self._counted[axis]
        branches = sorted({*path.drawn, axis})
        mean = writer.contracted(
            joint, writer.constant(Tensor((axis,), np.arange(float(self.sizes[axis])))), branches, self.sizes
        )
        share = writer.constant(Tensor(unknown.axes, 1.0 / np.maximum(unknown.array, 1.0)))
        chance = writer.product([writer.apply(op.SUBTRACT, mean, true), share])
        out = writer.atoms(node.predicate, [-1 - i if place is None else place for i, place in enumerate(node.places)])
        writer.emit(op.SET, out.extent, out.moved(writer.n_ground), chance)

    def _count_down(self, node: Count, path: _Path) -> _Path:
        writer, term, axis = self.writer, self.writer.terms[node.axis], node.axis
        writer.expecting = True
        joint = writer.product([path.weight, self._along(op.SHARE, term, axis, term.extent)])
        self._chance(node, joint, path)
        writer.expecting = False
        here = writer.chosen(term, path.drawn)
        picked = writer.room({a: self.sizes[a] for a in sorted(path.axes)})  # every constant draws for itself
        writer.emit(op.NUMBER, picked.extent | {axis: self.sizes[axis]}, picked, here, last=axis)
        decided = [(place, i) for i, place in enumerate(node.places) if place is not None]
        atoms = writer.atoms(node.predicate, range(len(node.places)))
        counted = [i for i, place in enumerate(node.places) if place is None]
        where = np.zeros((), np.int64)
        for i in counted:
            where = where[..., None] + np.arange(atoms.sizes[i]) * atoms.steps[i]
        rows = Place(
            tuple(place for place, _ in decided),
            tuple(atoms.sizes[i] for _, i in decided),
            tuple(atoms.steps[i] for _, i in decided),
            atoms.begin,
        )
        sites = where.reshape(-1).tolist()
        writer.emit(op.FILL, rows.extent, rows, picked, self._counted[axis][0], extra=len(sites), tail=sites)
        return _Path(path.axes, {**path.drawn, axis: picked}, joint)

    def _independent_down(self, node: IndependentAtoms, path: _Path) -> None:
        writer = self.writer
        chance = writer.apply(op.LOGISTIC, writer.terms[node.predicate])
        out = writer.atoms(node.predicate, node.places)
        writer.expecting = True
        writer.emit(op.SET, out.extent, out.moved(writer.n_ground), self._expected(path, chance))
        writer.expecting = False
        writer.emit(op.COINS, out.extent, out, writer.chosen(chance, path.drawn))

    def _rest_down(self, node: Rest, path: _Path) -> None:
        writer, made = self.writer, self._rests[node.axis]
        cells = {axis: self.sizes[axis] for axis in path.axes}
        outer = made.outer
        setting = writer.constant(Tensor(tuple(outer), np.arange(float(prod(outer.values()))).reshape(tuple(outer.values()))))
        place = writer.room(cells)
        writer.emit(op.SET, cells, place, writer.chosen(setting, path.drawn))
        made.append(op.DRAW_REST, path.axes, place=place.begin)
        writer.expecting = True
        made.append(op.MARGINALS)
        extent = cells | {node.axis: node.ground.n_atoms}
        mean = writer.room(extent)
        writer.emit(op.SET, extent, mean, self._expected(path, made.chance))
        made.append(op.SPREAD_REST, path.axes, place=writer.n_ground, mean=mean.begin)
        writer.expecting = False


class _WrittenRest:
    """What is ground, in memory; see `kernels.tensor_code._rest`."""

    def __init__(self, cluster: ClusterWriter, node: Rest, losses: Sequence[Place]) -> None:
        self.writer, self.sizes, self.node, self.losses, rest = cluster.writer, cluster.sizes, node, losses, node.ground
        known = self._known()
        inner = {node.axis, *(axis for term in node.terms for axis in term.axes)}
        self.outer = {axis: size for axis, size in extents(known, *losses).items() if axis not in inner}
        whole = np.zeros(())  # of the known values: along all settings, or one for all
        axes = (*self.outer, node.axis)
        if len(known.axes) > 1:
            array = self.writer.parts[-1].reshape(known.sizes)
            whole = np.broadcast_to(Tensor(known.axes, array).along(axes), (*self.outer.values(), rest.n_atoms))
            known = self.writer.constant(Tensor(axes, whole))
        self.known, self.known_step = known, rest.n_atoms if len(known.axes) > 1 else 0
        self.table = self.writer.room(self.outer | {node.axis: rest.entries})
        self.chance = self.writer.room(self.outer | {node.axis: rest.n_atoms})
        self.log_sum = self.writer.room(self.outer)
        self.scratch = self.writer.room({0: max(rest.entries, len(rest.term), rest.n_atoms) + rest.entries})

    def _known(self) -> Place:
        """1, 0 and −1 (unknown) for every ground atom."""
        node, network = self.node, self.writer.network
        axes = tuple(sorted({place for at in node.places.values() for place in at if place is not None}))
        found = np.full((*(self.sizes[axis] for axis in axes), node.ground.n_atoms), -1.0)
        for name, at in node.places.items():
            known = network.known[name]
            if known.true is None or known.unknown is None:
                continue
            order, kept = _outer_first(at)
            status = np.where(known.unknown > 0, -1.0, known.true).transpose(order)
            status = status.reshape(*status.shape[: len(kept)], -1)
            begin = node.ground.first[name]
            found[..., begin : begin + status.shape[-1]] = Tensor((*kept, node.axis), status).along((*axes, node.axis))
        if (found == found.reshape(-1, found.shape[-1])[0]).all():
            axes, found = (), found.reshape(-1, found.shape[-1])[0]
        return self.writer.constant(Tensor((*axes, node.axis), found))

    def append(self, what: int, cells: Sequence[int] = (), *, place: int = 0, mean: int = 0) -> None:
        """One of the instructions about it; cells: axes of the constants for which it is drawn."""
        node, rest, buckets = self.node, self.node.ground, self.node.ground.buckets
        settings = list(np.ndindex(*self.outer.values()))
        sizes = [self.sizes[axis] for axis in cells]
        words = [rest.n_atoms, len(buckets.scope), len(rest.term), self.table.begin, self.log_sum.begin, self.chance.begin]
        words += [self.known.begin, self.scratch.begin, self.known_step, len(settings), len(node.terms), prod(sizes)]
        words += [len(node.places), place, mean]
        for part in (buckets.atom, buckets.parent, buckets.scope_start, buckets.scope, buckets.place, buckets.table_start):
            words += part.tolist()
        words += [*buckets.term_start.tolist(), *buckets.mask.tolist(), *buckets.value.tolist()]
        number = {term.spent.number: i for i, term in enumerate(node.terms)}
        for term, cell in zip(rest.term.tolist(), rest.cell.tolist(), strict=True):
            i = number[term]
            axes, loss = node.terms[i].axes, self.losses[i]
            at = np.unravel_index(cell, [self.sizes[axis] for axis in axes]) if axes else ()
            words += [i, sum(int(k) * loss.step(axis) for k, axis in zip(at, axes, strict=True))]
        for setting in settings:
            words += [
                loss.begin + sum(k * loss.step(a) for k, a in zip(setting, self.outer, strict=True)) for loss in self.losses
            ]
        if cells or what in (op.DRAW_REST, op.SPREAD_REST):
            words += self._atoms(cells, sizes)
        self.writer._append(what, [int(word) for word in words])

    def _atoms(self, cells: Sequence[int], sizes: Sequence[int]) -> list[int]:
        """For each atom its predicate and how far in it it is, and for each cell where each predicate begins."""
        node, words = self.node, list[int]()
        places = {name: self.writer.atoms(name, range(len(at))) for name, at in node.places.items()}
        for i, (name, at) in enumerate(node.places.items()):
            ground = [k for k, place in enumerate(at) if place is None]
            where = np.zeros((), np.int64)
            for k in ground:
                where = where[..., None] + np.arange(places[name].sizes[k]) * places[name].steps[k]
            for far in where.reshape(-1).tolist():
                words += [i, far]
        for cell in np.ndindex(*sizes):
            at_axis = dict(zip(cells, cell, strict=True))
            for name, at in node.places.items():
                own = places[name]
                words.append(own.begin + sum(at_axis[a] * own.steps[k] for k, a in enumerate(at) if a is not None))
        return words


def _outer_first(places: tuple[int | None, ...]) -> tuple[list[int], tuple[int, ...]]:
    """Arguments with those that have an axis first, in the order of the axes; and these axes."""
    kept = sorted((place, i) for i, place in enumerate(places) if place is not None)
    return [i for _, i in kept] + [i for i, place in enumerate(places) if place is None], tuple(place for place, _ in kept)
