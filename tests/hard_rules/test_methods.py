"""Every method with what hard rules decide: the numbers of all worlds, and results that show what was decided."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest
from tests.lifted.liftable import prepared
from tests.oracle.worlds import all_worlds

import markovlogic as mln
from markovlogic.grounding.ground import ground
from markovlogic.methods.table import TABLE, method_named
from markovlogic.problem.names import atom_name

RULES = """
p = {A, B, C}
class = {X, Y, Z}
Knows(p, p)
Likes(p, p)
Has(p, class!)
Fond(p)
!Knows(x,y) ^ x != y => !Likes(x,y).
Likes(x,x) => Fond(x).
Fond(x) => Has(x,X).
Knows(x,y) => !Has(x,Z).
0.7 Likes(x,y) => Fond(x)
-0.4 Likes(x,y)
0.9 Has(x,Y) ^ Likes(x,x)
1.2 Fond(x) ^ !Has(x,X)
"""
FACTS = "Knows(A,B)\nKnows(B,A)\nKnows(B,C)\n!Has(A,Y)\n!Likes(A,A)\nHas(C,Y)\n"
QUERY = ["Likes", "Has", "Fond(B)", "Likes(A,B)^!Likes(B,C)", "Likes(B,B)^Has(B,X)", "!Fond(C)"]


@pytest.fixture(scope="module")
def true() -> dict[str, float]:
    of = prepared(RULES, FACTS, ",".join(QUERY))
    worlds = all_worlds(ground(of.problem, of.lowered))
    found = {atom_name(of.problem, atom): float(worlds.marginal[atom]) for atom in range(len(of.problem.atoms))}
    literal = {name: 2 * atom for atom, name in enumerate(found)}
    found["Likes(A,B)^!Likes(B,C)"] = worlds.event([literal["Likes(A,B)"] + 1, literal["Likes(B,C)"]])
    found["Likes(B,B)^Has(B,X)"] = worlds.event([literal["Likes(B,B)"] + 1, literal["Has(B,X)"] + 1])
    found["!Fond(C)"] = 1 - found["Fond(C)"]
    found["log_z"] = worlds.log_z
    return found


@pytest.fixture
def facts(tmp_path: Path) -> Path:
    (tmp_path / "facts.db").write_text(FACTS)
    return tmp_path / "facts.db"


@pytest.mark.parametrize("method", [*TABLE, "auto"])
def test_the_numbers_are_those_of_all_worlds(method: str, true: dict[str, float], facts: Path) -> None:
    options: dict[str, Any] = {}
    if method != "auto" and method_named(method).samples:
        options = {"chains": 8, "draws": 400, "seed": 2}
    try:
        result = mln.infer(mln.Model.parse(RULES), facts, QUERY, method=method, **options)
    except mln.UnsupportedError:
        assert method == "lifted-blocked"
        return
    rows = {name: float(value) for name, value in zip(result.atom.to_pylist(), result.probability, strict=True)}
    assert len(rows) == 8 + 5 + 1 + 3  # every query atom that is not evidence, whoever decided it
    tolerance = {"exact": 1e-9 if not options else 0.08}.get(str(result.guarantee), 0.2)
    for name, value in rows.items():
        assert value == pytest.approx(true[name], abs=tolerance), name
        if true[name] in (0.0, 1.0) and "^" not in name:
            assert value == true[name], name
    assert result.run.atoms == 8 + 5 + 3
    if result.run.log_z is not None:
        assert result.run.log_z == pytest.approx(true["log_z"], abs=1e-9 if not options else 0.3)


def test_worlds_hold_decided_atoms_too(facts: Path, tmp_path: Path) -> None:
    there = tmp_path / "worlds.parquet"
    result = mln.infer(mln.Model.parse(RULES), facts, "Likes,Has", method="gibbs", chains=2, draws=50, worlds=there)
    table = pq.read_table(there).drop_columns(["chain", "draw"])
    assert sorted(table.column_names) == result.atom.to_pylist()
    for name, value in zip(result.atom.to_pylist(), result.probability, strict=True):
        mean = np.mean(table[name].to_numpy())
        assert mean == value if value in (0.0, 1.0) else 0 < mean < 1 or math.isclose(mean, value, abs_tol=0.1)
    assert (np.sum([table[f"Has(B,{c})"].to_numpy() for c in "XYZ"], axis=0) == 1).all()


def test_of_very_many_rows_those_that_can_be_true_are_listed(tmp_path: Path) -> None:
    """All pairs of 10,000 records are requested, and all but a few are false by a hard rule; facts are listed or refused."""
    rules = "rec = {1,...,10000}\nCand(rec,rec)\nSame(rec,rec)\n!Cand(x,y) ^ x != y => !Same(x,y).\n-0.5 Same(x,y)\n"
    (tmp_path / "facts.db").write_text("Cand(1,2)\n")
    with pytest.raises(mln.ResourceError, match="100,000,000 rows"):
        mln.infer(mln.Model.parse(rules), tmp_path / "facts.db", "Same", memory_limit=1 << 30, include_evidence=True)
    whole = mln.infer(mln.Model.parse(rules), tmp_path / "facts.db", "Same", memory_limit=1 << 30)
    assert len(whole.probability) == 10_001 and whole.run.atoms == 10_000**2
    assert any("99,989,999 of 100,000,000 atoms are not listed" in remark for remark in whole.remarks)
    world = mln.maximize(mln.Model.parse(rules), tmp_path / "facts.db", "Same", memory_limit=1 << 30)
    assert len(world.table()) == 0 or not any(world.table()["truth"].to_pylist())
    result = mln.infer(mln.Model.parse(rules), tmp_path / "facts.db", "Same(1,_)", memory_limit=1 << 30)
    assert len(result.probability) == 10_000 and np.count_nonzero(result.probability) == 2
    assert result.run.atoms == 10_000**2
