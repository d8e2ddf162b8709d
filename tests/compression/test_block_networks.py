"""Blocks of atoms and counts of what objects are, against enumeration; their chains leave these targets invariant."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from tests.compression.test_features import evidence_of
from tests.strategies import problems

import markovlogic as mln
from markovlogic.compression.block_network import Reading, block_network
from markovlogic.compression.grouping import Grouping
from markovlogic.compression.type_model import NoTypes, type_network
from markovlogic.guarantee import Guarantee
from markovlogic.methods.sampling.block_gibbs import BlockGibbs, TypeGibbsSampler
from markovlogic.problem.prepare import prepare_problem
from markovlogic_papers import readings

TWO = "x={A,B}\ny={C,D}\nR(x)\nS(x,y)\n1 R(x) v S(x,y)\n"


def conditional(network, block, count):
    """The law of one block's count given the others, from the definition."""
    most = int(network.most[block])
    weight = []
    for k in range(most + 1):
        share = network.base + network.step * count
        if network.alone:
            share[block] = k
        else:
            share[block] = network.base[block] + network.step[block] * k
        loss = 0.0
        for row, w in enumerate(network.row_weight):
            literals = network.row_literal[network.row_start[row] : network.row_start[row + 1]]
            if block in literals >> 1:
                loss += w * np.prod([1 - share[q >> 1] if q & 1 else share[q >> 1] for q in literals])
        weight.append(math.log(math.comb(most, k)) - network.scale[block] * loss)
    law = np.exp(np.array(weight) - max(weight))
    return law / law.sum()


def states(network):
    return [np.array(k) for k in itertools.product(*(range(int(m) + 1) for m in network.most))]


def sweep_of(network, every):
    """The matrix of a whole sweep."""
    number = {tuple(k): at for at, k in enumerate(every)}
    sweep = np.eye(len(every))
    for block in range(network.n_blocks):
        one = np.zeros((len(every), len(every)))
        for at, count in enumerate(every):
            for k, chance in enumerate(conditional(network, block, count)):
                moved = count.copy()
                moved[block] = k
                one[at, number[tuple(moved)]] += chance
        sweep = sweep @ one
    return sweep


def means(network, law=None):
    every = states(network)
    if law is None:
        law = np.linalg.matrix_power(sweep_of(network, every), 100)[0]
    share = sum(p * np.divide(k, np.maximum(network.most, 1)) for k, p in zip(every, law, strict=True))
    return np.where(network.most > 0, share, network.base)


def test_the_table_of_two_by_two_objects():
    """papers.md 2.5, to four digits: exact 0.6813 and 0.5736."""
    prepared = prepare_problem(mln.Model.parse(TWO), None, "R,S")
    partition = mln.RandomGroups(ratio=0.5).partition(prepared.problem)
    expected = {"literal": (0.5938, 0.5938), "uniform": (0.6626, 0.6626), "field": (0.6605, 0.5784), "count": (0.6904, 0.5743)}
    for weights, both in expected.items():
        for split in (False, True):
            network = block_network(prepared, partition, Reading(weights, "split", split))
            assert network.guarantee == "unbounded"
            assert tuple(round(float(p), 4) for p in means(network)) == both
    # the annealed counts are off; counts of what objects are have x and y apart, and S summed out
    found = mln.infer(mln.Model.parse(TWO), None, "R,S", compress=mln.RandomGroups(ratio=0.5))
    assert found.guarantee == "exact"
    assert round(float(found["R(A)"]), 4) == 0.6813 and round(float(found["S(B,D)"]), 4) == 0.5736


