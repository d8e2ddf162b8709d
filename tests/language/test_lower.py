"""Lowering keeps the meaning: clauses, definitions and constants weigh every world as the formulas do."""

from __future__ import annotations

import itertools
import math
import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.language.lowered import lowered_log_weight
from tests.oracle.evaluation import count_groundings, count_true, domains_of, ground_atoms, log_weight
from tests.strategies import problems

from markovlogic.errors import InputError
from markovlogic.language.load import parse
from markovlogic.language.lower import lower
from markovlogic.language.propositional import assign, disjunctive_form, negate, orthogonal_cubes, variables_of
from markovlogic.language.syntax import Constant, Variable

DECLARATIONS = """
person = {Ann, Bob}
Smokes(person)
Cancer(person)
Friends(person, person)
Flag
"""


def lowered_of(rules: str, clause_weights: str = "formula"):
    model = parse(DECLARATIONS + rules)
    return model, lower(model, clause_weights)


def assert_same_meaning(model, lowered, worlds):
    domains = domains_of(model)
    for world in worlds:
        expected = log_weight(model, domains, world)
        assert lowered_log_weight(lowered, model, domains, world) == pytest.approx(expected, abs=1e-9)


def random_worlds(model, seed, n):
    atoms = ground_atoms(model, domains_of(model))
    chance = random.Random(seed)
    return [{a for a in atoms if chance.random() < share} for share in (0.0, 1.0, *[0.5] * n)]


@settings(max_examples=400, deadline=None, derandomize=True)
@given(problems(), st.integers(0, 1000))
def test_random_models_weigh_random_worlds_alike(problem, seed):
    model = parse(problem.mln)
    try:
        lowered = lower(model)
    except InputError as error:
        assert "never be true" in str(error)
        contradictory = [rule for rule in model.rules if any(f.place == rule.place for f in error.faults)]
        assert contradictory
        assert all(log_weight(model, domains_of(model), w) == -math.inf for w in random_worlds(model, seed, 10))
        return
    assert_same_meaning(model, lowered, random_worlds(model, seed, 6))


def test_the_check_above_catches_a_wrong_constant():
    model, lowered = lowered_of("1.5 Smokes(x) ^ Cancer(x)")
    wrong = type(lowered)(lowered.templates, lowered.definitions, (0.0,))
    with pytest.raises(AssertionError):
        assert_same_meaning(model, wrong, random_worlds(model, 1, 5))


def test_a_clause_gives_one_clause_and_no_constant():
    _, lowered = lowered_of("1.5 Smokes(x) ^ Friends(x, y) => Smokes(y)")
    (template,) = lowered.templates
    assert [(x.predicate, x.positive) for x in template.literals] == [("Smokes", False), ("Friends", False), ("Smokes", True)]
    assert (template.weight, template.variables, template.idle) == (1.5, (("x", "person"), ("y", "person")), ())
    assert lowered.constant_per_grounding == (0.0,)


def test_a_conjunction_of_negative_weight_gives_one_clause():
    _, lowered = lowered_of("-2 Smokes(x) ^ !Friends(x, y)")
    (template,) = lowered.templates
    assert [(x.predicate, x.positive) for x in template.literals] == [("Smokes", False), ("Friends", True)]
    assert template.weight == 2
    assert lowered.constant_per_grounding == (-2,)


