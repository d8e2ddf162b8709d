"""A smaller model, its evidence and the way from objects to groups, as values and as files: `mln compress`."""

from __future__ import annotations

import csv
import io
import json
import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from math import prod
from pathlib import Path
from typing import Any

import numpy as np

from markovlogic.compression.base import Compression, Compressor, refuse_numbers
from markovlogic.compression.grouping import Grouping
from markovlogic.compression.partition import Partition, singletons
from markovlogic.compression.purposes import TO_WRITE, refuse_unused
from markovlogic.compression.table import NONE, compressor_of
from markovlogic.data.arrow import atom_names
from markovlogic.data.evidence import FALSE, TRUE, UNKNOWN, Evidence, atoms_of_groups, decode, group_of, group_sizes
from markovlogic.errors import InputError
from markovlogic.guarantee import Guarantee
from markovlogic.language.show import show_model
from markovlogic.language.syntax import Model
from markovlogic.problem import Problem, Statuses
from markovlogic.problem.assumed import COMPRESSION
from markovlogic.problem.prepare import Assumptions, Evidences, Models, PreparedProblem, Queries, prepare_problem
from markovlogic.report.files import atomic_file
from markovlogic.report.progress import progress_of
from markovlogic.system.arrays import Int8, Int64, all_but, each_once
from markovlogic.system.progress import Progress

SIGN = {TRUE: "", FALSE: "!", UNKNOWN: "?"}
MODEL, EVIDENCE, MAPPING, SUMMARY = "model.mln", "evidence.db", "mapping.csv", "summary.json"
FILES = (MODEL, EVIDENCE, MAPPING, SUMMARY)


@dataclass(frozen=True, eq=False)
class Compressed:
    """A smaller model with its evidence, the groups, and what that is worth."""

    method: str
    original: Problem
    problem: Problem  # the smaller one
    partition: Partition
    guarantee: Guarantee
    description: str  # one sentence
    notes: tuple[str, ...] = ()  # what was assumed by default, and what should be known of the groups

    def __repr__(self) -> str:
        return f"<compressed by {self.description}>"

    def _repr_html_(self) -> str:
        """What notebooks show."""
        from html import escape

        from markovlogic.report.notebook import code_html, dim_html, some_html, table_html

        rows = []
        for of, groups in self.groups.items():
            largest = max(groups, key=len, default=[])
            sizes = (f"{sum(map(len, groups)):,}", f"{len(groups):,}", f"{len(largest):,}", some_html(largest))
            rows.append((code_html(of), *sizes))
        notes = "".join(dim_html(escape(note)) for note in self.notes)
        head = ["type", "objects", "groups", "in the largest", ""]
        return f"<p>{escape(self.description)}</p>{table_html(head, rows, left=1, last=1)}{notes}"

    @property
    def model(self) -> Model:
        """The smaller model: the same rules and weights, types declared with what is left of them."""
        names = {of: domain.names for of, domain in self.problem.domains.items()}
        return replace(self.problem.model, constants=names, declared_types=frozenset(names))

    @property
    def evidence(self) -> Evidence:
        """The smaller model's evidence."""
        return self.problem.evidence

    @property
    def groups(self) -> dict[str, list[list[str]]]:
        """For each type the members of every group."""
        found = {}
        for of, own in self.partition.class_of.items():
            parts: list[list[str]] = [[] for _ in range(self.partition.n_groups(of))]
            for name, group in zip(self.original.domains[of].names, own.tolist(), strict=True):
                parts[group].append(name)
            found[of] = parts
        return found

    def summary(self) -> dict[str, Any]:
        """What `summary.json` holds."""
        return {
            "method": self.method,
            "groups": {of: self.partition.n_groups(of) for of in self.partition.class_of},
            "objects": {of: len(own) for of, own in self.partition.class_of.items()},
            "ratio": self.partition.ratio,
            "facts": {"given": _given(self.original), "written": sum(1 for _ in self._facts())},
            "guarantee": str(self.guarantee),
            "summary": self.description,
            "notes": list(self.notes),
        }

    def write(self, folder: str | os.PathLike[str]) -> tuple[Path, ...]:
        """Write `model.mln`, `evidence.db`, `mapping.csv` and `summary.json`; the folder is made when missing."""
        where = Path(folder)
        try:
            where.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise InputError(f"cannot make {folder}: {error.strerror or error}", hint="choose another directory") from error
        texts = self.texts()
        for name, parts in texts.items():
            with atomic_file(where / name) as file:
                for part in parts:
                    file.write(part.encode())
        return tuple(where / name for name in texts)

    def texts(self) -> dict[str, Iterable[str]]:
        """What the files hold, by their names, piece by piece."""
        return {
            MODEL: [show_model(self.model)],
            EVIDENCE: self._facts(),
            MAPPING: self._mapping(),
            SUMMARY: [json.dumps(self.summary(), indent=1, ensure_ascii=False) + "\n"],
        }

    def _facts(self) -> Iterator[str]:
        """Facts that read back as the same statuses; a closed predicate without any keeps one false atom, which closes it."""
        problem = self.problem
        for name in problem.model.declared:
            statuses, predicate = problem.statuses[name], problem.model.predicates[name]
            domains = [problem.domains[of] for of in predicate.types]
            code, status = statuses.code, statuses.status
            if any(predicate.exclusive):
                code, status = _group_facts(statuses, predicate.exclusive)
            elif (
                statuses.default != self.original.statuses[name].default
            ):  # whoever reads the file takes what is missing for that
                every = np.arange(statuses.n_ground, dtype=np.int64)
                status = statuses.lookup(every)
                listed = status != self.original.statuses[name].default
                code, status = every[listed], status[listed]
            elif statuses.default == FALSE and not len(code) and statuses.n_ground:
                code, status = np.zeros(1, np.int64), np.zeros(1, np.int8)
            for text, truth in zip(atom_names(name, code, statuses.sizes, domains).to_pylist(), status.tolist(), strict=True):
                yield f"{SIGN[truth]}{text}\n"

    def _mapping(self) -> Iterator[str]:
        yield "type,object,group,representative\n"
        for of, own in self.partition.class_of.items():
            names = self.original.domains[of].names
            stands = self.partition.representative[of]
            text = io.StringIO()
            rows = csv.writer(text, lineterminator="\n")
            rows.writerows((of, name, group, names[stands[group]]) for name, group in zip(names, own.tolist(), strict=True))
            yield text.getvalue()


