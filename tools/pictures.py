"""The pictures of the documentation: table, chart and page of one problem. Needs playwright and Chromium."""

from __future__ import annotations

import io
import shutil
import tempfile
from pathlib import Path

import markovlogic as mln
from markovlogic.generate import make
from markovlogic.report.tables import marginals_table

TARGET = Path(__file__).parents[1] / "docs" / "pictures"
WIDTH = 100


def main() -> None:
    """Write table.svg, chart.svg and page.png."""
    from playwright.sync_api import sync_playwright
    from rich.console import Console

    made = make("smokers", size=60, evidence=0.3, seed=3)
    with tempfile.TemporaryDirectory() as folder:
        rules, facts = Path(folder, "smokers.mln"), Path(folder, "smokers.db")
        rules.write_text(made.rules)
        facts.write_text(made.evidence_text())
        result = mln.infer(str(rules), str(facts), ["Smokes", "Cancer"], method="gibbs", draws=400)
        console = Console(record=True, width=WIDTH, file=io.StringIO(), force_terminal=True)
        console.print(marginals_table(result, limit=12))
        console.save_svg(str(TARGET / "table.svg"), title="mln infer smokers.mln -e smokers.db -q Smokes,Cancer")
        (TARGET / "chart.svg").write_text(result.chart()._repr_mimebundle_()["image/svg+xml"])
        result.report(Path(folder, "out.html"))
        with sync_playwright() as started:
            browser = started.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
            tab = browser.new_page(viewport={"width": 1120, "height": 1400})
            tab.goto(f"file://{folder}/out.html")
            tab.wait_for_selector("#chart canvas, #chart svg")
            tab.screenshot(path=str(TARGET / "page.png"))
            browser.close()


if __name__ == "__main__":
    main()
