"""The automorphism group of a coloured graph, as factors: own refinement first, then BLISS on the parts that are left.

After refinement, all edges between two classes that are completely joined are dropped: whatever keeps the classes keeps those
edges. That frees the graph of every vertex that is alone in its class, and what remains often falls into many small parts. A part
is searched alone, and parts with equal canonical forms are copies of each other.
"""

from __future__ import annotations

import time
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from markovlogic.networks.connected import connected_parts
from markovlogic.symmetry.bliss import ColouredGraph, Searched, search_all
from markovlogic.symmetry.factors import Factor
from markovlogic.symmetry.refinement import Structure, equitable
from markovlogic.system.arrays import Int32, Int64, offsets


@dataclass(frozen=True, eq=False)
class Found:
    """Factors of the automorphism group, checked against nothing yet; and why it may be smaller than the truth."""

    factors: tuple[Factor, ...]
    notes: tuple[str, ...]


def refined(graph: ColouredGraph) -> Int32:
    """The coarsest equitable partition of a graph: no automorphism joins what it tells apart."""
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
