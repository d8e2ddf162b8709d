"""Damaged rule files, evidence and queries: an error of ours comes out, or an answer; never any other exception."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from tests.fuzz.mutated import mutated

import markovlogic as mln
from markovlogic.errors import MarkovLogicError
from markovlogic.language.load import load
from markovlogic.language.lower import lower
from markovlogic.problem import pose

TEXTS, SLICES = 250, 4  # of each kind

RULES = """\
// people /* and pages */
person = {Ann, Bob, "Dr. Who"}
class = {Course, Student}
page = {P1, P2}
level = {1, ..., 4}
Smokes(person)
Friends(person, person)
PageClass(page, class!)
Level(person, level)
Flag
1.5 Friends(x, y) ^ Smokes(x) => Smokes(y)
-0.7 EXIST y (Friends(x, y) ^ !Smokes(y)) v Flag
0.3 *Smokes(x) ^ Level(x, +l)
(FORALL y (Friends(Ann, y) => Smokes(y))) <=> Flag.
inf !Friends(x, x)
2e-1 PageClass(p, c) ^ PageClass(q, c) => p != q
1 Level(x, l) ^ x = Ann =>
  Smokes(x)
"""
FACTS = """\
// who knows whom
Friends(Ann, Bob)
!Friends(Bob, Ann)
?Smokes(Bob)
Smokes("Dr. Who")  // quoted
/* a block
of comment */
PageClass(P1, Student)
!PageClass(P2, Course)
Level(Ann, 3)
Flag
"""
TABLE = 'from,to,truth\nAnn,Bob,true\n"Dr. Who",Ann,false\nBob,"Dr. ""Who""",unknown\nBob,Bob,1\n'
QUERY = 'Smokes,Friends(Ann,Bob),PageClass(P1,Student)^Smokes(Bob),!Flag^Smokes("Dr. Who")'

MODEL = mln.Model.parse(RULES)


def rules(raw: bytes, folder: Path) -> int:
    (folder / "m.mln").write_bytes(raw)
    return len(lower(load(folder / "m.mln")).templates)


def facts(raw: bytes, folder: Path) -> int:
    (folder / "f.db").write_bytes(raw)
    return len(pose(MODEL, MODEL.evidence(str(folder / "f.db")), "Smokes,PageClass").atoms)


def table(raw: bytes, folder: Path) -> int:
    (folder / "t.csv").write_bytes(raw)
    return len(pose(MODEL, MODEL.evidence(f"Friends={folder / 't.csv'}"), "Friends").atoms)


def query(raw: bytes, folder: Path) -> int:
    (folder / "f.db").write_text(FACTS)
    return len(pose(MODEL, MODEL.evidence(str(folder / "f.db")), raw.decode("utf-8", "surrogateescape")).atoms)


KINDS: dict[str, tuple[str, Callable[[bytes, Path], int]]] = {
    "rules": (RULES, rules),
    "facts": (FACTS, facts),
    "table": (TABLE, table),
    "query": (QUERY, query),
}


@pytest.mark.parametrize("kind", list(KINDS))
def test_the_undamaged_texts_are_read(kind: str, tmp_path: Path) -> None:
    text, read = KINDS[kind]
    assert read(text.encode(), tmp_path) > 0  # templates, or open atoms


@pytest.mark.parametrize("number", range(SLICES))
@pytest.mark.parametrize("kind", list(KINDS))
def test_damaged_texts_give_errors_of_ours_or_are_read(kind: str, number: int, tmp_path: Path) -> None:
    text, read = KINDS[kind]
    chance = random.Random(f"{kind} {number}")
    refused = 0
    for _ in range(TEXTS):
        raw = mutated(text, chance)
        try:
            read(raw, tmp_path)
        except MarkovLogicError as error:
            assert str(error) and error.exit_code in (2, 3)
            refused += 1
        except Exception as error:  # the text is what a reader of the failure needs
            pytest.fail(f"{type(error).__name__}: {error}\n{raw!r}")
    assert refused > TEXTS // 20


@pytest.mark.parametrize("number", range(4))
def test_damaged_problems_are_answered_or_refused(number: int, tmp_path: Path) -> None:
    """The whole way, with probabilities at its end."""
    chance = random.Random(number)
    answered = 0
    for _ in range(12):
        model, evidence = tmp_path / "m.mln", tmp_path / "f.db"
        model.write_bytes(mutated(RULES, chance) if chance.random() < 0.6 else RULES.encode())
        evidence.write_bytes(mutated(FACTS, chance) if chance.random() < 0.6 else FACTS.encode())
        try:
            result = mln.infer(model, evidence, "Smokes", chains=4, draws=10, burn_in=2, memory_limit=1 << 28)
        except MarkovLogicError:
            continue
        answered += 1
        assert ((result.probability >= 0) & (result.probability <= 1)).all() or not np.isfinite(result.probability).all()
    assert answered
