"""Pairs of equivalence relations: contributions by sums over partitions against all partitions, and parts against the whole."""

from __future__ import annotations

import itertools
import math
import random

import numpy as np
import pytest

import markovlogic as mln
from markovlogic.errors import InputError
from markovlogic.reasons import relation, sampled

RULES = """\
rec = {%s}
Same(rec, rec)
Like(rec, rec)
Near(rec, rec)
Same(x, x).
Same(x, y) => Same(y, x).
Same(x, y) ^ Same(y, z) => Same(x, z).
%s Same(x, y)
%s Like(x, y) => Same(x, y)
%s Near(x, y) ^ Same(x, y)
"""


def partitions(items):
    """All partitions, as labels."""
    n = len(items)
    for label in itertools.product(range(n), repeat=n):
        if all(value <= max(label[:at], default=-1) + 1 for at, value in enumerate(label)):
            yield np.array(label)


def made(seed: int, n: int, tmp_path):
    rng = random.Random(seed)
    names = [f"R{at}" for at in range(n)]
    weights = [round(rng.uniform(-1.5, 1.0), 2), round(rng.uniform(0.2, 2.0), 2), round(rng.uniform(-1.0, 1.0), 2)]
    like, near, soft, lines = np.zeros((n, n)), np.zeros((n, n)), np.zeros((n, n)), ["Like(R0,R0)", "Near(R0,R0)"]
    like[0, 0] = near[0, 0] = 1
    for a, b in itertools.product(range(n), repeat=2):
        for name, table in (("Like", like), ("Near", near)):
            if a != b and rng.random() < 0.3:
                table[a, b] = 1
                lines.append(f"{name}({names[a]},{names[b]})")
        if a < b and rng.random() < 0.2:
            p = round(rng.uniform(0.2, 0.8), 2)
            soft[a, b] = math.log(p / (1 - p))
            lines.append(f"{p} Same({names[a]},{names[b]})")
    (tmp_path / "f.db").write_text("\n".join(lines))
    model = mln.Model.parse(RULES % (", ".join(names), *weights))
    off = 1 - np.eye(n)  # a record with itself is always the same
    by_rule = {8: weights[0] * off, 9: weights[1] * like * off, 10: weights[2] * near * off, 0: soft}
    return model, model.evidence(tmp_path / "f.db"), by_rule


@pytest.mark.parametrize("seed", range(6))
def test_contributions_are_the_integral_over_all_partitions(tmp_path, seed):
    n = 3 + seed % 4
    model, evidence, by_rule = made(seed, n, tmp_path)
    worlds = np.array([(label[:, None] == label).astype(float) for label in partitions(range(n))])
    count = {rule: (worlds * weight).sum(axis=(1, 2)) for rule, weight in by_rule.items()}
    pair = worlds[:, 0, 1] == 1
    node, measure = np.polynomial.legendre.leggauss(60)
    wanted = dict.fromkeys(by_rule, 0.0)
    for t, width in zip((node + 1) / 2, measure / 2, strict=True):
        weight = np.exp(t * sum(count.values()))
        for rule, own in count.items():
            true, false = (np.average(own[rows], weights=weight[rows]) for rows in (pair, ~pair))
            wanted[rule] += width * (true - false)
    found = mln.why(model, evidence, "Same(R0,R1)")
    assert abs(found.base - math.log(pair.sum() / (~pair).sum())) < 1e-9 and found.is_exact
    for one in found.contributions:
        rule = int(one.place.split(":")[1]) if one.place else 0
        assert abs(one.log_odds - wanted[rule]) < 1e-8, one
        left = np.exp(sum(own for other, own in count.items() if other != rule))
        assert abs(one.without - left[pair].sum() / left.sum()) < 1e-9
    assert abs(found.base + sum(one.log_odds for one in found.contributions) - found.logit) < 1e-8
    full = np.exp(sum(count.values()))
    assert abs(found.probability - full[pair].sum() / full.sum()) < 1e-9


