"""A predicate that is drawn atom by atom, group by group, or in blocks of atoms of which only the number of true ones matters.

`Student(x) ^ Links(x, y) => Student(y)`, `T(x, y) ^ T(y, z) => T(x, z)`: given everything else an atom's log-odds are signed
counts of joins, which is what the counting network is about. Its kernels sweep the predicate, chain after chain; Python does
nothing for each atom.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from math import prod
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from markovlogic.kernels.counting.layout import (
    ARITY,
    N_ROWS,
    N_WORDS,
    VIEW_BEGIN,
    VIEW_STRIDES,
    VIEWS,
    WIDTH,
    Chain,
    Layout,
    Registers,
    Room,
)
from markovlogic.language.templates import LoweredModel
from markovlogic.methods.lifted.blocks.held import rules_about
from markovlogic.methods.lifted.blocks.tensors import Bools
from markovlogic.networks.counting.building import counting_network
from markovlogic.networks.counting.moves import NOTHING, kernel_of, sweep
from markovlogic.networks.counting.network import CountingNetwork
from markovlogic.problem import Problem
from markovlogic.problem.statuses import Statuses
from markovlogic.system.arrays import Int64, Words, frozen, offsets

DECIDED = 0.5  # sums of hard clauses are whole numbers


class Drawn(NamedTuple):
    """New values of a predicate's atoms, and the probability of each given the rest; chains come first."""

    value: Bools
    probability: npt.NDArray[np.float64]


class Blocks(NamedTuple):
    """Open atoms that can be exchanged, block after block."""

    start: Int64  # (n_blocks + 1,)
    code: Int64  # of each atom


class Groups(NamedTuple):
    """The exclusive groups of a predicate."""

    start: Int64  # (n_groups + 1,)
    atom: Int64  # numbers of the atoms, the predicate's first one being 0


def counted_unit(predicate: str, problem: Problem, lowered: LoweredModel, counted: tuple[int, ...]) -> CountedUnit:
    """What draws a predicate; counted: arguments along which atoms can be exchanged, none: atom by atom."""
    network = counting_network(problem, rules_about(predicate, lowered))
    blocks = _blocks(problem.statuses[predicate], problem.atoms.codes(predicate), counted) if counted else None
    return CountedUnit(predicate, network, blocks)


def n_groups(problem: Problem, predicate: str) -> int:
    """How many open exclusive groups a predicate has."""
    return sum(len(groups.start) - 1 for groups in problem.groups if groups.predicate == predicate)


def _blocks(statuses: Statuses, is_open: Int64, counted: tuple[int, ...]) -> Blocks:
    sizes = statuses.sizes
    order = [i for i in range(len(sizes)) if i not in counted] + list(counted)
    code = np.arange(statuses.n_ground).reshape(sizes).transpose(order).reshape(-1, prod(sizes[i] for i in counted))
    mask = np.zeros(statuses.n_ground, np.bool_)
    mask[is_open] = True
    length = mask[code].sum(axis=1)
    return frozen(Blocks(offsets(length[length > 0]), code[mask[code]].astype(np.int64)))


