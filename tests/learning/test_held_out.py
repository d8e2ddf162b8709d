"""Couplings are chosen by inference in left-out databases: kept where they help, set to zero where they do harm."""

from __future__ import annotations

import json
import math
import re
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from tests.learning.made import training

import markovlogic as mln
from markovlogic.cli.main import main
from markovlogic.language.load import parse
from markovlogic.learning.databases import database_of, halves
from markovlogic.learning.folds import cross_validate
from markovlogic.learning.held_out import fold_of_atoms, marginal_log_likelihood
from markovlogic.learning.optimise import _best_so_far, _to_try
from markovlogic.learning.priors import BASE_ALONE, NO_COUPLINGS, SCALES, Prior, penalty_of, prior_choice
from markovlogic.system.cancellation import Deadline, check, current, part_of_time

RULES = "S(p)\nE(p)\nL(p, p)\n(S(x))\nE(x) ^ S(x)\nL(x, y) ^ S(x) ^ S(y)\n"


def database(seed: int, *, helps: bool) -> dict[str, pa.Table]:
    """Pairs of linked people. Evidence is weak; whether one is S is that of the other (helps), or drawn alone."""
    rng = np.random.default_rng(seed)
    names = [f"P{i}" for i in range(80)]
    s = np.repeat(rng.random(40) < 0.5, 2) if helps else rng.random(80) < 0.5
    e = rng.random(80) < np.where(s, 0.7, 0.3)
    links = [(names[i], names[i + 1]) for i in range(0, 80, 2)]
    return {
        "S": pa.table({"x": names, "truth": s.tolist()}),
        "E": pa.table({"x": names, "truth": e.tolist()}),
        "L": pa.table({"x": [a for a, _ in links], "y": [b for _, b in links]}),
    }


def learned(helps: bool) -> mln.Learned:
    return mln.learn(mln.Model.parse(RULES), [database(seed, helps=helps) for seed in (1, 2, 3)], "S")


def test_couplings_that_help_are_learned() -> None:
    found = learned(True)
    assert found.method == "cd" and found.weights[2].weight > 1.0
    assert any("chosen by inference in 3 databases left out" in note for note in found.notes)
    assert "for couplings" in found.prior and found.stats["updates"] > 0


def test_couplings_that_do_not_earn_their_place_are_small() -> None:
    found = learned(False)
    assert abs(found.weights[2].weight) < 0.3


def test_the_marginal_likelihood_is_that_of_all_worlds(tmp_path: Path) -> None:
    facts = "S(A)\n!S(B)\nS(C)\nE(A)\nE(B)\nL(A,B)\nL(B,C)\n"
    of = training(parse(RULES), facts, ["S"], tmp_path)
    weights = np.array([0.3, -0.8, 1.1])
    worlds = [np.array([(w >> i) & 1 for i in range(3)], bool) for w in range(8)]
    mass = np.exp([float(weights @ of.counts(world)) for world in worlds])
    p = np.array(worlds).T @ mass / mass.sum()
    expected = float(np.log(np.where(of.database.truth, p, 1 - p)).sum())
    found = np.array([marginal_log_likelihood(of.network, weights, (seed,))[0] for seed in range(12)])
    # 12 runs of 1280 dependent draws: six standard errors of their mean, of which one run in 10^8 is farther away
    assert found.mean() == pytest.approx(expected, abs=6 * max(found.std() / math.sqrt(12), 0.003))
    # the twin: without the coupling it is another number
    other = np.array([marginal_log_likelihood(of.network, weights * [1, 1, 0], (seed,))[0] for seed in range(12)])
    assert abs(other.mean() - expected) > 6 * max(found.std() / math.sqrt(12), 0.003)


def test_a_prior_of_couplings() -> None:
    prior = Prior("l2", 2.0, 10.0, NO_COUPLINGS)
    made = penalty_of(prior, np.array([True, False, False]), np.array([False, False, True]))
    np.testing.assert_allclose(made.precision, [0.01, 0.25, 0])
    assert made.held.tolist() == [False, False, True]
    assert not prior.has_couplings and "no couplings" in str(prior)
    some = penalty_of(Prior("l2", 2.0, 10.0, 0.5), np.array([True, False, False]), np.array([False, False, True]))
    np.testing.assert_allclose(some.precision, [0.01, 0.25, 4])
    assert not some.held.any()