@pytest.mark.parametrize(
    ("rule", "n_clauses"),
    [
        ("1 Smokes(x) <=> Cancer(x)", 2),
        ("-1 Smokes(x) <=> Cancer(x)", 2),
        ("1 (Smokes(x) ^ Cancer(x)) v Flag", 2),
        ("1 Smokes(x) ^ Cancer(x) ^ Flag", 3),
        ("1 (Smokes(x) v Cancer(x)) ^ (Smokes(x) v !Flag)", 2),  # {!S !C}, {!S C F}
        ("1 (Smokes(x) ^ Cancer(x)) v (Flag ^ Friends(x, x))", 4),
        ("-1 (Smokes(x) ^ Cancer(x)) v (Flag ^ Friends(x, x))", 3),
        ("1 Smokes(x) <=> Cancer(x) <=> Flag <=> Friends(x, x)", 8),
        ("0 Smokes(x) <=> Cancer(x)", 0),
    ],
)
def test_few_clauses(rule, n_clauses):
    model, lowered = lowered_of(rule)
    assert len(lowered.templates) == n_clauses
    assert_same_meaning(model, lowered, random_worlds(model, 3, 20))


def test_equal_literals_merge_complements_vanish():
    model, lowered = lowered_of(
        "1 Smokes(x) v Smokes(x) v Cancer(x)\n2 Smokes(x) v !Smokes(x)\n3 Smokes(x) ^ !Smokes(x)\n-4 Flag v !Flag"
    )
    assert [len(t.literals) for t in lowered.templates] == [2]
    assert lowered.constant_per_grounding == (0.0, 2.0, 0.0, -4.0)
    assert_same_meaning(model, lowered, random_worlds(model, 3, 5))


def test_equality_of_constants_is_decided_and_of_variables_kept():
    _, lowered = lowered_of("1 Ann = Bob v Smokes(x)\n1 x != y v Smokes(x) v y != x v Smokes(y)")
    first, second = lowered.templates
    assert first.equalities == ()
    assert [(e.left, e.right, e.positive) for e in second.equalities] == [(Variable("x"), Variable("y"), False)]
    _, lowered = lowered_of("1 Ann = x v Smokes(x)")
    assert lowered.templates[0].equalities[0].right == Constant("Ann")


def test_plus_marks_are_gone_below_the_language():
    _, lowered = lowered_of("1 Friends(x, +y) ^ Smokes(y) => Cancer(+y)")
    (template,) = lowered.templates
    assert template.variables == (("x", "person"), ("y", "person"))
    assert all(not a.plus for literal in template.literals for a in literal.args)


def test_quantified_parts_become_definitions():
    model, lowered = lowered_of(
        "1 Smokes(x) => EXIST y (Friends(x, y) v Smokes(y))\n2 FORALL x (Smokes(x) => EXIST y Friends(x,y) ^ Flag)"
    )
    first, inner, outer = lowered.definitions
    assert (first.parameters, first.locals_) == ((("x", "person"),), (("y", "person"),))
    assert [len(cube.literals) for cube in first.cubes] == [1, 1]
    assert (inner.rule, outer.rule, outer.parameters) == (1, 1, ())
    assert inner.predicate in {literal.predicate for cube in outer.cubes for literal in cube.literals}
    assert lowered.templates[1].variables == ()
    assert_same_meaning(model, lowered, random_worlds(model, 3, 20))


def test_nested_existential_quantifiers_share_one_definition():
    model, lowered = lowered_of("1 EXIST x (Smokes(x) ^ EXIST y Friends(x, y))")
    (definition,) = lowered.definitions
    assert definition.locals_ == (("x", "person"), ("y", "person"))
    assert_same_meaning(model, lowered, random_worlds(model, 3, 20))


def test_identical_definitions_are_shared_within_a_rule():
    model, lowered = lowered_of("1 (Smokes(x) ^ EXIST y Friends(x,y)) v (Cancer(x) ^ EXIST z Friends(x,z))")
    assert len(lowered.definitions) == 1
    assert_same_meaning(model, lowered, random_worlds(model, 3, 20))


def test_hard_universal_quantifiers_are_free_variables():
    model, lowered = lowered_of(
        "FORALL x (Smokes(x) => FORALL y (Friends(x,y) => Smokes(y))).\n-inf EXIST x Smokes(x) ^ Cancer(x)"
    )
    assert lowered.definitions == ()
    assert [len(t.literals) for t in lowered.templates] == [3, 2]
    assert all(t.weight == math.inf for t in lowered.templates)
    assert lowered.constant_per_grounding == (0.0, 0.0)
    assert_same_meaning(model, lowered, random_worlds(model, 3, 20))


