"""The most probable partition: held against all worlds of small models, weighed by whole formulas."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from tests.oracle.evaluation import GroundAtom, log_weight
from tests.partition.models import random_model

import markovlogic as mln
from markovlogic.cli.main import main
from markovlogic.errors import InputError
from markovlogic.map_inference import partitions, settings
from markovlogic.methods.partition import exact

SEEDS = range(14)


def relations(predicate: str, names: str) -> Iterator[set[GroundAtom]]:
    """All equivalence relations, and those in which some constants are related to nothing."""
    seen = set()
    for block in itertools.product(range(len(names) + 1), repeat=len(names)):
        pairs = itertools.product(zip(names, block, strict=True), repeat=2)
        seen.add(frozenset((predicate, (x, y)) for (x, one), (y, other) in pairs if one == other > 0))
    yield from map(set, seen)


def best_weight(text: str, facts: str, names: str, *, alike: bool) -> float:
    """The largest Σ w·N of all worlds that agree with the facts, -inf where there is none."""
    model = mln.Model.parse(text)
    true, false = set(), set()
    for line in facts.split("\n")[:-1]:
        predicate, args = line.lstrip("!").rstrip(")").split("(")
        (false if line.startswith("!") else true).add((predicate, tuple(args.split(", "))))
    domains = {"r": list(names), "s": ["S", "T", "X"], "k": ["U", "V"]}
    given = {atom for atom in true if atom[0] in ("Sim", "Cand", "Of")}
    others = [{("Good", (x,)) for x in chosen} for n in range(len(names) + 1) for chosen in itertools.combinations(names, n)]
    kinds = [{("Kind", (x, k)) for x, k in zip(names, each, strict=True)} for each in itertools.product("UV", repeat=len(names))]
    if "Kind(x, " not in text:
        kinds = kinds[:1]  # no rule speaks of them
    also: list[set[GroundAtom]] = list(relations("Alike", "STX")) if alike else [set()]
    best = -np.inf
    for same, good, kind, other in itertools.product(relations("Same", names), others, kinds, also):
        world = given | same | good | kind | other
        if true <= world and not false & world:
            best = max(best, log_weight(model, domains, world))
    return best


def problem(seed: int, folder: Path) -> tuple[str, Path, str, float]:
    """Rules, facts, query, and what the best world weighs."""
    rng = np.random.default_rng(1000 + seed)
    text, facts, query = random_model(rng, n=3)
    (folder / "facts.db").write_text(facts)
    return text, folder / "facts.db", query, best_weight(text, facts, "ABC", alike="Alike" in query)


@pytest.mark.parametrize("seed", SEEDS)
def test_no_world_weighs_more(seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text, facts, query, best = problem(seed, tmp_path)
    model = mln.Model.parse(text)
    if best == -np.inf:
        with pytest.raises(InputError, match=r"no world|makes this hard rule false"):
            mln.maximize(model, facts, query)
        return
    listed = mln.maximize(model, facts, query)
    assert listed.log_weight == pytest.approx(best, abs=1e-9) and listed.is_optimal
    assert mln.maximize(model, facts, query, method="ilp").log_weight == pytest.approx(best, abs=1e-6)
    # the same by search and integer programs, and by search alone
    monkeypatch.setattr(exact, "MOST_NODES", 0)
    monkeypatch.setattr(exact, "MOST_PLACES", 0)
    proved = mln.maximize(model, facts, query)
    assert proved.log_weight == pytest.approx(best, abs=1e-9) and proved.is_optimal
    monkeypatch.setattr(partitions, "MOST_TRIPLES", -1)
    searched = mln.maximize(model, facts, query)
    assert searched.log_weight == pytest.approx(best, abs=1e-9) and searched.bound >= best - 1e-9


RULES = """Same(r, r)
Same(x, x).
Same(x, y) ^ Same(x, z) => Same(y, z).
"""


def test_a_part_that_is_not_listed_is_proved(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["generate", "records", "--size", "40", "--seed", "3", "--evidence", "0", "-o", str(tmp_path), "--quiet"]) == 0
    given = [str(tmp_path / "records.mln"), "-e", str(tmp_path / "records.db"), "-q", "Same", "--quiet"]
    weight = {}
    for method in ("auto", "ilp"):
        stats = tmp_path / f"{method}.json"
        assert main(["map", *given, "--method", method, "--stats", str(stats), "-o", str(tmp_path / f"{method}.txt")]) == 0
        reported = json.loads(stats.read_text())
        assert reported["proved"] and reported["guarantee"] == "exact"
        weight[method] = reported["log_weight"]
    assert reported["network"] == "ground" and json.loads((tmp_path / "auto.json").read_text())["network"] == "none"
    assert weight["auto"] == pytest.approx(weight["ilp"], abs=1e-6)


def test_search_alone_tells_its_gap(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(partitions, "MOST_TRIPLES", 0)
    rng = np.random.default_rng(0)
    names = [f"R{i}" for i in range(14)]
    pairs = list(itertools.combinations(range(14), 2))
    weight = np.array([2.5 if i // 4 == j // 4 else -1.0 for i, j in pairs]) + rng.normal(0, 0.3, len(pairs))
    weight[pairs.index((0, 4))] = 0.5  # alone it would be together
    table = {"x": [names[i] for i, _ in pairs], "y": [names[j] for _, j in pairs], "weight": weight}
    world = mln.maximize(mln.Model.parse(RULES), {"Same": table}, "Same", tries=2)
    planted = weight[[i // 4 == j // 4 for i, j in pairs]].sum()
    assert world.log_weight == pytest.approx(planted, abs=1e-9)
    assert world.run.method == "partition" and world.tries == 2 and world.flips == 2 * 60 * 14
    assert world.gap == pytest.approx(0.5, abs=1e-9) and world.guarantee.value == "bounded"
    assert "Same is an equivalence relation" in world.remarks[0]
    short = mln.maximize(mln.Model.parse(RULES), {"Same": table}, "Same", tries=1, flips=28)
    assert (short.tries, short.flips) == (1, 28)


def test_rules_that_confine_blocks_are_grounded() -> None:
    names = ", ".join(f"R{i}" for i in range(13))
    hard = "Same(R0, R1) v Same(R0, R2).\n"  # not with every record alone
    model = mln.Model.parse(f"r = {{{names}}}\n{RULES}{hard}-1 Same(x, y)\n")
    world = mln.maximize(model, None, "Same")
    assert world.is_optimal and world.log_weight == pytest.approx(-15.0)
    assert not settings.map_method_named("ilp").partitions


def test_definitions_that_have_a_pair_in_both_orders(monkeypatch: pytest.MonkeyPatch) -> None:
    text = "t = {A, B, C, D}\nE(t, t)\nE(x,x).\nE(x,y) => E(y,x).\nE(x,y) ^ E(y,z) => E(x,z).\n"
    text += "-0.49 FORALL x (!E(C,y) => !E(y,x))\n0.33 E(x,y)\n-0.6 EXIST x (E(x,y) ^ E(y,x) ^ E(x,C))\n"
    model = mln.Model.parse(text)
    best = max(log_weight(model, {"t": list("ABCD")}, world) for world in relations("E", "ABCD") if ("E", ("A", "A")) in world)
    assert mln.maximize(model, None, "E").log_weight == pytest.approx(best, abs=1e-9)
    monkeypatch.setattr(exact, "MOST_NODES", 1)
    proved = mln.maximize(model, None, "E")
    assert proved.log_weight == pytest.approx(best, abs=1e-9) and proved.is_optimal
