"""What [003] claims, on explicit transition matrices: lumping, the quotient's mixing, bias and error; and where it fails."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from tests.oracle.worlds import all_worlds, random_network
from tests.sampling.gibbs_checks import conditional, sites
from tests.symmetry import brute_force
from tests.symmetry.made import prepared

from markovlogic.grounding.ground import ground
from markovlogic.language.lower import lower
from markovlogic.networks.ground import network_of

FIGURE_1 = "p = {A, B}\nS(p)\nC(p)\n1.3 S(x) => C(x)\n-0.8 S(x)\n0.6 S(x) ^ S(y)\n"
MODELS = {
    "figure 1": (FIGURE_1, "", ("S", "C")),
    "friends": ("p = {A, B}\nS(p)\nF(p, p)\n0.9 F(x, y) ^ S(x) => S(y)\n-0.5 F(x, y)\n", "", ("S", "F")),
    "evidence": (
        "p = {A, B, C, D}\nS(p)\nF(p, p)\n1.7 F(x, y) ^ S(x) => S(y)\n0.4 S(x)\n", "F(A,B)\nF(B,A)\nF(C,D)\nF(D,C)\n", ("S",)
    ),
    "three alike": ("p = {A, B, C}\nS(p)\nT(p)\n0.8 S(x) ^ S(y)\n-1.5 S(x)\n0.9 S(x) => T(x)\n", "", ("S", "T")),
}  # fmt: skip


class Explicit:
    """Worlds, target, group on worlds, and the two Gibbs kernels of a model as matrices."""

    def __init__(self, network, elements):
        self.network = network
        self.worlds = all_worlds(network)
        self.pi = self.worlds.probability
        n = network.n_atoms
        bits = self.worlds.world[:, :n]
        # element g moves the value of atom a to atom g[a]
        self.moves = [(bits << np.array(g)).sum(axis=1) for g in elements]
        images = np.min(self.moves, axis=0)
        _, self.orbit_of = np.unique(images, return_inverse=True)
        updates = [site_matrix(network, self.worlds, site) for site in sites(network)]
        self.random_scan = np.mean(updates, axis=0)
        self.systematic = np.linalg.multi_dot(updates) if len(updates) > 1 else updates[0]
        self.elements = elements

    def orbit_average(self, value):
        """(Π f)(x): the mean of f over the orbit of x."""
        return np.mean([value[goes] for goes in self.moves], axis=0)

    def quotient(self, kernel):
        """Lumped kernel, its target, and how far the kernel is from being lumpable."""
        onto = np.eye(self.orbit_of.max() + 1)[self.orbit_of]  # (n_worlds, n_orbits)
        into = kernel @ onto
        lumped = np.stack([into[self.orbit_of == o].mean(axis=0) for o in range(onto.shape[1])])
        return lumped, self.pi @ onto, float(np.abs(into - lumped[self.orbit_of]).max())


def site_matrix(network, worlds, site):
    """The update of one atom as a matrix over worlds."""
    (atom,) = site
    n = len(worlds.world)
    matrix = np.zeros((n, n))
    for x in range(n):
        p = conditional(network, site, worlds.world[x])[0]
        matrix[x, x | 1 << atom] += p
        matrix[x, x & ~(1 << atom)] += 1 - p
    return matrix


def explicit(name):
    mln, db, open_ = MODELS[name]
    problem = prepared(mln, db, open_=open_)
    atoms = brute_force.open_atoms(problem)
    number = {atom: n for n, atom in enumerate(atoms)}
    group = [[number[brute_force.renamed(problem, atom, r)] for atom in atoms] for r in brute_force.automorphisms(problem)]
    return Explicit(ground(problem, lower(problem.model)), group)


@pytest.fixture(scope="module", params=MODELS)
def model(request):
    return explicit(request.param)


def mixing_time(kernel, target, epsilon, most=4000):
    """τ(ε): the steps after which every start is within ε of the target, in total variation, for good (it never grows again)."""
    power = np.eye(len(target))
    for step in range(most):
        if np.abs(power - target).sum(axis=1).max() / 2 <= epsilon:
            return step
        power = power @ kernel
    raise AssertionError("does not mix")


def statistics(model):
    """Indicators of all atoms, of all pairs, and of one triple."""
    bits = model.worlds.world[:, : model.network.n_atoms]
    for atom in range(bits.shape[1]):
        yield bits[:, atom].astype(float)
    for a, b in itertools.combinations(range(bits.shape[1]), 2):
        yield (bits[:, a] & ~bits[:, b]).astype(float)
    if bits.shape[1] > 2:
        yield (bits[:, 0] & bits[:, 1] & bits[:, 2]).astype(float)


def test_figure_1_has_ten_orbits_of_sixteen_worlds():
    model = explicit("figure 1")
    assert len(model.pi) == 16 and model.orbit_of.max() + 1 == 10  # Burnside: (16 + 4) / 2


def test_random_scan_commutes_and_is_exactly_lumpable(model):
    """Prop. 7, with the condition that it needs: the kernel commutes with the group."""
    kernel = model.random_scan
    assert np.abs(model.pi @ kernel - model.pi).max() < 1e-12
    for goes in model.moves:
        assert np.abs(kernel[np.ix_(goes, goes)] - kernel).max() < 1e-12
        assert np.abs(model.pi[goes] - model.pi).max() < 1e-12
    assert model.quotient(kernel)[2] < 1e-12


def test_the_quotient_is_reversible_and_mixes_no_slower(model):
    """Prop. 7: reversible, and τ'(ε) <= τ(ε)."""
    lumped, target, _ = model.quotient(model.random_scan)
    flow = target[:, None] * lumped
    assert np.abs(flow - flow.T).max() < 1e-12 and np.abs(target @ lumped - target).max() < 1e-12
    for epsilon in (0.25, 0.1, 0.01):
        assert mixing_time(lumped, target, epsilon) <= mixing_time(model.random_scan, model.pi, epsilon)


