"""Graphs of sites: squares and Chimera; the Ising rules that run on both."""

from __future__ import annotations

import numpy as np

from markovlogic.generate.draws import facts, known_ones, structure, type_line
from markovlogic.generate.families import Request
from markovlogic.generate.problem_files import Generated
from markovlogic.system.arrays import Int64

CHIMERA_SIDE = 4  # qubits on each side of a cell
COUPLING = 0.4  # log-odds of being equal; in the ±1 convention J = 0.2, below the square grid's critical 0.4407
FIELD = (-0.5, -0.3, -0.1, 0.1, 0.3, 0.5)  # log-odds that the outer field can give a site

ISING_NOTE = """\
Neighbours are rather equal; each site has one of six strengths of an outer field, which breaks the grid's symmetries a little.
In the convention of spins ±1 the coupling is half of the weight. Each edge is listed once. Evidence: all edges and
fields, and the spins of that share of the sites, drawn with the probability that their field alone gives."""


def square_edges(side: int) -> tuple[Int64, Int64]:
    """Sites (row, column) of a square grid and its edges as pairs of site numbers, each edge once."""
    number = np.arange(side * side).reshape(side, side)
    across = np.stack([number[:, :-1].ravel(), number[:, 1:].ravel()], axis=1)
    down = np.stack([number[:-1].ravel(), number[1:].ravel()], axis=1)
    edges = np.concatenate([across, down])
    return np.stack(np.divmod(number.ravel(), side), axis=1), edges[np.lexsort((edges[:, 1], edges[:, 0]))]


def chimera_edges(side: int) -> tuple[Int64, Int64]:
    """Sites (row, column, position) and edges of a Chimera graph.

    Each cell is a complete bipartite graph of positions 0..3 and 4..7; the first kind is tied to its like in the next row, the
    second to its like in the next column.
    """
    number = np.arange(side * side * 2 * CHIMERA_SIDE).reshape(side, side, 2, CHIMERA_SIDE)
    left, right = np.broadcast_arrays(number[:, :, 0, :, None], number[:, :, 1, None, :])
    parts = [(left, right), (number[:-1, :, 0], number[1:, :, 0]), (number[:, :-1, 1], number[:, 1:, 1])]
    edges = np.concatenate([np.stack([a.ravel(), b.ravel()], axis=1) for a, b in parts])
    cell, position = np.divmod(number.ravel(), 2 * CHIMERA_SIDE)
    return np.stack([*np.divmod(cell, side), position], axis=1), edges[np.lexsort((edges[:, 1], edges[:, 0]))]


def edge_numbers(sites: Int64, edges: Int64) -> Int64:
    """Both sites of every edge, written out: (n_edges, 2 * columns of a site)."""
    return np.concatenate([sites[edges[:, 0]], sites[edges[:, 1]]], axis=1)


def ising_on(name: str, request: Request, sites: Int64, edges: Int64) -> Generated:
    """Spins with a coupling along the edges and an outer field of six strengths, given as evidence."""
    rng = request.rng
    site = "S" + "_".join(["%d"] * sites.shape[1])
    level = rng.integers(0, len(FIELD), len(sites))
    up = rng.random(len(sites)) < 1 / (1 + np.exp(-np.array(FIELD)[level]))
    known = known_ones(rng, len(sites), request.share)
    given = structure(f"Adjacent({site},{site})", edge_numbers(sites, edges))
    given += structure(f"Field({site},L%d)", np.concatenate([sites, level[:, None]], axis=1))
    given += facts(f"Up({site})", sites[known], up[known])
    types = type_line("site", site, sites) + type_line("level", "L%d", np.arange(len(FIELD)))
    declarations = "Up(site)\nAdjacent(site, site)\nField(site, level)\n"
    rules = f"{COUPLING} Adjacent(x, y) => (Up(x) <=> Up(y))\n"
    rules += "".join(f"{weight} Field(x, L{number}) ^ Up(x)\n" for number, weight in enumerate(FIELD))
    return Generated(name, f"{types}{declarations}\n{rules}", given, "Up", ISING_NOTE)
