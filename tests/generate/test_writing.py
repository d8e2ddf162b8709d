"""Two files, whole or not at all."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest

from markovlogic.errors import InputError
from markovlogic.generate import FactBlock, Generated, make, write


def test_files_hold_the_rules_and_the_facts(tmp_path: Path) -> None:
    generated = make("smokers", 8, 0.5, 1)
    rules, facts = write(generated, tmp_path / "new" / "folder")
    assert (rules.name, facts.name) == ("smokers.mln", "smokers.db")
    assert rules.read_text() == generated.rules
    assert facts.read_text() == generated.evidence_text()
    assert sorted(path.name for path in rules.parent.iterdir()) == ["smokers.db", "smokers.mln"]


def test_no_evidence_is_an_empty_file(tmp_path: Path) -> None:
    assert write(make("smokers", 8, 0.0, 1), tmp_path)[1].read_bytes() == b""


def test_older_files_are_replaced(tmp_path: Path) -> None:
    write(make("smokers", 8, 0.5, 1), tmp_path)
    newer = make("smokers", 3, 1.0, 2)
    assert write(newer, tmp_path)[1].read_text() == newer.evidence_text()


def test_a_failure_leaves_older_files_and_nothing_else(tmp_path: Path) -> None:
    older = make("smokers", 8, 0.5, 1)
    write(older, tmp_path)
    broken = Generated(
        "smokers", "rules", (FactBlock("Smokes(P%d)", np.arange(3)[:, None]), FactBlock("Oops(%d)", np.zeros((2, 2)))), "", ""
    )
    with pytest.raises(TypeError):
        write(broken, tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["smokers.db", "smokers.mln"]
    assert (tmp_path / "smokers.mln").read_text() == older.rules


def test_long_evidence_is_written_in_stretches(tmp_path: Path) -> None:
    block = FactBlock("!R(A%d,B%d)", np.arange(500_002).reshape(-1, 2))
    _, facts = write(Generated("rst", "", (block,), "", ""), tmp_path)
    lines = facts.read_text().splitlines()
    assert len(lines) == 250_001
    assert (lines[0], lines[100_000], lines[-1]) == ("!R(A0,B1)", "!R(A200000,B200001)", "!R(A500000,B500001)")


def test_a_file_in_the_way_is_an_input_error(tmp_path: Path) -> None:
    (tmp_path / "taken").write_text("")
    with pytest.raises(InputError, match="cannot write"):
        write(make("rst", 2), tmp_path / "taken")
    (tmp_path / "rst.db").mkdir()
    with pytest.raises(InputError, match="is a directory"):
        write(make("rst", 2), tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["rst.db", "taken"]


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_an_unwritable_directory_is_an_input_error(tmp_path: Path) -> None:
    tmp_path.chmod(0o500)
    with pytest.raises(InputError, match="cannot write"):
        write(make("rst", 2), tmp_path)
