"""Predicted probabilities and true facts, from files of every kind that we write or read."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from markovlogic.data.arrow import arrow_texts, atom_names
from markovlogic.data.db_lines import LineError, parse_fact, with_number
from markovlogic.data.evidence import FALSE, SOFT, TRUE, UNKNOWN, Evidence, codes
from markovlogic.data.readers import read_evidence
from markovlogic.data.sources import Source, evidence_sources, read_bytes, source_name
from markovlogic.data.table_facts import Table
from markovlogic.data.table_files import open_table
from markovlogic.data.vocabulary import FaultLog
from markovlogic.errors import Fault, InputError, Place
from markovlogic.language.syntax import Model, Predicate, show_constant
from markovlogic.results.marginals import Marginals, without_spaces
from markovlogic.system.arrays import Float64

EXPECTED = "what mln infer wrote: .csv, .parquet, .json, or lines of an atom and its probability"
PREDICATE = re.compile(r"[A-Za-z_][A-Za-z0-9_'-]*")
REGULAR = re.compile(r"([!?]?)([A-Za-z_]\w*(?:\([A-Z0-9][\w-]*(?:,[A-Z0-9][\w-]*)*\))?)", re.ASCII)


@dataclass(frozen=True, eq=False)
class Predictions:
    """The rows of a result."""

    source: str
    atom: Any  # (n,) Arrow strings
    probability: Float64  # (n,) nan where undefined
    stderr: Float64 | None  # (n,) nan where undefined; None where the file has none
    types: Mapping[str, tuple[str, ...]]  # argument types of each predicate, where they are known


@dataclass(frozen=True, eq=False)
class Truth:
    """What is known to be true, and what is known to be unknown; all else is false."""

    source: str
    true: Any  # Arrow strings
    unknown: Any  # Arrow strings
    predicates: frozenset[str]  # of all known facts


def read_result(result: Marginals | str | os.PathLike[str]) -> Predictions:
    """Atoms and probabilities of a result in memory or in a file."""
    if isinstance(result, Marginals):
        types = {
            name: tuple(domain.type_name for domain in domains)
            for name, domains in zip(result.predicates, result.domains, strict=True)
        }
        return Predictions("the result", result.atom, result.probability, result.stderr, types)
    if not isinstance(result, str | os.PathLike):
        raise InputError(f"results cannot be a {type(result).__name__}", hint="give what mln.infer returned, or a file it wrote")
    path = os.fspath(result)
    ending = os.path.splitext(path)[1].lower()
    if ending in (".html", ".htm"):
        raise InputError(Fault("an HTML page cannot be evaluated", Place(path), hint=f"give {EXPECTED}"))
    read = {".csv": _table_rows, ".parquet": _table_rows, ".json": _json_rows}.get(ending, _line_rows)
    predictions = read(path)
    _check(predictions)
    return predictions


def _table_rows(path: str) -> Predictions:
    import pyarrow as pa

    faults = FaultLog()
    table: Table = open_table(path, path, faults)
    faults.raise_if_any()
    missing = [name for name in ("atom", "probability") if name not in table.columns]
    if missing:
        listed = ", ".join(table.columns) or "none"
        message = f"no column {' and no column '.join(missing)}, found {listed}"
        raise InputError(Fault(message, Place(path), hint=f"give {EXPECTED}"))
    read = pa.Table.from_batches(list(table.batches()))
    if not read.num_columns:
        return Predictions(path, arrow_texts([]), np.zeros(0), None, {})

    def numbers(name: str) -> Float64:
        cells = read[name].combine_chunks()
        try:
            number = cells.cast(pa.float64())
        except pa.ArrowException:
            row = next(at for at, cell in enumerate(cells.to_pylist()) if not _is_number(cell))
            message = f"the {name} {cells[row].as_py()!r} is not a number"
            raise InputError(Fault(message, table.place(row), hint=f"give {EXPECTED}")) from None
        found: Float64 = number.fill_null(np.nan).to_numpy(zero_copy_only=False)
        return found

    atom = read["atom"].combine_chunks().cast(pa.large_string())
    return Predictions(path, atom, numbers("probability"), numbers("stderr") if "stderr" in table.columns else None, {})


def _is_number(cell: Any) -> bool:
    try:
        float(cell)
    except (TypeError, ValueError):
        return cell is None
    return True


def _json_rows(path: str) -> Predictions:
    try:
        content = json.loads(read_bytes(path, "a JSON file"))
    except (ValueError, RecursionError) as error:
        raise InputError(Fault(f"cannot be read as JSON: {error}", Place(path), hint=f"give {EXPECTED}")) from None
    rows = content.get("marginals") if isinstance(content, dict) else None
    try:
        names = [str(row["atom"]) for row in rows]  # type: ignore[union-attr]
        numbers, errors = (
            np.array([np.nan if row[name] is None else float(row[name]) for row in rows])  # type: ignore[union-attr]
            for name in ("probability", "stderr")
        )
    except (TypeError, KeyError, ValueError):
        message = "no list `marginals` of objects with `atom`, `probability` and `stderr`"
        raise InputError(Fault(message, Place(path), hint=f"give {EXPECTED}")) from None
    return Predictions(path, arrow_texts(names, large=True), numbers, errors, {})


def _line_rows(path: str) -> Predictions:
    """Alchemy's lines: an atom, a space and its probability."""
    text = _text(path)
    names: list[str] = []
    numbers: list[float] = []
    faults = FaultLog()
    for at, line in enumerate(text.splitlines(), 1):
        if not line.strip():
            continue
        name, _, number = line.rstrip().rpartition(" ")
        if not name or not _is_number(number):
            faults.add(Fault("expected an atom and its probability", Place(path, at, 1), line, f"give {EXPECTED}"))
            if faults.is_full:
                break
            continue
        names.append(without_spaces(name))
        numbers.append(float(number))
    faults.raise_if_any()
    return Predictions(path, arrow_texts(names, large=True), np.array(numbers, np.float64), None, {})


