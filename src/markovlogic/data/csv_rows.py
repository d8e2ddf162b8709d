"""Which line of a CSV file each row stands on: needed only to say where something is wrong."""

from __future__ import annotations

import csv
import io
from typing import NamedTuple


class CsvRows(NamedTuple):
    """Lines (from 1) of the rows that have as many cells as the header, and lines and lengths of those that have not."""

    line: list[int]
    misfits: list[tuple[int, int]]


def header_of(data: bytes, delimiter: str = ",") -> list[str] | None:
    """Column names; None where there is no line at all."""
    head = data.removeprefix(b"\xef\xbb\xbf")[: 1 << 20].decode("utf-8", "replace")
    try:
        return next((row for row in csv.reader(io.StringIO(head, newline=""), delimiter=delimiter) if row), None)
    except csv.Error:
        return None


def locate_rows(data: bytes, n_columns: int, delimiter: str = ",") -> CsvRows:
    """Walk through a file and note the line of each row."""
    text = io.StringIO(data.removeprefix(b"\xef\xbb\xbf").decode("utf-8", "replace"), newline="")
    reader = csv.reader(text, delimiter=delimiter)
    rows = CsvRows([], [])
    before = 0
    seen_header = False
    try:
        for row in reader:
            line, before = before + 1, reader.line_num
            if not row:
                continue
            if not seen_header:
                seen_header = True
            elif len(row) == n_columns:
                rows.line.append(line)
            else:
                rows.misfits.append((line, len(row)))
    except csv.Error:
        pass  # what can be located so far is enough for messages
    return rows
