"""The language server, spoken to as an editor does."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import pytest

pytest.importorskip("pygls", reason="the extra lsp is not installed")

URI = "file:///rules.mln"
TEXT = 'person = {Ann, Bob}\nSmokes(person)\n// "smöke 𝒳"\n1.5   Smokes( x )  => Smokes(Ann)\n1 Smoke(x)\n'


class Editor:
    def __init__(self) -> None:
        command = [sys.executable, "-c", "from markovlogic.cli.main import main; main(['lsp'])"]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        self.number = 0

    def send(self, method: str, parameters: Any, *, number: int | None = None) -> None:
        content = {"jsonrpc": "2.0", "method": method, "params": parameters} | ({} if number is None else {"id": number})
        body = json.dumps(content).encode()
        assert self.process.stdin is not None
        self.process.stdin.write(b"Content-Length: %d\r\n\r\n%s" % (len(body), body))
        self.process.stdin.flush()

    def receive(self) -> dict[str, Any]:
        assert self.process.stdout is not None
        length = 0
        while (line := self.process.stdout.readline().strip()) or not length:
            name, _, value = line.partition(b":")
            length = int(value) if name.lower() == b"content-length" else length
        found: dict[str, Any] = json.loads(self.process.stdout.read(length))
        return found

    def ask(self, method: str, parameters: Any) -> Any:
        self.number += 1
        self.send(method, parameters, number=self.number)
        while True:
            answer = self.receive()
            if answer.get("id") == self.number and "method" not in answer:
                assert "error" not in answer, answer
                return answer["result"]

    def wait(self, method: str) -> Any:
        while True:
            answer = self.receive()
            if answer.get("method") == method:
                return answer["params"]


@pytest.fixture(scope="module")
def editor() -> Iterator[Editor]:
    made = Editor()
    made.ask("initialize", {"processId": None, "rootUri": None, "capabilities": {}})
    made.send("initialized", {})
    made.send("textDocument/didOpen", {"textDocument": {"uri": URI, "languageId": "mln", "version": 1, "text": TEXT}})
    yield made
    made.ask("shutdown", None)
    made.send("exit", None)
    made.process.wait(timeout=30)
    for stream in (made.process.stdin, made.process.stdout):
        stream.close()


def place(line: int, character: int) -> dict[str, Any]:
    return {"textDocument": {"uri": URI}, "position": {"line": line, "character": character}}


def test_an_editor_gets_what_it_asks_for(editor: Editor) -> None:
    found = editor.wait("textDocument/publishDiagnostics")
    assert [one["message"] for one in found["diagnostics"]] == ["undeclared predicate Smoke (did you mean Smokes?)"]
    assert found["diagnostics"][0]["range"]["start"] == {"line": 4, "character": 2}
    assert "Smokes(person)" in editor.ask("textDocument/hover", place(3, 8))["contents"]["value"]
    assert editor.ask("textDocument/definition", place(3, 8))["range"]["start"] == {"line": 1, "character": 0}
    labels = {item["label"] for item in editor.ask("textDocument/completion", place(4, 3))["items"]}
    assert {"Smokes", "person", "EXIST"} <= labels
    edits = editor.ask("textDocument/rename", {**place(3, 8), "newName": "Smokers"})["changes"][URI]
    assert sorted(edit["range"]["start"]["line"] for edit in edits) == [1, 3, 3]
    options = {"textDocument": {"uri": URI}, "options": {"tabSize": 4, "insertSpaces": True}}
    assert editor.ask("textDocument/formatting", options) is not None
    fixed = {"textDocument": {"uri": URI, "version": 2}, "contentChanges": [{"text": TEXT.replace("Smoke(x)", "Smokes(x)")}]}
    editor.send("textDocument/didChange", fixed)
    assert all(one["severity"] == 2 for one in editor.wait("textDocument/publishDiagnostics")["diagnostics"])
    (whole,) = editor.ask("textDocument/formatting", options)
    assert "1.5 Smokes(x) => Smokes(Ann)\n" in whole["newText"]
