"""Evidence from PostgreSQL: against a real server where there is one, and what messages and results say of addresses."""

from __future__ import annotations

import getpass
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import markovlogic as mln
from markovlogic.cli.main import main
from markovlogic.data.sources import database_of, parse_sources, source_name, without_passwords

RULES = "Smokes(person)\nFriends(person, person)\nSize(person): real\n1 Smokes(x)\n0.5 Friends(x, y) ^ Smokes(x) => Smokes(y)\n"
SECRET = "geheim/?x"


@pytest.mark.parametrize(
    ("text", "address", "requested"),
    [
        ("postgresql://host/db:SELECT a, b FROM f", "postgresql://host/db", "SELECT a, b FROM f"),
        ("postgres://u:p@host:5432/db:friends", "postgres://u:p@host:5432/db", "friends"),
        ("postgresql:///db?host=/run/pg&user=u:s.t", "postgresql:///db?host=/run/pg&user=u", "s.t"),
        ("postgresql://host:5432/db", "postgresql://host:5432/db", ""),
        ("Friends=postgresql://h/d:SELECT a::text FROM f", "postgresql://h/d", "SELECT a::text FROM f"),
        ("postgresql://[::1]:5432/db:f", "postgresql://[::1]:5432/db", "f"),
    ],
)
def test_addresses(text: str, address: str, requested: str) -> None:
    assert database_of(text) == (address, requested)


def test_queries_keep_their_commas() -> None:
    found = parse_sources("facts.db,Friends=postgresql://h/d:SELECT a, b FROM f WHERE a IN ('x', 'y')")
    assert found == ("facts.db", ("Friends", "postgresql://h/d:SELECT a, b FROM f WHERE a IN ('x', 'y')"))
    assert parse_sources("A=postgresql://h/d:t,B=postgresql://h/d:s") == (
        ("A", "postgresql://h/d:t"),
        ("B", "postgresql://h/d:s"),
    )