def test_log_odds_are_right_where_probabilities_are_next_to_certain(tmp_path):
    size = 20
    names = [f"R{at}" for at in range(4)]
    text = RULES % (", ".join(names), -size, 2.2 * size, 0.0)
    (tmp_path / "f.db").write_text("Like(R0,R1)\nLike(R1,R2)\nNear(R0,R0)\n")
    model = mln.Model.parse(text)
    off, like = 1 - np.eye(4), np.zeros((4, 4))
    like[0, 1] = like[1, 2] = 1
    worlds = np.array([(label[:, None] == label).astype(float) for label in partitions(range(4))])
    weight = (worlds * (2.2 * size * like - size * off)).sum(axis=(1, 2))
    true = worlds[:, 0, 3] == 1
    wanted = np.logaddexp.reduce(weight[true]) - np.logaddexp.reduce(weight[~true])
    found = mln.why(model, model.evidence(tmp_path / "f.db"), "Same(R0,R3)")
    assert found.is_exact and abs(found.logit - wanted) < 1e-9 * abs(wanted)
    total = found.base + sum(one.log_odds for one in found.contributions)
    assert abs(total - wanted) < 1e-6 * abs(wanted) and not found.concerns


def test_a_pair_that_hard_rules_exclude_is_decided():
    text = "rec = {A, B, C, D}\nshop = {S}\nSame(rec, rec)\nFrom(rec, shop)\nLike(rec, rec)\n"
    text += "Same(x, x).\nSame(x, y) => Same(y, x).\nSame(x, y) ^ Same(y, z) => Same(x, z).\n"
    text += "Same(x, y) ^ From(x, s) ^ From(y, s) => x = y.\n0.5 Same(x, y)\n1 Like(x, y) => Same(x, y)\n"
    model = mln.Model.parse(text)
    facts = {"From": {"a": ["B", "C"], "b": ["S", "S"]}, "Like": {"a": ["A"], "b": ["D"]}, "Same": {"a": ["A"], "b": ["B"]}}
    found = mln.why(model, model.evidence(**facts), "Same(A,C)", open_=["Same"])
    assert found.probability == 0 and found.logit == -math.inf


@pytest.mark.parametrize("least_share", [0.1, 2.0])  # with the second, rules are always left out by chains of their own
def test_chains_are_within_their_errors_and_a_planted_error_is_not(tmp_path, monkeypatch, least_share):
    model, evidence, _ = made(3, 5, tmp_path)
    exact = mln.why(model, evidence, "Same(R0,R1)")
    monkeypatch.setattr(relation.PairPath, "_summed", lambda *_: None)
    monkeypatch.setattr(sampled, "LEAST_SHARE", least_share)
    found = mln.why(model, evidence, "Same(R0,R1)", draws=120, seed=2)
    assert any("chains estimate" in note for note in found.notes) and not found.is_exact
    right = {one.place: one for one in exact.contributions}
    z = [(one.log_odds - right[one.place].log_odds) / one.stderr for one in found.contributions]
    z += [(one.without - right[one.place].without) / one.without_stderr for one in found.contributions]
    assert np.abs(z).max() < 6  # of a dozen numbers, a false alarm in 10^7 runs
    assert max(abs(one.log_odds - 1.2 * right[one.place].log_odds) / one.stderr for one in found.contributions) > 6
    assert max(abs(one.without - right[one.place].without - 0.05) / one.without_stderr for one in found.contributions) > 6


def test_the_part_of_a_pair_gives_what_the_whole_gives(tmp_path):
    lines, names = [], []
    for family in range(20):
        own = [f"R{family}_{at}" for at in range(3)]
        names += own
        lines += [f"Cand({a},{b})" for a, b in itertools.permutations(own, 2)]
        lines += [f"Like({own[0]},{own[1]})", f"Like({own[1]},{own[2]})"]
        if family:
            lines += [f"Cand({names[-4]},{own[0]})", f"Cand({own[0]},{names[-4]})"]
            lines += [f"0.0001 Same({names[-4]},{own[0]})"]
    (tmp_path / "f.db").write_text("\n".join(lines))
    text = "Cand(rec, rec)\n" + RULES.replace("rec = {%s}\n", "").replace("Near(rec, rec)\n", "").replace(
        "%s Near(x, y) ^ Same(x, y)", "Same(x, y) => x = y v Cand(x, y)."
    ) % (-0.5, 1.5)
    model = mln.Model.parse(text)
    evidence = model.evidence(tmp_path / "f.db")
    result = mln.infer(model, evidence, ["Same"], progress=False)
    pair = "Same(R7_0,R7_2)"
    part = result.why(pair)
    assert len(names) > relation.FEW_RECORDS
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(relation, "FEW_RECORDS", 1000)
        whole = result.why(pair)
    assert whole.is_exact and abs(whole.probability - float(result[pair])) < 1e-6
    for one, other in zip(part.contributions, whole.contributions, strict=True):
        assert one.rule == other.rule and abs(one.log_odds - other.log_odds) < 0.02
    assert part.contributions[0].groundings[0].facts == whole.contributions[0].groundings[0].facts