def test_the_bias_is_bounded_by_the_quotients_mixing(model):
    """Theorem 9: after T >= τ'(ε) steps the Rao-Blackwell estimate from N draws is biased by ε at most, from every start."""
    lumped, target, _ = model.quotient(model.random_scan)
    for epsilon in (0.1, 0.02):
        burn_in = mixing_time(lumped, target, epsilon)
        after = np.linalg.matrix_power(model.random_scan, burn_in)
        for value in statistics(model):
            pooled, truth = model.orbit_average(value), model.pi @ value
            draws, mean = after, np.zeros(len(model.pi))
            for _ in range(5):
                draws = draws @ model.random_scan
                mean += draws @ pooled / 5
            assert np.abs(mean - truth).max() <= epsilon + 1e-12


def test_burning_in_for_the_quotient_alone_is_not_enough_for_the_standard_estimator():
    """The twin of the test above: what it measures can exceed ε, and does without pooling."""
    problem = prepared("p = {A, B, C, D, E}\nS(p)\n3 !S(x) v !S(y) v x = y\n9 EXIST x S(x)\n", open_=("S",))
    network = ground(problem, lower(problem.model))
    model = Explicit(network, list(itertools.permutations(range(5))))
    lumped, target, _ = model.quotient(model.random_scan)
    burn_in = mixing_time(lumped, target, 0.02)
    after = np.linalg.matrix_power(model.random_scan, burn_in + 1)
    value = model.worlds.world[:, 0].astype(float)
    truth = model.pi @ value
    assert np.abs(after @ model.orbit_average(value) - truth).max() <= 0.02
    assert np.abs(after @ value - truth).max() > 0.1


