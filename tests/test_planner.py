"""What `explain` says of a small problem whose every number is known, grounded and not."""

from __future__ import annotations

import pytest

import markovlogic as mln
from markovlogic.methods import forecast
from markovlogic.methods.planner import needs_network
from markovlogic.methods.sampler_method import SamplingMethod
from markovlogic.methods.table import all_methods, method_named

RULES = """
person = {A, B, C, D}
class = {X, Y, Z}
Friends(person, person)
Smokes(person)
Rich(person)
In(person, class!)
1.5 Friends(x, y) ^ Smokes(x) => Smokes(y)
0.4 In(p, X) => Rich(p)
"""
QUERY = ["Smokes", "Rich", "In"]


def problem() -> tuple[mln.Model, mln.Evidence]:
    import pyarrow as pa

    model = mln.Model.parse(RULES)
    return model, model.evidence(Friends=pa.table({"a": ["A", "B", "B"], "b": ["B", "C", "B"]}))


def test_numbers_of_the_ground_network() -> None:
    reported = mln.explain(*problem(), QUERY)
    assert (reported.groundings, reported.atoms, reported.exclusive_groups) == (16 + 4, 4 + 4 + 12, 4)
    # A-B-C are linked by two rules of two literals (B's friendship with itself is a tautology); each p has one over its group
    assert (reported.clauses, reported.literals, reported.clauses_at_most) == (2 + 4, 4 + 8, None)
    assert reported.components == 1 + 1 + 4  # A, B, C; D alone; each person's riches and class
    assert reported.largest_component == 4
    made = reported.as_dict()
    assert "clauses_at_most" not in made and "fallback" not in made["plan"] and made["clauses"] == 6
    shown = [(method.name, network) for method in all_methods() if method.listed for network in method.networks]
    listed = [(c["method"], c["network"]) for c in made["candidates"]]
    assert list(dict(listed)) == [method.name for method in all_methods() if method.listed]
    assert set(listed) <= set(shown) and {("gibbs", "ground"), ("gibbs", "counting")} <= set(listed)
    assert all(candidate.possible for candidate in reported.candidates if candidate.method in ("enumerate", "gibbs"))


def test_variants_are_candidates_where_they_were_requested() -> None:
    hidden = [method for method in all_methods() if not method.listed]
    for method in hidden:
        reported = mln.explain(*problem(), QUERY, method=method.name)
        assert method.name in [candidate.method for candidate in reported.candidates]
        assert reported.plan.method == method.name and reported.plan.reason == "chosen by name"


def test_a_grounding_that_takes_long_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(forecast, "REFINING_SECONDS", 0.0)
    reported = mln.explain(*problem(), QUERY, method="gibbs")
    assert (reported.clauses, reported.literals, reported.components, reported.largest_component) == (None,) * 4
    assert reported.clauses_at_most is not None and reported.clauses_at_most >= 6
    assert (
        reported.plan.reason.startswith("grounding needs up to ")
        and "too long for an explanation; chosen by name" in reported.plan.reason
    )
    assert reported.as_dict()["clauses_at_most"] == reported.clauses_at_most


def test_what_does_not_fit_would_be_refused() -> None:
    reported = mln.explain(*problem(), QUERY, method="gibbs", memory_limit=1000)
    assert reported.plan.reason.startswith("would be refused: grounding needs") and "the memory limit is" in reported.plan.reason
    assert not next(candidate for candidate in reported.candidates if candidate.method == "gibbs").possible
    with pytest.raises(mln.ResourceError):
        mln.infer(*problem(), QUERY, method="gibbs", memory_limit=1000)


def test_the_memory_limit_holds_for_the_whole_plan() -> None:
    needed = mln.explain(*problem(), QUERY, method="gibbs", estimator="sample").memory_bytes
    options = {"method": "gibbs", "estimator": "sample", "draws": 1000}
    assert mln.infer(*problem(), QUERY, memory_limit=needed, **options).run.method == "gibbs"
    with pytest.raises(mln.ResourceError, match=r"gibbs would need about .*; ask for fewer chains than 64") as caught:
        mln.infer(*problem(), QUERY, memory_limit=needed - 1, **options)
    assert (caught.value.needed, caught.value.limit) == (needed, needed - 1)


SAMPLING = [method.name for method in all_methods() if isinstance(method, SamplingMethod) and needs_network(method)]


@pytest.mark.parametrize("method", SAMPLING)
def test_a_plan_that_was_made_without_the_network_is_made_again_with_it(method: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whether the grounding was waited for by the plan changes nothing about the draws.

    But for those that move by symmetry: the door to it was opened by the plan, before there was a network to search.
    """
    options = {"method": method, "draws": 20, "chains": 4, "seed": 1}
    soon = mln.infer(*problem(), QUERY, **options)
    monkeypatch.setattr(forecast, "REFINING_SECONDS", 0.0)
    late = mln.infer(*problem(), QUERY, **options)
    assert method_named(method).samples and late.run.clauses == soon.run.clauses == 6
    if method != "orbital":
        assert late.probability.tolist() == soon.probability.tolist()
    assert (late.run.estimator, late.guarantee) == (soon.run.estimator, soon.guarantee)


def test_what_no_lifted_rule_solves_is_left_to_the_ground_network() -> None:
    types = "".join(f"{name} = {{{', '.join(f'{name.upper()}{i}' for i in range(20))}}}\n" for name in "abcd")
    rules = types + "R(a, b)\nS(b, c)\nT(c, d)\n1 R(x, y) v S(y, z)\n1 S(y, z) v T(z, u)\n"
    reported = mln.explain(mln.Model.parse(rules), None, "S(B1,C1)")
    assert not next(candidate for candidate in reported.candidates if candidate.method == "lifted").possible
    assert reported.plan.method != "lifted"
