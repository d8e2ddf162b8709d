"""The studio: who gets nothing from it, what it writes where, and a user's way through it in a real browser."""

from __future__ import annotations

import http.client
import json
import shutil
import threading
from pathlib import Path
from urllib.parse import urlsplit

import pytest

pytest.importorskip("starlette", reason="starlette is not installed")
pytest.importorskip("uvicorn", reason="uvicorn is not installed")

from markovlogic.errors import InputError
from markovlogic.studio.process import WorkerProcess
from markovlogic.studio.server import Studio, served

EXAMPLES = Path(__file__).parents[2] / "examples"


@pytest.fixture(scope="module")
def studio(tmp_path_factory):
    """A studio that runs, and its address."""
    folder = tmp_path_factory.mktemp("work")
    for name in ("smokers.mln", "smokers.db"):
        shutil.copy(EXAMPLES / name, folder)
    with served(Studio(folder, "smokers.mln", ("smokers.db",), ("Smokes", "Cancer"))) as found:
        serving = threading.Thread(target=found.run, daemon=True)
        serving.start()
        yield found.url, folder
        found.server.should_exit = True
        serving.join(5)


def requested(url, path, *, method="GET", body=None, **headers):
    parts = urlsplit(url)
    line = http.client.HTTPConnection(parts.hostname, parts.port, timeout=10)
    line.putrequest(method, path, skip_host=True)
    given = {"Host": parts.netloc, **({"Content-Type": "application/json"} if body is not None else {}), **headers}
    for name, value in given.items():
        line.putheader(name.replace("_", "-"), value)
    data = b"" if body is None else json.dumps(body).encode()
    line.putheader("Content-Length", str(len(data)))
    line.endheaders(data)
    found = line.getresponse()
    read = found.read()
    line.close()
    return found.status, read


def test_who_is_not_this_page_gets_nothing(studio):
    url, _ = studio
    parts = urlsplit(url)
    own = {"Origin": f"http://{parts.netloc}"}
    status, page = requested(url, parts.path)
    assert status == 200 and b"smokers.mln" in page
    assert requested(url, f"{parts.path}ask/check", method="POST", body={"text": "P(a)"}, **own)[0] == 200
    wrong = parts.path[:-3] + ("aa/" if parts.path[-3:] != "aa/" else "bb/")
    refused = [
        ("GET", wrong, {}),
        ("GET", "/", {}),
        ("GET", "//" + parts.path, {"Host": "evil.example"}),
        ("GET", parts.path, {"Host": "evil.example"}),
        ("GET", parts.path, {"Host": f"evil.example:{parts.port}"}),
        ("GET", parts.path, {"Host": "127.0.0.1"}),
        ("GET", parts.path, {"Origin": "http://evil.example"}),
        ("GET", parts.path, {"Origin": "null"}),
        ("GET", parts.path, {"Sec_Fetch_Site": "cross-site"}),
        ("POST", f"{parts.path}ask/check", {"Origin": f"http://127.0.0.1:{parts.port + 1}"}),
        ("POST", f"{wrong}ask/check", own),
        ("POST", f"{parts.path}ask/check", {**own, "Content-Type": "text/plain"}),
        ("OPTIONS", f"{parts.path}ask/check", {"Origin": "http://evil.example"}),
    ]
    for method, path, headers in refused:
        body = {"text": "P(a)"} if method == "POST" else None
        assert requested(url, path, method=method, body=body, **headers) == (404, b""), (method, path, headers)


def test_questions_that_make_no_sense_are_answered_as_such(studio):
    url, _ = studio
    path = urlsplit(url).path
    for name, body in (("check", {}), ("check", []), ("work", {"do": "shutdown"}), ("state", {"id": "x"}), ("nothing", {})):
        assert requested(url, f"{path}ask/{name}", method="POST", body=body)[0] in (400, 404)
    assert requested(url, f"{path}server.py")[0] == 404 and requested(url, f"{path}../server.py")[0] == 404


def test_it_writes_rules_in_its_folder_only(studio):
    url, folder = studio
    path = urlsplit(url).path
    (folder / "inside").mkdir(exist_ok=True)
    saved = requested(url, f"{path}ask/save", method="POST", body={"path": "inside/new.mln", "text": "P(a)\n"})
    assert saved[0] == 200 and (folder / "inside" / "new.mln").read_text() == "P(a)\n"
    (folder / "way.mln").symlink_to(folder.parent / "outside.mln")
    for name in ("../outside.mln", str(folder.parent / "outside.mln"), "way.mln", "", "notes.txt", "smokers.db"):
        assert requested(url, f"{path}ask/save", method="POST", body={"path": name, "text": "P(a)\n"})[0] == 400
    assert not (folder.parent / "outside.mln").exists()
    with pytest.raises(InputError, match="working folder"):
        Studio(folder).save("/tmp/../etc/x.mln", "")


