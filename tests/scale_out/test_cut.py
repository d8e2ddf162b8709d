"""Cuts of equivalence relations: what is cut, against groups found in plain Python and the cut pairs as evidence."""

from __future__ import annotations

import math
import random
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import markovlogic as mln
from markovlogic.cli.main import main as run
from markovlogic.errors import ResourceError
from markovlogic.running.sampling import Sampling
from markovlogic.scale_out import stages
from markovlogic.scale_out.options import EngineOptions
from markovlogic.scale_out.stages import prepare_stored, solve_stored

RULES = """
Cand(record, record)
Score(record, record): real
Near(record, record)
Same(record, record)
Same(x, x).
Same(x, y) => Same(y, x).
Same(x, y) ^ Same(y, z) => Same(x, z).
!Cand(x, y) => x = y v !Same(x, y).
1 * Score(x, y) Same(x, y)
0.7 Near(x, y) => Same(x, y)
-0.3 Same(x, y)
"""
N = 9


def case(seed: int) -> tuple[dict[str, Any], dict[tuple[int, int], float]]:
    """Evidence, and the probability of each pair by what rules say of it alone."""
    rng = random.Random(seed)
    pairs = [(i, j) for i in range(N) for j in range(i + 1, min(N, i + 4)) if rng.random() < 0.8]
    score = {pair: rng.choice([2.0, -1.0, -2.0, -3.0]) for pair in pairs}
    near = {pair for pair in score if rng.random() < 0.3}
    both = [*score, *((b, a) for a, b in score)]

    def table(of: list[tuple[int, int]], **more: Any) -> pa.Table:
        columns = {"a": [f"R{a}" for a, _ in of], "b": [f"R{b}" for _, b in of]}
        return pa.table({name: pa.array(own, pa.string()) for name, own in columns.items()} | more)

    evidence = {"Cand": table(both), "Score": table(pairs, value=[*score.values()]), "Near": table([*near])}
    # a rule Near => Same is satisfied or not by Near alone where Near is false; both directions of a pair count
    log_odds = {pair: value + 0.7 * (pair in near) - 0.6 for pair, value in score.items()}
    return evidence, {pair: 1 / (1 + math.exp(-value)) for pair, value in log_odds.items()}


def groups(pairs: dict[tuple[int, int], float], below: float) -> list[int]:
    """The smallest record of each one's group."""
    label = list(range(N))
    for _ in range(N):
        for (a, b), p in pairs.items():
            if p >= below:
                label[a] = label[b] = min(label[a], label[b])
    return label


def test_pairs_between_groups_are_false(engines: tuple[str, Any]) -> None:
    name, opened = engines
    model = mln.Model.parse(RULES)
    n_cut = 0
    for seed in range(6 if name == "duckdb" else 2):
        evidence, pairs = case(seed)
        for below in (0.02, 0.2):
            options = EngineOptions(Sampling(), cut=below)
            with opened() as engine:
                prepared = prepare_stored(engine, model, list(evidence.items()), ["Same"], options)
                summary = solve_stored(prepared, options)
                rows = {row[0]: row[1] for row in engine.rows("SELECT * FROM result")}
            label = groups(pairs, below)
            gone = {pair: p for pair, p in pairs.items() if label[pair[0]] != label[pair[1]]}
            (cut,) = summary.cuts
            assert cut.pairs == len(gone) and cut.kept == len(pairs) - len(gone), seed
            assert cut.expected == pytest.approx(sum(gone.values()), abs=1e-5)
            assert cut.largest == pytest.approx(max(gone.values(), default=0.0), abs=1e-5)
            assert cut.group == max([1, *(label.count(one) for one in label)])
            n_cut += len(gone)
            given = dict(evidence)
            if gone:
                columns = {"a": [f"R{a}" for a, _ in gone], "b": [f"R{b}" for _, b in gone]}
                given["Same"] = pa.table({**columns, "truth": [False] * len(gone)})
            expected = mln.infer(model, given, ["Same"], method="exact", progress=False)
            for atom in expected:
                assert rows[atom] == pytest.approx(float(expected[atom]), abs=1e-9), (seed, atom)
    assert n_cut > 10


def test_the_estimate_is_larger_than_what_the_cut_does() -> None:
    """On average over cases: the estimate counts pairs one by one, and the others of a group speak against most of them."""
    model = mln.Model.parse(RULES)
    off = estimated = 0.0
    for seed in range(8):
        evidence, pairs = case(seed)
        full = mln.infer(model, evidence, ["Same"], method="exact", progress=False)
        found = mln.infer(model, evidence, ["Same"], engine="local", cut=0.1, progress=False)
        label = groups(pairs, 0.1)
        kept = [f"Same(R{a},R{b})" for a, b in pairs if label[a] == label[b]]
        if not kept:
            continue
        off += sum(abs(float(full[atom]) - float(found[atom])) for atom in kept) / len(kept)
        text = next(remark for remark in found.remarks if "were cut" in remark)
        estimated += float(text.partition("at most about ")[2].partition(" ")[0])
        assert found.guarantee == ("unbounded" if len(kept) < len(pairs) else "exact")
    assert 0 < off < estimated


def test_the_command_says_what_was_cut(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    evidence, _ = case(0)
    (tmp_path / "m.mln").write_text(RULES)
    given = ["infer", str(tmp_path / "m.mln"), "-q", "Same", "-o", str(tmp_path / "o.csv")]
    for name, table in evidence.items():
        pq.write_table(table, tmp_path / f"{name}.parquet")
        given += ["-e", f"{name}={tmp_path / name}.parquet"]
    assert run([*given, "--engine", "local", "--cut", "0.2"]) in (0, 1)
    assert "pairs of Same below 0.2 were cut between groups" in capsys.readouterr().err
    assert run([*given, "--cut", "0.2"]) == 2 and "add --engine" in capsys.readouterr().err
    assert run([*given, "--engine", "local", "--cut", "1.5"]) == 2


def test_a_component_that_is_too_large_comes_with_cuts(monkeypatch: pytest.MonkeyPatch, engines: tuple[str, Any]) -> None:
    monkeypatch.setattr(stages, "MOST_ROWS", 5)
    evidence, _ = case(0)
    with (
        engines[1]() as engine,
        pytest.raises(ResourceError, match=r"--cut 0.05 leaves groups of at most \d+ and errors of about"),
    ):
        prepare_stored(engine, mln.Model.parse(RULES), list(evidence.items()), ["Same"], EngineOptions(Sampling()))
