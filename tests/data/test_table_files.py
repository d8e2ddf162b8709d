"""Every kind of table file gives the same facts, with the same checks; what is wrong is reported with its place."""

from __future__ import annotations

import gzip
import sqlite3
from pathlib import Path

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import markovlogic as mln
from markovlogic.data.sources import parse_source, parse_sources
from markovlogic.errors import InputError
from markovlogic.report.files import check_ending

MODEL = mln.Model.parse("Friends(person, person)\nSmokes(person)\n1 Friends(x, y) ^ Smokes(x) => Smokes(y)\n")
ROWS = [("Ann", "Bob, jr", "true"), ("Bob, jr", "Cid", "?"), ("Cid", "Ann", "false")]


def written(folder: Path, name: str) -> str:
    """A file of the kind that its name says; what to give as evidence."""
    path = folder / name
    kind = name.removesuffix(".gz").rpartition(".")[2]
    if kind in ("csv", "tsv"):
        cut = "," if kind == "csv" else "\t"
        quoted = [[f'"{cell}"' if cut in cell else cell for cell in row] for row in ROWS]
        text = "".join(cut.join(row) + "\n" for row in [["a", "b", "truth"], *quoted])
    elif kind == "jsonl":
        text = "".join(f'{{"a": "{a}", "b": "{b}", "truth": "{t}"}}\n\n' for a, b, t in ROWS)
    else:
        return _binary(path, kind)
    data = text.encode()
    path.write_bytes(gzip.compress(data) if name.endswith(".gz") else data)
    return str(path)


def _binary(path: Path, kind: str) -> str:
    if kind == "parquet":
        pq.write_table(pa.table(dict(zip(("a", "b", "truth"), zip(*ROWS, strict=True), strict=True))), path)
        return str(path)
    made = duckdb.connect(str(path)) if kind == "duckdb" else sqlite3.connect(path)
    made.execute("CREATE TABLE friends (a VARCHAR, b VARCHAR, truth VARCHAR)")
    made.executemany("INSERT INTO friends VALUES (?, ?, ?)", ROWS)
    made.commit()
    made.close()
    return f"{path}:SELECT a, b, truth FROM friends"


NAMES = ["f.csv", "f.tsv", "f.jsonl", "f.csv.gz", "f.tsv.gz", "f.jsonl.gz", "f.parquet", "f.duckdb", "f.sqlite"]


def facts(source: object) -> list[tuple[tuple[str, ...], int]]:
    evidence = MODEL.evidence(Friends=source)
    found, names = evidence.facts["Friends"], evidence.domains["person"].names
    return sorted(
        (tuple(names[n] for n in args), truth) for args, truth in zip(found.args.tolist(), found.truth.tolist(), strict=True)
    )


@pytest.mark.parametrize("name", NAMES)
def test_every_kind_gives_the_same_facts(tmp_path: Path, name: str) -> None:
    source = written(tmp_path, name)
    assert facts(source) == [(("Ann", "Bob, jr"), 1), (("Bob, jr", "Cid"), 2), (("Cid", "Ann"), 0)]
    assert mln.infer(MODEL, f"Friends={source}", "Smokes").run.sources[1] == source


@pytest.mark.parametrize("name", ["f.duckdb", "f.sqlite"])
def test_a_table_of_a_database_needs_no_query(tmp_path: Path, name: str) -> None:
    path = written(tmp_path, name).partition(":SELECT")[0]
    assert len(facts(f"{path}:friends")) == 3
    for requested in ("nothing", "SELECT nonsense FROM friends", "DELETE FROM friends WHERE 1"):
        with pytest.raises(InputError, match=f"{name}"):
            facts(f"{path}:{requested}")
    assert len(facts(f"{path}:friends")) == 3  # nothing was written
    with pytest.raises(InputError, match="no table or query"):
        facts(path)


def test_integers_of_a_database_stay_integers(tmp_path: Path) -> None:
    made = sqlite3.connect(tmp_path / "n.sqlite")
    made.execute("CREATE TABLE f (a, b)")
    made.executemany("INSERT INTO f VALUES (?, ?)", [(1, 2), (2, "x")])
    made.commit()
    made.close()
    assert [args for args, _ in facts(f"{tmp_path}/n.sqlite:SELECT a, a FROM f")] == [("1", "1"), ("2", "2")]
    assert [args for args, _ in facts(f"{tmp_path}/n.sqlite:f")] == [("1", "2"), ("2", "x")]