def test_hard_equivalence_with_a_quantifier_needs_one_definition():
    model, lowered = lowered_of("Smokes(x) <=> EXIST y Friends(x,y) ^ Cancer(y).")
    assert len(lowered.definitions) == 1
    assert sorted(len(t.literals) for t in lowered.templates) == [2, 3]
    assert_same_meaning(model, lowered, random_worlds(model, 3, 20))


def test_quantifiers_over_nothing_and_over_equality():
    model, lowered = lowered_of(
        "1 EXIST z Smokes(x)\n1 Smokes(x) ^ EXIST y (y != x ^ Friends(x, y))\n1 Smokes(x) => EXIST y (x = y)"
    )
    assert [d.rule for d in lowered.definitions] == [1, 2]
    assert_same_meaning(model, lowered, random_worlds(model, 3, 20))


@pytest.mark.parametrize(
    "rule", ["Smokes(x) ^ !Smokes(x).", "-inf Flag v !Flag", "Ann = Bob.", "(Flag <=> Smokes(x)) ^ (Flag <=> !Smokes(x))."]
)
def test_hard_contradictions_are_refused_with_their_place(rule):
    with pytest.raises(InputError) as caught:
        lowered_of("1 Flag\n" + rule)
    assert caught.value.faults[0].place.line == 8
    assert "never be true" in str(caught.value)


def test_hard_tautologies_vanish():
    assert lowered_of("Smokes(x) v !Smokes(x).")[1].templates == ()


def test_rules_without_weight_are_all_named():
    with pytest.raises(InputError) as caught:
        lowered_of("Smokes(x) => Cancer(x)\n1 Flag\nSmokes(y)")
    assert [(f.place.line, "weight missing for inference" in f.message) for f in caught.value.faults] == [(7, True), (9, True)]
    assert "Smokes(x) => Cancer(x)" in caught.value.faults[0].message


def test_too_many_clauses_are_refused():
    declarations = "\n".join(f"P{i}" for i in range(40))
    model = parse(declarations + "\n1 " + " <=> ".join(f"P{i}" for i in range(40)))
    with pytest.raises(InputError, match="more than 4096 clauses"):
        lower(model)
    pairs = " v ".join(f"(P{i} ^ P{i + 1})" for i in range(0, 40, 2))
    with pytest.raises(InputError, match="more than 4096 clauses"):
        lower(parse(declarations + f"\n1 {pairs}"))
    with pytest.raises(InputError, match="more than 4096 clauses"):
        lower(parse(declarations + f"\n{pairs}."))


def test_long_clauses_are_cheap():
    declarations = "\n".join(f"P{i}" for i in range(500))
    model = parse(declarations + "\n1 " + " v ".join(f"P{i}" for i in range(500)))
    (template,) = lower(model).templates
    assert len(template.literals) == 500


# ---- Alchemy's habit


def test_alchemy_divides_the_weight_among_the_clauses():
    _, lowered = lowered_of("3 Smokes(x) <=> Cancer(x)\n3 Smokes(x) => Cancer(x)", "alchemy")
    assert [t.weight for t in lowered.templates] == [1.5, 1.5, 3]
    assert lowered.constant_per_grounding == (0.0, 0.0)


def test_alchemy_turns_negative_clauses_into_positive_ones():
    model, lowered = lowered_of("-3 Smokes(x) v Cancer(x)", "alchemy")
    assert all(t.weight == 3 for t in lowered.templates)
    assert_same_meaning(model, lowered, random_worlds(model, 3, 20))


