import csv
import dataclasses
import json
import os
import stat
import threading

import numpy as np
import pyarrow.parquet as pq
import pytest
from tests.report.made import PEOPLE, marginals

from markovlogic.errors import InputError
from markovlogic.report import files
from markovlogic.report.files import atomic_file, check_writable, same_file


def test_csv_reads_back_to_the_last_bit(tmp_path):
    result = marginals(sampled=True)
    result.report(tmp_path / "out.csv")
    text = (tmp_path / "out.csv").read_bytes()
    assert text.startswith(b"atom,probability,stderr,rhat,ess,predicate,arg1,arg2\n")
    rows = list(csv.DictReader(text.decode().splitlines()))
    assert [row["atom"] for row in rows] == list(result)
    for name in ("probability", "stderr", "rhat", "ess"):
        assert np.array_equal([float(row[name]) for row in rows], getattr(result, name))
    table = result.table()
    for name in ("predicate", "arg1", "arg2"):
        assert [row[name] for row in rows] == [value or "" for value in table[name].to_pylist()]


def test_csv_has_empty_fields_and_shortest_numbers(tmp_path):
    result = dataclasses.replace(marginals(), probability=np.append([0.1, 1.0, 0.0, 1e-300, 0.1 + 0.2], np.full(12, np.nan)))
    result.report(tmp_path / "out.csv")
    lines = (tmp_path / "out.csv").read_text().splitlines()
    ends = [line.split(')"', 1)[-1].partition(",Friends")[0] for line in lines[1:6]]
    assert ends == [",0.1,0,,", ",1,0,,", ",0,0,,", ",1e-300,0,,", ",0.30000000000000004,0,,"]
    assert ",,0,,,Friends," in lines[6] and lines[-1].endswith(",,,,")
    assert "nan" not in (tmp_path / "out.csv").read_text()
    assert lines[-1].startswith("Smokes(Ann)^!Smokes(Bob),")  # no quotes where none are needed


def test_alchemy_lines(tmp_path):
    result = marginals()
    result.report(tmp_path / "out.result")
    lines = (tmp_path / "out.result").read_text().splitlines()
    assert lines[0].rsplit(" ", 1) == [next(iter(result)), str(float(result.probability[0]))]
    assert len(lines) == 17


def test_json_holds_the_guarantee_and_null_for_the_undefined(tmp_path):
    result = marginals()
    result.report(tmp_path / "out.json")
    read = json.loads((tmp_path / "out.json").read_text())
    assert read["guarantee"] == "exact" and read["concerns"] == [] and read["run"]["method"] == "exact"
    assert [row["atom"] for row in read["marginals"]] == list(result)
    assert read["marginals"][0]["rhat"] is None
    assert read["marginals"][-1]["args"] is None and read["marginals"][-2]["args"] == ["Bob", "Bob"]
    assert [row["probability"] for row in read["marginals"]] == list(result.probability)


def test_an_infinite_rhat_is_no_undefined_one(tmp_path):
    result = dataclasses.replace(marginals(sampled=True), rhat=np.full(17, np.inf))
    for name in ("out.csv", "out.json", "out.html", "out.parquet"):
        result.report(tmp_path / name)
    assert json.loads((tmp_path / "out.json").read_text())["marginals"][3]["rhat"] == np.inf
    assert next(csv.DictReader((tmp_path / "out.csv").read_text().splitlines()))["rhat"] == "inf"


def test_empty_results_are_valid_files(tmp_path):
    full = marginals()
    none = {name: getattr(full, name)[:0] for name in ("atom", "predicate_of", "code", "probability", "stderr", "rhat", "ess")}
    result = dataclasses.replace(full, **none)
    for name in ("out.csv", "out.json", "out.parquet", "out.html", "out.txt"):
        result.report(tmp_path / name)
    assert (tmp_path / "out.csv").read_text() == "atom,probability,stderr,rhat,ess,predicate\n"
    assert json.loads((tmp_path / "out.json").read_text())["marginals"] == []
    assert pq.read_table(tmp_path / "out.parquet").num_rows == 0
    assert (tmp_path / "out.txt").read_text() == ""


def test_parquet_is_the_table(tmp_path):
    result = marginals(sampled=True)
    result.report(tmp_path / "out.parquet")
    read = pq.read_table(tmp_path / "out.parquet")
    assert read.column_names == result.table().column_names
    assert read.equals(result.table())
    assert read.schema.metadata[b"guarantee"] == b"exact"


