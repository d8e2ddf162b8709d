"""Canonical forms and automorphisms of coloured graphs by igraph's BLISS, one connected graph at a time.

Run as a program (`python -m markovlogic.symmetry.bliss`) it reads graphs from a file and writes what it finds to standard output,
graph by graph, so that a caller can end it and keep what is there: a call of igraph itself cannot be interrupted.
"""

from __future__ import annotations

import functools
import io
import pickle
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from markovlogic.system import cancellation
from markovlogic.system.arrays import Int32
from markovlogic.system.measures import watching

SMALL = 200  # vertices of a graph that may be searched in this process


@dataclass(frozen=True, eq=False)
class ColouredGraph:
    """A simple undirected graph with colours on its vertices."""

    edges: Int32  # (n_edges, 2)
    colour: Int32  # (n_vertices,)


@dataclass(frozen=True, eq=False)
class Searched:
    """What the search found: places in the canonical form (None where not requested) and generators, moved points only."""

    place: Int32 | None  # (n_vertices,) canonical place of each vertex
    moves: tuple[tuple[Int32, Int32], ...]  # for each generator the vertices that it moves, and where to


def search(graph: ColouredGraph, *, canonical: bool) -> Searched:
    """Generators of the automorphism group, and the canonical form if requested."""
    import igraph

    made = igraph.Graph(n=len(graph.colour), edges=graph.edges.tolist())
    colour = graph.colour.tolist()
    place = None
    if canonical:
        place = np.array(made.canonical_permutation(color=colour), np.int32)
        if _lists_vertices():
            place = np.argsort(place).astype(np.int32)
    moves = []
    if len(set(colour)) < len(colour):
        identity = np.arange(len(colour), dtype=np.int32)
        for generator in made.automorphism_group(color=colour):
            image = np.array(generator, np.int32)
            moved = np.flatnonzero(image != identity).astype(np.int32)
            moves.append((moved, image[moved]))
    return Searched(place, tuple(moves))


@functools.cache
def _lists_vertices() -> bool:
    """Whether igraph gives the vertex of each canonical place (as from 1.0 on) rather than the place of each vertex.

    Places follow colours, so with three colours it shows.
    """
    import igraph

    places = [2, 0, 1]
    return bool(list(igraph.Graph(n=3).canonical_permutation(color=places)) != places)


def search_all(graphs: Sequence[tuple[ColouredGraph, bool]], *, seconds: float) -> list[Searched | None]:
    """Search each (graph, canonical); None where the time was not enough, or where the search of large graphs, which runs in a
    process of its own, failed. Raises ResourceError where that process needs more memory than the run's limit leaves.
    """
    deadline = time.monotonic() + seconds
    found: list[Searched | None] = [None] * len(graphs)
    large = sorted((i for i, (g, _) in enumerate(graphs) if len(g.colour) > SMALL), key=lambda i: len(graphs[i][0].colour))
    for number, (graph, canonical) in enumerate(graphs):
        cancellation.check()
        if len(graph.colour) <= SMALL and time.monotonic() < deadline:
            found[number] = search(graph, canonical=canonical)
    left = deadline - time.monotonic()
    if large and left > 0:
        for number, result in zip(large, _in_a_process([graphs[i] for i in large], left), strict=False):
            found[number] = result
    return found


def _in_a_process(graphs: Sequence[tuple[ColouredGraph, bool]], seconds: float) -> list[Searched]:
    with tempfile.NamedTemporaryFile(suffix=".graphs") as file:
        pickle.dump([(g.edges, g.colour, canonical) for g, canonical in graphs], file, protocol=5)
        file.flush()
        command = [sys.executable, "-m", "markovlogic.symmetry.bliss", file.name]
        with (
            subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as process,
            cancellation.current().ending(process.kill),
            watching(process) as memory,
        ):
            try:
                output, _ = process.communicate(timeout=seconds)
            except subprocess.TimeoutExpired:
                process.kill()
                output, _ = process.communicate()
            except BaseException:
                process.kill()
                raise
    cancellation.check()
    memory.check("the search for symmetries")
    stream = io.BytesIO(output)
    found: list[Searched] = []
    while True:
        try:
            place, moves = pickle.load(stream)
        except (EOFError, pickle.UnpicklingError):  # the end, or a result that was cut off
            return found
        found.append(Searched(place, moves))


def _work(path: str) -> None:
    with open(path, "rb") as file:
        graphs = pickle.load(file)
    for edges, colour, canonical in graphs:
        result = search(ColouredGraph(edges, colour), canonical=canonical)
        pickle.dump((result.place, result.moves), sys.stdout.buffer, protocol=5)
        sys.stdout.buffer.flush()


if __name__ == "__main__":
    _work(sys.argv[1])
