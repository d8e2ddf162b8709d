import dataclasses

import numpy as np
import pytest
from tests.report.made import PEOPLE, marginals

import markovlogic as mln
from markovlogic.data.evidence import Domain
from markovlogic.errors import InputError
from markovlogic.guarantee import Guarantee
from markovlogic.results.marginals import Draws, Estimate, without_spaces


def test_rows_are_sorted_by_code_point_and_names_are_written_as_they_are_read():
    result = marginals()
    names = list(result)
    assert names == sorted(names)
    assert 'Friends(Ann,"odd \\"one\\", x")' in names
    assert 'Friends("é",Bob)' in names
    assert len(result) == 17


def test_one_estimate_is_a_float_with_its_errors():
    found = marginals(sampled=True)["Friends(Ann, Bob)"]
    assert isinstance(found, float)
    assert found == found.probability == 1 / 16
    assert (found.stderr, found.rhat, found.ess) == (0.01, 1.001, 800.0)
    assert abs(Estimate(0.5) - 0.25) == 0.25


def test_spaces_in_quotes_matter_and_others_do_not():
    result = marginals()
    assert result['Friends( Ann , "odd \\"one\\", x" )'] == 2 / 16
    assert 'Friends(Ann,"odd\\"one\\",x")' not in result
    assert without_spaces(' a ( "b \\" c" , d ) ') == 'a("b \\" c",d)'


def test_an_event_is_found_by_its_spelling():
    assert marginals()["Smokes(Ann) ^ !Smokes(Bob)"] == 1 / 3


def test_a_missing_atom_is_a_key_error_that_says_why():
    with pytest.raises(KeyError, match="did you mean Friends"):
        marginals()["Friends(Ann,Bop)"]
    with pytest.raises(KeyError, match="include_evidence"):
        marginals()["Zzz"]


def test_the_table_has_the_promised_columns():
    table = marginals().table()
    assert table.column_names == ["atom", "probability", "stderr", "rhat", "ess", "predicate", "arg1", "arg2"]
    rows = {row["atom"]: row for row in table.to_pylist()}
    assert [rows["Friends(Ann,Bob)"][name] for name in ("arg1", "arg2")] == ["Ann", "Bob"]
    assert rows["Friends(Ann,Bob)"]["predicate"] == "Friends"
    assert rows["Friends(Ann,Bob)"]["rhat"] is None
    assert rows['Friends("é","odd \\"one\\", x")']["arg2"] == 'odd "one", x'
    event = rows["Smokes(Ann)^!Smokes(Bob)"]
    assert event["predicate"] is None and event["arg1"] is None and event["probability"] == 1 / 3
    assert table.schema.metadata[b"guarantee"] == b"exact"


def test_pandas_and_polars_agree_with_the_table():
    result = marginals(sampled=True)
    frame, other = result.to_pandas(), result.to_polars()
    assert list(frame.columns) == list(other.columns)
    assert np.array_equal(frame["probability"].to_numpy(), other["probability"].to_numpy())
    assert list(frame["atom"]) == other["atom"].to_list()


def test_a_predicate_without_arguments_has_no_argument_columns():
    result = dataclasses.replace(marginals(), predicates=("Flag",), domains=((),), code=np.zeros(17, np.int64))
    assert result.table().column_names[-1] == "predicate"


def test_argument_columns_have_the_types_that_the_user_gave():
    """Integers where a table had integers and every constant is one; strings for a type that anything else names."""
    import pandas

    import markovlogic as mln

    model = mln.Model.parse("Same(rec, rec)\nAge(rec, years)\nLikes(who, rec)\n0.5 Same(x, y)\n0.1 Likes(w, r)\n")
    same, age = {"a": [7, 12], "b": [12, 3], "truth": [None, True]}, {"r": [7], "y": ["40"]}
    tables = {"Same": pandas.DataFrame(same), "Age": pandas.DataFrame(age), "Likes": {"w": ["Ann"], "r": [3], "truth": ["?"]}}
    result = mln.infer(model, tables, ["Same", "Likes"])
    schema = result.table().schema
    assert str(schema.field("arg1").type) == "large_string"  # Same has integers there, Likes names
    assert str(schema.field("arg2").type) == "int64"
    frame = result.predicate("Same")
    assert list(frame.columns) == ["arg1", "arg2", "probability", "stderr", "rhat", "ess"]
    assert str(frame["arg1"].dtype) == "int64" and set(frame["arg1"]) == {3, 7, 12}
    assert result.predicate("Likes", frame="polars")["arg1"].unique().to_list() == ["Ann"]
    assert result.predicate("Likes", frame="arrow").column_names[0] == "arg1"
    mixed = mln.infer(model, {"Same": pandas.DataFrame(same), "Likes": {"w": ["Ann"], "r": ["x"]}}, ["Same"])
    assert str(mixed.table().schema.field("arg1").type) == "large_string"
    with pytest.raises(InputError, match=r"no rows of Sane.*did you mean Same"):
        result.predicate("Sane")
    with pytest.raises(InputError, match="unknown frame"):
        result.predicate("Same", frame="excel")


