"""Where the atoms of a theory lie in the worlds that are drawn, for many copies of the theory at once.

A theory stands for as many copies as the power rule made of it, in as many worlds as are drawn. Copies that have the same sizes
and weights are drawn together: the work is shared, the random numbers are not.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from markovlogic.data.evidence import codes
from markovlogic.problem import Problem
from markovlogic.system.arrays import Bool, Float64, Int64


class Binding(NamedTuple):
    """A relation as part of a predicate: for each argument of the predicate the relation's argument, or a constant a copy."""

    predicate: str | None  # None: a hidden one, which is in no world
    slots: tuple[int | Int64, ...]

    def fixing(self, argument: int, constant: Int64) -> Binding:
        """The relation without one of its arguments, which is this constant in each copy."""
        slots: list[int | Int64] = []
        for slot in self.slots:
            if isinstance(slot, int):
                slots.append(constant if slot == argument else slot - (slot > argument))
            else:
                slots.append(slot)
        return Binding(self.predicate, tuple(slots))

    def copies(self, chosen: Int64) -> Binding:
        """Some of the copies, or several of each."""
        return Binding(self.predicate, tuple([slot if isinstance(slot, int) else slot[chosen] for slot in self.slots]))


@dataclass(frozen=True, eq=False)
class Copies:
    """Copies of a theory with equal numbers: the world of each, the constants of its blocks, and what its relations are."""

    world: Int64  # (copies,)
    blocks: tuple[Int64, ...]  # by block: (copies, size)
    relations: tuple[Binding, ...]

    def __len__(self) -> int:
        return len(self.world)

    def chosen(self, rows: Int64) -> Copies:
        """Some of the copies, or several of each."""
        blocks = tuple([block[rows] for block in self.blocks])
        return Copies(self.world[rows], blocks, tuple([binding.copies(rows) for binding in self.relations]))

    def with_blocks(self, blocks: Sequence[Int64], relations: Sequence[Binding]) -> Copies:
        """The same copies, described otherwise."""
        return replace(self, blocks=tuple(blocks), relations=tuple(relations))


def places(blocks: Sequence[int], sizes: Sequence[int]) -> Int64:
    """All choices of places in blocks, different places in the same block: (arguments, choices)."""
    if not blocks:
        return np.zeros((0, 1), np.int64)
    grid = np.indices([sizes[block] for block in blocks]).reshape(len(blocks), -1)
    keep = np.ones(grid.shape[1], bool)
    for one in range(len(blocks)):
        for other in range(one):
            if blocks[one] == blocks[other]:
                keep &= grid[one] != grid[other]
    return grid[:, keep].astype(np.int64)


@dataclass(frozen=True, eq=False)
class Pen:
    """Writes truth values of atoms into the worlds that are drawn."""

    problem: Problem
    worlds: Bool  # (worlds, open atoms)
    random: np.random.Generator

    def flip(self, copies: Copies, relation: int, blocks: Sequence[int], chance: float) -> None:
        """Every atom of a relation is true with this probability, independently."""
        n_atoms = places(blocks, [block.shape[1] for block in copies.blocks]).shape[1]
        self.write(copies, relation, blocks, self.random.random((len(copies), n_atoms)) < chance)

    def write(self, copies: Copies, relation: int, blocks: Sequence[int], truth: Bool) -> None:
        """Truth of all atoms of a relation, in the order of `places`: (copies, atoms)."""
        predicate, slots = copies.relations[relation]
        if predicate is None or not truth.size:
            return
        at = places(blocks, [block.shape[1] for block in copies.blocks])
        shape = (len(copies), at.shape[1])
        columns = []
        for slot in slots:
            if isinstance(slot, int):
                columns.append(copies.blocks[blocks[slot]][:, at[slot]].ravel())
            else:
                columns.append(np.broadcast_to(slot[:, None], shape).ravel())
        sizes = self.problem.statuses[predicate].sizes
        args = np.stack(columns, axis=1) if columns else np.zeros((shape[0] * shape[1], 0), np.int64)
        number = self.problem.atoms.numbers(predicate, codes(args, sizes))
        self.worlds[np.repeat(copies.world, shape[1]), number] = truth.ravel()


def chosen_branches(log_chance: Float64, count: int, random: np.random.Generator) -> Int64:
    """How many of `count` copies take each branch, given log probabilities up to a constant."""
    chance = np.exp(log_chance - log_chance.max())
    return random.multinomial(count, chance / chance.sum())
