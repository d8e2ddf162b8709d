"""What users see of engines: the command line, files, and messages about what cannot be done."""

from __future__ import annotations

import itertools
import json
import random
from collections.abc import Callable
from contextlib import AbstractContextManager, closing
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tools.random_models import Features, Judged, Maker, shown

import markovlogic as mln
from markovlogic.api.scaled import OnEngine, maximize_on
from markovlogic.cli.main import main as run
from markovlogic.errors import InputError, ResourceError, UnsupportedError
from markovlogic.grounding.backends import Engine, sessions
from markovlogic.grounding.backends.duckdb import open_duckdb
from markovlogic.running.sampling import Sampling
from markovlogic.scale_out import stages
from markovlogic.scale_out.options import EngineOptions

SMOKERS = ["examples/smokers.mln", "-e", "examples/smokers.db", "-q", "Smokes,Cancer"]


def test_local_gives_the_table_of_any_run(tmp_path: Path) -> None:
    own, other = tmp_path / "own.csv", tmp_path / "other.csv"
    assert run(["infer", *SMOKERS, "--engine", "local", "-o", str(own), "--stats", str(tmp_path / "s.json"), "--quiet"]) == 0
    assert run(["infer", *SMOKERS, "-o", str(other), "--quiet"]) == 0
    first, second = (path.read_text().splitlines() for path in (own, other))
    assert [line.split(",")[0] for line in first] == [line.split(",")[0] for line in second]
    for one, two in zip(first[1:], second[1:], strict=True):
        assert float(one.split(",")[1]) == pytest.approx(float(two.split(",")[1]), abs=1e-12)
    stats = json.loads((tmp_path / "s.json").read_text())
    assert stats["method"] == "exact" and stats["guarantee"] == "exact" and stats["atoms"] == 6


