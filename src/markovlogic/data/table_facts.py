"""Facts from a table: one column an argument, by position, and perhaps a column named `truth`, `probability` or `weight`."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing
from typing import Any

import numpy as np
import numpy.typing as npt

from markovlogic.data.assemble import from_probability, truth_and_weight
from markovlogic.data.db_lines import unlisted
from markovlogic.data.evidence import FALSE, SOFT, TRUE, UNKNOWN
from markovlogic.data.sources import is_table_file
from markovlogic.data.vocabulary import Block, FaultLog, NamedBlock, Piece, SoftColumn, Vocabulary, join_pieces, number_blocks
from markovlogic.errors import MOST_SHOWN, Fault, InputError, Place
from markovlogic.language.syntax import Predicate, show_constant
from markovlogic.system.arrays import Bool
from markovlogic.system.progress import SILENT, Progress

ROWS = 1 << 18  # of one batch


class Table:
    """A table's column names and batches, and where its rows stand."""

    def __init__(self, name: str, reader: Any, *, lines: Callable[[], list[int]] | None = None, keep: object = None) -> None:
        self.name = name
        self.columns: list[str] = [column.strip() for column in reader.schema.names]
        self._reader = reader
        self._locate, self._lines = lines, list[int]()  # how the lines of the rows are found, on demand; and they
        self._keep = keep  # whatever the reader needs to be alive
        self.notes: list[str] = []  # what is odd about it, and read all the same

    @property
    def is_text(self) -> bool:
        """Whether rows are lines of a text file."""
        return self._locate is not None

    def batches(self) -> Iterator[Any]:
        """Record batches of at most `ROWS` rows."""
        import pyarrow as pa

        try:
            for batch in self._reader:
                for start in range(0, batch.num_rows, ROWS):
                    yield batch.slice(start, ROWS)
        except (pa.ArrowException, OSError, ValueError, TypeError) as error:
            raise InputError(Fault(f"cannot be read: {first_line(error)}", Place(self.name))) from None

    def whole(self) -> Any:
        """All of it as one Arrow table."""
        import pyarrow as pa

        return pa.Table.from_batches(self.batches(), self._reader.schema)

    def place(self, row: int) -> Place:
        """Where a row (from 0) stands: a line of a text file, else the row's number."""
        if self._locate is not None and not self._lines:
            self._lines = self._locate()
        return Place(self.name, self._lines[row], 1) if row < len(self._lines) else Place(f"{self.name}, row {row + 1}")


def reader_of(table: Any, name: str) -> Any:
    """An Arrow record batch reader over a table in memory."""
    import pyarrow as pa

    if isinstance(table, pa.RecordBatchReader):
        return table
    if isinstance(table, pa.RecordBatch):
        table = pa.Table.from_batches([table])
    if isinstance(table, pa.Table):
        return table.to_reader()
    try:
        if is_query(table):
            return _answered(*table)
        if isinstance(table, Mapping):
            return pa.table({str(column): pa.array(values) for column, values in table.items()}).to_reader()
        if type(table).__module__.partition(".")[0] == "pandas" and hasattr(table, "columns"):
            return pa.Table.from_pandas(table, preserve_index=False).to_reader()
        if type(table).__module__.partition(".")[0] == "polars" and hasattr(table, "collect"):
            table = table.collect()
        if hasattr(table, "__arrow_c_stream__"):
            return pa.RecordBatchReader.from_stream(table)
        if hasattr(table, "to_arrow"):
            return table.to_arrow().to_reader()
    except Exception as error:  # whatever the user's own table raises while it is made or run
        raise InputError(Fault(f"this table cannot be read: {first_line(error)}", Place(name))) from error
    raise InputError(
        Fault(
            f"not a table: {type(table).__module__}.{type(table).__qualname__}",
            Place(name),
            hint="expected a pandas, Polars or Arrow table, a DuckDB relation, a dict of columns, a file,"
            " or a database connection with a query, (connection, 'SELECT …')",
        )
    )


