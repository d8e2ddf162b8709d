"""Renamings of constants that preserve the evidence, beyond exchanges of two: reflections of a cycle, copies of a family.

The structure of constants and known tuples is searched (refinement, then individualisation inside BLISS), and every generator is
checked against the statuses themselves. No ground network is formed; only the evidence is looked at.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from markovlogic.data.evidence import codes
from markovlogic.networks.components import connected_parts
from markovlogic.problem import Problem
from markovlogic.symmetry.base import AtomGroup, ConstantClasses, OrbitPartition
from markovlogic.symmetry.bliss import ColouredGraph, Searched, search_all
from markovlogic.symmetry.groups import OpenAtoms
from markovlogic.symmetry.orbits import orbits_by_key, partition
from markovlogic.symmetry.refinement import Factor, FactorGroup, Structure, equitable
from markovlogic.symmetry.twins import named_constants, numbered, relations_of
from markovlogic.system.arrays import Int32, Int64, each_once, offsets


@dataclass(frozen=True, eq=False)
class Found:
    """Factors of the automorphism group, checked against nothing yet; and why it may be smaller than the truth."""

    factors: tuple[Factor, ...]
    notes: tuple[str, ...]


def refined(graph: ColouredGraph) -> Int32:
    """The coarsest equitable partition of a graph: no automorphism joins what it distinguishes."""
    both = np.concatenate([graph.edges, graph.edges[:, ::-1]]).astype(np.int32)
    kind = np.zeros(len(both), np.int32)
    return equitable(Structure(len(graph.colour), both[:, 0].copy(), both[:, 1].copy(), kind, graph.colour))


def automorphism_factors(graph: ColouredGraph, *, budget_seconds: float) -> Found:
    """The automorphism group of a graph; past the budget, which counts the search alone, a subgroup of it, with the reason."""
    n = len(graph.colour)
    edges = graph.edges
    colour = refined(graph)
    size = np.bincount(colour, minlength=1)
    edges = edges[~_between_complete(colour[edges], size)]
    in_play = np.flatnonzero(size[colour] > 1)
    if not len(in_play):
        return Found((), ())
    n_parts, part_of = connected_parts(n, edges[:, 0], edges[:, 1])
    parts = _Parts(colour, edges, part_of, n_parts)
    factors, signatures = parts.without_search()
    to_search: list[int] = []
    canonical: list[bool] = []
    for numbers in signatures:
        for number in numbers:
            to_search.append(number)
            canonical.append(len(numbers) > 1)
    graphs = [(parts.graph(number), wanted) for number, wanted in zip(to_search, canonical, strict=True)]
    began = time.monotonic()
    results = search_all(graphs, seconds=budget_seconds)
    in_time = time.monotonic() - began < budget_seconds
    missed = [len(g.colour) for (g, _), result in zip(graphs, results, strict=True) if result is None]
    notes: tuple[str, ...] = ()
    if missed:
        notes = (
            f"the search for automorphisms {'failed' if in_time else f'stopped after {budget_seconds:g} s'}: {len(missed)} of"
            f" {len(graphs)} parts were not searched, the largest with {max(missed):,} vertices; their symmetries are missing",
        )
    return Found((*factors, *_copies(parts, to_search, graphs, results)), notes)


def _between_complete(ends: npt.NDArray[np.integer], size: Int64) -> npt.NDArray[np.bool_]:
    """Whether each edge, given by the classes of its ends, lies between classes (or in one) that are completely joined."""
    if not len(ends):
        return np.zeros(0, bool)
    low, high = ends.min(axis=1).astype(np.int64), ends.max(axis=1).astype(np.int64)
    pair, inverse, count = np.unique(low * len(size) + high, return_inverse=True, return_counts=True)
    one, other = np.divmod(pair, len(size))
    whole = np.where(one == other, size[one] * (size[one] - 1) // 2, size[one] * size[other])
    complete: npt.NDArray[np.bool_] = (count == whole)[inverse]
    return complete


class _Parts:
    """The connected parts of a refined graph."""

    def __init__(self, colour: Int32, edges: Int32, part_of: Int32, n_parts: int) -> None:
        self.colour = colour
        order = np.lexsort((colour, part_of))  # vertices part by part, by colour within one
        self._vertex = order.astype(np.int32)
        self._start = offsets(np.bincount(part_of, minlength=n_parts))
        local = np.empty(len(colour), np.int32)
        local[order] = np.arange(len(order)) - self._start[part_of[order]]
        part_of_edge = part_of[edges[:, 0]] if len(edges) else np.zeros(0, np.int32)
        by_part = np.argsort(part_of_edge, kind="stable")
        self._edge = local[edges[by_part]]
        self._edge_start = offsets(np.bincount(part_of_edge, minlength=n_parts))

    def vertices(self, part: int) -> Int32:
        """Its vertices, by colour."""
        return self._vertex[self._start[part] : self._start[part + 1]]

    def graph(self, part: int) -> ColouredGraph:
        """The part alone, its vertices numbered as in `vertices`."""
        edges = self._edge[self._edge_start[part] : self._edge_start[part + 1]]
        return ColouredGraph(edges, self.colour[self.vertices(part)])

    def without_search(self) -> tuple[list[Factor], list[list[int]]]:
        """Factors of parts in which every colour occurs once (the colours are the canonical form), and the rest in lists of parts
        with the same colours.
        """
        factors = self._single_vertices()
        alike: dict[bytes, list[int]] = {}
        for part in np.flatnonzero(np.diff(self._start) > 1).tolist():
            alike.setdefault(self.colour[self.vertices(part)].tobytes(), []).append(part)
        rest = []
        for parts in alike.values():
            colours = self.colour[self.vertices(parts[0])]
            if np.any(colours[1:] == colours[:-1]):
                rest.append(parts)
            elif len(parts) > 1:
                for copies in self._equal_edges(parts):
                    if len(copies) > 1:
                        factors.append(Factor(np.stack([self.vertices(part) for part in copies])))
        return factors, rest

    def _single_vertices(self) -> list[Factor]:
        """Vertices without edges: those of one colour are copies of each other."""
        alone = self._vertex[self._start[:-1][np.diff(self._start) == 1]]
        alone = alone[np.bincount(self.colour)[self.colour[alone]] > 1]
        alone = alone[np.argsort(self.colour[alone], kind="stable")]
        ends = np.flatnonzero(np.diff(self.colour[alone])) + 1
        return [Factor(members[:, None]) for members in np.split(alone, ends) if len(members) > 1]

    def _equal_edges(self, parts: list[int]) -> list[list[int]]:
        alike: dict[bytes, list[int]] = {}
        for part in parts:
            alike.setdefault(_sorted_edges(self.graph(part).edges), []).append(part)
        return list(alike.values())


def _sorted_edges(edges: Int32) -> bytes:
    ends = np.sort(edges, axis=1)
    return ends[np.lexsort((ends[:, 1], ends[:, 0]))].tobytes()


def _copies(
    parts: _Parts, searched: list[int], graphs: list[tuple[ColouredGraph, bool]], results: list[Searched | None]
) -> list[Factor]:
    """Parts with equal canonical forms put together, with the generators of one of them."""
    alike: dict[bytes, list[int]] = {}
    for number, ((graph, _), result) in enumerate(zip(graphs, results, strict=True)):
        if result is None:
            continue
        key = str(number).encode()
        if result.place is not None:
            colours = np.empty_like(graph.colour)
            colours[result.place] = graph.colour
            key = colours.tobytes() + _sorted_edges(result.place[graph.edges])
        alike.setdefault(key, []).append(number)
    factors = []
    for numbers in alike.values():
        rows = []
        for number in numbers:
            result = results[number]
            assert result is not None
            vertices = parts.vertices(searched[number])
            row = np.empty_like(vertices)
            row[result.place if result.place is not None else np.arange(len(vertices))] = vertices
            rows.append(row)
        factors.append(Factor(np.stack(rows), _generators(results[numbers[0]], rows[0].shape[0])))
    return factors


def _generators(result: Searched | None, n: int) -> tuple[Int32, ...]:
    """Generators as permutations of canonical places."""
    assert result is not None
    place = result.place if result.place is not None else np.arange(n, dtype=np.int32)
    made = []
    for moved, to in result.moves:
        image = np.arange(n, dtype=np.int32)
        image[place[moved]] = place[to]
        made.append(image)
    return tuple(made)


class EvidenceGroup(AtomGroup):
    """A group of renamings that preserve model and evidence, acting on the open atoms."""

    def __init__(self, problem: Problem, group: FactorGroup, twins: ConstantClasses, notes: tuple[str, ...] = ()) -> None:
        self.problem = problem
        self.group = group  # on the constants of all types, one after the other
        self.notes = notes
        self._twins = twins
        self._atoms = OpenAtoms(problem)
        self._first = first_constants(problem)
        self._orbits: OrbitPartition | None = None

    @property
    def n_atoms(self) -> int:
        """How many open atoms it acts on."""
        return self._atoms.n_atoms

    @property
    def is_trivial(self) -> bool:
        """Whether it holds nothing but the identity."""
        return not self.group.factors

    def renaming(self, rng: np.random.Generator) -> dict[str, Int32]:
        """An element as a permutation of each type's constants."""
        return self._by_type(self.group.sample(rng))

    def induced(self, renaming: dict[str, Int32]) -> Int32:
        """What a renaming of the group does to the open atoms, (n_atoms,) images."""
        return self._atoms.induced(renaming)

    def sample(self, rng: np.random.Generator) -> Int32:
        """An element as images of the open atoms, (n_atoms,); uniform but where a part's own group is too large to be listed."""
        return self.induced(self.renaming(rng))

    def memory(self, rng: np.random.Generator) -> Int32:
        """That of the group on constants."""
        return self.group.memory(rng)

    def next_literals(self, rng: np.random.Generator, memory: Int32) -> Int32:
        """The next element as images of the positive literals, (n_atoms,)."""
        return 2 * self.induced(self._by_type(self.group.next_element(rng, memory))) + 1

    def check(self, memory: Int32) -> None:
        """That of the group on constants."""
        self.group.check(memory)

    def orbits(self) -> OrbitPartition:
        """The orbits of single atoms: those of the twins by key, joined by the generators that are no exchanges of twins."""
        if self._orbits is None:
            self._orbits = self._joined_orbits()
        return self._orbits

    def constant_orbits(self) -> dict[str, Int32]:
        """The orbit of each constant, by type. Not classes: permutations inside an orbit need not preserve the evidence."""
        label = self.group.labels()
        return {t: numbered(label[first : first + len(self.problem.domains[t])]) for t, first in self._first.items()}

    def _by_type(self, image: Int32) -> dict[str, Int32]:
        return {t: image[first : first + len(self.problem.domains[t])] - first for t, first in self._first.items()}

    def _joined_orbits(self) -> OrbitPartition:
        label = orbits_by_key(self.problem, self._twins).orbit_of
        n_labels = int(label.max(initial=-1)) + 1
        twin = np.concatenate([self._twins.class_of[t] + first for t, first in self._first.items()] or [np.zeros(0, np.int64)])
        source, target = [], []
        for image in self.group.generators():
            if not np.array_equal(twin[image], twin):
                induced = self.induced(self._by_type(image))
                edges = each_once(label.astype(np.int64) * n_labels + label[induced])
                source.append(edges // n_labels)
                target.append(edges % n_labels)
        if not source:
            return partition(label, "renamings")
        one, other = np.concatenate(source), np.concatenate(target)
        return partition(connected_parts(n_labels, one, other)[1][label], "renamings")


def first_constants(problem: Problem) -> dict[str, int]:
    """Number of each type's first constant where all constants are counted through."""
    first, total = {}, 0
    for type_name, domain in problem.domains.items():
        first[type_name] = total
        total += len(domain)
    return first


def evidence_automorphisms(problem: Problem, twins: ConstantClasses, *, budget_seconds: float = 10.0) -> EvidenceGroup:
    """Search for all renamings that preserve the statuses and fix named constants; past the budget some may be missing."""
    found = automorphism_factors(evidence_graph(problem), budget_seconds=budget_seconds)
    first = first_constants(problem)
    n_constants = sum(len(domain) for domain in problem.domains.values())
    on_constants = []
    for factor in found.factors:
        keep = factor.members[0] < n_constants
        if keep.any():
            on_constants.append(factor.columns(keep))
    checker = StatusChecker(problem, first)
    factors, wrong = [], 0
    for factor in on_constants:
        kept, dropped = _verified(checker, factor)
        factors.append(kept)
        wrong += dropped
    notes = found.notes
    if wrong:
        notes = (*notes, f"{wrong} renamings that the search proposed did not preserve the evidence and were not used")
    return EvidenceGroup(problem, FactorGroup(n_constants, factors), twins, notes)


def evidence_graph(problem: Problem) -> ColouredGraph:
    """Constants, then for each known tuple of two or more arguments a vertex, and one more for each argument after the first.

    tuple – first argument; tuple – place – argument for the others: the colours of the places distinguish the arguments.
    """
    first = first_constants(problem)
    n_constants = sum(len(domain) for domain in problem.domains.values())
    label = np.zeros(n_constants, np.int64)
    for number, (type_name, domain) in enumerate(problem.domains.items()):
        label[first[type_name] : first[type_name] + len(domain)] = number
    for type_name, named in named_constants(problem).items():
        label[first[type_name] + named] = len(problem.domains) + first[type_name] + named
    edges: list[Int64] = []
    extra: list[Int64] = []
    n_vertices, n_colours = n_constants, 0
    for relation in relations_of(problem).values():
        if not len(relation.args) or not relation.types:
            continue
        vertex = relation.args.astype(np.int64) + np.array([first[t] for t in relation.types])
        status = relation.statuses.status.astype(np.int64)
        if len(relation.types) == 1:
            label = 4 * np.unique(label, return_inverse=True)[1].astype(np.int64)
            label[vertex[:, 0]] += 1 + status
            continue
        here = n_vertices + np.arange(len(vertex))
        extra.append(n_colours + status)
        edges.append(np.stack([here, vertex[:, 0]], axis=1))
        n_vertices, n_colours = n_vertices + len(vertex), n_colours + 3
        for position in range(1, vertex.shape[1]):
            place = n_vertices + np.arange(len(vertex))
            extra.append(np.full(len(vertex), n_colours))
            edges += [np.stack([here, place], axis=1), np.stack([place, vertex[:, position]], axis=1)]
            n_vertices, n_colours = n_vertices + len(vertex), n_colours + 1
    colour = np.concatenate([label, *(part + int(label.max(initial=0)) + 1 for part in extra)])
    joined = np.concatenate(edges) if edges else np.zeros((0, 2), np.int64)
    return ColouredGraph(joined.astype(np.int32), np.unique(colour, return_inverse=True)[1].astype(np.int32))


class StatusChecker:
    """Whether renamings preserve the statuses, looking only at tuples that mention a moved constant."""

    def __init__(self, problem: Problem, first: dict[str, int]) -> None:
        self._relations = [r for r in relations_of(problem).values() if len(r.args) and r.types]
        self._first = first
        n_constants = sum(len(domain) for domain in problem.domains.values())
        self._image = np.arange(n_constants, dtype=np.int64)
        self._rows: list[list[tuple[Int64, Int64]]] = []
        for relation in self._relations:
            columns = []
            for position, size in enumerate(relation.statuses.sizes):
                column = relation.args[:, position]
                columns.append((offsets(np.bincount(column, minlength=size)), np.argsort(column, kind="stable")))
            self._rows.append(columns)

    def preserves(self, moved: Int32, moved_to: Int32) -> bool:
        """Whether the permutation that takes each `moved` constant to `moved_to` maps known tuples to equally known ones.

        A permutation is injective: if all tuples with a moved constant go to such tuples of equal status, they are permuted.
        """
        self._image[moved] = moved_to
        try:
            return all(self._preserves(number, moved) for number in range(len(self._relations)))
        finally:
            self._image[moved] = moved

    def _preserves(self, number: int, moved: Int32) -> bool:
        relation = self._relations[number]
        sizes = relation.statuses.sizes
        touched = []
        for (start, order), type_name, size in zip(self._rows[number], relation.types, sizes, strict=True):
            local = moved.astype(np.int64) - self._first[type_name]
            local = local[(local >= 0) & (local < size)]
            touched += [order[start[c] : start[c + 1]] for c in local.tolist()]
        rows = each_once(np.concatenate(touched)) if touched else np.zeros(0, np.int64)
        args = relation.args[rows]
        made = np.empty(args.shape, np.int64)
        for position, type_name in enumerate(relation.types):
            made[:, position] = self._image[args[:, position] + self._first[type_name]] - self._first[type_name]
        if np.any(made < 0) or np.any(made >= np.array(sizes)):
            return False
        return bool(np.array_equal(relation.statuses.lookup(codes(made, sizes)), relation.statuses.status[rows]))


def _verified(checker: StatusChecker, factor: Factor) -> tuple[Factor, int]:
    """The factor without what does not preserve the statuses, and how many permutations were dropped."""
    first = factor.members[0]
    own = tuple(g for g in factor.generators if checker.preserves(first, first[g]))
    copies = _verified_copies(checker, factor.members)
    return Factor(factor.members[copies], own), len(factor.generators) - len(own) + len(factor.members) - len(copies)


def _verified_copies(checker: StatusChecker, members: Int32) -> Sequence[int]:
    """The first copy, and all that can change places with it."""
    kept = [0]
    for copy in range(1, len(members)):
        pair = np.concatenate([members[0], members[copy]])
        if checker.preserves(pair, np.concatenate([members[copy], members[0]])):
            kept.append(copy)
    return kept
