"""Start states obey what they promise; the judgement about single-site moves is never wrong where it is definite."""

from collections import deque

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.oracle.worlds import Worlds, all_worlds, random_network
from tests.sampling.gibbs_checks import sites, unpacked

from markovlogic.errors import InputError
from markovlogic.methods.sampling.gibbs import Gibbs
from markovlogic.methods.sampling.irreducible import Reachability, single_site_reach
from markovlogic.networks.ground import GroundNetwork, network_of
from markovlogic.networks.starts import start_worlds


def drawn(network: GroundNetwork, kind: str, seed: int = 0, n_chains: int = 64) -> np.ndarray:
    words = start_worlds(network, n_chains, np.random.SeedSequence(seed), kind)  # type: ignore[arg-type]
    return unpacked(words, n_chains)


def index(world: np.ndarray, n_atoms: int) -> np.ndarray:
    return (world[:, :n_atoms].astype(np.int64) << np.arange(n_atoms)).sum(axis=1)


@settings(max_examples=60, deadline=None, derandomize=True)
@given(
    seed=st.integers(0, 10**6),
    hard=st.integers(0, 12),
    groups=st.integers(0, 3),
    hidden=st.integers(0, 4),
    decided=st.integers(0, 3),
)
def test_satisfying_starts_are_possible_worlds(seed: int, hard: int, groups: int, hidden: int, decided: int) -> None:
    network = random_network(np.random.default_rng(seed), 9, 4, hard=hard, groups=groups, hidden=hidden, decided=decided)
    worlds = all_worlds(network)
    start = drawn(network, "satisfying", seed, 16)
    assert np.isfinite(worlds.log_weight[index(start, 9)]).all()
    assert (start == worlds.world[index(start, 9)]).all(), "hidden atoms follow from the others"


@pytest.mark.parametrize("kind", ["random", "false"])
def test_other_starts_keep_groups_decided_atoms_and_hidden_atoms(kind: str) -> None:
    for seed in range(30):
        network = random_network(np.random.default_rng(seed), 9, 4, groups=3, hidden=3, decided=1)
        worlds = all_worlds(network)
        start = drawn(network, kind, seed, 5)
        hidden_decided = np.isinf(network.atom_bias[9:]).any()
        if not hidden_decided:
            assert np.isfinite(worlds.log_weight[index(start, 9)]).all()
        assert (start == worlds.world[index(start, 9)]).all()


def test_a_random_start_is_random_in_every_chain() -> None:
    start = drawn(network_of(500, groups=[[0, 1, 2]]), "random")
    assert 0.45 < start[:, 3:].mean() < 0.55
    assert len({row.tobytes() for row in start}) == 64
    assert start[:, :3].any(axis=0).all() and (start[:, :3].sum(axis=1) == 1).all()
    assert not drawn(network_of(500, groups=[[0, 1, 2]]), "false")[:, 3:].any()


def test_a_chain_start_depends_on_its_place_only() -> None:
    network = random_network(np.random.default_rng(1), 12, 4, hard=8)
    assert np.array_equal(drawn(network, "satisfying", 5, 64)[:7], drawn(network, "satisfying", 5, 7))


def test_contradictions_that_propagation_finds_are_input_errors() -> None:
    tied = network_of(2, [(np.inf, [1, 3]), (np.inf, [0, 3])], bias={1: -np.inf})
    with pytest.raises(InputError, match="no world satisfies"):
        drawn(tied, "satisfying")
    with pytest.raises(InputError, match="no world satisfies"):
        drawn(network_of(2, groups=[[0, 1]], bias={0: -np.inf, 1: -np.inf}), "random")


def test_a_search_without_success_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("markovlogic.networks.hard_part.RESTARTS", 2)
    every = [(np.inf, [2 * a + (s >> a & 1) for a in range(3)]) for s in range(8)]
    with pytest.raises(InputError, match="at best 1 of 8 ground hard rules"):
        drawn(network_of(3, every), "satisfying", n_chains=1)


def test_a_large_search() -> None:
    """4,000 atoms under 12,000 hard clauses of three literals: WalkSAT finds a world for each of 8 chains."""
    rng = np.random.default_rng(2)
    rows = {tuple(sorted(rng.choice(4000, 3, replace=False))) for _ in range(12_000)}
    clauses = [(np.inf, [2 * int(a) + int(rng.integers(2)) for a in row]) for row in rows]
    network = network_of(4000, clauses)
    start = drawn(network, "satisfying", n_chains=8)
    literal = network.clause_literal.reshape(-1, 3)
    assert (start[:, literal >> 1] == (literal & 1)).any(axis=2).all()


