"""All panels end to end at a tiny scale: the files, their columns and keys, figures, resumption, refusals."""

from __future__ import annotations

import json
import re

import pytest
from tests.papers.tiny import SCALES, tiny

from markovlogic.errors import InputError
from markovlogic_papers.experiments import catalogue, outcome, reproduce
from markovlogic_papers.experiments.np_cluster import METHOD, RIVAL
from markovlogic_papers.experiments.outcome import Table

PNG = b"\x89PNG\r\n\x1a\n"
KEYS = {"id", "title", "source", "claim", "measured", "verdict", "reasons", "settings", "seconds", "version", "table"}


TO_PNG = outcome.to_png


@pytest.fixture(autouse=True)
def small(monkeypatch):
    """Charts are made and written as their specification: painting one takes longer than what it shows."""
    monkeypatch.setattr(reproduce, "experiment", tiny)
    monkeypatch.setattr(outcome, "to_png", lambda chart: PNG + chart.to_json().encode())


@pytest.fixture
def painted(monkeypatch):
    """Charts are painted."""
    monkeypatch.setattr(outcome, "to_png", TO_PNG)


def check_files(folder, name, *columns):
    summary = json.loads((folder / f"{name}.json").read_text())
    assert set(summary) == KEYS
    assert summary["id"] == name and summary["claim"] and summary["measured"] and summary["reasons"]
    assert summary["verdict"] in ("agrees", "differs", "unclear")
    assert summary["settings"]["quick"] is True and summary["settings"]["seed"] == 0
    assert summary["reasons"][0] == reproduce.TOO_SMALL
    assert (folder / f"{name}.png").read_bytes().startswith(PNG)
    table = Table.from_csv((folder / f"{name}.csv").read_text())
    assert set(columns) <= set(table.columns) and table.rows
    return table


def test_every_panel_has_a_module_and_a_scale():
    assert set(SCALES) == set(catalogue.PANELS)
    for name in catalogue.PANELS:
        made = catalogue.experiment(name)
        assert made.id == name and name in made.title and made.source.startswith("[00")
        assert type(made.quick) is type(made.full)


@pytest.mark.parametrize("name", ["E17a", "E17b", "E17d", "E17e", "E17f"])
def test_curves(tmp_path, name):
    (done,) = reproduce.reproduce(name, tmp_path, quick=True)
    table = check_files(tmp_path, name, "sampler", "estimator", "run", "draws", "seconds", "kl_estimate_truth", "mse")
    assert done.id == name and not done.kept
    assert {"sample", "orbit"} <= set(table.column("estimator"))
    assert set(table.column("run")) == {1, 2, 3}
    for record in table.records():
        assert record["kl_estimate_truth"] >= 0 and record["seconds"] > 0


def test_orbit_averages_never_raise_the_mean_squared_error(tmp_path):
    """On the same draws, summed over an orbit, whatever the sampler ([003] Thm 5 and papers.md 3.6)."""
    reproduce.reproduce("E17b", tmp_path, quick=True)
    error = {}
    for record in Table.from_csv((tmp_path / "E17b.csv").read_text()).records():
        error[record["sampler"], record["run"], record["draws"], record["estimator"]] = record["mse"]
    for (*where, estimator), value in error.items():
        assert value <= error[(*where, "sample")] + 1e-15, (where, estimator)


def test_sizes(tmp_path):
    reproduce.reproduce("E17j", tmp_path, quick=True)
    table = check_files(tmp_path, "E17j", "model", "people", "estimator", "run", "reached", "draws", "updates", "seconds")
    assert set(table.column("model")) == {"plain", "transitive"}
    assert set(table.column("people")) == {3, 4, 5}
    reproduce.reproduce("E17g", tmp_path, quick=True)
    found = check_files(tmp_path, "E17g").column("estimator")
    assert {"exact", "lifted, all marginals", "lifted, one marginal"} <= set(found)


@pytest.mark.parametrize("name", ["E4", "E5"])
def test_errors_of_lifted_blocked_gibbs_and_its_rivals(tmp_path, name):
    reproduce.reproduce(name, tmp_path, quick=True)
    table = check_files(tmp_path, name, "evidence", "objects", "sampler", "estimator", "seconds", "kl_estimate_truth")
    assert set(table.column("evidence")) == {"unary atoms", "any atoms", "any atoms, few objects"}
    samplers = set(table.column("sampler"))
    assert samplers == {"lifted-blocked", "blocked", "blocked, same clusters", "mcsat", "gibbs", "lifted-bp"}
    measured = json.loads((tmp_path / f"{name}.json").read_text())["measured"]
    for weight in ("0.2", "1"):
        assert measured[f"weight {weight}, unary atoms"]["truth"].startswith("exact: lifted")
        assert measured[f"weight {weight}, any atoms, few objects"]["truth"].startswith("exact: sum")
    assert measured["weight 1, any atoms"]["gold_largest_stderr"] > 0


