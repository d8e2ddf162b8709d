"""The process that does the studio's work: it reads one job a line, and writes progress and results one a line.

It keeps the last result, so that explanations and comparisons need no other run. `python -m markovlogic.studio.jobs`.
"""

from __future__ import annotations

import json
import math
import os
import sys
import threading
import time
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, TextIO

from markovlogic.errors import InferenceWarning, InputError, Interrupted, MarkovLogicError
from markovlogic.system.cancellation import Deadline

if TYPE_CHECKING:
    from markovlogic.problem.prepare import PreparedProblem
    from markovlogic.results.marginals import Marginals

Job = Mapping[str, Any]
FACTS_SHOWN = 1000  # of a predicate
EVERY = 0.15  # seconds between two lines of progress
MOST_TRACED = 20_000_000  # truth values that are kept for traces


@dataclass
class Worker:
    """The state of the process: where it writes, the run that goes on, the last result."""

    out: TextIO
    result: Marginals | None = None
    deadline: Deadline | None = None
    number: int = 0
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _last: float = 0.0
    _stage: dict[str, Any] = field(default_factory=dict)

    def write(self, **message: Any) -> None:
        """One line for the server."""
        with self._lock:
            self.out.write(json.dumps({"id": self.number, **message}, allow_nan=False) + "\n")
            self.out.flush()

    def stage(self, name: str, total: float | None = None) -> None:
        """As `Progress.stage`."""
        self._stage = {"stage": name, "total": total, "done": 0.0, "note": ""}
        self._last = time.monotonic()
        self.write(progress=self._stage)

    def advance(self, done: float, note: str = "") -> None:
        """As `Progress.advance`."""
        self._stage = {**self._stage, "done": self._stage.get("done", 0.0) + done, "note": note}
        if time.monotonic() - self._last > EVERY:
            self._last = time.monotonic()
            self.write(progress=self._stage)

    def do(self, job: Job) -> None:
        """One job, from its line to its answer."""
        self.number = int(job["id"])
        self.deadline = Deadline()
        try:
            with self.deadline.of_this_run(), warnings.catch_warnings():
                warnings.simplefilter("ignore", InferenceWarning)  # the view shows concerns
                found = JOBS[str(job["do"])](self, job)
            self.write(done=found)
        except InputError as error:
            faults = [
                {
                    "message": f"{one.message} ({one.hint})" if one.hint else one.message,
                    "file": one.place.file if one.place else "",
                    "line": one.place.line if one.place else 0,
                    "column": one.place.column if one.place else 0,
                }
                for one in error.faults
            ]
            self.write(failed="\n".join(fault.show() for fault in error.faults), faults=faults)
        except Interrupted:
            self.write(failed="stopped", faults=[])
        except MarkovLogicError as error:
            self.write(failed=str(error), faults=[])
        except Exception as error:
            self.write(failed=f"internal error: {type(error).__name__}: {error}", faults=[])
        finally:
            self.deadline = None

    def run(self, job: Job) -> dict[str, Any]:
        """Infer; the answer is what the view draws, with the run before beside it."""
        from markovlogic.api.infer import infer
        from markovlogic.api.views import page_data

        prepared = _prepared(job)
        model, evidence, assumed = prepared.problem.model, prepared.problem.evidence, _assumed(prepared, job)
        options = {name: job[name] for name in ("method", "time_limit", "draws", "chains", "seed") if job.get(name) is not None}
        found = infer(model, evidence, job["query"], progress=self, keep_draws=bool(job.get("traces")), **assumed, **options)
        if found.draws is not None and found.draws.values.size > MOST_TRACED:
            found = replace(found, draws=None)
        before, self.result = self.result, found
        comparable = before is not None and bool(set(before.predicates) & set(found.predicates))
        data = page_data(found, other=before if comparable else None)
        if data["comparison"] is not None:
            data["comparison"] |= {"first": "run before", "second": "this run"}
        return {**data, "title": "", "why_command": ""}

    def why(self, job: Job) -> dict[str, Any]:
        """Explain an atom of the last result."""
        if self.result is None:
            raise InputError("there is no result any more", hint="run the model again")
        self.stage("explain")
        return dict(self.result.why(str(job["atom"]), changes=[str(one) for one in job.get("changes", ())]).as_dict())

    def explain(self, job: Job) -> dict[str, Any]:
        """The plan: sizes, methods, costs."""
        from markovlogic.api.explain import explain

        prepared = _prepared(job)
        options = {name: job[name] for name in ("method", "time_limit", "draws", "chains", "seed") if job.get(name) is not None}
        model, evidence = prepared.problem.model, prepared.problem.evidence
        return explain(model, evidence, job["query"], progress=self, **_assumed(prepared, job), **options).as_dict()

    def facts(self, job: Job) -> dict[str, Any]:
        """The evidence as a table for each predicate, as far as it is shown; `search`: only facts whose text has it."""
        from markovlogic.data.arrow import atom_names
        from markovlogic.data.evidence import FALSE, TRUE, codes

        problem, wanted = _prepared(job).problem, str(job.get("search") or "").lower()
        signs = {TRUE: "", FALSE: "!"}
        found = {}
        for name, own in problem.evidence.facts.items():
            domains = tuple(problem.domains[one] for one in problem.model.predicates[name].types)
            sizes = tuple(map(len, domains))
            texts = atom_names(name, codes(own.args, sizes), sizes, domains).to_pylist()
            rows = [at for at, text in enumerate(texts) if wanted in text.lower()]
            shown = []
            for at in rows[:FACTS_SHOWN]:
                log_odds = 0.0 if own.log_odds is None else float(own.log_odds[at])
                says = f"{1 / (1 + math.exp(-log_odds)):.4g}" if log_odds else "" if own.number is None else f"{own.number[at]:g}"
                names = [domain.names[number] for domain, number in zip(domains, own.args[at].tolist(), strict=True)]
                shown.append([f"{signs.get(int(own.truth[at]), '?')}{texts[at]}", names, says])
            about = {"count": len(own), "found": len(rows), "has_numbers": own.number is not None}
            found[name] = {**about, "columns": problem.model.predicates[name].types, "facts": shown}
        return {"predicates": found}

    def learn(self, job: Job) -> dict[str, Any]:
        """Learn weights; the rules as text."""
        from markovlogic.learning.learn import learn

        model = _model(job)
        found = learn(model, job["evidence"], job["query"], time_limit=job.get("time_limit"), progress=self)
        return {"text": found.text(str(job["text"])), "concerns": found.concerns()}