def is_query(table: Any) -> bool:
    """Whether it is a connection of ADBC or of Python's DB-API with a query."""
    return isinstance(table, tuple) and len(table) == 2 and hasattr(table[0], "cursor") and isinstance(table[1], str)


def _answered(connection: Any, query: str) -> Any:
    """The rows of a query; the connection is its owner's to commit and to close."""
    import pyarrow as pa

    with closing(connection.cursor()) as cursor:
        ran = cursor.execute(query)
        answer = ran if hasattr(ran, "description") else cursor  # DuckDB's gives itself, others nothing
        names = [str(column[0]) for column in answer.description or ()]
        if hasattr(answer, "fetch_arrow_table"):
            return _plain(answer.fetch_arrow_table()).to_reader()
        columns = list(zip(*answer.fetchall(), strict=True)) or [()] * len(names)
        return pa.table([pa.array([_plain_value(value) for value in column]) for column in columns], names).to_reader()


def _plain(table: Any) -> Any:
    """Columns of types that only the driver knows, as they are stored; dates and uuids as text."""
    import pyarrow as pa

    for at, field in enumerate(table.schema):
        kind, column = field.type, table.column(at)
        if str(kind) == "extension<arrow.uuid>":
            column = pa.chunked_array([pa.array([_plain_value(value) for value in column.to_pylist()], pa.string())])
        elif isinstance(kind, pa.BaseExtensionType):
            kind = kind.storage_type
            column = pa.chunked_array([chunk.storage for chunk in column.chunks], kind)
        if pa.types.is_temporal(kind) or (pa.types.is_decimal(kind) and field.name not in NUMBERS):
            column = column.cast(pa.string())
        table = table.set_column(at, field.name, column)
    return table


def _plain_value(value: Any) -> Any:
    return value if value is None or isinstance(value, str | bool | int | float) else str(value)


def first_line(error: Exception) -> str:
    """What a library says was wrong, in one line."""
    return str(error).strip().partition("\n")[0][:300]


TRUTH, PROBABILITY, WEIGHT = "truth", "probability", "weight"
VALUE = "value"  # of predicates with numbers
NUMBERS = (PROBABILITY, WEIGHT, VALUE)  # columns that hold numbers; all others hold constants, or a truth value
SAYING = (TRUTH, PROBABILITY, WEIGHT)  # columns that are no arguments
TRUTH_OF_WORD = {
    "true": TRUE,
    "1": TRUE,
    "false": FALSE,
    "0": FALSE,
    "unknown": UNKNOWN,
    "?": UNKNOWN,
    "null": UNKNOWN,
    "": UNKNOWN,
}
INDEX_COLUMN = re.compile(r"__index_level_[0-9]+__\Z")
EMPTY_CELL = "every argument needs a constant; a query leaves such rows out: … WHERE column IS NOT NULL"
BAD = -1
BATCHES_TOGETHER = 16  # constants are looked up once for so many


