"""Clusters the slow way, as NumPy arrays whose first axis is that of chains: node terms upwards, then expectations downwards.

The oracle of `tensor_code`: it evaluates a program node by node, and knows nothing of places in memory.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import prod

import numpy as np

from markovlogic.kernels.elimination import eliminate, marginals
from markovlogic.methods.lifted.blocks.tensor_network import Known
from markovlogic.methods.lifted.blocks.tensor_program import Count, Each, IndependentAtoms, Node, Parts, Program, Rest, Spent
from markovlogic.methods.lifted.blocks.tensors import CHAIN, Tensor, summed_product

Choices = dict[int | str, Tensor]  # by axis: the terms of a count, the tables of what is ground; by predicate: log-odds of coins


def joint_axes(*tensors: Tensor) -> tuple[int, ...]:
    """The axes along which any of them varies."""
    return tuple(sorted({axis for tensor in tensors for axis in tensor.axes}))


def product(*tensors: Tensor) -> Tensor:
    """All of them multiplied."""
    axes = joint_axes(*tensors)
    result = tensors[0].along(axes)
    for tensor in tensors[1:]:
        result = result * tensor.along(axes)
    return Tensor(axes, result)


def total(*tensors: Tensor) -> Tensor:
    """All of them added; nothing is zero."""
    if not tensors:
        return Tensor((), np.zeros(()))
    axes = joint_axes(*tensors)
    result = tensors[0].along(axes)
    for tensor in tensors[1:]:
        result = result + tensor.along(axes)
    return Tensor(axes, result)


def sum_over(tensor: Tensor, axes: tuple[int, ...], sizes: Mapping[int, int]) -> Tensor:
    """The sum along some axes, those included along which it is constant."""
    own = tuple(i for i, axis in enumerate(tensor.axes) if axis in axes)
    times = prod(sizes[axis] for axis in axes if axis not in tensor.axes)
    kept = tuple(axis for axis in tensor.axes if axis not in axes)
    array = tensor.array.sum(axis=own) if own else tensor.array
    return Tensor(kept, array if times == 1 else array * times)


def contracted(one: Tensor, other: Tensor, axes: tuple[int, ...], sizes: Mapping[int, int]) -> Tensor:
    """The sum of their product along some axes: a matrix product where no other axis is common to both."""
    times = prod(sizes[axis] for axis in axes if axis not in one.axes and axis not in other.axes)
    both = tuple(axis for axis in axes if axis in one.axes and axis in other.axes)
    one = sum_over(one, tuple(axis for axis in axes if axis in one.axes and axis not in both), sizes)
    other = sum_over(other, tuple(axis for axis in axes if axis in other.axes and axis not in both), sizes)
    kept = tuple(axis for axis in joint_axes(one, other) if axis not in both)
    array = summed_product((one.array, other.array), (list(one.axes), list(other.axes)), list(kept))
    return Tensor(kept, array if times == 1 else array * times)


class Schedule:
    """A program with the evidence; immutable."""

    def __init__(self, program: Program, known: Mapping[str, Known], arguments: Mapping[str, tuple[int, ...]]) -> None:
        self.program, self.sizes = program, program.sizes
        self.arguments = dict(arguments)
        self._masks: dict[str, tuple[Tensor, Tensor]] = {}
        self._choices: dict[int, Tensor] = {}
        self._open: dict[int, tuple[Tensor, Tensor]] = {}
        self._rests: dict[int, Tensor] = {}
        self._evidence = {
            name: (own.true, own.unknown) for name, own in known.items() if own.true is not None and own.unknown is not None
        }
        self._prepare(program.root)

    def _prepare(self, node: Node) -> None:
        match node:
            case Parts(children=children):
                for child in children:
                    self._prepare(child)
            case Each(child=child):
                self._prepare(child)
            case Count():
                self._prepare_count(node)
                self._prepare(node.child)
            case IndependentAtoms():
                if node.predicate in self._evidence:
                    true, unknown = self._evidence[node.predicate]
                    order, placed = tuple(np.argsort(node.places)), tuple(sorted(node.places))
                    self._masks[node.predicate] = Tensor(placed, true.transpose(order)), Tensor(placed, unknown.transpose(order))
            case Rest():
                self._rests[node.axis] = self._known_atoms(node)

    def _known_atoms(self, node: Rest) -> Tensor:
        """1, 0 and −1 (unknown) for every ground atom."""
        axes = tuple(sorted({place for at in node.places.values() for place in at if place is not None}))
        shape = tuple(self.sizes[axis] for axis in axes)
        found = np.full((*shape, node.ground.n_atoms), -1.0)
        for name, at in node.places.items():
            evidence = self._evidence.get(name)
            if evidence is None:
                continue
            order, kept = _outer_first(at)
            status = np.where(evidence[1] > 0, -1.0, evidence[0]).transpose(order)
            status = status.reshape(*status.shape[: len(kept)], -1)
            begin = node.ground.first[name]
            found[..., begin : begin + status.shape[-1]] = Tensor((*kept, node.axis), status).along((*axes, node.axis))
        return Tensor((*axes, node.axis), found)

    def _prepare_count(self, node: Count) -> None:
        """Ln of the number of ways to have i true atoms: the unknown ones that are true beside those known to be."""
        from scipy.special import gammaln

        sizes = self.arguments[node.predicate]
        counted = tuple(i for i, place in enumerate(node.places) if place is None)
        n = prod(sizes[i] for i in counted)
        kept = [(place, i) for i, place in enumerate(node.places) if place is not None]
        known = self._evidence.get(node.predicate)
        if known is None:
            true, unknown = Tensor((), np.zeros(())), Tensor((), np.full((), float(n)))
        else:
            axes = tuple(sorted(place for place, _ in kept))
            order = np.argsort([place for place, _ in kept])
            true = Tensor(axes, known[0].sum(axis=counted).transpose(order))
            unknown = Tensor(axes, known[1].sum(axis=counted).transpose(order))
        self._open[node.axis] = (true, unknown)
        axes = (*true.axes, node.axis)
        more = np.arange(n + 1.0) - true.along(axes)
        m = unknown.along(axes)
        possible = (more >= 0) & (more <= m)
        inside = np.clip(more, 0, m)
        ways = gammaln(m + 1) - gammaln(inside + 1) - gammaln(m - inside + 1)
        self._choices[node.axis] = Tensor(axes, np.where(possible, ways, -np.inf))

    # ---- upwards

    def log_sum(self, coefficient: Mapping[int, Tensor], terms: Choices) -> Tensor:
        """The log of the sum over all assignments of the cluster; `terms` gets what each node has to choose from."""
        return self._up(self.program.root, coefficient, terms)

    def _up(self, node: Node, coefficient: Mapping[int, Tensor], terms: Choices) -> Tensor:
        match node:
            case Parts(children=children):
                return total(*(self._up(child, coefficient, terms) for child in children))
            case Each(axis=axis, child=child):
                return sum_over(self._up(child, coefficient, terms), (axis,), self.sizes)
            case Count(axis=axis, child=child):
                inner = self._up(child, coefficient, terms)
                losses = [self._loss(spent, coefficient) for spent in node.spent]
                term = total(self._choices[axis], inner, *losses)
                terms[axis] = term
                at = term.axes.index(axis)
                top = term.array.max(axis=at, keepdims=True)
                array = np.log(np.exp(term.array - top).sum(axis=at)) + top.squeeze(at)
                return Tensor(tuple(a for a in term.axes if a != axis), array)
            case IndependentAtoms():
                return self._independent_up(node, coefficient, terms)
            case Rest():
                return self._rest_up(node, coefficient, terms)

    def _rest_up(self, node: Rest, coefficient: Mapping[int, Tensor], terms: Choices) -> Tensor:
        """Eliminate the atoms for every chain, constant and branch that makes a difference."""
        rest, known = node.ground, self._rests[node.axis]
        losses = [self._loss(term.spent, coefficient) for term in node.terms]
        inner = {node.axis, *(axis for term in node.terms for axis in term.axes)}
        length = {axis: n for tensor in (known, *losses) for axis, n in zip(tensor.axes, tensor.array.shape, strict=True)}
        outer = tuple(sorted(axis for axis in length if axis not in inner))
        shape = tuple(length[axis] for axis in outer)
        loss = np.empty((*shape, len(rest.term)))
        for term, own in zip(node.terms, losses, strict=True):
            whole = -own.along((*outer, *term.axes))
            whole = np.broadcast_to(whole, (*whole.shape[: len(outer)], *(self.sizes[axis] for axis in term.axes)))
            at = rest.term == term.spent.number
            loss[..., at] = whole.reshape(*whole.shape[: len(outer)], -1)[..., rest.cell[at]]
        n = prod(shape)
        table = np.empty((n, rest.entries))
        scratch = np.empty(rest.entries)
        fixed = np.broadcast_to(known.along((*outer, node.axis)), (*shape, rest.n_atoms)).reshape(n, -1)
        rows = zip(loss.reshape(n, -1), fixed, table, strict=True)
        log_sum = np.array([eliminate(rest.buckets, *own, scratch) for own in rows])
        terms[node.axis] = Tensor((*outer, node.axis), table.reshape(*shape, -1))
        return Tensor(outer, log_sum.reshape(shape))

    def _independent_up(self, node: IndependentAtoms, coefficient: Mapping[int, Tensor], terms: Choices) -> Tensor:
        """Σ over atoms of the log weight: of false, and ln(1 + odds) where unknown, or the log-odds where known to be true."""
        false, odds = self._independent_weights(node, coefficient)
        terms[node.predicate] = odds
        both = Tensor(odds.axes, np.logaddexp(0.0, odds.array))
        summed = [sum_over(false, node.own, self.sizes)]
        masks = self._masks.get(node.predicate)
        if masks is None:
            summed.append(sum_over(both, node.own, self.sizes))
        else:
            true, unknown = masks
            summed.append(contracted(unknown, both, node.own, self.sizes))
            summed.append(contracted(true, odds, node.own, self.sizes))
        return total(*summed)

    def _independent_weights(self, node: IndependentAtoms, coefficient: Mapping[int, Tensor]) -> tuple[Tensor, Tensor]:
        """The log weight of false, and the log-odds of true: a positive literal is false where the atom is."""
        positive = [self._loss(term.spent, coefficient) for term in node.terms if term.positive]
        negative = [self._loss(term.spent, coefficient) for term in node.terms if not term.positive]
        false = total(*positive)
        return false, total(*negative, Tensor(false.axes, -false.array))

    def _loss(self, spent: Spent, coefficient: Mapping[int, Tensor]) -> Tensor:
        """Minus the coefficient, times how many atoms of each counted predicate make its literal false."""
        factors = []
        for multiplier in spent.multipliers:
            n = self.sizes[multiplier.axis] - 1.0
            number = np.arange(n + 1)
            factors.append(Tensor((multiplier.axis,), n - number if multiplier.positive else number))
        found = coefficient[spent.number]
        return product(Tensor(found.axes, -found.array), *factors)

    # ---- downwards

    def probabilities(self, coefficient: Mapping[int, Tensor], n_chains: int) -> dict[str, np.ndarray]:
        """Of each atom given the rest, chains first."""
        terms: Choices = {}
        self._up(self.program.root, coefficient, terms)
        found: dict[str, np.ndarray] = {}
        self._down(self.program.root, terms, _Path((CHAIN,), (), Tensor((), np.ones(()))), found, n_chains)
        return found

    def _down(self, node: Node, terms: Choices, path: _Path, found: dict[str, np.ndarray], n_chains: int) -> None:
        match node:
            case Parts(children=children):
                for child in children:
                    self._down(child, terms, path, found, n_chains)
            case Each(axis=axis, child=child):
                self._down(child, terms, _Path((*path.axes, axis), path.branches, path.weight), found, n_chains)
            case Count(child=child):
                self._down(child, terms, self._count_down(node, terms, path, found, n_chains), found, n_chains)
            case IndependentAtoms():
                odds = terms[node.predicate]
                mean = self._expected(path, Tensor(odds.axes, 1.0 / (1.0 + np.exp(-odds.array))))
                axes = (CHAIN, *sorted(node.places))
                moved = (0, *(1 + np.argsort(np.argsort(node.places))))
                self._note(node.predicate, np.broadcast_to(mean.along(axes), self._shape(axes, n_chains)).transpose(moved), found)
            case Rest():
                self._rest_down(node, terms, path, found, n_chains)

    def _note(self, predicate: str, chance: np.ndarray, found: dict[str, np.ndarray]) -> None:
        known = self._evidence.get(predicate)
        found[predicate] = np.array(chance) if known is None else np.where(known[1] > 0, chance, known[0])

    def _expected(self, path: _Path, chance: Tensor) -> Tensor:
        """The mean over the branches on the way."""
        branches = tuple(sorted(path.branches))
        return contracted(path.weight, chance, branches, self.sizes) if branches else product(path.weight, chance)

    def _shape(self, axes: tuple[int, ...], n_chains: int) -> tuple[int, ...]:
        return tuple(n_chains if axis == CHAIN else self.sizes[axis] for axis in axes)

    def _rest_down(self, node: Rest, terms: Choices, path: _Path, found: dict[str, np.ndarray], n_chains: int) -> None:
        rest, table = node.ground, terms[node.axis]
        share = np.empty((*table.array.shape[:-1], rest.n_atoms))
        for at in np.ndindex(*share.shape[:-1]):
            marginals(rest.buckets, table.array[at], np.empty(rest.entries), share[at])
        mean = self._expected(path, Tensor(table.axes, share))
        whole = (*self._shape(path.axes, n_chains), rest.n_atoms)
        expected = np.broadcast_to(mean.along((*path.axes, node.axis)), whole)
        for name, at in node.places.items():
            order, kept = _outer_first(at)
            begin, ground = rest.first[name], [self.arguments[name][i] for i in order[len(kept) :]]
            sizes = (n_chains, *(self.sizes[axis] for axis in kept), *ground)
            self._note(
                name, expected[..., begin : begin + prod(ground)].reshape(sizes).transpose(0, *(1 + np.argsort(order))), found
            )

    def _count_down(self, node: Count, terms: Choices, path: _Path, found: dict[str, np.ndarray], n_chains: int) -> _Path:
        term, axis = terms[node.axis], node.axis
        at = term.axes.index(axis)
        weight = np.exp(term.array - term.array.max(axis=at, keepdims=True))
        joint = product(path.weight, Tensor(term.axes, weight / weight.sum(axis=at, keepdims=True)))
        true, unknown = self._open[axis]
        branches = tuple(a for a in joint.axes if a in path.branches or a == axis)
        mean = contracted(joint, Tensor((axis,), np.arange(self.sizes[axis], dtype=np.float64)), branches, self.sizes)
        chance = total(mean, Tensor(true.axes, -true.array))
        wide = joint_axes(chance, unknown)
        chance = Tensor(wide, chance.along(wide) / np.maximum(unknown.along(wide), 1.0))
        sizes = self.arguments[node.predicate]
        decided = tuple(sorted(place for place in node.places if place is not None))
        counted = [i for i, place in enumerate(node.places) if place is None]
        order = [node.places.index(axis) for axis in decided] + counted
        rows = self._shape((CHAIN, *decided), n_chains)
        wide_array = chance.along((CHAIN, *decided)).reshape(chance.along((CHAIN, *decided)).shape + (1,) * len(counted))
        whole = np.broadcast_to(wide_array, (*rows, *(sizes[i] for i in counted)))
        self._note(node.predicate, whole.transpose(0, *(1 + np.argsort(order))), found)
        return _Path(path.axes, (*path.branches, axis), joint)


def _outer_first(places: tuple[int | None, ...]) -> tuple[list[int], tuple[int, ...]]:
    """Arguments with those that have an axis first, in the order of the axes; and these axes."""
    kept = sorted((place, i) for i, place in enumerate(places) if place is not None)
    return [i for _, i in kept] + [i for i, place in enumerate(places) if place is None], tuple(place for place, _ in kept)


@dataclass(frozen=True, eq=False)
class _Path:
    """The way down to a node: chains and constants that it is repeated for, branches on the way, and their probabilities."""

    axes: tuple[int, ...]
    branches: tuple[int, ...]
    weight: Tensor