@pytest.mark.usefixtures("painted")
@pytest.mark.parametrize("name", ["E6", "E7"])
def test_mixing(tmp_path, name):
    reproduce.reproduce(name, tmp_path, quick=True)
    table = check_files(tmp_path, name, "sampler", "repeat", "draws", "seconds", "log_rhat")
    assert {"lifted-blocked", "blocked", "gibbs"} <= set(table.column("sampler"))


@pytest.mark.parametrize("name", ["E8", "E9"])
def test_seconds_of_iterations(tmp_path, name):
    reproduce.reproduce(name, tmp_path, quick=True)
    table = check_files(tmp_path, name, "objects", "sampler", "iterations", "seconds", "setting_up")
    assert set(table.column("objects")) == {2, 3, 4}
    reasons = json.loads((tmp_path / f"{name}.json").read_text())["reasons"]
    assert any("5 objects: not grounded" in reason for reason in reasons)


def test_clustered_gibbs_on_cut_benchmarks(tmp_path):
    reproduce.reproduce("E2", tmp_path, quick=True)
    table = check_files(tmp_path, "E2", "benchmark", "evidence", "setting", "sampler", "run", "sweep", "hellinger")
    assert set(table.column("benchmark")) == {"webkb, made", "er, made"}
    assert set(table.column("setting")) == {"literal", "corrected", "noise floor"}
    assert all(0 <= value <= 1 for value in table.column("hellinger"))


def test_full_size_benchmarks_and_their_clustered_chains(tmp_path):
    reproduce.reproduce("E3", tmp_path, quick=True)
    table = check_files(tmp_path, "E3", "benchmark", "evidence", "sampler", "draws", "seconds", "mean_rhat", "visited")
    assert {"gibbs", "cgibbs", "acgibbs scan", "acgibbs lazy", METHOD, RIVAL} == set(table.column("sampler"))


@pytest.mark.parametrize("name", ["E13", "E14"])
def test_pre_processing_on_the_synthetic_model(tmp_path, name):
    reproduce.reproduce(name, tmp_path, quick=True)
    table = check_files(tmp_path, name, "rules", "evidence", "weights", "setting", "preprocessor", "ratio", "absolute_error")
    assert len(set(table.column("preprocessor"))) == 6
    assert set(table.column("setting")) == {"literal", "literal, other rule of evidence", "corrected"}


@pytest.mark.parametrize("name", ["E10", "E11", "E12"])
def test_inference_after_pre_processing(tmp_path, name):
    reproduce.reproduce(name, tmp_path, quick=True)
    table = check_files(tmp_path, name, "benchmark", "setting", "preprocessor", "ratio", "rank", "run", "score", "seconds")
    assert set(table.column("benchmark")) == {"webkb", "er"} and len(set(table.column("preprocessor"))) == 7
    assert set(table.column("setting")) == {"literal", "corrected", "noise floor"}
    assert all(0 <= value <= 1 for value in table.column("score"))


def test_sizes_of_embeddings_and_seconds(tmp_path):
    reproduce.reproduce("E15", tmp_path, quick=True)
    table = check_files(tmp_path, "E15", "benchmark", "setting", "f1")
    assert set(table.column("dimensions")) == {2, 3, None}  # none: all evidence
    reproduce.reproduce("E16", tmp_path, quick=True)
    assert all(value >= 0 for value in check_files(tmp_path, "E16", "engine", "preprocessor", "pre_seconds").column("seconds"))


def test_a_figure_joins_its_panels_and_resumption_keeps_them(tmp_path):
    reported = []
    done = reproduce.reproduce("e18", tmp_path, quick=True, report=reported.append)
    assert [d.id for d in done] == ["E18a", "E18b", "E18c", "E18d", "E18e", "E18"] and reported == done
    columns = {"E18a": "rank", "E18b": "rhat", "E18c": "acceptance", "E18d": "sampler", "E18e": "largest_error"}
    for name, column in columns.items():
        check_files(tmp_path, name, column)
    assert set(check_files(tmp_path, "E18", "panel", "rank", "rhat").column("panel")) == set(columns)
    assert json.loads((tmp_path / "E18.json").read_text())["settings"]["panels"] == list(columns)
    before = (tmp_path / "E18b.csv").stat().st_mtime_ns
    (tmp_path / "E18c.json").unlink()  # as if the run had been interrupted before it was whole
    again = {d.id: d.kept for d in reproduce.reproduce("E18", tmp_path, quick=True, resume=True)}
    assert again == {"E18a": True, "E18b": True, "E18c": False, "E18d": True, "E18e": True, "E18": False}
    assert (tmp_path / "E18b.csv").stat().st_mtime_ns == before
    assert not any(path.name.startswith(".") for path in tmp_path.iterdir())


def test_other_settings_are_not_resumed(tmp_path):
    reproduce.reproduce("E18c", tmp_path, quick=True)
    (done,) = reproduce.reproduce("E18c", tmp_path, quick=True, seed=1, resume=True)
    assert not done.kept