@pytest.mark.parametrize("base", [False, True])
def test_no_couplings_are_a_weight_of_zero(tmp_path: Path, base: bool) -> None:
    """The data pull hard at the coupling, each database another way: a narrow prior alone would not hold it."""
    (tmp_path / "m.mln").write_text("P(t)\n1 P(x) ^ P(y)\n" + "(P(x))\n" * base)
    files = []
    for name, n, n_true in (("A", 100, 95), ("B", 60, 3)):
        files.append(tmp_path / f"{name}.db")
        files[-1].write_text("".join(f"{'' if at < n_true else '!'}P({name}{at})\n" for at in range(n)))
    found = mln.learn(tmp_path / "m.mln", [str(file) for file in files], "P")
    assert (
        any("get no weight: they predict left-out atoms no better" in note for note in found.notes)
        and "no couplings" in found.prior
    )
    assert found.weights[0].weight == 0 and math.isnan(found.weights[0].stderr)
    assert "standard error" not in found.text().split("P(x) ^ P(y)")[1].splitlines()[0]
    if base:  # what is left is learned without it: 98 of 160 atoms are true
        assert found.weights[1].weight == pytest.approx(math.log(98 / 62), abs=0.01) and found.weights[1].stderr > 0


def test_a_prior_of_couplings_from_python_is_kept() -> None:
    databases = [database(seed, helps=True) for seed in (1, 2)]
    strong, none = (
        mln.learn(mln.Model.parse(RULES), databases, "S", method="pseudolikelihood", prior=Prior("l2", 2.0, None, coupling))
        for coupling in (0.05, NO_COUPLINGS)
    )
    plain = mln.learn(mln.Model.parse(RULES), databases, "S", method="pseudolikelihood", prior=2.0)
    assert "0.05 for couplings" in strong.prior and 0 < strong.weights[2].weight < plain.weights[2].weight / 5
    assert none.weights[2].weight == 0 and any("get no weight: the prior leaves them none" in note for note in none.notes)
    assert prior_choice(Prior("none", coupling=NO_COUPLINGS)).fixed == Prior("none", coupling=NO_COUPLINGS)