@pytest.mark.parametrize(
    ("name", "text", "line", "says"),
    [
        ("f.tsv", "a\tb\nAnn\tBob\nAnn\n", 3, "1 cells, expected 2"),
        ("f.tsv", "a\tb\nAnn\tBob\n\tBob\n", 3, "column a is empty"),
        ("f.jsonl", '{"a": "Ann", "b": "Bob"}\n\n{"a": "Ann"}\n', 3, "column b is empty"),
        ("f.jsonl", '{"a": "Ann", "b": "Bob"}\n{"a": \n', 2, "not JSON"),
        ("f.jsonl", '{"a": "Ann", "b": "Bob"}\n["Ann"]\n', 2, "not an object"),
        ("f.jsonl", '{"a": "Ann", "b": [1]}\n', 0, "expected strings or integers"),
        ("f.jsonl", "", 1, "an empty file"),
        ("f.csv", "a,b\nAnn,  \n", 2, "column b is empty"),
    ],
)
def test_what_is_wrong_has_its_place(tmp_path: Path, name: str, text: str, line: int, says: str) -> None:
    (tmp_path / name).write_text(text)
    with pytest.raises(InputError) as caught:
        facts(str(tmp_path / name))
    (fault,) = caught.value.faults
    assert says in fault.message and fault.place.line == line


def test_a_broken_archive_is_reported(tmp_path: Path) -> None:
    (tmp_path / "f.csv.gz").write_bytes(gzip.compress(b"a,b\nAnn,Bob\n")[:-9])
    with pytest.raises(InputError, match="not a gzip file, or a truncated one"):
        facts(str(tmp_path / "f.csv.gz"))


def test_outer_spaces_are_left_out_and_reported(tmp_path: Path) -> None:
    (tmp_path / "f.csv").write_text("a, truth\n Ann,true\nAnn ,true\nBob,false\n")
    evidence = MODEL.evidence(Smokes=str(tmp_path / "f.csv"))
    assert evidence.domains["person"].names == ("Ann", "Bob")
    assert [note for note in evidence.notes if 'outer spaces in column a were left out, as in " Ann"' in note]
    assert mln.infer(MODEL, evidence, "Smokes").remarks == evidence.notes + mln.infer(MODEL, evidence, "Smokes").remarks[1:]


def test_commas_of_a_query_are_its_own() -> None:
    query = "d.duckdb:SELECT a, b FROM f WHERE x IN (1, 2)"
    assert parse_sources(f"Friends={query}") == (("Friends", query),)
    assert parse_sources(f"a.db,P=b.tsv.gz, Friends={query}") == ("a.db", ("P", "b.tsv.gz"), ("Friends", query))
    assert parse_sources("Friends=d.duckdb:friends,a.db") == (("Friends", "d.duckdb:friends"), "a.db")


def test_unknown_endings_say_what_is_supported() -> None:
    with pytest.raises(InputError, match=r"no table can be read from \.xlsx .*\.tsv and \.jsonl"):
        parse_source("Friends=friends.xlsx")
    with pytest.raises(InputError, match="supported are"):
        facts("friends.xlsx")
    for name in ("out", "out.result", "a/out.results", "out.txt", "-", "out.CSV", "o.html"):
        check_ending(name)
    with pytest.raises(InputError, match=r"out\.xlsx: results are not written as \.xlsx .*\.parquet"):
        check_ending("out.xlsx")


@pytest.mark.parametrize("name", NAMES[:7])
def test_a_query_chooses_columns_of_a_file(tmp_path: Path, name: str) -> None:
    source = written(tmp_path, name)
    assert facts(f"{source}:SELECT b, a FROM f WHERE truth = 'true'") == [(("Bob, jr", "Ann"), 1)]
    assert parse_sources(f"a.db,Friends={source}:SELECT b, a FROM f") == ("a.db", ("Friends", f"{source}:SELECT b, a FROM f"))
    with pytest.raises(InputError, match="the table is called f, as its file"):
        facts(f"{source}:SELECT a, b FROM g")


def test_a_wide_table_is_answered_with_the_query_that_reads_it(tmp_path: Path) -> None:
    path = tmp_path / "wide.csv"
    path.write_text("id,name,city\nR1,Ann,\nR2,Bob,Bonn\n")
    with pytest.raises(InputError) as caught:
        facts(str(path))
    assert f"a query chooses them: 'Friends={path}:SELECT id, name FROM wide'" in str(caught.value)
    assert len(facts(f"{path}:SELECT id, name FROM wide")) == 2
    with pytest.raises(InputError, match=r"row 1: column city is empty .*WHERE column IS NOT NULL"):
        facts(f"{path}:SELECT id, city FROM wide")
    assert facts(f"{path}:SELECT id, city FROM wide WHERE city IS NOT NULL") == [(("R2", "Bonn"), 1)]
    with pytest.raises(InputError, match="no such file"):
        facts(f"{tmp_path}/none.csv:SELECT a, b FROM none")