def test_a_worker_that_does_not_answer_is_ended(tmp_path, monkeypatch):
    monkeypatch.setattr("markovlogic.studio.process.GRACE", 0.0)
    worker = WorkerProcess(str(tmp_path))
    job = {"do": "run", "text": "P(a)\na = {A, B}\n1 P(x) ^ P(y)\n", "evidence": [], "query": "P", "method": "gibbs"}
    number = worker.submit({**job, "draws": 2_000_000_000})
    first = worker._process
    worker.stop()
    assert first is not None and first.wait(20) != 0
    again = worker.submit({"do": "facts", "text": "P(a)\n", "evidence": []})
    while (state := worker.state(again))["state"] == "running":
        threading.Event().wait(0.05)
    assert worker.state(number)["state"] == "stopped" and state["state"] == "done"
    worker.close()


def test_a_user_runs_explains_changes_and_stops(browser, studio, tmp_path):
    url, folder = studio
    wrong: list[str] = []
    tab = browser.new_page()
    tab.on("pageerror", lambda error: wrong.append(str(error)))
    tab.on("console", lambda message: wrong.append(message.text) if message.type == "error" else None)
    tab.goto(url)
    tab.wait_for_selector(".facts .chip")
    assert "person\ttruth" in [text.strip() for text in tab.locator(".facts thead").all_inner_texts()]
    assert "Ann\ttrue" in [text.strip() for text in tab.locator(".facts tbody tr").all_inner_texts()]

    # an error shows where it is, and completions fit the place
    tab.locator("textarea").click()
    tab.keyboard.press("Control+End")
    tab.keyboard.type("\n2 Smokes(x) => Cancr(x)\n")
    tab.wait_for_selector(".sheet .bad")
    assert tab.inner_text(".sheet .bad") == "Cancr" and "line 11: undeclared predicate Cancr" in tab.inner_text(".problems")
    tab.keyboard.press("ArrowUp")
    tab.keyboard.press("End")
    for _ in range(4):
        tab.keyboard.press("Backspace")  # Can
    tab.keyboard.press("Backspace")
    tab.wait_for_selector(".completions li")
    assert tab.locator(".completions li span:first-child").all_inner_texts() == ["Cancer"]
    tab.keyboard.press("Tab")
    tab.keyboard.type("x)")
    tab.wait_for_selector(".problems .odd")
    assert tab.inner_text(".problems") == "line 11: the same formula as at smokers.mln:8:1 (their weights add up)"

    # the plan, then the run
    tab.fill("textarea", (EXAMPLES / "smokers.mln").read_text())
    tab.click(".explain")
    tab.wait_for_selector(".plan")
    assert "Plan: exact" in tab.inner_text(".plan")
    tab.click(".run")
    tab.wait_for_selector("tr.row")
    tab.click("tr.row >> text=Smokes(Bob)")
    tab.wait_for_selector(".why .step")
    assert tab.inner_text(".why .big") == "0.2461" and "−0.779" in tab.locator(".step .value").all_inner_texts()

    # what if Ann did not smoke: here, and in another run
    tab.locator(".neighbours .pill", has_text="Smokes(Ann)").click()
    tab.wait_for_selector(".why .before")
    assert "0.2461" in tab.inner_text(".why .before") and float(tab.inner_text(".why .big")) < 0.24
    changed = tab.inner_text(".why .big")
    tab.click(".facts button[aria-label='Smokes(Ann)']")
    assert "!Smokes(Ann) ✕" in tab.inner_text(".changes")
    tab.click(".run")
    tab.wait_for_selector(".moved")
    assert "differ from the run before" in tab.inner_text(".moved")
    assert tab.locator("tr.row", has_text="Smokes(Bob)").inner_text().split()[-1] == changed
    tab.click("[data-panel=comparison]")
    assert tab.locator(".changes tbody tr").count() >= 2

    # weights from the facts, in the editor; then the rules as they were
    tab.fill("input[aria-label=query]", "Smokes")
    tab.click(".learn")
    tab.wait_for_selector("text=The rules have the learned weights now")
    learned = tab.input_value("textarea")
    assert learned.count("=>") == 2 and "0.5 !Smokes(x)" not in learned
    tab.fill("textarea", (EXAMPLES / "smokers.mln").read_text())
    tab.fill("input[aria-label='search facts']", "dan")
    tab.wait_for_selector(".facts button[aria-label='Friends(Ann,Bob)']", state="detached")
    assert tab.locator(".facts .chip").first.get_attribute("aria-label") == "!Smokes(Dan)"

    # a long run goes on until it is stopped
    tab.select_option("select[aria-label=method]", "gibbs")
    tab.fill("input[aria-label=draws]", "1000000000")
    tab.click(".run")
    tab.wait_for_selector(".progress:not([hidden])")
    tab.click(".stop")
    tab.wait_for_selector(".progress[hidden]", state="attached")
    assert tab.is_enabled(".run")
    tab.click(".save")
    tab.wait_for_selector(".status >> text=saved")
    assert (folder / "smokers.mln").read_text() == (EXAMPLES / "smokers.mln").read_text()
    assert not wrong
    tab.close()

    # a page of another origin that knows the address gets nothing
    (tmp_path / "other.html").write_text("<p>elsewhere</p>")
    other = browser.new_page()
    other.goto(f"file://{tmp_path}/other.html")
    script = "url => fetch(url).then(() => 'read', () => 'nothing')"
    assert other.evaluate(script, url) == "nothing" and other.evaluate(script, f"{url}view.js") == "nothing"
    other.close()
