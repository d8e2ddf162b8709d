"""Truth tables of small parts against plain enumeration."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from markovlogic.kernels.solutions import (
    LARGEST,
    count_solutions,
    require_exactly_one,
    require_one_of,
    solution_number,
    start_table,
)


@st.composite
def parts(draw):
    n_atoms = draw(st.integers(1, 10) | st.integers(11, 13))
    literal = st.tuples(st.integers(0, n_atoms - 1), st.booleans()).map(lambda pair: 2 * pair[0] + pair[1])
    clauses = draw(st.lists(st.lists(literal, min_size=1, max_size=5), max_size=6))
    group = draw(st.lists(st.integers(0, n_atoms - 1), unique=True, max_size=5))
    return n_atoms, clauses, group


@settings(max_examples=60, deadline=None, derandomize=True)
@given(parts())
def test_every_solution_is_numbered_once_and_in_order(part):
    n_atoms, clauses, group = part
    table = np.zeros(2**LARGEST // 64, np.uint64)
    n_words = start_table(table, n_atoms)
    for clause in clauses:
        require_one_of(table, n_words, np.array(clause, np.int32), len(clause))
    if group:
        require_exactly_one(table, n_words, np.array(group, np.int32), len(group))

    def bit(assignment, atom):
        return (assignment >> atom) & 1

    expected = [
        i
        for i in range(2**n_atoms)
        if all(any(bit(i, q >> 1) == q & 1 for q in clause) for clause in clauses)
        and (not group or sum(bit(i, a) for a in group) == 1)
    ]
    assert count_solutions(table, n_words) == len(expected)
    assert [solution_number(table, n_words, k) for k in range(len(expected))] == expected
