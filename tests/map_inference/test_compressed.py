"""The world of a smaller problem, taken back to the original model: what it weighs there, and what a walk from it gains."""

import pytest
from hypothesis import given, settings
from tests.compression.test_features import evidence_of
from tests.strategies import problems

import markovlogic as mln
from markovlogic.compression import grouping
from markovlogic.compression.table import TABLE
from markovlogic_papers import readings

RULES = """\
Smokes(person)
Friends(person, person)
Likes(person, thing)
1.1 Friends(x,y) ^ Smokes(x) => Smokes(y)
-0.7 Smokes(x)
0.6 Likes(x,t) => Smokes(x)
"""
FACTS = "Friends(A,B)\nFriends(B,C)\nFriends(C,A)\nFriends(D,E)\nLikes(A,T)\nLikes(B,T)\nLikes(C,U)\nSmokes(E)\n?Smokes(F)\n"


@settings(max_examples=12, deadline=None, derandomize=True)
@given(problems(max_atoms=9, max_rules=3))
def test_worlds_weigh_what_they_weigh_in_the_model_as_posed(random_problem):
    """Weight by the definition (log Z with the world as evidence); never above the truth; groups of one find the truth."""
    if "?" in random_problem.db:
        return  # it opens one atom, and the query below would open its whole predicate
    model = mln.Model.parse(random_problem.mln)
    evidence = evidence_of(model, random_problem.db)
    try:
        truth = mln.maximize(model, evidence)
    except mln.InputError:
        return
    for compressor in (
        mln.RandomGroups(ratio=0.4),
        readings.RandomGroups(ratio=0.4, weights="literal"),
        mln.RandomGroups(ratio=1.0),
    ):
        found = [mln.maximize(model, evidence, compress=compressor, polish=polish, seed=1) for polish in (False, True)]
        for world in found:
            reported = {part.predicate: list(_named(world, part)) for part in world.parts if len(part.code)}
            if not reported:
                continue
            facts = [f"{'' if true else '!'}{name}\n" for own in reported.values() for name, true in own]
            alone = mln.infer(
                model, evidence_of(model, random_problem.db + "".join(facts)), next(iter(reported)), method="enumerate"
            )
            assert world.log_weight == pytest.approx(alone.run.log_z, abs=1e-9)
            assert world.log_weight <= truth.log_weight + 1e-9 and world.bound >= truth.log_weight - 1e-9
        assert found[0].log_weight <= found[1].log_weight + 1e-12
        if compressor.ratio == 1.0:
            assert found[0].log_weight == pytest.approx(truth.log_weight, abs=1e-9)


def _named(world, part):
    from markovlogic.data.arrow import atom_names

    domains = world._domains(part.predicate)
    names = atom_names(part.predicate, part.code, tuple(map(len, domains)), domains).to_pylist()
    return zip(names, part.truth.tolist(), strict=True)


@pytest.mark.parametrize("name", TABLE)
def test_every_compressor_gives_a_world_of_all_query_atoms(name, tmp_path):
    (tmp_path / "m.mln").write_text(RULES)
    (tmp_path / "e.db").write_text(FACTS)
    files = tmp_path / "m.mln", str(tmp_path / "e.db")
    world, truth = mln.maximize(*files, "Smokes", compress=name), mln.maximize(*files, "Smokes")
    assert [len(part.code) for part in world.parts] == [len(part.code) for part in truth.parts]
    assert world.log_weight == pytest.approx(truth.log_weight)  # small enough for one walk
    reported = " ".join(world.remarks)  # what loses nothing has nothing to project, and keeps its proof
    assert ("original model" in reported or (world.is_optimal and name in reported)) and world.run.seconds["compress"] >= 0


def test_projected_worlds_that_break_hard_rules_are_mended():
    """All three pages would be of the class that one of them cannot have; and someone must lead."""
    model = mln.Model.parse(
        "page={A,B,C}\nclass={Red,Blue}\nIs(page,class!)\nLeads(page)\n1 Is(x,Red)\n-1 Leads(x)\nIs(A,Blue) v Leads(A).\n"
        "!Is(x,Blue) v Leads(x).\n"
    )
    evidence = evidence_of(model, "!Is(B,Red)\n")
    for polish in (True, False):
        world = mln.maximize(model, evidence, compress=mln.RandomGroups(ratio=0.4), polish=polish)
        assert world["Is(B,Blue)"] and world["Leads(B)"] and world["Leads(A)"]
        assert world.log_weight <= mln.maximize(model, evidence).log_weight + 1e-9


def test_where_grounding_does_not_fit_counts_weigh_the_world():
    names = ",".join(f"P{i}" for i in range(24))
    model = mln.Model.parse(f"p={{{names}}}\nS(p)\nF(p,p)\n0.4 S(x)\n-1 F(x,y)\n0.1 F(x,y) ^ S(x) ^ F(y,z) => S(z)\n")
    message = {"compress": mln.RandomGroups(), "polish": True, "seed": 0}
    ground, counted = mln.maximize(model, None, **message), mln.maximize(model, None, memory_limit=1_000_000, **message)
    assert (ground.run.network, counted.run.network) == ("ground", "counting")
    assert counted.log_weight == pytest.approx(ground.log_weight) and counted.bound >= ground.log_weight - 1e-6


def test_hard_rules_that_groups_cannot_obey_are_left_to_the_model_as_posed():
    """Three objects are P and two are Q, nobody may be both, and one object would be."""
    model = mln.Model.parse("x={A,B,C,D,E}\nP(x)\nQ(x)\nR(x)\n1 R(a)\n!P(a) v !Q(a).\n")
    evidence = evidence_of(model, "P(A)\nP(B)\nP(C)\nQ(D)\nQ(E)\n")
    found = mln.maximize(model, evidence, "P,Q,R", compress=readings.RandomGroups(ratio=0.2, evidence="clamp"))
    assert "has no world" in " ".join(found.remarks) and found.is_optimal and found["R(A)"] and not found["P(D)"]


def test_groups_of_many_sizes_leave_weights_as_they_are(monkeypatch):
    names = ",".join(f"P{i}" for i in range(20))
    model = mln.Model.parse(f"p={{{names}}}\nS(p)\nF(p,p)\nE(p)\n0.4 S(x)\n0.1 F(x,y) ^ S(x) ^ E(x) => S(y)\n")
    evidence = evidence_of(model, "".join(f"E(P{i})\nF(P{i},P{j})\n" for i in range(6) for j in range(i)))
    few = mln.maximize(model, evidence, compress=mln.KMeans(ratio=0.3), seed=1)
    monkeypatch.setattr(grouping, "MOST_SCALED", 1)
    many = mln.maximize(model, evidence, compress=mln.KMeans(ratio=0.3), seed=1)
    assert "literal weights, since groups have so many sizes" in " ".join(many.remarks) and "literal" not in " ".join(few.remarks)
    assert many.log_weight == few.log_weight == mln.maximize(model, evidence).log_weight


def test_what_is_refused():
    model = mln.Model.parse("x={A,B}\nR(x)\n1 R(a)\n")
    with pytest.raises(mln.InputError, match="not supported for the most probable world"):
        mln.maximize(model, None, compress=readings.KMeans(weights="count"))
    with pytest.raises(mln.UnsupportedError, match="cannot be compressed"):
        mln.maximize(model, evidence_of(model, "0.8 R(A)\n"), compress="kmeans")
