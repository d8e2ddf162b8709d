"""Sums over all counts of a network of counts, component by component: what is free to know need not be sampled.

Blocks of atoms that no row ties together are independent, and so are classes of objects whose pairs weigh the same whatever they
are. Classes that nothing distinguishes are one class: its cells then hold the objects of all of them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import comb, inf, log, prod

import numpy as np

from markovlogic.networks.counts import BlockNetwork, CountNetwork, TypeNetwork
from markovlogic.system.arrays import Bool, Float64, Int64, all_but, each_once
from markovlogic.system.cancellation import check

MOST_STATES = 2**20  # of one component
MOST_CELLS = 3e8  # states times what each of them is weighed by, of all components
PIECE = 2**22  # numbers that are computed together
CELL_SECONDS = 4e-9
PART_CELLS = 20_000  # what a component takes beside its states


@dataclass(frozen=True)
class CountSum:
    """What a sum would take; states are None where there are too many, or there is no joint distribution to sum."""

    states: int | None
    cells: float

    @property
    def seconds(self) -> float:
        """Predicted."""
        return 1e-3 + self.cells * CELL_SECONDS

    @property
    def possible(self) -> bool:
        """Whether it is cheap enough to be made."""
        return self.states is not None and self.cells <= MOST_CELLS


def sum_of(network: CountNetwork) -> BlockSum | TypeSum:
    """How the counts of a network are summed over."""
    if isinstance(network, TypeNetwork):
        return TypeSum(network)
    assert isinstance(network, BlockNetwork)
    return BlockSum(network)


def _components(n: int, one: Int64, other: Int64) -> Int64:
    """(n,) which of n things hang together by these pairs."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    graph = coo_array((np.ones(len(one), np.int8), (one, other)), shape=(n, n))
    return np.asarray(connected_components(graph, directed=False)[1], np.int64)


def _grid(sizes: Sequence[int], piece: int) -> Iterator[Int64]:
    """All tuples of numbers below these sizes, (n, len(sizes)), so many at a time."""
    for first in range(0, prod(sizes), piece):
        flat = np.arange(first, min(first + piece, prod(sizes)))
        yield np.stack(np.unravel_index(flat, sizes), axis=1) if sizes else np.zeros((1, 0), np.int64)


class _Law:
    """Weights that come in pieces, and sums of what they weigh; kept relative to the largest so far."""

    def __init__(self, n: int) -> None:
        self._top, self._total, self._sum = -inf, 0.0, np.zeros(n)

    def add(self, log_weight: Float64, values: Float64) -> None:
        """States with their values, (n_states, n)."""
        top = max(self._top, float(log_weight.max()))
        shrink, weight = np.exp(self._top - top), np.exp(log_weight - top)
        self._total = self._total * shrink + float(weight.sum())
        self._sum = self._sum * shrink + weight @ values
        self._top = top

    @property
    def mean(self) -> Float64:
        """Of all values."""
        return np.asarray(self._sum / self._total)