def _text(path: str) -> str:
    try:
        return read_bytes(path, "a text file").decode("utf-8-sig")
    except UnicodeDecodeError:
        raise InputError(Fault("not UTF-8 text", Place(path), hint=f"give {EXPECTED}")) from None


def _check(predictions: Predictions) -> None:
    if not len(predictions.probability):
        raise InputError(Fault("no rows to evaluate", Place(predictions.source), hint=f"give {EXPECTED}"))
    with np.errstate(invalid="ignore"):
        wrong = np.flatnonzero((predictions.probability < 0) | (predictions.probability > 1))
    if len(wrong):
        row = int(wrong[0])
        message = f"the probability of {predictions.atom[row].as_py()} is {predictions.probability[row]:g}, expected 0 to 1"
        raise InputError(Fault(message, Place(predictions.source), hint=f"row {row + 1}, and {len(wrong) - 1} more"))


def read_truth(truth: object, predictions: Predictions) -> Truth:
    """True and unknown atoms from `.db` files, tables by predicate, or evidence that was read before."""
    if isinstance(truth, Evidence):
        return _of_evidence(truth, "the evidence", predictions.types)
    sources = evidence_sources(truth)
    if not sources:
        raise InputError("missing truth", hint="give a .db file, or Predicate=FILE for a table")
    parts = [_of_table(source, predictions) if isinstance(source, tuple) else _of_db(os.fspath(source)) for source in sources]
    import pyarrow as pa

    large = pa.large_string()
    return Truth(
        ", ".join(part.source for part in parts),
        pa.concat_arrays([part.true.cast(large) for part in parts]),
        pa.concat_arrays([part.unknown.cast(large) for part in parts]),
        frozenset().union(*(part.predicates for part in parts)),
    )


def _of_db(path: str) -> Truth:
    """A `.db` file, whatever predicates it holds: no model is at hand that would declare them."""
    if path.lower().endswith((".csv", ".parquet")):
        message = "a table needs the name of its predicate"
        raise InputError(Fault(message, Place(path), hint=f"put it before the file: PREDICATE={os.path.basename(path)}"))
    status: dict[str, int] = {}
    faults = FaultLog()
    for at, line in enumerate(_text(path).splitlines(), 1):
        try:
            found = _fact(line)
        except LineError as error:
            faults.add(Fault(error.message, Place(path, at, error.column), line, error.hint))
            continue
        if found is not None and status.setdefault(*found) != found[1]:
            faults.add(Fault(f"contradicting facts about {found[0]}", Place(path, at, 1), line, "keep one of the two"))
        if faults.is_full:
            break
    faults.raise_if_any()
    true = arrow_texts([name for name, value in status.items() if value == TRUE], large=True)
    unknown = arrow_texts([name for name, value in status.items() if value == UNKNOWN], large=True)
    return Truth(path, true, unknown, frozenset(predicate_of(name) for name in status))