def connected(network: GroundNetwork, worlds: Worlds) -> bool:
    """Breadth-first search over possible worlds by changing one site: slow and plain."""
    possible = set(np.flatnonzero(np.isfinite(worlds.log_weight)).tolist())
    grouped = {atom for site in sites(network) if len(site) > 1 for atom in site}
    queue = deque([min(possible)])
    seen = {min(possible)}
    while queue:
        world = queue.popleft()
        for site in sites(network):
            rest = world & ~sum(1 << a for a in site)
            moves = [rest | 1 << a for a in site] + ([] if site[0] in grouped else [rest])
            for other in moves:
                if other in possible and other not in seen:
                    seen.add(other)
                    queue.append(other)
    return seen == possible


@settings(max_examples=150, deadline=None, derandomize=True)
@given(
    seed=st.integers(0, 10**6),
    hard=st.integers(0, 14),
    groups=st.integers(0, 3),
    hidden=st.integers(0, 2),
    longest=st.integers(2, 3),
)
def test_a_definite_judgement_about_reach_is_right(seed: int, hard: int, groups: int, hidden: int, longest: int) -> None:
    network = random_network(
        np.random.default_rng(seed), 8, 2, hard=hard, groups=groups, hidden=hidden, decided=1, longest=longest
    )
    reach = single_site_reach(network)
    whole = connected(network, all_worlds(network))
    assert reach is Reachability.UNKNOWN or (reach is Reachability.ALL) == whole
    if not hidden:
        assert reach is not Reachability.UNKNOWN, "eight atoms are few enough to know"


def test_the_asthma_model_is_known_to_be_connected_at_any_size() -> None:
    """papers.md 1.5: all clauses hard, and all-false is reached by lowering atoms one after the other."""
    n = 20
    asthma, smokes = (lambda x: x), (lambda x: n + x)
    friends = lambda x, y: 2 * n + n * x + y  # noqa: E731
    clauses = [(np.inf, [2 * asthma(x), 2 * smokes(x)]) for x in range(n)]
    for x in range(n):
        for y in range(n):
            clauses.append((np.inf, sorted([2 * asthma(x), 2 * friends(x, y), 2 * smokes(y)])))
            if x != y:
                clauses.append((np.inf, sorted([2 * smokes(x), 2 * friends(x, y), 2 * smokes(y) + 1])))
    network = network_of(2 * n + n * n, clauses)
    assert single_site_reach(network) is Reachability.ALL
    assert Gibbs().build(network, 4).concerns({}) == []


def test_two_colouring_is_known_to_be_frozen() -> None:
    edges = [(a, a + 1) for a in range(5)]
    clauses = [(np.inf, [2 * a + s, 2 * b + s]) for a, b in edges for s in (0, 1)]
    network = network_of(6, clauses)
    assert single_site_reach(network) is Reachability.PART
    sampler = Gibbs().build(network, 64)
    assert any("cannot reach" in sentence and "mcsat" in sentence for sentence in sampler.concerns({}))
    state = sampler.init(np.random.SeedSequence(1))
    before = state.world.copy()
    sampler.step(state, 100)
    assert np.array_equal(before, state.world)


def test_a_large_tied_component_is_of_unknown_reach() -> None:
    clauses = [(np.inf, [2 * a + s, 2 * (a + 1) + s]) for a in range(30) for s in (0, 1)]
    network = network_of(31, clauses)
    assert single_site_reach(network) is Reachability.UNKNOWN
    assert any("may not reach" in sentence for sentence in Gibbs().build(network, 2).concerns({}))


@pytest.mark.parametrize("sign", [0, 1])
def test_decided_atoms_satisfy_nothing_for_good(sign: int) -> None:
    """Two atoms are tied unless a third is as it should be: free, it lets them go; decided the other way, it does not."""
    tied = [(np.inf, [1, 2, 4 + sign]), (np.inf, [0, 3, 4 + sign])]
    assert single_site_reach(network_of(3, tied)) is Reachability.ALL
    assert single_site_reach(network_of(3, tied, bias={2: -np.inf if sign else np.inf})) is Reachability.PART
    assert single_site_reach(network_of(3, tied, bias={2: np.inf if sign else -np.inf})) is Reachability.ALL
