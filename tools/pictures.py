"""The pictures of the documentation. Needs playwright and Chromium.

`notebook.png` is what the test of an executed notebook in `tests/report/test_widget.py` leaves, cut to the notebook.
"""

from __future__ import annotations

import contextlib
import io
import shutil
import tempfile
import threading
from pathlib import Path
from typing import Any

import markovlogic as mln
from markovlogic.generate import make
from markovlogic.reasons.view import reasons_table
from markovlogic.report.tables import marginals_table
from markovlogic.studio.server import Studio, served

EXAMPLES = Path(__file__).parents[1] / "examples"
TARGET = Path(__file__).parents[1] / "docs" / "pictures"
WIDTH = 100


def main() -> None:
    """Write table.svg, chart.svg, why.svg, page.png, why.png and studio.png."""
    from playwright.sync_api import sync_playwright

    made = make("smokers", size=60, evidence=0.3, seed=3)
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder), sync_playwright() as started:
        # the pictures show paths as they are given: these are short
        Path("many.mln").write_text(made.rules)
        Path("many.db").write_text(made.evidence_text())
        for name in ("smokers.mln", "smokers.db"):
            shutil.copy(EXAMPLES / name, folder)
        result = mln.infer("many.mln", "many.db", ["Smokes", "Cancer"], method="gibbs", draws=400, keep_draws=True)
        _terminal(marginals_table(result, limit=12), "table.svg", "mln infer smokers.mln -e smokers.db -q Smokes,Cancer")
        (TARGET / "chart.svg").write_text(result.chart()._repr_mimebundle_()["image/svg+xml"])
        reasons = mln.why("smokers.mln", "smokers.db", "Smokes(Bob)")
        _terminal(reasons_table(reasons, 1), "why.svg", "mln why smokers.mln -e smokers.db 'Smokes(Bob)' --top 1")
        result.report(Path(folder, "out.html"))
        small = mln.infer("smokers.mln", "smokers.db", ["Smokes", "Cancer"], progress=False)
        small.report(Path(folder, "why.html"), why=["Smokes(Bob)"])
        browser = started.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        tab = browser.new_page(viewport={"width": 1120, "height": 640})
        tab.goto(f"file://{folder}/out.html")
        tab.wait_for_selector("tr.row")
        tab.screenshot(path=str(TARGET / "page.png"))
        tab.set_viewport_size({"width": 1120, "height": 780})
        tab.goto(f"file://{folder}/why.html")
        tab.wait_for_selector(".why .step")
        tab.screenshot(path=str(TARGET / "why.png"))
        _studio(tab, folder)
        browser.close()


def _terminal(shown: Any, name: str, command: str) -> None:
    from rich.console import Console

    console = Console(record=True, width=WIDTH, file=io.StringIO(), force_terminal=True)
    console.print(shown)
    console.save_svg(str(TARGET / name), title=command)


def _studio(tab: Any, folder: str) -> None:
    """A slip in the rules, and what it shows of a run."""
    with served(Studio(Path(folder), "smokers.mln", ("smokers.db",), ("Smokes", "Cancer"))) as found:
        serving = threading.Thread(target=found.run, daemon=True)
        serving.start()
        tab.set_viewport_size({"width": 1360, "height": 1080})
        tab.goto(found.url)
        tab.click(".run")
        tab.click("tr.row >> text=Smokes(Bob)")
        tab.wait_for_selector(".why .step")
        tab.locator("textarea").click()
        tab.keyboard.press("Control+End")
        tab.keyboard.type("\n0.7 Smokes(x) => Cancr(x)")
        tab.wait_for_selector(".problems button")
        tab.screenshot(path=str(TARGET / "studio.png"))
        found.server.should_exit = True
        serving.join(5)


if __name__ == "__main__":
    main()