JOBS: dict[str, Callable[[Worker, Job], dict[str, Any]]] = {
    "run": Worker.run,
    "why": Worker.why,
    "explain": Worker.explain,
    "facts": Worker.facts,
    "learn": Worker.learn,
}


def _model(job: Job) -> Any:
    from markovlogic.language.load import parse

    return parse(str(job["text"]), str(job.get("path") or "rules.mln"))


def _prepared(job: Job) -> PreparedProblem:
    """The problem of a job, with its changed facts."""
    from markovlogic.problem.changed import changed_evidence
    from markovlogic.problem.prepare import Assumptions, prepare_problem

    prepared = prepare_problem(_model(job), job["evidence"], job.get("query") or (), Assumptions())
    changes = job.get("changes") or ()
    if not changes:
        return prepared
    problem = prepared.problem
    return replace(prepared, problem=replace(problem, evidence=changed_evidence(problem, changes)))


def _assumed(prepared: PreparedProblem, job: Job) -> dict[str, Any]:
    """What stays open and closed where facts were changed: a fact that is taken back does not open its predicate."""
    if not job.get("changes"):
        return {}
    from markovlogic.data.evidence import UNKNOWN
    from markovlogic.problem.values import WantedAtoms

    statuses, wanted = prepared.problem.statuses, set()
    for item in prepared.problem.query:
        named = [item.wanted] if isinstance(item.wanted, WantedAtoms) else item.wanted.atoms
        wanted |= {one.predicate for one in named}
    is_open = {name for name, own in statuses.items() if own.default == UNKNOWN}
    closed = [name for name in prepared.problem.model.declared if name in statuses and name not in is_open | wanted]
    return {"open_": sorted(is_open - wanted), "closed": closed}


def main() -> None:
    """Read jobs until there are no more."""
    out = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # what libraries print is no message
    worker = Worker(out)
    waiting: list[Job] = []
    there = threading.Condition()

    def read() -> None:
        for line in sys.stdin:
            job = json.loads(line)
            if job["do"] == "stop":
                if worker.deadline is not None:
                    worker.deadline.cancel()
                continue
            with there:
                waiting.append(job)
                there.notify()
        os._exit(0)  # the server is gone

    threading.Thread(target=read, daemon=True, name="jobs").start()
    while True:
        with there:
            there.wait_for(lambda: bool(waiting))
            job = waiting.pop(0)
            late = job["do"] == "why" and any(one["do"] == "why" for one in waiting)
        if late:
            worker.number = int(job["id"])
            worker.write(failed="another atom was chosen", faults=[])
        else:
            worker.do(job)


if __name__ == "__main__":
    main()
