"""What people and programs see of explanations, and what is refused."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import markovlogic as mln
from markovlogic.cli.main import main
from markovlogic.errors import InputError

EXAMPLES = Path(__file__).parents[2] / "examples"
SMOKERS = [str(EXAMPLES / "smokers.mln"), "-e", str(EXAMPLES / "smokers.db")]
CHAIN = """\
person = {Ann, Bob, Cid}
Parent(person, person)
Older(person, person)
Rank(person, rank!)
rank = {High, Low}
Parent(x, y) => Older(x, y).
Older(x, y) ^ Older(y, z) => Older(x, z).
Older(x, y) => !Older(y, x).
Older(x, y) => Rank(x, High).
"""


def test_the_readme_example_adds_up(tmp_path: Path) -> None:
    out = tmp_path / "why.json"
    assert main(["why", *SMOKERS, "Smokes(Bob)", "-o", str(out), "--quiet"]) == 0
    found = json.loads(out.read_text())
    assert found["atom"] == "Smokes(Bob)" and abs(found["logit"] + 1.1194027810465839) < 1e-9 and found["base"] == 0
    parts = {one["rule"]: one["log_odds"] for one in found["contributions"]}
    wanted = {"0.5 !Smokes(x)": -0.594, "1.0 !Cancer(x)": -0.221, "1.5 Smokes(x) => Cancer(x)": -0.779}
    for rule, value in wanted.items():
        assert abs(parts[rule] - value) < 5e-4
    assert abs(found["base"] + sum(parts.values()) - found["logit"]) < 1e-9
    assert set(found["contributions"][0]) >= {"rule", "place", "weight", "log_odds", "stderr", "without", "groundings"}


def test_ground_instances_name_the_facts_behind_them() -> None:
    found = mln.why(EXAMPLES / "smokers.mln", EXAMPLES / "smokers.db", "Smokes(Bob)")
    (friends,) = [one for one in found.contributions if "Friends" in one.rule]
    assert friends.groundings[0].text == "Smokes(Bob)"
    assert set(friends.groundings[0].facts) == {"Friends(Ann,Bob)", "Smokes(Ann)"}
    assert abs(sum(one.log_odds for one in friends.groundings) - friends.log_odds) < 1e-9


def test_what_if_shows_both_answers() -> None:
    arguments = (EXAMPLES / "smokers.mln", EXAMPLES / "smokers.db", "Smokes(Bob)")
    found = mln.why(*arguments, changes=["!Smokes(Ann)", "Friends(Ann,Dan)"])
    assert found.before is not None and abs(found.before.probability - mln.why(*arguments).probability) < 1e-12
    model = mln.load(arguments[0])
    facts = arguments[1].read_text().replace("Smokes(Ann)", "!Smokes(Ann)") + "Friends(Ann, Dan)\n"
    other = mln.infer(model, _evidence(model, facts), ["Smokes(Bob)"], progress=False)
    assert abs(found.probability - float(other.probability[0])) < 1e-12


def test_what_if_by_chains_begins_where_they_were(monkeypatch: pytest.MonkeyPatch) -> None:
    from markovlogic.api import why as api

    states = []
    run = api.infer
    monkeypatch.setattr(api, "infer", lambda *args, **options: states.append(options["state"]) or run(*args, **options))
    arguments = (EXAMPLES / "smokers.mln", EXAMPLES / "smokers.db", "Smokes(Bob)")
    found = mln.why(*arguments, method="gibbs", draws=300, changes=["!Smokes(Ann)"])
    assert len(states) == 2 and states[0] is states[1] and states[1].load() is not None
    right = mln.why(*arguments, changes=["!Smokes(Ann)"])
    assert abs(found.probability - right.probability) < 6 * found.stderr  # a false alarm in 10^9
    assert found.before is not None and right.before is not None
    assert abs(found.before.probability - right.before.probability) < 6 * found.before.stderr


def _evidence(model: mln.Model, text: str) -> mln.Evidence:
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "facts.db"
        path.write_text(text)
        return model.evidence(path)


def test_what_if_of_an_exclusive_value_replaces_the_known_one(tmp_path: Path) -> None:
    model = mln.Model.parse("class = {A, B, C}\nOf(page, class!)\nL(page, page)\n1 L(x, y) ^ Of(x, c) => Of(y, c)\n")
    evidence = _evidence(model, "Of(P, A)\nL(P, Q)\n")
    found = mln.why(model, evidence, "Of(Q, B)", changes=["Of(P, B)"])
    assert found.before is not None and found.probability > 0.5 > found.before.probability
    soft = _evidence(model, "0.3 Of(P, A)\nL(P, Q)\n?Of(P, C)\n")
    other = mln.why(model, soft, "Of(Q, B)", changes=["Of(P, B)"])
    assert abs(other.probability - found.probability) < 1e-12


def test_a_decided_atom_has_its_chain(tmp_path: Path) -> None:
    (tmp_path / "m.mln").write_text(CHAIN)
    (tmp_path / "f.db").write_text("Parent(Ann, Bob)\nParent(Bob, Cid)\n")
    found = mln.why(tmp_path / "m.mln", tmp_path / "f.db", "Older(Ann,Cid)")
    assert found.probability == 1 and [step.literal for step in found.decided][-1] == "Older(Ann,Cid)"
    assert {"Parent(Ann,Bob)", "Older(Ann,Bob)", "Older(Bob,Cid)"} <= {step.literal for step in found.decided}
    assert found.decided[-1].by == "Older(x, y) ^ Older(y, z) => Older(x, z)."
    negative = mln.why(tmp_path / "m.mln", tmp_path / "f.db", "Rank(Ann,Low)", query="Older")
    assert negative.probability == 0 and negative.decided[-1].literal == "!Rank(Ann,Low)"


@pytest.mark.parametrize("ending", ["csv", "html", "svg"])
def test_files(tmp_path: Path, ending: str) -> None:
    out = tmp_path / f"why.{ending}"
    assert main(["why", *SMOKERS, "Smokes(Bob)", "-o", str(out), "--quiet"]) == 0
    assert "Smokes" in out.read_text()


def test_the_table_has_a_bar_for_each_rule(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["why", *SMOKERS, "Smokes(Bob)", "--if", "?Smokes(Ann)", "--top", "1"]) == 0
    text = capsys.readouterr().out
    assert "as it is: probability 0.2461" in text and text.count("│") == 5 and "hard rules alone" in text


@pytest.mark.parametrize(
    ("atom", "more", "message"),
    [
        ("Smokes", [], "not one ground atom"),
        ("Smokes(Bob)^Cancer(Bob)", [], "not one ground atom"),
        ("Smokes(Nobody)", [], "unknown constant"),
        ("Smokes(Bob)", ["--if", "Smokes(Nobody)"], "unknown constant"),
        ("Smokes(Bob)", ["--if", "Smoke(Ann)"], "did you mean Smokes"),
        ("Smokes(Bob)", ["--if", "0.5 Smokes(Ann)"], "no fact"),
        ("Smokes(Bob)", ["-o", "x.doc"], "must end with one of"),
        ("Smokes(Bob)", ["--compress", "kmeans", "--ratio", "0.2"], "model's own rules are explained"),
        ("Smokes(Bob)", ["--engine", "local"], "only the atom's component is solved"),
        ("Smokes(Bob)", ["--checkpoint", "x"], "cannot be continued"),
        ("Smokes(Bob)", ["--worlds", "x.parquet"], "keeps no worlds"),
        ("Smokes(Bob)", ["--network", "counting"], "write --network ground"),
        ("Smokes(Bob)", ["--state", "no-such-folder"], "mln infer --state makes one"),
        ("Smokes(Bob)", ["--ratio", "0.5"], "is a setting of --compress"),
        ("Smokes(Bob)", ["--method", "gibbs", "--proposals", "kmeans"], "gibbs takes no proposals"),
        ("Smokes(Bob)", ["--method", "exact", "--estimator", "sample"], "only for sampling methods"),
    ],
)
def test_refusals(capsys: pytest.CaptureFixture[str], atom: str, more: list[str], message: str) -> None:
    assert main(["why", *SMOKERS, atom, *more]) == 2
    assert message in capsys.readouterr().err


@pytest.mark.parametrize(
    ("given", "is_exact"),
    [
        ({"network": "ground"}, True),
        ({"estimator": "conditional"}, False),
        ({"orbits": "twin"}, False),
        ({"proposals": "kmeans", "ratio": 0.5}, False),
        ({"method": "gibbs", "network": "ground"}, False),
    ],
)
def test_options_of_infer_choose_how_the_probability_is_inferred(
    monkeypatch: pytest.MonkeyPatch, given: dict[str, Any], is_exact: bool
) -> None:
    from markovlogic.api import why as api

    seen: list[dict[str, Any]] = []
    run = api.infer
    monkeypatch.setattr(api, "infer", lambda *args, **options: seen.append(options) or run(*args, **options))
    arguments = (EXAMPLES / "smokers.mln", EXAMPLES / "smokers.db")
    found = mln.why(*arguments, "Smokes(Bob)", draws=100, **given)
    assert found.is_exact == is_exact == (not seen)
    assert all(seen[0][name] == value for name, value in given.items() for _ in seen)
    assert abs(found.logit - -1.1194) < (1e-4 if is_exact else 6 * found.stderr / 0.1856)  # a false alarm in 10^9
    result = mln.infer(*arguments, ["Smokes"], progress=False)
    n_runs = len(seen)
    assert result.why("Smokes(Bob)", draws=100, **given).is_exact == is_exact and len(seen) == 2 * n_runs


def test_a_state_is_read_and_not_written(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    from markovlogic.api import why as api

    arguments = (EXAMPLES / "smokers.mln", EXAMPLES / "smokers.db")
    kept = mln.infer(*arguments, ["Smokes", "Cancer"], method="gibbs", draws=100, state=tmp_path / "s", progress=False)
    before = {path.name: path.read_bytes() for path in (tmp_path / "s").iterdir()}
    results = []
    run = api.infer
    monkeypatch.setattr(api, "infer", lambda *args, **options: results.append(run(*args, **options)) or results[-1])
    found = mln.why(*arguments, "Smokes(Bob)", query=["Smokes", "Cancer"], method="gibbs", draws=100, state=tmp_path / "s")
    assert found.probability == kept["Smokes(Bob)"] and len(results) == 1
    assert {path.name: path.read_bytes() for path in (tmp_path / "s").iterdir()} == before


@pytest.mark.parametrize("name", ["compress", "engine", "checkpoint", "worlds"])
def test_options_without_a_use_are_refused_in_python_too(name: str) -> None:
    arguments = (EXAMPLES / "smokers.mln", EXAMPLES / "smokers.db")
    with pytest.raises(InputError, match="leave it out"):
        mln.why(*arguments, "Smokes(Bob)", **{name: "x"})
    with pytest.raises(InputError, match="leave it out"):
        mln.infer(*arguments, ["Smokes"], progress=False).why("Smokes(Bob)", **{name: "x"})
    with pytest.raises(TypeError, match="unexpected keyword argument 'drawn'"):
        mln.why(*arguments, "Smokes(Bob)", drawn=3)


def test_formulas_are_refused_in_python_too() -> None:
    with pytest.raises(InputError, match="not one ground atom"):
        mln.why(EXAMPLES / "smokers.mln", EXAMPLES / "smokers.db", "Smokes(Bob) v Smokes(Cid)")
