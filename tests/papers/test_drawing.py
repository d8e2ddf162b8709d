"""Charts say what they show: readable axes, labelled levels, legends for all panels, and means of what the caption says."""

from __future__ import annotations

import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.papers.tiny import drawn_by, outcome_of, tiny

from markovlogic_papers.experiments.catalogue import PANELS, experiment
from markovlogic_papers.experiments.drawing import FEWEST_TICKS, Lines, beside, caption, lines, log_ticks
from markovlogic_papers.experiments.outcome import Table

TABLE = Table(
    ("ratio", "sampler", "setting", "run", "score"),
    [
        (ratio, "a", setting, run, 0.1 * run + ratio)
        for ratio in (1, 2)
        for setting in ("other", "corrected", "literal")
        for run in (1, 2)
    ],
)


@given(st.floats(-12, 6), st.floats(0.001, 8))
def test_logarithmic_axes_have_ticks_enough(power, decades):
    low, high = 10.0**power, 10.0 ** (power + decades)
    ticks = log_ticks(low, high)
    assert len(ticks) >= FEWEST_TICKS and ticks == sorted(set(ticks))
    assert low <= ticks[0] and ticks[-1] <= high
    if decades >= FEWEST_TICKS:
        np.testing.assert_allclose(np.log10(ticks), np.rint(np.log10(ticks)), atol=1e-9)


def drawn(**more):
    return Lines("title", "ratio", "score", ("sampler", "setting"), "x", "y", **more)


def test_levels_say_what_they_are():
    text = lines(TABLE, drawn(target=0.5, target_title="noise floor: two runs")).to_json()
    assert text.count("noise floor: two runs") == 2  # and the white behind it
    assert "noise floor" not in lines(TABLE, drawn(target=0.5)).to_json()


def test_every_panel_has_a_legend_of_its_dashes_and_literal_is_solid_in_all():
    made = beside([lines(TABLE, drawn())] * 3, title="all").to_dict()
    assert made["title"]["text"] == "all"
    for row in (made, *made["vconcat"]):
        assert row["resolve"]["scale"] == {"color": "independent", "strokeDash": "independent"}
    dashes = [
        layer["encoding"]["strokeDash"] for layer in made["vconcat"][0]["hconcat"][0]["layer"] if "order" in layer["encoding"]
    ]
    assert [dash["scale"]["domain"] for dash in dashes] == [["literal", "corrected", "other"]]
    assert dashes[0]["scale"]["range"][0] == [1, 0]


def test_captions_count_what_is_averaged():
    assert caption(TABLE, drawn()) == "line: mean over 2 runs; band: their range"
    reported = caption(TABLE, drawn(pooled={"settings": ("setting",), "samplers": ("sampler",)}, band=False))
    assert reported == "line: mean over 2 runs and 3 settings"


@pytest.mark.parametrize("name", ["E1", "E2", "E10", "E13", "E14", "E15"])
def test_captions_of_experiments_are_true(name):
    """No point is a mean of more values than its caption says; ranks, ratios and weights were averaged over silently once."""
    chart = tiny(name).draw(outcome_of(name).table)
    (words,) = set(re.findall(r'"subtitle": "line: mean over ([^;"]*)', chart.to_json()))
    assert max(value["of"] for panel in drawn_by(chart) for value in panel) <= np.prod(
        [int(number) for number in re.findall(r"\d+", words)]
    )


def test_charts_show_the_best_rank_of_each_run_and_say_so():
    """Worked out here from the table alone; the verdict's own means are those."""
    outcome, found = outcome_of("E13"), {}
    for r in outcome.table.records():
        if r["preprocessor"] == "BMF (nimfa)":
            ranks = found.setdefault((r["evidence"], r["weights"]), {}).setdefault(r["run"], {})
            ranks.setdefault(r["rank"], []).append(r["absolute_error"])
    wanted = {
        panel: np.mean([min(np.mean(own) for own in ranks.values()) for ranks in runs.values()]) for panel, runs in found.items()
    }
    assert any(len(ranks) > 1 for runs in found.values() for ranks in runs.values())
    label = "BMF (nimfa), best rank of each run"
    panels_of = drawn_by(tiny("E13").draw(outcome.table))
    shown = [own for panel in panels_of if (own := [value["y"] for value in panel if value["preprocessor"] == label])]
    np.testing.assert_allclose([min(ys) for ys in shown], list(wanted.values()), atol=1e-12)
    np.testing.assert_allclose([max(ys) for ys in shown], list(wanted.values()), atol=1e-12)
    reported = " ".join(outcome.verdict.reasons)
    assert all(f"BMF (nimfa) {value:.3f}" in reported for value in wanted.values() if value > 1e-6)


def test_titles_are_true_at_every_scale():
    """How large the problems are is the scale's matter, and `--quick` has another."""
    for name in PANELS:
        made = experiment(name)
        assert not re.search("full.size|a tenth", f"{PANELS[name]} {made.title}"), name
    assert "full" not in tiny("E3").draw(outcome_of("E3").table).to_json()
