"""Ising spins on a square grid with an outer field: approximate symmetries only ([004], backup slides)."""

from __future__ import annotations

from markovlogic.generate.families import Request
from markovlogic.generate.lattices import ising_on, square_edges
from markovlogic.generate.problem_files import Generated


def rows(size: int, share: float) -> int:
    """About how many facts and constants there will be."""
    return size * size * 4 + int(share * size * size)


def build(request: Request) -> Generated:
    """The Ising rules on a square grid."""
    return ising_on("ising", request, *square_edges(request.size))
