import json

import pytest

from markovlogic.cli.main import main

RULES = """\
person = {Ann, Bob, Cid}
Smokes(person)
Friends(person, person)
Cancer(people)
Unused(thing)
1.5 Smokes(x) ^ Friends(x, y) => Smokes(z)
60 Smokes(x)
0 Smokes(x) v Friends(x, x)
1 Smokes(x) v !Smokes(x)
2 Smokes(x)
1 !Friends(Ann, x) v Cancer(c)
"""


def names(path, *options, capsys):
    code = main(["check", str(path), "--json", *options])
    return code, [(row["name"], row["line"]) for row in json.loads(capsys.readouterr().out)]


@pytest.fixture
def rules(tmp_path):
    path = tmp_path / "rules.mln"
    path.write_text(RULES)
    return path


def test_what_the_rules_alone_show(rules, capsys):
    code, found = names(rules, capsys=capsys)
    assert code == 1
    assert found == [
        ("unused-predicate", 5),
        ("single-variable", 6),
        ("single-variable", 6),
        ("weight", 7),
        ("weight", 8),
        ("constant-rule", 9),
        ("repeated-rule", 10),
        ("single-variable", 11),
        ("single-variable", 11),
    ]


def test_what_the_evidence_adds(rules, tmp_path, capsys):
    (tmp_path / "facts.db").write_text("Friends(Bob, Ann)\nCancer(Ann)\nCancer(Bob)\n!Cancer(Cid)\nUnused(Ann)\n")
    _, alone = names(rules, capsys=capsys)
    code, found = names(rules, "-e", str(tmp_path / "facts.db"), capsys=capsys)
    assert code == 1
    assert sorted(set(found) - set(alone)) == [("decided-rule", 11), ("shared-constants", 3), ("unused-evidence", 5)]
    _, requested = names(rules, "-e", str(tmp_path / "facts.db"), "-q", "Friends", capsys=capsys)
    assert ("decided-rule", 11) not in requested


def test_a_clean_file_has_no_findings(tmp_path, capsys):
    path = tmp_path / "clean.mln"
    path.write_text("P(thing)\nQ(thing)\n1 P(x) => Q(x)\n")
    assert main(["check", str(path)]) == 0
    assert capsys.readouterr().out == ""
    path.write_text("P(thing)\n1 R(x)\n")
    assert main(["check", str(path)]) == 2


def test_lines_of_findings_have_places(rules, capsys):
    assert main(["check", str(rules)]) == 1
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith(f"{rules}:5:1: Unused is declared") and lines[0].endswith("[unused-predicate]")


def test_format_writes_in_place_and_keeps_what_is_formatted(tmp_path, capsys):
    path = tmp_path / "a.mln"
    path.write_text("P(thing)\n1   P( x )  // why\n")
    assert main(["format", str(path), "--check"]) == 1
    assert main(["format", str(path), "--diff"]) == 1
    assert "+1 P(x)      // why\n" not in path.read_text()
    assert main(["format", str(path)]) == 0
    assert path.read_text() == "P(thing)\n1 P(x)      // why\n"
    assert main(["format", str(path), "--check"]) == 0
    assert main(["format", str(path), "-o", "-"]) == 0
    assert capsys.readouterr().out.endswith("P(thing)\n1 P(x)      // why\n")
    path.write_text("P(thing\n")
    assert main(["format", str(path)]) == 2
    assert path.read_text() == "P(thing\n"


def test_rules_that_evidence_breaks(rules, tmp_path, capsys):
    rules.write_text("P(thing)\nQ(thing)\nP(x) => Q(x).\n1 P(x) v Q(x)\n")
    (tmp_path / "facts.db").write_text("P(A)\n!Q(A)\nP(B)\nQ(B)\n")
    _, found = names(rules, "-e", str(tmp_path / "facts.db"), capsys=capsys)
    assert found == [("broken-rule", 3), ("decided-rule", 4)]
