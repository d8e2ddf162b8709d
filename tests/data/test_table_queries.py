"""A query of a user is one SELECT over the file that it names: nothing is written, and no other file is read."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import duckdb
import pytest

import markovlogic as mln
from markovlogic.errors import InputError

MODEL = mln.Model.parse("P(thing)\n1 P(x)\n")
KINDS = ("f.csv", "f.duckdb", "f.sqlite")


def source(folder: Path, name: str) -> str:
    """A file with a table f of one column, and beside it a file that no query may read."""
    path = folder / name
    (folder / "other.csv").write_text("a\nSecret\n")
    if name.endswith("csv"):
        path.write_text("a\nAnn\nBob\n")
        return str(path)
    made = duckdb.connect(str(path)) if name.endswith("duckdb") else sqlite3.connect(path)
    made.execute("CREATE TABLE f (a VARCHAR)")
    made.execute("INSERT INTO f VALUES ('Ann'), ('Bob')")
    made.commit()
    made.close()
    return str(path)


def constants(evidence: str) -> list[str]:
    found = MODEL.evidence(P=evidence)
    return sorted(found.domains["thing"].names)


GOOD = [
    "SELECT a FROM f",
    "SELECT a FROM f;",
    "SELECT a FROM f; -- and no more; COPY f TO 'out.csv'",
    "SELECT a FROM f WHERE a <> ';COPY f TO ''out.csv'''",
    "SELECT a /* ; DROP TABLE f; */ FROM f",
    'SELECT a AS "a;b" FROM f',
    "WITH g AS (SELECT a FROM f) SELECT a FROM g",
]


@pytest.mark.parametrize("query", GOOD)
@pytest.mark.parametrize("name", KINDS)
def test_one_select_is_read(tmp_path: Path, name: str, query: str) -> None:
    assert constants(f"{source(tmp_path, name)}:{query}") == ["Ann", "Bob"]


BAD = [
    "SELECT a FROM f; COPY (SELECT 1) TO '{folder}/out.csv'",
    "SELECT a FROM f; ATTACH '{folder}/out.db' AS o",
    "SELECT a FROM f; SELECT a FROM f",
    "SELECT a FROM f; PRAGMA enable_profiling",
    "SELECT a FROM f; SET threads = 1",
    "SELECT a FROM f; INSTALL json",
    "SELECT a FROM f; /* ; */ DELETE FROM f",
    "SELECT 'a;b' FROM f; VACUUM INTO '{folder}/out.db'",
    "WITH g AS (SELECT 'Cid' AS a) INSERT INTO f SELECT a FROM g",
    "WITH g AS (SELECT 'Cid' AS a) DELETE FROM f",
    "SELECT a FROM read_csv('{folder}/other.csv')",
    "SELECT a FROM '{folder}/other.csv'",
    "SELECT content FROM read_text('{folder}/other.csv')",
    "SELECT file FROM glob('{folder}/*')",
    "SELECT writefile('{folder}/out.csv', 'x')",
    "SELECT load_extension('{folder}/out')",
]


@pytest.mark.parametrize("query", BAD)
@pytest.mark.parametrize("name", KINDS)
def test_all_else_is_refused_and_leaves_nothing_behind(tmp_path: Path, name: str, query: str) -> None:
    path = source(tmp_path, name)
    before = {file.name: file.read_bytes() for file in tmp_path.iterdir()}
    with pytest.raises(InputError) as refused:
        constants(f"{path}:{query.format(folder=tmp_path)}")
    assert refused.value.exit_code == 2
    assert {file.name: file.read_bytes() for file in tmp_path.iterdir()} == before


@pytest.mark.parametrize("name", ["f.duckdb", "f.sqlite"])
@pytest.mark.parametrize(
    "verb", ["COPY f TO 'out.csv'", "ATTACH 'out.db' AS o", "PRAGMA threads=1", "DROP TABLE f", "INSTALL json"]
)
def test_another_verb_is_no_query(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, verb: str) -> None:
    monkeypatch.chdir(tmp_path)
    path = source(tmp_path, name)
    before = sorted(tmp_path.iterdir())
    with pytest.raises(InputError):
        constants(f"{path}:{verb}")
    assert sorted(tmp_path.iterdir()) == before
    assert constants(f"{path}:f") == ["Ann", "Bob"]


def test_a_second_statement_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"2 statements \(SELECT, COPY\).*a query is one SELECT"):
        constants(f"{source(tmp_path, 'f.csv')}:SELECT a FROM f; COPY f TO '{tmp_path}/out.csv'")


def test_a_query_does_not_see_the_tables_of_the_program(tmp_path: Path) -> None:
    import pyarrow as pa

    secret = pa.table({"a": ["Secret"]})
    with pytest.raises(InputError, match="secret"):
        constants(f"{source(tmp_path, 'f.csv')}:SELECT a FROM secret")
    assert secret.num_rows == 1


def test_a_view_of_a_database_reads_no_other_file(tmp_path: Path) -> None:
    path = source(tmp_path, "f.duckdb")
    with duckdb.connect(path) as made:
        made.execute(f"CREATE VIEW v AS SELECT * FROM read_csv('{tmp_path}/other.csv')")
    with pytest.raises(InputError, match="refused"):
        constants(f"{path}:v")


def test_signs_of_addresses_in_the_name_of_a_database_are_letters(tmp_path: Path) -> None:
    path = source(tmp_path, "a?mode=rwc&b#c%20.sqlite")
    assert constants(f"{path}:SELECT a FROM f") == ["Ann", "Bob"]
    with pytest.raises(InputError):
        constants(f"{path}:WITH g AS (SELECT 'Cid' AS a) INSERT INTO f SELECT a FROM g")
