"""Learning on an engine: the weights of the same pseudo-likelihood in one process, whatever the engine and the pieces."""

from __future__ import annotations

import random
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

import markovlogic as mln
from markovlogic.api.scaled import OnEngine
from markovlogic.cli.main import main as run
from markovlogic.errors import InputError, UnsupportedError
from markovlogic.learning import counted_units, on_engine
from markovlogic.learning.learn import learn
from markovlogic.learning.on_engine import learn_on

DECLARED = """
Link(t, t)
Size(t): real
Word(t, w)
P(t)
Q(t, t)
Class(t, c!)
"""
RULES = [
    "P(x)",
    "Q(x, y)",
    "Link(x, y) ^ P(x) => P(y)",
    "P(x) ^ Q(x, y) => P(y)",
    "Word(x, +w) => P(x)",
    "Class(x, +c)",
    "Class(x, c) ^ Link(x, y) => Class(y, c)",
    "Word(x, +w) ^ Class(x, +c)",
    "P(x) <=> Class(x, C0)",
    "P(A0)",
    "Link(A1, y) => P(y)",
    "Link(A2, y) => P(y)",
    "* Size(x) P(x)",
    "Q(x, x) v P(x)",
    "Link(x, y) ^ Q(x, y) ^ P(x)",
]
HARD = ["Q(x, y) => Link(x, y).", "P(x) v !Q(x, x).", "Link(x, y) ^ Q(x, y) => P(x) v P(y)."]


def case(seed: int) -> tuple[str, str]:
    """A model and a world that breaks none of its hard rules."""
    rng = random.Random(seed)
    things, classes, words = [f"A{at}" for at in range(6)], ["C0", "C1", "C2"], ["W0", "W1"]
    rules = rng.sample(RULES, 5) + [rule for rule in HARD if rng.random() < 0.4]
    link = {(a, b) for a in things for b in things if rng.random() < 0.4}
    p = {a for a in things if rng.random() < 0.6}
    q = {(a, b) for a in things for b in things if rng.random() < 0.4}
    q = {(a, b) for a, b in q if (a, b) in link and (a != b or a in p) and (a in p or b in p)}
    facts = [f"Link({a},{b})" for a, b in sorted(link)] + [f"P({a})" for a in sorted(p)] + [f"Q({a},{b})" for a, b in sorted(q)]
    facts += [f"Class({a},{rng.choice(classes)})" for a in things] + [f"Word({a},{rng.choice(words)})" for a in things]
    facts += [f"{rng.choice([-1.5, 0.5, 2])} Size({a})" for a in things if rng.random() < 0.7]
    return DECLARED + "\n".join(rules) + "\n", "\n".join(facts) + "\n"


def opening(opened: Any) -> OnEngine:
    """An engine of the fixture in the place of one by its name."""

    class Opened(OnEngine):
        @contextmanager
        def opened(self, memory_limit: int | None, threads: int | None) -> Any:
            with opened() as engine:
                yield engine

    return Opened("local")


def compared(model: str, folder: Path, on: OnEngine, bundle: int, **options: Any) -> int:
    """Both ways of learning on the case in a folder; gives the number of weights."""
    given = {"keep_weights": False, "prior": 2.0, **options}
    here = learn(mln.Model.parse(model), str(folder / "d.db"), "P,Q,Class", method="pseudolikelihood", **given, progress=False)
    there = learn_on(on, mln.Model.parse(model), str(folder / "d.db"), "P,Q,Class", bundle=bundle, **given, progress=False)
    mine = {one.formula: one for one in here.weights}
    found = {one.formula: one for one in there.weights}
    for name in mine.keys() | found.keys():
        own = mine.get(name)
        if own is None or name not in found:  # a choice of constants that no grounding shows
            assert (own or found[name]).weight == pytest.approx(0.0, abs=1e-6), name
            continue
        assert found[name].weight == pytest.approx(own.weight, abs=2e-4), name
        if own.weight:
            assert found[name].stderr == pytest.approx(own.stderr, rel=1e-3, nan_ok=True), name
    return len(found)