def read_table(
    table: Table, predicate: Predicate, vocabulary: Vocabulary, source: int, faults: FaultLog, progress: Progress = SILENT
) -> list[Block]:
    """All facts of a table; what is wrong with its cells goes to `faults`, a table of the wrong shape raises InputError."""
    special = (VALUE,) if predicate.is_real else SAYING
    arguments = [at for at, name in enumerate(table.columns) if name not in special]
    saying = [at for at, name in enumerate(table.columns) if name in special]
    if predicate.is_real and len(saying) != 1:
        message = f"{predicate.name} has numbers, so its table needs a column {VALUE}; found {', '.join(table.columns) or 'none'}"
        raise InputError(Fault(message, Place(table.name), hint="one column for each argument, and value"))
    index = [at for at in arguments if INDEX_COLUMN.match(table.columns[at])]
    if index and len(arguments) - len(index) == predicate.arity:  # what pandas writes for the index of a frame
        table.notes.append(f"{table.name}: column {table.columns[index[0]]}, an index of pandas, was left out")
        arguments = [at for at in arguments if at not in index]
    semicolons = table.is_text and len(table.columns) == 1 and ";" in table.columns[0]
    if semicolons and len(arguments) == predicate.arity:
        table.notes.append(f"{table.name}: its one column is named {table.columns[0]}; separate columns by commas")
    if len(arguments) != predicate.arity or len(saying) > 1:
        listed = ", ".join(table.columns) or "none"
        place = Place(table.name, 1, 1) if table.is_text else Place(table.name)
        columns = "1 column" if predicate.arity == 1 else f"{predicate.arity} columns"
        names = f"{TRUTH}, {PROBABILITY} or {WEIGHT}"
        message = f"{predicate.name} takes {columns} and at most one named {names}, found {len(table.columns)}: {listed}"
        hint = "give one column for each argument, in their order"
        if is_table_file(table.name) and len(arguments) > predicate.arity:
            stem, chosen = os.path.basename(table.name).partition(".")[0], ", ".join(table.columns[: predicate.arity])
            hint += f"; a query chooses them: '{predicate.name}={table.name}:SELECT {chosen} FROM {stem}'"
        if semicolons:
            hint = "its cells are separated by semicolons: write commas, or tabs in a .tsv file"
        if len(saying) > 1:
            hint = f"keep one of {', '.join(table.columns[at] for at in saying)}"
        raise InputError(Fault(message, place, hint=hint))
    if swapped := _swapped([table.columns[at] for at in arguments], predicate):
        table.notes.append(f"{table.name}: {swapped}")
    blocks: list[Block] = []
    pieces: list[Piece] = []
    row = 0
    for batch in table.batches():
        pieces.append(_read_batch(batch, row, table, arguments, saying, predicate, vocabulary, faults))
        if len(pieces) == BATCHES_TOGETHER:
            blocks += number_blocks(vocabulary, join_pieces(pieces), source)
            pieces = []
        row += batch.num_rows
        progress.advance(row, f"{row:,} rows")
        if faults.is_full:
            faults.stop()
            break
    if pieces:
        blocks += number_blocks(vocabulary, join_pieces(pieces), source)
    named = zip((table.columns[at] for at in arguments), predicate.types, strict=True)
    if table.is_text and arguments and all(name in vocabulary.number_of[type_name] for name, type_name in named):
        table.notes.append(
            f"{table.name}: the first line, {', '.join(table.columns)}, was read as names of columns, but these are constants"
            " too; if it is a fact, put a line of names above it"
        )
    return blocks


def _swapped(columns: list[str], predicate: Predicate) -> str:
    """What is odd about a header that names the types in another order than the declaration."""
    named, types = [column.strip().lower() for column in columns], [type_name.lower() for type_name in predicate.types]
    odd = [at for at, name in enumerate(named) if name in types and name != types[at]]
    if not odd:
        return ""
    declared = f"{predicate.name}({', '.join(predicate.types)})"
    return f"columns are taken in their order, and the header ({', '.join(columns)}) names types in another order than {declared}"