@settings(max_examples=12, deadline=None, derandomize=True)
@given(problems(max_atoms=7, max_rules=3, hard=False, exclusive=False, quantifiers=False))
def test_joint_readings_have_their_target_and_exact_ones_the_true_one(random_problem):
    model = mln.Model.parse(random_problem.mln)
    try:
        prepared = prepare_problem(model, evidence_of(model, random_problem.db), random_problem.query)
        truth = mln.infer(model, evidence_of(model, random_problem.db), random_problem.query, method="enumerate")
    except mln.InputError:
        return
    for compressor, split in itertools.product((mln.RandomGroups(ratio=0.34), mln.RandomGroups(ratio=1.0)), (False, True)):
        partition = compressor.partition(prepared.problem)
        for weights, evidence in (("count", "split"), ("uniform", "majority"), ("literal", "clamp"), ("literal", "split")):
            network = block_network(prepared, partition, Reading(weights, evidence, split))
            every = states(network) if np.prod(network.most + 1.0) <= 40 else []
            if not every:
                continue
            ways = [sum(math.log(math.comb(int(m), int(n))) for m, n in zip(network.most, k, strict=True)) for k in every]
            log = np.array([network.log_weight(k) + way for k, way in zip(every, ways, strict=True)])
            joint = np.exp(log - log.max())
            joint /= joint.sum()
            np.testing.assert_allclose(joint @ sweep_of(network, every), joint, atol=1e-12)
            if network.guarantee is Guarantee.EXACT:
                unit = network.of_atom[[number for part in _asked(prepared) for number in part]]
                np.testing.assert_allclose(np.sort(means(network, joint)[unit]), np.sort(truth.probability), atol=1e-9)
            assert network.guarantee is Guarantee.EXACT or partition.merges


def _asked(prepared):
    from markovlogic.results.queries import resolved_query

    return [part.number for part in resolved_query(prepared.problem, include_evidence=False).atoms]


def test_counts_are_exact_exactly_where_no_merged_object_meets_itself():
    def kept(text, facts=""):
        model = mln.Model.parse("x={A,B,C,D}\ny={T,U,V}\n" + text)
        prepared = prepare_problem(model, evidence_of(model, facts), "R")
        return block_network(
            prepared, mln.RandomGroups(ratio=0.25).partition(prepared.problem), Reading("count", "split", True)
        ).guarantee

    assert kept("R(x)\nQ(y)\n1 R(a) v Q(b)\n") == "exact"
    assert kept("R(x)\n1 R(a) v !R(b)\n") == "exact"  # two objects that need not differ
    assert kept("R(x)\n1 R(a) v R(b) v a = b\n") == "unbounded"
    assert kept("R(x)\nS(x,y)\n1 R(a) v S(a,b)\n") == "unbounded"
    assert kept("R(x)\nE(x)\n1 R(a) v !E(a)\n", "E(A)\nE(B)\n") == "unbounded"  # evidence that merging mixes
    assert kept("R(x)\nE(x)\n1 R(a) v !E(a)\n", "E(A)\nE(B)\nE(C)\nE(D)\n") == "exact"


def test_annealed_counts_where_the_literal_rule_is_exact():
    """papers.md 3.12: R v S with 3, R and S with -2, 100 objects in one group: 0.4293 against 0.4536."""
    names = ",".join(f"A{i}" for i in range(100))
    model = mln.Model.parse(f"x={{{names}}}\nR(x)\nS(x)\n3 R(a) v S(a)\n-2 R(a)\n-2 S(a)\n")
    exact = mln.infer(model, None, "R(A0)", method="exact")
    assert float(exact["R(A0)"]) == pytest.approx(0.4536, abs=5e-5)
    prepared = prepare_problem(model, None, "R")
    network = block_network(prepared, mln.RandomGroups(ratio=0.01).partition(prepared.problem), Reading("count", "split", True))
    log = np.array([[network.log_weight(np.array([r, s])) + _ways(r) + _ways(s) for s in range(101)] for r in range(101)])
    law = np.exp(log - log.max())
    assert float((law.sum(axis=1) * np.arange(101)).sum() / law.sum() / 100) == pytest.approx(0.4293, abs=5e-5)
    literal = mln.infer(model, None, "R(A0)", compress=readings.RandomGroups(ratio=0.01, weights="literal"), method="exact")
    assert float(literal["R(A0)"]) == pytest.approx(float(exact["R(A0)"]), abs=1e-12) and literal.guarantee == "exact"