def test_weights_are_those_of_one_process(engines: tuple[str, Any], tmp_path: Path) -> None:
    name, opened = engines
    n_weights = 0
    for seed in range(8 if name == "duckdb" else 3):
        model, facts = case(seed)
        (tmp_path / "d.db").write_text(facts)
        n_weights += compared(model, tmp_path, opening(opened), (5, 20_000)[seed % 2])
    assert n_weights > 10


def test_kept_weights_and_a_chosen_prior(tmp_path: Path) -> None:
    model = DECLARED + "1.5 P(x)\nLink(x, y) ^ P(x) => P(y)\n-0.5 Q(x, y)\nP(x) ^ Q(x, y) => P(y)\n"
    (tmp_path / "d.db").write_text(case(3)[1])
    assert compared(model, tmp_path, OnEngine("local"), 20_000, keep_weights=True) == 2
    found = learn_on(OnEngine("local"), mln.Model.parse(model), str(tmp_path / "d.db"), "P,Q", progress=False)
    assert "l2" in found.prior and any("was chosen by" in note for note in found.notes)


def test_a_lost_piece_would_be_seen(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The planted error: units of other pieces are counted too."""
    model, facts = case(0)
    (tmp_path / "d.db").write_text(facts)
    monkeypatch.setattr(counted_units.CountUnits, "units_of", lambda self, code: code * 0)
    with pytest.raises((AssertionError, ValueError)):
        compared(model, tmp_path, OnEngine("local"), 5)


@pytest.mark.parametrize(
    ("rules", "facts", "error", "says"),
    [
        ("P(x) => EXIST y Q(x, y)\n", "", UnsupportedError, "quantified part"),
        ("P(x)\n", "?P(A1)\n", UnsupportedError, "neither known nor modelled"),
        ("P(x) ^ Class(x, C0)\n", "", UnsupportedError, "some atoms of Class"),
        ("P(x)\nP(x) v Link(x, x).\n", "", InputError, "break"),
    ],
)
def test_what_is_refused(rules: str, facts: str, error: type[Exception], says: str, tmp_path: Path) -> None:
    (tmp_path / "d.db").write_text("Link(A0,A1)\nP(A0)\nQ(A0,A1)\nWord(A1,W0)\n" + facts)
    with pytest.raises(error, match=says):
        learn_on(OnEngine("local"), mln.Model.parse(DECLARED + rules), str(tmp_path / "d.db"), "P,Q", prior=1.0, progress=False)


def test_the_command_learns_on_an_engine(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "m.mln").write_text(DECLARED + "P(x)\nLink(x, y) ^ P(x) => P(y)\n")
    (tmp_path / "d.db").write_text(case(2)[1])
    files = [str(tmp_path / name) for name in ("m.mln", "d.db", "o.mln")]
    given = ["learn", files[0], "-e", files[1], "-q", "P", "-o", files[2], "--prior", "2"]
    assert run([*given, "--engine", "local"]) == 0
    message = capsys.readouterr().err
    assert "observations of" in message and "2 weights by pseudolikelihood" in message
    learned = mln.load(files[2])
    assert run([*given, "--method", "pseudolikelihood"]) == 0
    for one, other in zip(learned.rules, mln.load(files[2]).rules, strict=True):
        assert one.weight == pytest.approx(other.weight, abs=1e-5)
    for more in (["--folds"], ["--method", "cd"], ["--time-limit", "3"], ["-e", str(tmp_path / "d.db")]):
        assert run([*given, "--engine", "local", *more]) == 2
        assert "engine" in capsys.readouterr().err


def test_too_many_kinds_are_refused(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(on_engine, "MOST_KINDS", 1)
    (tmp_path / "d.db").write_text(case(1)[1])
    with pytest.raises(mln.ResourceError, match="kinds of observations"):
        learn_on(OnEngine("local"), mln.Model.parse(DECLARED + "P(x)\n"), str(tmp_path / "d.db"), "P", prior=1.0, progress=False)