def test_passwords_are_shown_nowhere(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert without_passwords("-e 'F=postgresql://u:geheim@h:1/d:t' x") == "-e 'F=postgresql://u:***@h:1/d:t' x"
    assert without_passwords("postgres://h/d?user=u&password=geheim&x=1:t") == "postgres://h/d?user=u&password=***&x=1:t"
    assert without_passwords("postgresql://host:5432/d:SELECT a@b") == "postgresql://host:5432/d:SELECT a@b"
    assert source_name(("F", "postgresql://u:geheim@h/d:t")) == "postgresql://u:***@h/d:t"
    (tmp_path / "m.mln").write_text(RULES)
    for source in (
        "Friends=postgresql://u:geheim@localhost:1/d:t",
        "postgresql://u:geheim@h/d:t",
        "Friends=postgresql://u:geheim@h/d",
    ):
        assert main(["infer", str(tmp_path / "m.mln"), "-e", source, "-q", "Smokes"]) == 2
        message = capsys.readouterr().err
        assert "geheim" not in message and "***" in message


@pytest.fixture(scope="module")
def server() -> Iterator[dict[str, str]]:
    """A server of its own, with a password, on a socket in a folder of its own."""
    pytest.importorskip("adbc_driver_postgresql")
    binaries = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb")) or [Path(shutil.which("initdb") or "")]
    if not binaries[-1].is_file():
        pytest.skip("there is no PostgreSQL server (initdb)")
    folder = Path(tempfile.mkdtemp(prefix="pg-"))
    as_user: list[str] = []
    if getpass.getuser() == "root":  # a server refuses to run as root
        if shutil.which("runuser") is None or subprocess.run(["id", "postgres"], capture_output=True).returncode:
            pytest.skip("there is no user that a PostgreSQL server could run as")
        as_user = ["runuser", "-u", "postgres", "--"]
        shutil.chown(folder, "postgres")
    (folder / "password").write_text(SECRET)
    os.chmod(folder / "password", 0o644)
    bin_folder = binaries[-1].resolve().parent

    def run(*arguments: str) -> None:
        subprocess.run([*as_user, *arguments], check=True, stdout=subprocess.DEVNULL, cwd="/")

    data = str(folder / "data")
    run(str(bin_folder / "initdb"), "-D", data, "-A", "scram-sha-256", f"--pwfile={folder}/password", "-U", "mln", "-E", "UTF8")
    options = f"-c listen_addresses= -k {folder} -c fsync=off -c max_connections=10"
    run(str(bin_folder / "pg_ctl"), "-D", data, "-o", options, "-w", "-l", f"{folder}/log", "start")
    try:
        yield {"address": f"postgresql:///postgres?host={folder}&user=mln", "folder": str(folder)}
    finally:
        run(str(bin_folder / "pg_ctl"), "-D", data, "-m", "immediate", "stop")
        shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture
def address(server: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setenv("PGPASSWORD", SECRET)
    return server["address"]


def execute(address: str, *statements: str) -> None:
    import adbc_driver_postgresql.dbapi as dbapi

    with dbapi.connect(address) as connection, connection.cursor() as cursor:
        for statement in statements:
            cursor.execute(statement)
        connection.commit()


def rows(address: str, requested: str, predicate: str = "Friends") -> list[tuple[str, ...]]:
    found = mln.Model.parse(RULES).evidence(**{predicate: f"{address}:{requested}"})
    domain = found.domains["person"].names
    return sorted(tuple(domain[at] for at in row) for row in found.facts[predicate].args)


def test_tables_and_queries(address: str) -> None:
    execute(
        address,
        "DROP TABLE IF EXISTS f",
        "CREATE TABLE f (a text, b text)",
        "INSERT INTO f VALUES ('Ann', 'Bob'), ('Bob', 'o''Neil, x')",
        "DROP SCHEMA IF EXISTS other CASCADE",
        'CREATE SCHEMA other CREATE TABLE "My Table" (a text, b text)',
        """INSERT INTO other."My Table" VALUES ('Eve', 'Ann')""",
    )
    assert rows(address, "f") == [("Ann", "Bob"), ("Bob", "o'Neil, x")]
    assert rows(address, "other.My Table") == [("Eve", "Ann")]
    assert rows(address, "SELECT b, a FROM f WHERE a = 'Ann'; ") == [("Bob", "Ann")]
    assert rows(address, "SELECT a, b FROM f -- all of them") == rows(address, "f")
    assert rows(address, "WITH g AS (SELECT * FROM f) SELECT a, a AS b FROM g") == [("Ann", "Ann"), ("Bob", "Bob")]


def test_types(address: str) -> None:
    """Whatever is no text, whole number or truth value comes as text; numbers of soft evidence stay numbers."""
    execute(
        address,
        "DROP TABLE IF EXISTS t",
        "DROP TYPE IF EXISTS colour",
        "CREATE TYPE colour AS ENUM ('red', 'green')",
        "CREATE TABLE t (n numeric, u uuid, j jsonb, e colour, i int, b bigint, d date, v varchar(9), c char(4), p numeric)",
        "INSERT INTO t VALUES (7, 'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11', '{\"k\": 1}', 'red',"
        " 1, 9000000000, '2020-02-01', 'v', 'ab', 0.25)",
    )
    both = {"n": "7", "u": "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11", "j": '{"k": 1}', "e": "red", "i": "1", "b": "9000000000"}
    for column, value in {**both, "d": "2020-02-01", "v": "v"}.items():
        assert rows(address, f"SELECT {column}, 'X' AS x FROM t") == [(value, "X")]
    model = mln.Model.parse(RULES)
    soft = model.evidence(Smokes=f"{address}:SELECT v, p AS probability FROM t").facts["Smokes"]
    assert soft.log_odds is not None and soft.log_odds[0] == pytest.approx(-1.0986122886681098)
    assert model.evidence(Size=f"{address}:SELECT v, p AS value FROM t").facts["Size"].number[0] == 0.25
    truth = model.evidence(Smokes=f"{address}:SELECT v, false AS truth FROM t").facts["Smokes"]
    assert truth.truth.tolist() == [0]


def test_an_open_connection_with_a_query(address: str) -> None:
    """ADBC and DB-API connections, whose types are others than those of a plain address."""
    import adbc_driver_postgresql.dbapi as dbapi

    execute(address, "DROP TABLE IF EXISTS c", "CREATE TABLE c (u uuid, d date, n numeric, p numeric)")
    execute(address, "INSERT INTO c VALUES ('a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11', '2020-02-01', 7, 0.25)")
    model = mln.Model.parse(RULES)
    with dbapi.connect(address) as connection:
        smokes = (connection, "SELECT n, p AS probability FROM c")
        found = model.evidence(Friends=(connection, "SELECT u, d FROM c"), Smokes=smokes)
        assert "connection" not in found.sources[0] and "Connection" in found.sources[0]
        with pytest.raises(mln.InputError, match="cannot be read"):
            model.evidence(Friends=(connection, "SELECT nothing FROM c"))
    assert set(found.domains["person"].names) == {"a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11", "2020-02-01", "7"}
    assert found.facts["Smokes"].log_odds is not None


def test_connections_of_other_databases() -> None:
    import sqlite3

    import duckdb

    model = mln.Model.parse(RULES)
    for connection in (sqlite3.connect(":memory:"), duckdb.connect()):
        connection.execute("CREATE TABLE f (a TEXT, b INTEGER)")
        connection.execute("INSERT INTO f VALUES ('x', 1), ('y', NULL)")
        nobody = (connection, "SELECT a FROM f WHERE b = 9")
        found = model.evidence(Friends=(connection, "SELECT a, b FROM f WHERE b = 1"), Smokes=nobody)
        assert found.facts["Friends"].args.tolist() == [[0, 1]] and "Smokes" not in found.facts
        with pytest.raises(mln.InputError, match="column b is empty"):
            model.evidence(Friends=(connection, "SELECT a, b FROM f"))
        connection.execute("DROP TABLE f")  # it is still open, and its owner's


@pytest.mark.parametrize(
    ("requested", "says"),
    [
        ("SELECT a, NULL AS b FROM g", "row 1: column b is empty"),
        ("SELECT nothing FROM g", 'cannot be read: column "nothing" does not exist'),
        ("missing", 'cannot be read: relation "missing" does not exist'),
        ("SELECT 1, 2; DROP TABLE g", "refused: "),
        ("WITH q AS (DELETE FROM g RETURNING a) SELECT a, a FROM q", "refused: "),
        ("SELECT setval('s', 5), 2", "refused: cannot execute"),
    ],
)
def test_what_is_refused(address: str, requested: str, says: str) -> None:
    execute(
        address,
        "DROP TABLE IF EXISTS g",
        "CREATE TABLE g (a text)",
        "INSERT INTO g VALUES ('x')",
        "CREATE SEQUENCE IF NOT EXISTS s",
    )
    with pytest.raises(mln.InputError) as caught:
        rows(address, requested)
    assert says in str(caught.value) and SECRET not in str(caught.value)
    assert rows(address, "SELECT a, a AS b FROM g") == [("x", "x")]


def test_results_do_not_hold_the_password(
    server: dict[str, str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: Any
) -> None:
    from urllib.parse import quote

    monkeypatch.delenv("PGPASSWORD", raising=False)
    bare = server["address"]
    with_password = bare.replace("postgresql:///", f"postgresql://mln:{quote(SECRET, safe='')}@/")
    execute(with_password, "DROP TABLE IF EXISTS h", "CREATE TABLE h (a text, b text)", "INSERT INTO h VALUES ('Ann', 'Bob')")
    (tmp_path / "m.mln").write_text(RULES)
    outputs = [tmp_path / name for name in ("r.json", "r.html", "r.csv", "s.json")]
    for output in outputs[:3]:
        arguments = ["infer", str(tmp_path / "m.mln"), "-e", f"Friends={with_password}:h", "-q", "Smokes", "-o", str(output)]
        monkeypatch.setattr("sys.argv", ["mln", *arguments])
        assert main([*arguments, "--stats", str(outputs[3])]) == 0
    assert "Smokes(Ann)" in outputs[2].read_text()
    message = capsys.readouterr()
    for text in (*(output.read_text() for output in outputs), message.out, message.err):
        assert SECRET not in text and quote(SECRET, safe="") not in text
    assert "mln:***@" in outputs[1].read_text()
    wrong = bare.replace("postgresql:///", "postgresql://mln:falsch@/")
    with pytest.raises(mln.InputError, match="password authentication failed") as caught:
        mln.Model.parse(RULES).evidence(Friends=f"{wrong}:h")
    assert "falsch" not in str(caught.value) and "PGPASSWORD or ~/.pgpass" in str(caught.value)


def test_without_the_driver(monkeypatch: pytest.MonkeyPatch) -> None:
    import sys

    monkeypatch.setitem(sys.modules, "adbc_driver_postgresql", None)
    monkeypatch.setitem(sys.modules, "adbc_driver_postgresql.dbapi", None)
    with pytest.raises(mln.InputError, match=r"pip install 'markovlogic\[postgres\]'"):
        mln.Model.parse(RULES).evidence(Friends="postgresql://h/d:t")