def test_the_most_likely_value_of_each_group():
    import markovlogic as mln

    model = mln.Model.parse("page = {P, Q, R}\nkind = {U, V, W}\nK(page, kind!)\nS(page)\n0.8 K(p, V)\n1 K(Q, W)\n0.1 S(p)\n")
    result = mln.infer(model, None, ["K", "S"])
    rows = result.most_likely("K", frame="arrow").to_pylist()
    assert [(row["arg1"], row["arg2"]) for row in rows] == [("P", "V"), ("Q", "W"), ("R", "V")]
    assert rows[1]["probability"] == float(result["K(Q,W)"])
    with pytest.raises(InputError, match="no exclusive argument"):
        result.most_likely("S")
    with pytest.raises(InputError, match="some values of K only"):
        mln.infer(model, None, ["K(_,U)"]).most_likely("K")


def test_concerns_are_those_of_the_run_and_of_stricter_limits():
    assert marginals().concerns(rhat_below=1.0, ess_above=10, stderr_below=0.1) == []
    good = marginals(sampled=True)
    assert good.concerns() == []
    assert "standard error" in good.concerns(stderr_below=0.001)[0]
    worse = dataclasses.replace(good, rhat=np.where(np.arange(17) == 3, 1.4, 1.0), notes=("hard clauses may trap chains",))
    assert worse.concerns() == ["hard clauses may trap chains"]
    first, second = worse.concerns(rhat_below=1.01)
    assert first == "hard clauses may trap chains"
    assert "R-hat" in second and list(good)[3] in second
    few = dataclasses.replace(good, ess=np.full(17, 3.0), probability=np.append(np.nan, good.probability[1:]))
    assert [("17 rows" in text, "no probability" in text) for text in few.concerns(ess_above=9)] == [(True, False), (False, True)]


def test_stats_have_every_key_and_no_undefined_one():
    result = marginals()
    stats = result.run.stats(Guarantee.EXACT)
    wanted = "method network estimator guarantee atoms clauses chains draws burn_in updates seconds peak_memory_bytes"
    assert set(wanted.split()) <= set(stats)
    assert stats["log_z"] == 1.5
    assert "acceptance" not in stats
    assert "log_z" not in dataclasses.replace(result.run, log_z=float("nan")).stats(Guarantee.EXACT)


def test_draws_go_to_arviz_only_where_they_were_kept():
    result = marginals(sampled=True)
    with pytest.raises(InputError, match="keep_draws"):
        result.to_arviz()
    kept = Draws(np.ones((2, 5, 3), bool), np.array([0, 1, 5]))
    tree = dataclasses.replace(result, draws=kept).to_arviz()
    assert tree["posterior"]["truth"].shape == (2, 5, 3)
    assert list(tree["posterior"]["atom"].values) == [list(result)[row] for row in (0, 1, 5)]


def test_many_atoms_need_no_object_each():
    people = Domain("person", tuple(f"P{i}" for i in range(700)))
    result = marginals(people)
    assert len(result) == 490_001
    assert result["Friends(P699,P698)"] == 489_998 / 490_000
    assert result.table().num_rows == 490_001


def test_the_oddest_person_reads_back():
    assert PEOPLE.names[2] == 'odd "one", x'


def test_conjunctions_have_no_code() -> None:
    found = mln.infer(mln.Model.parse("t = {A, B}\nP(t)\n1 P(x)\n"), None, ["P", "P(A) ^ P(B)"])
    assert found.code.tolist() == [0, -1, 1]
