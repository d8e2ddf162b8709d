"""Domains reduced to one constant: the same weight as without, and only where the rule allows it."""

import numpy as np
import pytest
from tests.oracle.evaluation import domains_of, log_weight

from markovlogic.api.maximize import maximize
from markovlogic.language.load import parse
from markovlogic.map_inference.single_occurrence import reduced
from markovlogic.problem.model import Model
from markovlogic.problem.prepare import prepare_problem

HEAD = "ta = {A1, A2, A3}\ntb = {B1, B2}\nP(ta)\nQ(tb)\nR(ta, tb)\nS(ta)\nFlag\n"
ATOMS = ("P(x)", "Q(y)", "R(x, y)", "S(x)", "Flag")
WEIGHTS = ("1.5", "-0.75", "0.25", "2", "-3", "0.4")


def rules(seed):
    """Clauses, conjunctions and equivalences over one variable of each type, some of them hard."""
    rng = np.random.default_rng(seed)
    lines = []
    for _ in range(int(rng.integers(1, 6))):
        signs = [("!" if rng.random() < 0.5 else "") + str(a) for a in rng.choice(ATOMS, size=int(rng.integers(1, 4)))]
        body = f" {rng.choice(['v', '^', '=>', '<=>'])} ".join(signs)
        lines.append(f"({body})." if rng.random() < 0.15 else f"{rng.choice(WEIGHTS)} ({body})")
    return HEAD + "\n".join(lines) + "\n"


def reduced_places(text, evidence=None, **more):
    from markovlogic.problem.prepare import Assumptions

    prepared = prepare_problem(Model.parse(text), evidence, None, Assumptions(**more))
    found = reduced(prepared)
    return {} if found is None else {name: marks for name, marks in found.is_reduced.items() if any(marks)}


def test_the_world_weighs_as_much_as_the_best_of_all():
    lifted = impossible = 0
    for seed in range(40):
        text = rules(seed)
        model = Model.parse(text)
        try:
            world = maximize(model)
        except Exception as error:
            with pytest.raises(type(error)):
                maximize(model, method="ilp")
            impossible += 1
            continue
        lifted += world.run.network == "none"
        assert world.is_optimal
        assert world.log_weight == pytest.approx(maximize(model, method="ilp").log_weight, abs=1e-6), text
        names = [name.rstrip(")").replace("(", ",").split(",") for name in world.atoms]
        reported = {(name[0], tuple(name[1:])) for name in names}
        syntax = parse(text)
        assert log_weight(syntax, domains_of(syntax), reported) == pytest.approx(world.log_weight, abs=1e-9), text
    assert lifted > 25 and impossible < 10


@pytest.mark.parametrize(
    ("rule", "places"),
    [
        ("1 P(x) => S(x)", {"P": (True,), "S": (True,), "Q": (True,), "R": (True, True)}),
        ("1 P(x) ^ P(z) => S(x)", {"Q": (True,), "R": (True, True)}),  # two of them meet
        ("1 R(x, y) ^ R(z, y)", {"P": (True,), "S": (True,), "Q": (True,), "R": (False, True)}),
        ("1 P(A1) v S(x)", {"S": (True,), "Q": (True,), "R": (True, True)}),  # one is named
        ("1 P(x) v S(x) v x = A2", {"Q": (True,), "R": (True, True)}),  # and compared
        ("1 P(x) <=> (EXIST y (R(x, y) ^ Q(y)))", {"P": (True,), "S": (True,), "R": (True, False)}),  # and quantified over
    ],
)
def test_where_constants_meet_nothing_is_reduced(rule, places):
    assert reduced_places(HEAD + rule + "\n") == places


def test_evidence_that_tells_constants_apart_keeps_them(tmp_path):
    some, all_ = tmp_path / "some.db", tmp_path / "all.db"
    some.write_text("S(A1)\n")
    all_.write_text("S(A1)\nS(A2)\nS(A3)\nR(A1,B1)\nR(A2,B1)\nR(A3,B1)\n")
    text = HEAD + "1 R(x, y) v S(x)\n2 P(x) => S(x)\n"
    assert reduced_places(text, str(some)) == {"Q": (True,), "R": (False, True)}
    assert reduced_places(text, str(all_)) == {"P": (True,), "S": (True,), "Q": (True,), "R": (True, False)}
    for facts in (str(some), str(all_)):
        mine, other = maximize(Model.parse(text), facts), maximize(Model.parse(text), facts, method="ilp")
        assert mine.log_weight == pytest.approx(other.log_weight, abs=1e-9) and mine.is_optimal


def test_exclusive_values_stay_and_their_owners_are_reduced():
    text = "page = {P1, P2, P3}\nclass = {K1, K2}\nC(page, class!)\nLong(page)\n1 Long(p) => C(p, K1)\n0.5 C(p, k)\n0.2 Long(p)\n"
    assert reduced_places(text) == {"C": (True, False), "Long": (True,)}
    world = maximize(Model.parse(text))
    assert world.atoms == ["C(P1,K1)", "C(P2,K1)", "C(P3,K1)", "Long(P1)", "Long(P2)", "Long(P3)"]
    assert world.log_weight == pytest.approx(3 * (1 + 0.5 + 0.2))


def test_what_would_never_be_ground_is_answered(tmp_path):
    people = ", ".join(f"A{i}" for i in range(3000))
    places = ", ".join(f"B{i}" for i in range(300))
    text = (
        f"ta = {{{people}}}\ntb = {{{places}}}\nP(ta)\nQ(tb)\nR(ta, tb)\nT(ta, tb)\n"
        "1 P(x) ^ R(x, y) => T(x, y)\n0.1 P(x)\n0.2 R(x, y)\n-0.3 T(x, y)\n0.5 Q(y) ^ T(x, y)\n-100 Q(y)\n"
    )
    world = maximize(Model.parse(text), None, "P,Q")
    # each pair: R and T and Q together are worth 1 + 0.2 - 0.3 + 0.5, and Q costs 100 for 3000 pairs
    assert world.is_optimal and len(world) == 3300
    assert world.log_weight == pytest.approx(900_000 * 1.4 + 300 - 30_000, rel=1e-12)
    assert "one constant stands for all of ta (3,000), tb (300)" in " ".join(world.remarks)


def test_a_domain_of_one_constant_is_left_as_it_is():
    assert reduced_places("ta = {A1}\nP(ta)\n1 P(x)\n") == {}
    assert reduced_places("ta = {A1}\ntb = {B1, B2}\nR(ta, tb)\n1 R(x, y)\n") == {"R": (False, True)}


def test_an_atom_beside_an_equivalence_relation_that_stays_is_named_in_the_query():
    """One constant stands for all of P, not of Same; the query names another."""
    text = "p = {A, B, C}\nP(p)\nS(p, p)\n1.5 S(x, y) => P(z)\nS(x, x).\nS(x, y) => S(y, x).\nS(x, y) ^ S(y, z) => S(x, z).\n"
    for each in (text, text.replace("1.5 S(x, y) => P(z)", "1.5 !S(x, y) v !Known(S(y, y))\n0.5 P(z)")):
        assert set(maximize(Model.parse(each), None, "P(C)")) == {"P(C)"}
