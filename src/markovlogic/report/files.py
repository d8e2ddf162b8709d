"""Results as files: CSV, Parquet, JSON, HTML, or Alchemy's lines, chosen by the name's ending; always whole or absent."""

from __future__ import annotations

import contextlib
import itertools
import json
import os
import re
import stat
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

from markovlogic.errors import InputError

if TYPE_CHECKING:
    from markovlogic.results.marginals import Marginals

STANDARD_OUTPUT = "-"
_DESCRIPTOR = re.compile(r"/dev/(stdout|stderr)|/(?:dev|proc/self)/fd/([0-9]{1,9})")


def check_writable(path: str | Path) -> None:
    """Raise an InputError now if the file could not be written later; called before long computations."""
    if _is_stream(path):
        return
    if not str(path) or "\0" in str(path) or str(path).endswith(os.sep):
        raise InputError(f"{str(path)!r} is not a file name")
    with _explained(path):
        target = _target(path)
        if target.is_dir():
            raise InputError(f"cannot write {path}: it is a directory", hint="give a file name")
        handle, name = tempfile.mkstemp(prefix=f".{target.name[:100]}.", suffix=".part", dir=target.parent)
        os.close(handle)
        os.unlink(name)
        if target.exists():  # a rename would succeed, but a file that forbids writing means it
            with open(target, "r+b"):
                pass


@contextlib.contextmanager
def atomic_file(path: str | Path) -> Iterator[BinaryIO]:
    """A binary file to write to; it takes the place of `path` at the end, or vanishes if anything goes wrong before.

    Streams (`-`, pipes, /dev/stdout) have no place to be renamed to and are written directly.
    """
    if _is_stream(path):
        with _explained(path):
            yield from _stream(path)
        return
    target = _target(path)
    with _explained(path):
        handle, name = tempfile.mkstemp(prefix=f".{target.name[:100]}.", suffix=".part", dir=target.parent)
        try:
            with os.fdopen(handle, "wb") as file:
                yield file
                file.flush()
                os.fsync(file.fileno())
            os.chmod(name, _mode(target))
            os.replace(name, target)
        except BaseException:
            with contextlib.suppress(OSError):
                os.unlink(name)
            raise
        _sync_directory(target.parent)


def same_file(first: str | Path, second: str | Path) -> bool:
    """Whether two names are one regular file, existing or not."""
    if _is_stream(first) or _is_stream(second):
        return False
    return os.path.realpath(first) == os.path.realpath(second)


def _stream(path: str | Path) -> Iterator[BinaryIO]:
    if str(path) == STANDARD_OUTPUT:
        sys.stdout.flush()
        yield sys.stdout.buffer
        sys.stdout.buffer.flush()
        return
    descriptor = _descriptor(path)
    if descriptor is not None:  # opening it by name would cut off what was written to it before
        sys.stdout.flush()
        sys.stderr.flush()
    with open(path, "wb") if descriptor is None else os.fdopen(os.dup(descriptor), "wb") as file:
        yield file


def _descriptor(path: str | Path) -> int | None:
    """The open descriptor that a name stands for."""
    found = _DESCRIPTOR.fullmatch(str(path))
    if found is None:
        return None
    return {"stdout": 1, "stderr": 2}[found[1]] if found[1] else int(found[2])


def _is_stream(path: str | Path) -> bool:
    """Whether a name stands for something that cannot be replaced: standard output, a pipe, a device, an open descriptor."""
    if str(path) == STANDARD_OUTPUT or _descriptor(path) is not None:
        return True
    try:
        mode = os.stat(path).st_mode
    except (OSError, ValueError):
        return False
    return not (stat.S_ISREG(mode) or stat.S_ISDIR(mode))


def _target(path: str | Path) -> Path:
    """The file itself: a symbolic link stays a link and what it points to is replaced."""
    return Path(os.path.realpath(path))


def _mode(target: Path) -> int:
    """Permissions of the file that is replaced, or those a new file would get."""
    try:
        return stat.S_IMODE(target.stat().st_mode)
    except OSError:
        mask = os.umask(0)
        os.umask(mask)
        return 0o666 & ~mask


def _sync_directory(folder: Path) -> None:
    """Make the rename last a power cut where the system can; the file is whole either way."""
    with contextlib.suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


@contextlib.contextmanager
def _explained(path: str | Path) -> Iterator[None]:
    """Turn what the system says into a message about the file."""
    try:
        yield
    except BrokenPipeError:
        raise
    except FileNotFoundError:
        raise InputError(f"cannot write {path}: the directory does not exist", hint="make the directory first") from None
    except OSError as error:
        name = "standard output" if str(path) == STANDARD_OUTPUT else path
        raise InputError(f"cannot write {name}: {error.strerror or error}") from None


ROWS_AT_ONCE = 65_536
ALCHEMY_ENDINGS = ("", ".result", ".results", ".txt")
NUMBERS = 5  # columns before predicate and arguments: the atom and its numbers


def write_result(result: Marginals, path: str | Path) -> None:
    """Write marginals to a file; the name's ending says how."""
    check_ending(path)
    writer = _WRITERS.get(Path(str(path)).suffix.lower(), write_lines)
    with atomic_file(path) as file:
        writer(result, file)


def check_ending(path: str | Path) -> None:
    """Refuse a name whose ending promises a format that is not written."""
    ending = Path(str(path)).suffix.lower()
    if ending not in _WRITERS and ending not in ALCHEMY_ENDINGS:
        known = ", ".join(name for name in _WRITERS if name != ".htm")
        raise InputError(
            f"{path}: results are not written as {ending}",
            hint=f"known are {known}; without an ending, or with .result, .results or .txt, lines `Atom probability`",
        )


