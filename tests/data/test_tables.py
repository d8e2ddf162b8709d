"""Evidence from tables: the same facts through every door."""

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.data.made import SMOKERS, facts_of, model_of

from markovlogic.data.evidence import FALSE, TRUE, UNKNOWN
from markovlogic.data.readers import evidence_of, read_evidence
from markovlogic.errors import InputError

COLUMNS = {"who": ["Ann", "bob c", "7"], "whom": ["Zoe", "Ann", "é,("]}
EXPECTED = {("Friends", ("Ann", "Zoe")): TRUE, ("Friends", ("bob c", "Ann")): TRUE, ("Friends", ("7", "é,(")): TRUE}
ORDER = ("Ann", "Zoe", "bob c", "7", "é,(")


def doors(tmp_path):
    frame = pd.DataFrame(COLUMNS)
    table = pa.table(COLUMNS)
    pq.write_table(table, tmp_path / "t.parquet")
    frame.to_csv(tmp_path / "t.csv", index=False)
    yield "dict of lists", COLUMNS
    yield "dict of arrays", {name: np.array(values) for name, values in COLUMNS.items()}
    yield "pandas", frame
    yield "pandas object", frame.astype(object)
    yield "pandas category", frame.astype("category")
    yield "polars", pl.DataFrame(COLUMNS)
    yield "polars lazy", pl.DataFrame(COLUMNS).lazy()
    yield "polars category", pl.DataFrame(COLUMNS).cast(pl.Categorical)
    yield "arrow table", table
    yield "arrow batch", table.to_batches()[0]
    yield "arrow reader", table.to_reader()
    yield "arrow chunks", pa.concat_tables([table.slice(0, 1), table.slice(1, 2)])
    yield "arrow dictionary", pa.table({name: pa.array(values).dictionary_encode() for name, values in COLUMNS.items()})
    yield "arrow large", pa.table({name: pa.array(values, pa.large_string()) for name, values in COLUMNS.items()})
    yield "arrow view", pa.table({name: pa.array(values, pa.string_view()) for name, values in COLUMNS.items()})
    yield "duckdb", duckdb.from_arrow(table)
    yield "parquet", str(tmp_path / "t.parquet")
    yield "csv", tmp_path / "t.csv"


def test_every_door_gives_the_same(tmp_path):
    for door, source in doors(tmp_path):
        evidence = read_evidence(SMOKERS, [("Friends", source)])
        assert facts_of(evidence, SMOKERS) == EXPECTED, door
        assert evidence.domains["person"].names == ORDER, door


def test_files_and_tables_together(tmp_path):
    (tmp_path / "a.db").write_text("Smokes(Zoe)\nFriends(Ann, Zoe)\n")
    evidence = evidence_of(SMOKERS, tmp_path / "a.db", Friends=COLUMNS, Smokes={"x": [1, 2], "truth": [1, 0]})
    assert facts_of(evidence, SMOKERS) == {
        **EXPECTED,
        ("Smokes", ("Zoe",)): TRUE,
        ("Smokes", ("1",)): TRUE,
        ("Smokes", ("2",)): FALSE,
    }
    assert evidence.domains["person"].names == ("Zoe", "Ann", "bob c", "7", "é,(", "1", "2")
    (tmp_path / "f.csv").write_text("a,b\nZoe,Ann\n")
    listed = evidence_of(SMOKERS, f"{tmp_path / 'a.db'},Friends={tmp_path / 'f.csv'}")
    assert len(listed.facts["Friends"]) == 2
    assert len(read_evidence(SMOKERS, str(tmp_path / "a.db")).facts) == 2
    assert evidence.sources[1:] == ("Friends=builtins dict", "Smokes=builtins dict")


@pytest.mark.parametrize(
    "values",
    [
        pa.array([5, -3], pa.int8()),
        pa.array([5, -3], pa.int64()),
        pa.array([5, -3]).dictionary_encode(),
        pa.array(["5", "-3"]),
    ],
)
def test_integers_are_their_digits(values):
    assert read_evidence(SMOKERS, [("Smokes", pa.table({"x": values}))]).domains["person"].names == ("5", "-3")


def test_big_integers():
    evidence = read_evidence(SMOKERS, [("Smokes", {"x": np.array([2**64 - 1], np.uint64)})])
    assert evidence.domains["person"].names == ("18446744073709551615",)


@pytest.mark.parametrize(
    "truth",
    [
        [True, False, None],
        [1, 0, None],
        [1.0, 0.0, None],
        ["true", "FALSE", "?"],
        ["1", "0", "unknown"],
        [" True", "false ", "null"],
        pa.array(["true", "false", None]).dictionary_encode(),
    ],
)
def test_truth(truth):
    for place in (0, 1):  # it goes by name, not by position
        columns = [("x", ["A", "B", "C"]), ("truth", truth)]
        if place:
            columns.reverse()
        evidence = read_evidence(SMOKERS, [("Smokes", dict(columns))])
        assert facts_of(evidence, SMOKERS) == {("Smokes", ("A",)): TRUE, ("Smokes", ("B",)): FALSE, ("Smokes", ("C",)): UNKNOWN}


