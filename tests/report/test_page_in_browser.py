"""The page in a real browser, without a network: drawn, sorted, filtered, scrolled. Skipped where no browser is installed."""

from __future__ import annotations

import dataclasses
import shutil

import numpy as np
import pytest
from tests.report.made import marginals

from markovlogic.data.evidence import Domain
from markovlogic.report.page import ROWS_ON_PAGE

BROWSER = next((found for name in ("chromium", "chromium-browser", "google-chrome") if (found := shutil.which(name))), None)


@pytest.fixture(scope="module")
def browser():
    playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed", exc_type=ImportError)
    if BROWSER is None:
        pytest.skip("no Chromium is installed")
    with playwright.sync_playwright() as started:
        try:
            made = started.chromium.launch(executable_path=BROWSER, args=["--no-sandbox"])
        except playwright.Error as error:
            pytest.skip(f"{BROWSER} does not start: {str(error).splitlines()[0]}")
        yield made
        made.close()


@pytest.fixture
def opened(browser, tmp_path):
    """Opens a result's page; at the end nothing was fetched and nothing went wrong in it."""
    context = browser.new_context()
    context.set_offline(True)
    wrong: list[str] = []

    def show(result):
        result.report(tmp_path / "out.html")
        tab = context.new_page()
        tab.on("pageerror", lambda error: wrong.append(str(error)))
        tab.on("console", lambda message: wrong.append(message.text) if message.type == "error" else None)
        tab.on("request", lambda asked: None if asked.url.startswith(("file:", "data:", "blob:")) else wrong.append(asked.url))
        tab.goto(f"file://{tmp_path}/out.html")
        tab.wait_for_selector("#chart canvas, #chart svg")
        return tab

    yield show
    context.close()
    assert not wrong


def names(tab):
    return tab.locator("#rows tr.row td:first-child").all_inner_texts()


def test_rows_are_sorted_and_filtered(opened):
    result = marginals(sampled=True)
    result = dataclasses.replace(result, rhat=np.where(np.arange(17) == 3, np.inf, 1.001), notes=("1 < 2",))
    tab = opened(result)
    by_probability = [list(result)[row] for row in np.argsort(-result.probability, kind="stable")]
    assert names(tab) == by_probability
    assert tab.locator("#count").inner_text() == "17 of 17 rows"
    assert tab.locator("#rows th").all_inner_texts() == ["atom", "probability ▼", "stderr", "R-hat", "ESS"]
    tab.click("#rows th >> nth=0")
    assert names(tab) == list(result)
    tab.click("#rows th >> nth=3")
    assert names(tab)[0] == list(result)[3] and tab.locator("#rows tr.row >> nth=0 >> td >> nth=3").inner_text() == "inf"
    tab.click("#uncertain")
    assert result[names(tab)[0]] == 0.5
    tab.fill("#filter", "ODD")
    assert len(names(tab)) == 7 and all("odd" in name for name in names(tab))
    tab.fill("#filter", "")
    tab.select_option("#predicate", label="formulas")
    assert names(tab) == ["Smokes(Ann)^!Smokes(Bob)"]
    tab.select_option("#predicate", label="Friends")
    assert len(names(tab)) == 16
    assert "1 < 2" in tab.locator(".concern").all_inner_texts()


def test_fifty_thousand_rows_scroll_and_the_rest_is_named(opened):
    people = Domain("person", tuple(f"P{i:03}" for i in range(225)))
    result = marginals(people)
    assert len(result) > ROWS_ON_PAGE
    tab = opened(result)
    assert tab.locator("#count").inner_text() == "50,000 of 50,000 rows"
    assert f"50,000 most probable of {len(result):,} rows" in tab.inner_text("body")
    assert names(tab)[0] == "Friends(P224,P224)" and len(names(tab)) < 200
    first = names(tab)[0]
    tab.evaluate("document.getElementById('window').scrollTop = 1e9")  # rows are drawn anew some time after
    tab.wait_for_function("first => !document.querySelector('#rows tr.row').innerText.includes(first)", arg=first)
    tab.wait_for_timeout(100)
    assert result[names(tab)[-1]] == np.sort(result.probability)[-ROWS_ON_PAGE]
    tab.fill("#filter", "friends(p200,p01")
    assert names(tab) == [f"Friends(P200,P{i:03})" for i in range(19, 9, -1)]


def test_the_page_tells_what_was_asked(opened):
    result = marginals()
    run = dataclasses.replace(
        result.run,
        sources=("a.mln", "b.db", "C=c.csv"),
        query=("Friends",),
        command="mln infer a.mln -q Friends",
        seed=7,
        version="1.2",
    )
    told = opened(dataclasses.replace(result, run=run)).inner_text("#run")
    for line in (
        "model\ta.mln",
        "evidence\tb.db, C=c.csv",
        "query\tFriends",
        "command\tmln infer a.mln -q Friends",
        "seed\t7",
        "version\t1.2",
    ):
        assert line in told, told
