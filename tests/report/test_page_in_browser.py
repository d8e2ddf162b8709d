"""The page in a real browser, without a network: sorted, searched, scrolled, explained. Skipped where no browser is installed."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import numpy as np
import pytest
from tests.report.made import marginals

import markovlogic as mln
from markovlogic.cli.main import main
from markovlogic.data.evidence import Domain
from markovlogic.report.view_data import ROWS_SHOWN

EXAMPLES = Path(__file__).parents[2] / "examples"
RELATION = """\
Same(rec, rec)
Like(rec, rec)
Same(x, x).
Same(x, y) => Same(y, x).
Same(x, y) ^ Same(y, z) => Same(x, z).
-0.5 Same(x, y)
1.5 Like(x, y) => Same(x, y)
"""


@pytest.fixture
def opened(browser, tmp_path):
    """Opens a page; at the end nothing was fetched and nothing went wrong in it."""
    context = browser.new_context()
    context.set_offline(True)
    wrong: list[str] = []

    def show(result, **parts):
        path = tmp_path / "out.html"
        if isinstance(result, Path):
            path = result
        else:
            result.report(path, **parts)
        tab = context.new_page()
        tab.on("pageerror", lambda error: wrong.append(str(error)))
        tab.on("console", lambda message: wrong.append(message.text) if message.type == "error" else None)
        tab.on(
            "request",
            lambda requested: None if requested.url.startswith(("file:", "data:", "blob:")) else wrong.append(requested.url),
        )
        tab.goto(f"file://{path}")
        tab.wait_for_selector(".mln [role=tabpanel] *")
        return tab

    yield show
    context.close()
    assert not wrong


def names(tab):
    return tab.locator("tr.row td:first-child code").all_inner_texts()


def test_rows_are_sorted_and_searched(opened):
    result = marginals(sampled=True)
    result = dataclasses.replace(result, rhat=np.where(np.arange(17) == 3, np.inf, 1.001), notes=("1 < 2",))
    tab = opened(result)
    by_probability = [list(result)[row] for row in np.argsort(-result.probability, kind="stable")]
    assert names(tab) == by_probability
    assert tab.locator(".count").inner_text() == "17 of 17 rows"
    heads = [head for head in tab.locator(".rows th").all_inner_texts() if head]
    assert heads == ["Atom", "Probability ▼", "± error", "R-hat", "ESS"]
    tab.click("th[data-column=atom]")
    assert names(tab) == list(result)
    tab.click("th[data-column=rhat]")
    assert names(tab)[0] == list(result)[3] and tab.locator("tr.row >> nth=0 >> td >> nth=4").inner_text() == "inf"
    tab.click(".uncertain")
    assert result[names(tab)[0]] == 0.5
    tab.fill("input[type=search]", "ODD")
    assert len(names(tab)) == 7 and all("odd" in name for name in names(tab))
    tab.fill("input[type=search]", "")
    tab.select_option("select", label="formulas")
    assert names(tab) == ["Smokes(Ann)^!Smokes(Bob)"]
    tab.select_option("select", label="Friends")
    assert len(names(tab)) == 16
    assert "1 < 2" in tab.locator(".concern").all_inner_texts()
    tab.click("[data-panel=convergence]")
    assert tab.locator("svg[aria-label='Effective sample size'] rect").count() == 1


def test_fifty_thousand_rows_scroll_and_the_rest_is_named(opened):
    people = Domain("person", tuple(f"P{i:03}" for i in range(225)))
    result = marginals(people)
    assert len(result) > ROWS_SHOWN
    tab = opened(result)
    assert tab.locator(".count").inner_text() == "50,000 of 50,000 rows"
    assert f"50,000 most probable of {len(result):,} rows" in tab.inner_text("body")
    assert names(tab)[0] == "Friends(P224,P224)" and len(names(tab)) < 200
    first = names(tab)[0]
    tab.evaluate("document.querySelector('.window').scrollTop = 1e9")  # rows are drawn anew some time after
    tab.wait_for_function("first => !document.querySelector('tr.row').innerText.includes(first)", arg=first)
    assert result[names(tab)[-1]] == np.sort(result.probability)[-ROWS_SHOWN]
    tab.fill("input[type=search]", "friends(p200,p01")
    assert names(tab) == [f"Friends(P200,P{i:03})" for i in range(19, 9, -1)]


def test_the_page_shows_what_was_requested(opened):
    result = marginals()
    run = dataclasses.replace(
        result.run,
        sources=("a.mln", "b.db", "C=c.csv"),
        query=("Friends",),
        command="mln infer a.mln -q Friends",
        seed=7,
        version="1.2",
    )
    tab = opened(dataclasses.replace(result, run=run))
    tab.click("tr.row >> nth=1")
    assert "mln why a.mln -e b.db -e C=c.csv 'Friends(" in tab.inner_text(".side")
    tab.click("[data-panel=run]")
    shown = tab.inner_text(".run")
    for line in (
        "model\ta.mln",
        "evidence\tb.db, C=c.csv",
        "query\tFriends",
        "command\tmln infer a.mln -q Friends",
        "seed\t7",
        "version\t1.2",
    ):
        assert line in shown, shown


def test_a_selected_atom_has_its_waterfall_and_its_neighbours(opened, tmp_path):
    out = tmp_path / "smokers.html"
    arguments = [str(EXAMPLES / "smokers.mln"), "-e", str(EXAMPLES / "smokers.db"), "-q", "Cancer,Smokes(Bob)"]
    assert main(["infer", *arguments, "-o", str(out), "--why", "2", "--quiet"]) == 0
    tab = opened(out)
    assert tab.locator(".mark").count() == 2
    tab.click("tr.row >> text=Smokes(Bob)")
    values = tab.locator(".step .value").all_inner_texts()
    assert values == ["+0.000", "−0.779", "−0.594", "+0.475", "−0.221", "−1.119"]
    tab.click(".step >> nth=3 >> summary")
    assert "Friends(Ann,Bob)" in tab.locator(".step >> nth=3 >> .chip").all_inner_texts()
    near = tab.locator(".neighbours .pill title").all_text_contents()
    assert near[-1] == "Smokes(Bob)" and {"Smokes(Ann)", "Friends(Ann,Bob)", "Cancer(Bob)"} <= set(near)
    tab.click(".neighbours .pill[role=button]:has-text('Cancer(Bob)')")  # that atom is selected then
    assert "Cancer(Bob)" in tab.inner_text(".side h2 >> nth=0")
    tab.click(".explained")
    assert len(names(tab)) == 2


def test_clusters_traces_calibration_and_a_comparison(opened, tmp_path):
    (tmp_path / "f.db").write_text("Like(A, B)\nLike(B, A)\nLike(B, C)\nLike(C, B)\n")
    (tmp_path / "t.db").write_text("Same(A, B)\nSame(B, C)\n!Same(A, C)\n")
    model = mln.Model.parse(RELATION)
    exact = mln.infer(model, model.evidence(tmp_path / "f.db"), ["Same"], progress=False)
    other = mln.infer(mln.Model.parse(RELATION.replace("1.5", "0.1")), tmp_path / "f.db", ["Same"], progress=False)
    drawn = mln.infer(
        model, tmp_path / "f.db", ["Same"], method="partition", chains=4, draws=200, keep_draws=True, progress=False
    )
    tab = opened(drawn, why=["Same(A,C)"], truth=tmp_path / "t.db", other=other)
    tab.click("[data-panel=clusters]")
    link = tab.inner_text(".weakest")
    assert tab.locator(".cluster").count() == 1 and link in ("A – B", "B – C")
    weakest = min(float(exact["Same(A,B)"]), float(exact["Same(B,C)"]))
    assert abs(float(tab.locator(".cluster p").last.inner_text().split()[-1]) - weakest) < 0.2
    tab.click("[data-panel=convergence]")
    assert tab.locator(".trace polyline").count() == 4 * tab.locator(".trace").count() > 0
    tab.click("[data-panel=calibration]")
    assert tab.locator("svg[aria-label=calibration] circle").count() >= 1 and "Brier" in tab.inner_text(".mln")
    tab.click("[data-panel=comparison]")
    assert "atoms differ beyond their errors" in tab.inner_text(".mln")
    tab.click(".changes tbody tr >> nth=0")
    assert tab.get_attribute("[data-panel=answers]", "aria-selected") == "true"
