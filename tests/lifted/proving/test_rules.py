"""Each rule alone against enumeration: what it leaves is solved by enumeration too, so that nothing else can be wrong."""

from __future__ import annotations

import math

import numpy as np
import pytest
from tests.lifted.proving.theories import BruteNode, atoms_of, brute_force, random_numbers, random_theory

from markovlogic.methods.lifted.proving.nodes import Child
from markovlogic.methods.lifted.proving.reduction import Draft, reduce_draft
from markovlogic.methods.lifted.proving.rules import RULES
from markovlogic.methods.lifted.proving.rules.condition import Condition, Forced, Settled, Units
from markovlogic.methods.lifted.proving.rules.elimination import Elimination
from markovlogic.methods.lifted.proving.rules.parts import Grounding, Pairs, Parts
from markovlogic.methods.lifted.proving.rules.power import Binomial, Power
from markovlogic.methods.lifted.proving.rules.rule import Rule
from markovlogic.methods.lifted.proving.theory import Clause, Literal, Numbers, Theory

TOLERANCE = 1e-10


def whole(theory: Theory) -> Draft:
    return Draft(theory.fixed, theory.relations, theory.clauses, tuple(range(len(theory.clauses))), theory.sure)


def assert_equals_enumeration(theory: Theory, numbers: Numbers, log_z: np.ndarray, count: np.ndarray) -> None:
    for lane in range(len(numbers)):
        expected, counts = brute_force(theory, numbers.size[lane].tolist(), numbers.weight[lane].tolist())
        if math.isinf(expected):
            assert log_z[lane] == expected
            assert np.isfinite(count[lane]).all()
        else:
            assert log_z[lane] == pytest.approx(expected, abs=TOLERANCE)
            np.testing.assert_allclose(count[lane], counts, atol=TOLERANCE, rtol=0)


def judge(rule: Rule, theory: Theory, numbers: Numbers) -> int:
    """Check every option of a rule; gives their number."""
    options = list(rule.options(theory, tuple(numbers.size[0].tolist())))
    for option in options:
        reductions = [reduce_draft(draft) for draft in option.drafts]
        node = option.build([Child(reduction, BruteNode(reduction.theory)) for reduction in reductions])
        found = node.evaluate(numbers)
        assert_equals_enumeration(theory, numbers, found.log_z, found.count)
    return len(options)


def normal_theories(seed: int, arities: list[int], n_blocks: int, n_clauses: int, fixed: bool = False):
    """Random theories in normal form."""
    rng = np.random.default_rng(seed)
    while True:
        theory = reduce_draft(whole(random_theory(rng, arities, n_blocks, n_clauses, fixed))).theory
        if theory.clauses:
            yield rng, theory


def run(rule: Rule, wanted: int, seed: int, arities: list[int], n_blocks: int, n_clauses: int, fixed: bool = False) -> None:
    """Until the rule has applied to as many theories as wanted."""
    found = looked = 0
    for rng, theory in normal_theories(seed, arities, n_blocks, n_clauses, fixed):
        looked += 1
        assert looked < 200 * wanted, f"{rule.name} applied {found} times in {looked} theories"
        if isinstance(rule, Power | Pairs) and list(Parts().options(theory, (1,) * len(theory.fixed))):
            continue  # these come after independent parts
        if fixed and len(atoms_of(theory, theory.fixed)) > 12:
            continue
        found += judge(rule, theory, random_numbers(rng, theory, 4)) > 0
        if found == wanted:
            return


def test_normal_form_keeps_the_sum():
    rng = np.random.default_rng(1)
    for trial in range(150):
        theory = random_theory(rng, [0, 1, 2, 2], 2, 5, fixed=trial % 2 == 1)
        if trial % 2 and len(atoms_of(theory, theory.fixed)) > 12:
            continue
        numbers = random_numbers(rng, theory, 3)
        reduction = reduce_draft(whole(theory))
        found = Child(reduction, BruteNode(reduction.theory)).outcome(numbers.size, numbers.weight)
        assert_equals_enumeration(theory, numbers, found.log_z, found.count)


