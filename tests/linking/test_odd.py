"""Tables as they come: empty, tiny, without values, with odd names and letters; and options that cannot be."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import markovlogic as mln
from markovlogic.cli.main import main
from markovlogic.errors import InputError, ResourceError
from markovlogic.linking import blocking
from markovlogic.linking.database import Database

NAMES = ["Ann Lee", "Ann Lee", "Bob Ray", "Cid Moe", "Dan Fox", "Eve Kay"]


def labels(table: Any, **more: Any) -> list[int]:
    return [row["cluster"] for row in mln.link(table, **more).clusters.to_pylist()]


def test_no_record_and_one() -> None:
    assert labels({"id": [], "name": []}) == []
    assert labels({"id": ["a"], "name": ["Ann"]}) == [0]
    assert labels({"id": ["a"], "name": [None]}) == [0]


def test_nothing_but_gaps() -> None:
    found = mln.link({"id": ["a", "b", "c"], "name": ["NA", "", None], "town": ["Bonn", "Ulm", None]})
    assert len(set(found.clusters["cluster"].to_pylist())) == 3
    assert any("name was left out: it is empty" in note for note in found.notes)
    with pytest.raises(InputError, match="no column is left"):
        mln.link({"id": ["a", "b"], "name": [None, None]})


def test_equal_records_without_an_id_are_together() -> None:
    table = {"name": NAMES * 3, "town": ["Bonn", "Bonn", "Ulm", "Kiel", "Jena", "Trier"] * 3}
    found = mln.link(table)
    assert found.compared.records.id_column == ""
    assert found.clusters["id"].to_pylist() == [str(at + 1) for at in range(18)]
    label = found.clusters["cluster"].to_pylist()
    assert label[0] == label[1] == label[6] == label[7]
    assert label[2] == label[8] != label[0]


def test_letters_of_all_kinds_and_quotes(tmp_path: Path) -> None:
    names = ["Łukasz Żółć", "Lukasz Zołc", "山田 太郎", "山田 太郎", 'O"Brien, "Pat"', "O'Brien; Pat", "Ünal 'x' \\"]
    table = {
        "id": [f"r {at}" for at in range(7)],
        'the "name", of': names,
        "born": ["1980-01-02"] * 2 + ["1970-03-04"] * 2 + ["x", "x", "y"],
    }
    found = mln.link(table)
    label = found.clusters["cluster"].to_pylist()
    assert label[2] == label[3] != label[0]
    command = found.save(str(tmp_path / "kept"))
    again = command.removeprefix("mln ").split()
    again[-1] = str(tmp_path / "again.csv")
    assert main([*again, "--quiet"]) in (0, 1)


def test_ids() -> None:
    twice = {"id": ["a", "a", "b"], "name": NAMES[:3]}
    assert mln.link(twice).compared.records.id_column == ""  # numbered, since it names no record
    with pytest.raises(InputError, match="a stands in 2 records"):
        mln.link(twice, id_column="id")
    with pytest.raises(InputError, match="no column key"):
        mln.link(twice, id_column="key")


def test_columns_can_be_told_and_left_out() -> None:
    table = {"id": list("abcdef"), "name": NAMES, "note": list("uvwxyz"), "day": ["01/02/1990"] * 2 + ["03/04/1980"] * 4}
    found = mln.link(table, columns={"note": "ignore", "day": "date"})
    assert [(row["column"], row["kind"], row["guessed"]) for row in found.columns.to_pylist()] == [
        ("name", "name", True),
        ("day", "date", False),
    ]
    with pytest.raises(InputError, match="available: name"):
        mln.link(table, columns={"day": "time"})
    with pytest.raises(InputError, match="no column dya"):
        mln.link(table, columns={"dya": "date"})


def test_sources_need_columns_in_common() -> None:
    with pytest.raises(InputError, match="no column in common"):
        mln.link({"a": ["1"]}, {"b": ["1"]})
    one, other = {"id": ["1", "2"], "name": NAMES[1:3]}, {"id": ["1", "2"], "name": [NAMES[0], NAMES[4]], "age": ["3", "4"]}
    found = mln.link(one, other, sources=["north", "south"], one_to_one=True)
    assert found.clusters.column_names == ["id", "source", "cluster", "probability"]
    assert found.clusters["source"].to_pylist() == ["north"] * 2 + ["south"] * 2
    assert any("age" in note for note in found.notes)


def test_what_blocking_cannot_do() -> None:
    table = {"id": [str(at) for at in range(60)], "name": [f"n{at % 7}" for at in range(60)], "town": ["Ulm", "Bonn"] * 30}
    with pytest.raises(InputError, match="no column twon"):
        mln.link(table, block=["twon"])
    with pytest.raises(ResourceError, match="870 pairs"):
        mln.link(table, block=["town"], memory_limit=100_000)
    found = mln.link(table, block=["name, town", "name:1"])
    assert found.blocking.to_pylist()[1] == {"rule": "name:1", "pairs": 60 * 59 // 2, "recall": 1.0}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--column", "name"], "the kind is missing"),
        (["--column", "name=thing"], "available"),
        (["--seed", "-1"], "--seed"),
        (["--labels", "missing.csv"], "missing.csv"),
        (["--block", "nothing"], "no column nothing"),
        (["--id", "nothing"], "no column nothing"),
    ],
)
def test_wrong_options(tmp_path: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], message: str) -> None:
    (tmp_path / "t.csv").write_text("id,name\na,Ann\nb,Bob\n")
    assert main(["link", str(tmp_path / "t.csv"), "-o", str(tmp_path / "c.csv"), *arguments]) == 2
    assert message in capsys.readouterr().err


def test_singletons_are_never_silent(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "t.csv").write_text("id,name,town\na,Ann Lee,Bonn\nb,Bob Ray,Ulm\nc,Cid Moe,Kiel\n")
    assert main(["link", str(tmp_path / "t.csv"), "-o", str(tmp_path / "c.csv"), "--quiet"]) == 1
    assert "all 3 records are alone" in capsys.readouterr().err


def test_work_does_not_grow_with_pairs_of_columns(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of very many columns few are combined: in blocking rules, as exchanged values, and where dependence is judged."""
    asked: list[str] = []
    opened = Database.__init__

    def counting(self: Database, engine: Any) -> None:
        opened(self, engine)
        rows, columns = self.rows, self.columns
        self.rows = lambda sql: asked.append(sql) or rows(sql)  # type: ignore[func-returns-value]
        self.columns = lambda sql: asked.append(sql) or columns(sql)  # type: ignore[func-returns-value]

    monkeypatch.setattr(Database, "__init__", counting)
    monkeypatch.setattr(blocking, "ALL_PAIRS", 10)
    monkeypatch.setattr(blocking, "MOST_KEYS", 3)
    table = {"id": [str(at) for at in range(9)], **{f"c{at}": [f"n{(at * row) % 7}x" for row in range(9)] for at in range(21)}}
    found = mln.link(table)
    assert len(asked) < 200
    assert 0 < sum(" and " in row["rule"] for row in found.blocking.to_pylist()) <= 3