@dataclass(frozen=True, eq=False)
class BlockSum:
    """Sums over counts of blocks."""

    network: BlockNetwork

    @cached_property
    def _component(self) -> Int64:
        """(n_blocks,)"""
        own = self.network
        length = np.diff(own.row_start)
        first = np.repeat(own.row_literal[own.row_start[:-1]] >> 1, length)
        # blocks that describe one block of summed-out atoms belong to one component
        summed, start = own.summed_literal >> 1, own.summed_row_start[own.summed_start]
        lead = np.repeat(summed[np.minimum(start[:-1], max(len(summed) - 1, 0))], np.diff(start)) if len(summed) else summed
        one, other = np.concatenate([first, lead]), np.concatenate([own.row_literal >> 1, summed])
        return _components(own.n_blocks, one.astype(np.int64), other.astype(np.int64))

    @cached_property
    def _summed_component(self) -> Int64:
        """(n_summed,) the component that describes each block of summed-out atoms; -1 where its chance is always the same."""
        own = self.network
        start = own.summed_row_start[own.summed_start]
        some = np.diff(start) > 0
        found = np.full(own.n_summed, -1, np.int64)
        found[some] = self._component[own.summed_literal[start[:-1][some]] >> 1]
        return found

    @cached_property
    def _parts(self) -> list[tuple[Int64, Int64]]:
        """The open blocks of every component that has some, and its rows."""
        own, component = self.network, self._component
        open_ = np.flatnonzero(own.most > 0)
        of_row = component[own.row_literal[own.row_start[:-1]] >> 1]
        blocks, rows = open_[np.argsort(component[open_], kind="stable")], np.argsort(of_row, kind="stable")
        number = each_once(component[open_])
        block_at = np.searchsorted(component[blocks], number), np.searchsorted(component[blocks], number, side="right")
        row_at = np.searchsorted(of_row[rows], number), np.searchsorted(of_row[rows], number, side="right")
        return [(blocks[a:b], rows[c:d]) for a, b, c, d in zip(*(at.tolist() for at in (*block_at, *row_at)), strict=True)]

    @cached_property
    def cost(self) -> CountSum:
        """The cost. Without a joint distribution there is no sum, unless each block stands alone."""
        if not self.network.has_joint and any(len(blocks) > 1 for blocks, _ in self._parts):
            return CountSum(None, inf)
        states, cells = 0, 0.0
        for blocks, rows in self._parts:
            own = prod((self.network.most[blocks] + 1).tolist()) if len(blocks) <= 60 else MOST_STATES + 1
            if own > MOST_STATES:
                return CountSum(None, inf)
            states += own
            cells += float(own) * (len(rows) + 4 * len(blocks)) + PART_CELLS
        return CountSum(states, cells)

    def means(self) -> Float64:
        """(n_units,) the mean share of true atoms among the open ones of each block; of known blocks what is known."""
        own = self.network
        found = np.concatenate([own.base, own.summed_chances(np.zeros((1, own.n_blocks), np.int64))[0]])
        for blocks, rows in self._parts:
            check()
            summed = np.flatnonzero(self._summed_component == self._component[blocks[0]])
            if len(rows) or len(summed):
                found[np.concatenate([blocks, own.n_blocks + summed])] = self._part_means(blocks, rows, summed)
            else:
                found[blocks] = 0.5
        return found

    def _part_means(self, blocks: Int64, rows: Int64, summed: Int64) -> Float64:
        """Of the blocks of a component, and of those without counts that it describes."""
        from scipy.special import gammaln

        own = self.network
        most, place = own.most[blocks], np.full(own.n_blocks, -1, np.int64)
        place[blocks] = np.arange(len(blocks))
        length = own.row_start[rows + 1] - own.row_start[rows]
        literals = [own.row_literal[own.row_start[rows[length == n]][:, None] + np.arange(n)] for n in each_once(length)]
        weights = [own.row_weight[rows[length == n]] for n in each_once(length)]
        base, step = own.base[blocks], own.step[blocks]
        if own.alone:
            base, step = np.zeros(len(blocks)), np.ones(len(blocks))
        law = _Law(len(blocks) + len(summed))
        for count in _grid((most + 1).tolist(), max(1, PIECE // (4 * len(blocks) + len(rows) + len(own.summed_literal)))):
            ways = (gammaln(most + 1.0) - gammaln(count + 1.0) - gammaln(most - count + 1.0)).sum(axis=1)
            share, loss = base + step * count, np.zeros(len(count))
            for literal, weight in zip(literals, weights, strict=True):
                part = share[:, place[literal >> 1]]
                loss += np.where(literal & 1, 1.0 - part, part).prod(axis=2) @ weight
            values = count / most
            if len(summed):
                every = np.zeros((len(count), own.n_blocks), np.int64)
                every[:, blocks] = count
                values = np.concatenate([values, own.summed_chances(every)[:, summed]], axis=1)
            law.add(ways - own.scale[blocks[0]] * loss, values)
        return np.clip(law.mean, 0.0, 1.0)  # rounding


@dataclass(frozen=True, eq=False)
class TypeSum:
    """Sums over counts of cells."""

    network: TypeNetwork

    def _cells(self, number: int) -> slice:
        own = self.network
        return slice(int(own.class_start[number]), int(own.class_start[number + 1]))

    @cached_property
    def alike(self) -> Int64:
        """(n_classes,) for each class the first that is like it: exchanging the two leaves every weight as it is."""
        own = self.network
        found, bins = np.arange(own.n_classes), dict[bytes, list[int]]()
        for number in range(own.n_classes):
            rows = own.pair[self._cells(number)]
            name = own.cell_weight[self._cells(number)].tobytes() + np.sort(rows, axis=1).tobytes()
            for first in bins.setdefault(name, []):
                if self._interchangeable(first, number):
                    found[number] = first
                    break
            else:
                bins[name].append(number)
        return found

    def _interchangeable(self, one: int, other: int) -> bool:
        own, a, b = self.network, self._cells(one), self._cells(other)
        rest = np.ones(own.n_cells, np.bool_)
        rest[a] = rest[b] = False
        between = own.pair[a, b]
        inside = [own.pair[cells, cells] for at, cells in ((one, a), (other, b)) if own.class_size[at] > 1]
        return (
            np.array_equal(own.pair[a][:, rest], own.pair[b][:, rest])
            and np.array_equal(between, between.T)
            and all(np.array_equal(part, between) for part in inside)
        )

    @cached_property
    def merged(self) -> TypeNetwork:
        """The network in which classes that are alike are one; its units are not those of the network."""
        from dataclasses import replace

        own, first = self.network, each_once(self.alike)
        cells = np.concatenate([np.zeros(0, np.int64), *(np.arange(own.n_cells)[self._cells(at)] for at in first.tolist())])
        pair = own.pair[np.ix_(cells, cells)]
        start = np.concatenate([[0], np.cumsum(np.diff(own.class_start)[first])])
        size = np.bincount(self.alike, own.class_size, minlength=own.n_classes)[first].astype(np.int64)
        for at, class_ in enumerate(first.tolist()):
            members = np.flatnonzero(self.alike == class_)
            if len(members) > 1 and own.class_size[class_] == 1:  # the pair weights of two members of the class
                inside = slice(int(start[at]), int(start[at + 1]))
                pair[inside, inside] = own.pair[self._cells(class_), self._cells(int(members[1]))]
        return replace(own, class_start=start, class_size=size, cell_weight=own.cell_weight[cells], pair=pair)

    @cached_property
    def _component(self) -> Int64:
        """(n_classes of `merged`,)"""
        own = self.merged
        if not own.n_classes:
            return np.zeros(0, np.int64)
        first = own.class_start[:-1]
        high = np.maximum.reduceat(np.maximum.reduceat(own.pair, first, axis=0), first, axis=1)
        low = np.minimum.reduceat(np.minimum.reduceat(own.pair, first, axis=0), first, axis=1)
        one, other = np.nonzero(high > low)
        return _components(own.n_classes, one.astype(np.int64), other.astype(np.int64))

    @cached_property
    def cost(self) -> CountSum:
        """The cost of a sum over all ways to put the objects of a class into its cells."""
        own, states, cells = self.merged, 0, 0.0
        for part in range(int(self._component.max(initial=-1)) + 1):
            classes, held = np.flatnonzero(self._component == part), self._held(part)
            ways, n = 0.0, 1
            for size, width in zip(own.class_size[classes].tolist(), np.diff(own.class_start)[classes].tolist(), strict=True):
                one = comb(size + width - 1, width - 1)
                ways, n = ways + log(one), n * min(one, MOST_STATES + 1)
                if ways > log(MOST_STATES):
                    return CountSum(None, inf)
            states += n
            cells += float(n) * int(held.sum()) ** 2 + PART_CELLS
        return CountSum(states, cells)

    def _held(self, part: int) -> Bool:
        """(n_cells of `merged`,) the cells of a component."""
        return np.repeat(self._component == part, np.diff(self.merged.class_start))

    def means(self) -> Float64:
        """(n_units,) the means that the network's units have, from moments of counts of cells."""
        own = self.merged
        share, pairs = np.zeros(own.n_cells), np.zeros((own.n_cells, own.n_cells))
        for part in range(int(self._component.max(initial=-1)) + 1):
            check()
            held = np.flatnonzero(self._held(part))
            share[held], pairs[np.ix_(held, held)] = self._moments(part, held)
        apart = np.repeat(self._component, np.diff(own.class_start))
        pairs = np.where(apart[:, None] == apart, pairs, np.outer(share, share))
        # from the merged classes back: a cell of a class is the same cell of the first that is like it
        size, at = own.class_size[own.class_of_cell].astype(np.float64), self._place
        together = size[:, None] * (size - (own.class_of_cell[:, None] == own.class_of_cell))
        chance = pairs / np.maximum(together, 1.0)  # that two objects are in these two cells
        real, link = self.network, self.network.link_cell
        n = real.class_size[real.class_of_cell]
        number = n[link[:, 0]] * (n[link[:, 1]] - (real.class_of_cell[link[:, 0]] == real.class_of_cell[link[:, 1]]))
        expected = number * chance[at[link[:, 0]], at[link[:, 1]]]
        return np.clip(real.unit_means((share / size)[at][None, :], expected[None, :])[:, 0], 0.0, 1.0)  # rounding

    @cached_property
    def _place(self) -> Int64:
        """(n_cells,) the cell of `merged` that stands for each."""
        own, merged = self.network, self.merged
        order = np.searchsorted(each_once(self.alike), self.alike)
        inside = np.arange(own.n_cells) - own.class_start[own.class_of_cell]
        return np.asarray(merged.class_start[order[own.class_of_cell]] + inside, np.int64)

    def _moments(self, part: int, held: Int64) -> tuple[Float64, Float64]:
        """Mean counts of a component's cells, and mean numbers of pairs of different objects in two of them."""
        from scipy.special import gammaln

        own = self.merged
        classes = np.flatnonzero(self._component == part)
        choices = [_compositions(int(own.class_size[at]), int(np.diff(own.class_start)[at])) for at in classes.tolist()]
        # the constant between different components does not matter; inside of a component all weights count
        h, pair = own.cell_weight[held], own.pair[np.ix_(held, held)]
        outside = own.pair[held][:, all_but(own.n_cells, held)]
        assert not outside.size or all(np.ptp(outside[own.class_of_cell[held] == at], axis=0).max() == 0 for at in classes)
        law = _Law(len(held) + len(held) ** 2)
        for index in _grid([len(own_) for own_ in choices], max(1, PIECE // max(1, len(held) ** 2))):
            count = np.concatenate([choice[index[:, at]] for at, choice in enumerate(choices)], axis=1).astype(np.float64)
            ways = -gammaln(count + 1.0).sum(axis=1)
            weight = count @ h + (np.einsum("si,si->s", count @ pair, count) - count @ np.diagonal(pair)) / 2
            pairs = count[:, :, None] * count[:, None, :]
            pairs -= count[:, :, None] * np.eye(len(held))
            law.add(ways + weight, np.concatenate([count, pairs.reshape(len(count), -1)], axis=1))
        mean = law.mean
        return mean[: len(held)], mean[len(held) :].reshape(len(held), len(held))


def _compositions(total: int, parts: int) -> Int64:
    """All ways to write a number as a sum of so many, (n_ways, parts): by where the bars between them stand."""
    if parts == 1:
        return np.array([[total]], np.int64)
    if parts == 2:
        first = np.arange(total + 1)
        return np.stack([first, total - first], axis=1)
    made = []
    for number in range(total + 1):
        rest = _compositions(total - number, parts - 1)
        made.append(np.concatenate([np.full((len(rest), 1), number), rest], axis=1))
    return np.concatenate(made)
