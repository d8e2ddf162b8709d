"""What every compressor of the table keeps to: one suite for all of them."""

import itertools
import json

import numpy as np
import pytest
from hypothesis import given, settings
from tests.compression.test_features import evidence_of
from tests.strategies import problems

import markovlogic as mln
from markovlogic.compression.grouping import RATIO, Grouping
from markovlogic.compression.partition import held_apart
from markovlogic.compression.table import TABLE, compressor_from, compressor_named, compressor_of
from markovlogic.problem.prepare import prepare_problem
from markovlogic_papers import readings

EVERY = list(TABLE)
GROUPINGS = [name for name in EVERY if isinstance(compressor_named(name), Grouping)]
SINGLE = {
    "kmeans": {"ratio": 1.0},
    "obj2vec": {"ratio": 1.0},
    "random": {"ratio": 1.0},
    "dpmeans": {"beta1": 1e-9, "most_blocks": 10**9},
    "drop": {"ratio": 1.0},
}
WORDS = [
    "weights=literal",
    "weights=uniform",
    "evidence=majority",
    "evidence=clamp",
    "evidence=representatives",
    "diag=merged",
    "diag=split",
]

RULES = """\
Smokes(person)
Friends(person, person)
Likes(person, thing)
1.1 Friends(x,y) ^ Smokes(x) => Smokes(y)
-0.7 Smokes(x)
0.6 Likes(x,t) => Smokes(x)
"""
FACTS = "Friends(A,B)\nFriends(B,C)\nFriends(C,A)\nFriends(D,E)\nLikes(A,T)\nLikes(B,T)\nLikes(C,U)\nSmokes(E)\n?Smokes(F)\n"


@pytest.fixture
def files(tmp_path):
    (tmp_path / "m.mln").write_text(RULES)
    (tmp_path / "e.db").write_text(FACTS)
    return tmp_path / "m.mln", str(tmp_path / "e.db")


@pytest.mark.parametrize("name", EVERY)
def test_runs_are_functions_of_their_seed_and_tell_what_they_cost(files, name):
    made = [mln.infer(*files, "Smokes", compress=name, method="exact") for _ in range(2)]
    np.testing.assert_array_equal(made[0].probability, made[1].probability)
    assert len(made[0].probability) == 5  # all open query atoms, and no evidence
    bias = "no bias" if made[0].guarantee == "exact" else "the bias is unknown"
    assert len([remark for remark in made[0].remarks if f"(guarantee {made[0].guarantee}, {bias})" in remark]) == 1
    assert made[0].guarantee in ("exact", "unbounded")
    if made[0].guarantee != "exact":
        assert made[0].run.log_z is None


@pytest.mark.parametrize("name", EVERY)
def test_as_proposals_they_leave_the_target_alone(files, name):
    made = mln.infer(*files, "Smokes", proposals=name, method="lifted-mh", draws=1500, chains=16, seed=3)
    truth = mln.infer(*files, "Smokes", method="exact")
    assert made.guarantee == "corrected"
    assert np.abs(made.probability - truth.probability).max() < 5 * made.stderr.max() + 1e-3


@pytest.mark.parametrize("name", EVERY)
def test_files_read_back_as_the_same_problem(files, name, tmp_path):
    made = mln.compress(*files, name, query="Smokes")
    paths = made.write(tmp_path / "out")
    assert [path.name for path in paths] == ["model.mln", "evidence.db", "mapping.csv", "summary.json"]
    again = prepare_problem(paths[0], str(paths[1]), "Smokes").problem
    assert {of: domain.names for of, domain in again.domains.items()} == {
        of: domain.names for of, domain in made.problem.domains.items()
    }
    for predicate, own in made.problem.statuses.items():
        every = np.arange(own.n_ground)
        np.testing.assert_array_equal(again.statuses[predicate].lookup(every), own.lookup(every))
    summary = json.loads(paths[3].read_text())
    rows = paths[2].read_text().splitlines()
    assert rows[0] == "type,object,group,representative" and len(rows) == 1 + sum(summary["objects"].values())
    for of, groups in made.groups.items():
        assert summary["groups"][of] == len(groups) and sorted(name for group in groups for name in group) == sorted(
            made.original.domains[of].names
        )
    assert summary["method"] == name and 0 < summary["ratio"] <= 1 and summary["guarantee"] in ("exact", "unbounded")


@settings(max_examples=12, deadline=None, derandomize=True)
@given(problems(max_atoms=10, max_rules=3))
def test_groups_of_one_give_the_uncompressed_answer(random_problem):
    """Whatever is stated of weights, evidence and diagonals; and no compressor fails on any kind of rule."""
    model = mln.Model.parse(random_problem.mln)
    evidence = evidence_of(model, random_problem.db)
    try:
        truth = mln.infer(model, evidence, random_problem.query, method="enumerate")
    except mln.InputError:
        return
    for name in EVERY:
        for word in WORDS if name in SINGLE and name in GROUPINGS else [""]:
            made = compressor_from(name, None, None, [word] if word else [])
            single = compressor_of(_with(made, SINGLE.get(name, {})))
            if name in GROUPINGS and single.partition(prepare_problem(model, evidence, random_problem.query).problem).merges:
                assert name == "dpmeans" or name not in SINGLE  # it merges what no rule distinguishes
                continue
            found = mln.infer(model, evidence, random_problem.query, method="enumerate", compress=single)
            if found.guarantee == "exact":
                np.testing.assert_allclose(found.probability, truth.probability, atol=1e-9)
            else:
                assert name in ("bmf", "nimfa")


