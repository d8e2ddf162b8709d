"""Reads `.db` files: piece by piece through the fast path, line by line where that does not understand a line."""

from __future__ import annotations

import re
from typing import Any

import numpy as np

from markovlogic.data.assemble import from_number
from markovlogic.data.db_lines import LineError, ParsedFact, check_fact, parse_fact, unlisted, with_number
from markovlogic.data.db_scan import Scan, scan
from markovlogic.data.evidence import FALSE, SOFT, TRUE
from markovlogic.data.sources import read_bytes
from markovlogic.data.vocabulary import Block, FaultLog, NamedBlock, Piece, Vocabulary, join_pieces, number_blocks
from markovlogic.errors import Fault, Place, nearest
from markovlogic.language.parser import parse_type_declaration
from markovlogic.language.syntax import Model, Predicate
from markovlogic.language.tokens import Source, SyntaxFault
from markovlogic.system.arrays import Float64, Int64, each_once
from markovlogic.system.progress import SILENT, Progress

_BEGINS = re.compile(r"\s*[A-Za-z_][A-Za-z0-9_]*\s*=\s*\{")


def is_type_declaration(line: str) -> bool:
    """Whether a line declares a type, rightly or not."""
    return _BEGINS.match(line) is not None


def read_type_declaration(line: str, vocabulary: Vocabulary) -> None:
    """Take the constants of a line into their type; raises LineError where something is wrong with it."""
    try:
        declared = parse_type_declaration(Source("", line))
    except SyntaxFault as error:
        place = error.fault.place
        hint = "a declaration stands on one line" if "never closed" in error.fault.message else error.fault.hint
        raise LineError(place.column if place else 1, error.fault.message, hint) from None
    column = declared.place.column
    known = vocabulary.number_of.get(declared.name)
    if known is None:
        types = ", ".join(list(vocabulary.number_of)[:8])
        raise LineError(
            column, f"unknown type {declared.name}", nearest(declared.name, vocabulary.number_of) or f"types: {types}"
        )
    if declared.name in vocabulary.closed:
        for name in declared.constants:
            if name not in known:
                raise LineError(column, *unlisted(declared.name, name, known))
    vocabulary.numbers(declared.name, declared.constants)


PIECE = 2 << 20  # bytes: the temporaries of the fast path stay in the cache
PIECES_TOGETHER = 16  # constants are looked up once for so many
LONGEST_LINE = 1 << 20
NUMBER_FIRST = re.compile(rb"^[ \t]*([+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)[ \t]+(?=[A-Za-z_])", re.MULTILINE | re.ASCII)
COMMENT_OR_QUOTED = re.compile(rb'"(?:[^"\\\n]|\\[^\n])*"?|//[^\n]*|/\*(?:.*?\*/|.*)', re.DOTALL)


class NotText(Exception):
    """A line that is no UTF-8 text."""


def read_db(
    path: str, model: Model, vocabulary: Vocabulary, source: int, faults: FaultLog, progress: Progress = SILENT
) -> list[Block]:
    """All facts of a `.db` file, constants numbered in `vocabulary`; what is wrong goes to `faults`."""
    data = _text_of(path, faults)
    blocks: list[Block] = []
    pieces: list[Piece] = []
    progress.stage(f"read {path}", len(data))
    line = 1
    at = 0
    while at < len(data):
        end = _piece_end(data, at)
        piece = data[at:end]
        if end - at > PIECE:
            _refuse_long_line(piece, Place(path, line, 1), faults)
            line += 1
        else:
            try:
                n_lines, found = _read_piece(piece, path, line, model, vocabulary, faults)
            except NotText:
                break
            pieces.append(found)
            line += n_lines
            if len(pieces) == PIECES_TOGETHER:
                blocks += number_blocks(vocabulary, join_pieces(pieces), source)
                pieces = []
        at = end
        progress.advance(at)
        if faults.is_full:
            faults.stop()
            break
    return blocks + number_blocks(vocabulary, join_pieces(pieces), source) if pieces else blocks


