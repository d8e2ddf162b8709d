"""What the studio's worker does with a job, without another process."""

from __future__ import annotations

import io
import json
from pathlib import Path

import markovlogic as mln
from markovlogic.studio.jobs import Worker

EXAMPLES = Path(__file__).parents[2] / "examples"
RULES = (EXAMPLES / "smokers.mln").read_text()


def done(worker: Worker, **job):
    worker.do({"id": 1, "text": RULES, "path": "smokers.mln", "evidence": [str(EXAMPLES / "smokers.db")], **job})
    lines = [json.loads(line) for line in worker.out.getvalue().splitlines()]
    worker.out.truncate(0)
    worker.out.seek(0)
    return lines[-1].get("done") or lines[-1]


def test_runs_are_compared_and_explained():
    worker = Worker(io.StringIO())
    first = done(worker, do="run", query="Smokes")
    assert first["comparison"] is None and first["guarantee"]["word"] == "exact"
    why = done(worker, do="why", atom="Smokes(Bob)")
    assert abs(why["logit"] + 1.1194027810465839) < 1e-9
    second = done(worker, do="run", query="Smokes", changes=["!Smokes(Ann)"])
    assert second["comparison"]["first"] == "run before" and any(second["comparison"]["differs"])
    changed = mln.why(EXAMPLES / "smokers.mln", EXAMPLES / "smokers.db", "Smokes(Bob)", changes=["!Smokes(Ann)"])
    row = second["answers"]["atom"].index("Smokes(Bob)")
    assert abs(second["answers"]["probability"][row] - changed.probability) < 1e-12


def test_a_changed_fact_closes_no_open_predicate():
    worker = Worker(io.StringIO())
    rules = "person = {Ann, Bob}\nRich(person)\nHappy(person)\n1 Rich(x) => Happy(x)\n"
    plain = done(worker, do="run", text=rules, evidence=[], query="Happy", changes=["Rich(Ann)"])
    values = dict(zip(plain["answers"]["atom"], plain["answers"]["probability"], strict=True))
    exact = mln.infer(mln.Model.parse(rules), None, ["Happy"], progress=False)
    assert values["Happy(Ann)"] > values["Happy(Bob)"] and abs(values["Happy(Bob)"] - float(exact["Happy(Bob)"])) < 1e-12


def test_faults_facts_and_weights():
    worker = Worker(io.StringIO())
    failed = done(worker, do="run", text="P(a)\n1 Q(x)\n2 P(A)\n", evidence=[], query="P")
    assert [fault["line"] for fault in failed["faults"]] == [2] and "undeclared predicate Q" in failed["failed"]
    assert done(worker, do="why", atom="P(A)")["failed"].startswith("there is no result")
    facts = done(worker, do="facts")["predicates"]
    table = {"columns": ["person"], "facts": [["Smokes(Ann)", ["Ann"], ""], ["!Smokes(Dan)", ["Dan"], ""]]}
    assert facts["Smokes"] == {"count": 2, "found": 2, "has_numbers": False, **table}
    assert done(worker, do="facts", search="(dan")["predicates"]["Smokes"]["facts"] == [["!Smokes(Dan)", ["Dan"], ""]]
    learned = done(worker, do="learn", query="Smokes")
    assert learned["text"].count("=>") == 2 and mln.Model.parse(learned["text"]).rules[0].weight != 0.5
    assert "// Smoking causes cancer" in learned["text"]
