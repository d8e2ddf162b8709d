"""`mln reproduce` as users call it."""

from __future__ import annotations

import dataclasses
import json

import pytest
from tests.papers.tiny import tiny

from markovlogic.cli.main import main
from markovlogic_papers.experiments import catalogue, reproduce


def test_it_lists_what_there_is(capsys):
    for arguments in (["reproduce"], ["reproduce", "list"]):
        assert main(arguments) == 0
        listed = [line.split()[0] for line in capsys.readouterr().out.splitlines()]
        assert listed == [*catalogue.PANELS, *catalogue.FIGURES, "all"]


@pytest.mark.parametrize(
    ("arguments", "says"), [(["E17q", "-o", "x"], "no experiment E17q"), (["E17a"], "-o DIR"), (["E17a", "--seed", "-1"], "seed")]
)
def test_bad_usage(capsys, arguments, says):
    assert main(["reproduce", *arguments]) == 2
    assert says in capsys.readouterr().err


def test_it_writes_three_files_and_tells_the_verdict(capsys, monkeypatch, tmp_path):
    monkeypatch.setattr(reproduce, "experiment", tiny)
    folder = tmp_path / "new" / "folder"
    assert main(["reproduce", "E18C", "--quick", "-o", str(folder)]) == 0
    word = json.loads((folder / "E18c.json").read_text())["verdict"]
    assert capsys.readouterr().out.startswith(f"E18c: {word}, too small to judge (")
    assert sorted(path.name for path in folder.iterdir()) == ["E18c.csv", "E18c.json", "E18c.png"]


def test_an_interrupt_leaves_what_was_finished(capsys, monkeypatch, tmp_path):
    def interrupt(scale, seed, progress):
        raise KeyboardInterrupt

    def stopped(name):
        made = tiny(name)
        return dataclasses.replace(made, run=interrupt) if name == "E18b" else made

    monkeypatch.setattr(reproduce, "experiment", stopped)
    assert main(["reproduce", "E18", "--quick", "--quiet", "-o", str(tmp_path)]) == 130
    assert sorted(path.name for path in tmp_path.iterdir()) == ["E18a.csv", "E18a.json", "E18a.png"]


def test_settings_are_given_on_the_command_line(capsys, monkeypatch, tmp_path):
    monkeypatch.setattr(reproduce, "experiment", tiny)
    assert main(["reproduce", "E18c", "--quick", "--set", "kl=true‖est", "--set", "repeats=3", "-o", str(tmp_path)]) == 0
    settings = json.loads((tmp_path / "E18c.json").read_text())["settings"]
    assert settings["kl"] == "true||est" and settings["repeats"] == 3
    assert main(["reproduce", "E18c", "--quick", "--set", "kl", "-o", str(tmp_path)]) == 2
    assert "--set kl: no value" in capsys.readouterr().err
    for words in (("--set", "=3"), ("--set", "runs="), ("--set", "data=here")):
        assert main(["reproduce", "E18c", "--quick", *words, "-o", str(tmp_path)]) == 2
    assert main(["reproduce", "--set", "runs=3"]) == 2