def _text_of(path: str, faults: FaultLog) -> bytes:
    """A file's bytes, without mark, block comments and NULs, with a newline at the end."""
    data = read_bytes(path, "a .db file: facts, one on each line")
    nul = data.find(b"\0")
    if nul >= 0:
        line = data.count(b"\n", 0, nul) + 1
        column = nul - data.rfind(b"\n", 0, nul)
        hint = "save it as UTF-8" if data[:2] in (b"\xff\xfe", b"\xfe\xff") else "expected facts, one on each line"
        faults.add(Fault("not a text file: it holds a NUL byte", Place(path, line, column), hint=hint))
        return b""
    data = data.removeprefix(b"\xef\xbb\xbf")
    if b"\r" in data and b"\n" not in data:
        data = data.replace(b"\r", b"\n")
    if b"/*" in data:
        data = _without_block_comments(data, path, faults)
    return data if data.endswith(b"\n") or not data else data + b"\n"


def _without_block_comments(data: bytes, path: str, faults: FaultLog) -> bytes:
    """Spaces instead of `/* … */`, newlines kept, so that every place stays where it was."""

    def blank(found: re.Match[bytes]) -> bytes:
        text = found.group()
        if not text.startswith(b"/*"):
            return text
        if len(text) < 4 or not text.endswith(b"*/"):
            start = found.start()
            place = Place(path, data.count(b"\n", 0, start) + 1, start - data.rfind(b"\n", 0, start))
            faults.add(Fault("this comment is not closed", place, hint="expected */"))
        return b"\n".join(b" " * len(part.decode("utf-8", "replace")) for part in text.split(b"\n"))

    return COMMENT_OR_QUOTED.sub(blank, data)


def _piece_end(data: bytes, start: int) -> int:
    """End of the next piece: as many whole lines as fit, or one long line."""
    if start + PIECE >= len(data):
        return len(data)
    end = data.rfind(b"\n", start, start + PIECE) + 1
    return end or data.find(b"\n", start + PIECE) + 1


def _refuse_long_line(line: bytes, place: Place, faults: FaultLog) -> None:
    if not line.startswith(b"//") and line.strip():
        faults.add(Fault(f"this line is {len(line):,} bytes long, expected one fact", place, hint="write one fact a line"))


def _read_piece(
    piece: bytes, path: str, first_line: int, model: Model, vocabulary: Vocabulary, faults: FaultLog
) -> tuple[int, Piece]:
    """How many lines a piece has, and its facts."""
    bare, numbered, value = _without_numbers(piece)
    scanned = scan(bare)
    number = np.full(len(scanned.line_start) - 1, np.nan)  # by line
    number[np.searchsorted(scanned.line_start, numbered, "right") - 1] = value
    regular, doubtful = _match_to_model(scanned, number, model, vocabulary)
    slow: dict[str, list[tuple[int, ParsedFact]]] = {}
    for line in each_once(np.concatenate([scanned.irregular, doubtful])).tolist():
        text = piece[scanned.line_start[line] : scanned.line_start[line + 1] - 1]
        place = Place(path, first_line + line, 1)
        if len(text) > LONGEST_LINE:
            _refuse_long_line(text, place, faults)
            continue
        fact = _read_line(text, place, model, vocabulary, faults)
        if fact is not None:
            slow.setdefault(fact.predicate, []).append((line, fact))
        if faults.is_full:
            break
    found = _merge(scanned, number, regular, slow, model, first_line)
    return len(scanned.line_start) - 1, found


def _without_numbers(piece: bytes) -> tuple[bytes, Int64, Float64]:
    """A piece with spaces where lines begin with a number before a fact; where these numbers are, and what they are."""
    found = [one.span(1) for one in NUMBER_FIRST.finditer(piece)]
    if not found:
        return piece, np.zeros(0, np.int64), np.zeros(0)
    start, end = np.array(found, np.int64).T
    value = np.array([piece[begin:stop] for begin, stop in found]).astype(np.float64)
    length = end - start
    letters = np.frombuffer(piece, np.uint8).copy()
    letters[np.repeat(start - np.cumsum(length) + length, length) + np.arange(length.sum())] = ord(" ")
    return letters.tobytes(), start, value


def _read_line(text: bytes, place: Place, model: Model, vocabulary: Vocabulary, faults: FaultLog) -> ParsedFact | None:
    try:
        line = text.decode()
    except UnicodeDecodeError as error:
        column = len(text[: error.start].decode("utf-8", "replace")) + 1
        fault = Fault("not UTF-8 text", Place(place.file, place.line, column), hint="expected facts, one on each line, in UTF-8")
        faults.add(fault)
        raise NotText from None
    try:
        if is_type_declaration(line):
            read_type_declaration(line, vocabulary)
            return None
        fact = parse_fact(line)
        if fact is not None:
            known = model.predicates.get(fact.predicate)
            fact = with_number(fact, is_real=known is not None and known.is_real)
        errors = [] if fact is None else check_fact(fact, model, vocabulary.number_of, vocabulary.closed)
    except LineError as error:
        fact, errors = None, [error]
    for wrong in errors:
        faults.add(Fault(wrong.message, Place(place.file, place.line, wrong.column), line.rstrip("\r"), wrong.hint))
    return None if errors else fact