def _ways(k):
    return math.lgamma(101) - math.lgamma(k + 1) - math.lgamma(101 - k)


@pytest.mark.parametrize("weights", ["count", "field", "literal"])
def test_the_kernel_draws_from_the_conditionals(weights, tmp_path):
    model = mln.Model.parse("x={A,B,C,D,E}\nR(x)\nS(x,x)\n0.4 R(a) ^ S(a,b) => R(b)\n-0.3 S(a,b) ^ S(b,a)\n0.2 S(a,a)\n")
    prepared = prepare_problem(model, evidence_of(model, "R(A)\n!S(A,B)\nS(C,C)\n"), "R,S")
    network = block_network(prepared, mln.RandomGroups(ratio=0.4).partition(prepared.problem), Reading(weights, "split", True))
    sampler = BlockGibbs().build(network, 3)
    state = sampler.init(np.random.SeedSequence(5))
    for _ in range(20):
        before = state.counts.copy()
        sampler.step(state, 1)
        for chain in range(3):
            mixed = before[chain].copy()
            for block in range(network.n_blocks):
                law = conditional(network, block, mixed)
                if network.most[block]:
                    mean = float(law @ np.arange(len(law))) / network.most[block]
                    assert state.value[chain, block] == pytest.approx(mean, abs=1e-12)
                mixed[block] = state.counts[chain, block]
    sampler.check(state)


def frequencies(draw, n, bins):
    return np.bincount([draw() for _ in range(n)], minlength=bins) / n


@pytest.mark.parametrize(("n", "p"), [(1, 0.3), (7, 0.05), (40, 0.5), (1000, 0.999), (200, 0.8)])
def test_binomial_numbers(n, p):
    """Largest deviation of the distribution function, below 2.2/√N with a false-alarm rate below 1e-4; a wrong p is seen."""
    from numba import njit
    from scipy.stats import binom

    from markovlogic.kernels.blocks import binomial
    from markovlogic.kernels.random import scalar_generator

    @njit
    def draws(count, n, p, generator, found):
        for _at in range(count):
            found[binomial(n, p, generator)] += 1

    found = np.zeros(n + 1)
    draws(20_000, n, p, scalar_generator(np.random.SeedSequence(3)), found)
    seen = np.cumsum(found) / 20_000
    assert np.abs(seen - binom.cdf(np.arange(n + 1), n, p)).max() < 2.2 / math.sqrt(20_000)
    assert np.abs(seen - binom.cdf(np.arange(n + 1), n, p + (0.03 if p < 0.9 else -0.03))).max() > 2.2 / math.sqrt(20_000)


def test_what_selection_probabilities_do():
    """Fixed ones leave the law alone, evidence that is drawn does not; z-tests with a false-alarm rate below 1e-4."""
    model = mln.Model.parse("x={" + ",".join(f"A{i}" for i in range(12)) + "}\nR(x)\nS(x)\n1.2 R(a) v S(a)\n0.3 R(a)\n")
    evidence = evidence_of(model, "R(A0)\nR(A1)\nR(A2)\n!R(A3)\nS(A4)\n!S(A5)\n")
    found = {
        alpha: mln.infer(
            model, evidence, "R,S", compress=readings.RandomGroups(ratio=0.2, weights="literal", alpha=alpha), draws=3000, seed=2
        )
        for alpha in ("none", "scan", "lazy", "clamp", "bang-bang")
    }
    plain = mln.infer(
        model, evidence, "R,S", compress=readings.RandomGroups(ratio=0.2, weights="literal", evidence="majority"), method="exact"
    )
    for alpha in ("none", "scan", "lazy"):
        error = found[alpha].probability - plain.probability
        assert np.abs(error).max() < 5 * found[alpha].stderr.max() + 1e-3, alpha
    assert np.abs(found["clamp"].probability - plain.probability).max() > 0.01
    assert found["clamp"].guarantee == found["bang-bang"].guarantee == "unbounded"


