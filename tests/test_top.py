"""`--top K`: the most probable rows of each item of the query."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np
import pytest

import markovlogic as mln
from markovlogic.cli.main import main
from markovlogic.errors import InputError

RULES = """\
thing = {A, B, C, D, E}
P(thing)
R(thing, thing)
0.4 P(A)
-0.7 P(B)
1.1 P(x) ^ R(x, y) => P(y)
0.3 R(A, x)
"""


@pytest.fixture(scope="module")
def model() -> mln.Model:
    return mln.Model.parse(RULES)


def test_each_item_has_its_own_rows(model: mln.Model) -> None:
    query = ["P", "R(A,_)", "R(_,C)", "P(A)^P(B)"]
    full = mln.infer(model, None, query, method="exact", progress=False)
    found = mln.infer(model, None, query, method="exact", top=2, progress=False)
    assert list(found) == sorted(found) and found["P(A)^P(B)"] == full["P(A)^P(B)"]
    value = {atom: float(full[atom]) for atom in full}
    wanted = {"P(A)^P(B)"}
    for group in (
        [a for a in value if a.startswith("P(") and "^" not in a],
        [a for a in value if a.startswith("R(A,")],
        [a for a in value if a.endswith(",C)")],
    ):
        wanted |= set(sorted(group, key=lambda atom: (-value[atom], atom))[:2])
    assert set(found) == wanted
    assert all(float(found[atom]) == value[atom] for atom in found)


def test_draws_stay_with_their_rows(model: mln.Model) -> None:
    full = mln.infer(model, None, ["P"], method="gibbs", draws=20, keep_draws=True, progress=False)
    found = full.top(3)
    assert found.draws is not None and full.draws is not None and found.draws.values.shape[2] == len(found) == 3
    for at, row in enumerate(found.draws.row.tolist()):
        there = list(full).index(found.atom[row].as_py())
        column = full.draws.row.tolist().index(there)
        assert np.array_equal(found.draws.values[:, :, at], full.draws.values[:, :, column])


def test_command_and_refusals(model: mln.Model, tmp_path: Path) -> None:
    (tmp_path / "m.mln").write_text(RULES)
    out = tmp_path / "o.csv"
    assert main(["infer", str(tmp_path / "m.mln"), "-q", "R(A,_)", "--top", "2", "-o", str(out), "--quiet"]) == 0
    assert len(list(csv.DictReader(out.read_text().splitlines()))) == 2
    assert main(["infer", str(tmp_path / "m.mln"), "-q", "P", "--top", "0"]) == 2
    with pytest.raises(InputError, match="at least 1"):
        mln.infer(model, None, ["P"], top=0)
    assert len(mln.infer(model, None, ["P"], top=99, progress=False)) == 5
