"""Answers that are known in closed form or by another method, and components of every size."""

import itertools
import math

import numpy as np
import pytest
from tests.oracle.worlds import all_worlds, random_network

from markovlogic.errors import InputError
from markovlogic.methods.exact.solve import solve
from markovlogic.networks.ground import GroundNetwork, atom_rows, network_of
from markovlogic.system.arrays import frozen


def pairwise(n_atoms: int, literals: np.ndarray, weight: np.ndarray, bias: np.ndarray) -> GroundNetwork:
    """A network of two-literal clauses, straight from arrays."""
    start = np.arange(0, literals.size + 1, 2, dtype=np.int64)
    literal = literals.astype(np.int32).ravel()
    none, zero = np.zeros(0, np.int32), np.zeros(1, np.int64)
    atom_start, atom_clause = atom_rows(start, literal, n_atoms)
    return frozen(
        GroundNetwork(
            n_atoms, start, literal, weight.astype(float), bias, atom_start, atom_clause, zero, none, zero, none, none, 0.0
        )
    )


def smokers(people: int, weight: float) -> GroundNetwork:
    """friends(x,y) ^ smokes(x) => smokes(y) over some people; atoms: smokes, then friends by row. x = y is a tautology."""
    clauses = [
        (weight, [2 * x, 2 * y + 1, 2 * (people + people * x + y)])
        for x, y in itertools.product(range(people), repeat=2)
        if x != y
    ]
    return network_of(people + people**2, clauses, log_constant=weight * people)


@pytest.mark.parametrize("method", ["exact", "eliminate"])
def test_golden_five_people(method):
    """The golden test of the model collection: one formula of weight 2 over five people."""
    people = 5
    answer = solve(smokers(people, 2.0), method=method)
    friends = answer.marginal[people:].reshape(people, people)
    off_diagonal = friends[~np.eye(people, dtype=bool)]
    np.testing.assert_allclose(off_diagonal, 0.4580488556, atol=5e-11)
    np.testing.assert_allclose(np.diag(friends), 0.5, atol=1e-14)
    np.testing.assert_allclose(answer.marginal[:people], 0.5, atol=1e-14)
    # given who smokes (k of n), each of k(n-k) pairs gives 1 + e^w, every other one 2 e^w, the diagonal 2 e^w
    total = sum(
        math.comb(people, k) * (1 + math.exp(2)) ** (k * (people - k)) * (2 * math.exp(2)) ** (people**2 - k * (people - k))
        for k in range(people + 1)
    )
    assert answer.log_z == pytest.approx(math.log(total), abs=1e-11)


@pytest.mark.parametrize("people", [1, 2, 3])
def test_smokers_against_all_worlds(people):
    network = smokers(people, 2.0)
    worlds = all_worlds(network)
    for method in ("exact", "enumerate", "eliminate"):
        np.testing.assert_allclose(solve(network, method=method).marginal, worlds.marginal, atol=1e-12)


def test_grid_against_transfer_matrices():
    """An 8 x 30 grid with random fields: log Z and a column's marginals by multiplying transfer matrices."""
    rows, columns = 8, 30
    rng = np.random.default_rng(3)
    number = np.arange(rows * columns).reshape(rows, columns)
    across = np.stack([number[:, :-1].ravel(), number[:, 1:].ravel()], 1)
    down = np.stack([number[:-1].ravel(), number[1:].ravel()], 1)
    literals = np.concatenate([2 * across + [0, 1], 2 * down + [0, 1], 2 * down + [1, 0]])
    weight = rng.exponential(1.0, len(literals))
    bias = rng.normal(size=rows * columns)
    answer = solve(pairwise(rows * columns, literals, weight, bias))

    spin = (np.arange(2**rows)[:, None] >> np.arange(rows)) & 1  # (worlds of a column, rows)
    w_across, w_down, w_up = np.split(weight, [len(across), len(across) + len(down)])
    w_across = w_across.reshape(rows, columns - 1)
    w_down, w_up = w_down.reshape(rows - 1, columns), w_up.reshape(rows - 1, columns)
    upper, lower = spin[:, :-1], spin[:, 1:]

    def inside(c: int) -> np.ndarray:
        return spin @ bias[number[:, c]] + ((1 - upper) | lower) @ w_down[:, c] + (upper | (1 - lower)) @ w_up[:, c]

    def lse(x: np.ndarray, axis: int) -> np.ndarray:
        top = x.max(axis=axis, keepdims=True)
        return np.log(np.exp(x - top).sum(axis=axis)) + np.squeeze(top, axis)

    def between(c: int) -> np.ndarray:
        left, right = spin[:, None, :], spin[None, :, :]
        return ((1 - left) | right) @ w_across[:, c]

    forward = [inside(0)]
    for c in range(1, columns):
        forward.append(lse(forward[-1][:, None] + between(c - 1), 0) + inside(c))
    backward = np.zeros(2**rows)
    middle = columns // 2
    for c in range(columns - 1, middle, -1):
        backward = lse(between(c - 1) + (inside(c) + backward)[None, :], 1)
    log_z = lse(forward[-1], 0)
    assert answer.log_z == pytest.approx(float(log_z), abs=1e-9)
    share = np.exp(forward[middle] + backward - log_z)
    np.testing.assert_allclose(answer.marginal[number[:, middle]], share @ spin, atol=1e-10)
    assert answer.used["eliminate"] == 1