def exact_units(network):
    """Means of all units under a type network's law, by all its states."""
    sampler = TypeGibbsSampler(network, 1)
    total, mean = 0.0, np.zeros(network.n_units)
    choices = []
    for number, size in enumerate(network.class_size.tolist()):
        cells = int(network.class_start[number + 1] - network.class_start[number])
        choices.append([k for k in itertools.product(range(size + 1), repeat=cells) if sum(k) == size])
    for parts in itertools.product(*choices):
        count = np.array(list(itertools.chain(*parts)))
        ways = sum(math.lgamma(sum(k) + 1) - sum(math.lgamma(n + 1) for n in k) for k in parts)
        weight = math.exp(network.log_weight(count) + ways)
        size = np.repeat(network.class_size, np.diff(network.class_start))
        state = sampler.init(np.random.SeedSequence(0))._replace(counts=count[None, :], value=(count / size)[None, :])
        mean += weight * sampler.unit_values(state)[:, 0]
        total += weight
    return mean / total


@settings(max_examples=40, deadline=None, derandomize=True)
@given(problems(max_atoms=11, max_rules=3, hard=False, quantifiers=False))
def test_types_of_twins_have_the_true_marginals(random_problem):
    model = mln.Model.parse(random_problem.mln)
    evidence = evidence_of(model, random_problem.db)
    try:
        prepared = prepare_problem(model, evidence, random_problem.query)
        truth = mln.infer(model, evidence, random_problem.query, method="enumerate", include_evidence=False)
        network = type_network(prepared, mln.Twins().partition(prepared.problem))
    except (mln.InputError, NoTypes):
        return
    assert network.guarantee == "exact"
    if np.prod([float((n + 1) ** c) for n, c in zip(network.class_size, np.diff(network.class_start), strict=True)]) > 5000:
        return
    units = exact_units(network)
    from markovlogic.problem.names import atom_name

    for part in _asked(prepared):
        for number in part.tolist():
            expected = float(truth[atom_name(prepared.problem, number)])
            assert units[network.of_atom[number]] == pytest.approx(expected, abs=1e-12)


SMOKERS = "p={A,B,C,D,E}\nS(p)\nF(p,p)\n0.9 F(x,y) ^ S(x) => S(y)\n-0.6 F(x,y)\n0.4 S(x)\n"


def test_the_chain_of_types_keeps_its_law(tmp_path):
    """All conditionals of one object, by hand: the field without the object itself."""
    prepared = prepare_problem(mln.Model.parse(SMOKERS), None, "S")
    network = type_network(prepared, mln.Twins().partition(prepared.problem))
    cells = network.n_cells
    assert network.coupled.all() and network.class_size.tolist() == [5]
    law, number = {}, {}
    for k in itertools.product(range(6), repeat=cells):
        if sum(k) == 5:
            number[k] = len(number)
            law[k] = math.exp(network.log_weight(np.array(k)) + math.lgamma(6) - sum(math.lgamma(n + 1) for n in k))
    pi = np.array(list(law.values())) / sum(law.values())
    move = np.zeros((len(pi), len(pi)))
    for k, at in number.items():
        for old in range(cells):
            if k[old]:
                rest = np.array(k)
                rest[old] -= 1
                field = network.cell_weight + network.pair @ rest
                chance = np.exp(field - field.max())
                for new in range(cells):
                    moved = rest.copy()
                    moved[new] += 1
                    move[at, number[tuple(moved.tolist())]] += k[old] / 5 * chance[new] / chance.sum()
    np.testing.assert_allclose(pi @ move, pi, atol=1e-12)
    there = tmp_path / "draws"  # else the counts would be summed over
    found = mln.infer(mln.Model.parse(SMOKERS), None, "S,F", compress="twins", draws=4000, seed=3, checkpoint=there)
    assert found.run.method == "gibbs"
    truth = mln.infer(mln.Model.parse(SMOKERS), None, "S,F")
    for atom in ("S(A)", "F(A,B)", "F(B,B)"):
        assert abs(float(found[atom]) - float(truth[atom])) < 5 * found[atom].stderr + 1e-6
    assert found.guarantee == "exact"


