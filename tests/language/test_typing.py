"""Types of variables and constants, bound variables, stars."""

from __future__ import annotations

import pytest

from markovlogic.errors import InputError
from markovlogic.language.load import parse
from markovlogic.language.show import show_formula

DECLARED = "Smokes(person)\nLives(person, city)\nFlag\n"


def rule_of(text):
    (rule,) = parse(DECLARED + text).rules
    return rule


def test_free_variables_in_order_of_first_occurrence():
    rule = rule_of("1 y != x ^ Lives(x, c) ^ Smokes(y)")
    assert rule.free == ("y", "x", "c")
    assert rule.type_of == {"x": "person", "y": "person", "c": "city"}


def test_bound_variables_are_renamed_apart():
    rule = rule_of("1 (EXIST x Smokes(x)) ^ (EXIST x Lives(y, x)) ^ Smokes(x)")
    assert show_formula(rule.formula) == "(EXIST x_1 Smokes(x_1)) ^ (EXIST x_2 Lives(y, x_2)) ^ Smokes(x)"
    assert rule.free == ("y", "x")
    assert rule.type_of == {"y": "person", "x": "person", "x_1": "person", "x_2": "city"}


def test_inner_quantifiers_shadow_outer_ones():
    rule = rule_of("1 EXIST x (Smokes(x) ^ EXIST x Lives(y, x))")
    assert show_formula(rule.formula) == "EXIST x Smokes(x) ^ EXIST x_1 Lives(y, x_1)"


def test_new_names_avoid_those_that_are_written():
    rule = rule_of("1 (EXIST x Smokes(x)) ^ Smokes(x) ^ Smokes(x_1)")
    assert show_formula(rule.formula) == "(EXIST x_2 Smokes(x_2)) ^ Smokes(x) ^ Smokes(x_1)"


def test_quantifiers_over_nothing_are_dropped():
    assert show_formula(rule_of("1 EXIST z,y Smokes(y)").formula) == "EXIST y Smokes(y)"
    assert show_formula(rule_of("1 FORALL z !Smokes(y)").formula) == "!Smokes(y)"


def test_equality_passes_types_on_in_any_order():
    rule = rule_of("1 x = y ^ y = z ^ Smokes(z)")
    assert rule.type_of == {"x": "person", "y": "person", "z": "person"}


def test_constants_take_their_types_from_atoms_and_equalities():
    model = parse(
        "person = {Zoe}\n"
        + DECLARED
        + "1 Lives(Ann, Rome) ^ x = Bob ^ Smokes(x)\n1 Carl = Dora v Flag\n1 Oslo = c v Lives(Ann, c)"
    )
    assert model.constants == {"person": ("Zoe", "Ann", "Bob"), "city": ("Rome", "Oslo")}
    assert model.declared_types == {"person"}


def test_types_without_constants_are_listed():
    assert parse(DECLARED).constants == {"person": (), "city": ()}


def test_stars_stand_for_both_signs():
    model = parse(DECLARED + "1.5 *Smokes(x) ^ Flag => *Lives(x, c)")
    assert [rule.text for rule in model.rules] == [
        "1.5 Smokes(x) ^ Flag => Lives(x, c)",
        "1.5 Smokes(x) ^ Flag => !Lives(x, c)",
        "1.5 !Smokes(x) ^ Flag => Lives(x, c)",
        "1.5 !Smokes(x) ^ Flag => !Lives(x, c)",
    ]
    assert {rule.weight for rule in model.rules} == {1.5}


def test_too_many_stars_are_refused():
    with pytest.raises(InputError, match="2\\^11"):
        parse(DECLARED + "1 " + " v ".join(["*Flag"] * 11))


def test_plus_is_kept_as_a_mark():
    (rule,) = parse(DECLARED + "Lives(x, +c) => Smokes(x)").rules
    assert rule.formula.left.args[1].plus
    assert rule.free == ("x", "c")


def test_every_clash_of_a_rule_is_reported():
    with pytest.raises(InputError) as caught:
        parse(DECLARED + "1 Lives(x, y) ^ Smokes(y) ^ Lives(y, x)")
    assert [fault.place.column for fault in caught.value.faults] == [17, 29, 29]