def write_stats(result: Marginals, path: str | Path) -> None:
    """Write the run's record as JSON."""
    with atomic_file(path) as file:
        text = json.dumps(result.run.stats(result.guarantee), indent=2, allow_nan=False)
        file.write(text.encode() + b"\n")


def write_csv(result: Marginals, file: BinaryIO) -> None:
    """CSV with quotes where RFC 4180 wants them, numbers in shortest round-trip form, empty where undefined."""
    table = result.table()
    file.write(",".join(table.column_names).encode() + b"\n")
    for columns in _text_columns(table):
        file.write(_joined([_quoted(columns[0]), *columns[1:NUMBERS], *map(_quoted, columns[NUMBERS:])], ","))


def write_lines(result: Marginals, file: BinaryIO) -> None:
    """Alchemy's results format: one `Atom probability` a line."""
    for columns in _text_columns(result.numbers()):
        file.write(_joined(columns[:2], " "))


def write_parquet(result: Marginals, file: BinaryIO) -> None:
    """The whole table, with the guarantee and the run's record in the schema's metadata."""
    import pyarrow.parquet

    pyarrow.parquet.write_table(result.table(), file, compression="zstd")


def write_json(result: Marginals, file: BinaryIO) -> None:
    """One object: what is known about the run, and `marginals`, a list with one object a row; null where undefined."""
    head = {
        "guarantee": result.guarantee.value,
        **_compression(result),
        "concerns": result.concerns(),
        "run": result.run.stats(result.guarantee),
    }
    file.write(json.dumps(head, indent=1, allow_nan=False).removesuffix("\n}").encode())
    file.write(b',\n "marginals": [')
    separator = "\n  "
    for atoms, *columns in _text_columns(result.table()):
        numbers = [column.to_pylist() for column in columns[: NUMBERS - 1]]
        predicates, *arguments = (column.to_pylist() for column in columns[NUMBERS - 1 :])
        constants = zip(*arguments, strict=True) if arguments else itertools.repeat(())
        rows = [
            f'{{"atom": {json.dumps(atom)}, "probability": {_json(p)}, "stderr": {_json(e)}, "rhat": {_json(r)}, '
            f'"ess": {_json(n)}, "predicate": {json.dumps(name)}, "args": {_list(args, name)}}}'
            for atom, p, e, r, n, name, args in zip(atoms.to_pylist(), *numbers, predicates, constants, strict=False)
        ]
        if rows:
            file.write((separator + ",\n  ".join(rows)).encode())
            separator = ",\n  "
    file.write(b"\n ]\n}\n")


def _compression(result: Marginals) -> dict[str, Any]:
    """What was solved in place of the original problem, beside the guarantee; nothing where that was solved."""
    record = result.run.compression
    return {} if record is None else {"compression": record.stats(result.guarantee)}


def _json(number: str | None) -> str:
    """A number as JSON has it: null where undefined; JSON knows no infinity, but 1e999 reads as one everywhere."""
    return "null" if number is None else number.replace("inf", "1e999")


def _list(args: tuple[str | None, ...], predicate: str | None) -> str:
    """The constants of an atom; null for a formula."""
    return "null" if predicate is None else json.dumps([name for name in args if name is not None])


def write_html(result: Marginals, file: BinaryIO) -> None:
    """A page that opens without a network."""
    from markovlogic.report.page import page
    from markovlogic.report.view_data import result_data

    file.write(page(result_data(result)).encode())


def write_page(data: Mapping[str, Any], path: str | Path) -> None:
    """Write the page of a view's data, whole or not at all."""
    from markovlogic.report.page import page

    with atomic_file(path) as file:
        file.write(page(data).encode())


def is_page(path: str | Path) -> bool:
    """Whether a name is that of a page."""
    return Path(str(path)).suffix.lower() in (".html", ".htm")


_WRITERS: dict[str, Callable[[Marginals, BinaryIO], None]] = {
    ".csv": write_csv,
    ".parquet": write_parquet,
    ".json": write_json,
    ".html": write_html,
    ".htm": write_html,
}


def _text_columns(table: Any) -> Iterator[list[Any]]:
    """A table as columns of text, some rows at a time."""
    import pyarrow as pa

    for batch in table.to_batches(max_chunksize=ROWS_AT_ONCE):
        # Arrow writes a float64 with the fewest digits that read back as the same number
        yield [column.cast(pa.large_string()) for column in batch.columns]


def _quoted(column: Any) -> Any:
    """Quote fields that hold a comma, a quote or a line break."""
    import pyarrow.compute as pc

    from markovlogic.data.arrow import arrow_text

    quote, nothing = arrow_text('"', large=True), arrow_text("", large=True)
    doubled = pc.replace_substring(column, '"', '""')
    return pc.if_else(
        pc.match_substring_regex(column, '[",\r\n]'), pc.binary_join_element_wise(quote, doubled, quote, nothing), column
    )


def _joined(columns: list[Any], separator: str) -> bytes:
    import pyarrow.compute as pc

    from markovlogic.data.arrow import arrow_text

    between = arrow_text(separator, large=True)
    lines = pc.binary_join_element_wise(*columns, between, null_handling="replace", null_replacement="")
    return "".join(f"{line}\n" for line in lines.to_pylist()).encode()