def test_alchemy_and_whole_formulas_differ_on_a_conjunction():
    model, lowered = lowered_of("2 Smokes(Ann) ^ Cancer(Ann)", "alchemy")
    domains = domains_of(model)
    half = {("Smokes", ("Ann",))}
    assert log_weight(model, domains, half) == 0
    assert lowered_log_weight(lowered, model, domains, half) == 1


@settings(max_examples=100, deadline=None, derandomize=True)
@given(problems(hard=False, max_rules=1), st.integers(0, 1000))
def test_alchemy_gives_the_whole_weight_exactly_where_every_grounding_is_true(problem, seed):
    model = parse(problem.mln)
    (rule,) = model.rules
    lowered, domains = lower(model, "alchemy"), domains_of(model)
    assert all(template.weight > 0 for template in lowered.templates)
    for world in random_worlds(model, seed, 6):
        groundings, true = count_groundings(rule, domains), count_true(rule, domains, world)
        value = lowered_log_weight(lowered, model, domains, world)
        if rule.weight == 0 or true == groundings:
            assert value == pytest.approx(rule.weight * groundings, abs=1e-9)
        else:
            # a false grounding keeps some of its clauses, but never all
            low, high = sorted([rule.weight * true, rule.weight * groundings])
            assert low - 1e-9 <= value <= high + 1e-9
            assert abs(value - rule.weight * groundings) > 1e-9


def test_unknown_clause_weights_are_refused():
    with pytest.raises(InputError, match="formula or alchemy"):
        lowered_of("1 Flag", "whole")


# ---- propositional


def nodes(n_variables=6):
    literals = st.integers(1, n_variables).flatmap(lambda v: st.sampled_from([v, -v]))
    return st.recursive(
        literals,
        lambda parts: st.one_of(
            st.tuples(st.sampled_from(["and", "or"]), st.lists(parts, min_size=2, max_size=3).map(tuple)),
            st.tuples(st.just("iff"), st.tuples(parts, parts)),
        ),
        max_leaves=10,
    )


@settings(max_examples=200, deadline=None, derandomize=True)
@given(nodes())
def test_cubes_are_orthogonal_and_cover(node):
    node = assign(node, {})  # simplified, as lowering builds its nodes
    names = sorted(set(variables_of(node)))
    cubes, terms = orthogonal_cubes(node), disjunctive_form(node)
    n_true = 0
    for values in itertools.product((False, True), repeat=len(names)):
        world = dict(zip(names, values, strict=True))
        truth = assign(node, world)
        assert assign(negate(node), world) is (not truth)
        holding = [cube for cube in cubes if all(world[abs(x)] == (x > 0) for x in cube)]
        assert len(holding) == truth
        n_true += truth
        assert any(all(world[abs(x)] == (x > 0) for x in term) for term in terms) == truth
    assert (cubes == [()]) == (n_true == 2 ** len(names))
    assert (cubes == []) == (terms == []) == (n_true == 0)


def test_long_disjunctions_and_conjunctions_are_not_expanded_variable_by_variable():
    """A chain of as many cubes as literals, found at once: expansion would go deeper than Python allows."""
    chain = orthogonal_cubes(("or", tuple(range(1, 2001))))
    assert chain[0] == (1,) and chain[-1] == (*range(-1, -2000, -1), 2000) and len(chain) == 2000
    assert orthogonal_cubes(("and", tuple(range(1, 2001)))) == [tuple(range(1, 2001))]
    pairs = ("or", tuple(("and", (2 * at + 1, 2 * at + 2)) for at in range(9)))
    assert len(orthogonal_cubes(pairs)) == 2**9 - 1


def test_quantifiers_inside_of_an_equivalence_join_those_around_it():
    model, lowered = lowered_of("1 EXIST x (Smokes(x) <=> (Cancer(x) <=> EXIST y Friends(x, y)))")
    assert {definition.locals_ for definition in lowered.definitions} == {
        (("y", "person"),),
        (("x", "person"), ("y", "person")),
    }
    assert_same_meaning(model, lowered, random_worlds(model, 3, 20))
