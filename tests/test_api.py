"""The Python interface as the README shows it."""

import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pytest

import markovlogic as mln

ROOT = Path(__file__).parents[1]
APART = {"cli", "evaluation", "learning", "linking", "reasons", "scale_out", "state", "studio"}

RULES = """\
Smokes(person)
Cancer(person)
Friends(person, person)
1.5 Smokes(x) => Cancer(x)
1.1 Friends(x,y) ^ Smokes(x) => Smokes(y)
"""


@pytest.fixture
def model() -> mln.Model:
    return mln.Model.parse(RULES)


@pytest.fixture
def friends() -> pa.Table:
    return pa.table({"a": ["Ann", "Bob"], "b": ["Bob", "Ann"]})


def test_files_and_tables_together(model, friends, tmp_path):
    (tmp_path / "smokers.db").write_text("Smokes(Ann)\n")
    (tmp_path / "smokers.mln").write_text(RULES)
    evidence = model.evidence(tmp_path / "smokers.db", Friends=friends)
    result = mln.infer(model, evidence, query=["Smokes", "Cancer(Bob)"])
    assert list(result) == ["Cancer(Bob)", "Smokes(Bob)"]
    assert result.guarantee == "exact" and result.guarantee is mln.Guarantee.EXACT
    assert result.concerns() == []
    assert 0.5 < result["Smokes(Bob)"] < 1 and result["Smokes(Bob)"].stderr == 0
    again = mln.infer(
        tmp_path / "smokers.mln", [str(tmp_path / "smokers.db"), ("Friends", friends)], "Smokes,Cancer(Bob)", method="enumerate"
    )
    assert again["Smokes(Bob)"] == pytest.approx(result["Smokes(Bob)"], abs=1e-12)
    assert mln.load(tmp_path / "smokers.mln") == model


def test_evidence_in_every_form(model, friends, tmp_path):
    (tmp_path / "friends.csv").write_text("a,b\nAnn,Bob\nBob,Ann\n")
    (tmp_path / "s.db").write_text("Smokes(Ann)\n")
    (tmp_path / "both.db").write_text("Smokes(Ann)\nFriends(Ann,Bob)\nFriends(Bob,Ann)\n")
    forms = [
        str(tmp_path / "both.db"),
        tmp_path / "both.db",
        (str(tmp_path / "s.db"), f"Friends={tmp_path / 'friends.csv'}"),
        [tmp_path / "s.db", ("Friends", tmp_path / "friends.csv")],
        [tmp_path / "s.db", ("Friends", friends.to_pandas())],
        [tmp_path / "s.db", {"Friends": friends}],
        model.evidence(f"{tmp_path / 's.db'},Friends={tmp_path / 'friends.csv'}"),
    ]
    found = {round(float(mln.infer(model, form, "Smokes")["Smokes(Bob)"]), 12) for form in forms}
    assert len(found) == 1
    with pytest.raises(mln.InputError, match="evidence cannot be"):
        mln.infer(model, 7, "Smokes")


def test_settings_stand_for_methods(model, friends):
    evidence = model.evidence(Friends=friends)
    wanted = {"chains": 4, "draws": 400, "seed": 1, "estimator": "sample"}
    sampled = mln.infer(model, evidence, ["Smokes"], method=mln.MCSAT(), keep_draws=True, **wanted)
    exact = mln.infer(model, evidence, ["Smokes"], method="exact")
    named = mln.infer(model, evidence, ["Smokes"], method="mcsat", **wanted)
    assert list(sampled.probability) == list(named.probability)
    assert sampled.run.method == "mcsat" and sampled.run.chains == 4 and sampled.run.draws == 400
    for atom in exact:
        assert abs(sampled[atom] - exact[atom]) < 6 * sampled[atom].stderr + 1e-9  # one in a billion
    tree = sampled.to_arviz()
    assert tree["posterior"]["truth"].sizes == {"chain": 4, "draw": 400, "atom": 2}
    assert float(tree["posterior"]["truth"].sel(atom="Smokes(Ann)").mean()) == pytest.approx(sampled["Smokes(Ann)"])


def test_conjunctions_of_a_sampler(model, friends):
    evidence = model.evidence(Friends=friends)
    query = ["Smokes(Ann)^Smokes(Bob)", "!Smokes(Ann)"]
    exact = mln.infer(model, evidence, query, method="exact")
    sampled = mln.infer(model, evidence, query, method="gibbs", draws=300, seed=2)
    for event in query:
        assert abs(sampled[event] - exact[event]) < 6 * sampled[event].stderr + 1e-9


def test_explain(model, friends):
    found = mln.explain(model, model.evidence(Friends=friends), query=["Smokes", "Cancer"])
    assert (found.groundings, found.atoms, found.plan.method) == (6, 4, "exact")