def test_exist_over_hundreds_of_atoms():
    """h <=> l_1 v ... v l_n, bias b on h: independent atoms given h's only false world."""
    n, b, field = 300, 1.3, -3.0
    network = network_of(n, definitions=[[2 * a + 1 for a in range(n)]], bias={n: b, **dict.fromkeys(range(n), field)})
    answer = solve(network)
    log_one = math.log1p(math.exp(field))
    log_z = b + math.log(math.exp(n * log_one) - 1 + math.exp(-b))
    assert answer.log_z == pytest.approx(log_z, abs=1e-10)
    single = math.exp(b + field + (n - 1) * log_one - log_z)
    np.testing.assert_allclose(answer.marginal, single, atol=1e-12)
    assert answer.width <= 4


def test_long_hard_clause_and_chained_definitions():
    n = 200
    some = [2 * a + 1 for a in range(n)]
    network = network_of(n + 1, [(math.inf, [2 * n, *[2 * (n + 1) + 1]]), (0.7, some)], definitions=[some])
    answer = solve(network, events=[np.array([0, 2, 2 * n + 1], np.int32), np.array([1, 3], np.int32)])
    # x_n => some: worlds with x_n: 2^n - 1, without: 2^n; the soft clause e^0.7 except where none is true
    e = math.exp(0.7)
    z = 2 * e * (2.0**n - 1) + 1
    assert answer.log_z == pytest.approx(math.log(z), abs=1e-10)
    assert answer.marginal[n] == pytest.approx(e * (2.0**n - 1) / z, abs=1e-12)
    np.testing.assert_allclose(answer.event_probability, [(2.0 ** (n - 2) - 1) * e / z, 2 * 2.0 ** (n - 2) * e / z], atol=1e-12)


@pytest.mark.parametrize("method", ["enumerate", "eliminate"])
def test_weights_of_hundreds(method):
    rng = np.random.default_rng(8)
    for _ in range(10):
        network = random_network(rng, 8, 12, hard=2, hidden=2, scale=400.0)
        worlds = all_worlds(network)
        answer = solve(network, method=method)
        assert answer.log_z == pytest.approx(worlds.log_z, rel=1e-13)
        np.testing.assert_allclose(answer.marginal, worlds.marginal[:8], atol=1e-10)


@pytest.mark.parametrize("method", ["exact", "enumerate", "eliminate"])
def test_many_components_of_few_shapes(method):
    """Copies of small networks with other weights, woven together, against each one alone."""
    rng = np.random.default_rng(5)
    patterns = [random_network(rng, int(rng.integers(1, 6)), 5, hard=1, groups=1, decided=1) for _ in range(4)]
    clauses, bias, groups, expected, log_z, used = [], {}, [], {}, 0.0, 0
    events, joint = [], []
    for _ in range(40):
        pattern = patterns[int(rng.integers(4))]
        place = [used + int(a) for a in rng.permutation(pattern.n_atoms)]
        if rng.random() < 0.5:
            place.sort()
        used += pattern.n_atoms
        own = []
        for c in range(pattern.n_clauses):
            row = pattern.clause_literal[pattern.clause_start[c] : pattern.clause_start[c + 1]].tolist()
            w = math.inf if c >= pattern.n_soft else float(rng.exponential())
            own.append((w, row))
            clauses.append((w, [2 * place[q >> 1] + (q & 1) for q in row]))
        own_bias = {a: float(b) if math.isinf(b) else float(rng.normal()) for a, b in enumerate(pattern.atom_bias)}
        bias.update({place[a]: b for a, b in own_bias.items()})
        own_groups = [
            pattern.group_atom[s:e].tolist() for s, e in zip(pattern.group_start, pattern.group_start[1:], strict=False)
        ]
        groups += [[place[a] for a in g] for g in own_groups]
        worlds = all_worlds(network_of(pattern.n_atoms, own, bias=own_bias, groups=own_groups))
        log_z += worlds.log_z
        expected.update({place[a]: p for a, p in enumerate(worlds.marginal)})
        literals = [2 * a + int(rng.integers(2)) for a in range(pattern.n_atoms)][:3]
        events.append(np.array([2 * place[q >> 1] + (q & 1) for q in literals], np.int32))
        joint.append(worlds.event(literals))
    events.append(np.concatenate([events[0], events[-1]]))
    joint.append(joint[0] * joint[-1])
    answer = solve(network_of(used, clauses, bias=bias, groups=groups), method=method, events=events)
    np.testing.assert_allclose(answer.event_probability, joint, atol=1e-10)
    assert answer.log_z == pytest.approx(log_z, abs=1e-9)
    np.testing.assert_allclose(answer.marginal, [expected[a] for a in range(used)], atol=1e-10)