@settings(max_examples=10, deadline=None, derandomize=True)
@given(problems(max_atoms=8, max_rules=3, hard=False, exclusive=False, quantifiers=False))
def test_blocks_of_one_atom_give_the_uncompressed_answer(random_problem):
    """The settings that have no smaller problem: networks of blocks whose groups have one member each, summed over."""
    model = mln.Model.parse(random_problem.mln)
    evidence = evidence_of(model, random_problem.db)
    try:
        truth = mln.infer(model, evidence, random_problem.query, method="enumerate")
    except mln.InputError:
        return
    if any("^" in name or name.startswith("!") or ")v" in name for name in truth.atom.to_pylist()):
        return  # blocks know single atoms
    for weights, also in itertools.product(("literal", "field", "count"), ("split", "majority", "clamp")):
        if weights != "literal" or also == "split":
            single = readings.RandomGroups(ratio=1.0, weights=weights, evidence=also)
            found = mln.infer(model, evidence, random_problem.query, compress=single)
            assert found.guarantee == "exact" and found.run.method == "exact"
            np.testing.assert_allclose(found.probability, truth.probability, atol=1e-9)


def _with(made, more):
    from dataclasses import replace

    return replace(made, **more)


@settings(max_examples=40, deadline=None, derandomize=True)
@given(problems(max_atoms=10, max_rules=3, hard=False))
def test_what_is_called_exact_is(random_problem):
    model = mln.Model.parse(random_problem.mln)
    evidence = evidence_of(model, random_problem.db)
    try:
        truth = mln.infer(model, evidence, random_problem.query, method="enumerate")
    except mln.InputError:
        return
    for name, method in itertools.product(
        EVERY, ("enumerate", None)
    ):  # a smaller problem; or counts, summed over where they can be
        found = mln.infer(
            model,
            evidence,
            random_problem.query,
            method=method or "auto",
            compress=name,
            compress_as="problem" if method else "auto",
            draws=20,
        )
        if found.guarantee == "exact" and not found.stderr.any():
            np.testing.assert_allclose(found.probability, truth.probability, atol=1e-9)


@pytest.mark.parametrize("name", GROUPINGS)
def test_named_constants_and_values_of_exclusive_arguments_stay_alone(name):
    model = mln.Model.parse("p={A,B,C,D}\nc={U,V,W}\nS(p)\nK(p,c!)\n1 S(A)\n0.5 S(x) ^ K(x,c)\n")
    problem = prepare_problem(model, None, "S,K").problem
    found = compressor_named(name).partition(problem)
    assert held_apart(problem)["p"].tolist() == [True, False, False, False]
    assert found.n_groups("c") == 3 and np.count_nonzero(found.class_of["p"] == found.class_of["p"][0]) == 1
    result = mln.infer(model, None, "S,K", compress=name, method="exact")
    groups = {}
    for atom, p in zip(result.atom.to_pylist(), result.probability, strict=True):
        if atom.startswith("K("):
            groups.setdefault(atom[2], []).append(p)
    assert all(abs(sum(values) - 1) < 1e-9 for values in groups.values())


def test_a_formula_of_interchangeable_objects_is_about_each_of_them():
    model = mln.Model.parse("t = {A, B, C, D}\nP(t)\nQ(t)\n0.4 P(x)\n1.2 P(x) => Q(x)\n")
    query = ["P", "P(A)^P(B)", "P(A)v!Q(C)"]
    expected, found = (mln.infer(model, None, query, method="exact", compress=name) for name in (None, "twins"))
    assert found.guarantee == "exact"
    np.testing.assert_allclose(found.probability, expected.probability, atol=1e-12)
    merged = mln.infer(model, None, query, method="exact", compress="random")
    assert merged["P(A)^P(B)"] == pytest.approx(expected["P(A)^P(B)"], abs=1e-12)


def test_the_table_of_two_by_two_objects():
    """papers.md 2.5, to four digits."""
    model = mln.Model.parse("x={A,B}\ny={C,D}\nR(x)\nS(x,y)\n1 R(x) v S(x,y)\n")

    def both(compress):
        found = mln.infer(model, None, "R,S", compress=compress, method="exact")
        return [round(float(found["R(A)"]), 4), round(float(found["S(B,C)"]), 4)]

    assert both(None) == [0.6813, 0.5736]
    assert both(readings.RandomGroups(ratio=0.5, weights="literal")) == [0.5938, 0.5938]
    assert both(readings.RandomGroups(ratio=0.5, weights="uniform")) == [0.6626, 0.6626]