def test_friends_and_smokers_from_a_hundred_to_ten():
    """papers.md 2.5: the default is at least five times closer to the truth than literal weights."""
    names = ",".join(f"P{i}" for i in range(100))
    without = (
        f"p={{{names}}}\nSmokes(p)\nFriends(p,p)\n1.4 !Smokes(x)\n4.6 !Friends(x,y)\n1.1 Friends(x,y) ^ Smokes(x) => Smokes(y)\n"
    )
    for text, exact in ((without + "Cancer(p)\n2.3 !Cancer(x)\n1.5 Smokes(x) => Cancer(x)\n", 0.0379), (without, 0.1319)):
        model = mln.Model.parse(text)
        literal = mln.infer(model, None, "Smokes(P0)", compress=readings.RandomGroups(weights="literal"))
        default = mln.infer(model, None, "Smokes(P0)", compress=mln.RandomGroups(), draws=600)
        assert round(float(literal["Smokes(P0)"]), 3) == pytest.approx(0.064 if exact < 0.1 else 0.192, abs=1e-3)
        assert 5 * abs(float(default["Smokes(P0)"]) - exact) < abs(float(literal["Smokes(P0)"]) - exact)


def test_averaged_evidence_is_called_unbounded_and_hard_rules_fall_back(tmp_path):
    model = mln.Model.parse(SMOKERS)
    evidence = evidence_of(model, "F(A,B)\nF(B,C)\n")
    found = mln.infer(model, evidence, "S", compress=mln.RandomGroups(ratio=0.2), draws=200)
    assert found.guarantee == "unbounded" and found.run.method == "exact"
    hard = mln.Model.parse(SMOKERS + "S(x) v F(x,x).\n")
    found = mln.infer(hard, evidence, "S", compress=mln.RandomGroups(ratio=0.2))
    assert "literal weights, since blocks have no place for a hard rule" in " ".join(found.remarks)
    with pytest.raises(mln.UnsupportedError, match="hard rule"):
        mln.infer(hard, evidence, "S", compress=readings.RandomGroups(ratio=0.2, weights="count"))
    with pytest.raises(mln.InputError, match="leave --compress-as problem out"):
        mln.infer(model, evidence, "S", compress=readings.RandomGroups(ratio=0.2, weights="count"), compress_as="problem")
    for more, message in (
        ({"query": "S(A)^S(B)"}, "queries of single atoms"),
        ({"keep_draws": True}, "no worlds"),
        ({"estimator": "orbit"}, "no estimator orbit"),
    ):
        with pytest.raises(mln.InputError, match=message):
            mln.infer(model, evidence, **{"query": "S", "compress": mln.RandomGroups(ratio=0.2), **more})


def test_interrupted_chains_go_on_as_they_would_have(tmp_path):
    model = mln.Model.parse(SMOKERS)
    for number, weights in enumerate(("default", "count", "field")):
        compressor = readings.RandomGroups(ratio=0.4, weights=weights, evidence="split" if weights == "field" else "default")
        folder, other = tmp_path / str(number), tmp_path / f"whole {number}"
        whole = mln.infer(model, None, "S", compress=compressor, draws=60, chains=4, checkpoint=other)
        mln.infer(model, None, "S", compress=compressor, draws=30, burn_in=15, chains=4, checkpoint=folder)
        again = mln.infer(model, None, "S", compress=compressor, draws=60, burn_in=15, chains=4, checkpoint=folder, resume=True)
        np.testing.assert_array_equal(again.probability, whole.probability)


def test_settings_of_every_grouping_reach_their_network():
    assert issubclass(mln.DPMeans, Grouping)
    assert mln.DPMeans().carry_over.reading == Reading("count", "split", True, True)
    assert readings.DPMeans(independent="kept").carry_over.reading == Reading("count", "split", True, False)
    assert readings.KMeans(weights="literal").carry_over.reading == Reading("literal", "majority", False)
    several = readings.KMeans(weights="field", evidence="clamp", diag="merged")
    assert several.carry_over.reading == Reading("field", "clamp", False, True)