def test_events_across_components():
    network = network_of(5, [(1.0, [1, 3]), (0.5, [4, 7])], bias={4: 0.3, 0: -0.2})
    worlds = all_worlds(network)
    events = [[], [1], [0], [1, 3], [1, 2, 4, 7, 9], [9, 8], [1, 1, 3], [5, 4], [8]]
    for method in ("exact", "enumerate", "eliminate"):
        answer = solve(network, method=method, events=[np.array(e, np.int32) for e in events])
        np.testing.assert_allclose(answer.event_probability, [worlds.event(e) for e in events], atol=1e-12)
    assert answer.event_probability[0] == 1.0
    assert answer.event_probability[5] == 0.0


def test_two_values_of_one_group_exclude_each_other():
    answer = solve(network_of(3, groups=[[0, 1, 2]]), events=[np.array([1, 3]), np.array([0, 2]), np.array([1, 2])])
    np.testing.assert_allclose(answer.event_probability, [0, 1 / 3, 1 / 3], atol=1e-14)


def test_atoms_without_clauses():
    bias = {0: 0.0, 1: 800.0, 2: -800.0, 3: math.inf, 4: -math.inf, 5: 1.5}
    answer = solve(network_of(6, bias=bias, log_constant=2.0))
    np.testing.assert_allclose(answer.marginal, [0.5, 1.0, 0.0, 1.0, 0.0, 1 / (1 + math.exp(-1.5))], atol=1e-15)
    assert answer.log_z == pytest.approx(2.0 + math.log(2) + 800.0 + math.log1p(math.exp(1.5)), abs=1e-10)
    assert answer.used == {"closed form": 6, "enumerate": 0, "eliminate": 0}


def test_empty_network():
    answer = solve(network_of(0, log_constant=1.25), events=[np.zeros(0, np.int32)])
    assert answer.log_z == 1.25
    assert answer.marginal.shape == (0,)
    assert answer.event_probability.tolist() == [1.0]


@pytest.mark.parametrize("method", ["exact", "enumerate", "eliminate"])
@pytest.mark.parametrize(
    "network",
    [
        network_of(2, [(math.inf, [1, 3]), (math.inf, [0, 3]), (math.inf, [1, 2]), (math.inf, [0, 2])]),
        network_of(2, groups=[[0, 1]], bias={0: math.inf, 1: math.inf}),
        network_of(2, groups=[[0, 1]], bias={0: -math.inf, 1: -math.inf}),
        network_of(1, definitions=[[1]], bias={0: math.inf, 1: -math.inf}),
        network_of(1, definitions=[[]], bias={1: math.inf}),
        network_of(2, [(math.inf, [1, 3])], bias={0: -math.inf, 1: -math.inf}),
        network_of(1, groups=[[]]),
    ],
)
def test_no_possible_world(method, network):
    with pytest.raises(InputError, match="no world satisfies the hard formulas"):
        solve(network, method=method, events=[np.array([1], np.int32)])


def test_atoms_that_hard_clauses_decide_are_exactly_0_or_1():
    rng = np.random.default_rng(1)
    clauses = [(math.inf, [2 * a, 2 * a + 3]) for a in range(20)] + [(float(rng.random()), [2 * a, 2 * a + 5]) for a in range(18)]
    network = network_of(21, clauses, bias={0: math.inf})
    for method in ("enumerate", "eliminate"):
        assert solve(network, method=method).marginal.tolist() == [1.0] * 21


def test_unit_and_duplicate_literals_in_definitions():
    network = network_of(2, [(1.0, [1, 5])], definitions=[[1, 0], [3, 3]], bias={2: 0.5, 3: -0.25})
    worlds = all_worlds(network)
    for method in ("enumerate", "eliminate"):
        answer = solve(network, method=method)
        assert answer.log_z == pytest.approx(worlds.log_z, abs=1e-12)
        np.testing.assert_allclose(answer.marginal, worlds.marginal[:2], atol=1e-12)


def test_same_input_same_answer():
    network = random_network(np.random.default_rng(2), 12, 30, hard=3, groups=2, hidden=3)
    first, second = solve(network, method="eliminate"), solve(network, method="eliminate")
    assert first.log_z == second.log_z
    assert (first.marginal == second.marginal).all()


@pytest.mark.parametrize("method", ["enumerate", "eliminate"])
def test_alike_components_with_different_decided_atoms(method):
    bias = {0: math.inf, 3: -math.inf, 4: 0.5, 6: -math.inf}
    network = network_of(8, [(1.0, [4 * i, 4 * i + 3]) for i in range(4)], bias=bias)
    np.testing.assert_allclose(solve(network, method=method).marginal, all_worlds(network).marginal, atol=1e-12)
