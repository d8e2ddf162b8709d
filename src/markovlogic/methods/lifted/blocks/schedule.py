"""A compiled program on arrays: node terms upwards, then draws and expectations downwards.

Upwards every node gives a log sum over its own atoms, a tensor along chains, constants (of `Each`) and outer branches (of
`Count`). Downwards branches are drawn from the node terms, and in the same pass the terms give every atom's probability given
the rest of the world: expectations, not drawn bits (papers.md 3.2). A set of true atoms of drawn size is uniform.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import prod

import numpy as np
import numpy.typing as npt

from markovlogic.methods.lifted.blocks.tensor_program import Count, Each, IndependentAtoms, Node, Parts, Program, Rest, Spent
from markovlogic.methods.lifted.blocks.tensors import CHAIN, Tensor, chosen, contracted, joint_axes, product, sum_over, total

Bools = npt.NDArray[np.bool_]
Choices = dict[int | str, Tensor]  # by axis: the terms of a count, the tables of what is ground; by predicate: log-odds of coins


@dataclass(frozen=True, eq=False)
class Known:
    """The evidence about a predicate's atoms, one axis an argument; None where there is none."""

    true: npt.NDArray[np.float64] | None
    unknown: npt.NDArray[np.float64] | None


@dataclass(frozen=True, eq=False)
class Drawn:
    """What one pass over a cluster gives: new values, and the probability of each atom given the rest; chains come first."""

    value: dict[str, Bools]
    probability: dict[str, npt.NDArray[np.float64]]


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

    @property
    def eliminates(self) -> bool:
        """Whether something is ground."""
        return bool(self._rests)

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
        from markovlogic.kernels.elimination import eliminate

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
        table, log_sum = np.empty((n, rest.entries)), np.empty(n)
        scratch = np.empty(max(1, int(np.diff(rest.buckets.table_start).max(initial=2)) // 2))
        fixed = known.along((*outer, node.axis)).astype(np.int8)
        if prod(fixed.shape[:-1]) > 1:
            fixed = np.broadcast_to(fixed, (*shape, rest.n_atoms))
        fixed = np.ascontiguousarray(fixed.reshape(-1, rest.n_atoms))
        eliminate(rest.buckets, loss.reshape(n, -1), fixed, table, scratch, log_sum)
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

    def draw(self, coefficient: Mapping[int, Tensor], n_chains: int, rng: np.random.Generator) -> Drawn:
        """A new assignment of the cluster in every chain, and the probability of each atom given the rest."""
        terms: Choices = {}
        self._up(self.program.root, coefficient, terms)
        drawn = Drawn({}, {})
        self._down(self.program.root, terms, _Path((CHAIN,), {}, Tensor((), np.ones(()))), drawn, (n_chains, rng))
        return drawn

    def _down(self, node: Node, terms: Choices, path: _Path, drawn: Drawn, chains: tuple[int, np.random.Generator]) -> None:
        match node:
            case Parts(children=children):
                for child in children:
                    self._down(child, terms, path, drawn, chains)
            case Each(axis=axis, child=child):
                self._down(child, terms, _Path((*path.axes, axis), path.drawn, path.weight), drawn, chains)
            case Count(child=child):
                self._down(child, terms, self._count_down(node, terms, path, drawn, chains), drawn, chains)
            case IndependentAtoms():
                self._independent_down(node, terms, path, drawn, chains)
            case Rest():
                self._rest_down(node, terms, path, drawn, chains)

    def _expected(self, path: _Path, chance: Tensor) -> Tensor:
        """The mean over the branches on the way."""
        branches = tuple(sorted(path.drawn))
        return contracted(path.weight, chance, branches, self.sizes) if branches else product(path.weight, chance)

    def _rest_down(self, node: Rest, terms: Choices, path: _Path, drawn: Drawn, chains: tuple[int, np.random.Generator]) -> None:
        from markovlogic.kernels.elimination import draw, marginals

        n_chains, rng = chains
        rest, table = node.ground, terms[node.axis]
        outer, shape = table.axes[:-1], table.array.shape[:-1]
        flat = table.array.reshape(-1, rest.entries)
        # the draw: along chains and constants, at what was drawn further out
        axes = path.axes
        place = Tensor(outer, np.arange(len(flat), dtype=np.float64).reshape(shape))
        setting = np.broadcast_to(chosen(place, path.drawn).along(axes), self._shape(axes, n_chains))
        uniform = rng.random((setting.size, rest.n_atoms))
        value = np.empty((setting.size, rest.n_atoms), np.bool_)
        draw(rest.buckets, flat, setting.reshape(-1).astype(np.int64), uniform, value)
        # expectations
        share = np.empty((len(flat), rest.n_atoms))
        marginals(rest.buckets, flat, np.empty(rest.entries), share)
        chance = Tensor(table.axes, share.reshape(*shape, rest.n_atoms))
        mean = self._expected(path, chance)
        expected = np.broadcast_to(mean.along((*axes, node.axis)), (*setting.shape, rest.n_atoms))
        for name, at in node.places.items():
            order, kept = _outer_first(at)
            begin, ground = rest.first[name], [self.arguments[name][i] for i in order[len(kept) :]]
            own = slice(begin, begin + prod(ground))
            back = np.argsort(order)
            sizes = (n_chains, *(self.sizes[axis] for axis in kept), *ground)
            moved = (0, *(1 + back))
            drawn.value[name] = value.reshape(*setting.shape, -1)[..., own].reshape(sizes).transpose(moved)
            drawn.probability[name] = expected[..., own].reshape(sizes).transpose(moved)

    def _shape(self, axes: tuple[int, ...], n_chains: int) -> tuple[int, ...]:
        return tuple(n_chains if axis == CHAIN else self.sizes[axis] for axis in axes)

    def _count_down(
        self, node: Count, terms: Choices, path: _Path, drawn: Drawn, chains: tuple[int, np.random.Generator]
    ) -> _Path:
        n_chains, rng = chains
        term, axis = terms[node.axis], node.axis
        at = term.axes.index(axis)
        weight = np.exp(term.array - term.array.max(axis=at, keepdims=True))
        share = Tensor(term.axes, weight / weight.sum(axis=at, keepdims=True))
        # the draw: along chains and constants, at what was drawn further out
        axes = (*path.axes, axis)
        here = chosen(share, path.drawn).along(axes)
        uniform = rng.random((*self._shape(path.axes, n_chains), 1))
        number = (np.cumsum(here, axis=-1) < uniform * here.sum(axis=-1, keepdims=True)).sum(axis=-1)
        number = np.minimum(number, self.sizes[axis] - 1)
        picked = Tensor(path.axes, number.astype(np.float64))
        # expectations
        joint = product(path.weight, share)
        true, unknown = self._open[axis]
        branches = tuple(a for a in joint.axes if a in path.drawn or a == axis)
        mean = contracted(joint, Tensor((axis,), np.arange(self.sizes[axis], dtype=np.float64)), branches, self.sizes)
        chance = total(mean, Tensor(true.axes, -true.array))
        wide = joint_axes(chance, unknown)
        chance = Tensor(wide, chance.along(wide) / np.maximum(unknown.along(wide), 1.0))
        self._fill_counted(node, chance, picked, drawn, chains)
        return _Path(path.axes, {**path.drawn, axis: picked}, joint)

    def _fill_counted(
        self, node: Count, chance: Tensor, picked: Tensor, drawn: Drawn, chains: tuple[int, np.random.Generator]
    ) -> None:
        """Values of the counted atoms: a uniform set of the unknown ones, of the size that was drawn."""
        n_chains, rng = chains
        sizes = self.arguments[node.predicate]
        decided = tuple(sorted(place for place in node.places if place is not None))
        rows = (n_chains, *(self.sizes[axis] for axis in decided))
        true, _ = self._open[node.axis]
        axes = (CHAIN, *decided)
        number = np.broadcast_to(picked.along(axes), rows)
        spare = np.broadcast_to(number - true.along(axes), rows)
        counted = [i for i, place in enumerate(node.places) if place is None]
        width = prod(sizes[i] for i in counted)
        # arguments in the order: decided ones by axis, then counted ones
        order = [node.places.index(axis) for axis in decided] + counted
        back = np.argsort(order)
        shape = [sizes[i] for i in order]
        known = self._evidence.get(node.predicate)
        if width == 1:
            value = (spare > 0)[..., None]
            free = None if known is None else known[1].transpose(order).reshape(*rows[1:], width) > 0
        else:
            keys = rng.random((*rows, width))
            free = None if known is None else known[1].transpose(order).reshape(*rows[1:], width) > 0
            if free is not None:
                keys = np.where(free, keys, np.inf)
            rank = np.argsort(np.argsort(keys, axis=-1), axis=-1)
            value = rank < spare[..., None]
        probability = np.broadcast_to(np.broadcast_to(chance.along(axes), rows)[..., None], (*rows, width))
        if free is not None and known is not None:
            certain = known[0].transpose(order).reshape(*rows[1:], width) > 0
            value, probability = np.where(free, value, certain), np.where(free, probability, certain)
        moved = (0, *(1 + back))
        drawn.value[node.predicate] = value.reshape(n_chains, *shape).transpose(moved)
        drawn.probability[node.predicate] = np.ascontiguousarray(probability).reshape(n_chains, *shape).transpose(moved)

    def _independent_down(
        self, node: IndependentAtoms, terms: Choices, path: _Path, drawn: Drawn, chains: tuple[int, np.random.Generator]
    ) -> None:
        n_chains, rng = chains
        odds = terms[node.predicate]
        chance = Tensor(odds.axes, 0.5 * (1.0 + np.tanh(0.5 * odds.array)))
        axes = (CHAIN, *sorted(node.places))
        shape = self._shape(axes, n_chains)
        moved = (0, *(1 + np.argsort(np.argsort(node.places))))
        here = np.broadcast_to(chosen(chance, path.drawn).along(axes), shape)
        mean = self._expected(path, chance)
        value = (rng.random(shape) < here).transpose(moved)
        probability = np.broadcast_to(mean.along(axes), shape).transpose(moved)
        known = self._evidence.get(node.predicate)
        if known is not None:
            certain, free = known[0] > 0, known[1] > 0
            value, probability = np.where(free, value, certain), np.where(free, probability, certain)
        drawn.value[node.predicate] = value
        drawn.probability[node.predicate] = np.asarray(probability)


def _outer_first(places: tuple[int | None, ...]) -> tuple[list[int], tuple[int, ...]]:
    """Arguments with those that have an axis first, in the order of the axes; and these axes."""
    kept = sorted((place, i) for i, place in enumerate(places) if place is not None)
    return [i for _, i in kept] + [i for i, place in enumerate(places) if place is None], tuple(place for place, _ in kept)


@dataclass(frozen=True, eq=False)
class _Path:
    """The way down to a node: chains and constants that it is repeated for, branches drawn so far, and their probabilities."""

    axes: tuple[int, ...]
    drawn: dict[int, Tensor]
    weight: Tensor
