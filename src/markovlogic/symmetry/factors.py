"""Groups built from copies: a structure falls into parts, equal parts may change places, and each part has symmetries of its own.

A factor lists k copies of one part with m points each; its group is the wreath product of the part's own group with the symmetric
group on the copies. The whole group is the product of its factors. Nothing is as long as the number of copies squared.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from markovlogic.symmetry.orbits import orbits_by_generators
from markovlogic.symmetry.walks import ProductReplacement, slots_for
from markovlogic.system.arrays import Int32, Int64

MOST_LISTED = 1 << 20  # numbers that a list of a part's own group elements may take


@dataclass(frozen=True, eq=False)
class Factor:
    """Copies of one part: row i, column j of `members` is the point of copy i that corresponds to column j of any other."""

    members: Int32  # (n_copies, n_points)
    generators: tuple[Int32, ...] = ()  # of one copy's own group, as permutations of the columns

    def columns(self, keep: np.ndarray) -> Factor:
        """The factor on some of its columns only; they must be closed under the generators."""
        number = np.cumsum(keep) - 1
        inner = [number[g[keep]].astype(np.int32) for g in self.generators]
        moves = tuple(g for g in inner if not np.array_equal(g, np.arange(len(g))))
        return Factor(self.members[:, keep], moves)


class FactorGroup:
    """A product of factors on points 0..n_points-1; points outside the factors stay where they are.

    Copies are permuted uniformly; a part's own elements are drawn uniformly where its group is small enough to be listed, and by
    product replacement, nearly uniformly, elsewhere.
    """

    def __init__(self, n_points: int, factors: Sequence[Factor]) -> None:
        self.n_points = n_points
        self.factors = tuple(f for f in factors if f.members.size and (len(f.members) > 1 or f.generators))

    def sample(self, rng: np.random.Generator) -> Int32:
        """A group element as an array of images, (n_points,)."""
        return self.next_element(rng, self.memory(rng))

    def memory(self, rng: np.random.Generator) -> Int32:
        """The walks in those parts' own groups that are too large to be listed, begun and burnt in, one after the other."""
        begun = [
            ProductReplacement.begun(factor.generators, factor.members.shape[1], rng).rows.reshape(-1)
            for number, factor in enumerate(self.factors)
            if self._walks(number)
        ]
        return np.concatenate(begun) if begun else np.zeros(0, np.int32)

    def next_element(self, rng: np.random.Generator, memory: Int32) -> Int32:
        """A group element as an array of images, (n_points,); `memory` goes on."""
        image = np.arange(self.n_points, dtype=np.int32)
        walks = self._continued(memory)
        for number, factor in enumerate(self.factors):
            n_copies = len(factor.members)
            copies = factor.members[rng.permutation(n_copies)] if n_copies > 1 else factor.members
            if factor.generators:
                listed = self._elements[number]
                if listed is not None:
                    own = listed[rng.integers(len(listed), size=n_copies)]
                else:
                    own = np.stack([walks[number].step(rng) for _ in range(n_copies)])
                copies = np.take_along_axis(copies, own, axis=1)
            image[factor.members] = copies
        return image

    def check(self, memory: Int32) -> None:
        """Every row of every walk is a permutation of a part's points."""
        for walk in self._continued(memory).values():
            walk.check()

    def _walks(self, number: int) -> bool:
        """Whether a part's own group is walked in rather than listed."""
        factor = self.factors[number]
        return bool(factor.generators) and self._elements[number] is None

    def _continued(self, memory: Int32) -> dict[int, ProductReplacement]:
        walks, at = {}, 0
        for number, factor in enumerate(self.factors):
            if self._walks(number):
                shape = (slots_for(factor.generators) + 1, factor.members.shape[1])
                walks[number] = ProductReplacement(memory[at : at + shape[0] * shape[1]].reshape(shape))
                at += shape[0] * shape[1]
        return walks

    @cached_property
    def _elements(self) -> list[Int32 | None]:
        """The elements of each part's own group, where they can be listed."""
        return [_listed(factor.generators, factor.members.shape[1]) if factor.generators else None for factor in self.factors]

    def labels(self) -> Int64:
        """The orbit of each point, as a label."""
        label = np.arange(self.n_points, dtype=np.int64)
        for factor in self.factors:
            own = orbits_by_generators(factor.generators, factor.members.shape[1], "").orbit_of
            first = np.full(int(own.max()) + 1, self.n_points, np.int64)
            np.minimum.at(first, own, factor.members.min(axis=0).astype(np.int64))
            label[factor.members] = first[own][None, :]
        return label

    def generators(self) -> Iterator[Int32]:
        """Few permutations that generate the group: those of one copy, and for several copies a swap and a cycle."""
        identity = np.arange(self.n_points, dtype=np.int32)
        for factor in self.factors:
            for own in factor.generators:
                image = identity.copy()
                image[factor.members[0]] = factor.members[0][own]
                yield image
            n_copies = len(factor.members)
            if n_copies > 1:
                image = identity.copy()
                image[factor.members[[0, 1]]] = factor.members[[1, 0]]
                yield image
            if n_copies > 2:
                image = identity.copy()
                image[factor.members] = np.roll(factor.members, -1, axis=0)
                yield image


def _listed(generators: Sequence[Int32], n_points: int) -> Int32 | None:
    """All elements of a small group, (order, n_points); None where they are too many."""
    identity = np.arange(n_points, dtype=np.int32)
    known = {identity.tobytes()}
    elements = [identity]
    for element in elements:  # grows while it is read
        for generator in generators:
            made = generator[element]
            if made.tobytes() not in known:
                if (len(elements) + 1) * n_points > MOST_LISTED:
                    return None
                known.add(made.tobytes())
                elements.append(made)
    return np.stack(elements)