def _read_batch(
    batch: Any,
    first_row: int,
    table: Table,
    arguments: list[int],
    saying: list[int],
    predicate: Predicate,
    vocabulary: Vocabulary,
    faults: FaultLog,
) -> Piece:
    import pyarrow as pa

    n_rows = batch.num_rows
    good: Bool = np.ones(n_rows, bool)

    def refuse(bad: Bool, message: Callable[[int], tuple[str, str]]) -> None:
        """Note what is wrong with some rows, and leave them out."""
        rows = np.flatnonzero(bad).tolist()
        for row in rows[:MOST_SHOWN]:
            text, hint = message(row)
            faults.add(Fault(text, table.place(first_row + row), hint=hint))
        faults.count += len(rows) - len(rows[:MOST_SHOWN])
        good[bad] = False

    name_id = np.empty((n_rows, predicate.arity), np.int64)
    dictionaries: list[Any] = []
    n_names = 0
    for position, at in enumerate(arguments):
        column = table.columns[at]
        ids, names = _constants(batch.column(at), column, table)
        if len(names):
            vocabulary.met(predicate.types[position], integers=_holds_integers(batch.column(at).type))
        missing = ids < 0
        refuse(missing, lambda _row, column=column: (f"column {column} is empty", EMPTY_CELL))  # type: ignore[misc]
        type_name = predicate.types[position]
        if type_name in vocabulary.closed:
            known = vocabulary.number_of[type_name]
            texts = names.to_pylist()
            listed = np.fromiter((text in known for text in texts), bool, len(texts))
            outside = ~missing
            outside[~missing] = ~listed[ids[~missing]]
            refuse(outside, lambda row, t=type_name, s=texts, i=ids, k=known: unlisted(t, s[i[row]], k))  # type: ignore[misc]
        name_id[:, position] = ids + n_names
        dictionaries.append(names)
        n_names += len(names)
    truth, soft = np.full(n_rows, TRUE, np.int8), None
    if saying:
        column, cells = table.columns[saying[0]], batch.column(saying[0])
        truth, soft, expected = _truth_of_cells(column, cells, predicate)
        refuse(truth == BAD, lambda row: (f"column {column} holds {cells[row].as_py()!r}", expected))
        if predicate.is_real:
            good &= truth == SOFT  # where there is not a number there is nothing to say
    names = pa.concat_arrays(dictionaries) if dictionaries else pa.array([], pa.string())
    rows = np.flatnonzero(good)
    return Piece(names, [NamedBlock(predicate, name_id[rows], truth[rows], rows + first_row, _kept(soft, rows))])


def _kept(soft: SoftColumn | None, rows: npt.NDArray[np.int64]) -> SoftColumn | None:
    return None if soft is None else SoftColumn(soft.value[rows], soft.is_share)


def _truth_of_cells(column: str, cells: Any, predicate: Predicate) -> tuple[npt.NDArray[np.int8], SoftColumn | None, str]:
    """Truth of each row, BAD where it makes no sense, what soft rows say, and what was expected."""
    if column == TRUTH:
        return _truth(cells), None, "expected true, false, 1, 0, unknown, ? or nothing"
    number, is_empty = _numbers(cells)
    if predicate.is_real:
        truth = np.where(is_empty, UNKNOWN, np.where(np.isfinite(number), SOFT, BAD)).astype(np.int8)
        return truth, SoftColumn(np.where(truth == SOFT, number, 0.0), is_share=False), "expected a number, or nothing"
    if column == PROBABILITY:
        with np.errstate(invalid="ignore"):
            truth = np.where((number > 0) & (number < 1), SOFT, np.where(number == 1, TRUE, np.where(number == 0, FALSE, BAD)))
        expected = "expected a probability from 0 to 1, or nothing"
    else:
        truth = np.where(np.isnan(number), BAD, truth_and_weight(number))
        expected = "expected log-odds, a number, or nothing"
    truth = np.where(is_empty, UNKNOWN, truth).astype(np.int8)
    if column == PROBABILITY:
        return truth, from_probability(predicate, truth, number), expected
    return truth, SoftColumn(np.where(truth == SOFT, number, 0.0), is_share=False) if np.any(truth == SOFT) else None, expected


def _numbers(cells: Any) -> tuple[npt.NDArray[np.float64], Bool]:
    """Numbers of cells, nan where one is none, and which cells are empty."""
    import pyarrow as pa

    kind = cells.type.value_type if pa.types.is_dictionary(cells.type) else cells.type
    if pa.types.is_floating(kind) or pa.types.is_integer(kind):
        plain = cells.cast(pa.float64())
        is_empty = plain.is_null().to_numpy(zero_copy_only=False)
        return plain.fill_null(np.nan).to_numpy(zero_copy_only=False), is_empty
    values = cells.to_pylist()
    is_empty = np.array([value is None or (isinstance(value, str) and not value.strip()) for value in values], bool)
    return np.array([_number(value) for value in values], np.float64), is_empty


