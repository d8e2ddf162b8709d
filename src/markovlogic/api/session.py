"""Runs that remember: `infer` with a state, and `Session`, which keeps one for facts, rules and weights that change."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from markovlogic.data.db_lines import LineError, parse_fact
from markovlogic.data.evidence import Evidence
from markovlogic.data.readers import read_evidence
from markovlogic.data.sources import Source, evidence_sources
from markovlogic.data.updates import updated
from markovlogic.errors import InputError, nearest
from markovlogic.language.load import load
from markovlogic.language.syntax import Model
from markovlogic.methods.base import InferOptions
from markovlogic.methods.replacement import analysis_with
from markovlogic.methods.resources import Resources
from markovlogic.problem.prepare import Evidences, Models, PreparedProblem, Queries
from markovlogic.results.answers import marginals
from markovlogic.results.marginals import Marginals, RunRecord
from markovlogic.state.answering import remembered
from markovlogic.state.saved import SavedState, StateFolder, StateInMemory
from markovlogic.system.cancellation import SURE, current
from markovlogic.system.measures import Stopwatch
from markovlogic.system.temporary import TemporaryFolder

Changes = Evidence | Mapping[str, Any] | Sequence[str] | str | os.PathLike[str] | None


def refuse_beside_state(options: InferOptions) -> None:
    """Options that a run by components cannot obey."""
    sampling = options.sampling
    given = [
        name
        for name, value in (
            ("--checkpoint", sampling.checkpoint),
            ("--worlds", sampling.worlds),
            ("keep_draws", sampling.keep_draws or None),
            ("--compress", options.compressor),
        )
        if value is not None
    ]
    if given:
        raise InputError(
            f"--state cannot be used with {', '.join(given)}: with a state, only components of the model that changed are run",
            hint="leave one of them out",
        )


def answered_with_state(
    prepared: PreparedProblem,
    options: InferOptions,
    resources: Resources,
    watch: Stopwatch,
    state: str | os.PathLike[str] | StateInMemory,
    limit: int | None,
    *,
    include_evidence: bool,
) -> Marginals:
    """The answer with what the folder holds, which then holds what this run leaves."""
    with state if isinstance(state, StateInMemory) else StateFolder(state) as folder:
        before = folder.load() or SavedState.nothing()
        before.require_fits(prepared.problem.model, str(folder.directory))
        result, kept = answered_with(prepared, options, resources, watch, before, include_evidence=include_evidence)
        note = ""
        if result.run.interrupted:
            note = f"the run was interrupted, so the state in {folder.directory} is as it was before"
        elif kept is not None:
            note = folder.save(kept, limit)
    return replace(result, remarks=(*result.remarks, note)) if note else result


def answered_with(
    prepared: PreparedProblem,
    options: InferOptions,
    resources: Resources,
    watch: Stopwatch,
    before: SavedState,
    *,
    include_evidence: bool,
) -> tuple[Marginals, SavedState | None]:
    """The answer with what an earlier run left, and what this one leaves; None where it works on all components at once."""
    with analysis_with(prepared, options, resources, watch, include_evidence=include_evidence) as analysis:
        current().has_answer, current().allowance = True, SURE
        found = remembered(analysis, options, before)
        answer = replace(found.answer, remarks=(*prepared.notes, *found.plan_notes, *found.answer.remarks))
        problem = analysis.whole.problem
        record = RunRecord.of(
            problem,
            answer.account,
            method=found.method,
            methods=found.methods,
            network=found.network,
            estimator=found.estimator,
            clauses=found.clauses,
            seconds=watch.stop(),
            query=tuple(item.text for item in problem.query),
        )
        return marginals(prepared.problem, answer.query or found.analysis.query, answer, record), found.kept


class Session:
    """Inference over facts, rules and weights that change: only components that changed are run again.

    model, evidence, query and all options are those of `infer`; state: a folder that a later session or `mln infer --state` can
    go on from. Without one everything stays in memory.
    """

    def __init__(
        self,
        model: Models,
        evidence: Evidences = None,
        query: Queries = (),
        *,
        state: str | os.PathLike[str] | None = None,
        **options: Any,
    ) -> None:
        self._model = model if isinstance(model, Model) else load(model)
        self._options = options
        self._evidence = evidence if isinstance(evidence, Evidence) else self._read(evidence_sources(evidence))
        self._query = query
        self._state = StateInMemory() if state is None else state
        self._result: Marginals | None = None

    @property
    def model(self) -> Model:
        """The rules as they are now."""
        return self._model

    @property
    def evidence(self) -> Evidence:
        """The facts as they are now."""
        return self._evidence

    @property
    def result(self) -> Marginals:
        """The answer to the query, as the facts and rules are now."""
        if self._result is None:
            from markovlogic.api.infer import infer

            self._result = infer(self._model, self._evidence, self._query, state=self._state, **self._options)
        return self._result

    def change(self, add: Changes = None, remove: Changes = None) -> None:
        """Change facts without a new answer, which `result` gives; see `update`."""
        added, removed = self._changes(add), self._changes(remove)
        self._evidence = updated(self._model, self._evidence, added, removed)
        self._result = None

    def update(self, add: Changes = None, remove: Changes = None) -> Marginals:
        """Change facts, and give the new answer.

        add: facts in place of what was known of their atoms. remove: facts to forget; only the atoms count. Both take what
        evidence takes, tables by predicate or files, and facts as texts: `["Friends(Ann,Dan)", "!Smokes(Bob)"]`.
        """
        self.change(add, remove)
        return self.result

    def set_weight(self, rule: str | int, weight: float) -> Marginals:
        """Give a rule another weight, and give the new answer. rule: its text, or its number in `model.rules`."""
        number = self._number_of(rule)
        rules = list(self._model.rules)
        rules[number] = replace(rules[number], weight=float(weight))
        self._model = replace(self._model, rules=tuple(rules))
        self._result = None
        return self.result

    def set_model(self, model: Models) -> Marginals:
        """Take other rules, or rules with newly learned weights, and give the new answer."""
        self._model = model if isinstance(model, Model) else load(model)
        self._evidence = updated(self._model, self._evidence)
        self._result = None
        return self.result

    def why(self, atom: str, **options: Any) -> Any:
        """Why an atom has its probability: contributions of rules and facts; options are those of `mln.why`."""
        return self.result.why(atom, **options)

    def _number_of(self, rule: str | int) -> int:
        texts = [" ".join(one.text.split()) for one in self._model.rules]
        if isinstance(rule, int):
            if not 0 <= rule < len(texts):
                raise InputError(f"there is no rule number {rule}", hint=f"rules are numbered from 0 to {len(texts) - 1}")
            return rule
        wanted = " ".join(rule.split())
        found = [number for number, text in enumerate(texts) if wanted in (text, text.partition(" ")[2])]
        if len(found) != 1:
            hint = nearest(wanted, texts) if not found else "give its number in model.rules"
            raise InputError(f"{len(found) or 'no'} rules read {rule}", hint=hint)
        return found[0]

    def _changes(self, changes: Changes) -> Evidence | None:
        if changes is None or isinstance(changes, Evidence):
            return changes
        items = [changes] if isinstance(changes, str) else changes
        if isinstance(items, Mapping | os.PathLike) or not all(isinstance(item, str) and _is_fact(item) for item in items):
            return self._read(evidence_sources(changes))
        with TemporaryFolder("markovlogic-facts-") as folder:
            path = Path(folder) / "changes.db"
            path.write_text("\n".join(items) + "\n", encoding="utf-8")
            return replace(self._read([path]), sources=())

    def _read(self, sources: list[Source]) -> Evidence:
        return read_evidence(self._model, sources, closed_types=bool(self._options.get("closed_types", False)))


def _is_fact(text: str) -> bool:
    try:
        return parse_fact(text) is not None and not os.path.exists(text)
    except LineError:
        return False