def test_rules_about_more_than_one_pair_take_the_common_way():
    text = "rec = {A, B, C, D}\nSame(rec, rec)\nGood(rec)\nSame(x, x).\nSame(x, y) => Same(y, x).\n"
    text += "Same(x, y) ^ Same(y, z) => Same(x, z).\n0.7 Same(x, y) ^ Good(x) => Good(y)\n0.3 Good(A)\n"
    found = mln.why(mln.Model.parse(text), None, "Same(A,B)")
    other = mln.infer(mln.Model.parse(text), None, ["Same(A,B)"], method="enumerate", progress=False)
    assert found.is_exact and abs(found.probability - float(other.probability[0])) < 1e-9


@pytest.mark.parametrize("seed", range(3))
def test_log_odds_of_a_pair_by_records_add_up(tmp_path, seed):
    model, evidence, _ = made(seed, 5, tmp_path)
    found = mln.why(model, evidence, "Same(R0,R1)", groundings=100)
    parts = found.pair
    assert abs(found.base + parts.direct + sum(value for _, value in parts.through) + parts.rest - found.logit) < 1e-8
    by_pair: dict[frozenset[str], float] = {}
    for one in found.contributions:
        for ground in one.groundings:
            pair = frozenset(ground.text.lstrip("!")[5:-1].split(","))
            by_pair[pair] = by_pair.get(pair, 0.0) + ground.log_odds
    assert abs(parts.direct - by_pair.get(frozenset(("R0", "R1")), 0.0)) < 1e-9
    for name, value in parts.through:
        own = sum(by_pair.get(frozenset((end, name)), 0.0) for end in ("R0", "R1"))
        assert abs(value - own) < 1e-9


def test_clusters_and_linked_records_explain_their_pairs():
    rng = random.Random(4)
    names = ["anna", "bert", "carl", "dora", "emil", "fred", "gina", "hugo"]
    rows = [
        (f"r{at}", rng.choice(names), rng.choice(names) + rng.choice(names), str(rng.randrange(1950, 1960))) for at in range(30)
    ]
    rows += [(f"s{at}", first, last, year) for at, (_, first, last, year) in enumerate(rows[:12])]
    frame = {name: [row[at] for row in rows] for at, name in enumerate(("id", "first", "last", "year"))}
    linked = mln.link(frame, progress=False)
    table = linked.pairs.to_pylist()
    clusters = mln.cluster(mln.Model.parse(linked.model.text), linked.model.tables, "Same", apart=True, progress=False)
    open_pairs = [row for row, tied in zip(table, linked.compared.tied, strict=True) if not tied and row["stderr"] == 0][:4]
    assert open_pairs
    for row in open_pairs:
        found, other = linked.why(row["a"], row["b"]), clusters.why(f'Same("{row["a"]}","{row["b"]}")')
        assert abs(found.probability - row["probability"]) < 0.01 and abs(other.probability - row["probability"]) < 0.01
        facts = {fact for one in found.contributions for ground in one.groundings for fact in ground.facts}
        assert any(fact.startswith(("First(", "Last(", "Year(")) for fact in facts)
    tied = next((row for row, tied in zip(table, linked.compared.tied, strict=True) if tied), None)
    assert tied is None or linked.why(tied["a"], tied["b"]).probability > 0.99
    with pytest.raises(InputError, match="there is no record zz"):
        linked.why("r1", "zz")
