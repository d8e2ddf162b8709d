"""The widget in a real browser: alone, in JupyterLab and in marimo, with a running program behind it and without one."""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path

import pytest
from tests.waiting import until

import markovlogic as mln
from markovlogic.report.page import asset
from markovlogic.report.widget import framed

pytest.importorskip("anywidget", reason="anywidget is not installed")

EXAMPLES = Path(__file__).parents[2] / "examples"
CELL = """import markovlogic as mln
result = mln.infer("smokers.mln", "smokers.db", query=["Smokes", "Cancer"], progress=False)
"""
MARIMO = """import marimo

app = marimo.App()


@app.cell
def _():
    import marimo as mo
    import markovlogic as mln
    result = mln.infer("smokers.mln", "smokers.db", query=["Smokes", "Cancer"], progress=False)
    view = mo.ui.anywidget(result.explore())
    view
    return mo, view


@app.cell
def _(mo, view):
    mo.md("chosen: " + str(view.value.get("selected")))
    return
"""
HOST = """<div id="view"></div><script type="module">%s
const values = %s, waiting = [];
const model = {get: name => values[name] ?? "", set(name, value) { values[name] = value; }, save_changes() {}, off() {},
  on(name, call) { if (name === "msg:custom") waiting.push(call); },
  async send(message) { for (const answer of await toPython(message)) for (const call of waiting) call(answer); }};
window.values = values;
theWidget.render({model, el: document.getElementById("view")});
</script>"""


@pytest.fixture(scope="module")
def result():
    return mln.infer(EXAMPLES / "smokers.mln", EXAMPLES / "smokers.db", query=["Smokes", "Cancer"], progress=False)


def hosted(browser, made, *, is_running):
    """A page with the widget's own script, whose messages go to the Python object."""
    answers: list[dict] = []
    made.send = lambda content, buffers=None: answers.append(content)

    def to_python(message):
        if not is_running:
            return []
        answers.clear()
        made._handle_custom_msg(message, [])
        return list(answers)

    tab = browser.new_page()
    tab.expose_function("toPython", to_python)
    script = asset("view.js").replace("export default", "const theWidget =")
    tab.set_content(HOST % (script, json.dumps({"data": made.data})))
    tab.wait_for_selector("tr.row")
    return tab


def reads_and_changes(tab):
    """What a user does in any notebook."""
    tab.click("tr.row >> text=Smokes(Bob)")
    tab.wait_for_selector(".why .step")
    assert tab.inner_text(".why .big") == "0.2461" and "−0.779" in tab.locator(".step .value").all_inner_texts()
    tab.locator(".neighbours .pill", has_text="Smokes(Ann)").click()
    tab.wait_for_selector(".why .before")
    assert "0.2461" in tab.inner_text(".why .before") and tab.inner_text(".why .big") == "0.0160"


def test_the_running_program_explains_what_is_selected(browser, result):
    tab = hosted(browser, result.explore(), is_running=True)
    reads_and_changes(tab)
    assert tab.evaluate("values.selected") == "Smokes(Bob)"
    tab.fill("input[aria-label='assume a fact']", "Smokes(Zoe)")
    tab.keyboard.press("Enter")
    tab.wait_for_selector(".side .concern")
    assert "unknown constant Zoe" in tab.inner_text(".side .concern")
    tab.close()


def test_without_a_program_it_shows_what_it_holds(browser, result):
    tab = hosted(browser, result.explore(why=["Smokes(Bob)"]), is_running=False)
    tab.click("tr.row >> text=Smokes(Bob)")
    tab.wait_for_selector(".why .step")
    assert not tab.locator(".neighbours .pill[role=button]", has_text="Smokes(Ann)").count()
    tab.click("tr.row >> text=Cancer(Cid)")
    assert "mln why" in tab.inner_text(".side")
    tab.set_content(framed(json.loads(result.explore().data)))
    tab.frame_locator("iframe").locator("tr.row").first.wait_for()
    tab.close()


@contextmanager
def served(command, tmp_path, **more):
    """A server in a folder with the example, and its port."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    for name in ("smokers.mln", "smokers.db"):
        shutil.copy(EXAMPLES / name, tmp_path)
    own = {**os.environ, "HOME": str(tmp_path), "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}", **more}
    process = subprocess.Popen([sys.executable, "-m", *command, f"--port={port}"], cwd=tmp_path, env=own)

    def listens():
        with socket.socket() as line:
            return line.connect_ex(("127.0.0.1", port)) == 0

    try:
        until(listens, seconds=120)
        yield port
    finally:
        process.terminate()
        process.wait(30)


def test_an_executed_jupyter_notebook(browser, tmp_path):
    pytest.importorskip("jupyterlab", reason="jupyterlab is not installed")
    nbformat = pytest.importorskip("nbformat", reason="nbformat is not installed")
    cell = nbformat.v4.new_code_cell(CELL + "result.explore()")
    kernel = {"name": "python3", "display_name": "Python 3", "language": "python"}
    nbformat.write(nbformat.v4.new_notebook(cells=[cell], metadata={"kernelspec": kernel}), tmp_path / "explore.ipynb")
    command = ["jupyterlab", "--no-browser", "--allow-root", "--IdentityProvider.token=t"]
    folders = {f"JUPYTER_{name}_DIR": str(tmp_path / name.lower()) for name in ("CONFIG", "DATA", "RUNTIME")}
    with served(command, tmp_path, **folders) as port:
        tab = browser.new_page(viewport={"width": 1200, "height": 900})
        tab.set_default_timeout(60_000)
        tab.goto(f"http://127.0.0.1:{port}/lab/tree/explore.ipynb?token=t")
        tab.click(".jp-CodeCell .cm-content")
        tab.wait_for_selector("text=Python 3 (ipykernel) | Idle")
        tab.keyboard.press("Control+Enter")
        reads_and_changes(tab)
        tab.keyboard.press("Control+b")  # without the list of files, from the first cell on
        tab.add_style_tag(content=".Toastify { display: none }")
        tab.locator(".jp-CodeCell .cm-content").scroll_into_view_if_needed()
        tab.locator(".jp-Notebook").screenshot(path=tmp_path / "jupyter.png")
        tab.close()


def test_a_marimo_notebook(browser, tmp_path):
    pytest.importorskip("marimo", reason="marimo is not installed")
    (tmp_path / "explore.py").write_text(MARIMO)
    with served(["marimo", "run", "explore.py", "--headless", "--no-token"], tmp_path) as port:
        tab = browser.new_page(viewport={"width": 1500, "height": 1100})
        tab.set_default_timeout(60_000)
        tab.goto(f"http://127.0.0.1:{port}/")
        reads_and_changes(tab)
        tab.wait_for_selector("text=chosen: Smokes(Bob)")
        tab.screenshot(path=tmp_path / "marimo.png")
        tab.close()
