"""From what users give (files, tables, names) to a problem: shared by every command.

A `PreparedProblem` problem is what planning, symmetry, compression and inference start from; nothing is grounded here.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from markovlogic.data.evidence import Evidence
from markovlogic.errors import known_name
from markovlogic.language import syntax
from markovlogic.problem import Problem, pose
from markovlogic.problem.assumed import INFERENCE, Purpose, assumed_notes
from markovlogic.problem.pose import listed_names
from markovlogic.problem.soft import WrittenAsRules, written_as_rules
from markovlogic.system.arrays import Pickled
from markovlogic.system.progress import SILENT, Progress

if TYPE_CHECKING:
    from markovlogic.language.templates import LoweredModel

CLAUSE_WEIGHTS = ("formula", "alchemy")

Models = syntax.Model | str | os.PathLike[str]
Evidences = Evidence | str | os.PathLike[str] | tuple[str, Any] | Iterable[Any] | Mapping[str, Any] | None
Queries = str | Sequence[str] | None


@dataclass(frozen=True)
class Assumptions:
    """What a user chose about how model and evidence are to be read, beside the files themselves."""

    open_: Sequence[str] = ()  # predicates whose missing facts are unknown
    closed: Sequence[str] = ()  # predicates whose missing facts are false
    closed_types: bool = False  # evidence may not add constants to declared types
    clause_weights: str = "formula"


@dataclass(frozen=True, eq=False)
class PreparedProblem(Pickled):
    """A problem and how weights are divided among the clauses of its formulas."""

    problem: Problem
    clause_weights: str = "formula"
    rules: LoweredModel | None = None  # as clauses, where they are other than the model's, or were lowered already
    opened: tuple[str, ...] = ()  # predicates that the user named as open

    @cached_property
    def notes(self) -> tuple[str, ...]:
        """What inference assumes without an option."""
        return self.notes_for(INFERENCE)

    def notes_for(self, purpose: Purpose) -> tuple[str, ...]:
        """What a run of this purpose assumes without an option."""
        return assumed_notes(self.problem, self.opened, purpose)

    @cached_property
    def lowered(self) -> LoweredModel:
        """The rules as clauses with positive weights; refuses rules without a weight."""
        if self.rules is not None:
            return self.rules
        from markovlogic.language.lower import lower

        return lower(self.problem.model, self.clause_weights)

    @cached_property
    def written_as_rules(self) -> WrittenAsRules:
        """The same with soft evidence as rules, for what works on rules; refuses soft evidence of too many values."""
        return written_as_rules(self.problem, self.lowered)

    @cached_property
    def fingerprint(self) -> str:
        """A digest of what is computed from which model under which evidence: a checkpoint of anything else is refused."""
        problem = self.problem
        digest = hashlib.blake2b(digest_size=16)
        digest.update(repr((self.lowered, problem.query)).encode())
        for name, domain in sorted(problem.domains.items()):
            digest.update(repr((name, domain.names)).encode())
        for name, statuses in problem.statuses.items():
            digest.update(repr((name, statuses.sizes, statuses.default, len(statuses.code))).encode())
            digest.update(np.ascontiguousarray(statuses.code).data)
            digest.update(np.ascontiguousarray(statuses.status).data)
        for name, soft in problem.soft.items():
            digest.update(repr((name, len(soft.code))).encode())
            digest.update(np.ascontiguousarray(soft.code).data)
            digest.update(np.ascontiguousarray(soft.log_odds).data)
        for name, known in problem.numbers.items():
            digest.update(repr((name, len(known.code))).encode())
            digest.update(np.ascontiguousarray(known.number).data)
        return digest.hexdigest()


def prepare_problem(
    model: Models, evidence: Evidences, query: Queries, assumed: Assumptions | None = None, *, progress: Progress = SILENT
) -> PreparedProblem:
    """Read what is still in files, and check all of it together."""
    from markovlogic.data.readers import read_evidence
    from markovlogic.data.sources import evidence_sources
    from markovlogic.language.load import load

    assumed = assumed or Assumptions()
    known_name(assumed.clause_weights, "clause weights", CLAUSE_WEIGHTS)
    progress.stage("read")
    checked = model if isinstance(model, syntax.Model) else load(model)
    facts = evidence
    if not isinstance(facts, Evidence):
        facts = read_evidence(checked, evidence_sources(facts), closed_types=assumed.closed_types, progress=progress)
    problem = pose(checked, facts, query, open_=assumed.open_, closed=assumed.closed)
    return PreparedProblem(problem, assumed.clause_weights, opened=tuple(listed_names(assumed.open_)))
