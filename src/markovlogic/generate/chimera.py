"""Ising spins on a Chimera graph, cells of K4,4 in a square, with an outer field ([004], backup slides)."""

from __future__ import annotations

from markovlogic.generate.families import Request
from markovlogic.generate.lattices import CHIMERA_SIDE, chimera_edges, ising_on
from markovlogic.generate.problem_files import Generated


def rows(size: int, share: float) -> int:
    """About how many facts and constants there will be."""
    sites = size * size * 2 * CHIMERA_SIDE
    return 5 * sites + int(share * sites)


def build(request: Request) -> Generated:
    """The Ising rules on a Chimera graph."""
    return ising_on("chimera", request, *chimera_edges(request.size))