def test_batches_join_without_seams(tmp_path, monkeypatch):
    monkeypatch.setattr(files, "ROWS_AT_ONCE", 5)
    result = marginals()
    for name in ("out.csv", "out.json"):
        result.report(tmp_path / name)
    assert len((tmp_path / "out.csv").read_text().splitlines()) == 18
    assert len(json.loads((tmp_path / "out.json").read_text())["marginals"]) == 17


def test_a_failure_leaves_the_old_file_and_nothing_else(tmp_path):
    target = tmp_path / "out.csv"
    target.write_text("old")
    for error in (RuntimeError("half way"), KeyboardInterrupt()):
        with pytest.raises(type(error)), atomic_file(target) as file:
            file.write(b"new, but not all")
            raise error
    assert target.read_text() == "old"
    assert os.listdir(tmp_path) == ["out.csv"]


def test_a_full_disk_is_an_input_error_and_leaves_nothing(tmp_path):
    with pytest.raises(InputError, match=r"cannot write .*No space left"), atomic_file(tmp_path / "out.csv") as file:
        file.write(b"begun")
        raise OSError(28, "No space left on device")
    assert os.listdir(tmp_path) == []
    if os.path.exists("/dev/full"):
        with pytest.raises(InputError, match="No space left"):
            files.write_result(marginals(), "/dev/full")


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("missing/out.csv", "directory does not exist"),
        ("", "is a directory"),
        ("file/out.csv", "Not a directory"),
        ("n" * 300, "too long"),
    ],
)
def test_what_cannot_be_written_is_refused_before(tmp_path, name, message):
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match=message):
        check_writable(tmp_path / name)
    assert os.listdir(tmp_path) == ["file"]


def test_a_writable_place_stays_as_it_was(tmp_path):
    (tmp_path / "there").write_text("old")
    check_writable(tmp_path / "there")
    check_writable(tmp_path / "new.csv")
    check_writable("-")
    check_writable("/dev/null")
    assert os.listdir(tmp_path) == ["there"]
    assert (tmp_path / "there").read_text() == "old"


def test_links_and_permissions_survive(tmp_path):
    real = tmp_path / "real.csv"
    real.write_text("old")
    real.chmod(0o640)
    (tmp_path / "link.csv").symlink_to(real)
    marginals().report(tmp_path / "link.csv")
    assert (tmp_path / "link.csv").is_symlink()
    assert real.read_text().startswith("atom,")
    assert stat.S_IMODE(real.stat().st_mode) == 0o640
    marginals().report(tmp_path / "fresh.csv")
    mask = os.umask(0)
    os.umask(mask)
    assert stat.S_IMODE((tmp_path / "fresh.csv").stat().st_mode) == 0o666 & ~mask


def test_a_pipe_is_written_to_directly(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    read: list[bytes] = []
    reader = threading.Thread(target=lambda: read.append((tmp_path / "pipe").read_bytes()))
    reader.start()
    marginals().report(tmp_path / "pipe")
    reader.join(timeout=10)
    assert len(read[0].splitlines()) == 17
    assert not same_file(tmp_path / "pipe", tmp_path / "pipe")
    assert same_file(tmp_path / "a", tmp_path / "." / "a")


def test_an_open_descriptor_is_appended_to(tmp_path):
    with open(tmp_path / "log", "wb") as log:
        log.write(b"before\n")
        log.flush()
        marginals().report(f"/dev/fd/{log.fileno()}")
        log.write(b"after\n")
    lines = (tmp_path / "log").read_text().splitlines()
    assert lines[0] == "before" and lines[-1] == "after" and len(lines) == 19
    with pytest.raises(InputError, match="cannot write /dev/fd/999"):
        marginals().report("/dev/fd/999")


def test_a_name_that_ends_like_a_directory_is_none(tmp_path):
    with pytest.raises(InputError, match="not a file name"):
        check_writable(f"{tmp_path}/new/")


def test_the_page_opens_without_a_network_and_nothing_in_it_is_code(tmp_path):
    people = dataclasses.replace(PEOPLE, names=("Ann", "</script><b>", "Bob"))
    result = dataclasses.replace(marginals(people), notes=("1 < 2",))
    result.report(tmp_path / "out.html")
    page = (tmp_path / "out.html").read_text()
    assert "<script src" not in page and 'rel="stylesheet"' not in page
    assert "</script><b>" not in page
    assert "\\u003c/script>\\u003cb>" in page and "1 \\u003c 2" in page
    assert '"word": "exact"' in page and page.rstrip().endswith("</html>")
