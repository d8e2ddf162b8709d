"""Colour refinement (1-WL): the coarsest equitable partition of a structure that is finer than given colours.

The result is never called orbits: constants of one colour need not be symmetric. In a 6-cycle all constants agree, and so they do
in two triangles; p(1,2) and p(1,3) have one colour pattern and different probabilities (papers.md 3.5).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from markovlogic.networks.ground import GroundNetwork
from markovlogic.problem import Problem
from markovlogic.symmetry.base import ConstantClasses
from markovlogic.symmetry.groups import ProductReplacement, slots_for
from markovlogic.symmetry.orbits import orbits_by_generators
from markovlogic.symmetry.twins import named_constants, numbered, relations_of
from markovlogic.system.arrays import Int32, Int64, UInt64, frozen


@dataclass(frozen=True, eq=False)
class Structure:
    """A coloured graph with kinds of edges: a vertex `target[e]` sees the vertex `source[e]` as a neighbour of kind `kind[e]`."""

    n_vertices: int
    source: Int32
    target: Int32
    kind: Int32
    colour: Int32  # (n_vertices,) what distinguishes vertices to begin with, ids without gaps


def equitable(structure: Structure, colour: Int32 | None = None) -> Int32:
    """The coarsest equitable partition finer than the structure's colours, or than those given instead: (n_vertices,) ids.

    The ids depend on the structure only, not on the numbers of its vertices: an isomorphism maps equal ids to each other.
    """
    n = structure.n_vertices
    if not n:
        return np.zeros(0, np.int32)
    from markovlogic.kernels.refinement import incoming, refine

    marks = _marks(int(structure.kind.max(initial=-1)) + 1)
    start, neighbour, mark = incoming(structure.source, structure.target, structure.kind, marks, n)
    class_of = (structure.colour if colour is None else colour).astype(np.int32)
    refine(start, neighbour, mark, np.argsort(class_of, kind="stable").astype(np.int32), class_of)
    return class_of


def rounds(structure: Structure, *, tolerance: float, most: int) -> Int32:
    """At most so many rounds of refinement in which counts are compared roughly: classes that propose symmetries.

    With tolerance t, counts fall into buckets whose borders grow by the factor 1 + t; 0 compares them exactly. A vertex's new
    colour is its old one and, for every kind and colour of neighbour, the bucket of their number.
    """
    colour = structure.colour
    n = structure.n_vertices
    n_kinds = int(structure.kind.max(initial=-1)) + 1
    for _ in range(most):
        n_colours = int(colour.max(initial=-1)) + 1
        seen = structure.kind.astype(np.int64) * n_colours + colour[structure.source]
        pair = structure.target.astype(np.int64) * (n_kinds * n_colours) + seen
        pairs, count = np.unique(pair, return_counts=True)
        if tolerance > 0:
            count = np.floor(np.log(count) / np.log1p(tolerance)).astype(np.int64) + 1
        vertex, what = np.divmod(pairs, max(n_kinds * n_colours, 1))
        view = np.zeros(n, np.uint64)
        np.add.at(view, vertex, _mixed(what.astype(np.uint64) ^ _mixed(count.astype(np.uint64))))
        _, views = np.unique(view, return_inverse=True)
        refined = numbered(colour.astype(np.int64) * (int(views.max(initial=0)) + 1) + views)
        if int(refined.max(initial=-1)) + 1 == n_colours:
            break
        colour = refined
    return colour


def _marks(count: int) -> UInt64:
    """A random number for each kind of edge, always the same ones; odd, so that no single mark vanishes in a sum."""
    return np.random.default_rng(0x5EED).integers(0, 1 << 64, max(count, 1), np.uint64) | np.uint64(1)


def _mixed(value: UInt64) -> UInt64:
    value = value + np.uint64(0x9E3779B97F4A7C15)
    value = (value ^ (value >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    mixed: UInt64 = value ^ (value >> np.uint64(27))
    return mixed


# ---- constants


@dataclass(frozen=True, eq=False)
class EvidenceStructure:
    """Constants of all types, one after the other, then one vertex for each known tuple of three or more arguments."""

    structure: Structure
    first: dict[str, int]  # number of each type's first constant
    n_constants: int


def evidence_structure(problem: Problem) -> EvidenceStructure:
    """What is known, as a graph: unary facts and facts about one constant twice are colours, binary ones edges."""
    first: dict[str, int] = {}
    n_constants = 0
    for type_name, domain in problem.domains.items():
        first[type_name] = n_constants
        n_constants += len(domain)
    label = np.zeros(n_constants, np.int64)
    for number, (type_name, domain) in enumerate(problem.domains.items()):
        label[first[type_name] : first[type_name] + len(domain)] = number
    for type_name, named in named_constants(problem).items():
        label[first[type_name] + named] = len(problem.domains) + first[type_name] + named
    source: list[Int64] = []
    target: list[Int64] = []
    kind: list[Int64] = []
    n_kinds = 0

    def connect(one: Int64, other: Int64, what: Int64, most: int) -> None:
        """Each sees the other, in two kinds."""
        nonlocal n_kinds
        source.extend((one, other))
        target.extend((other, one))
        kind.extend((n_kinds + what, n_kinds + most + what))
        n_kinds += 2 * most

    tuple_label: list[Int64] = []
    n_vertices = n_constants
    for number, relation in enumerate(relations_of(problem).values()):
        if not len(relation.args) or not relation.types:
            continue
        vertex = relation.args.astype(np.int64) + np.array([first[t] for t in relation.types])
        status = relation.statuses.status.astype(np.int64)
        if len(relation.types) == 1:
            label = _split(label, vertex[:, 0], status)
        elif len(relation.types) == 2:
            loop = vertex[:, 0] == vertex[:, 1]
            label = _split(label, vertex[loop, 0], status[loop])
            connect(vertex[~loop, 0], vertex[~loop, 1], status[~loop], 3)
        else:
            here = n_vertices + np.arange(len(vertex))
            n_vertices += len(vertex)
            tuple_label.append(3 * number + status)
            for position in range(vertex.shape[1]):
                connect(here, vertex[:, position], np.zeros(len(here), np.int64), 1)
    colour = np.concatenate([numbered(label).astype(np.int64), *tuple_label])
    colour[n_constants:] += int(colour[:n_constants].max(initial=-1)) + 1

    def joined(parts: list[Int64]) -> Int32:
        return np.concatenate(parts).astype(np.int32) if parts else np.zeros(0, np.int32)

    made = Structure(n_vertices, joined(source), joined(target), joined(kind), _dense(colour))
    return EvidenceStructure(made, first, n_constants)


def _split(label: Int64, vertex: Int64, status: Int64) -> Int64:
    """Labels made finer by a status that some vertices have."""
    finer = 4 * np.unique(label, return_inverse=True)[1].astype(np.int64)
    finer[vertex] += 1 + status
    return finer


def _dense(label: Int64) -> Int32:
    """Labels without gaps, in their own order."""
    return np.unique(label, return_inverse=True)[1].astype(np.int32)


def refine_evidence(problem: Problem, *, tolerance: float = 0.0, most_rounds: int | None = None) -> ConstantClasses:
    """The equitable partition of the constants by what is known of them; not sound, so only for proposals and for messages.

    With a tolerance, or with a limit on rounds (one if only a tolerance is given), the classes are coarser still.
    """
    graph = evidence_structure(problem)
    if tolerance < 0 or (most_rounds is not None and most_rounds < 0):
        raise ValueError(f"tolerance {tolerance} and most_rounds {most_rounds} must not be negative")
    if tolerance == 0.0 and most_rounds is None:
        colour, source = equitable(graph.structure), "equitable"
    else:
        most = 1 if most_rounds is None else most_rounds
        colour, source = (
            rounds(graph.structure, tolerance=tolerance, most=most),
            f"equitable, tolerance {tolerance:g}, {most} rounds",
        )
    class_of = {}
    for type_name, domain in problem.domains.items():
        first = graph.first[type_name]
        classes = numbered(colour[first : first + len(domain)])
        frozen(classes)
        class_of[type_name] = classes
    return ConstantClasses(class_of, sound=False, source=source)


# ---- atoms and clauses


@dataclass(frozen=True, eq=False)
class NetworkColours:
    """An equitable partition of a ground network, as lifted belief propagation uses it."""

    atom: Int32  # (n_all,) colour of each atom, hidden ones included, ids in order of the smallest member
    clause: Int32  # (n_clauses,)


def refine_network(network: GroundNetwork) -> NetworkColours:
    """Colours of atoms and clauses: equal ones see equal numbers of equal colours, with equal signs and weights."""
    n, m, g, h = network.n_all, network.n_clauses, network.n_groups, network.n_hidden
    clause = np.repeat(np.arange(m), np.diff(network.clause_start)) + n
    group = np.repeat(np.arange(g), np.diff(network.group_start)) + n + m
    definition = np.repeat(np.arange(h), np.diff(network.definition_start)) + n + m + g
    row = np.concatenate([clause, group, definition, np.arange(h) + n + m + g])
    literal = np.concatenate([network.clause_literal, 2 * network.group_atom + 1, network.definition_literal]).astype(np.int64)
    atom = np.concatenate([literal >> 1, np.arange(network.n_atoms, n)])
    kind = np.concatenate([literal & 1, np.full(h, 2)])
    bias = np.unique(network.atom_bias, return_inverse=True)[1].astype(np.int64)
    bias[network.n_atoms :] += n
    weight = np.unique(network.clause_weight, return_inverse=True)[1].astype(np.int64)
    colour = _dense(np.concatenate([bias, weight + 2 * n, np.full(g, 2 * n + m), np.full(h, 2 * n + m + 1)]))
    structure = Structure(
        n + m + g + h,
        np.concatenate([row, atom]).astype(np.int32),
        np.concatenate([atom, row]).astype(np.int32),
        np.concatenate([kind, kind]).astype(np.int32),
        colour,
    )
    found = equitable(structure)
    return NetworkColours(numbered(found[:n]), numbered(found[n : n + m]))


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