@pytest.mark.parametrize("change", [lambda raw: raw[:-3], lambda raw: raw.replace(b"0", b"1", 1), lambda raw: b"\xff"])
def test_a_table_that_was_torn_or_changed_is_made_again(tmp_path, change):
    reproduce.reproduce("E18c", tmp_path, quick=True)
    whole = (tmp_path / "E18c.csv").read_bytes()
    assert reproduce.reproduce("E18c", tmp_path, quick=True, resume=True)[0].kept
    (tmp_path / "E18c.csv").write_bytes(change(whole))
    assert not reproduce.reproduce("E18c", tmp_path, quick=True, resume=True)[0].kept


def test_the_same_seed_gives_the_same_numbers(tmp_path):
    for folder in ("one", "two"):
        reproduce.reproduce("E17b", tmp_path / folder, quick=True, seed=4)
    tables = [Table.from_csv((tmp_path / folder / "E17b.csv").read_text()) for folder in ("one", "two")]
    for name in tables[0].columns:
        if name != "seconds":
            assert tables[0].column(name) == tables[1].column(name)


def test_unknown_experiments_and_bad_directories_are_refused(tmp_path):
    with pytest.raises(InputError, match="E18c reads no benchmarks"):
        reproduce.reproduce("E18c", tmp_path, settings={"data": "somewhere"})
    with pytest.raises(InputError, match="holds no webkb"):
        reproduce.reproduce("E2", tmp_path, settings={"data": str(tmp_path)})
    with pytest.raises(InputError, match="there is no experiment E17z"):
        reproduce.reproduce("E17z", tmp_path)
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match="cannot make the directory"):
        reproduce.reproduce("E17a", tmp_path / "file")


@pytest.mark.parametrize("name", ["E4", "E17b", "E18a", "E18c"])
def test_verdicts_and_charts_go_by_the_divergence_that_was_requested(tmp_path, name):
    """The papers do not say which direction they mean (papers.md 1.6): the table has both, and `kl` is the judged one."""
    found = {}
    for direction, column in (("est||true", "kl_estimate_truth"), ("true||est", "kl_truth_estimate")):
        folder = tmp_path / column
        reproduce.reproduce(name, folder, quick=True, settings={"kl": direction})
        table = Table.from_csv((folder / f"{name}.csv").read_text())
        assert table.column("kl") == table.column(column)
        summary = json.loads((folder / f"{name}.json").read_text())
        assert summary["settings"]["kl"] == direction
        found[direction] = summary["measured"]["friends anywhere"] if name == "E17b" else summary["measured"]
    one, other = tmp_path / "kl_estimate_truth", {"kl": "true||est"}
    assert not reproduce.reproduce(name, one, quick=True, settings=other, resume=True)[0].kept
    if name == "E17b":  # whose numbers but seconds are those of the seed
        assert found["est||true"]["final_kl"] != found["true||est"]["final_kl"]


def test_settings_of_scales_are_given_as_text(tmp_path):
    reproduce.reproduce("E17b", tmp_path, quick=True, settings={"runs": "2"})
    assert set(Table.from_csv((tmp_path / "E17b.csv").read_text()).column("run")) == {1, 2}
    assert reproduce.reproduce("E17b", tmp_path, quick=True, settings={"runs": "2"}, resume=True)[0].kept
    with pytest.raises(InputError, match=r"kl is 'sideways', expected one of est\|\|true, true\|\|est"):
        reproduce.reproduce("E17b", tmp_path, quick=True, settings={"kl": "sideways"})
    with pytest.raises(InputError, match="--set runs=many: runs takes a whole number"):
        reproduce.reproduce("E17b", tmp_path, quick=True, settings={"runs": "many"})
    with pytest.raises(InputError, match="E1 has no setting kl"):
        reproduce.reproduce("E1", tmp_path, quick=True, settings={"kl": "est||true"})


@pytest.mark.parametrize(
    ("name", "settings", "says"),
    [
        ("E17b", {"runs": "0"}, "runs takes a whole number, 1 or more"),
        ("E17b", {"runs": "65"}, "E17b cannot be run with runs=65: a batch has 1 to 64 chains"),
        ("E17b", {"draws": "100"}, "draws cannot be given as text"),
        ("E1", {"weights": "1,2"}, "weights cannot be given as text"),
        ("E10", {"tested": "24,24"}, "tested takes 3 values"),
        ("E10", {"benchmarks": "foo"}, "foo is unknown"),
        ("E13", {"evidence": "0.2"}, "0.2 is unknown"),
        ("E4", {"seconds": "nan"}, "seconds takes a number that is not negative"),
        ("E18e", {"pages": "6,eight"}, "--set pages=6,eight: pages takes whole numbers, separated by commas"),
        ("E18e", {"pages": "6,"}, "--set pages=6,: pages takes whole numbers, separated by commas"),
    ],
)
def test_scales_that_make_no_sense_are_refused(tmp_path, name, settings, says):
    with pytest.raises(InputError, match=re.escape(says)):
        reproduce.reproduce(name, tmp_path, quick=True, settings=settings)
