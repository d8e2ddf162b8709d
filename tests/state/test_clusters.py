"""Clusters after changes are those of a fresh run; parts that have not changed keep their numbers bit by bit."""

from __future__ import annotations

import random
from pathlib import Path

import numpy as np
import pytest

import markovlogic as mln
from markovlogic.api import cluster as api
from markovlogic.state import cluster_parts

RULES = """
Same(rec, rec)
Cand(rec, rec)
Kind(rec, kind)
Same(x, x).
Same(x, y) => Same(y, x).
Same(x, y) ^ Same(y, z) => Same(x, z).
Same(x, y) => x = y v Cand(x, y) v Cand(y, x).
-1.2 Kind(x, k) ^ Kind(y, l) ^ k != l => Same(x, y)
"""


def blocks(rng: random.Random) -> dict[str, float]:
    """Pairs with scores in families of up to five records."""
    pairs = {}
    for family in range(6):
        names = [f"R{family}{letter}" for letter in "ABCDE"[: rng.randint(2, 5)]]
        for at, one in enumerate(names):
            for other in names[at + 1 :]:
                if rng.random() < 0.8:
                    pairs[f"{one},{other}"] = rng.choice((0.1, 0.3, 0.6, 0.8, 0.95))
    return pairs


def write(path: Path, pairs: dict[str, float], kinds: dict[str, str]) -> str:
    lines = [f"Cand({pair})" for pair in pairs] + [f"{score} Same({pair})" for pair, score in pairs.items()]
    lines += [f"Kind({record},{kind})" for record, kind in kinds.items()]
    path.write_text("\n".join(lines) + "\n")
    return str(path)


def shown(found) -> tuple[dict[tuple[str, str], float], dict[str, float], set[frozenset[str]]]:
    pairs = {tuple(sorted((row["first"], row["second"]))): row["probability"] for row in found.pairs_table().to_pylist()}
    rows = found.table().to_pylist()
    clusters: dict[int, set[str]] = {}
    for row in rows:
        clusters.setdefault(row["cluster"], set()).add(row["constant"])
    return pairs, {row["constant"]: row["probability"] for row in rows}, {frozenset(own) for own in clusters.values()}


def changed(rng: random.Random, pairs: dict[str, float], kinds: dict[str, str]) -> None:
    drawn = rng.random()
    pair = rng.choice(sorted(pairs))
    if drawn < 0.3:
        pairs[pair] = rng.choice((0.2, 0.5, 0.9))
    elif drawn < 0.5:
        del pairs[pair]
    elif drawn < 0.8:
        pairs[f"{pair.split(',')[0]},New{rng.randint(0, 3)}"] = 0.7
    else:
        kinds[pair.split(",")[0]] = rng.choice(("K1", "K2"))


def faults(tmp_path: Path, seeds: range) -> list[str]:
    model, found, kept = mln.Model.parse(RULES), [], 0
    for seed in seeds:
        rng = random.Random(f"clusters {seed}")
        pairs, kinds = blocks(rng), {"R0A": "K1"}
        for step in range(4):
            evidence = write(tmp_path / "facts.db", pairs, kinds)
            one = mln.cluster(model, evidence, "Same", state=tmp_path / f"state {seed}", progress=False)
            other = mln.cluster(model, evidence, "Same", progress=False)
            kept += any("parts have not changed" in note for note in one.notes)
            for a, b in zip(shown(one)[:2], shown(other)[:2], strict=True):
                if a.keys() != b.keys() or any(abs(a[key] - b[key]) > 1e-9 for key in a if a[key] == a[key]):
                    found.append(f"seed {seed}, step {step}: {a} for {b}")
            if shown(one)[2] != shown(other)[2]:
                found.append(f"seed {seed}, step {step}: other clusters")
            changed(rng, pairs, kinds)
    assert kept
    return found


def test_clusters_after_changes_are_those_of_a_fresh_run(tmp_path: Path) -> None:
    assert not faults(tmp_path, range(8))


def test_a_stale_part_is_seen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Digests without weights keep pairs whose scores have changed."""
    real = cluster_parts.atom_and_clause_sums

    def blind(rows, *more):
        from dataclasses import replace

        return real(replace(rows, atom_bias=np.where(np.isinf(rows.atom_bias), rows.atom_bias, 0.0)), *more)

    monkeypatch.setattr(cluster_parts, "atom_and_clause_sums", blind)
    assert faults(tmp_path, range(8))


def test_sampled_parts_keep_their_numbers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With nothing solved exactly, parts that have not changed keep draws, errors and chances of their clusters."""
    real = api.solve_parts
    monkeypatch.setattr(api, "solve_parts", lambda network, parts, wanted, **more: real(network, parts, wanted & False, **more))
    model, rng = mln.Model.parse(RULES), random.Random(3)
    pairs = blocks(rng)
    options = {"draws": 100, "chains": 8, "state": tmp_path / "state", "progress": False}
    before = mln.cluster(model, write(tmp_path / "facts.db", pairs, {"R0A": "K1"}), "Same", **options)
    first = next(pair for pair in pairs if pair.startswith("R2"))
    pairs[first] = 0.5
    after = mln.cluster(model, write(tmp_path / "facts.db", pairs, {"R0A": "K1"}), "Same", **options)
    old, new = shown(before), shown(after)
    same = [pair for pair in old[0] if not pair[0].startswith("R2")]
    assert same and all(old[0][pair] == new[0][pair] for pair in same)
    assert all(old[1][name] == new[1][name] for name in old[1] if not name.startswith("R2"))
    assert any(old[0][pair] != new[0][pair] for pair in old[0] if pair[0].startswith("R2"))
    again = mln.cluster(model, write(tmp_path / "facts.db", pairs, {"R0A": "K1"}), "Same", **options)
    assert shown(again) == new
