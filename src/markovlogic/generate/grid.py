"""Two-colouring of a square grid ([003], figures 2e and 2f): factor exp(0.2) where neighbours differ, or hard."""

from __future__ import annotations

from markovlogic.generate.draws import facts, known_ones, structure, type_line
from markovlogic.generate.families import Request
from markovlogic.generate.lattices import edge_numbers, square_edges
from markovlogic.generate.problem_files import Generated

FORMULA = "Adjacent(x, y) => !(Red(x) <=> Red(y))"

NOTE = """\
Each edge is listed once. Evidence: all edges, and the colours of that share of the sites: fair coins, or in the variant hard,
where neighbours must differ, one of the two proper colourings. The paper has 100 sites a side."""


def rows(size: int, share: float) -> int:
    """About how many facts and constants there will be."""
    return size * size * 3 + int(share * size * size)


def build(request: Request) -> Generated:
    """Soft factors of the paper; `hard`: a proper colouring is a must."""
    rng, hard = request.rng, request.variant == "hard"
    sites, edges = square_edges(request.size)
    red = (sites.sum(axis=1) + rng.integers(0, 2)) % 2 == 0 if hard else rng.random(len(sites)) < 0.5
    known = known_ones(rng, len(sites), request.share)
    given = structure("Adjacent(S%d_%d,S%d_%d)", edge_numbers(sites, edges)) + facts("Red(S%d_%d)", sites[known], red[known])
    rule = f"{FORMULA}.\n" if hard else f"0.2 {FORMULA}\n"
    rules = f"{type_line('site', 'S%d_%d', sites)}Red(site)\nAdjacent(site, site)\n\n{rule}"
    return Generated("grid", rules, given, "Red", NOTE)
