"""Models of thousands of rules with few groundings each: what would be planned rule by rule is not, unless it is requested."""

import pytest

import markovlogic as mln


@pytest.fixture(scope="module")
def many():
    rules = "".join(f"0.{i % 9 + 1} P{i % 50}(x) => P{(i * 7 + 3) % 50}(x)\n" for i in range(2200))
    return mln.Model.parse("a = {A, B}\n" + "".join(f"P{i}(a)\n" for i in range(50)) + rules)


def test_explain_says_what_was_not_planned(many):
    shown = {(one.method, one.network): one for one in mln.explain(many, query="P0").candidates}
    for key in (("lifted", "none"), ("lifted-blocked", "none"), ("gibbs", "counting")):
        assert not shown[key].possible and "not planned" in shown[key].reason, key


def test_counting_is_planned_where_it_is_requested(many):
    plan = mln.explain(many, query="P0", method="gibbs", network="counting").plan
    assert (plan.method, plan.network) == ("gibbs", "counting")
