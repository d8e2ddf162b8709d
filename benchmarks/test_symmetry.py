"""What symmetry costs: twin classes and orbit keys of WebKB, refinement of a million edges, automorphisms of networks."""

import itertools
import resource
from pathlib import Path

import numpy as np
import pytest

from markovlogic.data.readers import read_evidence
from markovlogic.language.load import load
from markovlogic.networks.ground import network_of
from markovlogic.problem import pose
from markovlogic.symmetry.automorphisms import network_automorphisms
from markovlogic.symmetry.orbits import orbit_keys, orbits_by_key
from markovlogic.symmetry.refinement import Structure, equitable
from markovlogic.symmetry.renamings import evidence_automorphisms
from markovlogic.symmetry.twins import twin_classes

pytestmark = pytest.mark.benchmark(group="symmetry")

WEBKB = Path(__file__).resolve().parents[2] / "shared" / "data" / "webkb"
CLASSES = ["Course", "Department", "Person", "Faculty", "ResearchProject", "Staff", "Student"]


def note(benchmark, what, size) -> None:
    benchmark.extra_info["unit"] = what
    benchmark.extra_info["a_second"] = size / benchmark.stats.stats.min
    benchmark.extra_info["peak_memory_bytes"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


@pytest.fixture(scope="module")
def webkb():
    if not WEBKB.exists():
        pytest.skip("the WebKB data is not there")
    model = load(WEBKB / "webkb.mln")
    return pose(model, read_evidence(model, sorted(WEBKB.glob("*.db"))), CLASSES)


def test_twins_and_orbit_keys_of_webkb(benchmark, webkb):
    """282,000 facts; target 2 s."""

    def both():
        classes = twin_classes(webkb)
        return orbit_keys(webkb, classes), orbits_by_key(webkb, classes)

    benchmark.pedantic(both, rounds=3, warmup_rounds=1)
    note(benchmark, "facts", sum(len(s.code) for s in webkb.statuses.values()))
    assert benchmark.stats.stats.min < 2


def test_renamings_of_webkb(benchmark, webkb):
    classes = twin_classes(webkb)
    benchmark.pedantic(lambda: evidence_automorphisms(webkb, classes).orbits(), rounds=2, warmup_rounds=1)
    note(benchmark, "facts", sum(len(s.code) for s in webkb.statuses.values()))


def graph(edges, n):
    both = np.concatenate([edges, edges[:, ::-1]]).astype(np.int32)
    return Structure(n, both[:, 0].copy(), both[:, 1].copy(), np.zeros(len(both), np.int32), np.zeros(n, np.int32))


@pytest.mark.parametrize("shape", ["random", "path"])
def test_refinement_of_a_million_edges(benchmark, shape):
    """Target 1 s. Rounds of refinement would take half a million rounds on the path."""
    n = 200_000 if shape == "random" else 1_000_001
    edges = np.random.default_rng(0).integers(0, n, (1_000_000, 2))
    if shape == "path":
        edges = np.stack([np.arange(n - 1), np.arange(1, n)], axis=1)
    structure = graph(edges, n)
    benchmark.pedantic(lambda: equitable(structure), rounds=3, warmup_rounds=1)
    note(benchmark, "edges", len(edges))


def ring_copies(copies, n=15):
    """Components of 75 vertices: 30 literals and 45 clauses each, atoms numbered at random."""
    rng = np.random.default_rng(1)
    ring = []
    for i in range(n):
        ring += [
            (1.0, [2 * i + 1, 2 * ((i + 1) % n)]),
            (0.5, [2 * i, 2 * ((i + 2) % n)]),
            (0.7, [2 * i + 1, 2 * ((i + 3) % n) + 1]),
        ]
    clauses = []
    for copy in range(copies):
        place = copy * n + rng.permutation(n)
        clauses += [(w, [int(2 * place[q >> 1] + (q & 1)) for q in literals]) for w, literals in ring]
    return network_of(copies * n, clauses)


def grid(side):
    clauses = []
    for row, column in itertools.product(range(side), repeat=2):
        here = side * row + column
        for there in ([here + 1] if column + 1 < side else []) + ([here + side] if row + 1 < side else []):
            clauses += [(0.2, [2 * here + 1, 2 * there + 1]), (0.2, [2 * here, 2 * there])]
    return network_of(side * side, clauses)


def test_automorphisms_of_many_components(benchmark):
    """1300 components of 75 vertices; target 2 s."""
    network = ring_copies(1300)
    group = benchmark.pedantic(lambda: network_automorphisms(network), rounds=2, warmup_rounds=1)
    assert group.orbits().n_orbits == 1 and not group.notes
    note(benchmark, "vertices", 1300 * 75)


@pytest.mark.parametrize("signed", [False, True])
def test_automorphisms_of_one_connected_network(benchmark, signed):
    """A grid of 41 x 41, about 10,000 vertices in one component; target 10 s."""
    network = grid(41)
    group = benchmark.pedantic(lambda: network_automorphisms(network, signed=signed), rounds=2, warmup_rounds=1)
    assert group.orbits().size.max() == 8 and not group.notes
    note(benchmark, "vertices", 2 * network.n_all + network.n_clauses)


def test_the_search_ends_with_its_budget(benchmark):
    """A torus of half a million vertices, all alike: the search is ended after half a second, with the reason."""
    side, clauses = 300, []
    for row, column in itertools.product(range(side), repeat=2):
        here = side * row + column
        for there in (side * row + (column + 1) % side, side * ((row + 1) % side) + column):
            clauses += [(0.2, [2 * here + 1, 2 * there + 1]), (0.2, [2 * here, 2 * there])]
    network = network_of(side * side, clauses)
    group = benchmark.pedantic(lambda: network_automorphisms(network, budget_seconds=0.5), rounds=1, warmup_rounds=1)
    note(benchmark, "vertices", 2 * network.n_all + network.n_clauses)
    assert "stopped after 0.5 s" in group.notes[0]
    assert benchmark.stats.stats.min < 4
