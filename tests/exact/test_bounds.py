"""What exact inference takes on, what it refuses, and what it says then."""

import math

import numpy as np
import pytest
from tests.exact.test_known_answers import pairwise

from markovlogic.errors import InputError, ResourceError
from markovlogic.methods.exact.solve import solve
from markovlogic.networks.ground import GroundNetwork, network_of


def grid(rows: int, columns: int) -> GroundNetwork:
    number = np.arange(rows * columns).reshape(rows, columns)
    across = np.stack([number[:, :-1].ravel(), number[:, 1:].ravel()], 1)
    down = np.stack([number[:-1].ravel(), number[1:].ravel()], 1)
    literals = 2 * np.concatenate([across, down]) + [0, 1]
    return pairwise(rows * columns, literals, np.full(len(literals), 0.4), np.zeros(rows * columns))


def complete(n: int) -> GroundNetwork:
    pair = np.stack(np.triu_indices(n, 1), 1)
    return pairwise(n, 2 * pair + [0, 1], np.full(len(pair), 0.1), np.zeros(n))


def test_a_wide_grid_is_refused_with_its_width():
    with pytest.raises(ResourceError, match=r"component of 10000 atoms has width 2\d or more .* bound is 20 ") as refusal:
        solve(grid(100, 100))
    assert "gibbs" in str(refusal.value)
    assert "mcsat" in str(refusal.value)
    assert refusal.value.limit == 20
    assert refusal.value.needed > 20


def test_a_large_dense_component_is_refused_at_once():
    rng = np.random.default_rng(0)
    pair = np.sort(rng.integers(0, 20_000, (500_000, 2)), axis=1)
    pair = np.unique(pair[pair[:, 0] < pair[:, 1]], axis=0)
    network = pairwise(20_000, 2 * pair, np.ones(len(pair)), np.zeros(20_000))
    with pytest.raises(ResourceError, match="has width 21 or more"):
        solve(network, method="eliminate")


def test_the_bound_can_be_moved():
    with pytest.raises(ResourceError, match="bound is 3 "):
        solve(grid(6, 6), method="eliminate", max_width=3)
    assert 6 <= solve(grid(6, 6), method="eliminate", max_width=9).width <= 9


def test_a_few_atoms_of_great_width_are_enumerated():
    network = complete(14)
    answer = solve(network, max_width=5)
    assert answer.used["enumerate"] == 1
    np.testing.assert_allclose(answer.marginal, solve(network, method="eliminate").marginal, atol=1e-12)


def test_enumeration_refuses_with_the_number_of_worlds():
    with pytest.raises(
        ResourceError, match=r"component of 30 atoms would list 2\^30.0 worlds, and at most 33,554,432"
    ) as refusal:
        solve(complete(30), method="enumerate")
    assert refusal.value.needed == 2.0**30


def test_groups_count_by_their_values():
    groups = [[3 * g, 3 * g + 1, 3 * g + 2] for g in range(8)]
    network = network_of(24, [(1.0, [6 * g + 1, 6 * g + 7]) for g in range(7)], groups=groups)
    assert solve(network, method="enumerate", max_worlds=3**8).used["enumerate"] == 1
    with pytest.raises(ResourceError, match=r"2\^12.7 worlds"):
        solve(network, method="enumerate", max_worlds=3**8 - 1)


def test_a_group_of_very_many_values():
    n = 50_000
    network = network_of(n + 1, [(1.0, [1, 2 * n + 1])], groups=[list(range(n))])
    answer = solve(network)
    e = math.e
    assert answer.log_z == pytest.approx(math.log(2 * e + (n - 1) * (1 + e)), abs=1e-11)
    with pytest.raises(ResourceError, match="MiB of memory"):
        solve(network, method="enumerate")


def test_tables_beyond_the_memory_limit_are_refused():
    with pytest.raises(ResourceError, match="MiB of memory, and 1 MiB are allowed"):
        solve(grid(10, 60), memory_limit=2**20)