def _fact(line: str) -> tuple[str, int] | None:
    """The atom on a line and whether it is true; None where there is none."""
    plain = REGULAR.fullmatch(line.replace(" ", "").rstrip())
    if plain is not None and line[:1] not in (" ", ""):
        return plain.group(2), {"": TRUE, "!": FALSE, "?": UNKNOWN}[plain.group(1)]
    fact = parse_fact(line)
    if fact is None:
        return None
    fact = with_number(fact, is_real=False)
    if fact.truth == SOFT:
        raise LineError(1, "soft evidence is not a truth value", "give the fact, or ? for what is not known")
    args = ",".join(map(show_constant, fact.args))
    return (f"{fact.predicate}({args})" if args else fact.predicate), fact.truth


def _of_table(source: Source, predictions: Predictions) -> Truth:
    """A table about one predicate of the result, whose arity says how many columns are arguments."""
    assert isinstance(source, tuple)
    arity = _arities(predictions).get(source[0])
    if arity is None:
        known = ", ".join(_arities(predictions)) or "none"
        message = f"no row of {predictions.source} is about {source[0]}"
        raise InputError(Fault(message, Place(source_name(source)), hint=f"it has rows about {known}"))
    types = tuple(f"{source[0]} {at + 1}" for at in range(arity))
    model = Model({source[0]: Predicate(source[0], types, (False,) * arity)}, (), {})
    evidence = read_evidence(model, [source])
    return _of_evidence(evidence, source_name(source), {source[0]: types})


def _of_evidence(evidence: Evidence, source: str, types: Mapping[str, tuple[str, ...]]) -> Truth:
    """The facts about predicates whose types are known: those of the result."""
    import pyarrow as pa

    if not types:
        raise InputError("evidence does not hold the types of its predicates", hint="give the files or tables themselves")
    true, unknown = [arrow_texts([], large=True)], [arrow_texts([], large=True)]
    for name, facts in evidence.facts.items():
        if name not in types:
            continue
        if facts.log_odds is not None:
            message = f"soft evidence about {name} does not say what is true"
            raise InputError(message, hint="give facts, or ? for what is not known")
        domains = [evidence.domains[type_name] for type_name in types[name]]
        sizes = tuple(map(len, domains))
        code = codes(facts.args, sizes)
        for kind, names in ((TRUE, true), (UNKNOWN, unknown)):
            names.append(atom_names(name, code[facts.truth == kind], sizes, domains).cast(pa.large_string()))
    return Truth(source, pa.concat_arrays(true), pa.concat_arrays(unknown), frozenset(evidence.facts) | evidence.observed)


def predicate_of(atom: str) -> str:
    """The predicate of an atom's text; empty where it is no single atom."""
    found = PREDICATE.match(atom)
    if found is None or (found.end() < len(atom) and atom[found.end()] != "("):
        return ""
    return found.group()


def _arities(predictions: Predictions) -> dict[str, int]:
    found: dict[str, int] = {}
    for atom in _firsts(predictions.atom):
        name = predicate_of(atom)
        if name:
            try:
                fact = parse_fact(atom)
            except LineError:
                continue
            found.setdefault(name, len(fact.args) if fact is not None else 0)
    return found


def _firsts(atoms: Any) -> Iterable[str]:
    """The first atom of each predicate."""
    import pyarrow.compute as pc

    names = pc.extract_regex(atoms, r"^(?P<name>[A-Za-z_][A-Za-z0-9_'-]*)")
    plain = pc.struct_field(names, "name").fill_null("").dictionary_encode()
    ids = plain.indices.to_numpy(zero_copy_only=False)
    _, first = np.unique(ids, return_index=True)
    return [atoms[int(at)].as_py() for at in first]
