import io
from pathlib import Path

import pyarrow as pa
import pytest

from markovlogic.data import sources
from markovlogic.data.sources import evidence_sources, parse_source, parse_sources, source_name
from markovlogic.errors import InputError


def test_one_source():
    assert parse_source("a/b.db") == "a/b.db"
    assert parse_source("facts.txt") == "facts.txt"
    assert parse_source("Friends=a/friends.csv") == ("Friends", "a/friends.csv")
    assert parse_source("Friends = friends.PARQUET") == ("Friends", "friends.PARQUET")
    assert parse_source("run=3/facts.db") == "run=3/facts.db"


def test_lists():
    assert parse_sources("a.db,Friends=b.csv, c") == ("a.db", ("Friends", "b.csv"), "c")
    assert parse_sources("a.db,") == ("a.db",)


def test_a_name_with_a_comma_that_exists(tmp_path):
    path = tmp_path / "a,b.db"
    path.write_text("")
    assert parse_sources(str(path)) == (str(path),)
    table = tmp_path / "a,b.csv"
    table.write_text("")
    assert parse_sources(f"P={table}") == (("P", str(table)),)


@pytest.mark.parametrize(
    ("text", "says"), [("friends.csv", "PREDICATE=friends.csv"), ("", "without a name"), ("a/b=c.csv", "name of its predicate")]
)
def test_wrong_sources(text, says):
    with pytest.raises(InputError, match=says):
        parse_source(text)


def test_a_list_of_nothing():
    with pytest.raises(InputError, match="without a name"):
        parse_sources(" , ")


def test_names_in_messages():
    assert source_name(("P", "x.csv")) == "x.csv"
    assert source_name(("P", {"a": []})) == "P=builtins dict"


def test_lines_of_a_pipe_are_measured_from_their_own_beginning(monkeypatch):
    monkeypatch.setattr(sources, "STREAM_CHUNK", 8)
    monkeypatch.setattr(sources, "LONGEST_STREAM_LINE", 16)
    lines = b"123456\n" + b"x" * 16 + b"\n"
    assert sources._stream_bytes(io.BytesIO(lines), "pipe") == lines
    with pytest.raises(InputError, match="16 bytes without the end of a line"):
        sources._stream_bytes(io.BytesIO(b"123456\n" + b"x" * 24), "pipe")


@pytest.mark.parametrize(
    ("pair", "is_one"),
    [
        (("Friends", "friends.csv"), True),
        (("Friends", "all.duckdb:friends"), True),
        (("Friends", {"a": ["Ann"]}), False),
        (("a.db", "b.db"), False),
        ((Path("a.db"), "b.db"), False),
    ],
)
def test_a_pair_is_a_predicate_and_its_table_or_two_sources(pair, is_one):
    if is_one:
        assert evidence_sources(pair) == [pair] == evidence_sources([pair])
    else:
        assert pair not in evidence_sources(pair) and len(evidence_sources(pair)) == 2


@pytest.mark.parametrize("first", [Path("a.db"), "not a name"])
def test_a_table_file_beside_what_is_no_predicate_has_none(first):
    with pytest.raises(InputError, match=r"b\.csv needs the name of its predicate"):
        evidence_sources((first, "b.csv"))


def test_a_table_beside_its_predicate():
    table = pa.table({"a": ["Ann"]})
    assert evidence_sources(("Smokes", table)) == [("Smokes", table)]