def test_settled():
    theory = Theory((), (), ())
    assert judge(Settled(), theory, Numbers(np.zeros((2, 0), np.int64), np.zeros((2, 0)))) == 1


def test_unit_propagation():
    run(Forced(), 40, 13, [0, 1, 2], 2, 5)


def test_hard_clauses_stay_hard_only_where_they_have_groundings():
    """`R(x) v S(y)` hard: of F false R(x) is left S(y), |F| times each, which is nothing where F is empty."""
    clause = Clause((Literal(0, (0,), True), Literal(1, (1,), True)), (0, 1))
    theory = Theory((-1, -1), ((0,), (1,)), (clause,), frozenset([0]))
    for option in Binomial().options(theory, (2, 2)):
        assert not reduce_draft(option.drafts[0]).theory.sure
    assert judge(Binomial(), theory, Numbers(np.array([[2, 2], [0, 2], [2, 0]]), np.full((3, 1), math.inf))) == 2


def test_independent_parts():
    run(Parts(), 40, 2, [1, 1, 2, 2], 2, 3)


def test_units():
    run(Units(), 30, 3, [2], 2, 2)
    run(Units(), 10, 4, [0], 1, 2)


def test_elimination():
    run(Elimination(), 60, 5, [0] * 7, 1, 9)


def test_power():
    run(Power(), 40, 6, [1, 2, 2], 2, 2)
    run(Power(), 20, 7, [2, 2], 1, 2)


def test_pairs():
    run(Pairs(), 20, 8, [2, 2], 1, 2)


def test_condition():
    run(Condition(), 30, 9, [0, 1, 2], 2, 4)


def test_binomial():
    run(Binomial(), 40, 10, [1, 1, 2], 2, 4)
    run(Binomial(), 20, 11, [1, 1], 1, 4)


def test_grounding():
    run(Grounding(), 40, 12, [1, 2, 2], 2, 3, fixed=True)


def test_every_rule_has_a_test():
    tested = {Settled, Forced, Parts, Units, Elimination, Power, Pairs, Condition, Binomial, Grounding}
    assert {type(rule) for line in RULES for rule in line} == tested


def test_self_join_counts_ordered_pairs():
    """R(x) v R(y), x ≠ y, over n = 3: i true atoms leave (3−i)(2−i) false groundings."""
    clause = Clause((Literal(0, (0,), True), Literal(0, (1,), True)), (0, 0))
    theory = Theory((-1,), ((0,),), (clause,))
    numbers = Numbers(np.array([[3]]), np.array([[0.7]]))
    by_hand = math.log(sum(math.comb(3, i) * math.exp(-0.7 * (3 - i) * (2 - i)) for i in range(4)))
    assert brute_force(theory, [3], [0.7])[0] == pytest.approx(by_hand, abs=1e-12)
    assert judge(Binomial(), theory, numbers) == 1


class WrongPower(Power):
    """A planted error: the other places keep all constants of the block."""

    def options(self, theory, sizes):
        for option in super().options(theory, sizes):
            yield option.__class__(option.drafts, option.sizes, lambda children, build=option.build: _Unshrunk(build(children)))


class _Unshrunk:
    def __init__(self, node):
        self.node = node

    def evaluate(self, numbers):
        child = self.node.child.outcome(numbers.size, numbers.weight)
        copies = numbers.size[:, self.node.block].astype(float)
        return type(child)(child.log_z * copies, child.count * copies[:, None])


def test_a_planted_error_is_found():
    with pytest.raises(AssertionError):
        run(WrongPower(), 40, 6, [1, 2, 2], 2, 2)


def test_wide_remainders_are_left_alone():
    """Thirty atoms, every two in a clause: no order is narrow enough."""
    pairs = [(i, j) for i in range(30) for j in range(i)]
    clauses = tuple(Clause((Literal(i, (), True), Literal(j, (), False)), ()) for i, j in pairs)
    assert not list(Elimination().options(Theory((), ((),) * 30, clauses), ()))