def test_wrong_use_is_an_input_error(model):
    for more, message in (
        ({"compress": "kmean"}, "did you mean kmeans"),
        ({"network": "x"}, "unknown"),
    ):
        with pytest.raises(mln.InputError, match=message):
            mln.infer(model, None, "Smokes", **more)
    with pytest.raises(mln.InputError, match="person"):
        mln.infer(model, None, "Smokes")
    with pytest.raises(mln.InputError, match="unknown method 5"):
        mln.infer(model, None, "Smokes", method=5)
    evidence = {"Friends": pa.table({"a": ["Ann"], "b": ["Bob"]})}
    for more in ({"chains": 0}, {"draws": 0}, {"seed": -1}, {"time_limit": -1.0}, {"keep_draws": True, "thin": 0}):
        with pytest.raises(mln.InputError, match="must be"):
            mln.infer(model, evidence, "Smokes", method=mln.Gibbs(), **more)


def test_wrong_types_are_answered_in_words(model):
    table = pa.table({"a": ["Ann"], "b": ["Bob"]})
    evidence = {"Friends": table}
    for query in (5, [5], ["Smokes", None]):
        with pytest.raises(mln.InputError, match="which is not text"):
            mln.infer(model, evidence, query)
    for one in (table, table.to_pandas()):
        with pytest.raises(mln.InputError, match=r"evidence cannot be a \w+ \(give files, or model.evidence"):
            mln.infer(model, one, "Smokes")
    with pytest.raises(mln.InputError, match="named by its path, not by a int"):
        mln.load(5)
    with pytest.raises(mln.InputError, match="read from text, not from a bytes"):
        mln.Model.parse(b"S(p)")
    with pytest.raises(TypeError, match="not by a int"):
        mln.infer(model, evidence, "Smokes")[0]


def test_every_export_is_there_and_unknown_names_are_not():
    assert set(mln.__all__) <= set(dir(mln))
    for name in mln.__all__:
        assert getattr(mln, name) is not None
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        mln.nothing  # noqa: B018
    assert repr(mln.Model.parse("P(t)\n")) == "<model <text>: 1 predicates, 0 formulas>"


def test_importing_loads_nothing_heavy():
    heavy = ["numpy", "pyarrow", "numba", "duckdb", "scipy", "rich", "typer", "altair", "pandas", "polars"]
    code = f"import sys, markovlogic; print([name for name in {heavy!r} if name in sys.modules])"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "[]\n"
    code = code.replace("markovlogic;", "markovlogic.cli.main;").replace("'typer', ", "")
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "[]\n"


def test_a_small_exact_run_loads_few_modules():
    """Each costs about a thousandth of a second; engines, states, explanations and pages are loaded by who uses them."""
    code = (
        "import sys, markovlogic as mln; mln.infer('examples/smokers.mln', ['examples/smokers.db'], 'Smokes', progress=False);"
        "print(*(name for name in sys.modules if name.startswith('markovlogic.')))"
    )
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT).stdout.split()
    assert len(loaded) <= 120
    assert not {name.split(".")[1] for name in loaded} & APART


def test_no_module_hides_the_function_maximize():
    world = mln.maximize(mln.Model.parse("p = {A}\nS(p)\n1 S(x)\n"))
    assert world.atoms == ["S(A)"] and callable(mln.maximize)
    assert repr(world) == "<world of 1 true atom by closed form: log weight 1, proved to be the most>"


@pytest.mark.parametrize("progress", [False, True, None])
def test_learning_and_compression_take_the_progress_that_inference_takes(progress):
    model = mln.Model.parse("P(t)\nQ(t)\nP(x)\nP(x) => Q(x)\n")
    facts = {"P": {"a": ["A", "B"]}, "Q": {"a": ["A", "C"]}}
    assert mln.learn(model, [facts], "Q", progress=progress).model.rules
    weighted = mln.Model.parse("P(t)\nQ(t)\n1 P(x) => Q(x)\n")
    assert mln.compress(weighted, facts, "twins", query="Q", progress=progress).guarantee


def test_explain_grounds_nothing_for_methods_that_were_not_chosen(tmp_path, monkeypatch):
    rules = "Same(r, r)\nSame(x, x).\nSame(x, y) => Same(y, x).\nSame(x, y) ^ Same(y, z) => Same(x, z).\nCand(r, r)\n"
    model, facts = tmp_path / "m.mln", tmp_path / "m.db"
    model.write_text(rules + "Same(x, y) => x = y v Cand(x, y) v Cand(y, x).\n0.5 Same(x, y)\n")
    facts.write_text("".join(f"Cand(R{i}, R{i + 1})\nCand(R{i}, R{i + 2})\n" for i in range(100)))
    seen = mln.explain(model, facts, ["Same"])
    monkeypatch.setattr("markovlogic.api.explain.COMPARING_SECONDS", 0.0)
    predicted = mln.explain(model, facts, ["Same"])
    assert seen.plan == predicted.plan
    assert predicted.clauses is None and predicted.clauses_at_most >= seen.clauses
    pairs = zip(seen.candidates, predicted.candidates, strict=True)
    assert all(one.possible == other.possible for one, other in pairs if one.method != "exact")  # it plans on networks only
    explained = mln.explain(model, facts, ["Same"], method="gibbs")  # which needs the network
    assert explained.clauses == seen.clauses