@dataclass(frozen=True, eq=False)
class CountedUnit:
    """One predicate, and the counting network of the clauses that bear on it; immutable."""

    predicate: str
    network: CountingNetwork
    blocks: Blocks | None

    @property
    def kernel_modules(self) -> tuple[str, ...]:
        """Modules of `kernels` that `draw` needs."""
        return (kernel_of(self.network),) if self.blocks is None else ("counting.blocks",)

    @cached_property
    def _number(self) -> int:
        return self.network.predicates.index(self.predicate)

    @cached_property
    def _layout(self) -> Layout:
        """The network's, with the sites of this predicate alone, whose first atom has number 0."""
        layout, start = self.network.layout, self.network.problem.atoms.range_of(self.predicate).start
        site = np.ascontiguousarray(layout.site[layout.site[:, 0] == self._number])
        member = layout.group_member - np.array([[0, start]], np.int64)
        return frozen(layout._replace(site=site, first=layout.first - start, group_member=member))

    @cached_property
    def read(self) -> tuple[str, ...]:
        """Open predicates that clauses about it mention, itself among them."""
        lowered = self.network.lowered
        parts = [template.literals for template in lowered.templates]
        parts += [cube.literals for definition in lowered.definitions for cube in definition.cubes]
        named = {literal.predicate for literals in parts for literal in literals} | {self.predicate}
        return tuple(name for name, statuses in self.network.problem.statuses.items() if name in named and statuses.n_open)

    @cached_property
    def _hidden(self) -> tuple[int, ...]:
        names = {definition.predicate for definition in self.network.lowered.definitions}
        return tuple(at for at, name in enumerate(self.network.predicates) if name in names)

    @cached_property
    def _groups(self) -> Groups | None:
        """Where it has exclusive ones."""
        for groups in self.network.problem.groups:
            if groups.predicate == self.predicate:
                first = self.network.problem.atoms.range_of(self.predicate).start
                return Groups(groups.start, groups.atom.astype(np.int64) - first)
        return None

    @cached_property
    def _codes(self) -> Int64:
        return self.network.problem.atoms.codes(self.predicate)

    @cached_property
    def _rooms(self) -> list[tuple[Room, Registers]]:
        """Rooms that no draw is using; threads share the unit, and each takes one or makes it."""
        return []

    def draw(self, values: Mapping[str, Bools], generators: Words) -> Drawn:
        """New values of all atoms, each given those drawn before it, and the probability that each was drawn with.

        generators: (n_chains, 4), which move on.
        """
        n_chains = len(generators)
        try:
            room, registers = self._rooms.pop()
        except IndexError:
            room, registers = self.network.room(), self.network.registers()
        slots = np.zeros(self.network.n_slots, np.int64)
        bits = self._bits(values, n_chains)
        share = np.empty((n_chains, len(self._codes)))
        for at in range(n_chains):
            chain = Chain(bits[at], generators[at], room, registers, slots, 1.0)
            self._count_hidden(chain)
            share[at] = self._swept(chain) if self.blocks is None else self._blocks_drawn(chain, self.blocks)
        self._rooms.append((room, registers))
        value = self._truth(bits)
        chance = value.astype(np.float64)
        chance.reshape(n_chains, -1)[:, self._codes if self.blocks is None else self.blocks.code] = share
        return Drawn(value, chance)

    def _bits(self, values: Mapping[str, Bools], n_chains: int) -> Words:
        """All relations that clauses mention, in every chain's world: (n_chains, n_words)."""
        relations, predicates = self.network.relations, self.network.predicates
        flags = (relations.views.shape[1] + VIEW_STRIDES) >> 1  # of arguments along the bits, after the strides
        bits = np.repeat(self.network.evidence[None], n_chains, axis=0)
        for name in self.read:
            own = relations.predicate[predicates.index(name)]
            for at in range(own[VIEWS], own[VIEWS + 1]):
                view = relations.views[relations.listed[at]]
                words = _packed(values[name], view[flags : flags + own[ARITY]])
                bits[:, view[VIEW_BEGIN] : view[VIEW_BEGIN] + words.shape[1]] = words
        return bits

    def _count_hidden(self, chain: Chain) -> None:
        """Give hidden atoms their counts and values."""
        from markovlogic.kernels.counting.flips import count_hidden

        for hidden in self._hidden:
            count_hidden(self.network.code, self.network.relations, hidden, chain.bits, chain.slots, chain.room)

    def _truth(self, bits: Words) -> Bools:
        """The predicate's values in every chain, from the view of its last argument."""
        own = self.network.relations.predicate[self._number]
        begin = self.network.relations.views[self.network.relations.listed[own[VIEWS]], VIEW_BEGIN]
        words = np.ascontiguousarray(bits[:, begin : begin + own[N_ROWS] * own[N_WORDS]], "<u8")
        rows = np.unpackbits(words.view(np.uint8), axis=1, bitorder="little").reshape(len(bits), own[N_ROWS], -1)
        sizes = self.network.problem.statuses[self.predicate].sizes
        return rows[:, :, : own[WIDTH]].astype(np.bool_).reshape(len(bits), *sizes)

    def _swept(self, chain: Chain) -> npt.NDArray[np.float64]:
        """Draw all atoms, or groups, in turn; gives the probabilities of the open atoms."""
        sums = np.empty((len(self._codes), 2))
        sweep(self.network, chain, 1, NOTHING._replace(sums=sums), layout=self._layout)
        log_odds, hard = sums.T
        if self._groups is not None:
            return _shares(log_odds, hard, self._groups)
        share = 0.5 * (1.0 + np.tanh(0.5 * log_odds))
        return np.where(np.abs(hard) > DECIDED, hard > 0, share)

    def _blocks_drawn(self, chain: Chain, blocks: Blocks) -> npt.NDArray[np.float64]:
        """Draw all blocks in turn; gives the probabilities of their atoms."""
        from markovlogic.kernels.counting.blocks import draw_blocks

        chance = np.empty(len(blocks.code))
        weight = np.empty(int(np.diff(blocks.start).max(initial=0)) + 1)
        draw_blocks(self._layout, self._number, blocks.start, blocks.code, chain, weight, chance)
        return chance


def _packed(value: Bools, along: Int64) -> Words:
    """A view of a relation in every chain: (n_chains, n_words). along: 1 for each argument that runs along the bits."""
    places = [1 + int(i) for i in np.flatnonzero(along)]
    for place in reversed(places[1:]):  # the same constant at several places
        value = np.moveaxis(np.diagonal(value, axis1=places[0], axis2=place), -1, places[0])
    if places:
        value = np.moveaxis(value, places[0], -1)
    rows = value.reshape(len(value), -1, value.shape[-1] if places else 1)
    wide = np.zeros((*rows.shape[:2], -(-rows.shape[2] // 64) * 8), np.uint8)
    wide[:, :, : -(-rows.shape[2] // 8)] = np.packbits(rows, axis=2, bitorder="little")
    return wide.reshape(len(value), -1).view(np.dtype("<u8")).astype(np.uint64, copy=False)


def _shares(log_weight: npt.NDArray[np.float64], hard: npt.NDArray[np.float64], groups: Groups) -> npt.NDArray[np.float64]:
    """The probability of each value of each group: of those with which most hard clauses hold, by weight."""
    first, owner = groups.start[:-1], np.repeat(np.arange(len(groups.start) - 1), np.diff(groups.start))
    most = np.maximum.reduceat(hard[groups.atom], first)[owner]
    weight = np.where(hard[groups.atom] > most - DECIDED, log_weight[groups.atom], -np.inf)
    weight = np.exp(weight - np.maximum.reduceat(weight, first)[owner])
    found = np.zeros(len(log_weight))
    found[groups.atom] = weight / np.add.reduceat(weight, first)[owner]
    return found
