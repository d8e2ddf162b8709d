import io

import pytest

from markovlogic.data import sources
from markovlogic.data.sources import parse_source, parse_sources, source_name
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
    ("text", "says"), [("friends.csv", "Friends=friends.csv"), ("", "without a name"), ("a/b=c.csv", "which predicate")]
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
