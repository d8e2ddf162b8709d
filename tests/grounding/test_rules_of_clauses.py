"""Hard clauses remember a rule that they come from, and nothing else of the network depends on it."""

from __future__ import annotations

import pytest
from tests.symmetry.made import prepared

from markovlogic.errors import InputError
from markovlogic.grounding.ground import ground
from markovlogic.language.lower import lower

RULES = """\
p = {A, B, C}
S(p)
T(p)
F(p, p)
0.5 S(x) => T(x)
S(x) => T(x).
S(A).
F(x, y) => F(y, x).
0.7 F(x, y)
!F(x, y) v F(y, x).
EXIST y F(x, y).
T(A) v S(A).
"""


def test_each_hard_clause_has_a_rule_that_grounds_to_it() -> None:
    problem = prepared(RULES, open_=("S", "T", "F"))
    network = ground(problem, lower(problem.model))
    names = [rule.text for rule in problem.model.rules]
    assert len(network.hard_rule) == network.n_clauses - network.n_soft
    sizes = {}
    for clause, rule in enumerate(network.hard_rule, network.n_soft):
        literals = network.clause_literal[network.clause_start[clause] : network.clause_start[clause + 1]]
        sizes.setdefault(names[rule], []).append(len(literals))
    # a clause that two rules give has the first of them
    assert sizes["S(x) => T(x)."] == [2] * 3
    assert sizes["F(x, y) => F(y, x)."] == [2] * 6
    assert sizes["EXIST y F(x, y)."] == [3] * 3
    assert sizes["T(A) v S(A)."] == [2]
    assert [names[rule] for rule in network.unit_rule] == ["S(A)."]


def test_units_that_contradict_each_other_name_their_rules() -> None:
    problem = prepared("p = {A}\nS(p)\n0.5 S(x)\nS(A).\n!S(A).\n", open_=("S",))
    with pytest.raises(InputError) as caught:
        ground(problem, lower(problem.model))
    assert sorted(fault.place.line for fault in caught.value.faults if fault.place) == [4, 5]
