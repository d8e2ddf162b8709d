"""Orbit means as estimates: equal to averages by hand, never worse than samples, with errors that cover, and resumable."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.oracle.worlds import all_worlds
from tests.running.made import run
from tests.symmetry.made import prepared

from markovlogic.errors import InputError
from markovlogic.estimation.estimator import NAMED
from markovlogic.estimation.orbit_estimates import series_estimates, split_rhat
from markovlogic.estimation.orbit_pools import orbit_pools, plan_pools, remarks_on
from markovlogic.estimation.summary import atom_estimates
from markovlogic.grounding.ground import ground
from markovlogic.language.lower import lower
from markovlogic.methods.sampling.gibbs import Gibbs
from markovlogic.methods.sampling.mcsat import MCSAT
from markovlogic.methods.sampling.orbital import Orbital
from markovlogic.symmetry.find import SymmetryFinder
from markovlogic.symmetry.groups import RenamingGroup
from markovlogic.symmetry.twins import twin_classes

FRIENDS = """
Smokes(person)
Cancer(person)
Friends(person, person)
1.4 !Smokes(x)
2.3 !Cancer(x)
4.6 !Friends(x, y)
1.5 Smokes(x) => Cancer(x)
1.1 Friends(x, y) => (Smokes(x) <=> Smokes(y))
"""


def made(n, db="", mln=FRIENDS, open_=("Smokes", "Cancer", "Friends")):
    problem = prepared(f"person = {{{', '.join(f'P{i}' for i in range(n))}}}\n{mln}", db, open_=open_)
    return problem, ground(problem, lower(problem.model)), RenamingGroup(problem, twin_classes(problem))


@pytest.fixture(scope="module")
def three():
    problem, network, group = made(3, "Smokes(P2)\n")
    return problem, network, group, all_worlds(network)


def remarks(pools, name, *, fixed_order=False):
    return remarks_on(pools, NAMED[name], NAMED[name], "gibbs", fixed_order=fixed_order)


EVENTS = [np.array([1, 3]), np.array([5, 10]), np.array([2])]
CUBES = [(event,) for event in EVENTS]


def test_estimates_are_averages_over_draws_chains_and_orbits(three):
    """By hand from kept draws: the mean of each atom over its orbit, draw by draw."""
    _, network, group, _ = three
    atoms = np.arange(network.n_atoms, dtype=np.int32)
    pools = orbit_pools(group, atoms, CUBES)
    found = run(
        Gibbs(), network, query_atoms=atoms, events=EVENTS, pools=pools, chains=70, draws=50, estimator="orbit", keep_draws=True
    )
    assert found.estimator.name == "orbit" and found.kept.shape == (70, 50, len(atoms))
    orbit_of = group.orbits().orbit_of
    for atom in atoms:
        series = found.kept[:, :, orbit_of == orbit_of[atom]].mean(axis=2)
        assert found.atoms.mean[atom] == pytest.approx(series.mean(), abs=1e-14)
        between = series.mean(axis=1).std(ddof=1) / np.sqrt(70)
        assert between <= found.atoms.stderr[atom] <= 1.1 * between + 1e-3
        halves = np.concatenate([series[:, :25], series[:, 25:]])
        if halves.var() > 0:
            within = halves.var(axis=1, ddof=1).mean()
            rhat = np.sqrt((24 / 25 * within + halves.mean(axis=1).var(ddof=1)) / within)
            assert found.atoms.rhat[atom] == pytest.approx(rhat, abs=1e-9)
    sample = atom_estimates(found.tallies)
    np.testing.assert_allclose(sample.mean, found.kept.mean(axis=(0, 1)), atol=1e-14)


def test_the_error_over_an_orbit_never_grows(three):
    """Σ over an orbit of squared errors, in every run of every sampler: an identity (papers.md 3.6), luck has no part."""
    _, network, group, worlds = three
    atoms = np.arange(network.n_atoms, dtype=np.int32)
    pools = orbit_pools(group, atoms)
    for settings_ in (Gibbs(), Gibbs(scan="random"), MCSAT(), Orbital(Gibbs(), group)):
        for seed in range(3):
            found = run(
                settings_, network, query_atoms=atoms, pools=pools, chains=2, draws=12, burn_in=0, seed=seed, estimator="orbit"
            )
            sample = atom_estimates(found.tallies)
            for orbit in range(group.orbits().n_orbits):
                own = group.orbits().orbit_of == orbit
                before, after = (((mean - worlds.marginal)[own] ** 2).sum() for mean in (sample.mean, found.atoms.mean))
                assert after <= before + 1e-14


def test_members_that_were_not_asked_for_are_counted(three):
    _, network, group, _ = three
    everything = np.arange(network.n_atoms, dtype=np.int32)
    whole = run(
        Gibbs(), network, query_atoms=everything, pools=orbit_pools(group, everything), chains=8, draws=30, estimator="orbit"
    )
    one = np.array([3], np.int32)
    for estimator in ("orbit", "orbit-conditional"):
        part = run(
            Gibbs(),
            network,
            query_atoms=one,
            pools=orbit_pools(group, one),
            chains=8,
            draws=30,
            estimator=estimator,
            keep_draws=True,
        )
        assert part.kept.shape == (8, 30, 1) and len(part.atoms) == 1
        if estimator == "orbit":
            assert part.atoms.mean[0] == whole.atoms.mean[3]


@pytest.mark.parametrize("estimator", ["orbit", "orbit-conditional"])
def test_atoms_may_be_requested_in_any_order(three, estimator):
    _, network, group, _ = three
    atoms = np.arange(network.n_atoms, dtype=np.int32)
    mixed = np.array([7, 2, 9, 2, 0], np.int32)
    whole, part = (
        run(Gibbs(), network, query_atoms=q, pools=orbit_pools(group, q), chains=8, draws=30, burn_in=0, estimator=estimator)
        for q in (atoms, mixed)  # no burn-in: what is seen there depends on all that is requested
    )
    np.testing.assert_array_equal(part.atoms.mean, whole.atoms.mean[mixed])
    np.testing.assert_array_equal(part.atoms.stderr, whole.atoms.stderr[mixed])


@pytest.mark.parametrize("chains", [1, 4, 64])
def test_conditionals_are_pooled(three, chains):
    _, network, group, _ = three
    atoms = np.arange(network.n_atoms, dtype=np.int32)
    options = {"query_atoms": atoms, "chains": chains, "draws": 60, "seed": 2}
    plain = run(Gibbs(), network, estimator="conditional", **options)
    pooled = run(Gibbs(), network, estimator="orbit-conditional", pools=orbit_pools(group, atoms), **options)
    orbit_of = group.orbits().orbit_of
    for atom in atoms:
        assert pooled.atoms.mean[atom] == pytest.approx(plain.atoms.mean[orbit_of == orbit_of[atom]].mean(), abs=1e-12)
    assert pooled.estimator.name == "orbit-conditional"


@pytest.mark.parametrize(("chains", "seeds"), [(2, 60), (16, 40)])
@pytest.mark.parametrize("estimator", ["orbit", "orbit-conditional"])
def test_standard_errors_cover(three, chains, seeds, estimator):
    """Share of 95% intervals that hold the truth; fixed seeds, atoms of an orbit share one interval."""
    _, network, group, worlds = three
    first = np.unique(group.orbits().orbit_of, return_index=True)[1].astype(np.int32)
    pools = orbit_pools(group, first, CUBES)
    events = [worlds.event(event.tolist()) for event in EVENTS]
    inside = []
    for seed in range(seeds):
        found = run(
            Gibbs(),
            network,
            query_atoms=first,
            events=EVENTS,
            pools=pools,
            chains=chains,
            draws=150,
            seed=seed,
            estimator=estimator,
        )
        inside += (np.abs(found.atoms.mean - worlds.marginal[first]) <= 1.96 * found.atoms.stderr).tolist()
        inside += (np.abs(found.events.mean - events) <= 1.96 * found.events.stderr).tolist()
    assert np.mean(inside) > 0.9


def test_errors_as_if_members_were_independent_would_not_cover():
    """The twin of the test above: in a model whose atoms agree, a binomial error over all members is far too small."""
    _, network, group = made(6, mln="S(person)\n0.25 S(x) <=> S(y)\n", open_=("S",))
    atoms = np.arange(6, dtype=np.int32)
    pools = orbit_pools(group, atoms)
    honest, naive = [], []
    for seed in range(40):
        found = run(Gibbs(), network, query_atoms=atoms, pools=pools, chains=16, draws=60, seed=seed, estimator="orbit")
        off = abs(found.atoms.mean[0] - 0.5)
        honest.append(off <= 1.96 * found.atoms.stderr[0])
        naive.append(off <= 1.96 * np.sqrt(0.25 / (16 * 60 * 6)))
    assert np.mean(honest) > 0.85 and np.mean(naive) < 0.7


def test_auto_takes_samples_where_conditionals_are_worse():
    """P ∝ exp(-(Σx - 3)²) over six atoms: orbit means of conditionals vary more than those of samples (papers.md 3.6)."""
    problem, network, group = made(6, mln="S(person)\n-1 S(x) ^ S(y)\n6 S(x)\n", open_=("S",))
    worlds = all_worlds(network)
    share = worlds.world.mean(axis=1)
    assert worlds.probability @ (share - 0.5) ** 2 == pytest.approx(0.0106, abs=5e-4)
    atoms = np.arange(6, dtype=np.int32)
    pools = orbit_pools(group, atoms)
    for scan in ("random", "systematic"):
        found = {
            name: run(Gibbs(scan=scan), network, query_atoms=atoms, pools=pools, chains=64, draws=400, seed=1, estimator=name)
            for name in ("auto", "orbit", "orbit-conditional")
        }
        best = min(("orbit", "orbit-conditional"), key=lambda name: found[name].atoms.stderr[0])
        assert found["auto"].taken.name == best
        assert found["auto"].atoms.mean[0] == found[best].atoms.mean[0]
    assert len(problem.atoms) == 6


def test_auto_without_symmetry_is_as_before():
    problem, network, _ = made(2, "Smokes(P0)\n!Cancer(P1)\n")
    atoms = np.arange(network.n_atoms, dtype=np.int32)
    assert plan_pools(SymmetryFinder(problem).twins, "auto", atoms, [], chains=4) is None
    assert run(Gibbs(), network, query_atoms=atoms, pools=None, chains=4, draws=9).estimator.name == "conditional"
    pools = plan_pools(SymmetryFinder(problem).twins, "orbit", atoms, [], chains=4)
    requested = run(Gibbs(), network, query_atoms=atoms, pools=pools, chains=4, draws=9, estimator="orbit")
    plain = run(Gibbs(), network, query_atoms=atoms, chains=4, draws=9, estimator="sample")
    np.testing.assert_array_equal(requested.atoms.mean, plain.atoms.mean)
    np.testing.assert_array_equal(requested.atoms.stderr, plain.atoms.stderr)
    assert "nothing to average over" in remarks(pools, "orbit", fixed_order=True)[0]
    assert len(problem.atoms) == network.n_atoms


def test_a_fixed_order_is_reported_and_a_random_one_is_not(three):
    _, _, group, _ = three
    pools = orbit_pools(group, np.arange(3, dtype=np.int32))
    assert "draw by draw" in remarks(pools, "orbit", fixed_order=True)[0]
    assert not remarks(pools, "orbit")
    assert not remarks(pools, "sample", fixed_order=True)


def test_symmetries_beyond_twins_are_searched_only_when_requested():
    mln = "cell = {C0, C1, C2, C3, C4, C5}\nNext(cell, cell)\nS(cell)\n0.7 Next(x, y) ^ S(x) => !S(y)\n"
    ring = "".join(f"Next(C{i},C{(i + 1) % 6})\n" for i in range(6))
    problem = prepared(mln, ring, open_=("S",))
    network = ground(problem, lower(problem.model))
    assert SymmetryFinder(problem, network).twins.group.orbits().n_orbits == 6
    assert SymmetryFinder(problem, network).for_moves.group.orbits().n_orbits == 1


def test_evidence_that_parts_twins_leaves_other_symmetries():
    """P0 and P1 are twins, P2 and P3 are not, for P2 is its own friend; and yet Friends(P0,P2) and Friends(P0,P3) are alike.

    z-tests, false-alarm rate below 1e-5 in all; the twin, with all atoms in one pool, must fail.
    """
    mln = "Smokes(person)\nFriends(person, person)\n1.1 Friends(x, y) => (Smokes(x) <=> Smokes(y))\n"
    mln += "0.6 !Friends(x, y)\n1.4 !Smokes(x)\n"
    db = "Smokes(P2)\nSmokes(P3)\nFriends(P0,P1)\nFriends(P1,P0)\nFriends(P2,P2)\n"
    db += "".join(f"!Friends(P{i},P{j})\n" for i, j in [(0, 0), (1, 1), (3, 3), (2, 3), (3, 2)])
    problem, network, group = made(4, db, mln, ("Smokes", "Friends"))
    oracle, atoms = all_worlds(network), np.arange(network.n_atoms, dtype=np.int32)
    found = SymmetryFinder(problem, network).for_moves
    assert (group.orbits().n_orbits, found.group.orbits().n_orbits, network.n_atoms) == (5, 2, 10)
    events = [np.array([1, 3]), np.array([1, 5]), np.array([5, 12])]
    options = {"query_atoms": atoms, "events": events, "chains": 64, "draws": 2000, "seed": 4, "estimator": "orbit"}
    pools = plan_pools(found, "orbit", atoms, [(event,) for event in events], chains=64)
    result = run(Gibbs(), network, pools=pools, **options)
    assert (np.abs(result.atoms.mean - oracle.marginal) / result.atoms.stderr).max() < 5
    truth = [oracle.event(event) for event in events]
    assert (np.abs(result.events.mean - truth) / result.events.stderr).max() < 5
    wrong = replace(pools, atom_pool=pools.atom_pool * 0, member_start=np.array([0, 10]), member=2 * atoms + 1)
    planted = run(Gibbs(), network, pools=wrong, **options)
    assert (np.abs(planted.atoms.mean - oracle.marginal) / planted.atoms.stderr).max() > 50


def test_refusals(three):
    _, network, group, _ = three
    atoms = np.arange(3, dtype=np.int32)
    with pytest.raises(InputError, match="needs the orbits"):
        run(Gibbs(), network, query_atoms=atoms, estimator="orbit")
    with pytest.raises(InputError, match="no conditionals to average"):
        run(MCSAT(alternate=False), network, query_atoms=atoms, pools=orbit_pools(group, atoms), estimator="orbit-conditional")


def test_a_run_whose_time_is_over_in_burn_in_has_estimates(three):
    _, network, group, _ = three
    atoms = np.arange(3, dtype=np.int32)
    pools = orbit_pools(group, atoms, CUBES)
    found = run(Gibbs(), network, query_atoms=atoms, events=EVENTS, pools=pools, draws=5, burn_in=10**7, time_limit=0.2, chains=2)
    assert found.draws > 0 and np.isfinite(found.atoms.mean).all() and np.isfinite(found.events.mean).all()


def test_decided_orbits_have_no_error():
    problem = prepared("p = {A, B, C}\nS(p)\nT(p)\nS(x).\n0.5 S(x) => T(x)\n", open_=("S", "T"))
    network = ground(problem, lower(problem.model))
    group = RenamingGroup(problem, twin_classes(problem))
    atoms = np.arange(6, dtype=np.int32)
    found = run(Gibbs(), network, query_atoms=atoms, pools=orbit_pools(group, atoms), chains=4, draws=20, estimator="orbit")
    assert (found.atoms.mean[:3] == 1).all() and (found.atoms.stderr[:3] == 0).all() and np.isnan(found.atoms.rhat[:3]).all()
    assert (found.atoms.stderr[3:] > 0).all()


def test_values_of_an_exclusive_group_are_exact_by_symmetry():
    """Five classes alike: the share of each orbit is one fifth in every world, which is no reason for concern."""
    problem = prepared("page = {P}\nclass = {V, W, X, Y, Z}\nK(page, class!)\n0.5 K(x, c)\n", open_=("K",))
    network = ground(problem, lower(problem.model))
    group = RenamingGroup(problem, twin_classes(problem))
    atoms = np.arange(5, dtype=np.int32)
    found = run(Gibbs(), network, query_atoms=atoms, pools=orbit_pools(group, atoms), chains=8, draws=100, estimator="orbit")
    np.testing.assert_allclose(found.atoms.mean, 0.2, atol=1e-15)
    assert not found.atoms.never_moved.any() and not found.concerns() and (found.atoms.stderr < 1e-3).all()


# ---- the statistics of a series


@settings(max_examples=60, deadline=None, derandomize=True)
@given(st.integers(1, 9), st.integers(4, 40), st.integers(1, 12), st.integers(0, 10**6))
def test_series_agree_with_plain_formulas(n_chains, draws, size, seed):
    rng = np.random.default_rng(seed)
    counts = rng.binomial(size, rng.random(), (2, draws, n_chains)).astype(float)
    if seed % 3 == 0:
        counts[0] = counts[0, :1]  # constant in each chain
    lengths = np.array([draws // 2, draws - draws // 2], float)
    parts = [counts[:, : draws // 2], counts[:, draws // 2 :]]
    sums = np.stack([part.sum(axis=1) for part in parts]) / size
    squares = np.stack([(part**2).sum(axis=(1, 2)) for part in parts]) / size**2
    found = series_estimates(sums, squares, lengths, np.full(2, float(size)))
    np.testing.assert_allclose(found.mean, counts.mean(axis=(1, 2)) / size, atol=1e-12)
    rhat, constant = split_rhat(sums, squares, lengths)
    for row in range(2):
        series = counts[row] / size
        assert constant[row] == (series == series[:1]).all()
        if draws % 2 == 0 and not constant[row]:
            halves = np.concatenate([series[: draws // 2], series[draws // 2 :]], axis=1)
            within = halves.var(axis=0, ddof=1).mean()
            n = draws // 2
            expected = np.sqrt(((n - 1) / n * within + halves.mean(axis=0).var(ddof=1)) / within) if within > 1e-15 else np.inf
            assert rhat[row] == pytest.approx(expected, rel=1e-6)


def test_means_that_hardly_vary_have_as_many_effective_draws_as_others():
    """What was not seen counts in no effective size, and a difference in the last bit is neither drift nor disagreement."""
    rng = np.random.default_rng(2)
    values = 0.3 + np.array([0.1, 1e-4, 1e-6, 1e-8, 0.0])[:, None, None] * rng.uniform(-1, 1, (5, 1600, 16))
    halves = values.reshape(5, 2, 800, 16)
    sums, squares = np.moveaxis(halves.sum(axis=2), 1, 0).copy(), np.moveaxis((halves**2).sum(axis=(2, 3)), 1, 0)
    sums[1, 4] *= 1 + 1e-16 * rng.integers(3, 6, 16)
    found = series_estimates(sums, squares, np.full(2, 800.0), np.ones(5))
    assert (found.ess[:3] > 5000).all() and np.isnan(found.ess[3:]).all()
    assert (found.rhat[:3] < 1.01).all() and np.isnan(found.rhat[3:]).all()
    assert np.isnan(found.drift[3:]).all() and (np.abs(found.drift[:3]) < 5).all()


# ---- how much it gains


def squared_errors(network, group, truth, n_seeds, draws):
    """Mean squared errors over atoms and seeds of samples and of orbit means, on the same draws of one chain each."""
    atoms = np.arange(network.n_atoms, dtype=np.int32)
    pools = orbit_pools(group, atoms)
    errors = []
    for seed in range(n_seeds):
        found = run(
            Gibbs(scan="random"),
            network,
            query_atoms=atoms,
            pools=pools,
            chains=1,
            draws=draws,
            burn_in=50,
            seed=seed,
            estimator="orbit",
        )
        sample = atom_estimates(found.tallies)
        errors.append([(sample.mean - truth) ** 2, (found.atoms.mean - truth) ** 2])
    return np.mean(errors, axis=0)


def test_friends_and_smokers_gains(three):
    """Twelve people without evidence; the full claim (50 people, a hundredfold) stands in benchmarks/test_rao_blackwell.py."""
    problem, network, group = made(12)
    atoms = np.arange(network.n_atoms, dtype=np.int32)
    long = run(
        Gibbs(),
        network,
        query_atoms=atoms,
        pools=orbit_pools(group, atoms),
        chains=64,
        draws=800,
        seed=99,
        estimator="orbit-conditional",
    )
    sample, orbit = squared_errors(network, group, long.atoms.mean, n_seeds=10, draws=100)
    unary = atoms < 24
    assert len(problem.atoms) == 168
    assert sample.mean() / orbit.mean() > 5
    assert sample[unary].mean() / orbit[unary].mean() > 4