def test_uniform_weights_know_unequal_groups():
    """The target on worlds that are constant on groups, by enumeration."""
    model = mln.Model.parse("x={A,B,C,D,E,F,G}\ny={T,U,V}\nR(x)\nS(x,y)\n0.3 R(x) v S(x,y)\n-0.2 R(x) ^ S(x,y)\n")
    compressor = readings.RandomGroups(ratio=0.4, weights="uniform", seed=2)
    problem = prepare_problem(model, None, "R").problem
    partition = compressor.partition(problem)
    sizes = [partition.sizes(of) for of in ("x", "y")]
    assert len(set(sizes[0].tolist())) > 1
    n, m = len(sizes[0]), len(sizes[1])
    weight, total = np.zeros(n), 0.0
    for world in np.ndindex(*(2,) * (n + n * m)):
        r, s = np.array(world[:n]), np.array(world[n:]).reshape(n, m)
        scale = np.outer(sizes[0], sizes[1])
        energy = (scale * (0.3 * (r[:, None] | s) - 0.2 * (r[:, None] & s))).sum()
        weight += np.exp(energy) * r
        total += np.exp(energy)
    found = mln.infer(model, None, "R", compress=compressor, method="exact")
    for name, group in zip("ABCDEFG", partition.class_of["x"].tolist(), strict=True):
        assert float(found[f"R({name})"]) == pytest.approx(weight[group] / total, abs=1e-9)


def test_three_groups_are_enough_for_one_unit_clause(tmp_path):
    model = mln.Model.parse("x={A,B,C,D,E,F,G}\nR(x)\n1.5 R(x)\n")
    (tmp_path / "e.db").write_text("R(A)\nR(B)\n!R(C)\n")
    for compressor in (mln.DPMeans(), readings.DPMeans(path="schedule")):
        made = mln.compress(model, str(tmp_path / "e.db"), compressor)
        assert made.groups["x"] == [["A", "B"], ["C"], ["D", "E", "F", "G"]] and made.guarantee == "exact"


def test_words_on_the_command_line():
    made = compressor_from("kmeans", None, 0.5, ["weights=literal", "features=sat", "seed=4"])
    assert made == readings.KMeans(ratio=0.5, weights="literal", features="sat", seed=4)
    assert compressor_from("dpmeans", None, None, ["beta1=0.5", "ratio=0.25"]) == mln.DPMeans(beta1=0.5, ratio=0.25)
    for name, message in (("kmeans", "weights=heavy"), ("kmeans", "seed=x"), ("kmeans", "ratio=0"), ("random", "ratio=2")):
        with pytest.raises(mln.InputError, match=r"expected|takes"):
            compressor_from(name, None, None, [message])
    with pytest.raises(mln.InputError, match="not a setting of --compress bmf"):
        compressor_of("bmf", ratio=0.3)
    with pytest.raises(mln.InputError, match="setting of --compress"):
        compressor_of("none", ratio=0.3)


def test_the_ratio_of_the_papers_text(files):
    problem = prepare_problem(*files, "Smokes").problem
    for name in ("kmeans", "random"):
        one = compressor_from(name, None, 0.5, ["cr=new/old"]).partition(problem)
        other = compressor_from(name, None, None, ["cr=old/new", "ratio=2"]).partition(problem)
        np.testing.assert_array_equal(one.class_of["person"], other.class_of["person"])
    assert RATIO == 0.1


def test_a_ladder_measures_the_bias(files):
    """The differences of its rungs add up to the distance from the truth, where the last rung merges nobody."""
    compressor = readings.RandomGroups(ratio=0.25, weights="literal", ladder=2)
    found = mln.infer(*files, "Smokes", compress=compressor, method="exact")
    truth = mln.infer(*files, "Smokes", method="exact")
    moved = np.abs(found.probability - truth.probability)
    line = next(remark for remark in found.remarks if "measured bias" in remark)
    assert f"measured bias {moved.mean():.2g} on average and {moved.max():.2g} at most" in line and "exact there" in line
    assert mln.KMeans(ratio=0.7).finer().ratio == 1.0 and readings.KMeans(ratio=4, cr="old/new").finer().ratio == 2.0
    assert mln.Twins().finer() == mln.Twins() and mln.Obj2Vec(ratio=0.1).finer().ratio == 0.2
    assert mln.DPMeans().finer().most_blocks == 40_000
    with pytest.raises(mln.InputError, match="ladder"):
        mln.KMeans(ladder=-1)


def test_worlds_of_the_smaller_problem_are_worlds_of_the_posed_one(files):
    prepared = prepare_problem(*files, "Smokes")
    made = mln.RandomGroups(ratio=0.4).compress(prepared, needs_problem=True)
    rng = np.random.default_rng(0)
    for _ in range(5):
        small = rng.random(len(made.prepared.problem.atoms)) < 0.5
        world = made.projection.world(small)
        assert len(world) == len(prepared.problem.atoms)
        for atom, value in enumerate(world):
            at, known = (own[0] for own in made.projection.at(np.array([atom])))
            assert value == (small[at] if at >= 0 else known)
