"""Evidence from files and tables: the one place where all sources come together."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from markovlogic.data.assemble import assemble_facts
from markovlogic.data.db_files import read_db
from markovlogic.data.evidence import Evidence, Facts
from markovlogic.data.sources import Path, Source, is_table_file, parse_source, parse_sources, source_name
from markovlogic.data.vocabulary import Block, FaultLog, Vocabulary
from markovlogic.errors import Fault, InputError, Place, nearest
from markovlogic.language.syntax import Model
from markovlogic.system.progress import SILENT, Progress

if TYPE_CHECKING:
    from markovlogic.data.table_facts import Table

__all__ = ["Source", "evidence_of", "parse_source", "parse_sources", "read_evidence"]


def read_evidence(
    model: Model, sources: Sequence[Source] | Path, *, closed_types: bool = False, progress: Progress = SILENT
) -> Evidence:
    """Read all sources, in their order, into one value; everything that is wrong with any of them is raised at once.

    A source is a `.db` file, or a predicate's name with a table, in a file or in memory. With `closed_types`
    a constant that is not listed by its declared type is an error; types without a declaration stay open.
    """
    if isinstance(sources, (str, os.PathLike)):
        sources = [sources]
    vocabulary = Vocabulary(model, closed_types=closed_types)
    faults = FaultLog()
    blocks: dict[str, list[Block]] = {}
    names = tuple(source_name(source) for source in sources)
    tables: dict[int, Table] = {}
    observed = set()
    for number, source in enumerate(sources):
        if faults.is_full:
            faults.stop()
            break
        try:
            if isinstance(source, tuple):
                predicate = source[0]
                tables[number], found = _read_table(model, source, vocabulary, number, faults, progress)
                observed.add(predicate)
            else:
                _refuse_nameless_table(names[number])
                if names[number].lower().endswith(".mln"):
                    hint = "rules come first, facts after -e: mln infer rules.mln -e facts.db"
                    raise InputError(Fault("a rule file in place of evidence", Place(names[number]), hint=hint))
                found = read_db(names[number], model, vocabulary, number, faults, progress)
        except InputError as error:
            faults.extend(error)
            continue
        for block in found:
            blocks.setdefault(block.predicate, []).append(block)

    def place_of(source: int, line: int) -> Place:
        return tables[source].place(line) if source in tables else Place(names[source], line, 1)

    domains = vocabulary.domains()
    facts: dict[str, Facts] = {}
    progress.stage("sort facts", len(blocks))
    for predicate in model.predicates:
        if predicate in blocks:
            progress.advance(len(facts), predicate)
            facts[predicate] = assemble_facts(model.predicates[predicate], blocks.pop(predicate), domains, place_of, faults)
    faults.raise_if_any()
    notes = tuple(note for table in tables.values() for note in table.notes)
    return Evidence(domains, facts, names, frozenset(observed), notes)


def evidence_of(model: Model, *files: Path, closed_types: bool = False, **tables: Any) -> Evidence:
    """Evidence from files and from tables named by their predicates: `evidence_of(model, "a.db", Friends=frame)`.

    A file is given as `-e` takes it: `"a.db"`, `"Friends=friends.csv"`, or a list with commas.
    """
    named = [source for file in files for source in (parse_sources(file) if isinstance(file, str) else (file,))]
    return read_evidence(model, [*named, *tables.items()], closed_types=closed_types)


def _read_table(
    model: Model, source: tuple[str, Any], vocabulary: Vocabulary, number: int, faults: FaultLog, progress: Progress
) -> tuple[Table, list[Block]]:
    from markovlogic.data.table_facts import read_table
    from markovlogic.data.table_files import open_table

    predicate, content = source
    name = source_name(source)
    if predicate not in model.declared:
        raise InputError(Fault(f"undeclared predicate {predicate}", Place(name), hint=nearest(predicate, model.declared)))
    progress.stage(f"read {name}")
    table = open_table(content, name, faults)
    return table, read_table(table, model.predicates[predicate], vocabulary, number, faults, progress)


def _refuse_nameless_table(path: str) -> None:
    if is_table_file(path):
        message = "a table needs the name of its predicate"
        raise InputError(Fault(message, Place(path), hint=f"put it before the file: PREDICATE={os.path.basename(path)}"))