def test_map_explain_and_cluster(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["map", *SMOKERS[:3], "--engine", "local", "-o", str(tmp_path / "world")]) == 0
    assert (tmp_path / "world").read_text() == "Cancer(Ann)\n"
    assert run(["explain", *SMOKERS, "--engine", "local", "--json", "--quiet"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["components"] == 3 and found["largest_component"] == 4 and found["atoms"] == 6
    assert found["plan"]["methods"] == {"exact": 6}
    rules = "Cand(r, r)\nSame(r, r)\nSame(x,x).\nSame(x,y) => Same(y,x).\nSame(x,y) ^ Same(y,z) => Same(x,z).\n"
    (tmp_path / "r.mln").write_text(rules + "!Cand(x,y) ^ !Cand(y,x) => x = y v !Same(x,y).\n1.5 Cand(x,y) => Same(x,y)\n")
    (tmp_path / "r.db").write_text("Cand(A,B)\nCand(B,C)\nCand(A,C)\nCand(D,D)\nCand(E,F)\n")
    given = ["cluster", str(tmp_path / "r.mln"), "-e", str(tmp_path / "r.db"), "--predicate", "Same", "--quiet"]
    groups = []
    for more in ([], ["--engine", "local"]):
        assert run([*given, *more, "-o", str(tmp_path / "c.csv")]) == 0
        rows = [line.split(",") for line in (tmp_path / "c.csv").read_text().splitlines()[1:]]
        groups.append({frozenset(one for one, own, _ in rows if own == label) for _, label, _ in rows})
    assert groups[0] == groups[1] and frozenset("ABC") in groups[0]


def test_the_best_world_weighs_as_much_as_any(tmp_path: Path) -> None:
    for seed in range(25):
        case = Maker(random.Random(seed), Features(hard=0.3, numbers=0.3, soft=0.3)).case()
        judged = Judged(case)
        path = tmp_path / "facts.db"
        path.write_text(case.evidence_text)
        case.query = sorted(case.queried)
        try:
            world = maximize_on(OnEngine("local"), mln.Model.parse(case.model_text), [str(path)], case.query)
        except InputError:
            assert not judged.exists, seed
            continue
        except (UnsupportedError, ResourceError):
            continue
        assert judged.exists, seed
        true = set(world.atoms)
        weight = judged.weight.copy()
        for name, args in judged.open:
            if name in case.query:
                weight[judged.truth[name, args] != (shown((name, args)) in true)] = -float("inf")
        if world.is_proved:
            assert weight.max() == pytest.approx(judged.best, abs=1e-6), seed


def test_a_dataset_is_written_whole_and_never_over_another(
    sail: Callable[[int], AbstractContextManager[Engine]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "out.parquet"
    links = tmp_path / "links.parquet"
    pq.write_table(pa.table({"a": ["Ann", "Bob"], "b": ["Bob", "Cid"]}), links)

    real = sessions.spark_engine

    def opened(remote: str | None = None, **more: Any) -> AbstractContextManager[Engine]:
        return sail(2) if remote == "sail" else real(remote, **more)

    monkeypatch.setattr(sessions, "spark_engine", opened)
    (tmp_path / "m.mln").write_text("Friends(person, person)\nSmokes(person)\n1.1 Friends(x,y) ^ Smokes(x) => Smokes(y)\n")
    given = ["infer", str(tmp_path / "m.mln"), "-e", f"Friends=sql:SELECT a, b FROM parquet.`{links}`", "-q", "Smokes"]
    given += ["--engine", "spark", "--spark-remote", "sail", "-o", str(path)]
    assert run([*given, "--quiet"]) == 0
    table = pq.read_table(path).sort_by("atom")
    assert table["atom"].to_pylist() == ["Smokes(Ann)", "Smokes(Bob)", "Smokes(Cid)"]
    assert table.column_names == ["atom", "probability", "stderr", "rhat", "ess", "predicate", "arg1"]
    there = mln.infer(str(tmp_path / "m.mln"), {"Friends": str(links)}, ["Smokes"], progress=False)
    assert table["probability"].to_pylist() == pytest.approx(there.probability.tolist(), abs=1e-12)
    assert run([*given, "--quiet"]) == 2  # it exists


@pytest.mark.parametrize(
    ("options", "text"),
    [
        (["--engine", "cloud"], "choose local or spark"),
        (["--spark-remote", "sail"], "add --engine spark"),
        (["--engine", "spark", "--method", "lifted"], "does not work component by component"),
        (["--engine", "spark", "--compress", "kmeans"], "--compress: not supported"),
        (["--engine", "spark", "--spark-remote", "nowhere"], "expected sc://host:port"),
    ],
)
def test_what_cannot_be_done_is_refused(options: list[str], text: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["infer", *SMOKERS, *options, "--quiet"]) == 2
    assert text in capsys.readouterr().err


@pytest.mark.parametrize("command", ["map", "cluster --predicate Friends"])
def test_commands_refuse_states_on_engines(command: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    name, *more = command.split()
    given = [name, *SMOKERS[:3], *more, "--engine", "local", "--state", str(tmp_path / "state"), "--quiet"]
    assert run(given) == 2
    assert "--state: not supported with --engine" in capsys.readouterr().err


def test_a_component_too_large_for_an_executor_is_refused_with_what_ties_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stages, "MOST_ROWS", 5)
    model = mln.Model.parse("P(t)\nL(t, t)\n1 L(x, y) ^ P(x) => P(y)\n0.5 P(x)\n")
    pairs = list(itertools.pairwise("ABCDEFGH"))
    table = pa.table({"a": [a for a, _ in pairs], "b": [b for _, b in pairs]})
    with closing(open_duckdb()) as engine, pytest.raises(ResourceError, match=r"1 L\(x, y\) \^ P\(x\) => P\(y\).*--closed"):
        stages.prepare_stored(engine, model, [("L", table)], ["P"], EngineOptions(Sampling()))


def test_errors_of_executors_come_back_as_they_were(sail: Callable[[int], AbstractContextManager[Engine]]) -> None:
    contradictory = "P(A) v Q(A).\n!P(A) v Q(A).\nP(A) v !Q(A).\n!P(A) v !Q(A).\n1 P(x)\n"
    cases = [
        (contradictory, "auto", ["P"], InputError, "no world"),
        ("1 P(A)\n", "gibbs", ["P(A) <=> Q(A)"], UnsupportedError, "ties"),
    ]
    for rules, method, query, kind, text in cases:
        options = EngineOptions(Sampling(chains=2, draws=10), method)
        with sail(2) as engine:
            prepared = stages.prepare_stored(engine, mln.Model.parse("P(t)\nQ(t)\n" + rules), [], query, options)
            with pytest.raises(kind, match=text):
                stages.solve_stored(prepared, options)