def test_probabilities_between_0_and_1_are_soft_and_the_ends_are_certain():
    evidence = read_evidence(SMOKERS, [("Smokes", {"x": ["A", "B", "C", "D"], "probability": [0.3, 1.0, 0.0, None]})])
    people = {"A": UNKNOWN, "B": TRUE, "C": FALSE, "D": UNKNOWN}
    assert facts_of(evidence, SMOKERS) == {("Smokes", (name,)): truth for name, truth in people.items()}


def test_all_truths_unknown():
    evidence = read_evidence(SMOKERS, [("Smokes", {"x": ["A"], "truth": [None]})])
    assert facts_of(evidence, SMOKERS) == {("Smokes", ("A",)): UNKNOWN}


def test_predicate_without_arguments():
    evidence = read_evidence(SMOKERS, [("Flag", {"truth": [True, True]})])
    assert facts_of(evidence, SMOKERS) == {("Flag", ()): TRUE}


def test_a_table_without_rows_is_evidence_too():
    for empty in ({"a": [], "b": []}, pl.DataFrame({"a": [], "b": []}), pd.DataFrame({"a": [], "b": []})):
        evidence = read_evidence(SMOKERS, [("Friends", empty)])
        assert not evidence.facts
        assert evidence.has("Friends")
        assert not evidence.has("Smokes")


def test_csv_is_rfc_4180(tmp_path):
    path = tmp_path / "f.csv"
    path.write_bytes(b'\xef\xbb\xbfwho,town,truth\r\nAnn,"a ""b"", c\r\nd",\r\n"",New York,false\r\n 7 ,x,1\r\n')
    evidence = read_evidence(SMOKERS, [("Lives", path)])
    assert facts_of(evidence, SMOKERS) == {
        ("Lives", ("Ann", 'a "b", c\r\nd')): UNKNOWN,
        ("Lives", ("", "New York")): FALSE,
        ("Lives", ("7", "x")): TRUE,
    }


def test_csv_numbers_stay_as_they_are_written(tmp_path):
    path = tmp_path / "f.csv"
    path.write_text("x\n007\n1.50\nNA\nnull\n")
    assert read_evidence(SMOKERS, [("Smokes", path)]).domains["person"].names == ("007", "1.50", "NA", "null")


def faults_of(source, predicate="Friends", model=SMOKERS, **options):
    with pytest.raises(InputError) as caught:
        read_evidence(model, [(predicate, source)], **options)
    return caught.value.faults


@pytest.mark.parametrize(
    ("predicate", "table", "says"),
    [
        ("Friend", COLUMNS, "undeclared predicate Friend (did you mean Friends?)"),
        ("Smokes", COLUMNS, "Smokes takes 1 column and at most one named truth, probability or weight, found 2: who, whom"),
        ("Friends", {"a": ["A"]}, "Friends takes 2 columns"),
        ("Friends", {"a": ["A"], "truth": [1]}, "Friends takes 2 columns"),
        (
            "Smokes",
            {"a": [1.0, 2.0]},
            "column a has type double, expected strings or integers (constants are strings or integers",
        ),
        ("Smokes", {"a": [True]}, "column a has type bool"),
        ("Smokes", {"a": [b"x"]}, "column a has type binary"),
        ("Smokes", {"a": ["A", None]}, "row 2: column a is empty"),
        ("Smokes", {"a": [None]}, "row 1: column a is empty"),
        ("Smokes", pd.DataFrame({"a": [1, None]}), "column a has type double"),
        ("Smokes", {"a": ["A"], "truth": [2]}, "column truth holds 2 (expected true, false, 1, 0, unknown, ? or nothing)"),
        ("Smokes", {"a": ["A"], "truth": [0.5]}, "column truth holds 0.5"),
        ("Smokes", {"a": ["A"], "truth": ["yes"]}, "column truth holds 'yes'"),
        ("Smokes", {"a": [1, "b"]}, "this table cannot be read"),
        ("Friends", {"a": ["A"], "b": []}, "this table cannot be read"),
        ("Smokes", 17, "not a table: builtins.int"),
        ("Smokes", None, "not a table: builtins.NoneType"),
        ("Smokes", "x.txt", "not a table that can be read"),
        ("Smokes", "nowhere.csv", "nowhere.csv: no such file"),
        ("Smokes", "nowhere.parquet", "nowhere.parquet: no such file"),
        ("Smokes", {"a": ["A", "A"], "truth": [1, 0]}, "row 1: contradicting facts: Smokes(A) is true"),
        ("Smokes", pl.LazyFrame({"a": ["A"]}).select("b"), "this table cannot be read"),
    ],
)
def test_one_fault(predicate, table, says):
    (fault,) = faults_of(table, predicate)
    if says.startswith("row 1: contradicting"):
        assert fault.place.file.endswith("row 2")
        assert "row 1" in fault.message
    else:
        assert says in fault.show()