def averaged_variance(kernel, target, value, draws):
    """Variance of the mean of `draws` successive draws in equilibrium."""
    centred = value - target @ value
    moved, covariance = centred.copy(), []
    for _ in range(draws):
        covariance.append(float(target @ (centred * moved)))
        moved = kernel @ moved
    return sum((draws - abs(lag)) * covariance[abs(lag)] for lag in range(-draws + 1, draws)) / draws**2


def test_averages_over_dependent_draws_never_get_worse(model):
    """The corollary of Theorem 5 for chains, under random scan: invariant functions and the rest are separate subspaces."""
    for value in statistics(model):
        pooled = model.orbit_average(value)
        assert abs(model.pi @ pooled - model.pi @ value) < 1e-12  # unbiased
        for draws in (1, 2, 7):
            before = averaged_variance(model.random_scan, model.pi, value, draws)
            assert averaged_variance(model.random_scan, model.pi, pooled, draws) <= before + 1e-12


def test_independent_draws_gain_strictly_where_theorem_5_says_so(model):
    for value in statistics(model):
        pooled = model.orbit_average(value)
        before, after = (float(model.pi @ (v - model.pi @ value) ** 2) for v in (value, pooled))
        mixed = bool(((pooled > 1e-9) & (pooled < 1 - 1e-9) & (model.pi > 0)).any())
        assert after <= before + 1e-15
        assert (after < before - 1e-9) == mixed


def test_a_fixed_order_does_not_commute_and_is_not_lumpable():
    """The counterexample (papers.md 2.14): its target is right, but symmetries exchange early and late atoms."""
    model = explicit("three alike")
    kernel = model.systematic
    assert np.abs(model.pi @ kernel - model.pi).max() < 1e-12
    assert max(np.abs(kernel[np.ix_(goes, goes)] - kernel).max() for goes in model.moves) > 0.01
    assert model.quotient(kernel)[2] > 0.01


def test_a_move_after_a_fixed_order_makes_its_orbits_a_chain_again():
    """The orbital chain starts every sweep uniformly in an orbit, so that which orbit comes next depends on the orbit alone."""
    model = explicit("three alike")
    n = len(model.pi)
    uniform = np.zeros((n, n))
    for goes in model.moves:
        uniform[np.arange(n), goes] += 1 / len(model.moves)
    orbital = uniform @ model.systematic @ uniform
    assert np.abs(model.pi @ orbital - model.pi).max() < 1e-12
    assert model.quotient(orbital)[2] < 1e-12


def test_orbits_of_an_equitable_partition_would_be_biased():
    """Planted error: a triangle beside a square. Refinement gives all seven atoms one colour; their marginals differ."""
    edges = [(0, 1), (1, 2), (0, 2), (3, 4), (4, 5), (5, 6), (3, 6)]
    network = network_of(7, [(4.0, [2 * a, 2 * b]) for a, b in edges], bias=dict.fromkeys(range(7), 1.5))
    marginal = all_worlds(network).marginal
    assert np.ptp(marginal) > 0.02
    triangle = [[*p, 3, 4, 5, 6] for p in itertools.permutations(range(3))]
    model = Explicit(network, triangle)
    for atom in range(3):
        value = model.worlds.world[:, atom].astype(float)
        assert abs(model.pi @ model.orbit_average(value) - marginal[atom]) < 1e-12
    refined = Explicit(network, [list(np.roll(np.arange(7), k)) for k in range(7)])  # as if all seven were one orbit
    value = refined.worlds.world[:, 0].astype(float)
    assert abs(refined.pi @ refined.orbit_average(value) - marginal[0]) > 0.005
    assert refined.quotient(refined.random_scan)[2] > 0.01


def test_a_model_without_symmetry_is_not_lumpable_by_the_same_check():
    """Power of the lumping check: random weights, exchanges that are no symmetries."""
    network = random_network(np.random.default_rng(4), 5, 8, longest=3)
    model = Explicit(network, [list(p) for p in itertools.permutations(range(5))])
    assert model.quotient(model.random_scan)[2] > 0.01
