"""Training data that do not decide a weight: named, with the prior or the change that would."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import markovlogic as mln
from markovlogic.cli.main import main
from markovlogic.errors import InputError

PEOPLE = "person = {Ann, Bob, Cid, Dan}\n"


def learned(folder: Path, rules: str, facts: str, query: str | None, **options: object) -> mln.Learned:
    file = folder / "train.db"
    file.write_text(facts)
    return mln.learn(mln.Model.parse(rules), [str(file)], query, **options)  # type: ignore[arg-type]


def test_no_training_facts_about_a_target(tmp_path: Path) -> None:
    rules = "Smokes(person)\nCancer(person)\nSmokes(x) => Cancer(x)\n"
    with pytest.raises(InputError) as error:
        learned(tmp_path, rules, "Smokes(Ann)\n", "Cancer")
    fault = error.value.faults[0]
    assert "no training facts about Cancer: its weights cannot be learned" in fault.message
    assert fault.hint is not None and "give facts about it" in fault.hint and "take it out of -q" in fault.hint
    with pytest.raises(InputError, match="no training facts"):
        learned(tmp_path, rules, "", None)


@pytest.mark.parametrize(("sign", "word"), [("", "true"), ("!", "false")])
def test_data_in_which_a_target_never_varies(tmp_path: Path, sign: str, word: str) -> None:
    facts = "".join(f"{sign}Smokes({name})\n" for name in ("Ann", "Bob", "Cid", "Dan"))
    found = learned(tmp_path, f"{PEOPLE}Smokes(person)\n(Smokes(x))\n", facts, "Smokes", prior=1.0)
    assert [concern for concern in found.concerns() if f"every atom of Smokes is {word} in the training data" in concern]
    assert "add data in which it varies, or take it out of -q" in found.concerns()[0]


# Rich alone and Old alone are contradicted; both together part smokers from others without error.
SEPARABLE = f"{PEOPLE}Smokes(person)\nRich(person)\nOld(person)\n(Smokes(x))\nRich(x) ^ Smokes(x)\nOld(x) ^ Smokes(x)\n"
PARTED = "Smokes(Ann)\n!Smokes(Bob)\n!Smokes(Cid)\n!Smokes(Dan)\nRich(Ann)\nOld(Ann)\nRich(Bob)\nOld(Cid)\n"


def test_a_weight_that_runs_to_infinity_alone(tmp_path: Path) -> None:
    rules = f"{PEOPLE}Smokes(person)\nRich(person)\n(Smokes(x))\nRich(x) => Smokes(x)\n"
    facts = "Smokes(Ann)\nSmokes(Bob)\n!Smokes(Cid)\nRich(Ann)\n"
    without = learned(tmp_path, rules, facts, "Smokes", prior="none").concerns()
    assert any("the data never contradict Rich(x) => Smokes(x)" in one and "such as --prior 2" in one for one in without)
    with_prior = learned(tmp_path, rules, facts, "Smokes", prior=2.0)
    assert not with_prior.concerns() and any("the prior keeps it finite" in note for note in with_prior.notes)


def test_weights_that_run_to_infinity_together(tmp_path: Path) -> None:
    found = learned(tmp_path, SEPARABLE, PARTED, "Smokes", prior="none")
    concern = next(one for one in found.concerns() if "the data are separable by" in one)
    assert "Rich(x) ^ Smokes(x)" in concern and "Old(x) ^ Smokes(x)" in concern and "give a prior, such as --prior 2" in concern
    assert not learned(tmp_path, SEPARABLE, PARTED, "Smokes", prior=2.0).concerns()


def test_rules_that_the_data_cannot_tell_apart(tmp_path: Path) -> None:
    rules = f"{PEOPLE}Smokes(person)\nRich(person)\nRich(x) ^ Smokes(x)\nRich(y) ^ Smokes(y)\n"
    facts = "Smokes(Ann)\n!Smokes(Bob)\n!Smokes(Cid)\nRich(Ann)\nRich(Bob)\nRich(Cid)\n"
    found = learned(tmp_path, rules, facts, "Smokes", prior="none").concerns()
    assert any("the data cannot tell" in one and "leave one of them out" in one for one in found)


def test_a_rule_whose_groundings_are_all_decided(tmp_path: Path) -> None:
    rules = f"{PEOPLE}Smokes(person)\nRich(person)\nOld(person)\n(Smokes(x))\nRich(x) => Old(x)\n"
    found = learned(tmp_path, rules, "Smokes(Ann)\n!Smokes(Bob)\nRich(Ann)\nOld(Bob)\n", "Smokes", prior=1.0)
    note = next(one for one in found.notes if "the data say nothing about Rich(x) => Old(x)" in one)
    assert "the evidence decides all their groundings; name one of their predicates in -q, or leave them out" in note
    assert found.weights[1].weight == 0 and not found.weights[1].informed


def test_data_that_break_a_hard_rule(tmp_path: Path) -> None:
    rules = f"{PEOPLE}Smokes(person)\nRich(person)\n(Smokes(x))\nRich(x) => Smokes(x).\n"
    with pytest.raises(InputError, match=r"train.db breaks a hard rule of the model: the rules decide Smokes\(Bob\) otherwise"):
        learned(tmp_path, rules, "Smokes(Ann)\nRich(Bob)\n", "Smokes")


def test_the_record_of_a_run_and_what_it_assumed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Updates are counted where chains ran, and what was assumed is reported."""
    (tmp_path / "m.mln").write_text(f"{PEOPLE}Smokes(person)\nFriends(person, person)\nGlad(person)\n(Smokes(x))\n")
    (tmp_path / "n.mln").write_text((tmp_path / "m.mln").read_text() + "Friends(x, y) ^ Smokes(x) => Smokes(y)\n")
    (tmp_path / "o.mln").write_text((tmp_path / "n.mln").read_text() + "Glad(x) => Smokes(x)\n")
    (tmp_path / "a.db").write_text("Smokes(Ann)\nSmokes(Bob)\n!Smokes(Cid)\nFriends(Ann,Bob)\nFriends(Bob,Cid)\n")
    seen = {}
    for name, method in (("m", "auto"), ("n", "pseudolikelihood"), ("n", "cd"), ("n", "newton"), ("n", "perceptron")):
        given = [f"{tmp_path}/{name}.mln", "-e", f"{tmp_path}/a.db", "-q", "Smokes", "--prior", "1", "--method", method]
        main(["learn", *given, "-o", f"{tmp_path}/out.mln", "--stats", f"{tmp_path}/s.json"])
        stats = json.loads((tmp_path / "s.json").read_text())
        seen[name, method] = stats["updates"], stats["chains"]
    assert seen["m", "auto"] == (0, 0) and seen["n", "pseudolikelihood"] == (0, 0)
    assert all(updates > 0 and updates % (4 * 64) == 0 and chains == 64 for updates, chains in list(seen.values())[2:])
    assert "1 atom of Smokes is not listed and counts as false" in capsys.readouterr().err
    main(["learn", f"{tmp_path}/o.mln", "-e", f"{tmp_path}/a.db", "-q", "Smokes", "--prior", "1", "-o", f"{tmp_path}/out.mln"])
    assert "Glad (4 atoms) has no evidence and is not queried, so it is open and summed over" in capsys.readouterr().err