def graph(seed: int, *, helps: bool, people: int = 120) -> dict[str, pa.Table]:
    """One database: rings of six, in which everybody is S or nobody is (helps), or each is drawn alone."""
    rng = np.random.default_rng(seed)
    names = [f"P{i:03}" for i in range(people)]
    s = np.repeat(rng.random(people // 6) < 0.5, 6) if helps else rng.random(people) < 0.5
    links = [(names[i], names[i - i % 6 + (i + 1) % 6]) for i in range(people)]
    return {
        "S": pa.table({"x": names, "truth": s.tolist()}),
        "E": pa.table({"x": names, "truth": (rng.random(people) < np.where(s, 0.7, 0.3)).tolist()}),
        "L": pa.table({"x": [a for a, _ in links], "y": [b for _, b in links]}),
    }


def test_halves_of_a_database_share_nothing_but_what_rules_name() -> None:
    model = mln.Model.parse(RULES + "S(P007)\n")
    given = model.evidence(**graph(3, helps=True))
    one, other = halves(model, given, ("S",), 5)
    names = [set(half.domains["p"].names) for half in (one, other)]
    assert names[0] & names[1] == {"P007"} and names[0] | names[1] == set(given.domains["p"].names)
    assert min(map(len, names)) > len(given.domains["p"]) / 4
    every = {tuple(given.domains["p"].names[at] for at in row) for row in given.facts["L"].args.tolist()}
    kept = []
    for half in (one, other):
        own = half.domains["p"].names
        kept.append({tuple(own[at] for at in row) for row in half.facts["L"].args.tolist()})
        assert kept[-1] == {pair for pair in every if set(pair) <= set(own)}
        truth = dict(zip(half.facts["S"].args[:, 0].tolist(), half.facts["S"].truth.tolist(), strict=True))
        of = dict(zip(given.facts["S"].args[:, 0].tolist(), given.facts["S"].truth.tolist(), strict=True))
        assert {own[at]: value for at, value in truth.items()} == {
            name: of[at] for at, name in enumerate(given.domains["p"].names) if name in own and at in of
        }
    assert kept[0] | kept[1] == every  # linked people stay together
    assert halves(model, given, ("S", "E"), 5) and not halves(mln.Model.parse("S(p)\nB(q)\nS(x) ^ B(y)\n"), given, ("S", "B"), 5)


@pytest.mark.parametrize("helps", [True, False])
def test_parts_of_one_graph(helps: bool) -> None:
    """Hidden facts are foretold by their neighbours where these have to do with them (the twin: where not)."""
    model = mln.Model.parse(RULES)
    found = cross_validate(model, graph(3, helps=helps), "S", hold_out=4, method="pseudolikelihood", prior=1.0, progress=False)
    assert [fold.left_out for fold in found.folds] == [f"part {k} of 4" for k in range(1, 5)]
    assert found.pooled.overall.rows == 120  # each fact once
    # 120 facts: of a coin's tosses 60 are guessed, 71 or more in one run of 40
    right = ((found.pooled.probability > 0.5) == found.pooled.truth).mean()
    assert right > 0.9 if helps else right < 0.75
    learned = mln.learn(model, graph(3, helps=helps), "S", progress=False)
    assert any("inference in each half of the database, learned from the other" in note for note in learned.notes)
    # both kinds of weights are judged by what is left out, and the better ones are taken
    reported = [note for note in learned.notes if note.startswith("log-likelihood a left-out atom")]
    if reported:  # no couplings: nothing to go on to
        pseudo, conditional = (float(number) for number in re.findall(r"-\d+\.\d+", reported[0]))
        assert learned.method == ("cd" if conditional > pseudo else "pseudolikelihood")
    assert reported or not helps
    assert learned.weights[2].weight > 0.5 if helps else abs(learned.weights[2].weight) < 0.3


def test_what_is_hidden_is_not_seen() -> None:
    """Facts that are held out change neither the weights nor the probabilities: their labels may be exchanged."""
    model, tables = mln.Model.parse(RULES), graph(5, helps=True)
    database = database_of(model, model.evidence(**tables), ["S"], "")
    held = fold_of_atoms(database, 4, (0, 0)) == 0
    other = tables["S"].set_column(1, "truth", pa.array(np.asarray(tables["S"]["truth"]) ^ held))
    both = [
        cross_validate(model, given, "S", hold_out=4, method="pseudolikelihood", prior=1.0, progress=False).folds[0]
        for given in (tables, tables | {"S": other})
    ]
    assert both[0].learned.as_dict()["weights"] == both[1].learned.as_dict()["weights"]
    np.testing.assert_array_equal(both[0].evaluation.probability, both[1].evaluation.probability)
    np.testing.assert_array_equal(both[0].evaluation.truth, ~both[1].evaluation.truth)


def test_groups_are_hidden_as_a_whole() -> None:
    model = mln.Model.parse("C(p, c!)\nL(p, p)\nc = {X, Y, Z}\nC(x, +c)\nL(x, y) ^ C(x, c) ^ C(y, c)\n")
    names, of = [f"P{i:02}" for i in range(24)], np.arange(24) // 8
    tables = {
        "C": pa.table({"p": names, "c": [("X", "Y", "Z")[k] for k in of]}),
        "L": pa.table({"x": [names[i] for i in range(24)], "y": [names[i - i % 8 + (i + 1) % 8] for i in range(24)]}),
    }
    found = cross_validate(model, tables, "C", hold_out=3, method="pseudolikelihood", prior=1.0, progress=False)
    assert found.pooled.overall.rows == 72 and found.pooled.overall.true == 24
    assert found.pooled.overall.auc_pr > 0.9
    assert found.pooled.overall.groups == 24 and found.pooled.overall.accuracy > 0.9
    unlabelled = {**tables, "C": tables["C"].slice(0, 20)}  # four pages whose class is not known are not judged
    found = cross_validate(model, unlabelled, "C", hold_out=3, method="pseudolikelihood", prior=1.0, progress=False)
    assert found.pooled.overall.rows == 60 and found.pooled.overall.true == 20
    with pytest.raises(mln.InputError, match="has 20 query facts, too few for 30 parts"):
        cross_validate(model, unlabelled, "C", hold_out=30)


def test_hold_out_on_the_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    import pyarrow.csv as csv

    (tmp_path / "m.mln").write_text(RULES)
    for name, table in graph(1, helps=True, people=60).items():
        csv.write_csv(table, tmp_path / f"{name}.csv")
    evidence = ",".join(f"{name}={tmp_path / name}.csv" for name in "SEL")
    arguments = [
        "learn",
        str(tmp_path / "m.mln"),
        "-e",
        evidence,
        "-q",
        "S",
        "--hold-out",
        "3",
        "--prior",
        "1",
        "--method",
        "pseudolikelihood",
    ]
    code = main([*arguments, "-o", str(tmp_path / "o.mln"), "--stats", str(tmp_path / "s.json")])
    out, err = capsys.readouterr()
    assert code in (0, 1), err
    assert "part 3 of 3" in out and "together" in out and (tmp_path / "o.mln").exists()
    record = json.loads((tmp_path / "s.json").read_text())
    assert len(record["folds"]) == 3 and record["pooled"]["overall"]["rows"] == 60 and record["weights"]
    for wrong, says in (("1", "--hold-out"), ("3 --folds", "--folds and --hold-out together")):
        code = main([*arguments[:-6], "--hold-out", *wrong.split()])
        assert code == 2 and says in capsys.readouterr().err


def test_a_limit_is_divided_among_stages() -> None:
    """Where time ends the choice of a prior, none is taken that is narrow by chance, and the weights are on their way."""
    model, tables = mln.Model.parse(RULES), graph(1, helps=True)
    short = mln.learn(model, tables, "S", time_limit=1e-6, progress=False)
    assert "standard deviation 1 " in short.prior and any("cut short by the time limit" in note for note in short.notes)
    assert any("allow more time" in concern for concern in short.concerns())
    assert short.weights[2].weight > 0.5
    assert _best_so_far([]) == 1.0
    assert _best_so_far([(-9.0, 0.05), (-8.0, 0.1)]) == 1.0  # it still got better
    assert _best_so_far([(-9.0, 0.05), (-8.0, 0.1), (-8.001, 0.2)]) == 0.1
    assert _best_so_far([(-9.0, 1.0), (-8.0, 2.0)]) == 2.0


def test_parts_of_the_time() -> None:
    with Deadline(100.0).of_this_run():
        with part_of_time(0.5):
            assert 49 < current().left <= 50
            with part_of_time(0.1):
                assert 4 < current().left <= 5 and not current().over
            with part_of_time(0.0):
                assert current().over
                check()  # what was found is the answer: nothing is raised
        assert 99 < current().left <= 100
    with part_of_time(0.5):
        assert current().left is None


def test_weights_are_a_table() -> None:
    """A sequence of weights, and columns by name, for pandas, Polars and Arrow alike."""
    import polars as pl

    found = mln.learn(mln.Model.parse(RULES), graph(2, helps=True), "S", prior=1.0, method="pseudolikelihood", progress=False)
    frame = found.weights.to_pandas()
    assert list(frame.columns) == ["formula", "weight", "stderr", "informed", "rule"] == list(found.weights.columns)
    assert frame["weight"].tolist() == [one.weight for one in found.weights] == found.weights["weight"].tolist()
    assert (
        pl.from_arrow(found.weights.table())["formula"].to_list()
        == frame["formula"].tolist()
        == [one.formula for one in found.weights]
    )
    assert len(found.weights) == 3 and found.weights[1:][0] is found.weights[1]
    assert "stderr" in found.weights._repr_html_() and "weights learned by" in found._repr_html_()
    with pytest.raises(KeyError, match="no column of the weights"):
        found.weights["size"]


def noisy(seed: int, n_words: int = 30, people: int = 60) -> dict[str, pa.Table]:
    """One graph of which nothing is worth learning but how often S holds: words and links are drawn by themselves."""
    rng = np.random.default_rng(seed)
    names = [f"P{i}" for i in range(people)]
    has = [(f"W{w}", name) for name in names for w in range(n_words) if rng.random() < 0.3]
    links = [(names[a], names[b]) for a, b in rng.integers(0, people, (3 * people, 2)) if a != b]
    return {
        "S": pa.table({"x": names, "truth": (rng.random(people) < 0.3).tolist()}),
        "Has": pa.table({"w": [w for w, _ in has], "x": [x for _, x in has]}),
        "L": pa.table({"x": [a for a, _ in links], "y": [b for _, b in links]}),
    }


NOISY = "S(p)\nHas(word, p)\nL(p, p)\n(S(x))\nHas(+w, x) ^ S(x)\nL(x, y) ^ S(x) ^ S(y)\n"


def test_base_rates_alone_are_among_the_candidates() -> None:
    """With one database, too: rules that predict nothing get a weight of 0, in place of a small one."""
    data = noisy(3)
    found = mln.learn(mln.Model.parse(NOISY.replace("L(x, y) ^ S(x) ^ S(y)\n", "")), data, "S", progress=False)
    share = np.mean(data["S"]["truth"].to_pylist())
    assert "base rates alone" in found.prior and [one.weight for one in found.weights[1:]] == [0.0] * 30
    assert found.weights[0].weight == pytest.approx(math.log(share / (1 - share)), abs=0.05)


def test_strengths_halfway_between_those_of_the_grid_are_tried() -> None:
    """Words of WebKB call for 0.3, between 0.2 and 0.5, and predict a university that was not seen far better with it."""
    for best, found in ((0.32, 0.32), (0.5, 0.5), (0.7, 0.71), (0.01, 0.05), (30.0, 10.0), (BASE_ALONE, BASE_ALONE)):
        tried: list[tuple[float, float]] = []
        for scale in _to_try((BASE_ALONE, *SCALES), tried):
            tried.append((-1.0 - abs(math.log((scale or 1e-3) / (best or 1e-3))), scale))
        assert max(tried)[1] == found
        assert len({scale for _, scale in tried}) == len(tried) <= len(SCALES) + 3