def _match_to_model(
    scanned: Scan, number_of_line: Float64, model: Model, vocabulary: Vocabulary
) -> tuple[list[tuple[Predicate, Int64]], Int64]:
    """Regular facts by predicate (as indices), and the lines of those that do not fit the model."""
    names = scanned.names
    predicate_id = scanned.name_id[scanned.first_token]
    is_predicate = np.zeros(len(names), bool)
    is_predicate[predicate_id] = True
    numbered = list(model.predicates.values())
    number_of = {predicate.name: number for number, predicate in enumerate(numbered)}
    number_of_id = np.full(len(names), -1, np.int32)
    for at in np.flatnonzero(is_predicate & scanned.is_bare).tolist():
        number_of_id[at] = number_of.get(names[at].as_py(), -1)
    number = number_of_id[predicate_id]

    matched: list[tuple[Predicate, Int64]] = []
    fits = np.zeros(len(number), bool)
    allowed: dict[str, Any] = {}  # which names each closed type lists
    for at in each_once(number).tolist():
        if at < 0:
            continue
        predicate = numbered[at]
        rows = np.flatnonzero((number == at) & (scanned.arity == predicate.arity))
        value = number_of_line[scanned.line[rows]]
        good = np.isfinite(value) if predicate.is_real else np.isnan(value) | ((value >= 0) & (value <= 1))
        good &= np.isnan(value) | (scanned.truth[rows] == TRUE)  # no sign beside a number
        for position, type_name in enumerate(predicate.types):
            ids = scanned.name_id[scanned.first_token[rows] + (1 + position)]
            good &= scanned.is_constant[ids]
            if type_name in vocabulary.closed:
                if type_name not in allowed:
                    known = vocabulary.number_of[type_name]
                    allowed[type_name] = np.fromiter((name in known for name in names.to_pylist()), bool, len(names))
                good &= allowed[type_name][ids]
        rows = rows[good]
        fits[rows] = True
        matched.append((predicate, rows))
    return matched, scanned.line[~fits]


def _merge(
    scanned: Scan,
    number_of_line: Float64,
    regular: list[tuple[Predicate, Int64]],
    slow: dict[str, list[tuple[int, ParsedFact]]],
    model: Model,
    first_line: int,
) -> Piece:
    """The facts of both paths, a block for each predicate and path; each path's names have numbers of their own."""
    import pyarrow as pa

    blocks = []
    for predicate, rows in regular:
        name_id = np.empty((len(rows), predicate.arity), np.int32)
        for position in range(predicate.arity):
            name_id[:, position] = scanned.name_id[scanned.first_token[rows] + (1 + position)]
        line = scanned.line[rows]
        number, truth = number_of_line[line], scanned.truth[rows]
        soft = None
        if not np.isnan(number).all():
            truth = np.where(np.isnan(number), truth, SOFT).astype(np.int8)
            if not predicate.is_real:
                truth[number == 0], truth[number == 1] = FALSE, TRUE
            soft = from_number(predicate, truth, number)
        blocks.append(NamedBlock(predicate, name_id, truth, line + first_line, soft))
    names = scanned.names
    extra: dict[str, int] = {}
    for predicate_name, facts in slow.items():
        predicate = model.predicates[predicate_name]
        ids = [[len(names) + extra.setdefault(name, len(extra)) for name in fact.args] for _, fact in facts]
        lines = np.array([line for line, _ in facts], np.int64) + first_line
        truth = np.array([fact.truth for _, fact in facts], np.int8)
        soft = from_number(predicate, truth, np.array([fact.number for _, fact in facts]))
        name_id = np.array(ids, np.int32).reshape(len(facts), predicate.arity)
        blocks.append(NamedBlock(predicate, name_id, truth, lines, soft))
    if extra:
        names = pa.concat_arrays([names, pa.array(list(extra), pa.string())])
    return Piece(names, [block for block in blocks if len(block.line)])