def compress(
    model: Models,
    evidence: Evidences = None,
    method: str | Compressor = "dpmeans",
    *,
    query: Queries = (),
    rank: int | None = None,
    ratio: float | None = None,
    seed: int | None = None,
    open_: Sequence[str] = (),
    closed: Sequence[str] = (),
    closed_types: bool = False,
    progress: Progress | bool | None = None,
) -> Compressed:
    """Find groups of similar objects, and make the model and evidence in which each group is one object.

    Weights stay as they are, as in the papers. So the marginals of the smaller model are right only where the guarantee
    says so; `infer(..., compress=...)` does better. query: predicates that you will query: their unlisted facts are
    unknown. Without a query that holds for predicates with negative facts too, and evidence about all others is complete.
    seed: of what is drawn, where the method's settings have none of their own. progress: as in `infer`; False shows nothing.
    """
    compressor = compressor_of(method, rank, ratio, seed)
    if compressor is None:
        raise InputError(f"compression {NONE} leaves everything as it is", hint="name another method")
    refuse_unused(compressor, TO_WRITE)
    with progress_of(progress) as shown:
        return _made(model, evidence, query, Assumptions(open_, closed, closed_types), compressor, shown)


def _made(
    model: Models, evidence: Evidences, query: Queries, assumed: Assumptions, compressor: Compressor, progress: Progress
) -> Compressed:
    open_, closed = assumed.open_, assumed.closed
    prepared = prepare_problem(model, evidence, query, assumed, progress=progress)
    unknown = [] if query else _with_negatives(prepared.problem, [*open_, *closed])
    if unknown:
        prepared = prepare_problem(model, evidence, query, replace(assumed, open_=[*open_, *unknown]), progress=progress)
    refuse_numbers(prepared, writes=True)
    if all(rule.weight is not None for rule in prepared.problem.model.rules):
        _ = prepared.lowered  # refuses hard formulas that are never true
    opened = [
        f"{name} has negative facts, so what is missing there is unknown; --closed {name} takes it to be false"
        for name in unknown
    ]
    progress.stage("compress")
    made, partition = _compressed(prepared, compressor)
    notes = (*opened, *prepared.notes_for(COMPRESSION), *partition.notes)
    return Compressed(
        compressor.name, prepared.problem, made.prepared.problem, partition, made.guarantee, made.description(), notes
    )


def _compressed(prepared: PreparedProblem, compressor: Compressor) -> tuple[Compression, Partition]:
    if isinstance(compressor, Grouping):
        # files have literal weights: what the sizes of groups would say, rules cannot
        partition = compressor.partition(prepared.problem)
        return compressor.shrunk(prepared, partition, replace(compressor.carry_over, weights="literal")), partition
    made = compressor.compress(prepared)
    return made, made.partition or singletons(prepared.problem, compressor.source)


def _group_facts(statuses: Statuses, exclusive: tuple[bool, ...]) -> tuple[Int64, Int8]:
    """Facts about values of exclusive arguments: the true ones, and of groups without any the false ones; all else follows."""
    true = statuses.code[statuses.status == TRUE]
    decided = each_once(group_of(decode(true, statuses.sizes), statuses.sizes, exclusive))
    undecided = all_but(prod(group_sizes(statuses.sizes, exclusive)), decided)
    code = np.sort(atoms_of_groups(undecided, statuses.sizes, exclusive), axis=None)
    false = code[statuses.lookup(code) == FALSE]
    return np.concatenate([true, false]), np.repeat(np.array([TRUE, FALSE], np.int8), [len(true), len(false)])


def _given(problem: Problem) -> int:
    """Facts of the evidence, true or false."""
    return sum(int(np.count_nonzero(own.truth != UNKNOWN)) for own in problem.evidence.facts.values())


def _with_negatives(problem: Problem, named: Sequence[str]) -> list[str]:
    """Predicates with a fact that something is false: what is missing there is unknown, or the fact would say nothing."""
    return [
        name
        for name, facts in problem.evidence.facts.items()
        if name not in named and not any(problem.model.predicates[name].exclusive) and np.any(facts.truth == FALSE)
    ]