def _number(value: Any) -> float:
    try:
        return float(value)
    except (TypeError, ValueError):
        return float("nan")


def _constants(cells: Any, column: str, table: Table) -> tuple[npt.NDArray[np.int64], Any]:
    """For each cell the number of its name, -1 where it is missing, and the names as an Arrow string array."""
    import pyarrow as pa

    kind = cells.type
    if pa.types.is_dictionary(kind):
        if cells.dictionary.null_count:
            return _constants(cells.cast(kind.value_type), column, table)
        kind = kind.value_type
    if pa.types.is_null(kind):
        return np.full(len(cells), -1, np.int64), pa.array([], pa.string())
    if not (
        pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind) or pa.types.is_integer(kind)
    ):
        advice = "constants are strings or integers: convert the column first"
        if pa.types.is_floating(kind):
            advice += "; integers become decimals where cells are missing, drop those rows"
        raise InputError(Fault(f"column {column} has type {kind}, expected strings or integers", Place(table.name), hint=advice))
    if pa.types.is_string_view(cells.type):
        cells = cells.cast(pa.string())
    encoded = cells if pa.types.is_dictionary(cells.type) else cells.dictionary_encode()
    ids = encoded.indices.cast(pa.int64()).fill_null(-1).to_numpy(zero_copy_only=False)
    return _stripped(ids, encoded.dictionary.cast(pa.string()), column, table)


def _stripped(ids: npt.NDArray[np.int64], names: Any, column: str, table: Table) -> tuple[npt.NDArray[np.int64], Any]:
    """Names without outer spaces, which nobody sees; a cell of spaces alone is empty."""
    import pyarrow.compute as pc

    bare = pc.utf8_trim_whitespace(names)
    changed = pc.not_equal(bare, names).to_numpy(zero_copy_only=False).astype(bool)
    if not changed.any():
        return ids, names
    first = names[int(np.flatnonzero(changed)[0])].as_py()
    note = f"{table.name}: outer spaces in column {column} were left out, as in {show_constant(first)}"
    if note.partition(", as in")[0] not in (earlier.partition(", as in")[0] for earlier in table.notes):
        table.notes.append(note)
    blank = changed & (pc.utf8_length(bare).to_numpy(zero_copy_only=False) == 0)
    return np.where((ids >= 0) & np.append(blank, False)[ids], -1, ids), bare


def _holds_integers(kind: Any) -> bool:
    import pyarrow as pa

    return bool(pa.types.is_integer(kind.value_type if pa.types.is_dictionary(kind) else kind))


def _truth(cells: Any) -> npt.NDArray[np.int8]:
    """Truth of each cell, BAD where it is none of the words for it."""
    import pyarrow as pa

    kind = cells.type.value_type if pa.types.is_dictionary(cells.type) else cells.type
    if pa.types.is_null(kind):
        return np.full(len(cells), UNKNOWN, np.int8)
    encoded = cells if pa.types.is_dictionary(cells.type) else cells.dictionary_encode()
    words = [_truth_of(value) for value in encoded.dictionary.to_pylist()]
    ids = encoded.indices.cast(pa.int64()).fill_null(len(words)).to_numpy(zero_copy_only=False)
    truth_of_word = np.array([*words, UNKNOWN], np.int8)
    return truth_of_word[np.asarray(ids, np.int64)]


def _truth_of(value: Any) -> int:
    if value is None:
        return UNKNOWN
    if isinstance(value, str):
        return TRUTH_OF_WORD.get(value.strip().lower(), BAD)
    if isinstance(value, (bool, int, float)) and value in (0, 1):
        return TRUE if value else FALSE
    return BAD