@pytest.mark.parametrize("kind", ["chain", "tree", "star", "grid"])
def test_large_sparse_components(kind):
    n = 5000
    v = np.arange(1, n)
    rng = np.random.default_rng(4)
    if kind == "grid":
        network = grid(8, 100)
    else:
        parent = {"chain": v - 1, "tree": (v - 1) // 2, "star": 0 * v}[kind]
        network = pairwise(n, np.stack([2 * parent, 2 * v + 1], 1), rng.exponential(1.0, n - 1), rng.normal(size=n))
    answer = solve(network, events=[np.array([0, 3, 5, 2 * 60], np.int32)])
    assert answer.width == 1 or kind == "grid"
    assert answer.used["eliminate"] == 1
    assert 0 < answer.event_probability[0] < 1
    if kind == "chain":
        log = np.zeros(2)
        for a in range(n):
            log = log + np.array([0.0, network.atom_bias[a]])
            if a + 1 < n:
                w = network.clause_weight[a]  # !x_a v x_{a+1}
                log = np.array([np.logaddexp(log[0] + w, log[1]), np.logaddexp(log[0] + w, log[1] + w)])
        assert answer.log_z == pytest.approx(float(np.logaddexp(*log)), abs=1e-8)


def test_many_alike_components_and_coins():
    pairs, coins = 50_000, 200_000
    rng = np.random.default_rng(6)
    first = 2 * np.arange(pairs)
    weight, bias = rng.exponential(1.0, pairs), rng.normal(size=2 * pairs + coins)
    network = pairwise(2 * pairs + coins, np.stack([2 * first + 1, 2 * first + 3], 1), weight, bias)
    answer = solve(network)
    assert answer.used == {"closed form": coins, "enumerate": pairs, "eliminate": 0}
    a, b = np.exp(bias[: 2 * pairs : 2]), np.exp(bias[1 : 2 * pairs : 2])
    e = np.exp(weight)
    z = 1 + e * (a + b + a * b)
    np.testing.assert_allclose(answer.marginal[: 2 * pairs : 2], e * (a + a * b) / z, atol=1e-12)
    np.testing.assert_allclose(answer.marginal[2 * pairs :], 1 / (1 + np.exp(-bias[2 * pairs :])), atol=1e-14)
    assert answer.log_z == pytest.approx(np.log(z).sum() + np.log1p(np.exp(bias[2 * pairs :])).sum(), rel=1e-13)


def test_all_25_atoms():
    """2^25 worlds, against elimination."""
    rng = np.random.default_rng(7)
    clauses = [
        (float(rng.exponential()), [2 * int(a) + int(rng.integers(2)) for a in sorted(rng.choice(25, 3, replace=False))])
        for _ in range(40)
    ]
    network = network_of(25, [*clauses, (0.5, [50, 53]), (0.5, [0, 48])], definitions=[[1, 17, 30], [51, 40]])
    event = [np.array([1, 20, 41], np.int32)]
    listed = solve(network, method="enumerate", events=event)
    eliminated = solve(network, method="eliminate", events=event)
    assert listed.log_z == pytest.approx(eliminated.log_z, abs=1e-10)
    np.testing.assert_allclose(listed.marginal, eliminated.marginal, atol=1e-10)
    np.testing.assert_allclose(listed.event_probability, eliminated.event_probability, atol=1e-10)


def test_wrong_calls():
    network = network_of(2, [(1.0, [1, 3])], definitions=[[1]])
    with pytest.raises(InputError, match="unknown exact method 'exat'"):
        solve(network, method="exat")
    with pytest.raises(InputError, match="allow nothing"):
        solve(network, max_worlds=0)
    with pytest.raises(ValueError, match="event 0 holds a literal of no open atom"):
        solve(network, events=[np.array([4], np.int32)])
    with pytest.raises(ValueError, match="two exclusive groups"):
        solve(network_of(3, groups=[[0, 1], [1, 2]]))


class Listener:
    def __init__(self) -> None:
        self.total = 0.0
        self.heard: list[float] = []
        self.stages: list[str] = []

    def stage(self, name: str, total: float | None = None) -> None:
        self.total = total or 0.0
        self.stages.append(name)
        self.heard = []

    def advance(self, done: float, note: str = "") -> None:
        self.heard.append(done)


@pytest.mark.parametrize("method", ["enumerate", "eliminate"])
def test_progress_runs_from_nothing_to_all(method):
    listener = Listener()
    solve(complete(21), method=method, max_width=20, progress=listener)
    assert listener.stages == ["plan exact inference", "exact inference"]
    assert listener.total == 1
    assert listener.heard == sorted(listener.heard)
    assert listener.heard[-1] == 1
    assert len(listener.heard) > 1