@pytest.mark.parametrize(
    ("data", "says"),
    [
        (b"a,b\nA,\xc4nn\n", ":2:3: not UTF-8 text"),
        (b"a,b\nA,B\nx\0,B\n", ":3:2: not a text file: it holds a NUL byte"),
        (bytes(range(1, 256)), ":2:118: not UTF-8 text"),
    ],
)
def test_a_csv_file_that_is_no_text(tmp_path, data, says, capfd):
    path = tmp_path / "f.csv"
    path.write_bytes(data)
    (fault,) = faults_of(path)
    assert says in fault.show()
    assert capfd.readouterr().err == ""


def test_csv_faults_say_their_lines(tmp_path):
    path = tmp_path / "f.csv"
    path.write_text('a,b,truth\nA,B,1\n\nA\n"x\ny",C,\nD,,1\nE,F,maybe\nA,B,0\nG,H,1,1\n')
    faults = faults_of(path)
    assert [(fault.place.line, fault.message.split(",")[0][:34]) for fault in faults] == [
        (4, "this row has 1 cells"),
        (10, "this row has 4 cells"),
        (7, "column b is empty"),
        (8, "column truth holds 'maybe'"),
        (9, "contradicting facts: Friends(A"),
    ]
    assert f"{path}:2:1" in faults[-1].message


@pytest.mark.parametrize("content", [b"", b"\n\n", b"a,b\n\xff\xfe,\0\n", b"a\nA\n", b"\0\1\2\3"])
def test_bad_csv(tmp_path, content):
    path = tmp_path / "f.csv"
    path.write_bytes(content)
    assert all(fault.place.file == str(path) for fault in faults_of(path))


def test_bad_parquet(tmp_path):
    path = tmp_path / "t.parquet"
    pq.write_table(pa.table({"a": [f"C{n}" for n in range(50_000)]}), path)
    whole = path.read_bytes()
    for content in (whole[: len(whole) // 2], whole[:100] + bytes(200) + whole[300:], b"", b"a,b\n"):
        path.write_bytes(content)
        (fault,) = faults_of(path, "Smokes")
        assert fault.place.file == str(path)


def test_a_folder(tmp_path):
    folder = tmp_path / "x.parquet"
    folder.mkdir()
    assert "this is a folder" in faults_of(folder)[0].message


def test_closed_types():
    model = model_of("Friends(person, person)", constants={"person": ("Ann", "Zoe")}, declared=("person",))
    faults = faults_of(COLUMNS, model=model, closed_types=True)
    assert [fault.message.split(":")[0] for fault in faults] == [
        "unknown constant bob c",
        "unknown constant 7",
        "unknown constant é,(",
    ]


def test_many_bad_cells_are_counted():
    assert faults_of({"a": [None] * 1000}, "Smokes")[-1].message == "and 900 more"


def test_a_csv_needs_its_predicate(tmp_path):
    with pytest.raises(InputError, match=r"put it before the file: PREDICATE=t\.csv"):
        read_evidence(SMOKERS, [str(tmp_path / "t.csv")])


names = st.text('AB1 é"\\,(\n', max_size=3).map(str.strip)  # outer spaces are left out of tables


@settings(max_examples=60, deadline=None, derandomize=True)
@given(st.lists(st.tuples(names, names, st.sampled_from([TRUE, FALSE, UNKNOWN])), max_size=8, unique_by=lambda row: row[:2]))
def test_csv_parquet_and_db_agree(tmp_path_factory, rows):
    from markovlogic.language.syntax import show_constant

    folder = tmp_path_factory.mktemp("agree")
    table = {"a": [row[0] for row in rows], "b": [row[1] for row in rows], "truth": ["01?"[row[2]] for row in rows]}
    pq.write_table(pa.table(table), folder / "t.parquet")
    (folder / "t.csv").write_bytes(
        (
            "a,b,truth\n"
            + "".join(
                ",".join('"' + cell.replace('"', '""') + '"' for cell in row) + "\n" for row in zip(*table.values(), strict=True)
            )
        ).encode()
    )
    signs = {TRUE: "", FALSE: "!", UNKNOWN: "?"}
    facts = (f"{signs[truth]}Lives({show_constant(a)}, {show_constant(b)})\n" for a, b, truth in rows)
    (folder / "t.db").write_bytes("".join(facts).encode())
    expected = {("Lives", row[:2]): row[2] for row in rows}
    for source in (folder / "t.db", ("Lives", folder / "t.csv"), ("Lives", folder / "t.parquet"), ("Lives", table)):
        evidence = read_evidence(SMOKERS, [source])
        assert facts_of(evidence, SMOKERS) == expected
        assert list(evidence.domains["person"].names) == list(dict.fromkeys(row[0] for row in rows))
